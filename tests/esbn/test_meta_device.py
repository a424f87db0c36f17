"""The training step of every network on the `meta` device, which has no values.

A tensor left on the CPU meets one of the meta device there, and a value that is read back (`.item()`, a branch, a
Boolean mask) is not to be had: either raises, as either would stop or slow a GPU.
"""

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mini_lib.esbn.models import ENCODERS, MODELS, build_network
from mini_lib.esbn.runs import loss

META = torch.device("meta")
KINDS = [(model, "conv", {}) for model in MODELS]
KINDS += [("lstm", encoder, {}) for encoder in ENCODERS if encoder != "conv"]
KINDS += [("lstm", "conv", {"tcn": False}), ("trn", "conv", {"paper_form": True})]
every_kind = pytest.mark.parametrize(("model", "encoder", "options"), KINDS)


def make(model, encoder="conv", options=None):
    return build_network(model, classes=4, windows=(9,), encoder=encoder, width=0.125, **(options or {}))


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of two devices, some of which (matrix products) the meta device lets pass."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        if len({tensor.device for tensor in tensors if tensor.dim() > 0}) > 1:
            raise RuntimeError(f"{operation}: expected all tensors to be on the same device")
        return operation(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def one_device():
    with OneDevice():
        yield


def batch(*replicas, device=META):
    """A batch of 4 problems, as the harness hands it to the loss."""
    sizes = {"where": (*replicas, 4, 9), "answer": (*replicas, 4)}
    return {name: torch.zeros(size, dtype=torch.long, device=device) for name, size in sizes.items()}


IMAGES = torch.zeros(7, 32, 32, device=META)


def step_alone(network, device=META):
    images = torch.zeros(IMAGES.shape, device=device)
    value, accuracy = loss(network, batch(device=device) | {"images": images})
    value.backward()
    return value, accuracy


@every_kind
def test_a_step_alone_stays_on_its_device(model, encoder, options):
    network = make(model, encoder, options).to(META)
    for each in step_alone(network):
        assert each.device == META
        assert each.shape == ()
    assert all(p.grad.device == META for p in network.parameters())


@every_kind
def test_a_step_of_a_stack_stays_on_its_device(model, encoder, options):
    networks = [make(model, encoder, options).to(META) for _ in range(3)]
    params, buffers = stack_module_state(networks)

    def alone(params, buffers, examples):
        def apply(*args, **named):
            return functional_call(networks[0], (params, buffers), args, named)

        return loss(apply, examples | {"images": IMAGES})

    losses, scores = torch.vmap(alone)(params, buffers, batch(3))
    losses.sum().backward()
    for each in (losses, scores):
        assert each.device == META
        assert each.shape == (3,)
    assert all(p.grad.shape == p.shape for p in params.values())


@pytest.mark.parametrize("model", [model for model in MODELS if model.startswith("esbn")])
def test_what_is_traced_stays_on_its_device(model):
    network = make(model).to(META)
    z = network.embed(IMAGES, batch()["where"])
    assert {part.device for part in network.core.trace(z)} == {META}
    assert network.core.algorithm_1(z).device == META


class Faulty(torch.nn.Module):
    """A network with a fault that a CPU forgives."""

    def __init__(self, fault):
        super().__init__()
        self.network, self.fault = make("lstm"), fault

    def forward(self, images, where, aux):
        logits, extra = self.network(images, where, aux)
        return self.fault(logits), extra


@pytest.mark.parametrize(
    "fault",
    [
        lambda logits: logits + torch.zeros(4),
        lambda logits: logits @ torch.eye(4),
        lambda logits: logits * logits.sum().item(),
        lambda logits: logits if logits.sum() > 0 else -logits,
        lambda logits: logits - logits[logits > 0].mean(),
    ],
    ids=["left on the CPU", "multiplied by a matrix of the CPU", "read back", "branched on", "masked"],
)
def test_faults_are_found(fault):
    step_alone(Faulty(fault), torch.device("cpu"))
    with pytest.raises((RuntimeError, NotImplementedError)):
        step_alone(Faulty(fault).to(META))
