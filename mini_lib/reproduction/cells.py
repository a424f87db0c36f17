"""What fills a table: a cell names the settings of the runs whose mean stands against the paper's number."""

from dataclasses import dataclass

from mini_lib.settings import settings_hash


@dataclass(frozen=True)
class Cell:
    """One entry of one table, or a point of a figure."""

    table: str  #: such as "esbn.table11"; its part before the dot is the paper.
    row: str  #: as printed, such as "ESBN + TCN".
    column: str  #: as printed, such as "m=95".
    settings: dict  #: of the runs that fill it; cells of several tables may share them.
    runs: int  #: how many the paper has.
    home: str  #: the records file that the runs go to, the table that declares these settings first.
    metric: str = "test_accuracy"  #: which of a record's metrics.
    variant: str = ""  #: empty, or the name of another reading than the one that fills the cell.

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return self.table.split(".")[0]

    @property
    def id(self) -> str:
        """Unique name, such as "esbn.table11/ESBN + TCN/m=95", with the variant behind it where it is one."""
        return f"{self.place}/{self.variant}" if self.variant else self.place

    @property
    def place(self) -> str:
        """The id without the variant, such as "esbn.table11/ESBN + TCN/m=95"."""
        return "/".join(part for part in (self.table, self.row, self.column) if part)

    @property
    def hash(self) -> str:
        """Of the settings."""
        return settings_hash(self.settings)


class CellTable(list[Cell]):
    """A paper's cells in order; the first table that names some settings is the home of their records."""

    def __init__(self):
        super().__init__()
        self.homes: dict[str, str] = {}

    def add(self, table: str, row: str, column: str, settings: dict, runs: int, **more) -> None:
        """Append a cell; `more` are further fields of `Cell`."""
        home = self.homes.setdefault(settings_hash(settings), table)
        self.append(Cell(table, row, column, settings, runs, home=home, **more))
