"""What is measured inside the networks, on ensembles, attention and records made by hand."""

import math

import pytest
import torch

from mini_lib.errors import Damaged, WrongUse
from mini_lib.functions import analysis
from mini_lib.functions.analysis.calibration import in_bins
from mini_lib.functions.bounds import Score
from mini_lib.functions.evaluation import covered
from mini_lib.functions.experiments import COLUMNS, ROWS, paper_settings, tutorial_settings
from mini_lib.functions.extrapolation import Extrapolation, extrapolate
from mini_lib.functions.models import MODELS, build_network
from mini_lib.functions.tasks import KINDS, Curves
from mini_lib.results import Records, settings_hash
from mini_lib.results.cells import run_key
from mini_lib.seeding import seeded, torch_rng
from mini_lib.weights import save_weights

CURVE = [0.1, 0.5, -0.2, 0.4, 0.9]


def network(name, **options):
    """A tiny untrained network; its weights are larger than at first, so that attention is not even."""
    with seeded(0, "test", name):
        model = build_network(name, **({"dim": 16, "layers": 2, "heads": 2, "scale": 0.05} | options))
        for key, parameter in model.named_parameters():
            if parameter.dim() > 1 and not key.startswith("window"):
                torch.nn.init.normal_(parameter, std=0.5)
    return model.eval()


# ------------------------------------------------------------------------------------------ readers' networks


@pytest.mark.parametrize("name", MODELS)
def test_a_readers_network_is_built_from_its_header(name, tmp_path):
    options = {"dim": 16, "layers": 2, "heads": 2, "scale": 0.05}
    model = network(name)
    settings = tutorial_settings(name, options=options).to_dict()
    save_weights(model, tmp_path / f"{name}.safetensors", settings=settings, seed=3)
    loaded, about = analysis.reader_network(name, tmp_path)
    assert about == {"settings": settings, "seed": 3}
    assert not loaded.training
    assert loaded.scale == 0.05
    for key, value in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[key], value.half().float()), key


def test_readers_networks_that_are_not_there(tmp_path):
    with pytest.raises(WrongUse, match="unknown model 'relationl'; did you mean 'relational'"):
        analysis.reader_network("relationl")
    with pytest.raises(FileNotFoundError, match=r"no weights at .*one_d\.safetensors"):
        analysis.reader_network("one_d", tmp_path)
    (tmp_path / "one_d.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(Damaged, match="damaged"):
        analysis.reader_network("one_d", tmp_path)


# ------------------------------------------------------------------------------------------ ensembles


def test_an_ensemble_is_one_estimate_for_every_earlier_point():
    model, y = network("relational"), torch.tensor(CURVE)
    found = analysis.ensemble(model, CURVE, steps=3)
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
    torch.testing.assert_close(found.members[1], found.estimates[:, 1])
    assert found.members.shape == (5, 3)
    assert found.deviations[2, 4].item() == pytest.approx(float(found.estimates[2, 4] - found.point[2]))


def test_a_sliding_ensemble_stands_where_its_points_are():
    model, y = network("relational_window"), torch.tensor(CURVE)
    found = analysis.ensemble(model, y[None], steps=3, context="sliding")
    assert found.estimates.isnan().sum(dim=1).tolist() == [2, 2, 2]
    last = torch.cat([y, found.point])[2:7]
    with torch.no_grad():
        torch.testing.assert_close(found.estimates[2, 2:], model(last[None])[0, :-1] + last)


def test_only_relational_networks_have_ensembles():
    with pytest.raises(WrongUse, match="several estimates of a point, this one is a OneDTransformer"):
        analysis.ensemble(network("one_d"), CURVE)
    with pytest.raises(WrongUse, match="at least 2 observed points"):
        analysis.ensemble(network("relational"), [1.0])
    with pytest.raises(WrongUse, match=r"shape \(2, 5\)"):
        analysis.ensemble(network("relational"), torch.zeros(2, 5))


# ------------------------------------------------------------------------------------------ calibration


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


def test_bins_hold_equal_counts_from_the_least_spread_up():
    spread = torch.tensor([[4.0, 1.0, 3.0], [2.0, 6.0, 5.0]])
    found = in_bins(spread, 10 * spread + torch.tensor([[0.0, 63.0, 0.0], [0.0, 0.0, 0.0]]), 3)
    assert found.spread.tolist() == [1.5, 3.5, 5.5]
    assert found.error.tolist() == [46.5, 35.0, 55.0]
    assert found.counts.tolist() == [2, 2, 2]
    assert in_bins(spread, spread, 4).counts.tolist() == [2, 2, 1, 1]
    with pytest.raises(WrongUse, match="6 predictions make 1 to 6 bins, got 7"):
        in_bins(spread, spread, 7)


def test_errors_by_spread_are_against_observations_by_class():
    found = made([[0.0, 0.0], [1.0, 1.0]], [[2.0, 1.0], [3.0, 4.0]])
    curves = curves_of([[9.0, 0.5, -0.25], [9.0, 3.0, 1.0]], [1, 2])
    bins = analysis.error_by_spread(found, curves, bins=2)
    assert set(bins) == {"rbf", "sine"}
    assert bins["rbf"].spread.tolist() == [1, 2]
    assert bins["rbf"].error.tolist() == [0.25, 0.5]
    assert bins["sine"].error.tolist() == [2, 0]


def test_what_cannot_be_calibrated_says_so():
    found, curves = made([[0.0]], [[1.0]]), curves_of([[0.0, 1.0]], [0])
    with pytest.raises(WrongUse, match="do not belong to 2 curves"):
        analysis.coverage(found, curves_of([[0.0, 1.0]] * 2, [0, 0]))
    with pytest.raises(WrongUse, match="do not belong to 1 curves of 1 points"):
        analysis.error_by_spread(found, curves_of([[0.0]], [0]))
    with pytest.raises(WrongUse, match="one estimate has no spread"):
        analysis.coverage(made([[0.0]], [[1.0]], members=1), curves)
    for deviations in ((), (1, 0)):
        with pytest.raises(WrongUse, match="deviations have to be whole numbers from 1"):
            analysis.coverage(found, curves, deviations)


def test_coverage_of_a_network_is_that_of_its_evaluation():
    model, y = network("relational"), torch.randn(6, 9, generator=torch_rng(0, "y"))
    curves = Curves(y, y, torch.tensor([0, 0, 1, 1, 2, 2]))
    found = extrapolate(model, y[:, :5], steps=4)
    cover = analysis.coverage(found, curves)
    expected = 100 * covered(found, y[:, 5:], 2)[2:4].float().mean().item()
    assert cover.by_kind["rbf"][1] == pytest.approx(expected)


# ------------------------------------------------------------------------------------------ records


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
        WrongUse, match=r"unknown measure 'spred'; did you mean 'spread'. known: spread, window"
    ):
        analysis.course(run, "spred")
    with pytest.raises(WrongUse, match="one test, at the end"):
        analysis.course(record("one_d"), "mse")


def test_windows_move_from_where_they_started():
    runs = [
        record("relational_window", checks=[check(1, window=9.0), check(100, window=8.0)]),
        record("one_d_window", seed=2, options={"length": 30.0}),
        record("one_d_window", diverged=True),
        record("one_d"),
    ]
    first, second = analysis.moved(runs)
    assert first == (1, 10.0, [100, 10_000], [9.0, 8.0])
    assert second == (2, 30.0, [10_000], [7.5])
    with pytest.raises(WrongUse, match="no finished run here has a window"):
        analysis.moved(runs[2:])


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
    with pytest.raises(WrongUse, match=words):
        analysis.rows(records, **wrong)


def test_errors_step_by_step_are_against_the_function():
    curves = Curves(torch.tensor([[9.0, 1.0, 2.0], [9.0, 0.0, 0.0]]), torch.zeros(2, 3), torch.tensor([0, 0]))
    point = torch.tensor([[2.0, 2.0], [1.0, -3.0]])
    assert analysis.by_step(point, curves) == {"lin": [1.0, 4.5]}
    with pytest.raises(WrongUse, match="2 predictions of 3 points do not belong"):
        analysis.by_step(torch.zeros(2, 3), curves)


# ------------------------------------------------------------------------------------------ windows


def test_the_fall_is_one_at_no_distance_and_about_a_half_at_a_b():
    model = network("relational_window", length=6.0)
    with torch.no_grad():
        model.window.log_a.fill_(math.log(4.0))
        model.window.log_b.fill_(math.log(3.0))
    found = analysis.fall(model, length=6.0, farthest=24.0, points=25)
    assert found.distance.tolist() == list(range(25))
    assert found.factor.shape == (1, 1, 25)
    factor = found.factor[0, 0]
    assert factor[0].item() == pytest.approx(1)
    assert factor[12].item() == pytest.approx((1 + math.exp(-4)) / 2, abs=1e-6)
    assert (factor.diff() < 0).all()
    assert found.length.item() == pytest.approx(12)
    assert found.start_length == 6.0
    assert found.start[0].item() == pytest.approx(1)
    assert found.start[6].item() == pytest.approx((1 + math.exp(-2)) / 2, abs=1e-6)


def test_windows_of_layers_and_heads_fall_apart():
    model = network("one_d_window", own_windows="both", length=5.0)
    with torch.no_grad():
        model.window.log_b[1, 0] += math.log(2)
    found = analysis.fall(model, length=5.0)
    assert found.factor.shape == (2, 2, 121)
    torch.testing.assert_close(found.length, torch.tensor([[5.0, 5.0], [10.0, 5.0]]))
    torch.testing.assert_close(found.factor[0, 1], found.start)
    assert (found.factor[1, 0, 1:] > found.start[1:]).all()
    with pytest.raises(WrongUse, match="this OneDTransformer has no window; give 'one_d_window' or"):
        analysis.fall(network("one_d"))
    with pytest.raises(WrongUse, match="two points and a distance above 0"):
        analysis.fall(model, points=1)


# ------------------------------------------------------------------------------------------ attention


@pytest.mark.parametrize("name", ["relational", "relational_window"])
def test_attention_over_the_matrix_sums_to_one_over_what_a_query_sees(name):
    model = network(name)
    for query in range(1, 6):
        found = analysis.over_matrix(model, CURVE, query)
        assert found.query == query
        assert found.weights.shape == (5, 6)
        for i in range(1, 6):
            for j in range(1, 7):
                weight = found.weights[i - 1, j - 1]
                assert weight.isnan() == (i >= j)
                if i < j:
                    assert (weight > 0) == (i <= query)
        assert found.weights.nansum().item() == pytest.approx(1, abs=1e-5)


def test_every_weight_lies_at_its_tokens_place():
    model, y = network("relational"), torch.tensor(CURVE)[None]
    with torch.no_grad():
        weights, tokens = model.attention(y)
    rows = {tuple(place): row for row, place in enumerate(tokens.places.int().tolist())}
    one = analysis.over_matrix(model, y, 3, layer=1, head=0).weights
    layer = analysis.over_matrix(model, y, 3, layer=1).weights
    head = analysis.over_matrix(model, y, 3, head=1).weights
    every = analysis.over_matrix(model, y, 3).weights
    for place in ((1, 2), (3, 5), (2, 6), (3, 6)):
        both = torch.stack([weights[number][0, :, rows[3, 6], rows[place]] for number in (0, 1)])
        i, j = place[0] - 1, place[1] - 1
        torch.testing.assert_close(one[i, j], both[1, 0])
        torch.testing.assert_close(layer[i, j], both[1].mean())
        torch.testing.assert_close(head[i, j], both[:, 1].mean())
        torch.testing.assert_close(every[i, j], both.mean())


def test_attention_over_observations_is_that_of_the_query():
    model, y = network("one_d_window"), torch.tensor(CURVE)[None]
    with torch.no_grad():
        weights, _ = model.attention(y)
    found = analysis.over_observations(model, CURVE, layer=0, head=1)
    torch.testing.assert_close(found, weights[0][0, 1, -1])
    assert found.shape == (6,)
    assert analysis.over_observations(model, CURVE).sum().item() == pytest.approx(1, abs=1e-5)


def test_attention_that_is_not_there():
    one_d, relational = network("one_d"), network("relational")
    for ask, words in (
        (
            lambda: analysis.over_matrix(one_d, CURVE, 1),
            "a matrix of differences to look at, this one is a OneD",
        ),
        (lambda: analysis.over_observations(relational, CURVE), "only a 1d network looks at observations"),
        (lambda: analysis.over_matrix(relational, CURVE, 6), "queries 1 to 5, got 6"),
        (lambda: analysis.over_matrix(relational, CURVE, 1, layer=2), "layer has to be from 0 to 1, got 2"),
        (lambda: analysis.over_observations(one_d, CURVE, head=-1), "head has to be from 0 to 1, got -1"),
        (lambda: analysis.by_distance(one_d, torch.zeros(0, 5)), "no curve to look at"),
        (lambda: analysis.by_distance(one_d, torch.zeros(1, 5), axis=1), "has 1 axes of places, got axis=1"),
    ):
        with pytest.raises(WrongUse, match=words):
            ask()


def test_by_distance_is_the_mean_over_curves_and_pairs():
    y = torch.randn(2, 5, generator=torch_rng(1, "y"))
    one_d = network("one_d")
    found = analysis.by_distance(one_d, y)
    assert found.distance.tolist() == [0, 1, 2, 3, 4, 5]
    mean = sum(analysis.over_observations(one_d, curve, layer=1, head=0) for curve in y) / 2
    torch.testing.assert_close(found.weights[1, 0], mean.flip(0))
    torch.testing.assert_close(found.even, torch.full((6,), 1 / 6))


@pytest.mark.parametrize("axis", [0, -1])
def test_by_distance_on_both_axes_of_the_matrix(axis):
    model, y = network("relational_window"), torch.randn(1, 4, generator=torch_rng(1, "y"))
    found = analysis.by_distance(model, y, axis)
    at, even = {}, {}
    for query in range(1, 5):
        weights = analysis.over_matrix(model, y, query, layer=0, head=1).weights
        seen = [(i, j) for i in range(1, query + 1) for j in range(i + 1, 6)]
        for i, j in seen:
            distance = abs(query - i) if axis == 0 else 5 - j
            at.setdefault(distance, []).append(weights[i - 1, j - 1].item())
            even.setdefault(distance, []).append(1 / len(seen))
    assert found.distance.tolist() == sorted(at)
    for place, distance in enumerate(found.distance.int().tolist()):
        assert found.weights[0, 1, place].item() == pytest.approx(sum(at[distance]) / len(at[distance]))
        assert found.even[place].item() == pytest.approx(sum(even[distance]) / len(even[distance]))


def test_a_narrow_window_makes_attention_fall():
    y = torch.randn(2, 6, generator=torch_rng(2, "y"))
    wide, narrow = (network("one_d_window", length=length) for length in (1e4, 1.0))
    even, steep = (analysis.by_distance(net, y).weights.mean(dim=(0, 1)) for net in (wide, narrow))
    assert steep[-1] < 0.05 * even[-1]
    assert steep[0] > even[0]
