"""What words mean alone."""

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from mini_lib.reproduction.plotting import CONTENT, figure, heat_map
from mini_lib.scan.analysis import Dictionary
from mini_lib.scan.tasks import SOS


def word_meanings(dictionary: Dictionary) -> Figure:
    """Draw what each word predicts alone, in percent: the semantic stream is a dictionary."""
    words = dictionary.words
    kept = [number for number, action in enumerate(dictionary.actions) if action != SOS]  # never an answer
    actions = [dictionary.actions[number] for number in kept]
    fig, ax = figure(size=(1.3 + 0.36 * len(actions), 0.9 + 0.23 * len(words)))
    shades = LinearSegmentedColormap.from_list("content", ["white", CONTENT])
    heat_map(
        ax, 100 * dictionary.probabilities[:, kept].double().numpy(), words, actions, vmax=100, cmap=shades
    )
    for number in ax.texts:
        number.set(fontsize=9, color="black")
    ax.tick_params(axis="x", labelrotation=35)
    for name in ax.get_xticklabels():
        name.set(ha="right", rotation_mode="anchor")
    ax.set(xlabel="action (probability in %)", ylabel="word alone")
    return fig
