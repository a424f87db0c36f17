"""Chapters give no verdict on fewer than three runs: their cells, with runs that are made up."""

import json
import math
from pathlib import Path

import pytest

from mini_lib.functions.runs import paper_settings
from mini_lib.functions.tasks import KINDS
from mini_lib.reproduction import Records, settings_hash
from mini_lib.reproduction.comparison import ENOUGH, TOO_FEW, Comparison, Measured
from mini_lib.reproduction.functions import figures as function_figures
from mini_lib.reproduction.functions import tables
from mini_lib.reproduction.functions.cells import ROWS
from mini_lib.reproduction.kanerva import figures as kanerva_figures
from mini_lib.settings import run_key
from reproduction.samples import cell

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def code_with(path, phrase):
    """The one code cell of a notebook that has this phrase."""
    cells = json.loads((NOTEBOOKS / path).read_text(encoding="utf-8"))["cells"]
    (code,) = (
        text for each in cells if each["cell_type"] == "code" and phrase in (text := "".join(each["source"]))
    )
    return code


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((20.0, 20.1, 20.2), "does dividing by class pay in these runs? yes"),
        ((40.0, 40.1, 40.2), "does dividing by class pay in these runs? no"),
        ((30.0, 28.0, 32.0), "does dividing by class pay in these runs? nobody can tell"),
        ((20.0, 20.1), "without a place: k = 2, machine given, too few runs"),
        ((), "without a place: k = 2, machine given, not run"),
    ],
)
def test_the_given_machine_is_judged_on_three_runs(capsys, given, said):
    runs = {"k = 1": (30.0, 30.1, 30.2), "k = 2": (50.0, 50.1, 50.2), "k = 2, machine given": given}
    losses = [
        Comparison(cell("kanerva.fig2c", row, "loss"), None, Measured(values)) for row, values in runs.items()
    ]
    names = {"with_given": lambda: losses, "figures": kanerva_figures, "math": math}
    names |= {"ENOUGH": ENOUGH, "TOO_FEW": TOO_FEW}
    exec(code_with("kanerva/3_binding.ipynb", "does dividing by class pay"), names)
    out = capsys.readouterr().out
    assert said in out
    assert ("does dividing" in out) == ("machine given" in out.splitlines()[0]) == (len(given) >= ENOUGH)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_readings_of_table_1_say_how_many_runs_they_rest_on(tmp_path, capsys, count):
    stored, made = Records(), Records(tmp_path)
    for model in ("one_d", "one_d_window"):
        settings = paper_settings(model).to_dict()
        first = stored.of(settings_hash(settings))[0]
        for seed in range(1, count + 1):
            made.add(first | {"seed": seed, "key": run_key(settings, seed)}, "functions.table1")
    names = {"records": made, "tables": tables, "figures": function_figures, "ROWS": ROWS, "KINDS": KINDS}
    names |= {"ENOUGH": ENOUGH, "TOO_FEW": TOO_FEW, "settings_hash": settings_hash}
    exec(
        code_with("functions/5_what_bounds.ipynb", "started at 10"),
        names | {"paper_settings": paper_settings},
    )
    out = capsys.readouterr().out
    word = "enough for verdicts" if count >= ENOUGH else TOO_FEW
    assert f"1d, window          {count} finished: {word}\n" in out
    assert "relational          0 finished: not run\n" in out
    assert (f"1d, window less 1d, growing context, {TOO_FEW}:" in out) == (count < ENOUGH)
