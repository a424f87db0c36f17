"""What a figure says."""


def texts(ax):
    """Every text on an axes, in the order drawn."""
    return [text.get_text() for text in ax.texts]
