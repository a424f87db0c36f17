"""What is measured of runs: calibration of uncertainty, courses of training and rows of the tables' records."""

import pytest
import torch

from functions.helpers import network
from mini_lib.errors import UsageError
from mini_lib.functions import analysis
from mini_lib.functions.analysis.calibration import in_bins
from mini_lib.functions.bounds import Score
from mini_lib.functions.evaluation import covered
from mini_lib.functions.extrapolation import Extrapolation, extrapolate
from mini_lib.functions.models import MODELS
from mini_lib.functions.runs import paper_settings, tutorial_settings
from mini_lib.functions.tasks import KINDS, Curves
from mini_lib.reproduction import Records, settings_hash
from mini_lib.reproduction.functions.cells import COLUMNS, ROWS
from mini_lib.seeding import torch_rng
from mini_lib.settings import run_key

# ------------------------------------------------------------------------------------------------ calibration


def made(point, spread, members=4):
    point, spread = torch.tensor(point), torch.tensor(spread)
    return Extrapolation(point, spread, [torch.zeros(len(point), members)] * point.shape[1])


def curves_of(y, kinds):
    y = torch.tensor(y)
    return Curves(torch.zeros_like(y), y, torch.tensor(kinds))


def test_coverage_counts_observations_within_deviations():
    found = made([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]], [[1.0, 1.0], [0.1, 0.1], [0.5, 0.0]])
    # three observed points come first; misses are 0.9, 1.5; 0.15, 0; 1.2, 0.1
    curves = curves_of([[9.0] * 3 + [0.9, -1.5], [9.0] * 3 + [0.15, 1.0], [9.0] * 3 + [3.2, 0.1]], [0, 2, 2])
    cover = analysis.coverage(found, curves)
    assert cover.deviations == (1, 2)
    assert cover.by_step["lin"].tolist() == [[100, 0], [100, 100]]
    assert cover.by_step["sine"].tolist() == [[0, 50], [50, 50]]
    assert cover.by_kind == {"lin": [50, 100], "sine": [25, 50]}
    wide = analysis.coverage(found, curves, [3])
    assert wide.by_step["sine"].tolist() == [[100, 50]]


def test_a_calibrated_normal_is_covered_as_the_control_says():
    assert analysis.normal_coverage(1) == pytest.approx(68.27, abs=0.005)
    assert analysis.normal_coverage(2) == pytest.approx(95.45, abs=0.005)
    generator = torch_rng(0, "calibrated")
    spread = torch.rand(4000, 5, generator=generator) + 0.1
    y = spread * torch.randn(4000, 5, generator=generator)
    found = Extrapolation(torch.zeros_like(y), spread, [torch.zeros(4000, 2)])
    curves = Curves(torch.zeros(4000, 8), torch.cat([torch.zeros(4000, 3), y], 1), torch.ones(4000).long())
    one, two = analysis.coverage(found, curves).by_kind["rbf"]
    assert one == pytest.approx(68.27, abs=1)
    assert two == pytest.approx(95.45, abs=0.5)
    bins = analysis.error_by_spread(found, curves, bins=5)["rbf"]
    torch.testing.assert_close(bins.error, analysis.MEAN_ERROR * bins.spread, rtol=0.05, atol=0)


def test_bins_hold_equal_counts_of_every_step_from_the_least_spread_up():
    spread = torch.tensor([[4.0, 1.0], [2.0, 6.0], [9.0, 5.0]])
    found = in_bins(spread, 10 * spread + torch.tensor([[0.0, 60.0], [0.0, 0.0], [0.0, 0.0]]), 3)
    assert found.spread.tolist() == [1.5, 4.5, 7.5]
    assert found.error.tolist() == [45.0, 45.0, 75.0]
    assert found.counts.tolist() == [2, 2, 2]
    assert in_bins(spread, spread, 2).counts.tolist() == [4, 2]
    with pytest.raises(UsageError, match="3 curves make 1 to 3 bins, got 4"):
        in_bins(spread, spread, 4)


def test_errors_by_spread_are_against_observations_by_class():
    found = made([[0.0], [0.0], [1.0], [1.0]], [[2.0], [1.0], [3.0], [4.0]])
    curves = curves_of([[9.0, 0.5], [9.0, -0.25], [9.0, 3.0], [9.0, 1.0]], [1, 1, 2, 2])
    bins = analysis.error_by_spread(found, curves, bins=2)
    assert set(bins) == {"rbf", "sine"}
    assert bins["rbf"].spread.tolist() == [1, 2]
    assert bins["rbf"].error.tolist() == [0.25, 0.5]
    assert bins["sine"].error.tolist() == [2, 0]


def test_ranks_are_compared_within_each_step():
    """Both grow from the first step to the second, but within a step the larger spread has the smaller error."""
    found = made([[0.0, 0.0]] * 3, [[1.0, 11.0], [2.0, 12.0], [3.0, 13.0]])
    curves = curves_of([[9.0, 3.0, 30.0], [9.0, 2.0, 20.0], [9.0, 1.0, 10.0]], [2, 2, 2])
    assert analysis.rank_within_steps(found, curves) == {"sine": pytest.approx(-1)}
    curves = curves_of([[9.0, 1.0, 30.0], [9.0, 2.0, 20.0], [9.0, 3.0, 10.0]], [2, 2, 2])
    assert analysis.rank_within_steps(found, curves) == {"sine": pytest.approx(0)}


def test_what_cannot_be_calibrated_says_so():
    found, curves = made([[0.0]], [[1.0]]), curves_of([[0.0, 1.0]], [0])
    with pytest.raises(UsageError, match="do not belong to 2 curves"):
        analysis.coverage(found, curves_of([[0.0, 1.0]] * 2, [0, 0]))
    with pytest.raises(UsageError, match="do not belong to 1 curves of 1 points"):
        analysis.error_by_spread(found, curves_of([[0.0]], [0]))
    with pytest.raises(UsageError, match="one estimate has no spread"):
        analysis.coverage(made([[0.0]], [[1.0]], members=1), curves)
    for deviations in ((), (1, 0)):
        with pytest.raises(UsageError, match="deviations have to be whole numbers from 1"):
            analysis.coverage(found, curves, deviations)


def test_coverage_of_a_network_is_that_of_its_evaluation():
    model, y = network("relational"), torch.randn(6, 9, generator=torch_rng(0, "y"))
    curves = Curves(y, y, torch.tensor([0, 0, 1, 1, 2, 2]))
    found = extrapolate(model, y[:, :5], steps=4)
    cover = analysis.coverage(found, curves)
    expected = 100 * covered(found, y[:, 5:], 2)[2:4].float().mean().item()
    assert cover.by_kind["rbf"][1] == pytest.approx(expected)


# ---------------------------------------------------------------------------------------------------- records


def record(model, seed=1, scale="paper", diverged=False, checks=(), value=0.5, **changes):
    settings = {"paper": paper_settings, "tutorial": tutorial_settings}[scale](model, **changes).to_dict()
    names = [f"{measure}_{kind}" for measure in ("mse", "spread") for kind in (*COLUMNS, "even")]
    metrics = {} if diverged else {name: value + place for place, name in enumerate(names)}
    if "window" in model and not diverged:
        metrics["window"] = 7.5
    curve = {"update": [1], "loss": [1.0], "score": [1.0]}
    return {
        **{
            "key": run_key(settings, seed),
            "hash": settings_hash(settings),
            "seed": seed,
            "paper": "functions",
        },
        **{"settings": settings, "scale": scale, "data": "drawn", "metrics": metrics, "diverged": diverged},
        **{"curve": curve, "updates": 10_000, "checks": list(checks)},
    }


def check(epoch, **metrics):
    return {
        "epoch": epoch,
        **{f"spread_{kind}": epoch + place for place, kind in enumerate(KINDS)},
        **metrics,
    }


def test_a_course_is_read_from_the_checks_of_a_record():
    run = record("relational_window", checks=[check(1, window=9.0), check(10, window=8.0)])
    found = analysis.course(run, "spread")
    assert found.updates == [100, 1000]
    assert found.values == {"lin": [1, 10], "rbf": [2, 11], "sine": [3, 12]}
    assert analysis.course(run, "window").values == {"window": [9.0, 8.0]}
    with pytest.raises(
        UsageError, match=r"unknown measure 'spred'; did you mean 'spread'. known: spread, window"
    ):
        analysis.course(run, "spred")
    with pytest.raises(UsageError, match="one test, at the end"):
        analysis.course(record("one_d"), "mse")


@pytest.fixture
def records(tmp_path):
    kept = Records(tmp_path)
    for run in (
        record("one_d", seed=2, value=0.2),
        record("one_d", seed=1, value=0.1),
        record("one_d", seed=3, diverged=True),
        record("one_d", seed=1, scale="tutorial", value=5.0),
        record("relational", value=0.3),
        record("relational", value=0.7, noise=0.2),  # another reading, which fills no row
        record("relational", seed=9, value=0.9) | {"scale": "tutorial"},  # nor does a run of another scale
    ):
        kept.add(run, "functions.table1")
    return kept


def test_rows_hold_every_run_beside_the_paper_and_the_bounds(records):
    bounds = {"best": {"lin": Score(0.002, 0.1), "rbf": 0.702}, "zero": {"lin": 2.2, "all": 1.3}}
    found = analysis.rows(records, bounds=bounds)
    assert [(row["model"], row["class"]) for row in found] == [(m, c) for m in MODELS for c in COLUMNS]
    row = found[1]
    assert row == {
        **{"model": "one_d", "class": "lin", "name": "1d transformer", "seeds": [1, 2], "diverged": 1},
        **{"runs": [1.1, 1.2], "mean": pytest.approx(1.15), "sem": None, "paper": 0.109, "error": 0.005},
        **{"verdict": "differs", "bounds": {"best": 0.002, "zero": 2.2}},
    }
    assert found[2]["bounds"] == {"best": 0.702}
    by_place = {(row["model"], row["class"]): row for row in found}
    assert by_place["relational", "all"]["runs"] == [0.3]
    empty = by_place["relational_window", "rbf"]
    assert (empty["runs"], empty["mean"], empty["verdict"], empty["paper"]) == ([], None, "not run", 1.063)


def test_rows_of_the_tutorial_and_of_uncertainty(records):
    small = analysis.rows(records, scale="tutorial", columns=("rbf", "even"))
    assert [row["runs"] for row in small[:2]] == [[7.0], [9.0]]
    assert (small[1]["paper"], small[1]["verdict"]) == (None, "not printed")
    spread = analysis.rows(records, "spread", columns=("lin",))
    assert [row["name"] for row in spread] == [ROWS["relational"], ROWS["relational_window"]]
    assert (spread[0]["runs"], spread[0]["paper"], spread[0]["error"]) == ([6.3], 0.068, 0.015)
    assert analysis.printed_optimum() == {"optimal": {"lin": 0.1, "rbf": 0.802, "sine": 0.1}}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"measure": "msee"}, "unknown measure 'msee'; did you mean 'mse'"),
        ({"scale": "papers"}, "unknown scale 'papers'; did you mean 'paper'"),
        ({"columns": ["lin", "sin"]}, "unknown class of curves 'sin'"),
    ],
)
def test_rows_of_what_is_not_there(records, wrong, words):
    with pytest.raises(UsageError, match=words):
        analysis.rows(records, **wrong)


def test_errors_step_by_step_are_against_the_function():
    curves = Curves(torch.tensor([[9.0, 1.0, 2.0], [9.0, 0.0, 0.0]]), torch.zeros(2, 3), torch.tensor([0, 0]))
    point = torch.tensor([[2.0, 2.0], [1.0, -3.0]])
    assert analysis.by_step(point, curves) == {"lin": [1.0, 4.5]}
    with pytest.raises(UsageError, match="2 predictions of 3 points do not belong"):
        analysis.by_step(torch.zeros(2, 3), curves)


def test_the_place_of_the_readers_network_among_the_runs(records):
    for seed, value in ((1, 0.5), (2, 0.4), (3, 0.9)):
        records.add(record("one_d_window", seed=seed, scale="tutorial", value=value), "functions.table1")
    assert analysis.place_of_first(records, "one_d_window", "lin") == (2, 3)
    with pytest.raises(UsageError, match="unknown model 'one'"):
        analysis.place_of_first(records, "one")
