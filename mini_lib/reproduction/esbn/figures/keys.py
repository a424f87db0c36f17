"""Figure 9, and how well the step of a key is decoded from it."""

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from torch import Tensor

from mini_lib.esbn.analysis import Keys, fit_plane, project
from mini_lib.esbn.tasks import Problems
from mini_lib.reproduction.plotting import OKABE_ITO, RULE, figure, heat_map

TEST = {"marker": "o", "s": 75, "linewidths": 0, "alpha": 0.3}
TRAIN = {"marker": "+", "s": 26, "linewidths": 0.8}
ALL = {"marker": ".", "s": 22, "linewidths": 0}
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


def key_plane(train: Keys, test: Keys, train_problems: Problems, test_problems: Problems) -> Figure:
    """Draw Figure 9: keys on their first two principal components.

    (a) written at steps 1-9 of the training problems; (b) written at steps 1-3, test as discs, training as crosses,
    a framed part of (a); (c) retrieved when the objects of steps 1-3 are first seen again, with the axes of (b). The
    plane is fitted on written keys only, as by the authors' code.
    """
    plane = fit_plane(train, test)
    fig, (whole, first, again) = figure(1, 3, size=(9.6, 3.6))
    _by_step(whole, project(plane, train.written[:SHOWN, :-1]))
    _train_and_test(
        first, project(plane, train.written[:SHOWN, :ROW1]), project(plane, test.written[:, :ROW1])
    )
    reads = [keys_at_reappearance(*pair) for pair in ((train, train_problems), (test, test_problems))]
    _train_and_test(again, *(project(plane, keys) for keys in reads))
    _same_limits(first, again)
    _frame_of(first, whole)
    titles = ("(a) written, training", "(b) the frame of (a), enlarged", "(c) retrieved, scale of (b)")
    for ax, title, share in zip((whole, first, again), titles, (True, False, False), strict=True):
        ax.set(title=title, xlabel="component 1", ylabel="component 2" if share else "")
        ax.grid(False)
    return fig


def _by_step(ax: Axes, points: Float[np.ndarray, "N S 2"]) -> None:
    shades = [*OKABE_ITO, "#882255", "#999999"]  # row 1 has the colours of the other panels
    for step in reversed(range(points.shape[1])):
        ax.scatter(*points[:, step].T, color=shades[step], label=step + 1, **ALL)
    handles, labels = ax.get_legend_handles_labels()
    look = {"fontsize": "small", "markerscale": 1.6, "handletextpad": 0.1, "loc": "center left"}
    ax.legend(handles[::-1], labels[::-1], title="step", bbox_to_anchor=(1.0, 0.5), **look)


def _train_and_test(ax: Axes, train: Float[np.ndarray, "N 3 2"], test: Float[np.ndarray, "M 3 2"]) -> None:
    for step, shade in enumerate(OKABE_ITO[:ROW1]):
        ax.scatter(*test[:SHOWN, step].T, color=shade, **TEST)
    for step, shade in enumerate(OKABE_ITO[:ROW1]):
        ax.scatter(*train[:SHOWN, step].T, color="#000000", **TRAIN)
        place = {"xytext": (11, 2), "textcoords": "offset points", "va": "center"}
        ax.annotate(f"step {step + 1}", test[:, step].mean(axis=0), color=shade, **place)
    handles = [
        Line2D([], [], linewidth=0, marker="o", markersize=8, color="#BBBBBB", label="test"),
        Line2D([], [], linewidth=0, marker="+", color="#000000", label="training"),
    ]
    ax.legend(handles=handles, fontsize="small", handletextpad=0.1, loc="lower left")
    ax.margins(x=0.3, y=0.12)


def _frame_of(enlarged: Axes, whole: Axes) -> None:
    (left, right), (low, high) = enlarged.get_xlim(), enlarged.get_ylim()
    look = {"fill": False, "edgecolor": RULE, "linewidth": 0.9}
    whole.add_patch(Rectangle((left, low), right - left, high - low, **look))


def _same_limits(*axes: Axes) -> None:
    for side in ("x", "y"):
        limits = np.array([getattr(ax, f"get_{side}lim")() for ax in axes])
        for ax in axes:
            getattr(ax, f"set_{side}lim")(limits[:, 0].min(), limits[:, 1].max())


def decoding(
    shares: dict[str, Float[np.ndarray, "S"]], confusion: Float[np.ndarray, "S S"], of: str
) -> Figure:
    """Draw the share of test keys whose step is decoded right, by network, and the confusion of the network `of`.

    Rows of the confusion are the true steps.
    """
    fig, (left, right) = figure(1, 2, size=(8.6, 3.4), gridspec_kw={"width_ratios": (1.25, 1)})
    steps = np.arange(1, len(confusion) + 1)
    marks = "osD^v"
    for place, (name, share) in enumerate(shares.items()):
        left.plot(
            steps,
            100 * share,
            f"-{marks[place % len(marks)]}",
            color=OKABE_ITO[place],
            label=name,
            markersize=5,
        )
    left.axhline(100 / len(steps), color="#7F7F7F", linestyle=":", linewidth=1.2, label="chance")
    left.set(xlabel="step of the key", ylabel="decoded right (% of test keys)", xticks=steps, ylim=(-3, 104))
    left.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(shares) + 1)
    heat_map(right, 100 * confusion, steps, steps)
    right.set(xlabel="decoded as step", ylabel="written at step", title=f"confusion (%): {of}")
    return fig
