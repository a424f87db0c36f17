"""What the networks return: the memory after an episode, and everything that happened on the way."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from mini_lib.kanerva.memory import MachineWeights, ReadResult, State, WriteResult


class EpisodeMemory(NamedTuple):
    """A network's memory of the items that were written."""

    state: State  #: the machines.
    omega: Float[Tensor, "B W"]  #: the mean that the history is drawn from.
    items: int  #: how many there were.


class EpisodeWrite(NamedTuple):
    """What `Kanerva.write` returns: the memory, and the way to it; `h` and `kl` as in `KanervaTrace`."""

    memory: EpisodeMemory
    written: WriteResult
    h: Float[Tensor, "B T H"]
    kl: dict[str, Tensor]


class EpisodeRead(NamedTuple):
    """What `Kanerva.read` returns for N queries; all as in `KanervaTrace`."""

    reading: ReadResult
    weights: MachineWeights
    h: Float[Tensor, "B H"]
    kl: dict[str, Tensor]


class KanervaTrace(NamedTuple):
    """Everything that happens while an episode is written and read."""

    logits: Float[Tensor, "B T C H W"]  #: of the pixels that are read out.
    #: logits of the codes themselves, without a memory; no items unless requested.
    autoencoded: Float[Tensor, "B ... C H W"]
    codes: Float[Tensor, "B T D"]  #: z, of the images.
    queries: Float[Tensor, "B T D"]  #: z of the queries.
    #: states from the prior to the last, addresses w, eta and gamma of each item; see `WriteResult`.
    written: WriteResult
    reading: ReadResult  #: mu_z, each machine's answer, addresses; see `ReadResult`.
    weights: MachineWeights  #: eta and gamma at reading. [B, T, K] each
    h: Float[Tensor, "B T H"]  #: the history variable that each item was written with.
    h_read: Float[Tensor, "B H"]  #: the one that all queries were read with.
    omega: Float[Tensor, "B W"]  #: the mean of the whole episode.
    #: divergences in nats, all machines together: "memory" [B], of an episode; "address", "history" and (not
    #: of a mixture) "assignment" [B, T], of each item's writing; "address_read" and "assignment_read" [B, T],
    #: of each query; "history_read" [B].
    kl: dict[str, Tensor]

    @property
    def memory(self) -> EpisodeMemory:
        """The memory after the episode."""
        return EpisodeMemory(self.written.state, self.omega, self.codes.shape[1])
