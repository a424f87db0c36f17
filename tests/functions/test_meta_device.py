"""Off the CPU without a GPU: an update of the forms that `test_gpu_ready.py` leaves out, and measurements."""

import pytest
import torch
from other_device import OTHER, OtherDevice
from steps_elsewhere import check_a_step_elsewhere

from functions.helpers import network as tiny
from mini_lib.functions import analysis
from mini_lib.functions.baselines import PREDICTORS
from mini_lib.functions.evaluation import evaluate, extrapolate_all
from mini_lib.functions.models import MODELS
from mini_lib.functions.models.network import layout
from mini_lib.functions.tasks import evaluation_curves
from mini_lib.reproduction.doctor import TINY

READINGS = {"every prefix": {"prefixes": True}}
READINGS |= {
    mask: {"options": {"dim": 8, "layers": 2, "heads": 2, "mask": mask}} for mask in ("strict", "none")
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("model", MODELS)
def test_a_reading_learns_as_on_the_cpu_alone_and_stacked_and_waits_for_nothing(model, reading):
    check_a_step_elsewhere(TINY[f"functions {model}"] | READINGS[reading])


@pytest.fixture
def elsewhere():
    """A device whose tensors have values; what was laid out for another must go."""
    layout.cache_clear()
    with OtherDevice():
        yield
    layout.cache_clear()


@pytest.mark.parametrize("model", MODELS)
def test_a_network_elsewhere_measures_what_it_does_on_the_cpu(model, elsewhere):
    curves, network = evaluation_curves(3, 14), tiny(model)
    y = curves.y[:, :4]

    def measure():
        found = [torch.tensor(list(evaluate(network, curves).values())).nan_to_num(0.0)]
        found += [extrapolate_all(network, y).point, *analysis.attention_by_distance(network, y)]
        if model.startswith("relational"):
            found += [analysis.over_matrix(network, y[0], 2).weights, *analysis.ensemble(network, y[0], 3)]
        if network.window is not None:
            found += analysis.window_profile(network)[:3]
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
