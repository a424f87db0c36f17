"""Actions as colored squares: one color and one sign for each, the same in every figure."""

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

Number = float | int
END = "#d4d4d4"
# action: (color, sign); the verbs' signs are their first letters, left and right are arrows. None of the colors
# is that of structure, of content, or of a network. All are of half the brightness, which the dark theme's filter
# (`style.css`) leaves as it is: 0.213 red + 0.715 green + 0.072 blue = 0.5.
LOOKS = {
    "WALK": ("#788C33", "W"),
    "LOOK": ("#CC66A6", "L"),
    "RUN": ("#B37D0D", "R"),
    "JUMP": ("#E65F61", "J"),
    "LEFT": ("#808080", "↰"),
    "RIGHT": ("#947D6B", "↱"),
    "DAX": ("#A870D1", "D"),
    "<EOS>": (END, "."),
    "<SOS>": ("#ffffff", "?"),
}
SIDE = 0.88  # of a square in its unit cell
ARROWS = 1.35  # their signs are small in the font


def ink(shade: str) -> str:
    """Black or white, whichever is easier to read on this color."""
    red, green, blue = to_rgb(shade)
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.4 else "#ffffff"


def square(ax: Axes, action: str, x: Number, y: Number, size: Number = 8.0, edge: str = "none") -> Rectangle:
    """Draw one action in the unit cell whose upper left corner is at (x, y), with a sign of `size` points."""
    shade, sign = LOOKS[action]
    margin = (1 - SIDE) / 2
    edge = "#8a8a8a" if action == "<SOS>" and edge == "none" else edge
    box = Rectangle((x + margin, y + margin), SIDE, SIDE, facecolor=shade, edgecolor=edge, linewidth=1.4)
    ax.add_patch(box)
    size = ARROWS * size if sign in "↰↱" else size
    ax.text(x + 0.5, y + 0.52, sign, ha="center", va="center", fontsize=size, color=ink(shade))
    return box
