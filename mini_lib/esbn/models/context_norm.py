"""Temporal context normalisation (Webb et al. 2020; section 3.1 of the ESBN paper)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import UsageError, check_whole

EPSILON = 1e-8


class TemporalContextNorm(nn.Module):
    """Normalise each feature over the time steps of a window, then scale and shift it.

    z'_t = gain (z_t - mean_W z) / sqrt(var_W z + 1e-8) + shift, with the unbiased variance over the window W
    that holds t. `gain` (from 1) and `shift` (from 0), one per feature, are learned and shared by all windows;
    the authors' code calls them gamma and beta. Nothing is carried over between problems.

    Args:
        features: D.
        windows: lengths of consecutive windows that together cover the T steps, such as (9,) or (2, 2, 2).

    Raises:
        UsageError: for D below 1, a window of a single step, or, in `forward`, windows that do not add up to T.

    >>> norm = TemporalContextNorm(features=3, windows=(2, 2))
    >>> norm(torch.rand(1, 4, 3)).abs().round(decimals=2).unique().item()  # of two steps only the order is left
    0.7099999785423279
    """

    def __init__(self, features: int, windows: tuple[int, ...]):
        super().__init__()
        check_whole(features=features)
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
