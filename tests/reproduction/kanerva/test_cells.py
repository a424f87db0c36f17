"""The declared cells against the paper's figures: rows, settings, and that every one of them runs.

That they stay as they are, tests/reproduction/test_records.py tests for all papers.
"""

import math

import pytest

from mini_lib.hashing import run_key
from mini_lib.kanerva.runs import Settings, paper_settings, tutorial_settings
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.kanerva.cells import CELLS, build, data_source
from mini_lib.reproduction.kanerva.timing import Timing

TIMED = "kanerva.fig1d"  # Figure 1D trains nothing
TRAINED = [cell for cell in CELLS if cell.table != TIMED]
BY_HASH = {cell.hash: Settings.from_dict(cell.settings) for cell in TRAINED}
STOPPED = {"options": {"stop_grad_r": True}}


def rows_of(table, variant):
    """{row: settings} of a figure at one size, or under one reading."""
    return {c.row: BY_HASH[c.hash] for c in TRAINED if (c.table, c.variant) == (f"kanerva.{table}", variant)}


@pytest.mark.parametrize(("variant", "make"), [("", paper_settings), (TUTORIAL, tutorial_settings)])
def test_rows_are_those_of_the_figures(variant, make):
    """Machines and columns as in Sections 3.2 to 3.4, A.5 and A.9; figures of one network share its runs."""
    divisors = [k for k in range(1, 16) if 30 % k == 0]
    assert rows_of("fig1e", variant) == {f"k = {k}": make("digits", k) for k in divisors}
    assert rows_of("fig4d", variant) == {f"k = {k}": make("mixture", k) for k in (1, 2, 3, 5)}
    assert rows_of("fig4a", variant) == {f"k = {k}": make("mixture", k) for k in (2, 3)}
    bound = {f"k = {k}": make("binding", k) for k in (1, 2)}
    stopped = {"k = 2, no gradient to r": make("binding", 2, **STOPPED)}
    assert rows_of("fig2c", variant) == bound | stopped
    for part in "abd":
        assert rows_of(f"fig2{part}", variant) == {"k = 2": bound["k = 2"]}
    danced = {(k, m): make("sprites", k, total=k * m) for k, m in ((1, 20), (2, 10), (4, 5), (1, 5))}
    assert rows_of("fig3c", variant) == {f"k = {k}, {m} columns each": s for (k, m), s in danced.items()}
    assert rows_of("fig3b", variant) == {"k = 4": danced[4, 5], "k = 1": danced[1, 20]}
    for table in ("fig7", "fig8"):
        assert rows_of(table, variant) == {"k = 4": danced[4, 5]}


METRICS = {}  # of one cell of each network: those that any cell of it names
for cell in TRAINED:
    of = tuple(str(cell.settings.get(name)) for name in ("task", "model", "machines", "options"))
    METRICS.setdefault(of, (cell.settings, set()))[1].add(cell.metric)


@pytest.mark.parametrize("network", METRICS, ids="-".join)
def test_every_network_has_a_loss_and_the_metrics_of_its_cells(network):
    settings, metrics = METRICS[network]
    small = {"items": 4, "dim": 5, "encoder": "mlp", "decoder": "mlp", "test_episodes": 3, "source": "digits"}
    if settings["task"] == "dsprites":
        small |= {"size": 14, "items": 8, "test_episodes": 40}
    run = build(settings | small | {"total": 2 * settings["machines"], "batch_size": 1}, 1)
    batch = {name: value[:1] for name, value in run.epoch(0).items()}
    loss, score = run.loss(run.model, batch | {"noise": run.noise(0, batch)})
    assert loss.isfinite()
    assert score > 0
    found = run.evaluate(run.model)
    assert metrics <= found.keys()
    assert all(math.isfinite(found[metric]) for metric in metrics)


def test_a_timing_is_a_run_without_updates(monkeypatch):
    monkeypatch.setattr("mini_lib.reproduction.kanerva.timing.evaluate_scaling", lambda **given: given)
    timings = {cell.hash: cell.settings for cell in CELLS if cell.table == TIMED}
    forms = sorted((settings["form"], settings.get("threads", 1)) for settings in timings.values())
    assert forms == [("batched", 1), ("batched", 8), ("loop", 1), ("loop", 8)]
    assert {cell.variant for cell in CELLS if cell.table == TIMED and "threads" in cell.settings} == {""}
    settings = Timing("loop", items=5, threads=2).to_dict()
    run = build(settings, 2)
    assert run.evaluate(run.model) == {"form": "loop", "episodes": 2, "items": 5, "dim": 50, "threads": 2}
    assert (run.key, run.updates) == (run_key(settings, 2), 0)
    assert data_source(settings) == "drawn"
