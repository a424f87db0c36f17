"""How nbval compares what a cell shows with what it showed before: each word and each number.

Of a figure the words are compared, not the picture: see nbval_sanitize.cfg. A number may
differ by one in its last decimal, since machines round differently; a whole number may not. A
cell that trains a network says in its metadata how far its numbers may be off, as a share of
the larger one, and why:

    "tolerance": {"relative": 0.2, "because": "two small networks are trained here"}

The few that cannot be compared at all have the tag "nbval-ignore-output", and the reason in
their metadata as "uncompared".
"""

import json
import os
import re
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest

SKIPPED = ("application/javascript", "image/svg+xml", "stderr")
NUMBER = re.compile(r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
ROUNDING = 1e-5  # relative, of numbers that are shown with all their digits

os.environ["TQDM_DISABLE"] = (
    "1"  # a bar means nothing once the work is done, and is not stored
)
# Kernels run what lies there first: the check of each exercise has to refuse wrong answers.
os.environ["IPYTHONDIR"] = str(Path(__file__).parents[1] / "tests" / "kernel")


class Shown(str):
    """A text that differs from another if a word does, or a number by too much."""

    tolerance = 0.0

    def __ne__(self, other: object) -> bool:
        ours, theirs = NUMBER.split(self), NUMBER.split(str(other))
        words_differ = ours[::2] != theirs[::2]  # words and numbers alternate
        return words_differ or not all(map(self.is_near, ours[1::2], theirs[1::2]))

    def __eq__(self, other: object) -> bool:
        return not self != other

    __hash__ = str.__hash__

    def is_near(self, ours: str, theirs: str) -> bool:
        a, b = (Decimal(text.replace(",", "")) for text in (ours, theirs))
        last = min(number.as_tuple().exponent for number in (a, b))
        unit = Decimal(10) ** last if last < 0 or self.tolerance else 0
        relative = Decimal(self.tolerance or ROUNDING)
        return abs(a - b) <= max(relative * max(a, b), unit)


def pytest_collectstart(collector: pytest.Collector) -> None:
    if collector.path.suffix == ".ipynb":
        collector.skip_compare += SKIPPED


@cache
def cpu_seconds(path: Path) -> int:
    return json.loads(path.read_text(encoding="utf-8"))["metadata"].get(
        "cpu_seconds", 0
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Over two cores the longest start first, so that none waits for a long one at the end."""
    items.sort(
        key=lambda item: -cpu_seconds(item.path)
    )  # stable: the cells of a notebook stay in order


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.suffix != ".ipynb":
        return
    sanitize = item.sanitize
    tolerance = item.cell.metadata.get("tolerance", {}).get("relative", 0.0)

    def shown(output: object) -> object:
        text = sanitize(output)
        if isinstance(text, str):
            text = Shown(text)
            text.tolerance = tolerance
        return text

    item.sanitize = shown
