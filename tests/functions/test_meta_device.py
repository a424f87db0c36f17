"""Off the CPU without a GPU: training steps on a device without values, measurements on one that refuses to mix."""

import pytest
import torch
from other_device import OTHER, OtherDevice
from torch.func import functional_call

from functions.helpers import network as tiny
from mini_lib.functions import analysis
from mini_lib.functions.baselines import PREDICTORS
from mini_lib.functions.evaluation import evaluate, extrapolate_all
from mini_lib.functions.models import MODELS
from mini_lib.functions.models.network import layout
from mini_lib.functions.runs import Loss, Settings
from mini_lib.functions.tasks import evaluation_curves

READINGS = {"as in the paper": {}, "every prefix": {"prefixes": True}} | {
    mask: {"options": {"mask": mask}} for mask in ("strict", "none")
}


def on_meta(model, changes):
    """A small network on the meta device, its loss, and a batch there."""
    options = {"dim": 8, "layers": 2, "heads": 2} | changes.get("options", {})
    settings = Settings(model, **(changes | {"observed": 5, "options": options}))
    loss = Loss("relational" in model, settings.prefixes, settings.observed)
    return settings.network().to("meta"), loss, {"y": torch.empty(4, 6, device="meta")}


@pytest.mark.parametrize("changes", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize("model", MODELS)
def test_a_training_step_alone(model, changes):
    network, loss, batch = on_meta(model, changes)
    value, score = loss(network, batch)
    value.backward()
    assert {value.device.type, score.device.type} == {"meta"}
    assert {parameter.grad.device.type for parameter in network.parameters()} == {"meta"}


@pytest.mark.parametrize("changes", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize("model", MODELS)
def test_a_training_step_of_a_stack(model, changes):
    network, loss, batch = on_meta(model, changes)
    batches = {"y": batch["y"].expand(3, -1, -1)}
    stack = {
        name: torch.empty(3, *parameter.shape, device="meta", requires_grad=True)
        for name, parameter in network.named_parameters()
    }

    def alone(parameters, batch):
        return loss(lambda *a, **k: functional_call(network, parameters, a, k), batch)

    losses, _ = torch.vmap(alone)(stack, batches)
    losses.sum().backward()
    assert losses.shape == (3,)
    assert {parameter.grad.device.type for parameter in stack.values()} == {"meta"}


@pytest.mark.parametrize("model", MODELS)
def test_keys_and_values_that_are_kept(model):
    network, _, batch = on_meta(model, {})
    cache = network.prefill(batch["y"], network.prefill(batch["y"][:, :4]))
    assert network.decode(cache).shape == network(batch["y"]).shape
    assert {part.device.type for pair in cache.layers for part in pair} == {"meta"}
    assert analysis.local_weights(network, batch["y"]).device.type == "meta"


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


def test_predictors_answer_on_the_cpu(elsewhere):
    y = evaluation_curves(3, 12).y
    for name, predict in PREDICTORS.items():
        torch.testing.assert_close(predict(y.to(OTHER), 2), predict(y, 2), msg=name)
