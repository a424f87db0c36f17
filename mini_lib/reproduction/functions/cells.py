"""Both tables of the function-learning paper as cells: which networks, on which curves, trained how."""

from mini_lib.functions.models import (
    MODELS,
)
from mini_lib.functions.runs import PAPER as PAPER
from mini_lib.functions.runs import UNCERTAIN, Settings, paper_settings, tutorial_settings
from mini_lib.functions.runs import build as build
from mini_lib.functions.runs import data_source as data_source
from mini_lib.reproduction.cells import BenchCase, Cell, CellTable
from mini_lib.reproduction.comparison import TUTORIAL

TITLE = "Beyond Transformers for Function Learning"
TABLE1, TABLE2 = "functions.table1", "functions.table2"
COLUMNS = ("all", "lin", "rbf", "sine")
RUNS = 3
ROWS = {
    "one_d": "1d transformer",
    "one_d_window": "1d transformer, learned window",
    "relational": "relational transformer",
    "relational_window": "relational transformer, learned window",
}


class _Cells(CellTable):
    """Cells of this paper."""

    def row(self, table: str, settings: Settings, measure: str, variant: str = "") -> None:
        """A cell for every column."""
        for column in COLUMNS:
            self.add(
                table,
                ROWS[settings.model],
                column,
                settings.to_dict(),
                RUNS,
                metric=f"{measure}_{column}",
                variant=variant,
            )


WINDOWED = {
    "window starts at 3": {"options": {"length": 3.0}},
    "window starts at 30": {"options": {"length": 30.0}},
    "window learns 10 times faster": {"options": {"window_rate": 10.0}},
    "gate after the softmax": {"options": {"gate": "post"}},
}
EVERYWHERE = {
    "strict mask": {"options": {"mask": "strict"}},
    "no mask": {"options": {"mask": "none"}},
    "trained on every prefix": {"prefixes": True},
}


def _declare() -> list[Cell]:
    cells = _Cells()
    for model in MODELS:
        cells.row(TABLE1, paper_settings(model), "mse")
    for model in UNCERTAIN:
        cells.row(TABLE2, paper_settings(model), "spread")
    for model in MODELS:
        _declare_variants(cells, model)
    return list(cells)


def _declare_variants(cells: _Cells, model: str) -> None:
    own = paper_settings(model)
    cells.row(TABLE1, own, "sliding_mse", "sliding context")
    cells.row(TABLE1, own, "noisy_mse", "against observations")
    cells.row(TABLE1, tutorial_settings(model), "sliding_mse", f"{TUTORIAL}, sliding context")
    measures = {TABLE1: "mse"} | ({TABLE2: "spread"} if model in UNCERTAIN else {})
    for table, measure in measures.items():
        even = {"metric": f"{measure}_even", "variant": "classes count equally"}
        cells.add(table, ROWS[model], "all", own.to_dict(), RUNS, **even)
        cells.row(table, tutorial_settings(model), measure, TUTORIAL)
    for variant, changes in (EVERYWHERE | (WINDOWED if MODELS[model][1] else {})).items():
        cells.row(TABLE1, paper_settings(model, **changes), "mse", variant)
        cells.row(TABLE1, tutorial_settings(model, **changes), "mse", f"{TUTORIAL}, {variant}")
    cells.row(TABLE1, paper_settings(model, options={"scale": 1 / 20}), "mse", "x from 0 to 1.5")


CELLS = _declare()


def bench_cases() -> list[BenchCase]:
    """Every network with the paper's settings; no code of the authors is public."""
    return [BenchCase(model, "N=20", paper_settings(model).to_dict(), None, 5, False) for model in MODELS]
