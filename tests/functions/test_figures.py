"""Every value that a figure of this wing draws is the value that it was given."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from mini_lib.errors import WrongUse
from mini_lib.functions import figures
from mini_lib.functions.analysis import MEAN_ERROR, Attended, Bins, Course, Coverage, Ensemble, Fall, Falling
from mini_lib.functions.analysis import normal_coverage as control
from mini_lib.functions.experiments import ROWS
from mini_lib.functions.figures.looks import OTHERS, TRUTH, looks
from mini_lib.functions.models import MODELS
from mini_lib.functions.tasks import KINDS, Curves
from mini_lib.plotting import DPI, FRAME_BYTES, png

PAGE = 9.8 * DPI  # the widest figure, in pixels
COLOURS = figures.MODEL_COLOURS


@pytest.fixture(autouse=True)
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


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


def curves(count=2, points=6):
    generator = torch.Generator().manual_seed(0)
    truth = torch.randn(3 * count, points, generator=generator)
    kinds = torch.arange(3).repeat(count)  # lin, rbf, sine, lin, rbf, sine
    return Curves(truth, truth + 0.1, kinds)


# ------------------------------------------------------------------------------------------ colours


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


# ------------------------------------------------------------------------------------------ problems


def test_examples_show_what_is_observed_and_what_is_hidden():
    given = curves(count=3)
    fig = figures.examples(given, each=2, steps=2)
    assert len(fig.axes) == 6
    assert [ax.get_title() for ax in fig.axes[:3]] == ["lines", "RBF curves", "sinusoids"]
    for number, ax in enumerate(fig.axes):  # row by row: the first of each class, then the second
        truth, observed, hidden, _ = ax.lines
        assert truth.get_ydata().tolist() == given.truth[number].tolist()
        assert dots(observed) == [[x + 1.0, y] for x, y in enumerate(given.y[number, :4].tolist())]
        assert dots(hidden) == [[x + 5.0, y] for x, y in enumerate(given.y[number, 4:].tolist())]
        assert (observed.get_fillstyle(), hidden.get_fillstyle()) == ("full", "none")
        assert truth.get_color() == figures.KIND_COLOURS[KINDS[number % 3]]
    assert legend(fig) == ["function", "observed", "hidden"]
    assert fig.axes[3].get_xlabel() == "x"
    for wrong in ({"each": 4}, {"each": 0}, {"steps": 6}, {"steps": 0}):
        with pytest.raises(WrongUse):
            figures.examples(given, **wrong)


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
    with pytest.raises(WrongUse, match="at least 2 observed points"):
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
    with pytest.raises(WrongUse, match="two observations"):
        figures.token_sets(1)


# ------------------------------------------------------------------------------------------ networks


def test_both_networks_are_drawn_and_values_come_back_after_the_transformer_alone():
    ax = figures.two_networks().axes[0]
    words = texts(ax)
    assert "tokens $(x_i,\\ y_i)$\nquery $(x_{N+1},\\ 0)$" in words
    assert "tokens $(i,\\ j,\\ y_j-y_i)$\nqueries $(i,\\ N+1,\\ 0)$" in words
    assert {"median", "$z_i$", "$y_i$ come back only here"} <= set(words)
    for text in ax.texts:
        assert ax.get_xlim()[0] < text.get_position()[0] < ax.get_xlim()[1]


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
        with pytest.raises(WrongUse, match="masks are causal, strict, none, of 2 to 6"):
            figures.masks(*wrong)


def test_the_window_is_marked_at_its_length():
    distance = torch.tensor([0.0, 2.0, 4.0, 6.0])
    factor, start = torch.tensor([[[1.0, 0.8, 0.4, 0.1]]]), torch.tensor([1.0, 0.9, 0.7, 0.5])
    found = Fall(distance, factor, torch.tensor([[3.0]]), start, 6.0)
    own = Fall(distance, factor.repeat(2, 2, 1), torch.tensor([[2.0, 4.0], [6.0, 99.0]]), start, 6.0)
    ax = figures.window({"one_d_window": found, "relational_window": own}).axes[0]
    line, mark = of_colour(ax, COLOURS["one_d_window"])
    assert dots(line) == pytest.approx(np.stack([distance, factor[0, 0]], axis=1))
    assert dots(mark)[0] == pytest.approx([3, 0.6])
    many = of_colour(ax, COLOURS["relational_window"])
    assert [len(line.get_xdata()) for line in many] == [
        4,
        1,
        4,
        1,
        4,
        1,
        4,
    ]  # the last length is out of sight
    dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
    assert len(dotted) == 1
    assert dotted[0].get_ydata() == pytest.approx(start.numpy())
    assert dots(ax.lines[-1]) == [[6.0, 0.5]]
    names = ["1d, window: $ab=3.0$", "relational, window: $ab=27.8$", "at the start: $ab=6$"]
    assert legend(ax) == names
    assert ax.get_xlabel() == "distance $|x-x'|$"
    with pytest.raises(WrongUse, match="at least one window"):
        figures.window({})


def test_attention_lies_on_the_matrix_with_a_ring_at_the_query():
    weights = torch.tensor([[torch.nan, 0.25, 0.5], [torch.nan, torch.nan, 0.25]])
    ax, bar = figures.attention(Attended(2, weights)).axes
    shown = ax.images[0].get_array()
    assert shown.mask.tolist() == weights.isnan().tolist()
    assert shown.compressed().tolist() == [0.25, 0.5, 0.25]
    assert ax.images[0].get_clim() == (0, 0.5)
    assert ax.images[0].get_extent() == [0.5, 3.5, 2.5, 0.5]
    assert dots(ax.lines[0]) == [[3, 2]]
    assert ax.patches[0].get_xy() == (2.5, 0.5)
    assert bar.get_ylabel() == "attention"
    assert figures.attention(Attended(1, weights), 1).axes[0].images[0].get_clim() == (0, 1)


def test_attention_to_observations_ends_with_the_query_itself():
    ax = figures.attention_to_observations({"one_d": torch.tensor([0.1, 0.2, 0.7])}).axes[0]
    _, told, asked = ax.lines
    assert told.get_xdata().tolist() == [1, 2]
    assert told.get_ydata() == pytest.approx([0.1, 0.2])
    assert asked.get_xdata().tolist() == [3]
    assert asked.get_ydata() == pytest.approx([0.7])
    assert asked.get_fillstyle() == "none"
    assert legend(ax) == ["1d"]


def test_attention_by_distance_is_a_mean_over_layers_and_heads():
    weights = torch.tensor([[[0.4, 0.2], [0.6, 0.4]], [[0.1, 0.1], [0.1, 0.3]]])  # [L, H, G]
    found = Falling(torch.tensor([0.0, 1.0]), weights, torch.tensor([0.3, 0.25]))
    ax = figures.attention_by_distance({"relational": found}).axes[0]
    first, second, mean, even = of_colour(ax, COLOURS["relational"])
    assert first.get_ydata() == pytest.approx([0.5, 0.3])
    assert second.get_ydata() == pytest.approx([0.1, 0.2])
    assert mean.get_ydata() == pytest.approx([0.3, 0.25])
    assert even.get_ydata() == pytest.approx([0.3, 0.25])
    assert (even.get_linestyle(), ax.get_yscale()) == (":", "log")


# ------------------------------------------------------------------------------------------ extrapolating


def test_one_continued_curve():
    fig = figures.continuations([1.0, 2.0], {"one_d": [3.0, 4.0, 5.0]}, truth=[1.1, 2.1, 3.1, 4.1, 5.1])
    truth, observed, edge, ahead = fig.axes[0].lines
    assert dots(truth) == [[x, x + 0.1] for x in (1, 2, 3, 4, 5)]
    assert dots(observed) == [[1, 1], [2, 2]]
    assert edge.get_xdata() == [2.5, 2.5]
    assert dots(ahead) == [[3, 3], [4, 4], [5, 5]]
    assert ahead.get_color() == COLOURS["one_d"]
    assert legend(fig) == ["function", "observed", "1d"]


def test_several_continued_curves_with_bands():
    y = torch.zeros(4, 3)
    ahead = {"relational": torch.arange(8.0).reshape(4, 2), "OLS line": -torch.arange(8.0).reshape(4, 2)}
    spread = torch.full((4, 2), 0.25)
    fig = figures.continuations(y, ahead, spreads={"relational": spread}, titles=["a", "b", "c", "d"])
    assert [ax.get_title() for ax in fig.axes if ax.axison] == ["a", "b", "c", "d"]
    for number, ax in enumerate(fig.axes[:4]):
        _, _, ours, line = ax.lines
        assert dots(ours) == [[4, 2 * number], [5, 2 * number + 1]]
        assert line.get_ydata().tolist() == [-2 * number, -2 * number - 1]
        assert (ours.get_linestyle(), line.get_linestyle()) == ("-", "--")
        (band,) = ax.collections
        corners = band.get_paths()[0].vertices
        for x, middle in ((4, 2 * number), (5, 2 * number + 1)):
            assert {round(y, 6) for at, y in corners if at == x} == {middle - 0.5, middle + 0.5}
    assert len(fig.legends) == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"predictions": {}}, "at least one prediction"),
        ({"spreads": {"two_d": [1.0]}}, "no prediction is called 'two_d'"),
        ({"spreads": {"one_d": [1.0, 2.0]}}, r"shape \(1, 2\) does not hold 1 by 1 values"),
        ({"predictions": {"one_d": torch.zeros(2, 1)}}, r"shape \(2, 1\) does not hold 1 values"),
        ({"truth": torch.zeros(2, 3)}, r"shape \(2, 3\)"),
        ({"titles": ["a", "b"]}, "1 curves with 2 titles"),
    ],
)
def test_continuations_that_do_not_go_together(changes, words):
    with pytest.raises(WrongUse, match=words):
        figures.continuations(**({"y": [1.0, 2.0], "predictions": {"one_d": [3.0]}} | changes))


def test_the_cloud_has_a_dot_for_every_estimate():
    estimates = torch.tensor([[1.0, 2.0, torch.nan], [3.0, 4.0, 8.0]])
    found = Ensemble(torch.tensor([0.5, 0.6]), estimates, torch.tensor([1.5, 4.0]), torch.tensor([0.7, 2.6]))
    ax, bar = figures.cloud(found, truth=[0.4, 0.5, 0.6, 0.7], name="relational").axes
    scatter = next(part for part in ax.collections if len(part.get_offsets()) == 5)
    x, heights = scatter.get_offsets().T
    assert heights.tolist() == [1, 2, 3, 4, 8]
    assert x.tolist() == [2.75, 3.0, 3.75, 4.0, 4.25]  # around the steps at x = 3 and 4, in the order of i
    assert scatter.get_array().tolist() == [1, 2, 1, 2, 3]
    truth, observed, _, median = ax.lines
    assert dots(median) == [[3, 1.5], [4, 4]]
    assert median.get_color() == COLOURS["relational"]
    assert truth.get_ydata().tolist() == [0.4, 0.5, 0.6, 0.7]
    assert observed.get_ydata() == pytest.approx([0.5, 0.6])
    band = next(part for part in ax.collections if part is not scatter)
    corners = band.get_paths()[0].vertices
    assert {round(y, 4) for at, y in corners if at == 4} == {-1.2, 9.2}
    assert bar.get_ylabel() == "estimate from point $i$"
    with pytest.raises(WrongUse, match="the truth has 3 points, the curve and its steps 4"):
        figures.cloud(found, truth=[1.0, 2.0, 3.0])


# ------------------------------------------------------------------------------------------ measuring


def row(model, kind, runs=(), paper=None, error=None, bounds=None, diverged=0):
    own = {"model": model, "class": kind, "runs": list(runs), "paper": paper, "error": error}
    return own | {"bounds": bounds or {}, "diverged": diverged}


def test_runs_stand_beside_the_paper_and_the_bounds():
    rows = [
        row("one_d", "lin", [0.1, 0.2, 0.3], 0.109, 0.005, {"a": 0.002}),
        row("relational", "lin", [], 0.073, 0.02, {"a": 0.002}),
        row("one_d", "rbf", [1.0], None, None, {"a": 0.7, "b": 0.8}),
        row("relational", "rbf", [], diverged=2),
    ]
    fig = figures.runs(rows)
    lin, rbf = fig.axes
    assert (lin.get_title(), rbf.get_title(), lin.get_yscale()) == ("lines", "RBF curves", "log")
    assert (lin.get_ylabel(), rbf.get_ylabel()) == ("mean squared error", "")
    assert ticks(lin.xaxis) == ["1d", "relational"]
    (ours,) = of_colour(lin, COLOURS["one_d"])
    assert ours.get_ydata().tolist() == [0.1, 0.2, 0.3]
    segments = [segment.tolist() for part in lin.collections for segment in part.get_segments()]
    assert segments[0][0][1] == pytest.approx(0.2)  # our mean
    assert [[0.42, pytest.approx(0.104)], [0.42, pytest.approx(0.114)]] in segments
    assert [[1.42, pytest.approx(0.053)], [1.42, pytest.approx(0.093)]] in segments
    diamonds = [dots(line)[0] for line in lin.lines if line.get_marker() == "D"]
    assert diamonds == [[0.42, 0.109], [1.42, 0.073]]
    assert not [line for line in rbf.lines if line.get_marker() == "D"]
    level = {ax: {line.get_ydata()[0]: line.get_linestyle() for line in ax.lines[-2:]} for ax in (lin, rbf)}
    assert level[lin][0.002] == level[rbf][0.7] == "-"
    assert level[rbf][0.8] == "--"
    assert (texts(lin), texts(rbf)) == (["not run"], ["2 diverged"])
    assert legend(fig) == ["our runs, their mean", "paper: mean, SE", "a", "b"]


def test_runs_without_any_runs_or_rows():
    fig = figures.runs([row("one_d", "all")], "SD", logarithmic=False)
    assert texts(fig.axes[0]) == ["not run"]
    assert (fig.axes[0].get_yscale(), fig.axes[0].get_ylabel()) == ("linear", "SD")
    assert legend(fig) == ["our runs, their mean"]
    many = {str(number): 0.1 * (number + 1) for number in range(6)}
    lines = figures.runs([row("one_d", "all", bounds=many)]).axes[0].lines
    assert len({(line.get_linestyle(), line.get_color()) for line in lines}) == 6
    with pytest.raises(WrongUse, match="at least one row"):
        figures.runs([])


def test_errors_step_by_step():
    errors = {"one_d": {"lin": [0.1, 0.2], "rbf": [1.0, 2.0]}, "zero": {"lin": [0.5, 0.6]}}
    fig = figures.by_step(errors)
    lin, rbf = fig.axes
    assert dots(of_colour(lin, COLOURS["one_d"])[0]) == [[1, 0.1], [2, 0.2]]
    assert of_colour(lin, OTHERS[0])[0].get_ydata().tolist() == [0.5, 0.6]
    assert len(rbf.lines) == 1
    assert (lin.get_xlabel(), lin.get_yscale(), legend(fig)) == ("step", "log", ["1d", "zero"])
    with pytest.raises(WrongUse, match="at least one predictor"):
        figures.by_step({})


def test_calibration_beside_a_calibrated_normal():
    spread, error = torch.tensor([0.1, 0.4]), torch.tensor([0.2, 0.3])
    bins = {"lin": Bins(spread, error, torch.tensor([3, 3]))}
    cover = Coverage((1, 2), {"lin": torch.tensor([[50.0, 60.0], [80.0, 90.0]])})
    fig = figures.calibration(bins, cover)
    left, right = fig.axes
    ours, normal = left.lines
    assert ours.get_xdata() == pytest.approx(spread.numpy())
    assert ours.get_ydata() == pytest.approx(error.numpy())
    assert normal.get_xdata() == pytest.approx([0.1, 0.4])
    assert normal.get_ydata() == pytest.approx([0.1 * MEAN_ERROR, 0.4 * MEAN_ERROR])
    one, two, low, high = right.lines
    assert dots(one) == [[1, 50], [2, 60]]
    assert dots(two) == [[1, 80], [2, 90]]
    assert (one.get_linestyle(), two.get_linestyle()) == ("-", "--")
    assert [line.get_ydata()[0] for line in (low, high)] == [control(1), control(2)]
    assert texts(right) == ["1 SD (solid)", "2 SD (dashed)"]
    assert one.get_color() == ours.get_color() == figures.KIND_COLOURS["lin"]
    assert legend(fig) == ["lines", "calibrated normal"]
    with pytest.raises(WrongUse, match="at least one class"):
        figures.calibration({}, cover)


def test_measures_over_training():
    first = Course([100, 1000], {"lin": [10.0, 20.0], "sine": [30.0, 40.0]})
    second = Course([100], {"lin": [11.0], "sine": [31.0]})
    fig = figures.over_training({"relational": [first, second]}, "covered (%)", controls=[68.3])
    lin, sine = fig.axes
    assert dots(lin.lines[0]) == [[100, 10], [1000, 20]]
    assert dots(lin.lines[1]) == [[100, 11]]
    assert dots(sine.lines[0]) == [[100, 30], [1000, 40]]
    assert lin.lines[2].get_ydata() == [68.3, 68.3]
    assert (sine.get_title(), lin.get_xlabel(), lin.get_ylabel()) == ("sinusoids", "update", "covered (%)")
    assert (lin.get_xscale(), lin.get_yscale(), legend(fig)) == ("log", "linear", ["relational (2 runs)"])
    window = Course([100], {"window": [9.0]})
    alone = figures.over_training({"one_d_window": [window]}, "$ab$", logarithmic=True)
    assert (alone.axes[0].get_title(), alone.axes[0].get_yscale()) == ("", "log")
    assert legend(alone) == ["1d, window (1 run)"]
    with pytest.raises(WrongUse, match="measure different things"):
        figures.over_training({"relational": [first, window]}, "")
    with pytest.raises(WrongUse, match="at least one course"):
        figures.over_training({"relational": []}, "")


# ------------------------------------------------------------------------------------------ size


def everything():
    kinds = ("all", *KINDS)
    estimates = torch.rand(10, 29)
    return [
        figures.examples(curves(points=30), 2),
        figures.differences([float(y) for y in range(20)]),
        figures.token_sets(),
        figures.two_networks(),
        figures.masks(6),
        figures.attention(Attended(5, torch.rand(20, 21))),
        figures.continuations(torch.zeros(6, 20), {"one_d": torch.ones(6, 10)}),
        figures.cloud(Ensemble(torch.zeros(20), estimates, estimates[:, 0], estimates[:, 1])),
        figures.runs([row(model, kind, [0.1, 0.2]) for model in MODELS for kind in kinds]),
        figures.by_step({"one_d": {kind: [0.1, 0.2] for kind in KINDS}}),
    ]


def test_figures_fit_the_page():
    for fig in everything():
        width, height = fig.get_size_inches() * DPI
        assert 2 * DPI < width < PAGE
        assert height < PAGE
        assert not fig.get_suptitle()


def test_attention_and_clouds_go_into_a_slider():
    estimates = torch.rand(10, 29)
    cloud = Ensemble(torch.zeros(20), estimates, estimates[:, 0], estimates[:, 1])
    for fig in (figures.cloud(cloud, [0.0] * 30), figures.attention(Attended(5, torch.rand(20, 21)))):
        assert len(png(fig)) < FRAME_BYTES
