"""The declared cells against the paper's figures, and real runs by the harness."""

import math

import pytest
import torch

from mini_lib.kanerva import runs
from mini_lib.kanerva.runs import Settings
from mini_lib.kanerva.tasks.digits import SIZES
from mini_lib.reproduction.compare import TUTORIAL
from mini_lib.reproduction.kanerva.cells import (
    CELLS,
    DIVISORS,
    RUNS,
    SMALL_DIGITS,
    SMALL_SPRITES,
    SMALL_TRIPLETS,
    bench_cases,
    binding_settings,
    build,
    data_source,
    digits_settings,
    mixture_settings,
    sprites_settings,
)
from mini_lib.reproduction.kanerva.timing import Timing
from mini_lib.settings import run_key, settings_hash
from mini_lib.training import train

CPU = torch.device("cpu")
SCALES = {"": ({}, {}, {}), TUTORIAL: (SMALL_DIGITS, SMALL_TRIPLETS, SMALL_SPRITES)}
TIMED = "kanerva.fig1d"  # Figure 1D trains nothing
TRAINED = [cell for cell in CELLS if cell.table != TIMED]
TINY = {"items": 4, "dim": 5, "encoder": "mlp", "decoder": "mlp", "batch_size": 2, "epochs": 1, "lr": 1e-2}
every_kind = pytest.mark.parametrize("kind", ["digits", "mixture", "binding", "sprites"])


@pytest.fixture
def short(monkeypatch):
    """Epochs of three updates."""
    monkeypatch.setattr(runs, "UPDATES", 3)


def small(kind="digits", machines=2, **changes):
    """Few columns, items and episodes, a small network."""
    own = {"size": 14, "test_episodes": 80, "items": 8} if kind == "sprites" else {"source": "digits"}
    make = {
        **{"digits": digits_settings, "mixture": mixture_settings},
        **{"binding": binding_settings, "sprites": sprites_settings},
    }[kind]
    return make(machines, **(TINY | {"total": 6, "test_episodes": 3, "checks": ()} | own | changes))


# ------------------------------------------------------------------------------------------------ settings


def test_the_paper_settings_are_the_papers():
    """Sections 3.2 to 3.4 and A.1.1; one learning rate for each task lies in the paper's range."""
    digits, triplets, sprites = digits_settings(3), binding_settings(2), sprites_settings(4)
    assert [s.batch_size for s in (digits, triplets, sprites)] == [24] * 3
    assert [s.items for s in (digits, triplets, sprites)] == [45, 45, 15]
    assert [s.total for s in (digits, triplets, sprites)] == [30, 60, 20]
    assert [s.dim for s in (digits, triplets, sprites)] == [50, 100, 50]
    assert triplets.lr == 1e-3
    assert all(5e-5 <= s.lr <= 1e-3 for s in (digits, triplets, sprites))
    assert [s.epochs * runs.UPDATES for s in (digits, triplets, sprites)] == [
        200_000,
        200_000,
        250_000,
    ]
    assert [s.experiment for s in (digits, triplets, sprites)] == ["mean addresses"] * 2 + ["full"]
    assert [s.encoder for s in (digits, triplets, sprites)] == ["valid", "valid", "residual"]
    assert {(s.kl_weight, s.ae_weight, s.warm_up, len(s.kl)) for s in (digits, triplets, sprites)} == {
        (1, 0, 0, 0)
    }


def test_the_small_scale_keeps_columns_items_and_features():
    for large, little in (
        (digits_settings(3), digits_settings(3, **SMALL_DIGITS)),
        (mixture_settings(3), mixture_settings(3, **SMALL_DIGITS)),
        (binding_settings(2), binding_settings(2, **SMALL_TRIPLETS)),
        (sprites_settings(4), sprites_settings(4, **SMALL_SPRITES)),
    ):
        for name in (
            "task",
            "machines",
            "model",
            "experiment",
            "total",
            "items",
            "dim",
            "options",
        ):
            assert getattr(little, name) == getattr(large, name)
        assert little.ae_weight == (little.task == "rgb")  # without it is a variant
        side = little.size if little.task == "dsprites" else SIZES[little.source]
        assert little.kl_weight == pytest.approx((side / 28) ** 2, abs=1e-4)


def test_hashes_stay_what_records_are_kept_by():
    """A field that changes its name or its default would leave the records of runs like these behind."""
    little = {
        **{"source": "digits", "encoder": "mlp", "decoder": "mlp", "kl_weight": 0.0816},
        **{"batch_size": 8, "lr": 1e-3, "epochs": 1000},
    }
    danced = {"encoder": "stride2", "batch_size": 8, "lr": 1e-3, "epochs": 2000, "checks": (500, 1000, 1500)}
    for settings, digest in (
        (digits_settings(3, **little), "3af18d089fe3"),
        (binding_settings(2, **little | {"epochs": 2000}), "7beb3be0840c"),
        (sprites_settings(4, **danced), "a0fbc73421cd"),
        (mixture_settings(3, **little), "1288fa21608a"),
    ):
        assert settings_hash(settings.to_dict()) == digest


# ------------------------------------------------------------------------------------------------ cells


def of_table(table, variant=""):
    """{row: settings} of a figure at one scale."""
    return {
        cell.row: Settings.from_dict(cell.settings)
        for cell in TRAINED
        if (cell.table, cell.variant) == (table, variant)
    }


LOSSES = {"loss": "nll", "loss, nothing written": "nll_empty", "loss, training digits": "nll_training"}
COLOURS = ("red", "green", "blue")
MEASURED = {  # what each column of a figure shows, by the name that a record has for it
    "fig1d": {f"R^2, m={m}": f"r2_{m}" for m in (100, 400, 600)}
    | {f"T(1)/T(2), m={m}": f"speedup_2_{m}" for m in (500, 600)}
    | {f"best k, m={m}": f"best_k_{m}" for m in (400, 600)},
    "fig1e": LOSSES,
    "fig2a": {
        "largest gamma": "largest",
        "lesser machine": "least_used",
        "largest gamma, reading": "read_largest",
        "lesser machine, reading": "read_least_used",
        "green": "nll_green",
        "green, a machine forgotten": "nll_green_forgotten",
    },
    "fig2b": {"loss": "nll", "dominant machine's loss": "dominant_nll", "idle variance": "idle_variance"},
    "fig2c": LOSSES
    | {colour: f"nll_{colour}" for colour in COLOURS}
    | {"green, nothing written": "nll_empty_green"},
    "fig2d": {
        "red or blue": "classes_shown",
        "red and blue": "classes_least_shown",
        "most telling": "classes_most",
        "next": "classes_next",
    }
    | {colour: f"classes_{colour}" for colour in COLOURS}
    | {f"{colour}, reading": f"read_classes_{colour}" for colour in COLOURS},
    "fig3b": {
        "contrast": "contrast",
        "contrast, other sprites": "contrast_shuffled",
        "contrast, mean images": "contrast_fixed",
        "one sprite": "one_sprite",
        "one sprite, other sprites": "one_sprite_shuffled",
        "one sprite, mean images": "one_sprite_fixed",
        "changes of gamma": "changes",
        "changes of gamma, reading": "read_changes",
        "least used machine": "least_used",
        "least used machine, reading": "read_least_used",
    },
    "fig3c": {"loss": "nll", "loss, nothing written": "nll_empty"},
    "fig4a": {"classes": "classes", "least used machine": "least_used"},
    "fig4d": LOSSES,
    "fig7": {
        "position": "tuned_position",
        "shape": "tuned_shape",
        "orientation": "tuned_orientation",
        "scale": "tuned_scale",
        "position, mean images": "tuned_position_fixed",
        "position, lesser machines": "tuned_position_rest",
    },
    "fig8": {"nearest": "nearest", "retrieved": "retrieved", "new": "new", "blank": "blank"},
}


def test_ids_are_unique_and_every_figure_has_its_columns():
    ids = [cell.id for cell in CELLS]
    assert len(ids) == len(set(ids))
    assert {cell.table for cell in CELLS} == {f"kanerva.{figure}" for figure in MEASURED}
    for figure, columns in MEASURED.items():
        mine = [cell for cell in CELLS if cell.table == f"kanerva.{figure}"]
        assert {(cell.column, cell.metric) for cell in mine} == set(columns.items())
        assert len(mine) == len({(cell.row, cell.variant) for cell in mine}) * len(columns)
        assert {cell.runs for cell in mine} == {RUNS}


def test_a_tutorial_cell_stands_for_every_cell():
    plain = {cell.id for cell in TRAINED if not cell.variant}
    assert {cell.id.removesuffix("/tutorial") for cell in TRAINED if cell.variant == TUTORIAL} == plain
    plain, given = f"{TUTORIAL}, no autoencoder term", f"{TUTORIAL}, machine given"
    long = f"{TUTORIAL}, six times as long"
    assert {cell.variant for cell in TRAINED} == {"", TUTORIAL, plain, given, long}
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
    assert {row: (s.machines, s.options) for row, s in bound.items()} == {
        "k = 1": (1, {}),
        "k = 2": (2, {}),
        "k = 2, no gradient to r": (2, {"stop_grad_r": True}),
    }
    danced = of_table("kanerva.fig3c", variant)
    assert {(s.task, s.items, s.experiment) for s in danced.values()} == {("dsprites", 15, "full")}
    for row, s in danced.items():
        assert row == f"k = {s.machines}, {s.total // s.machines} columns each"
    assert {"k = 4, 5 columns each", "k = 1, 20 columns each"} <= danced.keys()


def test_columns_can_be_shared_and_records_have_one_home():
    homes = {}
    for cell in TRAINED:
        assert cell.settings.get("total", 30) % cell.settings["machines"] == 0
        assert homes.setdefault(cell.hash, cell.home) == cell.home


@pytest.mark.parametrize("variant", SCALES)
def test_figures_of_one_network_share_its_runs(variant):
    assert of_table("kanerva.fig2a", variant) == of_table("kanerva.fig2b", variant)
    assert of_table("kanerva.fig2a", variant) == of_table("kanerva.fig2d", variant)
    assert of_table("kanerva.fig2a", variant)["k = 2"] == of_table("kanerva.fig2c", variant)["k = 2"]
    assert of_table("kanerva.fig4a", variant)["k = 3"] == of_table("kanerva.fig4d", variant)["k = 3"]
    four = of_table("kanerva.fig3c", variant)["k = 4, 5 columns each"]
    for table in ("kanerva.fig3b", "kanerva.fig7", "kanerva.fig8"):
        assert of_table(table, variant)["k = 4"] == four


def kinds_of_cells():
    """{(task, model, machines): metrics} of the runs that cells name."""
    found = {}
    for cell in TRAINED:
        s = Settings.from_dict(cell.settings)
        found.setdefault((s.task, s.model, s.machines), set()).add(cell.metric)
    return found


@pytest.mark.parametrize(("task", "model", "machines"), kinds_of_cells())
def test_metrics_of_all_cells_are_measured(task, model, machines):
    metrics = kinds_of_cells()[task, model, machines]
    name = {"digits": model, "rgb": "binding", "dsprites": "sprites"}[task]
    name = "digits" if name == "product" else name
    replica = build(small(name, machines, total=2 * machines).to_dict(), 1)
    found = replica.evaluate(replica.model)
    assert metrics <= found.keys()
    assert all(math.isfinite(found[metric]) for metric in metrics)


def test_every_small_cell_builds_and_has_a_loss():
    seen = {cell.hash: cell.settings for cell in TRAINED if cell.variant == TUTORIAL}
    for settings in seen.values():
        replica = build(settings | {"batch_size": 1, "items": 2}, 1)
        batch = replica.epoch(0)
        first = {name: value[:1] for name, value in batch.items()}
        loss, score = replica.loss(replica.model, first | {"noise": replica.noise(0, first)})
        assert loss.isfinite()
        assert score > 0


def test_a_timing_is_a_run_without_updates(monkeypatch):
    monkeypatch.setattr(
        "mini_lib.reproduction.kanerva.timing.evaluate_scaling",
        lambda form, **sizes: {"timed": float(form == "loop"), "threads": torch.get_num_threads()} | sizes,
    )
    timings = {cell.hash: cell.settings for cell in CELLS if cell.table == TIMED}
    told = sorted((settings["form"], settings.get("threads", 1)) for settings in timings.values())
    assert told == [("batched", 1), ("batched", 8), ("loop", 1), ("loop", 8)]
    assert {cell.variant for cell in CELLS if cell.table == TIMED and "threads" in cell.settings} == {""}
    before = torch.get_num_threads()
    for settings in timings.values():
        (run,) = train([build(settings, 2)])
        expected = {"timed": float(settings["form"] == "loop"), "threads": settings.get("threads", 1)}
        assert run.metrics == expected | {"episodes": 2, "items": 3, "dim": 50}
        assert (run.key, run.updates, run.diverged) == (run_key(settings, 2), 0, False)
        assert data_source(settings) == "drawn"
    (run,) = train([build(Timing("loop", items=5, threads=2).to_dict(), 1)])
    assert (run.metrics["items"], run.metrics["threads"]) == (5, 2)
    assert torch.get_num_threads() == before


def test_bench_times_the_memory_and_every_experiment():
    cases = bench_cases()
    assert len({(case.network, case.setting) for case in cases}) == len(cases)
    trained = [Settings.from_dict(case.settings) for case in cases if case.settings]
    assert 0 < len(trained) < len(cases)
    assert {(s.task, s.model) for s in trained} == {(s.task, s.model) for s in map(of_cell, TRAINED)}
    assert {settings_hash(s.to_dict()) for s in trained} <= {cell.hash for cell in TRAINED}


def of_cell(cell):
    return Settings.from_dict(cell.settings)
