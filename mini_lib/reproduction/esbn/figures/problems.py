"""Problems as the reader sees them (Figures 1 and 10), and the ESBN's memory at one step of Algorithm 1."""

from collections.abc import Collection

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from mini_lib.esbn.esbn import ESBNTrace
from mini_lib.esbn.tasks import Problems, get_task
from mini_lib.reproduction.plotting import ACCENT, QUIET, RULE, figure

RIGHT, BLANK = ACCENT, "#bdbdbd"
MARK = RULE  # of images that are pointed out, and neither right nor wrong
# Where the images of a problem stand, (column, row) from the top left, in units of one image with its margin.
PLACES = {
    "same_different": [(1, 0.6), (2.2, 0.6)],
    "rmts": [(1.1, 0), (2.1, 0), (0, 1.6), (1, 1.6), (2.4, 1.6), (3.4, 1.6)],
    "distribution_of_three": [(0.6 + i % 3, i // 3) for i in range(5)] + [(i, 2.6) for i in range(4)],
}
PLACES["identity_rules"] = PLACES["distribution_of_three"]
EXTENT = {"same_different": (4.2, 2.4), "rmts": (4.5, 2.8)}
Place = tuple[float | int, float | int]  # column and row of an upper left corner
STRIP = 64  # cells of a key's heat strip; more would not be told apart


def problem(
    task: str,
    images: Float[Tensor, "P 32 32"],
    problems: Problems,
    number: int,
    *,
    answer: bool = True,
    choice: int | None = None,
    title: str | None = None,
    size: tuple[float, float] = (3.2, 3.0),
) -> Figure:
    """Draw one problem, of that number, as a person would be given it; with the right `answer` framed in green.

    A wrong `choice` of somebody has a dashed frame. The title is that of the task, if none is given.
    """
    fig, ax = figure(size=size)
    _draw_problem(ax, task, images, problems, number, answer)
    if choice not in (None, int(problems.answers[number])):
        _frame(ax, (choice, 2.6), 1, RULE, style="--")
    if title is not None:
        ax.set_title(title)
    return fig


def _draw_problem(ax: Axes, task: str, images, problems: Problems, number: int, answer: bool) -> None:
    spec = get_task(task)
    ids, right = problems.ids[number], int(problems.answers[number])
    if len(ids) != spec.length:
        raise ValueError(f"a problem of {spec.title} has {spec.length} images, this one has {len(ids)}")
    places = PLACES[task]
    for image, place in zip(images[ids], places, strict=True):
        _picture(ax, image, place)
    if spec.classes == 4:
        _frame(ax, (2.6, 1), 1, BLANK, "?")
        _number(ax, [(i + 0.46, 3.78) for i in range(4)])
    elif task == "rmts":
        _number(ax, [(0.96, 2.8), (3.36, 2.8)])
    else:
        words = ("same", "different")[right] if answer else "same or different?"
        ax.text(2.06, 2.0, words, ha="center", va="center")
    if answer and spec.classes == 4:
        _frame(ax, (right, 2.6), 1, RIGHT)
    elif answer and task == "rmts":
        _frame(ax, places[2 + 2 * right], 2, RIGHT)
    width, height = EXTENT.get(task, (4.0, 3.9))
    ax.set(xlim=(-0.15, width), ylim=(height + 0.2, -0.2), title=spec.title, aspect="equal", anchor="N")
    ax.set_axis_off()


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


def gallery(images: Float[Tensor, "P 32 32"], marked: Collection[int] = ()) -> Figure:
    """Draw all images of a pool (Figure 10), those of the given numbers with a grey-blue frame."""
    columns = 10
    rows = -(-len(images) // columns)
    fig, ax = figure(size=(4.6, 4.6 * rows / columns))
    for number, image in enumerate(images):
        place = (number % columns, number // columns)
        _picture(ax, image, place)
        if number in marked:
            _frame(ax, place, 1, MARK)
    ax.set(xlim=(-0.1, columns), ylim=(rows, -0.1), aspect="equal")
    ax.set_axis_off()
    return fig


# ------------------------------------------------------------------------------------------------ memory


def memory(images: Float[Tensor, "T 32 32"], trace: ESBNTrace, step: int, number: int = 0) -> Figure:
    """Draw what the ESBN holds and reads at one step of Algorithm 1.

    On the left the image that is looked up; then memory, a value and the key bound to it in each row; on the right
    the weight and the confidence of each entry; below, the key that is retrieved and the one that is written. Each
    key has a scale of its own, since the first keys are much shorter than the later ones. Steps count from 0; T is
    the extra step, which has no image. `number` is the problem's place in the batch of the trace.
    """
    steps = len(images)
    if not 0 <= step <= steps:
        raise ValueError(f"step {step} is not there: a problem of {steps} images has steps 0 to {steps}")
    if trace.weights.shape[-1] != steps:
        raise ValueError(f"{trace.weights.shape[-1]} entries for {steps} images: memory has a default entry")
    fig, ax = figure(size=(4.6, 0.3 * (max(step, 2) + 4)))
    _query(ax, images, step)
    for x, text in ((3.4, "value"), (6.7, "key"), (10.4, "weight"), (13.7, "confidence")):
        ax.text(x, -0.1, text, ha="center", va="bottom", color=QUIET, fontsize=9)
    weights, confidences = (part[number, step].tolist() for part in (trace.weights, trace.confidences))
    for entry in range(step):
        _picture(ax, images[entry], (2.96, entry), side=0.88)
        _key(ax, trace.keys_written[number, entry], entry)
        _bar(ax, weights[entry], 9.3, entry)
        _bar(ax, confidences[entry], 12.6, entry)
        ax.text(2.8, entry + 0.44, str(entry + 1), ha="right", va="center", fontsize=8, color=QUIET)
    size = trace.keys_written.shape[-1]
    rows = {
        "written": trace.keys_written[number, step],
        "retrieved": trace.keys_retrieved[number, step, :size],
    }
    for y, (label, key) in enumerate(rows.items(), start=max(step, 2)):
        ax.text(4.2, y + 0.94, label, ha="right", va="center", fontsize=9)
        _key(ax, key, y + 0.5)
    ax.set(xlim=(-0.2, 15.6), ylim=(max(step, 2) + 2.6, -1.2))
    ax.set_axis_off()
    return fig


def _query(ax: Axes, images: Tensor, step: int) -> None:
    if step < len(images):
        _picture(ax, images[step], (0.1, 0.3), side=1.8)
    else:
        ax.add_patch(Rectangle((0.1, 0.3), 1.8, 1.8, fill=False, edgecolor=BLANK, linestyle="--"))
        ax.text(1.0, 1.2, "none", ha="center", va="center", color=QUIET, fontsize=9)
    ax.text(1.0, -0.1, f"step {step + 1}", ha="center", va="bottom", fontsize=9)


def _key(ax: Axes, key: Tensor, y: float | int) -> None:
    cells = key[: len(key) // STRIP * STRIP].reshape(STRIP, -1).mean(dim=1) if len(key) >= STRIP else key
    shades = (cells / max(cells.max().item(), 1e-9)).numpy()[None]
    look = {"cmap": "Blues", "vmin": 0, "vmax": 1, "aspect": "auto", "interpolation": "nearest"}
    ax.imshow(shades, extent=(4.4, 9.0, y + 0.76, y + 0.12), **look)


def _bar(ax: Axes, value: float, x: float | int, y: float | int) -> None:
    ax.add_patch(Rectangle((x, y + 0.16), 1.6 * value, 0.56, facecolor=RULE, edgecolor="none"))
    ax.text(x + 1.6 * value + 0.1, y + 0.44, f"{value:.2f}", va="center", fontsize=8, color=QUIET)
