"""One place for randomness: every stream is named by a run's seed and what it is for."""

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

Whole = int | np.integer


def stream_seed(seed: Whole, *purpose: str | Whole) -> int:
    """A 63-bit seed for one purpose of one run; streams of different purposes are independent.

    NumPy's whole numbers name the same streams as Python's.

    Raises:
        ValueError: if `seed` is not a whole number from 0.
    """
    if not isinstance(seed, Whole) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"a seed is a whole number from 0, got {seed!r}")
    name = tuple(int(part) if isinstance(part, np.integer) else part for part in (seed, *purpose))
    digest = hashlib.sha256(repr(name).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def numpy_rng(seed: Whole, *purpose: str | Whole) -> np.random.Generator:
    """A numpy generator for one purpose of one run."""
    return np.random.default_rng(stream_seed(seed, *purpose))


def torch_rng(seed: Whole, *purpose: str | Whole) -> torch.Generator:
    """A torch generator (on the CPU) for one purpose of one run."""
    return torch.Generator().manual_seed(stream_seed(seed, *purpose))


def seed_everything(seed: Whole) -> None:
    """Seed Python's, numpy's and torch's global generators, for interactive use."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


@contextmanager
def seeded(seed: Whole, *purpose: str | Whole) -> Iterator[None]:
    """Run a block with torch's global generator seeded for one purpose; restores its state afterwards.

    For `nn.Module` constructors, which draw their initial weights from the global generator.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(seed, *purpose))
        yield
