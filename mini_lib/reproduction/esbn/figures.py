"""Problems of the ESBN paper as a reader sees them (Figure 1)."""

from collections.abc import Collection

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from mini_lib.esbn.tasks import Problems, get_task
from mini_lib.reproduction.plotting import ACCENT, QUIET, RULE, figure

RIGHT, BLANK = ACCENT, "#bdbdbd"
# Where the images of a problem stand, (column, row) from the top left, in units of one image with its margin.
PLACES = {
    "same_different": [(1, 0.6), (2.2, 0.6)],
    "rmts": [(1.1, 0), (2.1, 0), (0, 1.6), (1, 1.6), (2.4, 1.6), (3.4, 1.6)],
    "distribution_of_three": [(0.6 + i % 3, i // 3) for i in range(5)] + [(i, 2.6) for i in range(4)],
}
PLACES["identity_rules"] = PLACES["distribution_of_three"]
EXTENT = {"same_different": (4.2, 2.4), "rmts": (4.5, 2.8)}
Place = tuple[float | int, float | int]  # column and row of an upper left corner


def problem(
    task: str,
    images: Float[Tensor, "P 32 32"],
    problems: Problems,
    number: int,
    *,
    choice: int | None = None,
    title: str | None = None,
    size: tuple[float, float] = (3.2, 3.0),
) -> Figure:
    """Draw one problem, of that number, as a person would be given it, with the right answer framed in green.

    A wrong `choice` of somebody has a dashed frame. The title is that of the task, if none is given.
    """
    spec = get_task(task)
    ids, right = problems.ids[number], int(problems.answers[number])
    fig, ax = figure(size=size)
    places = PLACES[task]
    for image, place in zip(images[ids], places, strict=True):
        _picture(ax, image, place)
    if spec.classes == 4:
        _frame(ax, (2.6, 1), 1, BLANK, "?")
        _frame(ax, (right, 2.6), 1, RIGHT)
        _number(ax, [(i + 0.46, 3.78) for i in range(4)])
    elif task == "rmts":
        _frame(ax, places[2 + 2 * right], 2, RIGHT)
        _number(ax, [(0.96, 2.8), (3.36, 2.8)])
    else:
        frame = {"boxstyle": "square,pad=0.4", "fill": False, "edgecolor": RIGHT, "linewidth": 2}
        look = {"fontsize": "large", "bbox": frame, "ha": "center", "va": "center"}
        ax.text(2.06, 2.05, ("same", "different")[right], **look)
    if choice not in (None, right):
        _frame(ax, (choice, 2.6), 1, RULE, style="--")
    title = spec.title if title is None else title
    width, height = EXTENT.get(task, (4.0, 3.9))
    ax.set(xlim=(-0.15, width), ylim=(height + 0.2, -0.2), title=title, aspect="equal", anchor="N")
    ax.set_axis_off()
    return fig


def _picture(ax: Axes, image: Tensor, place: Place, side: float = 0.92) -> None:
    x, y = place
    box = (x, x + side, y + side, y)
    ax.imshow(image.numpy(), cmap="gray", vmin=0, vmax=1, extent=box, interpolation="antialiased")
    ax.add_patch(Rectangle(place, side, side, fill=False, edgecolor=BLANK, linewidth=0.6))


def _frame(ax: Axes, place: Place, images: int, shade: str, text: str = "", style: str = "-") -> None:
    x, y = place
    wide = images - 0.08
    look = {"fill": False, "edgecolor": shade, "linewidth": 2, "linestyle": style, "zorder": 4}
    ax.add_patch(Rectangle((x - 0.03, y - 0.03), wide + 0.06, 0.98, **look))
    ax.text(x + wide / 2, y + 0.46, text, ha="center", va="center", fontsize="large", color=QUIET)


def _number(ax: Axes, places: Collection[Place]) -> None:
    for number, (x, y) in enumerate(places, start=1):
        ax.text(x, y, str(number), ha="center", va="center", fontsize="small", color=QUIET)
