"""What the chapters tabulate: every run beside the paper's numbers and the bounds, and errors step by step."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.functions.analysis.calibration import rows_of
from mini_lib.functions.runs import UNCERTAIN, paper_settings, tutorial_settings
from mini_lib.functions.tasks import KINDS, Curves
from mini_lib.reproduction import Cell, Records, compare, printed
from mini_lib.reproduction.functions.cells import COLUMNS, ROWS, RUNS, TABLE1, TABLE2

SETTINGS = {"paper": paper_settings, "tutorial": tutorial_settings}
TABLES = {"mse": TABLE1, "sliding_mse": TABLE1, "noisy_mse": TABLE1, "spread": TABLE2}


def rows(
    records: Records,
    measure: str = "mse",
    scale: str = "paper",
    bounds: Mapping[str, Mapping] | None = None,
    columns: Sequence[str] = COLUMNS,
) -> list[dict]:
    """A row for each network and class of curves, in the order of the paper's table.

    Args:
        records: the measured runs.
        measure: of `evaluation.evaluate`: "mse", "sliding_mse", "noisy_mse", or "spread" of relational networks.
        scale: "paper" or "tutorial".
        bounds: name -> class -> number, or `bounds.Score`; a class that a bound lacks is left out.
        columns: "lin", "rbf", "sine", "all" by the paper's weights, and "even".

    Returns:
        For each a dict of "model" and "class"; "name", the network's in the paper; "runs", every finished run's
        value, and their "seeds"; "diverged", how many did not finish; "mean" and "sem" of the runs; "paper" and
        "error", what the paper prints; "verdict"; and "bounds", name -> number. What is not there is None.

    Raises:
        UsageError: for a measure, scale or class that is not there; the nearest name is offered.
    """
    for kind, name, known in (("measure", measure, TABLES), ("scale", scale, SETTINGS)):
        if name not in known:
            raise unknown_name_error(kind, name, known)
    for column in columns:
        if column not in (*COLUMNS, "even"):
            raise unknown_name_error("class of curves", column, (*COLUMNS, "even"))
    models = UNCERTAIN if measure == "spread" else ROWS
    return [
        _row(records, model, measure, scale, bounds or {}, column) for model in models for column in columns
    ]


def _row(records: Records, model: str, measure: str, scale: str, bounds: Mapping, column: str) -> dict:
    table, settings = TABLES[measure], SETTINGS[scale](model).to_dict()
    variant = "" if scale == "paper" else scale
    cell = Cell(table, ROWS[model], column, settings, RUNS, table, f"{measure}_{column}", variant)
    (found,) = compare([cell], records)
    return {
        "model": model,
        "name": ROWS[model],
        "class": column,
        "runs": list(found.ours.values),
        "seeds": [record["seed"] for record in found.records if not record["diverged"]],
        "diverged": found.ours.diverged,
        "mean": found.ours.mean,
        "sem": found.ours.sem,
        "paper": None if found.paper is None else found.paper.mean,
        "error": None if found.paper is None else found.paper.err,
        "verdict": found.verdict,
        "bounds": {
            name: float(getattr(by_class[column], "mse", by_class[column]))
            for name, by_class in bounds.items()
            if column in by_class
        },
    }


def place_of_first(records: Records, model: str, column: str = "even") -> tuple[int, int]:
    """Where seed 1, the network for readers, stands among the tutorial runs by its error, and how many those are.

    Raises:
        UsageError: for a network or class that is not there, or one without a finished run of seed 1.
    """
    if model not in ROWS:
        raise unknown_name_error("model", model, ROWS)
    found = next(row for row in rows(records, "mse", "tutorial", None, (column,)) if row["model"] == model)
    if 1 not in found["seeds"]:
        raise UsageError(f"no finished run of {ROWS[model]!r} with seed 1 is on record at the tutorial scale")
    own = found["runs"][found["seeds"].index(1)]
    return 1 + sum(value < own for value in found["runs"]), len(found["runs"])


def printed_optimum() -> dict[str, dict[str, float]]:
    """The row "optimal" of Table 2, in the form of `bounds`."""
    entries = printed(TABLE2)
    return {"optimal": {kind: entries["optimal", kind].mean for kind in KINDS}}


def by_step(point: Float[Tensor, "B S"], curves: Curves) -> dict[str, list[float]]:
    """Mean squared error against the noiseless truth, for each class, at each step.

    Args:
        point: of a network or of any predictor; the S steps are the last points of the curves.
        curves: in the same order.

    Raises:
        UsageError: for curves that are not those.
    """
    count, steps = point.shape
    if len(curves.truth) != count or curves.truth.shape[1] <= steps:
        raise UsageError(
            f"{count} predictions of {steps} points do not belong to {len(curves.truth)} curves of "
            f"{curves.truth.shape[1]} points; give the curves that they were made from"
        )
    squares = (point.double() - curves.truth[:, -steps:].double()).square()
    return {kind: squares[rows].mean(dim=0).tolist() for kind, rows in rows_of(curves.kinds).items()}
