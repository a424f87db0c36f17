"""Both tables of the function-learning paper as cells: which networks, on which curves, trained how."""

from mini_lib.functions import runs
from mini_lib.functions.runs import PAPER as PAPER, UNCERTAIN, Settings, paper_settings, tutorial_settings
from mini_lib.reproduction.cells import Cell, CellTable
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.training import TrainingRun

TABLE1, TABLE2 = "functions.table1", "functions.table2"
COLUMNS = ("all", "lin", "rbf", "sine")
RUNS = 3
ROWS = {
    "one_d": "1d transformer",
    "one_d_window": "1d transformer, learned window",
    "relational": "relational transformer",
    "relational_window": "relational transformer, learned window",
}


def build(settings: dict, seed: int) -> TrainingRun:
    """The run of a cell's settings."""
    return runs.build(Settings.from_dict(settings), seed)


def data_source(settings: dict) -> str:
    """Curves are always drawn."""
    return "drawn"


WINDOW_STARTS = {
    "window starts at 3": {"options": {"length": 3.0}},
    "window starts at 30": {"options": {"length": 30.0}},
    "window learns 10 times faster": {"options": {"window_rate": 10.0}},
}
WINDOWED = WINDOW_STARTS | {"gate after the softmax": {"options": {"gate": "post"}}}
# What the text leaves open about the training of every network: the mask and what is predicted. The fourth reading
# has neither of these names: it is the default, the strict mask and training on every prefix.
# The first reading was the default until `readings.choose` chose another.
FIRST_READING = "standard mask, trained on the last point"
TRAININGS = {
    FIRST_READING: {"options": {"mask": "causal"}, "prefixes": False},
    "trained on the last point": {"prefixes": False},
    "standard mask": {"options": {"mask": "causal"}},
}
EVERYWHERE = TRAININGS | {"no mask": {"options": {"mask": "none"}, "prefixes": False}}
LEVEL_HIDDEN = "level hidden"  # a control of ours
SLIDING = "sliding context"  # another test of the same runs


def variant_name(*parts: str) -> str:
    """What a variant is called that is several things at once; parts that are empty do not count.

    >>> variant_name("tutorial", "", "sliding context")
    'tutorial, sliding context'
    """
    return ", ".join(filter(None, parts))


def _declare() -> list[Cell]:
    cells = CellTable()
    for model in ROWS:
        _row(cells, TABLE1, paper_settings(model), "mse")
    for model in UNCERTAIN:
        _row(cells, TABLE2, paper_settings(model), "spread")
    for model in ROWS:
        _variants(cells, model)
    control = tutorial_settings("one_d_level_hidden", **TRAININGS["standard mask"])
    for measure, test in (("mse", ""), ("sliding_mse", SLIDING)):
        _row(cells, TABLE1, control, measure, variant_name(TUTORIAL, "standard mask", LEVEL_HIDDEN, test))
    return list(cells)


def _row(cells: CellTable, table: str, settings: Settings, measure: str, variant: str = "") -> None:
    """A cell for every column."""
    for column in COLUMNS:
        more = {"metric": f"{measure}_{column}", "variant": variant}
        row = ROWS[settings.model.removesuffix("_level_hidden")]
        cells.add(table, row, column, settings.to_dict(), RUNS, **more)


def _variants(cells: CellTable, model: str) -> None:
    own = paper_settings(model)
    _row(cells, TABLE1, own, "sliding_mse", SLIDING)
    _row(cells, TABLE1, own, "noisy_mse", "against observations")
    _row(cells, TABLE1, tutorial_settings(model), "sliding_mse", variant_name(TUTORIAL, SLIDING))
    measures = {TABLE1: "mse"} | ({TABLE2: "spread"} if model in UNCERTAIN else {})
    for table, measure in measures.items():
        even = {"metric": f"{measure}_even", "variant": "classes count equally"}
        cells.add(table, ROWS[model], "all", own.to_dict(), RUNS, **even)
        _row(cells, table, tutorial_settings(model), measure, TUTORIAL)
    for variant, changes in (EVERYWHERE | (WINDOWED if model.endswith("_window") else {})).items():
        for scale, settings_of in (("", paper_settings), (TUTORIAL, tutorial_settings)):
            settings = settings_of(model, **changes)
            _row(cells, TABLE1, settings, "mse", variant_name(scale, variant))
            if variant in TRAININGS:
                _row(cells, TABLE1, settings, "sliding_mse", variant_name(scale, variant, SLIDING))
    for variant, changes in (WINDOW_STARTS if model.endswith("_window") else {}).items():
        options = TRAININGS[FIRST_READING]["options"] | changes["options"]
        settings = tutorial_settings(model, prefixes=False, options=options)
        _row(cells, TABLE1, settings, "mse", variant_name(TUTORIAL, FIRST_READING, variant))
    _row(cells, TABLE1, paper_settings(model, options={"scale": 1 / 20}), "mse", "x from 0 to 1.5")


CELLS = _declare()
