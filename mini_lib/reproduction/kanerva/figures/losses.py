"""Runs on record by row of a table."""

from collections.abc import Iterable

from mini_lib.errors import UsageError
from mini_lib.reproduction import Comparison


def by_row(comparisons: Iterable[Comparison]) -> dict[str, dict[str, Comparison]]:
    """Cells as row -> column -> comparison, in their order."""
    rows: dict[str, dict[str, Comparison]] = {}
    for each in comparisons:
        columns = rows.setdefault(each.cell.row, {})
        if each.cell.column in columns:
            raise UsageError(
                f"there are two cells {each.cell.row!r}, {each.cell.column!r}; give one scale of one table"
            )
        columns[each.cell.column] = each
    if not rows:
        raise UsageError(
            "there are no cells; give those of a table, as mini_lib.reproduction.compare returns them"
        )
    return rows
