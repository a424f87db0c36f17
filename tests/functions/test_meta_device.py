"""The training step on a device that is not the CPU and has no values: no tensor stays behind, no value is read."""

import pytest
import torch
from torch.func import functional_call

from mini_lib.functions.models import MODELS
from mini_lib.functions.runs import Loss, Settings

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
