"""One place for randomness: every stream is named by a run's seed and what it is for."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from mini_lib.errors import UsageError

Integer = int | np.integer


def stream_seed(seed: Integer, *purpose: str | Integer) -> int:
    """A 63-bit seed for one purpose of one run; streams of different purposes are independent.

    A seed is an integer from 0; NumPy's integers name the same streams as Python's.

    >>> stream_seed(1, "weights") == stream_seed(np.int64(1), "weights") != stream_seed(2, "weights")
    True
    """
    if not isinstance(seed, Integer) or isinstance(seed, bool) or seed < 0:
        raise UsageError(f"a seed is an integer from 0, got {seed!r}")
    name = tuple(part.item() if isinstance(part, np.generic) else part for part in (seed, *purpose))
    digest = hashlib.sha256(repr(name).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def numpy_rng(seed: Integer, *purpose: str | Integer) -> np.random.Generator:
    """A numpy generator for one purpose of one run."""
    return np.random.default_rng(stream_seed(seed, *purpose))


def torch_rng(seed: Integer, *purpose: str | Integer, device: torch.device | str = "cpu") -> torch.Generator:
    """A torch generator for one purpose of one run; on a GPU, if that is the device, else on the CPU.

    A GPU draws other numbers from the same seed than a CPU does.

    >>> torch.randperm(5, generator=torch_rng(1, "order"))
    tensor([0, 1, 3, 4, 2])
    """
    where = device if torch.device(device).type == "cuda" else "cpu"
    return torch.Generator(where).manual_seed(stream_seed(seed, *purpose))


@contextmanager
def seeded(seed: Integer, *purpose: str | Integer) -> Iterator[None]:
    """Run a block with torch's global generator seeded for one purpose; restores its state afterwards.

    For `nn.Module` constructors, which draw their initial weights from the global generator, on the CPU. The
    generators of GPUs are left as they are.

    >>> with seeded(1, "weights"):
    ...     layer = torch.nn.Linear(2, 1)
    >>> with seeded(1, "weights"):
    ...     assert layer.weight.equal(torch.nn.Linear(2, 1).weight)
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(stream_seed(seed, *purpose))
        yield
