"""Entries of tables: each names the settings of the runs whose mean is compared with the paper's number."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType

from mini_lib.errors import CorruptFileError, UsageError, check_names, unknown_name_error
from mini_lib.hashing import settings_hash
from mini_lib.reproduction.tables import load_json

PAPERS = {
    "esbn": "Emergent Symbols through Binding in External Memory",
    "scan": "Systematicity in a Recurrent Neural Network by Factorizing Syntax and Semantics",
    "functions": "Beyond Transformers for Function Learning",
    "kanerva": "Product Kanerva Machines: Factorized Bayesian Memory",
}
STUDIES = {"grid": "One grid: a study of our own"}
ENTRIES = Path(__file__).with_name("entries.json")  # made by tools/entries.py
TUTORIAL = "tutorial"  # the variant of small networks, and the scale of their records


def size_and_name(variant: str) -> tuple[str, str]:
    """The scale of a variant, and its name without it: "tutorial" and "no mask" of "tutorial, no mask"."""
    first, _, rest = variant.partition(", ")
    return (TUTORIAL, rest) if first == TUTORIAL else ("paper", variant)


@dataclass(frozen=True)
class Cell:
    """One entry of one table, or a point of a figure."""

    table: str  #: such as "esbn.table11"; its part before the dot is the paper.
    row: str  #: as in the paper, such as "ESBN + TCN".
    column: str  #: as in the paper, such as "m=95".
    settings: dict  #: of the runs that fill it; entries of several tables may share them.
    runs: int  #: how many the paper has.
    file: str  #: the records file of the runs: the table that declares these settings first.
    metric: str = "test_accuracy"  #: which of a record's metrics.
    variant: str = ""  #: which other networks, task or interpretation it has than the paper's entry, if any.

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return self.table.split(".")[0]

    @property
    def id(self) -> str:
        """Unique name, such as "esbn.table11/ESBN + TCN/m=95", with the variant behind it where there is one."""
        return f"{self.place}/{self.variant}" if self.variant else self.place

    @property
    def place(self) -> str:
        """The id without the variant, such as "esbn.table11/ESBN + TCN/m=95"."""
        return "/".join(part for part in (self.table, self.row, self.column) if part)

    @property
    def scale(self) -> str:
        """The scale of the records that fill it."""
        return size_and_name(self.variant)[0]

    @property
    def interpretation(self) -> str:
        """The variant without its size: "no mask" of "no mask" and of "tutorial, no mask"."""
        return size_and_name(self.variant)[1]

    @cached_property
    def hash(self) -> str:
        """Of the settings."""
        return settings_hash(self.settings)


class CellTable(list[Cell]):
    """A paper's entries in order; the first table that names some settings names the file of their records."""

    def __init__(self):
        super().__init__()
        self.files: dict[str, str] = {}

    def add(self, table: str, row: str, column: str, settings: dict, runs: int, **more) -> None:
        """Append an entry; `more` are further fields of `Cell`."""
        file = self.files.setdefault(settings_hash(settings), table)
        self.append(Cell(table, row, column, settings, runs, file=file, **more))


@cache
def cells_of(paper: str) -> tuple[Cell, ...]:
    """All entries of a paper or a study, as its module declares them; PyTorch is not loaded for it."""
    check_names("paper", [paper], [*PAPERS, *STUDIES])
    stored = load_json(ENTRIES, dict).get(paper)
    if stored is None:
        raise CorruptFileError(f"entries.json has no {paper}; run `python tools/entries.py`")
    return tuple(
        Cell(table, row, column, stored["settings"][number], runs, file, metric, variant)
        for number, table, row, column, variant, metric, runs, file in stored["entries"]
    )


def paper_module(paper: str) -> ModuleType:
    """The `cells` module of a paper: CELLS, `build(settings, seed)` and `data_source(settings)`."""
    return import_module(f"mini_lib.reproduction.{paper}.cells")


def select(what: str | None = None, variants: Iterable[str] | None = None) -> list[Cell]:
    """The entries of a paper, a table, a claim (those that decide it, of every variant), or one entry by its id.

    Without a name, those of all papers. UsageError on unknown names.
    """
    from mini_lib.reproduction.claims import load_claims

    paper = (what or "").split(".")[0]
    known = [*PAPERS, *STUDIES]
    cells = [cell for each in ([paper] if paper in known else PAPERS) for cell in cells_of(each)]
    claims = {claim.id: claim for claim in load_claims()}
    tables = dict.fromkeys(cell.table for cell in cells)
    if what and "/" in what:
        check_names("entry", [what], [cell.id for cell in cells])
        cells = [cell for cell in cells if cell.id == what]
    elif what in claims:
        decided = claims[what].cells()
        cells = [cell for cell in cells if cell.place in decided]
    elif what in tables:
        cells = [cell for cell in cells if cell.table == what]
    elif what not in (None, *known):
        error = unknown_name_error("paper, table or claim", what, [*known, *tables, *claims])
        said = str(error).partition(" known:")[0]
        raise UsageError(f"{said} `mini-lib list` shows the tables, `mini-lib claims` the claims")
    return narrow(cells, variant=variants)


def narrow(cells: Iterable[Cell], **wanted: Iterable[str] | None) -> list[Cell]:
    """The entries whose table, row, column or variant is among those wanted; UsageError for unknown names."""
    cells = list(cells)
    for field, names in wanted.items():
        if names:
            known = dict.fromkeys(getattr(cell, field) for cell in cells)
            if field == "variant" and TUTORIAL in known:
                known["small"] = None  # as commands call it
                names = [TUTORIAL if name == "small" else name for name in names]
            check_names(field, [name for name in names if name], filter(None, known))
            cells = [cell for cell in cells if getattr(cell, field) in names]
    return cells
