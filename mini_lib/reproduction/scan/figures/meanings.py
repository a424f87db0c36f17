"""What words mean alone."""

from matplotlib.figure import Figure

from mini_lib.reproduction.plotting import figure, heat_map
from mini_lib.scan.analysis import Dictionary


def word_meanings(dictionary: Dictionary) -> Figure:
    """Draw what each word says alone, in percent: the semantic stream is a dictionary."""
    words, actions = dictionary.words, dictionary.actions
    fig, ax = figure(size=(1.8 + 0.55 * len(actions), 1.2 + 0.27 * len(words)))
    heat_map(ax, 100 * dictionary.probabilities.double().numpy(), words, actions, vmax=100)
    ax.tick_params(axis="x", labelrotation=35)
    for name in ax.get_xticklabels():
        name.set(ha="right", rotation_mode="anchor")
    ax.set(xlabel="action (probability in %)", ylabel="word alone")
    return fig
