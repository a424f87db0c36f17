"""Off the CPU without a GPU: the traces of ESBN. Updates of all networks: see `test_gpu_ready.py`."""

import pytest
import torch
from other_device import OTHER, OtherDevice

from mini_lib.esbn.models import MODELS, build_network


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
