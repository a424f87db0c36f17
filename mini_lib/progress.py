"""Progress of a training while it runs, and the learning curve that is kept of it."""

import io
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tqdm.auto import tqdm
from tqdm.std import tqdm as text_bar

LINE_SECONDS = 60.0  # between lines where no bar can move
CURVE_HEAD = 150  # logged points kept one by one; later ones are averaged in blocks
CURVE_TAIL = 100


class LogLines(io.TextIOBase):
    """Standard error as a file of lines, where a bar would go back to the start of its own."""

    def write(self, text: str) -> int:
        """Write what a bar writes, each state of it as a line."""
        if line := text.strip("\r\n "):
            print(line, file=sys.stderr, flush=True)
        return len(text)


def open_bar(
    label: str, total: int | None, unit: str, *, leave: bool, shown: bool = True, begun: int = 0
) -> tqdm:
    """A tqdm bar on a terminal or in a notebook; elsewhere a line at the start, one a minute and one at the end.

    With `leave` a bar stays where it was, once it is closed; unless it is `shown`, or with TQDM_DISABLE=1 in the
    environment, it shows nothing. What had been `begun` earlier counts as done, and not for the speed.
    """
    in_notebook = tqdm.status_printer is not text_bar.status_printer  # where a bar is a widget, and no text
    hidden = not shown or os.environ.get("TQDM_DISABLE") == "1"  # which tqdm heeds outside notebooks alone
    how = {"total": total, "desc": label, "unit": unit, "disable": hidden, "initial": begun}
    if in_notebook or sys.stderr.isatty():
        return tqdm(**how, leave=leave)
    return text_bar(**how, file=LogLines(), mininterval=LINE_SECONDS, maxinterval=LINE_SECONDS, ncols=0)


@contextmanager
def counted(
    label: str, total: int, progress: bool | Callable[[int], None], begun: int = 0
) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of updates done so far; it moves a bar, or calls `progress`.

    Updates made before a resume (`begun`) are not counted.
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
