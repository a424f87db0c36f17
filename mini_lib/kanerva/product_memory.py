"""A memory of K Kanerva Machines as a module: write codes of any origin, then read them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError, check_names, check_positive, check_positive_int
from mini_lib.kanerva import memory as functions
from mini_lib.kanerva.memory import MachineWeights, Prior, ReadResult, State
from mini_lib.module import Module, holds
from mini_lib.seeding import torch_rng

Array = Tensor | np.ndarray | Sequence
Numbers = float | int | Array
Gamma = Numbers | None


class ProductMemory(Module):
    """K Kanerva Machines that hold codes together.

    Codes are vectors of D features around 1 in size, given as [T, D]. With `episodes` it holds B memories; then
    everything below has a first axis B. The noise eta and the weight gamma of each machine are one number, [K], or
    [T, K] item by item. By default gamma is in proportion to 1 / eta_i^2.

    >>> codes = torch.randn(20, 8, generator=torch.Generator().manual_seed(0))  # T = 20, D = 8
    >>> memory = ProductMemory(dim=8, machines=2, columns=10)
    >>> memory.write(codes, eta=0.1).shape  # nats by which each item moved each machine
    torch.Size([20, 2])
    >>> answers = memory.read(codes[:3]).codes
    >>> bool((answers - codes[:3]).norm() < 0.5 * codes[:3].norm())
    True

    Gradients flow from what is read to what was written, and to eta and gamma: an encoder can learn to write. Call
    `reset` between its updates; it forgets the last episode and its graph.

    The prior and the content are buffers: they follow `.to()`, and `state_dict` keeps both (without the graph).
    Under `torch.vmap` call `reset` first, and again outside before further use; values are not checked there.

    Args:
        dim, machines, columns: D, K, and M of each machine.
        total: K M, columns of all machines; give either this or `columns`.
        episodes: B; None for one memory without that axis.
        coupling: the error that an item corrects: "product", of the joint answer; "independent", of each machine;
            "mixture", of the one machine that a one-hot gamma chooses.
        ridge: lambda of the addressing.
        psi: variance of the prior.
        means: of the prior, [K, D, M], copied; by default drawn with `seed`.
        dtype: torch.float32 or torch.float64.
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
        ridge: float = functions.RIDGE,
        psi: float = 1.0,
        means: Array | None = None,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
    ):
        super().__init__()
        if (columns is None) == (total is None):
            raise UsageError("give either columns, of each machine, or total, of all machines together")
        columns = functions.columns_of(total, machines) if columns is None else columns
        batch = 1 if episodes is None else episodes
        check_positive_int(dim=dim, machines=machines, columns=columns, episodes=batch)
        check_names("coupling", [coupling], functions.COUPLINGS)
        check_positive(ridge=ridge, psi=psi)
        if dtype not in (torch.float32, torch.float64):
            raise UsageError(f"dtype has to be torch.float32 or torch.float64, got {dtype}")
        drawn = functions.initial_means(machines, dim, columns, torch_rng(seed, "memory"))
        means = _finite("means", drawn if means is None else means, dtype).detach().clone()
        if means.shape != drawn.shape:
            raise UsageError(f"means have to be [K, D, M] = {[*drawn.shape]}, got {[*means.shape]}")
        self.dim, self.machines, self.columns, self.episodes = dim, machines, columns, episodes
        self.coupling, self.ridge = coupling, float(ridge)
        self.register_buffer("prior_means", means)
        self.register_buffer("prior_psi", means.new_full((machines,), psi))
        for name in (*State._fields, "_items"):
            self.register_buffer(name, None)
        self.reset()

    def __getstate__(self) -> dict:
        """The content without its graph, for copies and pickles."""
        buffers = {name: each.detach() for name, each in self._buffers.items()}
        return super().__getstate__() | {"_buffers": buffers}

    def _load_from_state_dict(self, *args: Any) -> None:
        """Forget the last episode and its graph, then load."""
        self.reset()
        super()._load_from_state_dict(*args)

    @property
    def prior(self) -> Prior:
        """The machines before anything is written."""
        return Prior(self.prior_means, self.prior_psi)

    @property
    def state(self) -> State:
        """The machines now; its tensors always have the axis B."""
        return State(self.R, self.V, self.logdet_drop)

    @state.setter
    def state(self, state: State) -> None:
        self.R, self.V, self.logdet_drop = state

    @property
    def items(self) -> int:
        """How many codes have been written."""
        return int(self._items)

    def reset(self) -> None:
        """Forget everything that was written."""
        empty = self.prior.state(1 if self.episodes is None else self.episodes)
        self.state = State(*(part.clone() for part in empty))
        self._items = torch.zeros((), dtype=torch.int64, device=self.prior_means.device)

    def write(self, codes: Array, eta: Numbers = 1.0, gamma: Gamma = None) -> Float[Tensor, "*B T K"]:
        """Write T codes, [T, D], one after the other; the larger eta, the less an item changes a machine.

        Returns the KL of each machine after each item from the machine before it, in nats. On a UsageError the
        memory stays as it was.
        """
        codes = self._codes(codes, "codes")
        weights = self._weights(codes, eta, gamma)
        written = functions.write_episode(
            self.state, codes, weights, coupling=self.coupling, psi=self.prior_psi, ridge=self.ridge
        )
        if not all(holds(part.isfinite()) for part in written.state):
            raise UsageError("these codes overflow the memory; divide them, or use dtype=torch.float64")
        self.state, self._items = written.state, self._items + codes.shape[1]
        return self._without_batch(written.item_kl)

    def read(
        self, queries: Array, eta: Numbers = 1.0, gamma: Gamma = None, *, empty: bool = False
    ) -> ReadResult:
        """Read N queries, [N, D]; nothing is written, and eta is used only to weight the machines' answers.

        With `empty` an empty memory may be read: its prior answers, the control of every reading.
        """
        if not empty and not holds(self._items > 0):
            raise UsageError("the memory is empty: write codes before reading, or pass empty=True")
        queries = self._codes(queries, "queries")
        gamma = self._weights(queries, eta, gamma).gamma
        found = functions.read(self.state, queries, gamma, ridge=self.ridge)
        return ReadResult(*map(self._without_batch, found))

    def log_likelihood(self, codes: Array, eta: Numbers = 1.0, gamma: Gamma = None) -> Float[Tensor, "*B T"]:
        """Log density of each code, [T, D], in nats, under what is expected at its address; see `memory`."""
        codes = self._codes(codes, "codes")
        weights = self._weights(codes, eta, gamma)
        found = functions.log_likelihood(self.state, codes, weights, self.prior_psi, ridge=self.ridge)
        return self._without_batch(found)

    def _without_batch(self, result: Tensor) -> Tensor:
        """A result in the memory's type, without the axis B where there is one memory."""
        return (result[0] if self.episodes is None else result).to(self.prior_means.dtype)

    def _codes(self, codes: Array, name: str) -> Float[Tensor, "B T D"]:
        """Codes as [B, T, D], checked."""
        codes = _finite(name, codes, self.prior_means.dtype, self.prior_means.device)
        lead = () if self.episodes is None else (self.episodes,)
        items = codes.shape[-2] if codes.dim() > 1 else 0
        if codes.shape != (*lead, items, self.dim) or not items:
            wanted = ", ".join([*map(str, lead), "T", str(self.dim)])
            raise UsageError(
                f"{name} of this memory are [{wanted}], T > 0 (`episodes` says B); got {[*codes.shape]}"
            )
        return codes if lead else codes[None]

    def _weights(self, codes: Float[Tensor, "B T D"], eta: Numbers, gamma: Gamma) -> MachineWeights:
        """Noise and weight of each machine for each item, [B, T, K] each, checked."""
        mixture = self.coupling == "mixture"
        eta = self._spread("eta", eta, codes)
        if not holds(eta > 0):
            raise UsageError("eta, a standard deviation, has to be above 0 everywhere")
        if gamma is None:
            if mixture and self.machines > 1:
                raise UsageError("a mixture needs gamma, the choice of a machine, such as [1, 0]")
            return functions.weights_from_eta(eta)
        gamma = self._spread("gamma", gamma, codes)
        if not holds((gamma > -1e-4) & ((gamma.sum(-1, keepdim=True) - 1).abs() < 1e-4)):
            raise UsageError("gamma has to be from 0 to 1, with a sum of 1 over machines")
        if mixture and not holds(gamma.amax(-1) > 1 - 1e-4):
            raise UsageError("gamma of a mixture is the choice of one machine: 1 for it, 0 for the others")
        return MachineWeights(eta, gamma)

    def _spread(self, name: str, given: Numbers, codes: Float[Tensor, "B T D"]) -> Float[Tensor, "B T K"]:
        """A number, [K], [T, K] or [B, T, K] as [B, T, K]."""
        numbers = _finite(name, given, codes.dtype, codes.device)
        try:
            return numbers.expand(*codes.shape[:2], self.machines)
        except RuntimeError:
            sizes = f"[K] = [{self.machines}] or [T, K] = [{codes.shape[1]}, {self.machines}]"
            raise UsageError(f"{name} has to be a number, {sizes}, got {[*numbers.shape]}") from None


def _finite(name: str, given: Numbers, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    """Finite numbers of a type on a device; lists through NumPy, which keeps their digits."""
    try:
        given = given if isinstance(given, Tensor) else np.asarray(given)
        numbers = torch.as_tensor(given, dtype=dtype, device=device)
        if torch.as_tensor(given).is_complex():
            raise TypeError("complex")
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"{name} has to be an array of real numbers, got {type(given).__name__}") from error
    if not holds(numbers.isfinite()):
        raise UsageError(f"{name} has to be finite numbers; there is NaN or infinity among them")
    return numbers
