"""Encoders and decoders against slow numpy convolutions; sizes by hand, half precision."""

import numpy as np
import pytest
import torch

from kanerva.cases import randn
from kanerva.whole import linear
from mini_lib.kanerva.images import DECODERS, ENCODERS
from mini_lib.seeding import seeded

SIZE = {"valid": 22, "stride2": 17, "residual": 7, "mlp": 5}  # small ones, odd where that matters
NETWORKS = [*((name, ENCODERS) for name in ENCODERS), *((name, DECODERS) for name in DECODERS)]


def network(name, kinds, channels=2, size=None, seed=0):
    with seeded(seed, "test"):
        return kinds[name](channels, size or (SIZE[name] if kinds is ENCODERS else 5), 3).double()


def conv(x, w, b, stride=1, before=0, after=0):
    x = np.pad(x, ((0, 0), (before, after), (before, after)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(1, 2))[:, ::stride, ::stride]
    return np.einsum("cijab,ocab->oij", windows, w) + b[:, None, None]


def transposed(x, w, b, size):
    """Every place of x paints a square of 4 x 4, two pixels from the next; as TensorFlow's SAME, cut to `size`."""
    n = x.shape[1]
    full = np.zeros((w.shape[1], 2 * n + 2, 2 * n + 2))
    for row, column in np.ndindex(n, n):
        square = np.einsum("i,ioab->oab", x[:, row, column], w)
        full[:, 2 * row : 2 * row + 4, 2 * column : 2 * column + 4] += square
    before = (2 * n + 2 - size) // 2
    return full[:, before : before + size, before : before + size] + b[:, None, None]


def pool(x):
    """The maximum of 3 x 3, every second row and column."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2, ::2].max((3, 4))


def relu(x):
    return np.maximum(x, 0)


def leaky(x):
    return np.where(x > 0, x, 0.2 * x)


def encoded(name, p, x):
    if name == "mlp":
        return linear(p, "code", relu(linear(p, "hidden", x.ravel())))
    if name == "residual":
        for block in ("blocks.0", "blocks.1"):
            w = [(p[f"{block}.conv{i}.weight"], p[f"{block}.conv{i}.bias"]) for i in range(3)]
            x = pool(conv(x, *w[0], 1, 1, 1))
            x = x + conv(leaky(conv(leaky(x), *w[1], 1, 1, 1)), *w[2], 1, 1, 1)
        return linear(p, "code", leaky(linear(p, "hidden", leaky(x.ravel()))))
    for i in range(4):
        stride, before, after = {"valid": (1, 0, 0), "stride2": (2, 3, 3) if i == 3 else (2, 2, 2)}[name]
        x = relu(conv(x, p[f"convs.{i}.weight"], p[f"convs.{i}.bias"], stride, before, after))
    return linear(p, "code", x.ravel())


def decoded(name, p, z, shape):
    if name == "mlp":
        return linear(p, "pixels", relu(linear(p, "hidden", z))).reshape(shape)
    sizes = [-(-shape[1] // share) for share in (4, 2, 1)]
    small = -(-sizes[0] // 2)
    x = linear(p, "maps", z).reshape(64, small, small)
    for i, size in enumerate(sizes):
        x = transposed(relu(x), p[f"convs.{i}.weight"], p[f"convs.{i}.bias"], size)
    return x


def arrays(network):
    return {name: value.numpy() for name, value in network.state_dict().items()}


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("channels", [1, 3])
def test_codes_are_those_of_the_formulas(name, channels):
    encoder = network(name, ENCODERS, channels)
    images = (randn(2, channels, SIZE[name], SIZE[name]) > 0).double()
    expected = [encoded(name, arrays(encoder), image) for image in images.numpy()]
    with torch.no_grad():
        np.testing.assert_allclose(encoder(images).numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [5, 8, 14, 28])
@pytest.mark.parametrize("name", DECODERS)
def test_logits_are_those_of_the_formulas(name, size):
    decoder, z = network(name, DECODERS, 3, size), randn(2, 3)
    expected = [decoded(name, arrays(decoder), code, (3, size, size)) for code in z.numpy()]
    with torch.no_grad():
        np.testing.assert_allclose(decoder(z).numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("name", "kinds"), NETWORKS)
def test_half_precision_is_near_and_axes_are_folded(name, kinds):
    made, dtype = network(name, kinds, 1, seed=2), torch.float16
    x = randn(2, 3, 3) if made.decodes else (randn(2, 3, *made.shape) > 0).double()
    plain, half = made(x), made.to(dtype)(x.to(dtype))
    torch.testing.assert_close(half.double(), plain, rtol=0, atol=0.003 * plain.abs().max().item())
    half.sum().backward()
    assert all(each.grad.any() for each in made.parameters())
    assert half.dtype == dtype
    assert half[1, 2].float().allclose(made(x[1, 2].to(dtype)).float(), rtol=0.1, atol=0.05)
