"""The figures of the Kanerva paper as cells: which memories, on which episodes, trained how."""

from dataclasses import replace

from mini_lib.kanerva import runs
from mini_lib.kanerva.assignment import GIVEN
from mini_lib.kanerva.digits import COLORS
from mini_lib.kanerva.runs import PAPER as PAPER, Settings, paper_settings, tutorial_settings
from mini_lib.reproduction.cells import Cell, CellTable
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.kanerva import timing
from mini_lib.settings import RunSettings
from mini_lib.training import TrainingRun

RUNS = 3  # the paper does not say how many are behind its figures
MORE_RUNS = 5  # where machines are to divide the work, and of what is compared with these


def build(settings: dict, seed: int) -> TrainingRun:
    """A training run; of Figure 1D, a timing."""
    timed = "form" in settings
    return timing.build(settings, seed) if timed else runs.build(Settings.from_dict(settings), seed)


def data_source(settings: dict) -> str:
    """The digits that episodes are made of, "rendered" sprites, or the random codes of a timing, "drawn"."""
    if "form" in settings:
        return "drawn"
    return Settings.from_dict(settings).episode_options.get("source", "rendered")


SCALING = (
    {f"R^2, m={m}": f"r2_{m}" for m in (400, 600, 100)}
    | {f"T(1)/T(2), m={m}": f"speedup_2_{m}" for m in (500, 600)}
    | {f"best k, m={m}": f"best_k_{m}" for m in (400, 600)}
)
LOSS = {"loss": "nll", "loss, nothing written": "nll_empty"}
LOSSES = LOSS | {"loss, training digits": "nll_training"}
COLUMNS = {
    "kanerva.fig1d": SCALING,
    "kanerva.fig1e": LOSSES,
    "kanerva.fig2a": {
        "largest gamma": "largest",
        "lesser machine": "least_used",
        "largest gamma, reading": "read_largest",
        "lesser machine, reading": "read_least_used",
        "green": "nll_green",
        "green, a machine forgotten": "nll_green_forgotten",
    },
    "kanerva.fig2b": {
        "loss": "nll",
        "dominant machine's loss": "dominant_nll",
        "idle variance": "idle_variance",
    },
    "kanerva.fig2c": LOSSES
    | {color: f"nll_{color}" for color in COLORS}
    | {"green, nothing written": "nll_empty_green"},
    "kanerva.fig2d": {"red or blue": "classes_shown", "red and blue": "classes_least_shown"}
    | {"most telling": "classes_most", "next": "classes_next"}
    | {color: f"classes_{color}" for color in COLORS}
    | {f"{color}, reading": f"read_classes_{color}" for color in COLORS},
    "kanerva.fig3b": {
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
    "kanerva.fig3c": LOSS,
    "kanerva.fig4a": {"classes": "classes", "least used machine": "least_used"},
    "kanerva.fig4d": LOSSES,
    "kanerva.fig7": {name: f"tuned_{name}" for name in ("position", "shape", "orientation", "scale")}
    | {"position, mean images": "tuned_position_fixed", "position, lesser machines": "tuned_position_rest"},
    "kanerva.fig8": {"nearest": "nearest", "retrieved": "retrieved", "new": "new", "blank": "blank"},
}


def _scales(name: str, machines: int, **changes) -> dict[str, Settings]:
    """The settings of a row by variant: at the paper's size, and at the small one."""
    paper, small = (each(name, machines, **changes) for each in (paper_settings, tutorial_settings))
    return {"": paper, TUTORIAL: small}


DIVISORS = (1, 2, 3, 5, 6, 10, 15)  # of 30, the machines of Figure 1E
SPLITS = ((1, 20), (2, 10), (4, 5), (1, 5))  # machines and columns of each for sprites
DIGITS = {f"k = {k}": _scales("digits", k) for k in DIVISORS}
MIXTURES = {f"k = {k}": _scales("mixture", k) for k in (1, 2, 3, 5)}
STOPPED = {"options": {"stop_grad_r": True}}
BINDING = {
    "k = 1": _scales("binding", 1),
    "k = 2": _scales("binding", 2),
    "k = 2, no gradient to r": _scales("binding", 2, **STOPPED),
}
SPRITES = {f"k = {k}, {m} columns each": _scales("sprites", k, total=k * m) for k, m in SPLITS}
TWO, FOUR = {"k = 2": BINDING["k = 2"]}, {"k = 4": SPRITES["k = 4, 5 columns each"]}
ROWS: dict[str, dict[str, dict[str, Settings]]] = {  # table -> row -> variant -> settings
    "kanerva.fig1e": DIGITS,
    "kanerva.fig2a": TWO,
    "kanerva.fig2b": TWO,
    "kanerva.fig2c": BINDING,
    "kanerva.fig2d": TWO,
    "kanerva.fig3b": FOUR | {"k = 1": SPRITES["k = 1, 20 columns each"]},
    "kanerva.fig3c": SPRITES,
    "kanerva.fig4a": {row: MIXTURES[row] for row in ("k = 2", "k = 3")},
    "kanerva.fig4d": MIXTURES,
    "kanerva.fig7": FOUR,
    "kanerva.fig8": FOUR,
}

Tables = dict[str, dict[str, Settings]]  # table -> row -> settings
UNIT_PRIOR, EVEN = ({"options": {"assignment": name}} for name in ("unit prior", "even"))
AT_FIRST = {"balance": 15.0, "balance_until": 2000}
EVERY_1000 = {"checks": tuple(range(100, 1000, 100))}  # updates, to see when machines divide the work
# Binding on 8 x 8 pixels, with fewer items and columns and 5,000 updates: it trains in seven minutes of a core.
# Changes of `tutorial_settings("binding", k)`.
SMALL_TASK = {"source": "digits", "items": 12, "total": 16, "dim": 40, "ae_weight": 0.0, "epochs": 500}
SMALL_TASK |= {"kl_weight": 8**2 / 28**2}
EVERY_250 = {"checks": tuple(range(25, 500, 25))}  # in the small task
COMPARED = ("k = 1, 20 columns each", "k = 4, 5 columns each", "k = 1, 5 columns each")
LONG = {"epochs": 4000, "checks": tuple(range(500, 4000, 500))}


def _figure_2(one: Settings, two: Settings, stopped: Settings) -> Tables:
    """What Figure 2 shows of two machines, and beside them one, and two that learn nothing through r."""
    parts = {f"kanerva.fig2{part}": {"k = 2": two} for part in "abd"}
    return parts | {"kanerva.fig2c": {"k = 1": one, "k = 2": two, "k = 2, no gradient to r": stopped}}


def _ways_to_divide() -> dict[str, Tables]:
    """Readings under which machines are to divide the work, by name; at the small scale.

    A reading has a row for everything that is compared with it, so that claims can be judged under it. A row that
    has nothing to balance, or no gradient to r, has the settings of the small scale here, too.
    """
    one, two, stopped = (scales[TUTORIAL] for scales in BINDING.values())
    little = [replace(each, **SMALL_TASK, **EVERY_250) for each in (one, two, stopped)]
    sprites = {row: scales[TUTORIAL] for row, scales in SPRITES.items()}
    sprites["k = 4, 5 columns each"] = four = replace(sprites["k = 4, 5 columns each"], **EVEN)
    single_mixture, *mixtures = (scales[TUTORIAL] for scales in MIXTURES.values())
    balanced = {f"k = {each.machines}": replace(each, balance=3.0) for each in mixtures}
    return {
        "balanced at first": _figure_2(one, replace(two, **AT_FIRST, **EVERY_1000), stopped),
        "unit prior": _figure_2(
            replace(one, **UNIT_PRIOR), replace(two, **UNIT_PRIOR, **EVERY_1000), stopped
        ),
        "four times as long": {"kanerva.fig2c": {"k = 1": replace(one, **LONG)}},
        "balanced at first, four times as long": _figure_2(
            replace(one, **LONG), replace(two, **AT_FIRST, **LONG), replace(stopped, **LONG)
        ),
        "small": _figure_2(*little),
        "small, balanced at first": _figure_2(
            little[0], replace(little[1], balance=5.0, balance_until=1500), little[2]
        ),
        "even weights": {
            "kanerva.fig3b": {"k = 4": four, "k = 1": sprites["k = 1, 20 columns each"]},
            "kanerva.fig3c": {row: sprites[row] for row in COMPARED},
            "kanerva.fig7": {"k = 4": four},
            "kanerva.fig8": {"k = 4": four},
        },
        "balanced": {
            "kanerva.fig1e": {row: DIGITS[row][TUTORIAL] for row in ("k = 3", "k = 5")},
            "kanerva.fig4a": {row: balanced[row] for row in ("k = 2", "k = 3")},
            "kanerva.fig4d": {"k = 1": single_mixture} | balanced,
        },
    }


def _declare() -> list[Cell]:
    cells = CellTable()

    def add(table: str, row: str, settings: RunSettings, variant: str = "", runs: int = RUNS) -> None:
        for column, metric in COLUMNS[table].items():
            cells.add(table, row, column, settings.to_dict(), runs, metric=metric, variant=variant)

    for form in ("loop", "batched"):
        add("kanerva.fig1d", form, timing.Timing(form, threads=8))
        add("kanerva.fig1d", form, timing.Timing(form), TUTORIAL)
    for table, rows in ROWS.items():
        for row, scales in rows.items():
            for variant, settings in scales.items():
                add(table, row, settings, variant)
    given = {"options": {"assignment": GIVEN}, "kl": {"assignment": 0.0, "assignment_read": 0.0}}
    small = {row: scales[TUTORIAL] for row, scales in BINDING.items()}
    add("kanerva.fig2c", "k = 2", replace(small["k = 2"], **given), f"{TUTORIAL}, machine given")
    for row, settings in small.items():
        plain = replace(settings, ae_weight=0.0)
        add("kanerva.fig2c", row, plain, f"{TUTORIAL}, no autoencoder term")
    long = {"epochs": 6000, "checks": tuple(range(500, 6000, 500))}
    large = {"source": "mnist", "kl_weight": 1.0, "epochs": 1200, "checks": tuple(range(100, 1200, 100))}
    for name, changes in (("six times as long", long), ("28 x 28 pixels", large)):
        for table, row in (("fig2a", "k = 2"), ("fig2c", "k = 1"), ("fig2c", "k = 2"), ("fig2d", "k = 2")):
            add(f"kanerva.{table}", row, replace(small[row], **changes), f"{TUTORIAL}, {name}")
    for reading, tables in _ways_to_divide().items():
        for table, rows in tables.items():
            for row, settings in rows.items():
                add(table, row, settings, f"{TUTORIAL}, {reading}", MORE_RUNS)
    return list(cells)


CELLS = _declare()
