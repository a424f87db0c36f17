"""Encoders z = e(x) of images to codes, and decoders of codes to the logits of pixels (A.1.1).

Images are [..., C, H, W] with values from 0 to 1 and H = W; codes are [..., D], D the paper's c. Any axes may come
first, so that episodes [B, T, C, H, W] become codes [B, T, D] in one call. Codes pass no activation. The paper gives
channels, kernels, strides and the decoder's sizes; other numbers are interpretations. Initial weights are PyTorch's.

>>> import torch
>>> ConvEncoder(channels=1, size=28, dim=50)(torch.zeros(2, 45, 1, 28, 28)).shape
torch.Size([2, 45, 50])
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.module import Module

HIDDEN = 256  # units of the perceptrons
SLOPE = 0.2  # of the leaky ReLU below 0, TensorFlow's default, since the paper gives none
PADDINGS = {"valid": (0, 0, 0, 0), "stride2": (2, 2, 2, 3)}  # by convolution


class ImageNetwork(Module):
    """Base of encoders and decoders; subclasses define `_each`, which takes N images, or N codes if it `decodes`."""

    decodes: ClassVar[bool] = False

    def __init__(self, channels: int, size: int, dim: int):
        super().__init__()
        check_positive_int(channels=channels, size=size, dim=dim)
        self.shape, self.dim = (channels, size, size), dim

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The code of each image, or the logits of the image of each code; leading axes stay."""
        reads = (self.dim,) if self.decodes else self.shape
        leading = x.shape[: -len(reads)]
        if tuple(x.shape[len(leading) :]) != reads:
            wanted = ", ".join(map(str, reads))
            raise UsageError(f"{type(self).__name__} reads tensors [..., {wanted}]; got {[*x.shape]}")
        y = self._each(x.reshape(-1, *reads))
        return y.reshape(*leading, *y.shape[1:])


class ConvEncoder(ImageNetwork):
    """Four convolutions of 6 x 6 with 16, 32, 64 and 128 channels, ReLU after each, then one linear layer.

    `padding` is "valid", none, or "stride2": strides of 2 instead of the paper's 1, for a CPU.
    """

    CHANNELS = (16, 32, 64, 128)

    def __init__(self, channels: int, size: int, dim: int, padding: str = "valid"):
        super().__init__(channels, size, dim)
        check_names("padding", [padding], PADDINGS)
        self.convs = nn.ModuleList()
        stride, side = 2 if padding == "stride2" else 1, size
        steps = pairwise((channels, *self.CHANNELS))
        for (inputs, outputs), pad in zip(steps, PADDINGS[padding], strict=True):
            self.convs.append(nn.Conv2d(inputs, outputs, 6, stride, pad))
            side = (side + 2 * pad - 6) // stride + 1
            if side < 1:
                raise UsageError(f"{size} pixels a side are too few for {padding!r}; 'mlp' takes any size")
        self.code = nn.Linear(self.CHANNELS[-1] * side * side, dim)

    def _each(self, x: Float[Tensor, "N C H W"]) -> Float[Tensor, "N D"]:
        for conv in self.convs:
            x = F.relu(conv(x))
        return self.code(x.flatten(1))


class ResidualBlock(nn.Module):
    """y = pool(conv_0(x)), y + conv_2(f(conv_1(f(y)))): kernels 3 x 3, maximum of 3 x 3, stride 2, f leaky ReLU."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.conv0, self.conv1, self.conv2 = (
            nn.Conv2d(channels, outputs, 3, padding=1) for channels in (inputs, outputs, outputs)
        )

    def forward(self, x: Float[Tensor, "N I H W"]) -> Float[Tensor, "N O h w"]:
        """Half the size, rounded up."""
        y = F.max_pool2d(self.conv0(x), 3, stride=2, padding=1)
        return y + self.conv2(F.leaky_relu(self.conv1(F.leaky_relu(y, SLOPE)), SLOPE))


class ResidualEncoder(ImageNetwork):
    """Two residual blocks, then 128 units and the code, leaky ReLU before each (the paper's for dSprites)."""

    CHANNELS = (32, 64)
    UNITS = 128

    def __init__(self, channels: int, size: int, dim: int):
        super().__init__(channels, size, dim)
        first, second = self.CHANNELS
        side = math.ceil(size / 4)  # 28 -> 14 -> 7
        self.blocks = nn.Sequential(ResidualBlock(channels, first), ResidualBlock(first, second))
        self.hidden = nn.Linear(second * side * side, self.UNITS)
        self.code = nn.Linear(self.UNITS, dim)

    def _each(self, x: Float[Tensor, "N C H W"]) -> Float[Tensor, "N D"]:
        hidden = self.hidden(F.leaky_relu(self.blocks(x).flatten(1), SLOPE))
        return self.code(F.leaky_relu(hidden, SLOPE))


class MLPEncoder(ImageNetwork):
    """All pixels, 256 units with ReLU, the code: for small images, not the paper's."""

    def __init__(self, channels: int, size: int, dim: int):
        super().__init__(channels, size, dim)
        self.hidden, self.code = nn.Linear(math.prod(self.shape), HIDDEN), nn.Linear(HIDDEN, dim)

    def _each(self, x: Float[Tensor, "N C H W"]) -> Float[Tensor, "N D"]:
        return self.code(F.relu(self.hidden(x.flatten(1))))


class ConvDecoder(ImageNetwork):
    """A linear layer to 64 small maps, then three transposed convolutions of 4 x 4 at stride 2, ReLU before each.

    Their channels are 32, 16 and C. Where 28 pixels ask for 7 on the way, the last of 8 rows and columns are cut
    off, as TensorFlow's SAME does (4 -> 8, cut to 7 -> 14 -> 28); any size is reached likewise.
    """

    decodes = True
    CHANNELS = (64, 32, 16)

    def __init__(self, channels: int, size: int, dim: int):
        super().__init__(channels, size, dim)
        self.sizes = tuple(math.ceil(size / share) for share in (4, 2, 1))
        self.small = math.ceil(self.sizes[0] / 2)
        self.maps = nn.Linear(dim, self.CHANNELS[0] * self.small**2)
        self.convs = nn.ModuleList(
            nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1)
            for inputs, outputs in pairwise((*self.CHANNELS, channels))
        )

    def _each(self, z: Float[Tensor, "N D"]) -> Float[Tensor, "N C H W"]:
        x = self.maps(z).unflatten(1, (self.CHANNELS[0], self.small, self.small))
        for conv, size in zip(self.convs, self.sizes, strict=True):
            x = conv(F.relu(x))[..., :size, :size]
        return x


class MLPDecoder(ImageNetwork):
    """The code, 256 units with ReLU, all pixels: for small images, not the paper's."""

    decodes = True

    def __init__(self, channels: int, size: int, dim: int):
        super().__init__(channels, size, dim)
        self.hidden, self.pixels = nn.Linear(dim, HIDDEN), nn.Linear(HIDDEN, math.prod(self.shape))

    def _each(self, z: Float[Tensor, "N D"]) -> Float[Tensor, "N C H W"]:
        return self.pixels(F.relu(self.hidden(z))).unflatten(1, self.shape)


ENCODERS: dict[str, Callable[[int, int, int], ImageNetwork]] = {
    "valid": ConvEncoder,
    "stride2": partial(ConvEncoder, padding="stride2"),
    "residual": ResidualEncoder,
    "mlp": MLPEncoder,
}
DECODERS: dict[str, Callable[[int, int, int], ImageNetwork]] = {"conv": ConvDecoder, "mlp": MLPDecoder}
