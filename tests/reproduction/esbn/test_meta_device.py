"""Off the CPU without a GPU: an update of the forms of networks that `test_gpu_ready.py` leaves out."""

import pytest
from steps_elsewhere import check_a_step_elsewhere

from mini_lib.esbn.models import ENCODERS
from mini_lib.reproduction.doctor import TINY

FORMS = {encoder: TINY["esbn lstm"] | {"encoder": encoder} for encoder in ENCODERS if encoder != "conv"}
FORMS["raw embeddings"] = TINY["esbn lstm"] | {"tcn": False}
FORMS["trn of the paper"] = TINY["esbn trn"] | {"options": {"paper_form": True}}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_learns_as_on_the_cpu_alone_and_stacked_and_waits_for_nothing(form):
    check_a_step_elsewhere(FORMS[form])
