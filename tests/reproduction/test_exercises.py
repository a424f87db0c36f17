"""Exercises: what a chapter asks has starter code, a check, and a stored solution that the check accepts."""

import json
import re
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch

from mini_lib.errors import UsageError
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.reproduction import exercises
from mini_lib.reproduction.esbn.exercises import EXERCISES as ESBN
from mini_lib.reproduction.functions.exercises import EXERCISES as FUNCTIONS
from mini_lib.reproduction.grid.exercises import EXERCISES as GRID
from mini_lib.reproduction.kanerva.exercises import EXERCISES as KANERVA, one_memory, own_parts
from mini_lib.reproduction.scan.exercises import EXERCISES as SCAN
from reproduction.wrong_answers import esbn, functions, grid, kanerva, scan

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
ALL = {**ESBN, **SCAN, **FUNCTIONS, **KANERVA, **GRID}
WRONG = {
    name: answers for part in (esbn, scan, functions, kanerva, grid) for name, answers in part.WRONG.items()
}


def cells(tag: str) -> dict[str, str]:
    """What a cell with that tag prints first, by the name of its exercise."""
    found = {}
    for path in sorted(NOTEBOOKS.rglob("*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            if tag in cell["metadata"].get("tags", []):
                (name,) = re.findall(r'check\(\s*"(\w+ [\d.]+)"', "".join(cell["source"]))
                assert name not in found, f"{name} has two cells {tag}"
                assert name.split()[0] == path.parent.name, f"{name} stands in another paper's chapter"
                assert path.name.startswith(name.split()[1].split(".")[0] + "_"), f"{name}: another chapter"
                printed = "".join(out.get("text", [""])[0] for out in cell["outputs"] if "text" in out)
                found[name] = printed.splitlines()[0]
    return found


def test_every_exercise_has_starter_code_and_a_solution_in_its_chapter():
    assert cells("exercise") == dict.fromkeys(ALL, "○ Not written yet.")
    assert cells("solution") == dict.fromkeys(ALL, "✓ Right.")


def test_wrong_answers_are_of_exercises():
    assert WRONG.keys() == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_wrong_answers_do_not_pass_and_get_a_hint(name, capsys):
    assert WRONG[name], "give an answer that must not pass"
    for answer in WRONG[name]:
        exercises.check(name, answer)
        assert re.match(r"✗ Not yet: .+[.?]\n$", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        (
            "kanerva 1.2",
            lambda R, Z, W, eta: [
                each.numpy()
                for each in one_memory(R.double(), torch.eye(len(R[0])).double(), Z.double(), W.double(), eta)
            ],
        ),
        ("kanerva 2.3", lambda columns: (torch.linalg.qr(columns).Q * columns.norm(dim=0)).double()),
        ("kanerva 2.3", lambda columns: np.linalg.qr(columns.numpy())[0] * columns.norm(dim=0).numpy()),
        ("kanerva 2.4", lambda R, Z, rounds: own_parts(R, Z, rounds).double().numpy()),
        ("functions 1.4", lambda network, y, steps: extrapolate(network, y, steps, "sliding").point.double()),
        ("esbn 2.5", lambda z: -z.double()),
        ("esbn 2.5", lambda z: z.numpy()[:, :, ::-1]),
        ("esbn 3.5", lambda *given: np.float32(apart(*given))),
        ("esbn 3.5", lambda *given: torch.tensor(apart(*given))),
        ("scan 3.2", lambda rows: [(abs(f(rows, 1) - f(rows)) > 10).mean() for f in (np.mean, np.median)]),
        (
            "scan 3.2",
            lambda rows: np.array([(abs(f(rows, 1) - f(rows)) > 10).mean() for f in (np.mean, np.median)]),
        ),
    ],
)
def test_a_right_answer_passes_in_whatever_type_its_numbers_are_kept(name, answer, capsys):
    exercises.check(name, answer)
    assert capsys.readouterr().out == "✓ Right.\n"


def apart(mean, error, values):
    """The right answer of exercise 5 of ESBN's chapter 3."""
    return abs(np.mean(values) - mean) / np.hypot(error, np.std(values, ddof=1) / len(values) ** 0.5)


def test_a_gate_may_be_opened_by_another_module(capsys):
    class Open(torch.nn.Module):
        def forward(self, h):
            return torch.full((*h.shape[:-1], 1), 99.0)

    def opened(network):
        copy = deepcopy(network)
        copy.core.gate = Open()
        return copy

    exercises.check("esbn 2.2", opened)
    assert capsys.readouterr().out == "✓ Right.\n"


def test_what_is_not_written_and_what_fails_is_told(capsys):
    def unwritten(*_):
        raise NotImplementedError

    exercises.check("scan 4.5", unwritten)
    assert capsys.readouterr().out == "○ Not written yet.\n"
    exercises.check("scan 4.5", lambda *_: 1 / 0)
    assert capsys.readouterr().out == "✗ Your code stopped: ZeroDivisionError: division by zero\n"


@pytest.mark.parametrize("name", ALL)
def test_an_answer_of_another_form_is_not_called_a_fault_of_the_readers_code(name, capsys):
    exercises.check(name, lambda *a, **k: None)
    assert re.match("✗ (Not yet|Your answer has a form that I cannot read): .+\n", capsys.readouterr().out)
    for called in (5, torch.nn.Linear(1, 1)):
        exercises.check(name, called)
        assert capsys.readouterr().out == "✗ Not yet: give the function itself, without parentheses.\n"


def test_a_forgotten_return_is_named(capsys):
    exercises.check("scan 5.1", lambda *a: None)
    assert capsys.readouterr().out == "✗ Not yet: return something; your function returned None.\n"


def test_an_error_in_a_function_or_a_generator_that_is_returned_is_the_readers_own(capsys):
    for name, answer in (
        ("esbn 4.5", lambda ids: lambda t, keys: 1 / 0),
        ("scan 4.2", lambda network, commands: (1 / 0 for _ in commands)),
    ):
        exercises.check(name, answer)
        assert capsys.readouterr().out == "✗ Your code stopped: ZeroDivisionError: division by zero\n"


@pytest.mark.parametrize("name", ["scan 4.99", "skan 4.1", "", " "])
def test_an_exercise_that_does_not_exist_is_told(name):
    with pytest.raises(UsageError):
        exercises.check(name, None)
