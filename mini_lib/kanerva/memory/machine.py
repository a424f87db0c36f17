"""A memory that stands alone: write codes of any origin, then read them; nothing is learned by gradients."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.kanerva.memory import reading
from mini_lib.kanerva.memory.addressing import RIDGE, SOLVERS
from mini_lib.kanerva.memory.divergence import memory_kl
from mini_lib.kanerva.memory.reading import ReadResult
from mini_lib.kanerva.memory.state import Prior, State, columns_of, initial_means
from mini_lib.kanerva.memory.writing import (
    COUPLINGS,
    MachineWeights,
    combine,
    readouts,
    weights_from_eta,
    write_episode,
)
from mini_lib.seeding import torch_rng

Array = Tensor | np.ndarray | Sequence
Numbers = float | int | Array


class ProductMemory:
    """K Kanerva Machines that hold codes together.

    Codes are vectors of D features, given as [T, D]; features of a size around 1 suit the prior. An object holds one
    memory, or a memory for each of B episodes: then everything below has a first axis B.

    In the paper a network infers each machine's noise eta and weight gamma. Here they are given: as one number, as
    [K], or as [T, K] item by item. By default gamma follows from eta: in proportion to 1 / eta_i^2.

    >>> codes = torch.randn(20, 8, generator=torch.Generator().manual_seed(0))  # T = 20, D = 8
    >>> memory = ProductMemory(dim=8, machines=2, columns=10)
    >>> memory.write(codes, eta=0.1).shape  # nats by which each item moved each machine
    torch.Size([20, 2])
    >>> answers = memory.read(codes[:3]).codes
    >>> bool((answers - codes[:3]).norm() < 0.5 * codes[:3].norm())
    True

    Args:
        dim: D.
        machines: K.
        columns: M, of each machine.
        total: K M, all columns together, in place of `columns`.
        episodes: B; None for one memory without that axis.
        coupling: "product", "independent" or "mixture" (gamma is then the choice, and has to be given).
        solver: "ridge" or "dkm"; see `addresses`.
        ridge: lambda of the addressing.
        psi: variance of the prior.
        means: of the prior, [K, D, M]; drawn where they are not given.
        seed: of what is drawn.
        dtype: of all numbers; float64 where exactness counts more than speed.
        device: where the memory lies; by default where `means` lie, or on the CPU.

    Attributes:
        prior: the machines before anything is written.
        state: the machines now; its tensors always have the axis B.
        items: how many have been written.
    """

    def __init__(
        self,
        dim: int,
        machines: int = 1,
        columns: int | None = None,
        *,
        total: int | None = None,
        episodes: int | None = None,
        coupling: str = "product",
        solver: str = "ridge",
        ridge: float = RIDGE,
        psi: float = 1.0,
        means: Array | None = None,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ):
        if (columns is None) == (total is None):
            raise UsageError("give either columns, of each machine, or total, of all machines together")
        columns = columns_of(total, machines) if columns is None else columns
        check_positive_int(
            dim=dim, machines=machines, columns=columns, episodes=1 if episodes is None else episodes
        )
        check_names("coupling", [coupling], COUPLINGS)
        check_names("solver", [solver], SOLVERS)
        for name, value in (("ridge", ridge), ("psi", psi)):
            if not 0 < value < math.inf:
                raise UsageError(f"{name} has to be above 0, got {value!r}")
        if dtype not in (torch.float32, torch.float64):
            raise UsageError(f"dtype has to be torch.float32 or torch.float64, got {dtype}")
        shape = machines, dim, columns
        if means is None:
            means = initial_means(*shape, generator=torch_rng(seed, "memory"))
        means = _tensor(f"means [K, D, M] = {[*shape]}", means, dtype, device)
        if tuple(means.shape) != shape or not means.isfinite().all():
            raise UsageError(f"means have to be finite numbers [K, D, M] = {[*shape]}, got {[*means.shape]}")
        self.dim, self.machines, self.columns, self.episodes = dim, machines, columns, episodes
        self.coupling, self.options = coupling, {"solver": solver, "ridge": ridge}
        self.prior = Prior(means, torch.full((machines,), psi, dtype=dtype, device=means.device))
        self.reset()

    @property
    def device(self) -> torch.device:
        """Where the memory lies; codes are brought there."""
        return self.prior.R.device

    def to(self, device: torch.device | str) -> "ProductMemory":
        """Move the memory to a device; returns the same object, as PyTorch's modules do."""
        self.prior = Prior(*(part.to(device) for part in self.prior))
        self.state = State(*(part.to(device) for part in self.state))
        return self

    def reset(self) -> None:
        """Forget everything that was written."""
        self.state: State = self.prior.state(1 if self.episodes is None else self.episodes)
        self.items = 0

    @torch.no_grad()
    def write(
        self, codes: Array, eta: Numbers = 1.0, gamma: Numbers | None = None
    ) -> Float[Tensor, "*B T K"]:
        """Write T codes, [T, D], one after the other; the larger eta, the less an item changes a machine.

        Returned is how far each item moved each machine: its divergence from the machine before it, in nats. Codes
        or weights that do not fit or are no finite numbers are a `UsageError`, and the memory stays as it was.
        """
        codes = self._codes(codes, "codes")
        weights = self._weights(codes, eta, gamma)
        options = {"coupling": self.coupling, "psi": self.prior.psi, **self.options}
        written = write_episode(self.state, codes, weights, **options)
        if not all(part.isfinite().all() for part in written.state):
            raise UsageError(
                "these codes are too large for this memory's numbers; divide them, or use float64"
            )
        self.state, self.items = written.state, self.items + codes.shape[1]
        return self._one(written.kl)

    @torch.no_grad()
    def read(
        self, queries: Array, eta: Numbers = 1.0, gamma: Numbers | None = None, *, empty: bool = False
    ) -> ReadResult:
        """Read N queries, [N, D]; nothing is written, and eta only sets gamma.

        Returned are `codes`, what the memory answers, [N, D]; `parts`, each machine's answer, [N, K, D]; and `w`,
        the addresses, [N, K, M]. With `empty` a memory that nothing was written into may be read too: its prior
        answers, the control of every reading.
        """
        if not self.items and not empty:
            raise UsageError(
                "the memory is empty: write codes before reading, or say empty=True to ask its prior"
            )
        queries = self._codes(queries, "queries")
        gamma = self._weights(queries, eta, gamma).gamma
        return ReadResult(*map(self._one, reading.read(self.state, queries, gamma, **self.options)))

    @torch.no_grad()
    def log_likelihood(
        self, codes: Array, eta: Numbers = 1.0, gamma: Numbers | None = None
    ) -> Float[Tensor, "*B T"]:
        """Log density of each code, [T, D], under what the memory expects at the code's address, in nats.

        The lower, the more novel. An empty memory answers from its prior. See `predictive` for what is computed
        where there is more than one machine.
        """
        codes = self._codes(codes, "codes")
        weights = self._weights(codes, eta, gamma)
        return self._one(reading.log_likelihood(self.state, codes, weights, **self.options))

    def sample(
        self,
        count: int = 1,
        eta: Numbers = 1.0,
        gamma: Numbers | None = None,
        *,
        seed: int = 0,
        draw: bool = True,
        settle: int = 0,
    ) -> Float[Tensor, "*B N D"]:
        """Imagine N codes: draw machines, draw addresses from N(0, I), and read there (A.2.3).

        Args:
            count: N.
            eta: each machine's noise; it sets gamma, and is not added.
            gamma: each machine's weight.
            seed: of the draws.
            draw: machines for each code; if not, their means are used.
            settle: how many times a code is read as a query and replaced by the answer, which brings it nearer to
                what was written. The paper does so 12 times, with images.
        """
        check_positive_int(count=count)
        if not isinstance(settle, int) or settle < 0:
            raise UsageError(f"settle has to be a whole number from 0, got {settle!r}")
        R, generator = self.state.R, torch_rng(seed, "imagination")
        gamma = self._weights(R.new_zeros(len(R), count, self.dim), eta, gamma).gamma  # [B, N, K]

        def normal(*shape: int) -> Tensor:
            drawn = torch.randn(count, len(R), *shape, generator=generator, dtype=torch.float64)
            return drawn.to(R)

        w = normal(self.machines, self.columns)  # [N, B, K, M]
        machines = R.expand(count, *R.shape)  # [N, B, K, D, M]
        if draw:
            machines = reading.draw_machines(self.state, normal(*R.shape[1:]))
        codes = combine(readouts(machines, w), gamma.transpose(0, 1)).transpose(0, 1)  # [B, N, D]
        for _ in range(settle):
            codes = reading.read(self.state, codes, gamma, **self.options).codes
        return self._one(codes)

    def divergence(self) -> Float[Tensor, "*B K"]:
        """Divergence of each machine from its prior, in nats."""
        return self._one(memory_kl(self.state, self.prior))

    def _one(self, result: Tensor) -> Tensor:
        """A result without the axis B, where there is one memory."""
        return result[0] if self.episodes is None else result

    def _codes(self, codes: Array, name: str) -> Float[Tensor, "B T D"]:
        """Codes as [B, T, D], checked."""
        codes = _tensor(name, codes, self.prior.R.dtype, self.device)
        lead, wanted = ((), "[T, D]") if self.episodes is None else ((self.episodes,), "[B, T, D]")
        if codes.dim() != len(lead) + 2 or codes.shape[:-2] != lead:
            several = "several episodes at once need ProductMemory(episodes=B)"
            hint = f" with B = {self.episodes}" if lead else f"; one code alone is codes[None], and {several}"
            raise UsageError(f"{name} have to be {wanted}, got {[*codes.shape]}{hint}")
        if codes.shape[-1] != self.dim:
            raise UsageError(f"{name} have {codes.shape[-1]} features; this memory holds codes of {self.dim}")
        if codes.shape[-2] < 1:
            raise UsageError(f"there are no {name}: {wanted} with T = 0")
        if not codes.isfinite().all():
            raise UsageError(f"{name} have to be finite numbers; there is NaN or infinity among them")
        return codes if lead else codes[None]

    def _weights(self, codes: Float[Tensor, "B T D"], eta: Numbers, gamma: Numbers | None) -> MachineWeights:
        """Noise and weights of each item and machine, checked. [B, T, K] each"""
        shape = *codes.shape[:2], self.machines
        eta = self._spread(eta, shape, "eta")
        if not (eta > 0).all():
            raise UsageError("eta, a standard deviation, has to be above 0 everywhere")
        if gamma is None:
            if self.coupling == "mixture" and self.machines > 1:
                raise UsageError("a mixture needs gamma, the choice of a machine, such as [1, 0]")
            return weights_from_eta(eta)
        gamma = self._spread(gamma, shape, "gamma")
        if (gamma < 0).any() or ((gamma.sum(-1) - 1).abs() > 1e-4).any():
            raise UsageError("gamma has to be from 0 to 1, with a sum of 1 over machines")
        return MachineWeights(eta, gamma)

    def _spread(self, given: Numbers, shape: tuple[int, ...], name: str) -> Float[Tensor, "B T K"]:
        """A number, [K], [T, K] or [B, T, K] as [B, T, K]."""
        try:
            spread = _tensor(name, given, self.prior.R.dtype, self.device).expand(shape)
        except (ValueError, RuntimeError) as error:
            forms = "[K] or [T, K]" if name == "gamma" else "one number, [K] or [T, K]"
            sizes = f"here T = {shape[1]} and K = {shape[2]}"
            raise UsageError(f"{name} has to be {forms}, {sizes}; got {given!r}") from error
        if not spread.isfinite().all():
            raise UsageError(f"{name} has to be finite numbers")
        return spread


def _tensor(name: str, given: Numbers, dtype: torch.dtype, device: torch.device | str | None) -> Tensor:
    """Real numbers of a type on a device; through numpy, where a list keeps its digits and a table is known."""
    try:
        numbers = torch.as_tensor(given if isinstance(given, Tensor) else np.asarray(given), device=device)
        if numbers.is_complex():
            raise TypeError("complex numbers are not supported")
        return numbers.to(dtype)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"{name} have to be an array of numbers; {error}") from error
