"""What is told of a training while it runs, and what is kept of it: the bar and the learning curve."""

import math
from collections.abc import Callable, Sequence

from tqdm.auto import tqdm

CURVE_HEAD = 150  # logged points kept one by one; later ones are averaged in blocks
CURVE_TAIL = 100


class Progress:
    """A tqdm bar over updates, or the caller's own function told of the updates since the last call."""

    def __init__(self, label: str, total: int, progress: bool | Callable[[int], None]):
        self.done = 0
        self.progress = progress
        self.bar = None
        if progress is True:
            self.bar = tqdm(total=total, desc=label, unit="update", leave=False)

    def __enter__(self) -> Callable[[int], None]:
        return self.tell

    def tell(self, update: int) -> None:
        """Say how many updates are done in all."""
        new, self.done = update - self.done, update
        if self.bar is not None:
            self.bar.update(new)
        elif callable(self.progress):
            self.progress(new)

    def __exit__(self, *exc) -> None:
        if self.bar is not None:
            self.bar.close()


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
