"""Counts with names: a share of something, and a table of what was taken for what."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped
from torch import Tensor


class Share(NamedTuple):
    """So many of so many."""

    right: int
    count: int

    @property
    def share(self) -> float:
        """From 0 to 1; not a number where there is nothing to share."""
        return self.right / self.count if self.count else float("nan")

    @property
    def percent(self) -> float:
        """The share from 0 to 100."""
        return 100 * self.share


class Table(NamedTuple):
    """How often each row went with each column."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: np.ndarray  #: [rows, columns]

    @property
    def shares(self) -> Float[np.ndarray, "R C"]:
        """The counts of each row as shares of the row; zeros in a row without counts."""
        return self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)

    def without_empty(self) -> "Table":
        """Without the rows and columns that hold no count."""
        rows, columns = (self.counts.sum(axis=axis) > 0 for axis in (1, 0))
        kept = (tuple(np.array(names)[mask]) for names, mask in ((self.rows, rows), (self.columns, columns)))
        return Table(*(tuple(map(str, names)) for names in kept), self.counts[rows][:, columns])


def count_table(
    rows: Sequence[str], columns: Sequence[str], first: Int[Tensor, " M"], second: Int[Tensor, " M"]
) -> Table:
    """Count pairs of numbers, which are places among the names of rows and of columns."""
    counts = np.zeros((len(rows), len(columns)), dtype=np.int64)
    np.add.at(counts, (first.numpy(), second.numpy()), 1)
    return Table(tuple(rows), tuple(columns), counts)


def share_of(hits: Shaped[Tensor, "..."], among: Shaped[Tensor, "..."]) -> Share:
    """How many of the places marked in `among` are marked in `hits` too."""
    return Share(int((hits & among).sum()), int(among.sum()))
