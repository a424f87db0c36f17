"""What the chapters tabulate: every run beside the paper's numbers and the bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mini_lib.errors import UsageError, check_names
from mini_lib.functions.tasks import KINDS
from mini_lib.reproduction import Records, compare, printed
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.functions.cells import (
    CELLS,
    COLUMNS,
    ROWS,
    SLIDING,
    TABLE1,
    TABLE2,
    variant_name,
)

SCALES = ("paper", TUTORIAL)
MEASURES = {"mse": (TABLE1, ""), "sliding_mse": (TABLE1, SLIDING), "spread": (TABLE2, "")}


def check_scale(scale: str) -> None:
    """UsageError unless this is one of `SCALES`."""
    check_names("scale", [scale], SCALES)


def rows(
    records: Records,
    measure: str = "mse",
    scale: str = "paper",
    bounds: Mapping[str, Mapping] | None = None,
    columns: Sequence[str] = COLUMNS,
) -> list[dict]:
    """A row for each network and class of curves ("even" too, if asked for), in the order of the paper's table.

    Measured are "mse", "sliding_mse", or "spread" of relational networks (see `evaluation.evaluate`), at the scale
    "paper" or "tutorial". Bounds are name -> class -> number, or `bounds.Score`; a class that one lacks is left out.

    Returns:
        For each a dict of "model" and "class"; "name", the network's in the paper; "runs", every finished run's
        value, and their "seeds"; "diverged", how many did not finish; "mean" and "sem" of the runs; "paper" and
        "error", what the paper prints; "verdict"; and "bounds", name -> number. What is not there is None.
    """
    check_names("measure", [measure], MEASURES)
    check_scale(scale)
    check_names("class of curves", columns, (*COLUMNS, "even"))
    table, reading = MEASURES[measure]
    variant = variant_name(scale.removeprefix("paper"), reading)
    # One cell of each network; its runs measure all columns, "even" too, which is no column of the table.
    own = [cell for cell in CELLS if (cell.table, cell.column, cell.variant) == (table, "lin", variant)]
    cells = [replace(cell, column=name, metric=f"{measure}_{name}") for cell in own for name in columns]
    models = {row: model for model, row in ROWS.items()}
    return [
        {
            "model": models[each.cell.row],
            "name": each.cell.row,
            "class": each.cell.column,
            "runs": list(each.ours.values),
            "seeds": [record["seed"] for record in each.records if not record["diverged"]],
            "diverged": each.ours.diverged,
            "mean": each.ours.mean,
            "sem": each.ours.sem,
            "paper": None if each.paper is None else each.paper.mean,
            "error": None if each.paper is None else each.paper.err,
            "verdict": each.verdict,
            "bounds": _numbers(bounds or {}, each.cell.column),
        }
        for each in compare(cells, records)
    ]


def _numbers(bounds: Mapping[str, Mapping], column: str) -> dict[str, float]:
    """What each bound is for a class; a `bounds.Score` counts by its mean."""
    values = {name: by_class[column] for name, by_class in bounds.items() if column in by_class}
    return {name: float(getattr(value, "mse", value)) for name, value in values.items()}


def place_of_first(records: Records, model: str, column: str = "even") -> tuple[int, int]:
    """Where seed 1, the trained network that comes along, stands by its error among how many tutorial runs."""
    check_names("model", [model], ROWS)
    row = next(row for row in rows(records, scale=TUTORIAL, columns=(column,)) if row["model"] == model)
    if 1 not in row["seeds"]:
        raise UsageError(f"no finished run of {ROWS[model]!r} with seed 1 is on record at the tutorial scale")
    own = row["runs"][row["seeds"].index(1)]
    return 1 + sum(value < own for value in row["runs"]), len(row["runs"])


def printed_optimum() -> dict[str, dict[str, float]]:
    """The row "optimal" of Table 2, in the form of `bounds`."""
    entries = printed(TABLE2)
    return {"optimal": {kind: entries["optimal", kind].mean for kind in KINDS}}
