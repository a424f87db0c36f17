"""The training step on PyTorch's `meta` device, which has no numbers, alone and stacked as the harness does.

Without a GPU it finds tensors left on the CPU and values that are read back.
"""

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mini_lib.kanerva.evaluation import routes
from mini_lib.kanerva.memory import ProductMemory, read, write_episode
from mini_lib.kanerva.memory.writing import weights_from_eta
from mini_lib.kanerva.models import DECODERS, ENCODERS, build_network, draw_noise, generation
from mini_lib.kanerva.objective import Loss

META = torch.device("meta")
EPISODES, ITEMS, SIZE = 2, 3, 28
GIVEN = {name: 0.0 for name in ("assignment", "assignment_read")}
NETWORKS = {
    **{encoder: ("product", Loss(ae_weight=1.0), {"encoder": encoder}) for encoder in ENCODERS},
    **{f"decoder {name}": ("product", Loss(), {"encoder": "mlp", "decoder": name}) for name in DECODERS},
    "full": ("product", Loss("full"), {"sample": "full"}),
    "no gradient to r": ("product", Loss(), {"stop_grad_r": True}),
    "binding": ("product", Loss(hide_green=True), {"channels": 3}),
    "given": (
        "product",
        Loss(changed=tuple(GIVEN.items()), hide_green=True),
        {"channels": 3, "assignment": "given"},
    ),
    "mixture": ("mixture", Loss("mixture"), {}),
}
every_network = pytest.mark.parametrize("name", NETWORKS)


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of two devices, some of which the meta device lets pass."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        if len({tensor.device for tensor in tensors if tensor.dim() > 0}) > 1:
            raise RuntimeError(f"{operation}: expected all tensors to be on the same device")
        return operation(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def one_device():
    with OneDevice():
        yield


def network(name):
    model, _, options = NETWORKS[name]
    sizes = {"size": SIZE, "dim": 5, "machines": 2, "total": 6, "encoder": "mlp", "decoder": "mlp"}
    return build_network(model, **sizes | options).to(META)


def batch_for(model):
    """An update's batch, as `runs.draw` and `runs._noise` make it."""
    images = torch.zeros(EPISODES, ITEMS, *model.encoder.shape, dtype=torch.uint8, device=META)
    noise = draw_noise(model.noise_shapes(EPISODES, ITEMS), device=META)
    if model.assignment.noise_name == "given":
        noise |= routes(torch.zeros(EPISODES, ITEMS, 3, dtype=torch.long, device=META), model.machines)
    batch = {"images": images, "noise": noise, "warm_up": torch.ones(EPISODES, device=META)}
    return batch | ({"tau": torch.ones(EPISODES, device=META)} if model.rule == "mixture" else {})


@every_network
def test_a_training_step_stays_on_the_device(name):
    model, loss = network(name), NETWORKS[name][1]
    value, score = loss(model, batch_for(model))
    value.backward()
    assert value.is_meta
    assert score.is_meta
    assert all(p.grad.is_meta for p in model.parameters() if p.grad is not None)


@every_network
def test_a_stack_of_networks_stays_on_the_device(name):
    model, loss = network(name), NETWORKS[name][1]
    parameters, buffers = stack_module_state([network(name) for _ in range(2)])
    one = batch_for(model)
    batch = {key: torch.stack([value] * 2) for key, value in one.items() if key != "noise"}
    batch["noise"] = {key: torch.stack([value] * 2) for key, value in one["noise"].items()}

    def alone(parameters, buffers, batch):
        return loss(lambda *a, **k: functional_call(model, (parameters, buffers), a, k), batch)

    gradients, scores = vmap(grad(alone, has_aux=True))(parameters, buffers, batch)
    assert scores.shape == (2,)
    assert all(each.is_meta for each in gradients.values())


@pytest.mark.parametrize("name", ["full", "mixture"])
def test_noise_that_is_not_passed_is_drawn_where_the_images_lie(name):
    model = network(name).train()
    images = torch.zeros(EPISODES, ITEMS, *model.encoder.shape, device=META)
    assert model(images).logits.is_meta


def test_images_are_imagined_on_the_device():
    model = network("full")
    noise = draw_noise(generation.noise_shapes(model, EPISODES, 3, settle=2, draw=True), device=META)
    imagined, memory = generation.imagine_episode(model, noise, model.empty(EPISODES), settle=2, draw=True)
    assert imagined.images.is_meta
    assert memory.omega.is_meta


@pytest.mark.parametrize("solver", ["ridge", "dkm"])
def test_the_memory_moves_and_is_written_and_read_on_the_device(solver):
    memory = ProductMemory(dim=4, machines=2, columns=3, episodes=2).to(META)
    assert memory.device == META
    codes = torch.zeros(2, 5, 4, device=META)
    weights = weights_from_eta(torch.ones(2, 5, 2, device=META))
    written = write_episode(memory.state, codes, weights, solver=solver, psi=memory.prior.psi)
    assert written.kl.is_meta
    assert read(written.state, codes, weights.gamma, solver=solver).codes.is_meta
