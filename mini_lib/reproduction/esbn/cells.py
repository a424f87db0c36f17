"""Every table and figure of the ESBN paper as cells: which networks, on which problems, trained how (A.4)."""

from mini_lib.esbn import runs
from mini_lib.esbn.runs import PAPER as PAPER, Settings, paper_settings
from mini_lib.esbn.tasks import TASKS
from mini_lib.reproduction.cells import Cell, CellTable
from mini_lib.training import TrainingRun

RUNS = 10
TABLE_OF = {
    "same_different": "esbn.table9",
    "rmts": "esbn.table10",
    "distribution_of_three": "esbn.table11",
    "identity_rules": "esbn.table12",
}
ROW_OF = {"esbn": "ESBN", "transformer": "Transformer", "ntm": "NTM", "mnm": "MNM"}
ROW_OF |= {"lstm": "LSTM", "predinet": "PrediNet", "rn": "RN"}


class _Cells(CellTable):
    """Cells of this paper."""

    def row(self, table: str, row: str, task: str, model: str, regimes=None, **changes) -> None:
        variant = changes.pop("variant", "")
        for m in regimes or TASKS[task].regimes:
            settings = paper_settings(task, m, model, **changes).to_dict()
            self.add(table, row, f"m={m}", settings, RUNS, variant=variant)


def _declare() -> list[Cell]:
    cells = _Cells()
    for task, table in TABLE_OF.items():  # Tables 9-12 (Figure 3; curves of m=0 are Figures 4 and 5)
        for model, row in ROW_OF.items():
            cells.row(table, f"{row} + TCN", task, model)
            cells.row(table, row, task, model, tcn=False)
    ternary = {"distribution_of_three": "Distribution-of-three", "identity_rules": "Identity rules"}
    for task, row in ternary.items():
        cells.row("esbn.table14", row, task, "trn")
    encoders = {"conv": "conv", "mlp": "MLP", "rand": "rand"}
    for number, task in enumerate(TABLE_OF, start=15):  # Tables 15-18 (Figure 6)
        for model in ("esbn", "transformer"):
            for encoder, label in encoders.items():
                cells.row(f"esbn.table{number}", f"{ROW_OF[model]} ({label})", task, model, encoder=encoder)
    titles = {"same_different": "Same/different", "rmts": "RMTS"} | ternary
    for task, row in titles.items():  # Table 19 (Figure 7 is its m=0 curves)
        cells.row("esbn.table19", row, task, "esbn_no_confidence")
    cells.row("esbn.table20", "Same/different", "same_different", "esbn_default_memory")
    cells.row("esbn.figure8", "RMTS", "rmts", "esbn_default_memory", regimes=(0,))
    for task, row in ternary.items():
        cells.row("esbn.table13", row, task, "rn", regimes=(0, 50, 85), train_size=100_000)
    _declare_variants(cells, ternary)
    return list(cells)


def _declare_variants(cells: _Cells, ternary: dict[str, str]) -> None:
    for task, table in TABLE_OF.items():
        cells.row(table, "ESBN + TCN", task, "esbn", images="released", variant="released images")
    balanced = {"balance": "paper", "variant": "balanced training set"}
    for model in ("esbn", "transformer", "lstm", "rn"):
        cells.row("esbn.table10", f"{ROW_OF[model]} + TCN", "rmts", model, regimes=(85,), **balanced)
    bare = {"options": {"final_norm": False}, "variant": "no final normalisation"}
    cells.row("esbn.table11", "Transformer + TCN", "distribution_of_three", "transformer", **bare)
    for task, row in ternary.items():
        cells.row("esbn.table14", row, task, "trn", options={"paper_form": True}, variant="as the paper says")


CELLS = _declare()


def build(settings: dict, seed: int) -> TrainingRun:
    """The run of a cell's or a record's settings."""
    return runs.build(Settings.from_dict(settings), seed)


def data_source(settings: dict) -> str:
    """The images of such a run, as its record names them."""
    return Settings.from_dict(settings).images
