"""Every value that a figure of problems or networks draws is the value that it was given."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from mini_lib.errors import UsageError
from mini_lib.functions.analysis import DistanceAttention, MatrixAttention
from mini_lib.functions.models import MODELS
from mini_lib.functions.tasks import KINDS
from mini_lib.reproduction.functions import figures
from mini_lib.reproduction.functions.cells import ROWS
from mini_lib.reproduction.functions.figures import MODEL_COLOURS as COLOURS
from mini_lib.reproduction.functions.figures.looks import OTHERS, TRUTH, looks
from reproduction.functions.helpers import dots, legend, of_colour, texts, ticks

pytestmark = pytest.mark.usefixtures("headless")


# ------------------------------------------------------------------------------------------------ colours


def seen_by_the_colour_blind(colour):
    """Deuteranopia, after Machado et al. (2009), in linear RGB."""
    matrix = [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
    return np.array(matrix) @ np.power(mpl.colors.to_rgb(colour), 2.2)


@pytest.mark.parametrize("palette", [COLOURS, figures.KIND_COLOURS, dict(enumerate(OTHERS))])
def test_colours_are_told_apart_by_the_colour_blind(palette):
    for first, second in itertools.combinations(palette.values(), 2):
        distance = np.linalg.norm(seen_by_the_colour_blind(first) - seen_by_the_colour_blind(second))
        assert distance > 0.1, (first, second)


def test_every_network_and_every_class_has_one_colour_and_one_name():
    assert set(COLOURS) == set(figures.MODEL_NAMES) == set(MODELS)
    assert set(figures.KIND_COLOURS) == set(KINDS) < set(figures.KIND_NAMES)
    everything = [*COLOURS.values(), *figures.KIND_COLOURS.values(), *OTHERS, TRUTH]
    assert len({colour.lower() for colour in everything}) == len(everything)
    for model in MODELS:
        assert figures.shade(ROWS[model]) == figures.shade(figures.label(model)) == COLOURS[model]
    drawn = looks(["zero", "one_d", "best"])
    assert drawn["one_d"] == {"color": COLOURS["one_d"]}
    assert (drawn["zero"]["color"], drawn["best"]["color"]) == OTHERS[:2]
    assert drawn["zero"]["linestyle"] == "--"


# ----------------------------------------------------------------------------------------------- problems


def test_differences_are_later_minus_earlier_above_the_diagonal():
    y = [1.0, 3.0, 2.5]
    left, right, bar = figures.differences(y).axes
    assert dots(left.lines[0]) == [[1, 1], [2, 3], [3, 2.5]]
    assert texts(left) == ["?"]
    matrix = right.images[0].get_array()
    assert matrix.mask.tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert matrix.compressed().tolist() == [2.0, 1.5, -0.5]
    assert right.images[0].get_clim() == (-2, 2)
    assert [text.get_position() for text in right.texts] == [(4, 1), (4, 2), (4, 3), (4, 4)]
    frame = right.patches[0]
    assert (frame.get_xy(), frame.get_width(), frame.get_height()) == ((3.5, 0.5), 1, 4)
    assert (right.get_xlabel(), bar.get_ylabel()) == ("later point $j$", "$y_j-y_i$")
    assert right.get_ylim()[0] > right.get_ylim()[1]  # i = 1 on top
    with pytest.raises(UsageError, match="at least 2 observed points"):
        figures.differences([1.0])


def test_token_sets_are_counted():
    left, right = figures.token_sets(4).axes
    assert legend(left) == ["4 observations", "1 query"]
    assert legend(right) == ["6 differences", "5 queries"]
    assert [x for x, _ in dots(left.lines[0])] == [1, 2, 3, 4]
    assert dots(left.lines[1]) == [[5, 1]]
    assert sorted(dots(right.lines[0])) == [[2, 1], [3, 1], [3, 2], [4, 1], [4, 2], [4, 3]]
    assert dots(right.lines[1]) == [[5, i] for i in range(1, 6)]
    state = torch.random.get_rng_state()
    figures.token_sets()
    assert torch.equal(state, torch.random.get_rng_state())
    with pytest.raises(UsageError, match="two observations"):
        figures.token_sets(1)


# ----------------------------------------------------------------------------------------------- networks


def test_masks_for_four_points():
    left, right = figures.masks(4).axes
    assert np.array_equal(left.images[0].get_array(), np.tril(np.ones((5, 5))))
    seen, names = right.images[0].get_array(), ticks(right.yaxis)
    assert names == ticks(right.xaxis)
    assert names == ["1,2", "1,3", "2,3", "1,4", "2,4", "3,4", "1,5", "2,5", "3,5", "4,5", "5,5"]
    for row, column in itertools.product(names, names):
        (i, j), (k, m) = ([int(part) for part in name.split(",")] for name in (row, column))
        expected = k <= i and m <= j
        assert bool(seen[names.index(row), names.index(column)]) == expected, (row, column)
    queries = [to_hex(tick.get_color()) == figures.networks.ASKED.lower() for tick in right.get_yticklabels()]
    assert queries == [False] * 6 + [True] * 5
    assert figures.masks(4, "strict").axes[0].images[0].get_array().sum() == 10
    for wrong in ((1, "causal"), (7, "causal"), (4, "none at all")):
        with pytest.raises(UsageError, match="masks are causal, strict, none, of 2 to 6"):
            figures.masks(*wrong)


def test_attention_lies_on_the_matrix_with_a_ring_at_the_query():
    weights = torch.tensor([[torch.nan, 0.25, 0.5], [torch.nan, torch.nan, 0.25]])
    ax, bar = figures.attention(MatrixAttention(2, weights)).axes
    shown = ax.images[0].get_array()
    assert shown.mask.tolist() == weights.isnan().tolist()
    assert shown.compressed().tolist() == [0.25, 0.5, 0.25]
    assert ax.images[0].get_clim() == (0, 0.5)
    assert ax.images[0].get_extent() == [0.5, 3.5, 2.5, 0.5]
    assert dots(ax.lines[0]) == [[3, 2]]
    assert ax.patches[0].get_xy() == (2.5, 0.5)
    assert bar.get_ylabel() == "attention"
    assert figures.attention(MatrixAttention(1, weights), 1).axes[0].images[0].get_clim() == (0, 1)


def test_attention_by_distance_is_a_mean_over_layers_and_heads():
    weights = torch.tensor([[[0.4, 0.2], [0.6, 0.4]], [[0.1, 0.1], [0.1, 0.3]]])  # [L, H, G]
    found = DistanceAttention(torch.tensor([0.0, 1.0]), weights, torch.tensor([0.3, 0.25]))
    ax = figures.attention_by_distance({"relational": found}).axes[0]
    first, second, mean, even = of_colour(ax, COLOURS["relational"])
    assert first.get_ydata() == pytest.approx([0.5, 0.3])
    assert second.get_ydata() == pytest.approx([0.1, 0.2])
    assert mean.get_ydata() == pytest.approx([0.3, 0.25])
    assert even.get_ydata() == pytest.approx([0.3, 0.25])
    assert (even.get_linestyle(), ax.get_yscale()) == (":", "log")
