"""Progress of a training while it runs, and the learning curve that is kept of it."""

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic as now

from tqdm.auto import tqdm
from tqdm.std import tqdm as text_bar

LINE_SECONDS = 60.0  # between lines where no bar can move
CURVE_HEAD = 150  # logged points kept one by one; later ones are averaged in blocks
CURVE_TAIL = 100


class Lines:
    """What stands for a bar in a file: a line a minute, and one at the end."""

    def __init__(self, label: str, total: int | None, unit: str, begun: int = 0):
        self.label, self.total, self.unit = label, total, unit
        self.n = self.begun = begun
        self.started = self.last_line = now()

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *exc) -> None:
        self.close()

    def set_description_str(self, label: str) -> None:
        """Change the label, as a bar does."""
        self.label = label

    def update(self, new: int) -> None:
        """So many more are done."""
        self.n += new
        if now() - self.last_line >= LINE_SECONDS:
            self.write_line()

    def close(self) -> None:
        """Write the last line."""
        self.write_line()

    def write_line(self) -> None:
        """Write a line: how many are done, in what time."""
        self.last_line = now()
        line = tqdm.format_meter(
            self.n,
            self.total,
            self.last_line - self.started,
            prefix=self.label,
            unit=self.unit,
            ncols=0,
            initial=self.begun,
        )
        print(line, file=sys.stderr, flush=True)


def open_bar(
    label: str, total: int | None, unit: str, *, leave: bool, shown: bool = True, begun: int = 0
) -> tqdm | Lines:
    """A tqdm bar on a terminal or in a notebook; elsewhere, where a bar would only repeat itself, `Lines`.

    With `leave` a bar stays where it was, once it is closed; unless it is `shown`, it shows nothing. Nor do bars
    show anything with TQDM_DISABLE=1 in the environment. What had been `begun` earlier counts as done, and not for
    the speed.
    """
    # In a notebook a bar is a widget, and no text:
    in_notebook = tqdm.status_printer is not text_bar.status_printer
    if shown and not in_notebook and not sys.stderr.isatty():
        return Lines(label, total, unit, begun)
    hidden = not shown or os.environ.get("TQDM_DISABLE") == "1"  # which tqdm heeds outside notebooks alone
    return tqdm(total=total, desc=label, unit=unit, leave=leave, disable=hidden, initial=begun)


@contextmanager
def counted(
    label: str, total: int, progress: bool | Callable[[int], None], begun: int = 0
) -> Iterator[Callable[[int], None]]:
    """A function that is told how many updates are done in all; it moves a bar, or tells `progress` the new ones.

    Those that an earlier training had `begun` with are not new.
    """
    done, tell = begun, progress if callable(progress) else lambda new: None

    def report(update: int) -> None:
        nonlocal done
        new, done = update - done, update
        tell(new)

    if progress is not True:
        yield report
        return
    with open_bar(label, total, "update", leave=False, begun=begun) as bar:
        tell = bar.update
        yield report


def thin(points: Sequence[tuple[int, float, float]]) -> dict[str, list]:
    """A learning curve of 250 points at most: the first 150 as they are, later ones averaged in equal blocks."""
    head, tail = points[:CURVE_HEAD], points[CURVE_HEAD:]
    block = max(1, math.ceil(len(tail) / CURVE_TAIL))
    blocks = [tail[i : i + block] for i in range(0, len(tail), block)]
    means = [tuple(sum(column) / len(part) for column in zip(*part, strict=True)) for part in blocks]
    updates, losses, scores = zip(*head, *means, strict=True) if points else ((), (), ())
    return {
        "update": [round(u) for u in updates],
        "loss": [float(f"{x:.5g}") for x in losses],
        "score": [float(f"{x:.5g}") for x in scores],
    }
