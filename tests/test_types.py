"""What a type checker sees of `mini_lib`: a small script of a user's, and its mistakes."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

SCRIPT = """
import torch
import mini_lib
from mini_lib.training import Run

network = mini_lib.ESBN(features=8, classes=2)
reveal_type(network)  # ESBN
reveal_type(mini_lib.train)  # list[mini_lib.training.Run]
reveal_type(mini_lib.load("mine.safetensors"))  # Module
mini_lib.ESBN(feature=8)  # error: call-arg
mini_lib.ESBM(features=8)  # error: attr-defined
mini_lib.make_problems("rmts", "85", seed=1)  # error: arg-type
mini_lib.TrainingRun("sums", "sums")  # error: Too many positional


def loss(model: torch.nn.Module, batch: mini_lib.training.Batch) -> tuple[torch.Tensor, torch.Tensor]:
    error = (model(batch["x"]) - batch["y"]).square().mean()
    return error, error


def best(runs: list[Run]) -> float:
    return max(run.metrics["accuracy"] for run in runs)
"""


@pytest.mark.slow
def test_a_type_checker_knows_the_public_names_and_finds_mistakes(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--check-untyped-defs",
        "--cache-dir",
        str(tmp_path),
        str(script),
    ]
    out = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1]).stdout
    said: dict[int, str] = defaultdict(str)
    for number, text in re.findall(r"script\.py:(\d+): (.*)", out):
        said[int(number)] += text
    expected = {
        number: line.split("# ")[1].removeprefix("error: ")
        for number, line in enumerate(SCRIPT.splitlines(), start=1)
        if "# " in line
    }
    assert said.keys() == expected.keys(), out
    for number, text in expected.items():
        assert text in said[number], f"line {number} of the script: {said[number]}"
