"""The slope of a loss along a random direction, twice: from its gradients, and from its values."""

import torch

from mini_lib.seeding import torch_rng


def slopes(loss, inputs, step=1e-6):
    """Gradients of `loss()` by these leaves, and both slopes along one direction of all of them."""
    inputs, generator = list(inputs), torch_rng(0, "direction")
    gradients = torch.autograd.grad(loss(), inputs)
    ways = [torch.randn(each.shape, generator=generator, dtype=each.dtype) for each in inputs]
    values = []
    with torch.no_grad():
        for distance in (step, -2 * step):
            for each, way in zip(inputs, ways, strict=True):
                each += distance * way
            values.append(loss())
    along = sum((gradient * way).sum() for gradient, way in zip(gradients, ways, strict=True))
    return gradients, along, (values[0] - values[1]) / (2 * step)
