"""The declared cells against the paper's figures: rows, columns, settings, and that every one of them runs."""

import math
from dataclasses import replace

import pytest

from mini_lib.hashing import run_key, settings_hash
from mini_lib.kanerva import runs
from mini_lib.kanerva.digits import SIZES
from mini_lib.kanerva.runs import PAPERS, Settings, paper_settings, tutorial_settings
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.kanerva.cells import (
    CELLS,
    COLUMNS,
    DIVISORS,
    RUNS,
    build,
    data_source,
)
from mini_lib.reproduction.kanerva.timing import Timing
from mini_lib.training import train

SCALES = ("", TUTORIAL)
TIMED = "kanerva.fig1d"  # Figure 1D trains nothing
TRAINED = [cell for cell in CELLS if cell.table != TIMED]


# ------------------------------------------------------------------------------------------------ settings


def test_the_paper_settings_are_the_papers():
    """Sections 3.2 to 3.4 and A.1.1; one learning rate for each task lies in the paper's range."""
    every = [paper_settings(name, k) for name, k in (("digits", 3), ("binding", 2), ("sprites", 4))]

    def told(name):
        return [getattr(each, name) for each in every]

    assert told("batch_size") == [24] * 3
    assert told("items") == [45, 45, 15]
    assert told("total") == [30, 60, 20]
    assert told("dim") == [50, 100, 50]
    assert told("lr") == [1e-4, 1e-3, 1e-4]  # the range is 5e-5 to 1e-3
    assert [epochs * runs.UPDATES for epochs in told("epochs")] == [200_000, 200_000, 250_000]
    assert told("experiment") == ["mean addresses", "mean addresses", "full"]
    assert told("encoder") == ["valid", "valid", "residual"]
    assert [told(name) for name in ("kl_weight", "ae_weight", "kl")] == [
        [1] * 3,
        [0] * 3,
        [{}] * 3,
    ]


@pytest.mark.parametrize("name", PAPERS)
def test_the_small_scale_keeps_columns_items_and_features(name):
    large, little = paper_settings(name, 2), tutorial_settings(name, 2)
    for field in ("task", "machines", "model", "experiment", "total", "items", "dim", "options"):
        assert getattr(little, field) == getattr(large, field)
    assert little.ae_weight == (little.task == "rgb")  # without it is a variant
    side = little.size if little.task == "dsprites" else SIZES[little.source]
    assert little.kl_weight == pytest.approx((side / 28) ** 2, abs=1e-4)


def test_settings_come_back_from_a_record():
    for settings in {cell.hash: cell.settings for cell in TRAINED}.values():
        again = Settings.from_dict(settings)
        assert again.to_dict() == settings
        assert settings_hash(again.to_dict()) == settings_hash(settings)


# ------------------------------------------------------------------------------------------------ cells


def of_table(table, variant=""):
    """{row: settings} of a figure at one scale."""
    return {
        cell.row: Settings.from_dict(cell.settings)
        for cell in TRAINED
        if (cell.table, cell.variant) == (table, variant)
    }


def test_ids_are_unique_and_every_row_has_all_columns():
    ids = [cell.id for cell in CELLS]
    assert len(ids) == len(set(ids))
    assert {cell.table for cell in CELLS} == set(COLUMNS)
    for table, columns in COLUMNS.items():
        mine = [cell for cell in CELLS if cell.table == table]
        assert len(set(columns.values())) == len(columns)
        assert len(mine) == len({(cell.row, cell.variant) for cell in mine}) * len(columns)
        assert {cell.runs for cell in mine if cell.variant not in WAYS_TO_DIVIDE} == {RUNS}


def test_a_tutorial_cell_stands_for_every_cell():
    plain = {cell.id for cell in TRAINED if not cell.variant}
    assert {cell.id.removesuffix("/tutorial") for cell in TRAINED if cell.variant == TUTORIAL} == plain
    plain, given = f"{TUTORIAL}, no autoencoder term", f"{TUTORIAL}, machine given"
    long = f"{TUTORIAL}, six times as long"
    assert {cell.variant for cell in TRAINED} == {"", TUTORIAL, plain, given, long, *WAYS_TO_DIVIDE}
    told = {cell.variant: Settings.from_dict(cell.settings) for cell in TRAINED}
    assert (told[plain].ae_weight, told[plain].given) == (0.0, False)
    assert (told[given].ae_weight, told[given].given) == (1.0, True)
    assert told[long].epochs == 6 * told[given].epochs
    assert {cell.row for cell in TRAINED if cell.variant == long} == {"k = 1", "k = 2"}


@pytest.mark.parametrize("variant", SCALES)
def test_rows_are_those_of_the_figures(variant):
    """Machines, columns and items as in Sections 3.2 to 3.4, A.5 and A.9, at both scales."""
    assert {k for k in range(1, 16) if 30 % k == 0} == set(DIVISORS)
    for row, s in of_table("kanerva.fig1e", variant).items():
        assert row == f"k = {s.machines}"
        assert (s.task, s.model, s.total, s.items) == ("digits", "product", 30, 45)
    assert [s.machines for s in of_table("kanerva.fig1e", variant).values()] == list(DIVISORS)
    for table in ("kanerva.fig4a", "kanerva.fig4d"):
        for row, s in of_table(table, variant).items():
            assert row == f"k = {s.machines}"
            assert (s.task, s.model, s.total, s.items) == ("digits", "mixture", 30, 45)
    assert {s.machines for s in of_table("kanerva.fig4a", variant).values()} == {2, 3}
    bound = of_table("kanerva.fig2c", variant)
    assert {(s.task, s.total, s.items, s.dim) for s in bound.values()} == {("rgb", 60, 45, 100)}
    assert {row: (s.machines, s.options["stop_grad_r"]) for row, s in bound.items()} == {
        "k = 1": (1, False),
        "k = 2": (2, False),
        "k = 2, no gradient to r": (2, True),
    }
    danced = of_table("kanerva.fig3c", variant)
    assert {(s.task, s.items, s.experiment) for s in danced.values()} == {("dsprites", 15, "full")}
    for row, s in danced.items():
        assert row == f"k = {s.machines}, {s.total // s.machines} columns each"
    assert {"k = 4, 5 columns each", "k = 1, 20 columns each"} <= danced.keys()


# What differs from the small scale, by reading, figure and row; {} where nothing does.
BALANCED = {"balance": 15.0, "balance_until": 2000}
EVERY_1000 = {"checks": tuple(range(100, 1000, 100))}
LONG = {"epochs": 4000, "checks": tuple(range(500, 4000, 500))}
LITTLE = {"source": "digits", "items": 12, "total": 16, "dim": 40, "kl_weight": 64 / 784, "ae_weight": 0.0}
LITTLE |= {"epochs": 500, "checks": tuple(range(25, 500, 25))}
UNIT, EVEN = ({"options": {"assignment": name}} for name in ("unit prior", "even"))


def figure_2(one, two, stopped):
    """The third network is one whose machine weights learn nothing: a balance and a prior of r leave it as it is."""
    rows = {"k = 1": one, "k = 2": two, "k = 2, no gradient to r": stopped}
    return {f"fig2{part}": {"k = 2": two} for part in "abd"} | {"fig2c": rows}


WAYS_TO_DIVIDE = {
    f"{TUTORIAL}, {reading}": figures
    for reading, figures in {
        "balanced at first": figure_2({}, BALANCED | EVERY_1000, {}),
        "unit prior": figure_2(UNIT, UNIT | EVERY_1000, {}),
        "four times as long": {"fig2c": {"k = 1": LONG}},
        "balanced at first, four times as long": figure_2(LONG, BALANCED | LONG, LONG),
        "small": figure_2(LITTLE, LITTLE, LITTLE),
        "small, balanced at first": figure_2(
            LITTLE, LITTLE | {"balance": 5.0, "balance_until": 1500}, LITTLE
        ),
        "even weights": {
            "fig3b": {"k = 4": EVEN, "k = 1": {}},
            "fig3c": {
                "k = 1, 20 columns each": {},
                "k = 4, 5 columns each": EVEN,
                "k = 1, 5 columns each": {},
            },
            "fig7": {"k = 4": EVEN},
            "fig8": {"k = 4": EVEN},
        },
        "balanced": {
            "fig1e": {"k = 3": {}, "k = 5": {}},
            "fig4a": {"k = 2": {"balance": 3.0}, "k = 3": {"balance": 3.0}},
            "fig4d": {"k = 1": {}} | {f"k = {k}": {"balance": 3.0} for k in (2, 3, 5)},
        },
    }.items()
}


@pytest.mark.parametrize("variant", WAYS_TO_DIVIDE)
def test_ways_to_divide_the_work_differ_from_the_small_scale_in_what_their_name_says(variant):
    found = {
        cell.table.removeprefix("kanerva."): of_table(cell.table, variant)
        for cell in TRAINED
        if cell.variant == variant
    }
    assert found == {
        figure: {
            row: replace(of_table(f"kanerva.{figure}", TUTORIAL)[row], **changes)
            for row, changes in rows.items()
        }
        for figure, rows in WAYS_TO_DIVIDE[variant].items()
    }


def test_machines_that_are_to_divide_the_work_have_five_runs():
    assert {cell.runs for cell in TRAINED if cell.variant in WAYS_TO_DIVIDE} == {5}


def test_columns_can_be_shared_and_records_have_one_home():
    homes = {}
    for cell in TRAINED:
        assert cell.settings.get("total", 30) % cell.settings["machines"] == 0
        assert homes.setdefault(cell.hash, cell.file) == cell.file


@pytest.mark.parametrize("variant", SCALES)
def test_figures_of_one_network_share_its_runs(variant):
    assert of_table("kanerva.fig2a", variant) == of_table("kanerva.fig2b", variant)
    assert of_table("kanerva.fig2a", variant) == of_table("kanerva.fig2d", variant)
    assert of_table("kanerva.fig2a", variant)["k = 2"] == of_table("kanerva.fig2c", variant)["k = 2"]
    assert of_table("kanerva.fig4a", variant)["k = 3"] == of_table("kanerva.fig4d", variant)["k = 3"]
    four = of_table("kanerva.fig3c", variant)["k = 4, 5 columns each"]
    for table in ("kanerva.fig3b", "kanerva.fig7", "kanerva.fig8"):
        assert of_table(table, variant)["k = 4"] == four


METRICS = {}  # of one cell of each network: those that any cell of it names
for cell in TRAINED:
    of = tuple(str(cell.settings.get(name)) for name in ("task", "model", "machines", "options"))
    METRICS.setdefault(of, (cell.settings, set()))[1].add(cell.metric)


@pytest.mark.parametrize("network", METRICS, ids="-".join)
def test_metrics_of_all_cells_are_measured(network):
    settings, metrics = METRICS[network]
    small = {"items": 4, "dim": 5, "encoder": "mlp", "decoder": "mlp", "test_episodes": 3, "source": "digits"}
    if settings["task"] == "dsprites":
        small |= {"size": 14, "items": 8, "test_episodes": 80}
    run = build(settings | small | {"total": 2 * settings["machines"]}, 1)
    found = run.evaluate(run.model)
    assert metrics <= found.keys()
    assert all(math.isfinite(found[metric]) for metric in metrics)


def test_every_small_cell_builds_and_has_a_loss():
    seen = {cell.hash: cell.settings for cell in TRAINED if cell.variant}
    for settings in seen.values():
        run = build(settings | {"batch_size": 1, "items": 2}, 1)
        batch = run.epoch(0)
        first = {name: value[:1] for name, value in batch.items()}
        loss, score = run.loss(run.model, first | {"noise": run.noise(0, first)})
        assert loss.isfinite()
        assert score > 0


def test_a_timing_is_a_run_without_updates(monkeypatch):
    monkeypatch.setattr(
        "mini_lib.reproduction.kanerva.timing.evaluate_scaling",
        lambda form, **sizes: {"timed": float(form == "loop")} | sizes,
    )
    timings = {cell.hash: cell.settings for cell in CELLS if cell.table == TIMED}
    forms = sorted((settings["form"], settings.get("threads", 1)) for settings in timings.values())
    assert forms == [("batched", 1), ("batched", 8), ("loop", 1), ("loop", 8)]
    assert {cell.variant for cell in CELLS if cell.table == TIMED and "threads" in cell.settings} == {""}
    for settings in [*timings.values(), Timing("loop", items=5, threads=2).to_dict()]:
        (run,) = train([build(settings, 2)])
        sizes = {"episodes": 2, "items": settings.get("items", 3), "dim": 50}
        timed = {"timed": float(settings["form"] == "loop"), "threads": settings.get("threads", 1)}
        assert run.metrics == timed | sizes
        assert (run.key, run.updates, run.diverged) == (run_key(settings, 2), 0, False)
        assert data_source(settings) == "drawn"
