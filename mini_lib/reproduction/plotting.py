"""One quiet style, and how a figure enters the book: `show`, with a caption that opens with the finding."""

import html
import io
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import LogLocator, NullFormatter
from matplotlib.transforms import Bbox
from torch import Tensor

Number = float | int
Values = Sequence | np.ndarray  # of numbers, one a seed or one a point
Numbers = Values | Tensor
DPI = 176  # of figures, shown at 96: crisp on fine screens
LUMINANCE = (0.2126, 0.7152, 0.0722)  # of red, green and blue
KEPT_MAPS = ("gray", "gray_r", "viridis")  # of pictures, which a dark page does not invert
FINDING = 250  # most characters of a finding: one sentence, not a paragraph

# Okabe and Ito's palette, told apart by color-blind readers, without its yellow (too faint on white).
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STRUCTURE, CONTENT, ACCENT = OKABE_ITO[:3]  # in the whole book; the accent is the paper's network
MACHINES = ("#7A5195", "#009E73", "#8C5A2B", "#CC79A7")  # of a product of memories
QUIET, RULE = "#6b6b6b", "#444444"  # what stands aside; frames, and lines to compare with
GREYS = ("#555555", "#7a7a7a", "#999999", "#b0b0b0", "#333333")  # other networks, which labels tell apart
COLORS = {  # of networks
    **dict.fromkeys(("esbn", "syntactic_attention", "relational"), ACCENT),
    **dict.fromkeys(("esbn_no_confidence", "relational_window"), "#66C2A5"),
    **dict.fromkeys(("lstm", "gru_attention", "sequential semantics", "one_d"), GREYS[0]),
    **dict.fromkeys(("transformer", "li", "syntax-action", "one_d_window"), GREYS[2]),
    **dict.fromkeys(("mnm", "cnn", "nonlinear semantics"), GREYS[3]),
    **{"esbn_default_memory": "#B8DFD2", "ntm": GREYS[1], "predinet": GREYS[4]},
    **{"rn": "#8a8378", "trn": "#6f6a63", "paper": RULE},
}
STYLE = {
    "axes.edgecolor": RULE,
    "axes.labelcolor": "#222222",
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "figure.dpi": 110,  # on a screen; `show` draws finer
    "figure.figsize": (4.6, 3.0),
    "figure.constrained_layout.use": True,
    "font.size": 9.5,
    "grid.color": "#e4e4e4",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}


def style() -> AbstractContextManager:
    """Return a context in which figures are drawn in the style of the book; settings are put back after it."""
    return mpl.rc_context(STYLE | {"axes.prop_cycle": mpl.cycler(color=OKABE_ITO)})


def color(name: str) -> str:
    """Return the color of a network, the same in every figure; any other name gets a steady one too."""
    return COLORS.get(name.lower()) or OKABE_ITO[sum(name.lower().encode()) % len(OKABE_ITO)]


def figure(rows: int = 1, columns: int = 1, size: Sequence | None = None, **options):
    """Open a figure in the style of the book: `matplotlib.pyplot.subplots`, with `size` in inches."""
    with style():
        return plt.subplots(rows, columns, figsize=size or STYLE["figure.figsize"], **options)


def seed_dots(
    ax: Axes, place: Number, values: Numbers, *, color: str, spread: Number = 0.18, bar: Number = 0.32, **look
):
    """Draw one dot a seed around a place on the x axis, and a bar at their mean; nothing without values.

    Dots reach as far as `spread` to either side, and the bar as far as `bar`. They stand evenly, so the same records
    give the same picture. `look` is that of the dots, as in `Axes.plot`.
    """
    values = np.asarray(values, dtype=float)
    if not len(values):
        return
    dots = {"marker": "o", "alpha": 0.55, "markersize": 5, "markeredgewidth": 0, "zorder": 2}
    spots = place + np.linspace(-spread, spread, len(values)) * (len(values) > 1)
    ax.plot(spots, values, color=color, linewidth=0, **dots | look)
    ax.hlines(values.mean(), place - bar, place + bar, color=color, linewidth=2.2, zorder=3)


def paper_mark(ax: Axes, place: Number, mean: Number, error: Number | None = None):
    """Draw a printed number as an open diamond, with its error each way."""
    look = {"color": RULE, "fillstyle": "none", "markersize": 5, "elinewidth": 1, "capsize": 2}
    ax.errorbar([place], [mean], yerr=[error or 0.0], fmt="D", **look)


def chance(ax: Axes, value: Number):
    """Draw the level of chance, the same dotted line in every figure, and label it."""
    ax.axhline(value, color=QUIET, linestyle=":", linewidth=1.2, zorder=1)
    where = {"xycoords": ("axes fraction", "data"), "xytext": (-1, 2), "textcoords": "offset points"}
    ax.annotate("chance", (1, value), ha="right", va="bottom", color=QUIET, fontsize="small", **where)


def label_ends(ax: Axes):
    """Write the label of each line at its right end, in its color, where the labels do not overlap; no legend."""
    ends = []
    for line in ax.lines:
        if not str(line.get_label()).startswith("_"):
            points = line.get_xydata()
            last = points[np.isfinite(points).all(axis=1)][-1]
            ends.append((ax.transData.transform(last)[1] * 72 / ax.figure.dpi, tuple(last), line))
    height = -np.inf
    for place, last, line in sorted(ends, key=lambda each: each[0]):
        height = max(place, height + 11)  # points
        text = {"color": legible(line.get_color()), "va": "center", "fontsize": "small"}
        shift = {"xytext": (5, height - place), "textcoords": "offset points", "annotation_clip": False}
        ax.annotate(line.get_label(), last, **shift, **text)


def legible(color: str) -> tuple[float, ...]:
    """The color, darker where it is too light for text: of a contrast with white of 4.5 or more (WCAG)."""
    rgb = np.array(mpl.colors.to_rgb(color))
    while True:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        if 1.05 / (0.05 + linear @ LUMINANCE) >= 4.5:
            return tuple(rgb)
        rgb *= 0.97


def heat_map(ax: Axes, values: Numbers, rows: Values, columns: Values, *, form: str = "{:.0f}", **look):
    """Draw a matrix of numbers from 0 on as shades, each number in its field; those that print as 0 stay blank.

    `values` are [R, C], the first row on top; `rows` are R names, `columns` C names. `form` says how a number is
    printed, such as "{:.2f}", or "" for shades alone; `look` is as in `Axes.imshow`.
    """
    values = np.asarray(values, dtype=float)
    top = look.setdefault("vmax", max(1e-9, np.nanmax(values)))
    ax.imshow(values, **{"cmap": "Blues", "vmin": 0, "aspect": "auto"} | look)
    for (row, column), value in np.ndenumerate(values if form else []):
        if float(form.format(value)) != 0:
            shade = "white" if value > 0.6 * top else "#222222"
            text = {"ha": "center", "va": "center", "fontsize": 8.5, "color": shade}
            ax.text(column, row, form.format(value), **text)
    height, width = values.shape
    ax.set_xticks(range(width), columns)
    ax.set_yticks(range(height), rows)
    ax.tick_params(length=0)
    ax.grid(False)


def log_ticks(axis: Axis):
    """Set plain numbers at 1, 2 and 5 of every decade of a logarithmic axis, and nothing between them."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def png(fig: Figure, dark: bool = False) -> bytes:
    """Return a figure as a transparent PNG of at most 256 colors, each close to its own.

    What was white lets the page through, and all other colors do as far as they are light. With `dark` the figure is
    drawn for a dark page: inverted, hues turned by half a circle as in `style.css`, but for the pictures in it.
    """
    from PIL import Image

    buffer, small = io.BytesIO(), io.BytesIO()
    fig.savefig(buffer, dpi=DPI, facecolor="white")
    drawn = np.asarray(Image.open(buffer).convert("RGB")) / 255  # [H, W, 3]
    kept = np.zeros(drawn.shape[:2], dtype=bool)
    for box in _kept(fig) if dark else ():
        (left, low), (right, high) = np.round(box.get_points() * DPI / fig.dpi).astype(int)
        kept[len(kept) - high : len(kept) - low, left:right] = True
    index, colors = _quantized(np.where(kept[..., None], 1, drawn), 128 if dark else 256)
    cover = 1 - colors.min(axis=1)
    paint = 1 - (1 - colors) / np.where(cover, cover, 1)[:, None]
    if dark:
        inner, colors = _quantized(drawn, 128)
        index = np.where(kept, len(paint) + inner, index)
        turned = 2 * (paint @ LUMINANCE)[:, None] - paint  # as the filter `hue-rotate(180deg)` does
        paint = np.concatenate([(1 - turned).clip(0, 1), colors])
        cover = np.concatenate([cover, np.ones(len(colors))])
    picture = Image.fromarray(index.astype(np.uint8), "P")
    picture.putpalette((255 * paint).round().astype(np.uint8).tobytes())
    picture.info["transparency"] = (255 * cover).round().astype(np.uint8).tobytes()
    picture.save(small, "PNG", optimize=True)
    return small.getvalue()


def _quantized(drawn: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Of an image [H, W, 3] the number of each pixel's color, and the colors [at most `count`, 3]."""
    from PIL import Image

    picture = Image.fromarray((255 * drawn).round().astype(np.uint8), "RGB")
    picture = picture.quantize(count, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    return np.asarray(picture), np.reshape(picture.getpalette(), (-1, 3))[:count] / 255


def _kept(fig: Figure) -> list[Bbox]:
    """The boxes, in pixels of the figure, of pictures whose colors have to stay as they are, and of their scales."""
    boxes = []
    for ax in fig.axes:
        for image in ax.images:
            if np.ndim(image.get_array()) == 3 or image.get_cmap().name in KEPT_MAPS:
                boxes.append(Bbox.intersection(image.get_window_extent(), ax.bbox))
                boxes += [image.colorbar.ax.bbox] if image.colorbar else []
    return [box for box in boxes if box]


def show(figures: Figure | Sequence[Figure], finding: str, *, caption: str | None = None):
    """Display a figure, or several side by side, with its finding as caption, and close it.

    Figures side by side stand one below the other on a narrow page. They are transparent, and the theme of the page
    turns dark ink into light. The finding is one sentence, at most 250 characters, that says what the figure shows,
    also to a reader who cannot see it; `caption` is detail that follows it.
    """
    from IPython.display import HTML, display

    if not finding.strip():
        raise ValueError("a figure needs its finding: one sentence that says what it shows")
    if len(finding) > FINDING:
        raise ValueError(f"a finding of {len(finding)} characters, over {FINDING}: move detail to `caption`")
    figures = [figures] if isinstance(figures, Figure) else figures
    said = html.escape(" ".join(finding.split()))
    panels = "".join(map(_panel, figures, [said] + [""] * (len(figures) - 1)))  # it is about all of them
    words = f"<strong>{said}</strong> {html.escape(caption or '')}".strip()
    panels = f'<div class="panels">{panels}</div><figcaption>{words}</figcaption>'
    display(HTML(f'<figure class="mini-figure">{panels}</figure>'))


def _panel(fig: Figure, alt: str) -> str:
    """A figure as an image, and another for the dark theme where it holds pictures; closes it."""
    width = round(96 * fig.get_figwidth())
    pictures = {"light": png(fig), "dark": png(fig, dark=True)} if _kept(fig) else {"": png(fig)}
    plt.close(fig)
    return "".join(
        f'<img src="data:image/png;base64,{b64encode(picture).decode()}" alt="{alt}" width="{width}"'
        f'{theme and f" class={theme!r}"} style="{"display:none" if theme == "dark" else "background:#fff"}">'
        for theme, picture in pictures.items()
    )


def diagram(ax: Axes, boxes: Mapping[str, tuple], arrows: Mapping[str, tuple]) -> None:
    """Draw labelled boxes and labelled arrows between them, as in a drawing of a network, in units of `ax`.

    `boxes` has (centre, width, color) by text, `arrows` (from, to, place of the text, color).
    """
    for text, ((x, y), width, shade) in boxes.items():
        look = {"boxstyle": "round,pad=0.02,rounding_size=0.12", "facecolor": "white", "edgecolor": shade}
        ax.add_patch(FancyBboxPatch((x - width / 2, y - 0.38), width, 0.76, linewidth=1.6, **look))
        ax.text(x, y, text, ha="center", va="center", color="#222222", fontsize="small")
    for text, (start, end, label, shade) in arrows.items():
        ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": shade, "linewidth": 1.6})
        ax.text(*label, text, ha="center", va="center", fontsize="small", color=shade)
