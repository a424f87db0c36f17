"""pyproject.toml, constraints.txt, environment.yml, the citation and the running environment say the same."""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import mini_lib
from mini_lib.reproduction.cells import PAPERS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
# Installed beside the pinned ones: the installer, the project, and what a CUDA build of torch brings along.
UNPINNED = re.compile(r"pip|wheel|setuptools|mini-lib|triton|nvidia-.*|cuda-.*|appnope|colorama|pywin.*")
LINES = re.findall(r"^([\w.-]+)==([\w.]+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
PINS = {canonicalize_name(name): version for name, version in LINES}


def direct(*extras: str) -> list[Requirement]:
    optional = PROJECT["optional-dependencies"]
    chosen = [line for extra in extras or optional for line in optional[extra]]
    return [Requirement(line) for line in PROJECT["dependencies"] + chosen]


def test_every_direct_dependency_is_pinned_within_its_bounds():
    for requirement in direct():
        assert PINS[canonicalize_name(requirement.name)] in requirement.specifier
        # Lower bounds only: a library that pins what others ship breaks them. Jupyter-book 2 is another program.
        operators = {specifier.operator for specifier in requirement.specifier}
        assert operators == {">=", "<"} if requirement.name == "jupyter-book" else {">="}, str(requirement)


def test_conda_environment_names_the_same_versions():
    """Conda writes one equals sign, its pip section two; python and pip themselves are no dependencies."""
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
    version = PROJECT["version"]
    assert mini_lib.__version__ == CITATION["version"] == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
    shown = re.findall(r"^\| `(\w+)` \| .* (\d{4}), \*(.+)\* \|", README, re.MULTILINE)
    assert {paper: title for paper, _, title in shown} == PAPERS
    assert {(str(each["year"]), each["title"]) for each in CITATION["references"]} == {
        row[1:] for row in shown
    }
    assert {*re.findall(r"(?:PyTorch |torch==)(\d[\d.]*\d)", README)} == {PINS["torch"]}
