"""Off the CPU without a GPU: measurements. Updates of all networks: see `test_gpu_ready.py`."""

import pytest
import torch
from other_device import OTHER, OtherDevice

from functions.helpers import network as tiny
from mini_lib.functions import analysis
from mini_lib.functions.baselines import PREDICTORS
from mini_lib.functions.runs import evaluate, extrapolate_all
from mini_lib.functions.tasks import evaluation_curves
from mini_lib.functions.transformer import MODELS


@pytest.fixture
def elsewhere():
    """A device whose tensors have values."""
    with OtherDevice():
        yield


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_network_elsewhere_measures_what_it_does_on_the_cpu(model, elsewhere):
    curves, network = evaluation_curves(3, 12), tiny(model)
    y = curves.y[:, :4]

    def measure():
        found = [torch.tensor(list(evaluate(network, curves).values())).nan_to_num(0.0)]
        found += [extrapolate_all(network, y).point]
        return found

    here = measure()
    network.to(OTHER)
    for one, other in zip(here, measure(), strict=True):
        assert other.device.type == "cpu"
        torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("model", MODELS)
def test_local_weights_stay_where_the_network_is(model):
    """On PyTorch's device without values: of a quantile the stand-in has no derivative."""
    assert analysis.local_weights(tiny(model).to("meta"), torch.empty(2, 5, device="meta")).is_meta


def test_predictors_answer_on_the_cpu(elsewhere):
    y = evaluation_curves(3, 12).y
    for name, predict in PREDICTORS.items():
        torch.testing.assert_close(predict(y.to(OTHER), 2), predict(y, 2), msg=name)
