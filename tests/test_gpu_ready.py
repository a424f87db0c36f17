"""Every network learns on another device than the CPU, alone and stacked, and nothing waits for that device.

Further forms of them do so in `test_meta_device.py`.
"""

import pytest
from steps_elsewhere import check_a_step_elsewhere

from mini_lib.esbn.models import MODELS as ESBN
from mini_lib.functions.models import MODELS as FUNCTIONS
from mini_lib.kanerva.models import MODELS as KANERVA
from mini_lib.reproduction.doctor import TINY
from mini_lib.scan.models import MODELS as SCAN


def test_every_network_is_here():
    models = {"esbn": ESBN, "scan": SCAN, "functions": FUNCTIONS, "kanerva": KANERVA}
    tried = {(settings["paper"], settings["model"]) for settings in TINY.values()}
    assert tried == {(wing, model) for wing, known in models.items() for model in known}


@pytest.mark.parametrize("name", TINY)
def test_a_network_learns_as_on_the_cpu_alone_and_stacked_and_waits_for_nothing(name):
    check_a_step_elsewhere(TINY[name])
