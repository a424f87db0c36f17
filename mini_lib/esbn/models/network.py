"""A whole network: encoder, temporal context normalisation and sequence model in a row (section 3)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mini_lib.errors import UsageError, check_positive_int

EPSILON = 1e-8


class TemporalContextNorm(nn.Module):
    """Normalise each feature over the time steps of a window (Webb et al. 2020; section 3.1).

    z'_t = gain (z_t - mean_W z) / sqrt(var_W z + 1e-8) + shift, with the unbiased variance over the window W
    that holds t. Windows are given by their lengths, such as (9,) or (2, 2, 2), which add up to T. `gain` (from 1)
    and `shift` (from 0), one per feature, are learned and shared by all windows; the authors' code calls them gamma
    and beta. Nothing is carried over between problems.

    >>> norm = TemporalContextNorm(features=3, windows=(2, 2))
    >>> norm(torch.rand(1, 4, 3)).abs().round(decimals=2).unique().item()  # of two steps only the order is left
    0.7099999785423279
    """

    def __init__(self, features: int, windows: tuple[int, ...]):
        super().__init__()
        check_positive_int(features=features)
        if min(windows) < 2:
            raise UsageError(f"a window needs 2 steps or more for a variance, got {windows}")
        self.windows = tuple(windows)
        self.gain = nn.Parameter(torch.ones(features))
        self.shift = nn.Parameter(torch.zeros(features))

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Normalise z."""
        if sum(self.windows) != z.shape[1]:
            raise UsageError(
                f"windows {self.windows} cover {sum(self.windows)} steps, the input has {z.shape[1]}"
            )
        return torch.cat([self._normalise(part) for part in z.split(self.windows, dim=1)], dim=1)

    def _normalise(self, z: Float[Tensor, "B W D"]) -> Float[Tensor, "B W D"]:
        variance, mean = torch.var_mean(z, dim=1, keepdim=True)
        return (z - mean) / torch.sqrt(variance + EPSILON) * self.gain + self.shift


def check_pictures(images: object, where: object) -> None:
    """UsageError unless these are problems [B, T, 32, 32], or a pool [P, 32, 32] and [B, T] ids of its pictures."""
    if not isinstance(images, Tensor) or not images.is_floating_point():
        raise UsageError("pictures are a tensor of floats from 0 to 1; use torch.as_tensor(images).float()")
    if images.dim() != (4 if where is None else 3) or images.shape[-2:] != (32, 32):
        wanted = "problems are [B, T, 32, 32], without `where`" if where is None else "a pool is [P, 32, 32]"
        raise UsageError(f"{wanted}; got pictures of shape {list(images.shape)}")
    if where is not None and not (
        isinstance(where, Tensor) and where.dim() == 2 and not where.is_floating_point()
    ):
        raise UsageError("`where` takes the ids of pictures, whole numbers [B, T], such as `problems.ids`")


class Network(nn.Module):
    """images -> encoder f_e -> normalisation over the problem's own steps -> sequence model f_s -> logits.

    Any modules will do that map images [P, 32, 32] to embeddings [P, D], embeddings [B, T, D] to the same shape
    (`nn.Identity()` leaves them raw), and those to logits [B, C]:

    >>> from mini_lib.esbn.models import ESBN, MLPEncoder
    >>> core = ESBN(features=16, classes=2, hidden=32, key_size=16)
    >>> network = Network(MLPEncoder(features=16), TemporalContextNorm(16, windows=(2,)), core)
    >>> pool, where = torch.rand(10, 32, 32), torch.randint(10, (5, 2))
    >>> network(pool, where).shape, network(pool[where]).shape
    (torch.Size([5, 2]), torch.Size([5, 2]))
    """

    def __init__(self, encoder: nn.Module, norm: nn.Module, core: nn.Module):
        super().__init__()
        self.encoder, self.norm, self.core = encoder, norm, core

    def embed(
        self, images: Float[Tensor, "... 32 32"], where: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T D"]:
        """Encode and normalise; the arguments and errors are those of `forward`."""
        check_pictures(images, where)
        if where is None:
            z = self.encoder(images.flatten(0, 1)).unflatten(0, images.shape[:2])
        else:
            z = self.encoder(images)[where]
        return self.norm(z)

    def forward(
        self, images: Float[Tensor, "... 32 32"], where: Int[Tensor, "B T"] | None = None, aux: bool = False
    ) -> Float[Tensor, "B C"] | tuple[Float[Tensor, "B C"], Float[Tensor, ""]]:
        """Logits of problems [B, T, 32, 32]; with `aux` also the network's own extra loss (zero but for the MNM).

        With `where`, which image stands at each step, `images` is a pool [P, 32, 32] of distinct images. That is the
        same function, but each image is encoded once instead of once per appearance. UsageError for other shapes.
        """
        z = self.embed(images, where)
        if not aux:
            return self.core(z)
        if hasattr(self.core, "forward_with_loss"):
            return self.core.forward_with_loss(z)
        return self.core(z), torch.zeros((), device=z.device)
