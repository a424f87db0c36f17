"""The protocol's rules: scores, contrasts, verdict and the choice of learning rates, on numbers made up here."""

import math
import runpy

import numpy as np
import pytest
import torch

from mini_lib.grid.runs import models_for
from mini_lib.hashing import run_key
from mini_lib.reproduction import Records
from mini_lib.reproduction.grid import cells, contrasts, rates
from mini_lib.reproduction.grid.cells import CELLS, TASKS, TUNING, chosen_rates, declare, twins_of
from mini_lib.reproduction.grid.contrasts import (
    BOTTLENECKS,
    FAMILIES,
    LEARNING,
    SYMMETRY,
    Interval,
    Scored,
    anchors,
    by_architecture,
    by_family,
    decided,
    fitted_curve,
    interval,
    paired,
    score,
    scored,
    scores,
    verdict,
)
from reproduction.samples import record

EVERY_RATE = {name: {twins_of(model): 1e-3 for model in task.runs} for name, task in TASKS.items()}


def test_scores_run_from_the_floor_to_the_ceiling():
    assert score("d3, m=95", "new", {"new": 25.0}) == 0
    assert score("rmts, m=95", "new", {"new": 75.0}) == 0.5
    assert score("commands", "jump", {"jump": 100.0}) == 1
    for fitted, expected in ((0, 0.0), (1, 1.0)):
        metrics = {f"slowed_{kind}": pair[fitted] for kind, pair in anchors()["slowed"].items()}
        assert score("curves", "slowed", metrics) == pytest.approx(expected)


def test_a_fitted_curve_is_a_line_or_a_sine_and_nobody_tells_which():
    x = torch.arange(1.0, 23.0)
    curves = torch.stack([0.7 + 1.1 * torch.sin(2 * math.pi * x / 7.3 + 0.4), 0.2 - 0.05 * x])
    noisy = curves[:, :12] + 0.01 * torch.randn(2, 12, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(fitted_curve(noisy), curves[:, 12:].double(), rtol=0, atol=0.1)


def run(diverged=False, **metrics):
    return {"diverged": diverged, "metrics": metrics}


def test_a_run_that_diverged_has_learned_nothing_and_stays():
    assert scored("match", run(diverged=True)) == (0.0, 0.0, False)
    assert scored("match", run(familiar=100.0, new=12.5)) == (1.0, 0.0, True)
    familiar, new, learned = scored("name", run(familiar=100 / 15))
    assert (familiar, learned) == (0.0, False)
    assert math.isnan(new)


def test_whether_a_network_learned_is_told_by_its_training_problems():
    found = scored("rmts, m=95", run(training=100.0, familiar=50.0, new=50.0))
    assert found == (0.0, 0.0, True)  # by heart
    assert not scored("rmts, m=95", run(training=60.0, familiar=60.0, new=60.0)).learned


def test_new_commands_are_those_with_either_verb():
    found = scored("commands", run(training=100.0, familiar=100.0, jump=80.0, dax=40.0))
    assert found.new == pytest.approx(0.6)


def made_up(bottleneck=0.8, open_=0.5, seeds=5, learned=True):
    """Scores in which every network with a bottleneck is better by the same, give or take a little."""
    found = {}
    for tasks, pairs in (*FAMILIES.values(), (("normalised curves",), FAMILIES["curves"][1])):
        for task in tasks:
            for one, other in pairs:
                for name, new in ((one, bottleneck), (other, open_)):
                    runs = {
                        seed: Scored(1.0, new + 0.01 * (seed % 3), learned) for seed in range(1, seeds + 1)
                    }
                    found[task, name] = runs
    return found


def test_runs_are_paired_by_seed_and_averaged_over_tasks_and_twins():
    found = {
        ("a", "closed"): {1: Scored(1.0, 0.9, True), 2: Scored(1.0, 0.8, True), 3: Scored(1.0, 1.0, True)},
        ("a", "open"): {1: Scored(1.0, 0.5, True), 2: Scored(0.8, 0.7, False)},
        ("b", "closed"): {1: Scored(1.0, 1.0, True), 2: Scored(1.0, 1.0, True)},
        ("b", "open"): {1: Scored(1.0, 0.0, True), 2: Scored(1.0, 1.0, True)},
    }
    pair = (("closed", "open"),)
    assert paired(found, ("a",), pair) == pytest.approx([0.4, 0.1])
    assert paired(found, ("a", "b"), pair) == pytest.approx([0.7, 0.05])
    assert paired(found, ("a", "b"), pair, only_learned=True) == pytest.approx([0.7, 0.0])
    assert paired(found, ("a",), pair, only_learned=True) == pytest.approx([0.4])
    assert paired(found, ("a", "c"), pair) == []


def test_an_interval_is_students():
    values = [0.1, 0.2, 0.3, 0.4, 0.5]
    found = interval(values)
    half = 2.776 * np.std(values, ddof=1) / 5**0.5
    assert (found.mean, found.low, found.high) == pytest.approx((0.3, 0.3 - half, 0.3 + half), abs=1e-3)
    assert interval([0.3, 0.2]) is None


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.2, 0.5, "helps"),
        (-0.5, -0.2, "harms"),
        (-0.05, 0.05, "none"),
        (-0.2, 0.5, "undecided"),
        (0.05, 0.3, "undecided"),
    ],
)
def test_a_contrast_is_decided_by_its_interval(low, high, word):
    assert decided(Interval(0, low, high, 5)) == word


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["helps"] * 3 + ["harms"], "for"),
        (["helps"] * 2 + ["undecided"] * 2, "undecided"),
        (["none", "none", "harms", "helps"], "against"),
        (["helps", "helps", "none", "undecided"], "mixed"),
        (["helps"] * 3 + ["not run"], "not run"),
    ],
)
def test_the_verdict_counts_families(words, expected):
    assert verdict(dict(zip(FAMILIES, words, strict=True))) == expected


def test_a_family_is_decided_where_all_runs_and_those_that_learned_agree():
    assert set(by_family(made_up()).values()) == {"helps"}
    assert set(by_family({}).values()) == {"not run"}
    odd = made_up()
    odd["normalised curves", "differences"] = odd["normalised curves", "differences, open"]
    assert by_family(odd)["curves"] == "undecided"
    nobody = made_up(learned=False)
    assert set(by_family(nobody).values()) == {"undecided"}
    assert verdict(by_family(nobody)) == "undecided"
    two_seeds = made_up() | {("match", name): {} for pair in BOTTLENECKS for name in pair}
    assert by_family(two_seeds)["match"] == "not run"
    del odd["normalised curves", "differences"]
    assert by_family(odd)["curves"] == "not run"


def test_a_contrast_is_shown_for_each_architecture_by_itself():
    found = made_up()
    for seed in found["match", "corelnet fixed"]:
        found["match", "corelnet fixed"][seed] = Scored(1.0, 0.5 + 0.01 * (seed % 3), seed < 3)
    by_kind = by_architecture(found, ("match",), BOTTLENECKS)
    assert {name: each.mean for name, each in by_kind.items()} == pytest.approx(
        {"both": 0.25, "Abstractor": 0.3, "CoRelNet": 0.2}
    )
    learned = by_architecture(found, ("match",), BOTTLENECKS, only_learned=True)
    # seeds 1 and 2 as above; in the others two pairs of three count, and both bring .3
    assert learned["CoRelNet"].mean == pytest.approx((2 * 0.2 + 3 * 0.3) / 5)


def test_twins_are_mechanisms_of_their_tasks():
    for names, pairs in FAMILIES.values():
        for task in names:
            assert {name for pair in pairs for name in pair} <= {*TASKS[task].runs}
    assert len(BOTTLENECKS) == 6
    assert len(LEARNING) == len(SYMMETRY) == 4


def test_every_mechanism_of_a_task_is_one_of_its_own():
    for task in TASKS.values():
        assert {*task.runs} <= {*models_for(task.settings["task"])}


def kept_record(cell, seed, **metrics):
    own = {"settings": cell.settings, "hash": cell.hash, "key": run_key(cell.settings, seed)}
    return record(seed) | own | {"metrics": metrics}


def test_scores_are_those_of_the_declared_seeds(tmp_path, monkeypatch):
    cells = [cell for cell in declare(EVERY_RATE) if cell.table == "grid.match" and cell.row == "esbn"]
    monkeypatch.setattr(contrasts, "CELLS", cells)
    store = Records(tmp_path)
    for seed in (1, 2, 6):  # of five that are declared
        store.add(kept_record(cells[0], seed, familiar=100.0, new=56.25), "grid.match")
    assert scores(store) == {("match", "esbn"): {1: (1.0, 0.5, True), 2: (1.0, 0.5, True)}}


def test_one_rate_is_chosen_for_twins_on_familiar_content(tmp_path, monkeypatch):
    """The two differ: one alone would take another rate."""
    models = ("differences", "differences, open")
    cells = [cell for cell in declare({}) if cell.row in models and cell.column.startswith("match")]
    assert len(cells) == 6
    monkeypatch.setattr(rates, "CELLS", cells)
    store = Records(tmp_path)
    losses = {"0.0003": (0.9, 0.1), "0.001": (0.4, 0.3), "0.003": (0.1, 0.8)}
    for cell in cells:
        for seed in (1, 2):
            assert rates.choose_rates(store) == {}
            loss = losses[cell.column.rpartition(", ")[2]][models.index(cell.row)]
            store.add(kept_record(cell, seed, familiar_loss=loss, new=100 * loss), TUNING)
    assert rates.choose_rates(store) == {"match": {"differences, twins": 1e-3}}


def test_a_rate_with_which_a_run_diverged_is_out(tmp_path, monkeypatch):
    cells = [cell for cell in declare({}) if cell.row == "lstm" and cell.column.startswith("match")]
    monkeypatch.setattr(rates, "CELLS", cells)
    store = Records(tmp_path)
    for number, cell in enumerate(cells):
        for seed in (1, 2):
            diverged = number == 0 and seed == 2
            store.add(kept_record(cell, seed, familiar_loss=float(number)) | {"diverged": diverged}, TUNING)
    assert rates.choose_rates(store) == {"match": {"lstm": 1e-3}}
    monkeypatch.setattr(rates, "CELLS", cells[:1])
    with pytest.raises(ValueError, match="lstm diverged with every learning rate on match"):
        rates.choose_rates(store)


def test_the_rates_in_use_are_those_that_the_rule_chooses_from_the_records(tmp_path, monkeypatch):
    assert chosen_rates() == rates.choose_rates(Records())
    in_use = rates.CHOSEN_RATES.read_text()
    monkeypatch.setattr(cells, "CHOSEN_RATES", tmp_path / "rates.json")
    runpy.run_path(rates.__file__, run_name="__main__")
    assert (tmp_path / "rates.json").read_text() == in_use


def test_runs_that_count_are_declared_with_the_rates_that_were_chosen():
    declared = [cell for cell in declare({"match": {"lstm": 3e-3}}) if cell.table != TUNING]
    assert {(cell.table, cell.row) for cell in declared} == {("grid.match", "lstm"), ("grid.name", "lstm")}
    assert {cell.settings["lr"] for cell in declared} == {3e-3}
    everything = declare(EVERY_RATE)
    assert {cell.table for cell in everything} == {
        *("grid.tuning", "grid.distribution_of_three", "grid.rmts", "grid.match", "grid.name"),
        *("grid.curves", "grid.commands"),
    }
    assert all("seeds_after" in cell.settings for cell in CELLS if cell.table == TUNING)


def test_curves_can_be_scored_by_one_kind_alone():
    (last, fitted), (last_sine, _) = anchors()["slowed"].values()
    metrics = {"slowed_lin": fitted, "slowed_sine": last_sine}
    assert score("curves", "slowed", metrics) == pytest.approx(0.5)
    assert score("curves", "slowed", metrics, kinds=("sine",)) == pytest.approx(0)
    assert score("curves", "slowed", metrics | {"slowed_lin": last}, kinds=("lin",)) == pytest.approx(0)
    assert math.log(last / fitted) < 0.1
