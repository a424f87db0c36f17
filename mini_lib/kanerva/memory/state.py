"""The state of a memory, and the prior that it starts from (Section 2).

Machine i is an unknown matrix with D rows and M columns. Its rows are independent and normal: row d has the mean
R_i[d] and the covariance V_i, the same for all rows. In the paper's words p(vec(M_i)) = N(vec(R_i), V_i x I).
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import UsageError, check_positive_int

CUT = 2.0  # standard deviations at which the initial prior means are cut off


class State(NamedTuple):
    """The K machines of B memories."""

    R: Float[Tensor, "B K D M"]  #: means.
    V: Float[Tensor, "B K M M"]  #: covariances of the columns.
    #: ln det V_0 - ln det V, the nats by which each covariance has shrunk since the prior; kept as a running
    #: sum, which needs no determinant.
    shrinkage: Float[Tensor, "B K"]

    def split(self) -> list["State"]:
        """The machines one by one, each a state with K = 1."""
        return [State(*parts) for parts in zip(*(part.split(1, dim=1) for part in self), strict=True)]


def join(machines: list[State]) -> State:
    """The state whose machines these are; undoes `State.split`."""
    return State(*(torch.cat(parts, dim=1) for parts in zip(*machines, strict=True)))


class Prior(NamedTuple):
    """The K machines of every memory before anything is written: N(vec(R_i), psi_i I)."""

    #: means; in a network they are learned. They differ between machines, or these would stay alike.
    R: Float[Tensor, "K D M"]
    psi: Float[Tensor, "K"]  #: variances, one for each machine.

    def state(self, batch: int) -> State:
        """The state of B empty memories."""
        machines, _, columns = self.R.shape
        covariance = torch.diag_embed(self.psi[:, None].expand(machines, columns))
        return State(
            self.R.expand(batch, *self.R.shape),
            covariance.expand(batch, *covariance.shape),
            torch.zeros_like(self.psi).expand(batch, machines),
        )


class WriteResult(NamedTuple):
    """What writing an episode of T items did, step by step."""

    states: tuple[State, ...]  #: T + 1 of them, from the one before the first item to the one after the last.
    w: Float[Tensor, "B T K M"]  #: addresses by least squares, without noise.
    eta: Float[Tensor, "B T K"]  #: each machine's noise.
    gamma: Float[Tensor, "B T K"]  #: each machine's weight.
    kl: Float[Tensor, "B T K"]  #: of each item, from the memory before it to the memory after it, in nats.

    @property
    def state(self) -> State:
        """The memory after the last item."""
        return self.states[-1]


def columns_of(total: int, machines: int) -> int:
    """M = m / k, the columns of each of k machines that share m columns, which k has to divide."""
    check_positive_int(total=total, machines=machines)
    if total % machines:
        fitting = ", ".join(str(k) for k in range(1, total + 1) if total % k == 0)
        raise UsageError(
            f"{machines} machines cannot share {total} columns evenly; numbers of machines that can: {fitting}"
        )
    return total // machines


def initial_means(
    machines: int, dim: int, columns: int, generator: torch.Generator | None = None
) -> Float[Tensor, "K D M"]:
    """Prior means to start from: standard normal, cut off at two standard deviations.

    Section A.4 says R_0 ~ N(0, I) and speaks of a "truncated unit normal" beside the covariance; in the code of the
    Dynamic Kanerva Machine (Wu et al. 2018b) it is the mean that is drawn so.
    """
    check_positive_int(machines=machines, dim=dim, columns=columns)
    means = torch.empty(machines, dim, columns)
    return nn.init.trunc_normal_(means, a=-CUT, b=CUT, generator=generator)
