"""What the networks return: the memory after an episode, and everything that happened on the way."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from mini_lib.kanerva.memory import MachineWeights, ReadResult, State, WriteResult


class EpisodeMemory(NamedTuple):
    """A network's memory of the items that were written.

    Attributes:
        state: the machines.
        omega: the mean that the history is drawn from. [B, W]
        items: how many there were.
    """

    state: State
    omega: Float[Tensor, "B W"]
    items: int


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
    """Everything that happens while an episode is written and read.

    Attributes:
        logits: of the pixels that are read out. [B, T, C, H, W]
        autoencoded: logits of the codes themselves, without a memory; no items unless requested.
        codes: z, of the images. [B, T, D]
        queries: z of the queries. [B, T, D]
        written: states from the prior to the last, addresses w, eta and gamma of each item; see `WriteResult`.
        reading: mu_z, each machine's answer, addresses; see `ReadResult`.
        weights: eta and gamma at reading. [B, T, K] each
        h: the history variable that each item was written with. [B, T, H]
        h_read: the one that all queries were read with. [B, H]
        omega: the mean of the whole episode. [B, W]
        kl: divergences in nats, all machines together: "memory" [B], of an episode; "address", "history" and (not of
            a mixture) "assignment" [B, T], of each item's writing; "address_read" and "assignment_read" [B, T], of
            each query; "history_read" [B].
    """

    logits: Float[Tensor, "B T C H W"]
    autoencoded: Float[Tensor, "B ... C H W"]
    codes: Float[Tensor, "B T D"]
    queries: Float[Tensor, "B T D"]
    written: WriteResult
    reading: ReadResult
    weights: MachineWeights
    h: Float[Tensor, "B T H"]
    h_read: Float[Tensor, "B H"]
    omega: Float[Tensor, "B W"]
    kl: dict[str, Tensor]

    @property
    def memory(self) -> EpisodeMemory:
        """The memory after the episode."""
        return EpisodeMemory(self.written.state, self.omega, self.codes.shape[1])
