"""What a figure says."""

from matplotlib.colors import to_hex


def texts(ax):
    return [text.get_text() for text in ax.texts]


def ticks(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def legend(of):
    """Of the axes, or of the whole figure."""
    found = of.get_legend() if hasattr(of, "get_legend") else of.legends[0]
    return [text.get_text() for text in found.get_texts()]


def of_colour(ax, colour):
    return [line for line in ax.lines if to_hex(line.get_color()) == colour.lower()]


def dots(line):
    return line.get_xydata().tolist()
