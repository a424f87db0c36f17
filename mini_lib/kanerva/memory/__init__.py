"""The memory of the Product Kanerva Machine: its state, addressing, writing, reading and divergences.

Functions work on tensors of B memories at once, draw no random numbers and run under `torch.func`. `ProductMemory`
is the same memory as an object.

Letters: B memories, T items to write, N queries, K machines (the paper's k), D features (c), M columns of a machine
(m_i).
"""

from mini_lib.kanerva.memory.addressing import RIDGE, SOLVERS, address, addresses, gamma_from_eta
from mini_lib.kanerva.memory.divergence import (
    KL_MEMORY,
    address_kl,
    episode_kl,
    gaussian_kl,
    history_kl,
    memory_kl,
)
from mini_lib.kanerva.memory.machine import ProductMemory
from mini_lib.kanerva.memory.reading import ReadResult, draw_machines, log_likelihood, predictive, read
from mini_lib.kanerva.memory.state import Prior, State, WriteResult, columns_of, initial_means
from mini_lib.kanerva.memory.writing import (
    COUPLINGS,
    MachineWeights,
    combine,
    readouts,
    weights_from_eta,
    write_episode,
    write_item,
)

__all__ = [
    "COUPLINGS",
    "KL_MEMORY",
    "RIDGE",
    "SOLVERS",
    "MachineWeights",
    "Prior",
    "ProductMemory",
    "ReadResult",
    "State",
    "WriteResult",
    "address",
    "address_kl",
    "addresses",
    "columns_of",
    "combine",
    "draw_machines",
    "episode_kl",
    "gamma_from_eta",
    "gaussian_kl",
    "history_kl",
    "initial_means",
    "log_likelihood",
    "memory_kl",
    "predictive",
    "read",
    "readouts",
    "weights_from_eta",
    "write_episode",
    "write_item",
]
