"""What `import mini_lib` offers, with examples and types; and the files that say what it needs agree."""

import inspect
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import mini_lib
from mini_lib.reproduction.cells import PAPERS, STUDIES

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Installed beside the pinned ones: the installer, the project, and what a CUDA build of torch brings along.
UNPINNED = re.compile(r"pip|wheel|setuptools|mini-lib|triton|nvidia-.*|cuda-.*|appnope|colorama|pywin.*")
LINES = re.findall(r"^([\w.-]+)==([\w.]+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
PINS = {canonicalize_name(name): version for name, version in LINES}


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
import mini_lib

network = mini_lib.ESBN(features=8, classes=2)
reveal_type(network)  # ESBN
reveal_type(mini_lib.train)  # list[mini_lib.training.Run]
reveal_type(mini_lib.load)  # pathlib.Path
mini_lib.ESBN(feature=8)  # error: call-arg
mini_lib.ESBM(features=8)  # error: attr-defined
mini_lib.make_problems("rmts", "85", seed=1)  # error: arg-type
mini_lib.TrainingRun("sums", "sums")  # error: Too many positional
"""


TYPES = """
[mypy]
check_untyped_defs = True
[mypy-torch.*,numpy.*]  # whose own types take four times as long
follow_imports = skip
"""


@pytest.mark.slow
def test_a_type_checker_knows_the_public_names_and_finds_mistakes(tmp_path: Path):
    script, config = tmp_path / "script.py", tmp_path / "mypy.ini"
    script.write_text(SCRIPT)
    config.write_text(TYPES)
    command = [sys.executable, "-m", "mypy", script, "--config-file", config, "--cache-dir", tmp_path]
    out = subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout
    said = defaultdict(str)
    for number, text in re.findall(r"script\.py:(\d+): (.*)", out):
        said[int(number)] += text
    lines = enumerate(SCRIPT.splitlines(), start=1)
    expected = {number: line.split("# ")[1].removeprefix("error: ") for number, line in lines if "# " in line}
    assert said.keys() == expected.keys(), out
    assert not [said[number] for number, text in expected.items() if text not in said[number]]


def direct(*extras: str) -> list[Requirement]:
    optional = PROJECT["optional-dependencies"]
    return [Requirement(line) for line in sum((optional[extra] for extra in extras), PROJECT["dependencies"])]


def test_every_direct_dependency_is_pinned_within_its_bounds_also_for_conda():
    """Conda writes one equals sign, its pip section two; python and pip themselves are no dependencies."""
    for requirement in direct(*PROJECT["optional-dependencies"]):
        assert PINS[canonicalize_name(requirement.name)] in requirement.specifier
        # Lower bounds only: a library that pins what others ship breaks them. Jupyter-book 2 is another program.
        operators = {specifier.operator for specifier in requirement.specifier}
        assert operators == {">=", "<"} if requirement.name == "jupyter-book" else {">="}, str(requirement)
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    lines = [line for entry in entries for line in (entry["pip"] if isinstance(entry, dict) else [entry])]
    pairs = [re.split("=+", line) for line in lines if not re.match(r"-e |pip$|python=", line)]
    conda = {canonicalize_name(name): version for name, version in pairs}
    names = {canonicalize_name(requirement.name) for requirement in direct("dev")}
    assert conda == {{"torch": "pytorch"}.get(name, name): PINS[name] for name in names}


def test_what_is_installed_is_what_the_constraints_say():
    if (Path(sys.prefix) / "conda-meta").is_dir():
        pytest.skip("a conda environment: only its direct dependencies are pinned")
    own = [folder for folder in sys.path if "_vendor" not in folder]  # which setuptools brings along
    found = {canonicalize_name(d.metadata["Name"]): d.version for d in metadata.distributions(path=own)}
    public = {name: version.partition("+")[0] for name, version in found.items()}
    assert not {item for item in public.items() - PINS.items() if not UNPINNED.fullmatch(item[0])}


def test_the_version_stands_everywhere_and_every_paper_is_cited():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert mini_lib.__version__ == citation["version"] == PROJECT["version"]
    assert f"## {mini_lib.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    shown = re.findall(r"^\| `(\w+)` \| .* (\d{4}), \*(.+)\* \|", readme, re.MULTILINE)
    assert {paper: title for paper, _, title in shown} == PAPERS
    cited = {(str(each["year"]), each["title"]) for each in citation["references"]}
    assert cited == {row[1:] for row in shown}
    assert {*re.findall(r"(?:PyTorch |torch==)(\d[\d.]*\d)", readme)} == {PINS["torch"]}
