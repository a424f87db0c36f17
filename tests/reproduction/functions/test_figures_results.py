"""Every value that a figure of results draws is the value that it was given."""

import pytest
import torch

from mini_lib.errors import UsageError
from mini_lib.functions.analysis import MEAN_ERROR, Bins, Coverage, Ensemble, MetricHistory
from mini_lib.functions.analysis import normal_coverage as control
from mini_lib.reproduction.functions import figures
from mini_lib.reproduction.functions.figures import MODEL_COLOURS as COLOURS
from mini_lib.reproduction.functions.figures.looks import OTHERS
from reproduction.functions.helpers import dots, legend, of_colour, texts, ticks

pytestmark = pytest.mark.usefixtures("headless")


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
    with pytest.raises(UsageError, match=words):
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
    with pytest.raises(UsageError, match="the truth has 3 points, the curve and its steps 4"):
        figures.cloud(found, truth=[1.0, 2.0, 3.0])


# ---------------------------------------------------------------------------------------------- measuring


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


def test_errors_step_by_step():
    errors = {"one_d": {"lin": [0.1, 0.2], "rbf": [1.0, 2.0]}, "zero": {"lin": [0.5, 0.6]}}
    fig = figures.by_step(errors)
    lin, rbf = fig.axes
    assert dots(of_colour(lin, COLOURS["one_d"])[0]) == [[1, 0.1], [2, 0.2]]
    assert of_colour(lin, OTHERS[0])[0].get_ydata().tolist() == [0.5, 0.6]
    assert len(rbf.lines) == 1
    assert (lin.get_xlabel(), lin.get_yscale(), legend(fig)) == ("step", "log", ["1d", "zero"])
    with pytest.raises(UsageError, match="at least one predictor"):
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
    with pytest.raises(UsageError, match="at least one class"):
        figures.calibration({}, cover)


def test_measures_over_training():
    first = MetricHistory([100, 1000], {"lin": [10.0, 20.0], "sine": [30.0, 40.0]})
    second = MetricHistory([100], {"lin": [11.0], "sine": [31.0]})
    fig = figures.over_training({"relational": [first, second]}, "covered (%)", controls=[68.3])
    lin, sine = fig.axes
    assert dots(lin.lines[0]) == [[100, 10], [1000, 20]]
    assert dots(lin.lines[1]) == [[100, 11]]
    assert dots(sine.lines[0]) == [[100, 30], [1000, 40]]
    assert lin.lines[2].get_ydata() == [68.3, 68.3]
    assert (sine.get_title(), lin.get_xlabel(), lin.get_ylabel()) == ("sinusoids", "update", "covered (%)")
    assert (lin.get_xscale(), lin.get_yscale(), legend(fig)) == ("log", "linear", ["relational (2 runs)"])
    window = MetricHistory([100], {"window": [9.0]})
    alone = figures.over_training({"one_d_window": [window]}, "$ab$", logarithmic=True)
    assert (alone.axes[0].get_title(), alone.axes[0].get_yscale()) == ("", "log")
    assert legend(alone) == ["1d, window (1 run)"]
    with pytest.raises(UsageError, match="measure different things"):
        figures.over_training({"relational": [first, window]}, "")
    with pytest.raises(UsageError, match="at least one history"):
        figures.over_training({"relational": []}, "")
