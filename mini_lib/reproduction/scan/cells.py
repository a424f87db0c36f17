"""Both tables of the SCAN paper as cells: which networks, on which splits, trained how."""

from mini_lib.reproduction.cells import Cell, CellTable
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.scan import starts
from mini_lib.scan import runs
from mini_lib.scan.runs import PAPER as PAPER, Settings, paper_settings, tutorial_settings
from mini_lib.training import TrainingRun

TABLE1, TABLE2 = "scan.table1", "scan.table2"
COLUMNS = {"add_jump": "Add jump", "add_turn_left": "Add turn left", "length": "Length", "simple": "Simple"}
RUNS, STARRED_RUNS = 5, 25
STARTS = "scan.starts"  # a table of ours: how many runs are trapped, after how many updates
LOOKS = (300, 1500, 4000)  # updates
STARTED = 30  # runs


class _Cells(CellTable):
    """Cells of this paper."""

    def cell(self, table: str, row: str, settings: Settings, runs: int = RUNS, **more) -> None:
        """One cell; on add-jump the paper's own network has 25 runs."""
        self.add(table, row, COLUMNS[settings.split], settings.to_dict(), runs, **more)


def runs_of(split: str) -> int:
    """Runs of Syntactic Attention: 25 on add-jump, else 5."""
    return STARRED_RUNS if split == "add_jump" else RUNS


TABLE2_ROWS = {
    "Sequential semantics": {"sequential_semantics": True},
    "Syntax-action": {"syntax_action": True},
    "Syntactic Attention": {},
    "Nonlinear semantics": {"nonlinear_semantics": True},
}
OTHER_ROWS = {
    "Li et al. (2019)": ("li", {}),
    "CNN": ("cnn", {}),
    "GRU + attn": ("gru_attention", {}),
    "GRU + attn - dep": ("gru_attention", {"dependency": False}),
}
OTHER_FORMS = {
    "neighbours at the top": {"surrounding": "top"},
    "ends are zero": {"ends": "zero"},
    "ends hear their neighbour": {"ends": "neighbour"},
    "one-hot syntax": {"one_hot": True},
}
SMALL_FORMS = {name: options for name, options in OTHER_FORMS.items() if name != "one-hot syntax"}


def _declare() -> list[Cell]:
    cells = _Cells()
    row = "Syntactic Attention"
    for split in COLUMNS:
        cells.cell(TABLE1, row, paper_settings(split), runs_of(split))
    for split in ("add_jump", "add_turn_left"):
        for name, options in TABLE2_ROWS.items():
            runs = RUNS if options else runs_of(split)
            cells.cell(TABLE2, name, paper_settings(split, options=options), runs)
    sequential = TABLE2_ROWS["Sequential semantics"]  # 99.3 % in the text
    cells.cell(TABLE2, "Sequential semantics", paper_settings("simple", options=sequential))
    for split in COLUMNS:
        for name, (model, options) in OTHER_ROWS.items():
            if model == "cnn" and split in ("length", "add_turn_left"):
                continue  # Table 1 leaves these empty
            cells.cell(TABLE1, name, paper_settings(split, model, options=options))
    _declare_variants(cells, row)
    start = starts.Start(LOOKS).to_dict()
    for look in LOOKS:
        for name, metric in (("trapped", "trapped"), ("on an end", "on_an_end"), ("loss", "loss")):
            cells.add(STARTS, row, f"{name}, update {look:,}", start, STARTED, metric=f"{metric}_{look}")
    return list(cells)


def _declare_variants(cells: _Cells, row: str) -> None:
    last = {"metric": "last_test_accuracy", "variant": "last checkpoint"}
    for split in COLUMNS:
        cells.cell(TABLE1, row, paper_settings(split), runs_of(split), **last)
        cells.cell(TABLE1, row, paper_settings(split, source="released"), variant="released files")
    for name, options in TABLE2_ROWS.items():
        if options:
            cells.cell(TABLE2, name, paper_settings("add_jump", options=options), **last)
    cells.cell(TABLE1, row, paper_settings("length", validation="random"), variant="random validation set")
    cells.cell(TABLE1, row, paper_settings("add_jump", clip=5.0), variant="gradients clipped")
    for variant, options in OTHER_FORMS.items():
        cells.cell(TABLE1, row, paper_settings("add_jump", options=options), variant=variant)
    for variant, options in SMALL_FORMS.items():
        settings = tutorial_settings(options=options)
        cells.cell(TABLE1, row, settings, STARRED_RUNS, variant=f"{TUTORIAL}, {variant}")
    cells.cell(TABLE1, row, tutorial_settings(), STARRED_RUNS, variant=TUTORIAL)
    for name, options in TABLE2_ROWS.items():
        cells.cell(TABLE2, name, tutorial_settings(options=options), STARRED_RUNS, variant=TUTORIAL)


CELLS = _declare()


def build(settings: dict, seed: int) -> TrainingRun:
    """One run from the settings of a cell; see `runs.build` and `starts.build`."""
    if "looks" in settings:
        return starts.build(settings, seed)
    return runs.build(Settings.from_dict(settings), seed)


def data_source(settings: dict) -> str:
    """Which commands a run saw, as its record says it."""
    if "looks" in settings:
        settings = paper_settings("add_jump").to_dict()
    return Settings.from_dict(settings).source
