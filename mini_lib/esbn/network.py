"""Encoders f_e (A.3.1, A.5.4), temporal context normalization (section 3.1), and a whole network (section 3).

In shapes P are images, B problems, T steps, D features, C classes.
"""

import math
from itertools import chain

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_positive_int, is_int
from mini_lib.layers import check_sequences, linear
from mini_lib.module import Module, holds

EPSILON = 1e-8
Shape = tuple[int, int, int]
Lengths = Int[Tensor, "B"] | None
IMAGE = (1, 32, 32)  # colors, height and width of the paper's images
INPUT = "a Network takes a tensor of problems [B, T, ...] or, with ids, of a pool of images [P, ...]"


class Encoder(Module):
    """Base class: images [P, colors, height, width] with values from 0 to 1, gray ones also [P, height, width]."""

    def __init__(self, image: Shape, least: int = 1, **sizes: int):
        super().__init__()
        check_positive_int(**sizes)
        known = isinstance(image, tuple | list) and len(image) == 3 and all(map(is_int, image))
        if not known or image[0] < 1 or min(image[1:]) < least:
            raise UsageError(f"image is (colors, height, width), each from {least} pixels; got {image!r}")
        self.image = tuple(image)

    def forward(self, images: Tensor) -> Float[Tensor, "P D"]:
        """Embed each image."""
        if not isinstance(images, Tensor) or not images.is_floating_point():
            raise UsageError("images are a tensor of floats from 0 to 1; divide bytes by 255")
        if images.shape[1:] != self.image and (self.image[0] > 1 or images.shape[1:] != self.image[1:]):
            raise UsageError(f"images have to be {self.image}, got {(*images.shape[1:],)}; {INPUT}")
        dtype = next(chain(self.parameters(), self.buffers())).dtype
        if images.dtype != dtype and not torch.is_autocast_enabled(images.device.type):
            raise UsageError(f"images are {images.dtype}, the encoder computes in {dtype}")
        if images.device.type == "cpu" and not holds(~((images.detach() > 1) | (images.detach() < 0))):
            raise UsageError("images have values from 0 to 1; divide bytes by 255")
        return self._embed(images.flatten(1))


class ConvEncoder(Encoder):
    """Three 4x4 convolutions of stride 2 and padding 1, then two linear layers, ReLU after each (A.3.1).

    >>> ConvEncoder(features=16, image=(3, 28, 28))(torch.rand(2, 3, 28, 28)).shape
    torch.Size([2, 16])
    """

    def __init__(self, features: int = 128, channels: int = 32, hidden: int = 256, image: Shape = IMAGE):
        super().__init__(image, least=8, features=features, channels=channels, hidden=hidden)
        self.conv1 = nn.Conv2d(image[0], channels, 4, stride=2, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 4, stride=2, padding=1)
        self.conv3 = nn.Conv2d(channels, channels, 4, stride=2, padding=1)
        self.fc1 = linear(channels * (image[1] // 8) * (image[2] // 8), hidden)
        self.fc2 = linear(hidden, features)
        for conv in (self.conv1, self.conv2, self.conv3):
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            nn.init.zeros_(conv.bias)

    def _embed(self, pixels: Float[Tensor, "P pixels"]) -> Float[Tensor, "P D"]:
        x = pixels.unflatten(1, self.image)  # [P, colors, height, width]
        for conv in (self.conv1, self.conv2, self.conv3):
            x = F.relu(conv(x))
        return F.relu(self.fc2(F.relu(self.fc1(x.flatten(1)))))


class MLPEncoder(Encoder):
    """1024 -> 512 -> 256 -> 128 with ReLU after each layer (A.5.4)."""

    def __init__(self, features: int = 128, hidden: int = 512, hidden2: int = 256, image: Shape = IMAGE):
        super().__init__(image, features=features, hidden=hidden, hidden2=hidden2)
        self.fc1 = linear(math.prod(image), hidden)
        self.fc2 = linear(hidden, hidden2)
        self.fc3 = linear(hidden2, features)

    def _embed(self, pixels: Float[Tensor, "P pixels"]) -> Float[Tensor, "P D"]:
        return F.relu(self.fc3(F.relu(self.fc2(F.relu(self.fc1(pixels))))))


class RandomEncoder(Encoder):
    """One untrained linear layer and a ReLU (A.5.4); its weights are buffers."""

    def __init__(self, features: int = 128, image: Shape = IMAGE):
        super().__init__(image, features=features)
        for name, value in linear(math.prod(image), features).named_parameters():  # weight and bias
            self.register_buffer(name, value.detach().clone())

    def _embed(self, pixels: Float[Tensor, "P pixels"]) -> Float[Tensor, "P D"]:
        return F.relu(F.linear(pixels, self.weight, self.bias))


ENCODERS = {"conv": ConvEncoder, "mlp": MLPEncoder, "rand": RandomEncoder}


def check_integers(what: str, values: Tensor, shape: tuple[int | None, ...], least: int, most: int) -> None:
    """UsageError unless values are a tensor of integers from `least` to `most`; None in `shape` is any size."""
    integers = (torch.int32, torch.int64)  # tensors of other types index as masks
    is_tensor = isinstance(values, Tensor) and values.dtype in integers and values.dim() == len(shape)
    if not is_tensor or any(size not in (None, own) for size, own in zip(shape, values.shape, strict=True)):
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        raise UsageError(f"{what} have to be a tensor [{sizes}] of torch.int64")
    if values.device.type == "cpu" and not holds((values >= least) & (values <= most)):
        raise UsageError(f"{what} are from {least} to {most}, got {values.min()} to {values.max()}")


class SequenceNetwork(Module):
    """Base class: embeddings [B, T, D] -> logits [B, C], for sequences of any length or of one `length`."""

    def __init__(self, features: int, length: int | None = None, **sizes: int):
        super().__init__()
        check_positive_int(features=features, length=1 if length is None else length, **sizes)
        self.features, self.length = features, length

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """Logits of each problem."""
        check_sequences(z, self.length, self)
        return self._logits(z)


def standardize(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Values with mean 0 and variance 1 along one dimension, where they differ at all; half precision as float32."""
    single = x.to(torch.promote_types(x.dtype, torch.float32))
    variance, mean = torch.var_mean(single, dim=dim, keepdim=True)
    return ((single - mean) / torch.sqrt(variance + EPSILON)).to(x.dtype)


class TemporalContextNorm(Module):
    """Normalize each feature over the time steps of a window (Webb et al. 2020; section 3.1).

    z'_t = gain (z_t - mean_W z) / sqrt(var_W z + 1e-8) + shift, with the unbiased variance over the window W that
    contains t. The lengths of the windows add up to T, and all share the learned `gain` and `shift` of each feature.

    >>> norm = TemporalContextNorm(features=3, windows=(2, 2))
    >>> norm(torch.rand(1, 4, 3)).abs().round(decimals=2).unique().item()  # of two steps only the order is left
    0.7099999785423279
    """

    def __init__(self, features: int, windows: tuple[int, ...]):
        super().__init__()
        check_positive_int(features=features)
        known = isinstance(windows, tuple | list) and windows and all(map(is_int, windows))
        if not known or min(windows) < 2:
            raise UsageError(f"windows are lengths of 2 steps or more, such as (2, 2, 2); got {windows!r}")
        self.features, self.windows = features, tuple(windows)
        self.gain = nn.Parameter(torch.ones(features))
        self.shift = nn.Parameter(torch.zeros(features))

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Normalize z."""
        check_sequences(z, sum(self.windows), self)
        parts = [standardize(part, dim=1) for part in z.split(self.windows, dim=1)]  # [B, W, D]
        return torch.cat(parts, dim=1) * self.gain + self.shift


class Network(Module):
    """Pictures pass an encoder f_e, are normalized over their problem's steps, and a sequence model f_s answers.

    Any modules will do that map images [P, ...] to embeddings [P, D], embeddings [B, T, D] to the same shape
    (`nn.Identity()` leaves them raw), and those to logits [B, C]:

    >>> from mini_lib.esbn.esbn import ESBN
    >>> core = ESBN(features=16, classes=2, hidden=32, key_size=16)
    >>> encoder = nn.Sequential(nn.Flatten(), nn.Linear(3 * 20 * 20, 16))
    >>> network = Network(encoder, TemporalContextNorm(16, windows=(2,)), core)
    >>> pool, ids = torch.rand(10, 3, 20, 20), torch.randint(10, (5, 2))
    >>> network(pool, ids).shape, network(pool[ids]).shape
    (torch.Size([5, 2]), torch.Size([5, 2]))
    """

    def __init__(self, encoder: nn.Module, norm: nn.Module, core: nn.Module):
        super().__init__()
        self.encoder, self.norm, self.core = encoder, norm, core

    def embed(self, images: Tensor, ids: Int[Tensor, "B T"] | None = None) -> Float[Tensor, "B T D"]:
        """Encode and normalize; with `ids`, the number of the image at each step, `images` is a pool [P, ...]."""
        if not isinstance(images, Tensor) or images.dim() < (3 if ids is None else 2):
            raise UsageError(INPUT)
        if ids is None:
            return self.norm(self.encoder(images.flatten(0, 1)).unflatten(0, images.shape[:2]))
        check_integers("ids", ids, (None, None), 0, len(images) - 1)
        return self.norm(self.encoder(images)[ids])

    def forward(
        self, images: Tensor, ids: Int[Tensor, "B T"] | None = None, **options: Lengths
    ) -> Float[Tensor, "B C"]:
        """Logits of problems [B, T, ...].

        With `ids`, the number of the image at each step, `images` is a pool [P, ...], each encoded only once.
        Options are those of the sequence model, such as `lengths` of an ESBN.
        """
        return self.core(self.embed(images, ids), **options)

    def forward_with_loss(
        self, images: Tensor, ids: Int[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B C"], Float[Tensor, ""]]:
        """Logits, and the sequence model's own extra loss: the MNM's meta loss, zero for others."""
        z = self.embed(images, ids)
        if hasattr(self.core, "forward_with_loss"):
            return self.core.forward_with_loss(z)
        return self.core(z), z.new_zeros(())
