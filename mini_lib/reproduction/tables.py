"""What the papers report: their tables and figures by name, and the numbers in them (tables.json)."""

import json
import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mini_lib.errors import CorruptFileError, unknown_name_error

TABLES = Path(__file__).with_name("tables.json")


@dataclass(frozen=True)
class Printed:
    """A number that a paper reports."""

    mean: float  #: in `unit`.
    error: float | None  #: as reported, or None where there is none.
    error_kind: str  #: what that is, "SEM" or "SD".
    runs: int  #: how many networks are behind it.
    unit: str  #: "%", "MSE" or "SD".
    median: float | None = None  #: of these networks, where it is reported.

    @property
    def sd(self) -> float:
        """Standard deviation over runs; 0 where no error is reported."""
        return (self.error or 0.0) * (math.sqrt(self.runs) if self.error_kind == "SEM" else 1.0)

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return self.sd / math.sqrt(self.runs)

    def __str__(self) -> str:
        return f"{self.mean:g}" if self.error is None else f"{self.mean:g} ± {self.error:g}"


def load_json(path: Path, kind: type) -> Any:
    """Read a dict or list of the package, not empty; CorruptFileError names the file and says what to do."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not found or not isinstance(found, kind):
            raise ValueError(f"it should hold a {kind.__name__}")
        return found
    except (OSError, ValueError) as error:
        remedy = f"restore it, as with `git checkout {path}`, or install mini_lib again"
        raise CorruptFileError(f"{path} cannot be read ({error}): {remedy}") from error


@cache
def _tables() -> dict:
    return load_json(TABLES, dict)


@cache
def printed(table_id: str) -> dict[tuple[str, str], Printed]:
    """The numbers of a table by (row, column); entries that the paper leaves empty are left out."""
    if table_id not in _tables():
        raise unknown_name_error("table", table_id, _tables())
    table = _tables()[table_id]
    kind, runs, unit = table["error"], table["runs"], table["unit"]
    return {
        (row, column): Printed(
            entry["mean"], entry["err"], kind, entry.get("runs", runs), unit, entry.get("median")
        )
        for row, entries in table["rows"].items()
        for column, entry in entries.items()
        if entry is not None
    }


def about(table_id: str) -> dict:
    """What tables.json says of a table or figure; nothing where the paper reports no numbers in it."""
    return _tables().get(table_id, {})


def reports_numbers(paper: str) -> bool:
    """Whether a paper reports numbers that ours can be compared with."""
    return any(table.startswith(f"{paper}.") for table in _tables())


def not_compared(table_id: str) -> str:
    """Why ours of this table cannot be compared with the paper's, where that is so; else empty."""
    return about(table_id).get("not_compared", "")


def table_name(table_id: str) -> str:
    """A table's or figure's name in the paper: "Table 9" for "esbn.table9", "Figure 1D" for "kanerva.fig1d".

    One of our own has no number: "Starts" for "scan.starts".
    """
    kind, number = re.fullmatch(r"\w+\.([a-z_]+)(\d\w*)?", table_id).groups()
    return " ".join(filter(None, ("Figure" if kind == "fig" else kind.capitalize(), (number or "").upper())))


def table_order(table_id: str) -> tuple:
    """A key to sort tables by: tables before figures, each by number."""
    kind, _, number = table_name(table_id).partition(" ")
    digits = re.match(r"\d+", number)
    return kind != "Table", int(digits[0]) if digits else 0, number
