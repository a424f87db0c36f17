"""The protocol's rules: scores, contrasts, verdict and the choice of learning rates, on numbers made up here."""

import math

import pytest
import torch

from mini_lib.grid.runs import TASKS, mechanisms
from mini_lib.reproduction import Records
from mini_lib.reproduction.grid import contrasts
from mini_lib.reproduction.grid.cells import CELLS, CHOSEN_RATES, TUNING, chosen_rates, rows_of
from mini_lib.reproduction.grid.contrasts import (
    FAMILIES,
    Interval,
    Scored,
    anchors,
    best_sine,
    holm,
    interval,
    paired,
    score,
)
from mini_lib.reproduction.grid.rates import choose_rates
from mini_lib.settings import run_key
from reproduction.samples import record


def test_scores_run_from_the_floor_to_the_ceiling():
    assert score("d3, m=95", "new", {"new": 25.0}) == 0
    assert score("rmts, m=95", "new", {"new": 75.0}) == 0.5
    assert score("commands", "jump", {"jump": 100.0}) == 1
    for best, expected in ((0, 0.0), (1, 1.0)):
        metrics = {f"lifted_{kind}": pair[best] for kind, pair in anchors()["lifted"].items()}
        assert score("curves", "lifted", metrics) == pytest.approx(expected)


def test_the_best_sine_is_found():
    x = torch.arange(1.0, 23.0)
    curve = 0.7 + 1.1 * torch.sin(2 * math.pi * x / 7.3 + 0.4)
    torch.testing.assert_close(best_sine(curve[None, :12])[0], curve[12:].double(), rtol=0, atol=0.02)


def test_runs_are_paired_by_seed_and_averaged_over_tasks_and_twins():
    found = {
        ("a", "wall"): {1: Scored(1.0, 0.9), 2: Scored(1.0, 0.8), 3: Scored(1.0, 1.0)},
        ("a", "open"): {1: Scored(1.0, 0.5), 2: Scored(0.8, 0.5)},
        ("b", "wall"): {1: Scored(1.0, 1.0), 2: Scored(1.0, 1.0)},
        ("b", "open"): {1: Scored(1.0, 0.0), 2: Scored(1.0, 1.0)},
    }
    assert paired(found, ("a",), (("wall", "open"),)) == pytest.approx([0.4, 0.1])
    assert paired(found, ("a", "b"), (("wall", "open"),)) == pytest.approx([0.7, 0.05])
    assert paired(found, ("a", "c"), (("wall", "open"),)) == []


def test_an_interval_is_that_of_means_of_runs_drawn_with_replacement():
    found = interval([0.1, 0.2, 0.3, 0.4, 0.5])
    assert found.mean == pytest.approx(0.3)
    assert found.low == pytest.approx(0.3 - 1.96 * 0.141 / 5**0.5, abs=0.02)
    assert found.high == pytest.approx(0.3 + 1.96 * 0.141 / 5**0.5, abs=0.02)
    assert found.p < 0.001
    assert interval([-0.1, 0.1]).p > 0.5
    assert interval([0.3]) is None


def test_holms_correction():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06}
    )


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([(0.2, 0.5)] * 3 + [(-0.5, 0.0)], "for"),
        ([(0.2, 0.5)] * 2 + [(0.05, 0.5)] * 2, "mixed"),
        ([(-0.05, 0.05)] * 3 + [(0.2, 0.5)], "against"),
        ([(-0.5, -0.2)] * 3 + [(0.2, 0.5)], "against"),
    ],
)
def test_the_verdict_is_by_where_three_of_four_intervals_lie(ends, expected):
    found = {
        family: Interval(0, low, high, 0.5, 5) for family, (low, high) in zip(FAMILIES, ends, strict=True)
    }
    assert contrasts.verdict(found) == expected
    assert contrasts.verdict(found | {"rules": None}) == "not run"


def test_twins_are_mechanisms_of_their_tasks():
    for names, pairs in FAMILIES.values():
        for task in names:
            assert {name for pair in pairs for name in pair} <= {*rows_of(task)}


def test_a_rate_is_chosen_on_familiar_content_by_both_short_runs(tmp_path):
    store, cells = (
        Records(tmp_path),
        [cell for cell in CELLS if cell.row == "lstm" and cell.column.startswith("d3")],
    )
    assert len(cells) == 3
    for cell, losses in zip(cells, ((0.5, 0.9), (0.6, 0.5), (0.4, 0.8)), strict=True):
        for seed, loss in enumerate(losses, start=1):
            assert choose_rates(store) == {}
            own = {"settings": cell.settings, "hash": cell.hash, "key": run_key(cell.settings, seed)}
            store.add(record(seed) | own | {"metrics": {"familiar_loss": loss, "new": 100 - loss}}, TUNING)
    assert choose_rates(store) == {"d3, m=95": {"lstm": 1e-3}}


def test_the_rates_in_use_are_those_that_the_rule_chooses_from_the_records():
    assert chosen_rates() == choose_rates(Records())
    assert CHOSEN_RATES.exists() or not any(cell.table != TUNING for cell in CELLS)


def test_every_mechanism_of_every_task_is_tried():
    tried = {(cell.column.rpartition(", ")[0], cell.row) for cell in CELLS if cell.table == TUNING}
    assert {row for task, row in tried if task == "commands"} == {*mechanisms("commands")}
    assert {row for task, row in tried if task == "recall"} == {*mechanisms("recall")}
    assert set(TASKS) == {cell.settings["task"] for cell in CELLS if cell.table == TUNING}
