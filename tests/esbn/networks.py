"""Small networks of every kind, made by the names of a run's settings."""

import inspect

import torch
from slopes import slopes
from torch.func import functional_call, grad, stack_module_state, vmap

from mini_lib.esbn.network import ENCODERS, Network, TemporalContextNorm
from mini_lib.esbn.runs import MODELS
from mini_lib.seeding import seeded

WINDOWS = {2: (2,), 6: (2, 2, 2), 9: (9,)}
CLASSES = {2: 2, 6: 2, 9: 4}
FEATURES = 16
SMALL = {"hidden": 24, "key_size": 12, "row_size": 12, "relation_size": 12, "answer_hidden": 12, "heads": 4}
SMALL_ENCODER = {"channels": 4, "hidden": 12, "hidden2": 12}


def own(make, sizes):
    """Those of the sizes that a constructor takes."""
    known = inspect.signature(make).parameters.keys() - getattr(make, "keywords", {}).keys()
    return {name: size for name, size in sizes.items() if name in known}


def options(model):
    """Small sizes of a model as `Settings.options` takes them."""
    return own(MODELS[model], SMALL)


def network(model, length=9, *, encoder="conv", tcn=True, full=False, seed=0, **more):
    """A network of the paper's size or a small one, for problems of so many steps."""
    torch.manual_seed(seed)
    features = 128 if full else FEATURES
    sizes = {"features": features, "classes": CLASSES[length], "length": length} | ({} if full else SMALL)
    core = MODELS[model](**own(MODELS[model], sizes), **more)
    norm = TemporalContextNorm(features, WINDOWS[length]) if tcn else torch.nn.Identity()
    small = {} if full else own(ENCODERS[encoder], SMALL_ENCODER)
    return Network(ENCODERS[encoder](features, **small), norm, core)


def busy(model, length=9, seed=0, **options):
    """A small network in double precision whose zeros (biases, shift, default memory) are zero no more."""
    made = network(model, length, seed=seed, **options).double()
    with torch.no_grad(), seeded(seed, "busy"):
        for parameter in made.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return made


class Stub(torch.nn.Module):
    """A function in the place of a network."""

    def __init__(self, function):
        super().__init__()
        self.function, self.parameter = function, torch.nn.Parameter(torch.zeros(()))

    def forward(self, *given):
        return self.function(*given)


def batch(length=9, size=3, images=5):
    """A pool of pictures, and problems of them."""
    rng = torch.Generator().manual_seed(0)
    pool = torch.rand(images, 32, 32, generator=rng, dtype=torch.float64)
    return pool, torch.randint(images, (size, length), generator=rng)


def stacked_gradients(networks, loss, *given):
    """By name, the gradients of `loss(network's output)` of stacked networks, [R, ...]; then each network's own.

    Those are checked against the slope of the loss along a random direction, which no detached part escapes.
    """

    def one(*state):
        return loss(functional_call(networks[0], state, given))

    stacked, own = vmap(grad(one))(*stack_module_state(networks)), []
    for network in networks:
        loss(network(*given)).backward()
        own.append({name: p.grad for name, p in network.named_parameters()})
        learned = [p for p in network.parameters() if p.grad is not None]
        _, along, expected = slopes(lambda network=network: loss(network(*given)), learned, step=1e-8)
        torch.testing.assert_close(along, expected, rtol=1e-3, atol=1e-6)
    return stacked, own


def in_half_precision(make, given, loss):
    """Check what a network outputs, by autocast and with weights in half precision, and that it learns so."""

    def output(network, cast):
        found = network(*(each.to(cast) if each.is_floating_point() else each for each in given))
        loss(found).backward()
        gradients = [p.grad for p in network.parameters() if p.grad is not None]
        assert all(gradient.isfinite().all() for gradient in gradients)
        assert any(gradient.any() for gradient in gradients)
        return (found[0] if isinstance(found, tuple) else found).float()

    wanted = output(make().float(), torch.float32)
    close = {"rtol": 0, "atol": 0.04 * wanted.abs().max().item()}  # four times the largest error of any
    with torch.autocast("cpu", torch.float16):
        torch.testing.assert_close(output(make().float(), torch.float32), wanted, **close)
    torch.testing.assert_close(output(make().half(), torch.float16), wanted, **close)
