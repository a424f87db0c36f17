"""Chapters give no verdict on fewer than three runs: their cells, with runs that are made up."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from mini_lib.functions.runs import paper_settings
from mini_lib.reproduction import plotting, settings_hash
from mini_lib.reproduction.comparison import ENOUGH, TOO_FEW

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def code_with(path, phrase):
    """The one code cell of a notebook that has this phrase."""
    cells = json.loads((NOTEBOOKS / path).read_text(encoding="utf-8"))["cells"]
    (code,) = (
        text for each in cells if each["cell_type"] == "code" and phrase in (text := "".join(each["source"]))
    )
    return code


def run_of_scan(validation, tests):
    checks = [
        {"validation_accuracy": right, "test_accuracy": test}
        for right, test in zip(validation, tests, strict=True)
    ]
    return {"checks": checks, "diverged": False, "metrics": {"test_accuracy": tests[0]}, "seed": 1}


LEARNED, TRAPPED = ((100.0, 99.0), (80.0, 50.0)), ((0.0, 0.0), (0.0, 0.0))


@pytest.mark.parametrize(
    ("runs", "findings"),
    [
        (
            [LEARNED, TRAPPED],
            [
                "In 1 run that learned, accuracy on jump changes by up to 30 points",
                "in 1 of 1 run that learned",
            ],
        ),
        ([LEARNED] * 3, ["In 3 runs that learned", "in 3 of 3 runs that learned"]),
        ([TRAPPED], []),
    ],
)
def test_checkpoints_are_compared_in_runs_that_learned(monkeypatch, capsys, runs, findings):
    shown = []
    monkeypatch.setattr(plotting, "show", lambda figure, finding, caption: shown.append(finding))
    drawn = SimpleNamespace(checkpoints=len, best_and_last=len)
    records = SimpleNamespace(of=lambda digest: [run_of_scan(*run) for run in runs])
    names = {"records": records, "figures": drawn, "plotting": plotting, "np": np, "table1": []}
    names |= {"full": paper_settings("one_d"), "settings_hash": settings_hash, "told": list}
    names |= {"ENOUGH": ENOUGH, "TOO_FEW": TOO_FEW}
    for phrase in ("figures.checkpoints(", "figures.best_and_last("):
        exec(code_with("scan/3_training.ipynb", phrase), names)
    assert len(shown) == len(findings)
    trapped = runs.count(TRAPPED)
    for said, expected in zip(shown, findings, strict=True):
        assert expected in said
        assert said.endswith(f"; {trapped} run{'s' * (trapped != 1)} trapped.")
    assert (TOO_FEW in capsys.readouterr().out) == (runs.count(LEARNED) < ENOUGH)
