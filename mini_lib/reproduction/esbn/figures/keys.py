"""Figure 9: the keys in a plane."""

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from mini_lib.esbn.analysis import Keys, fit_plane, project
from mini_lib.esbn.tasks import Problems
from mini_lib.reproduction.plotting import RULE, figure

TEST = {"marker": "o", "s": 60, "linewidths": 1.2, "facecolors": "none"}
TRAIN = {"marker": "+", "s": 16, "linewidths": 0.8}
ALL = {"marker": ".", "s": 14, "linewidths": 0}
ROW1 = 3  # objects of the first row, whose keys the later ones are matched with
SHOWN = 400  # points of a cloud; more would only make the picture heavy


def reappearances(problems: Problems) -> Int[Tensor, "N 3"]:
    """The step (from 0) at which each object of row 1 of distribution-of-three is first seen again."""
    again = problems.ids[:, None, ROW1:] == problems.ids[:, :ROW1, None]
    return ROW1 + again.int().argmax(dim=-1)


def keys_at_reappearance(keys: Keys, problems: Problems) -> Float[Tensor, "N 3 K"]:
    """The keys retrieved at these steps (Figure 9c)."""
    steps = reappearances(problems)
    return keys.retrieved[torch.arange(len(steps))[:, None], steps]


def key_plane(
    train: Keys, test: Keys, train_problems: Problems, test_problems: Problems
) -> tuple[Figure, Figure, Figure]:
    """Draw the panels of Figure 9: keys on their first two principal components.

    (a) written at steps 1-9 of the training problems; (b) written at steps 1-3, test as rings, training as crosses,
    a framed part of (a); (c) retrieved when the objects of steps 1-3 are first seen again, with the axes of (b),
    outside of which a few lie. The plane is fitted on written keys only, as by the authors' code.
    """
    plane = fit_plane(train, test)
    panels = [figure(size=(2.3, 2.5)) for _ in range(3)]
    whole, first, again = (ax for _, ax in panels)
    _by_step(whole, project(plane, train.written[:SHOWN, :-1]))
    _train_and_test(
        first, project(plane, train.written[:SHOWN, :ROW1]), project(plane, test.written[:, :ROW1])
    )
    reads = [keys_at_reappearance(*pair) for pair in ((train, train_problems), (test, test_problems))]
    _train_and_test(again, *(project(plane, keys) for keys in reads))
    again.set(xlim=first.get_xlim(), ylim=first.get_ylim())
    _frame_of(first, whole)
    titles = ("(a) written", "(b) frame of (a)", "(c) retrieved")
    for ax, title in zip((whole, first, again), titles, strict=True):
        ax.set(title=title, xlabel="component 1", ylabel="component 2")
        ax.grid(False)
    return tuple(fig for fig, _ in panels)


def _by_step(ax: Axes, points: Float[np.ndarray, "N S 2"]) -> None:
    for step in reversed(range(points.shape[1])):
        ax.scatter(*points[:, step].T, color=_shade(step), **ALL)
    middle, center = points.mean(axis=0), points.mean(axis=(0, 1))
    steps = [step for step in range(points.shape[1]) if step >= ROW1]  # panel (b) tells the first three apart
    away = (middle - center) / np.maximum(np.linalg.norm(middle - center, axis=1, keepdims=True), 1e-9)
    label = {"textcoords": "offset points", "fontsize": 9, "weight": "bold", "ha": "center", "va": "center"}
    for step in steps:
        ax.annotate(str(step + 1), middle[step], 15 * away[step], **label)
    ax.annotate(f"1-{ROW1}", middle[:ROW1].mean(axis=0), (-14, 0), **label)
    ax.margins(0.18)


def _train_and_test(ax: Axes, train: Float[np.ndarray, "N 3 2"], test: Float[np.ndarray, "M 3 2"]) -> None:
    for step in range(ROW1):
        ax.scatter(*test[:SHOWN, step].T, edgecolors=_shade(step), **TEST)
    for step in range(ROW1):
        ax.scatter(*train[:SHOWN, step].T, color="#000000", **TRAIN)
        place = {"xytext": (10, 0), "textcoords": "offset points", "va": "center", "fontsize": 9}
        ax.annotate(f"{step + 1}", test[:, step].mean(axis=0), **place)
    ax.margins(x=0.8, y=0.5)


def _shade(step: int) -> tuple:
    """The color of a step, from 0 to 8."""
    return colormaps["viridis"](step / 9)


def _frame_of(enlarged: Axes, whole: Axes) -> None:
    (left, right), (low, high) = enlarged.get_xlim(), enlarged.get_ylim()
    look = {"fill": False, "edgecolor": RULE, "linewidth": 0.9}
    whole.add_patch(Rectangle((left, low), right - left, high - low, **look))
