"""What `import mini_lib` offers: at once, by name, each with an example that runs (as a doctest), and typed."""

import inspect
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import mini_lib
from mini_lib.reproduction.cells import PAPERS, STUDIES

ROOT = Path(__file__).parents[1]


def test_every_name_is_there_with_an_example():
    """An example of the file will do where several networks are called alike."""
    no_examples = {*PAPERS, *STUDIES, "TRAINED", "UsageError"}
    for name in mini_lib.__all__:
        offered = getattr(mini_lib, name)
        assert name in no_examples or ">>>" in inspect.getsource(sys.modules[offered.__module__]), name


def test_nothing_heavy_is_loaded_until_it_is_asked_for_and_a_wrong_name_is_answered():
    code = "import sys, mini_lib; assert 'torch' not in sys.modules; mini_lib.ESBM"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert "AttributeError: No mini_lib attribute ESBM. Did you mean: 'ESBN'?" in answer


SCRIPT = """
import torch
import mini_lib

network = mini_lib.ESBN(features=8, classes=2)
reveal_type(network)  # ESBN
reveal_type(mini_lib.train)  # list[mini_lib.training.Run]
reveal_type(mini_lib.load("mine.safetensors"))  # Module
mini_lib.ESBN(feature=8)  # error: call-arg
mini_lib.ESBM(features=8)  # error: attr-defined
mini_lib.make_problems("rmts", "85", seed=1)  # error: arg-type
mini_lib.TrainingRun("sums", "sums")  # error: Too many positional
"""


@pytest.mark.slow
def test_a_type_checker_knows_the_public_names_and_finds_mistakes(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    options = ["--check-untyped-defs", "--cache-dir", str(tmp_path), str(tmp_path / "script.py")]
    command = [sys.executable, "-m", "mypy", *options]
    out = subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout
    said = defaultdict(str)
    for number, text in re.findall(r"script\.py:(\d+): (.*)", out):
        said[int(number)] += text
    lines = enumerate(SCRIPT.splitlines(), start=1)
    expected = {number: line.split("# ")[1].removeprefix("error: ") for number, line in lines if "# " in line}
    assert said.keys() == expected.keys(), out
    assert not [said[number] for number, text in expected.items() if text not in said[number]]
