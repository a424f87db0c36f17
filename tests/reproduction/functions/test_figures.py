"""Every figure is drawn, with words at its axes; numbers worked out inside a figure are computed a second time."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from mini_lib.errors import UsageError
from mini_lib.functions.tasks import KINDS
from mini_lib.functions.transformer import MODELS, OneDTransformer, RelationalTransformer
from mini_lib.reproduction.functions import figures
from mini_lib.reproduction.functions.cells import ROWS
from mini_lib.reproduction.functions.figures import MODEL_COLOURS as COLOURS
from mini_lib.reproduction.functions.figures.looks import ASKED, OTHERS, TRUTH, looks

pytestmark = pytest.mark.usefixtures("headless")
NAN = torch.nan


CLOUD = figures.Ensemble(
    torch.tensor([0.5, 0.6]),
    torch.tensor([[1.0, 2.0, NAN], [3.0, 4.0, 8.0]]),
    torch.tensor([1.5, 4.0]),
    torch.tensor([0.7, 2.6]),
)
MATRIX = torch.tensor([[NAN, 0.25, 0.5], [NAN, NAN, 0.25]])
DRAWN = {  # what is drawn: the words at its axes
    lambda: figures.masks(4, "strict"): {"is looked at", "looks", ""},
    lambda: figures.differences([1.0, 3.0, 2.5]): {"x", "y", "later point $j$", "earlier point $i$"},
    lambda: figures.token_sets(4): {"x", "", "later point $j$", "earlier point $i$"},
    lambda: figures.attention(MATRIX, 2, highest=1): {"later point $j$", "earlier point $i$"},
    lambda: figures.continuations([1.0, 2.0], {"one_d": [3.0, 4.0]}, [1.1, 2.1, 3.1, 4.1]): {"x", "y"},
    lambda: figures.cloud(CLOUD, truth=[0.4, 0.5, 0.6, 0.7], name="relational"): {"x", "y"},
    lambda: figures.by_step({"one_d": {"lin": [0.1, 0.2], "rbf": [1.0, 2.0]}, "zero": {"lin": [0.5, 0.6]}}): {
        "step",
        "",
        "mean squared error",
    },
}


@pytest.mark.parametrize("shared", [True, False])
def test_panels_of_steps_share_their_scale_unless_told_not_to(shared):
    lines, curves = figures.by_step({"one_d": {"lin": [0.1, 0.2], "rbf": [1.0, 2.0]}}, sharey=shared).axes[:2]
    assert (lines.get_ylim() == curves.get_ylim()) == shared


@pytest.mark.parametrize(("draw", "words"), DRAWN.items())
def test_a_figure_is_drawn_and_says_what_its_axes_are(draw, words, tmp_path):
    fig = draw()
    fig.savefig(tmp_path / "figure.png")
    panels = [ax for ax in fig.axes if not hasattr(ax, "_colorbar")]
    assert {word for ax in panels for word in (ax.get_xlabel(), ax.get_ylabel())} == words


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: figures.differences([1.0]), "N from 2"),
        (lambda: figures.token_sets(1), "two observations"),
        *(
            (lambda wrong=wrong: figures.masks(*wrong), "masks are causal, strict, none, of 2 to 6")
            for wrong in ((1, "causal"), (7, "causal"), (4, "none at all"))
        ),
        (
            lambda: figures.continuations([1.0, 2.0], {"one_d": [3.0]}, spreads={"two_d": [1.0]}),
            "no prediction is called 'two_d'",
        ),
        (
            lambda: figures.continuations([1.0, 2.0], {"one_d": torch.zeros(2, 1)}),
            r"shape \(2, 1\) does not hold 1 values",
        ),
        (lambda: figures.continuations([1.0], {"one_d": [3.0]}, titles=["a", "b"]), "1 curves with 2 titles"),
        *(
            (lambda truth=truth: figures.cloud(CLOUD, truth), f"the truth has {len(truth)} points; give 4")
            for truth in ([0.4, 0.5, 0.6], [0.4, 0.5, 0.6, 0.7, 0.8])
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, words):
    with pytest.raises(UsageError, match=words):
        call()


NOTHING = {
    lambda: figures.continuations([1.0, 2.0], {}): "prediction, by name",
    lambda: figures.by_step({}): "network or predictor, by name",
}


@pytest.mark.parametrize(("call", "what"), NOTHING.items())
def test_a_figure_of_nothing_says_what_to_give(call, what):
    with pytest.raises(UsageError, match=f"nothing to draw: give at least one {what}"):
        call()


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


# -------------------------------------------------------------------------------- numbers that figures work out


def of_colour(ax, colour):
    return [line for line in ax.lines if to_hex(line.get_color()) == colour.lower()]


def heights(band, x):
    return {round(float(y), 4) for at, y in band.get_paths()[0].vertices if at == x}


def test_differences_are_later_minus_earlier_above_the_diagonal():
    left, right, _ = figures.differences([1.0, 3.0, 2.5]).axes
    assert left.lines[0].get_xydata().tolist() == [[1, 1], [2, 3], [3, 2.5]]
    matrix = right.images[0].get_array()
    assert matrix.mask.tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert matrix.compressed().tolist() == [2.0, 1.5, -0.5]
    assert right.images[0].get_clim() == (-2, 2)
    assert [text.get_position() for text in right.texts] == [(4, 1), (4, 2), (4, 3), (4, 4)]
    assert right.get_ylim()[0] > right.get_ylim()[1]  # i = 1 on top


def test_token_sets_are_counted():
    counted = [[text.get_text() for text in ax.get_legend().texts] for ax in figures.token_sets(4).axes]
    assert counted == [["4 observations", "1 query"], ["6 differences", "5 queries"]]


def test_masks_for_four_points():
    left, right = figures.masks(4).axes
    assert np.array_equal(left.images[0].get_array(), np.tril(np.ones((5, 5))))
    names = [text.get_text() for text in right.get_yticklabels()]
    assert names == ["1,2", "1,3", "2,3", "1,4", "2,4", "3,4", "1,5", "2,5", "3,5", "4,5", "5,5"]
    places = [[int(part) for part in name.split(",")] for name in names]
    seen = [[k <= i and m <= j for k, m in places] for i, j in places]
    assert right.images[0].get_array().tolist() == seen
    queries = [to_hex(tick.get_color()) == ASKED.lower() for tick in right.get_yticklabels()]
    assert queries == [False] * 6 + [True] * 5


def test_curves_go_on_where_observations_end_with_bands_of_two_deviations():
    y, ahead = torch.zeros(4, 3), torch.arange(8.0).reshape(4, 2)
    spreads = {"relational": torch.full((4, 2), 0.25)}
    fig = figures.continuations(
        y, {"relational": ahead, "OLS line": -ahead}, spreads=spreads, titles=[*"abcd"]
    )
    for number, ax in enumerate(fig.axes[:4]):
        _, edge, ours, line = ax.lines
        assert edge.get_xdata() == [3.5, 3.5]
        assert ours.get_xydata().tolist() == [[4, 2 * number], [5, 2 * number + 1]]
        assert line.get_ydata().tolist() == [-2 * number, -2 * number - 1]
        assert heights(ax.collections[0], 5) == {2 * number + 0.5, 2 * number + 1.5}


def test_an_ensemble_is_one_estimate_for_every_earlier_point():
    model, y = RelationalTransformer(dim=8, layers=1, heads=1), torch.tensor([0.1, 0.5, -0.2, 0.4, 0.9])
    found = figures.ensemble(model, y, steps=3)
    seen = y
    for step in range(3):
        with torch.no_grad():
            estimates = model(seen[None])[0, :-1] + seen
        torch.testing.assert_close(found.estimates[step, : 5 + step], estimates)
        assert found.estimates[step, 5 + step :].isnan().all()
        assert found.spread[step].item() == pytest.approx(estimates.std().item(), abs=1e-5)
        seen = torch.cat([seen, estimates.quantile(0.5)[None]])
    torch.testing.assert_close(found.point, seen[5:])
    assert found.estimates.shape == (3, 7)
    assert found.places.tolist() == [6, 7, 8]
    with pytest.raises(UsageError, match="has one estimate of a point"):
        figures.ensemble(OneDTransformer(dim=8, layers=1, heads=1), y)


def test_a_history_is_read_from_the_checks_of_a_record():
    checks = [
        {"epoch": epoch, "window": window, **{f"spread_{kind}": epoch + i for i, kind in enumerate(KINDS)}}
        for epoch, window in ((1, 9.0), (10, 8.0))
    ]
    history = figures.metric_history({"checks": checks}, "spread")
    assert history.updates == [100, 1000]
    assert history.values == {"lin": [1, 10], "rbf": [2, 11], "sine": [3, 12]}
    assert figures.metric_history({"checks": checks}, "window").values == {"window": [9.0, 8.0]}
    with pytest.raises(UsageError, match="one test, at the end"):
        figures.metric_history({"checks": []}, "mse")
    with pytest.raises(UsageError, match="unknown measure 'spred'; did you mean 'spread'"):
        figures.metric_history({"checks": checks}, "spred")


def test_the_cloud_has_a_dot_for_every_estimate():
    ax = figures.cloud(CLOUD, name="relational").axes[0]
    dots = next(part for part in ax.collections if len(part.get_offsets()) == 5)
    # around the steps at x = 3 and 4, in the order of i
    assert dots.get_offsets().tolist() == [[2.75, 1], [3.0, 2], [3.75, 3], [4.0, 4], [4.25, 8]]
    assert dots.get_array().tolist() == [1, 2, 1, 2, 3]
    assert heights(next(part for part in ax.collections if part is not dots), 4) == {-1.2, 9.2}
