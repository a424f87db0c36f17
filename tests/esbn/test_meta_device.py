"""Off the CPU without a GPU: an update of the forms that `test_gpu_ready.py` leaves out, and the traces of ESBN."""

import pytest
import torch
from other_device import OTHER, OtherDevice
from steps_elsewhere import check_a_step_elsewhere

from mini_lib.esbn.models import ENCODERS, MODELS, build_network
from mini_lib.reproduction.doctor import TINY

FORMS = {encoder: TINY["esbn lstm"] | {"encoder": encoder} for encoder in ENCODERS if encoder != "conv"}
FORMS["raw embeddings"] = TINY["esbn lstm"] | {"tcn": False}
FORMS["trn of the paper"] = TINY["esbn trn"] | {"options": {"paper_form": True}}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_learns_as_on_the_cpu_alone_and_stacked_and_waits_for_nothing(form):
    check_a_step_elsewhere(FORMS[form])


@pytest.mark.parametrize("model", [model for model in MODELS if model.startswith("esbn")])
def test_what_is_traced_elsewhere_stays_there_and_is_that_of_the_cpu(model):
    torch.manual_seed(0)
    core, z = build_network(model, classes=4, windows=(9,), width=0.125).core, torch.randn(4, 9, 16)
    with torch.no_grad():
        expected = [*core.trace(z), core.algorithm_1(z)]
        with OtherDevice():
            core.to(OTHER)
            found = [*core.trace(z.to(OTHER)), core.algorithm_1(z.to(OTHER))]
            assert {part.device for part in found} == {OTHER}
            found = [part.cpu() for part in found]
    torch.testing.assert_close(found, expected)
