"""pyproject.toml, constraints.txt, environment.yml and the running environment say the same."""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
# Installed beside the pinned ones: the installer, the project, and what a CUDA build of torch brings along.
UNPINNED = re.compile(r"pip|wheel|mini-lib|triton|nvidia-.*|cuda-.*|appnope|colorama|pywin.*")


def pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def direct(*extras: str) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    chosen = [line for extra in extras or optional for line in optional[extra]]
    return [Requirement(line) for line in project["dependencies"] + chosen]


def conda() -> dict[str, Version]:
    """Conda writes one equals sign, its pip section two; python and pip themselves are no dependencies."""
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    lines = [line for entry in entries for line in (entry["pip"] if isinstance(entry, dict) else [entry])]
    pairs = [re.split("=+", line) for line in lines if not re.match(r"-e |pip$|python=", line)]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def installed() -> dict[str, Version]:
    own = [
        folder for folder in sys.path if "_vendor" not in folder
    ]  # setuptools brings copies, once imported
    found = metadata.distributions(path=own)
    return {canonicalize_name(d.metadata["Name"]): Version(Version(d.version).public) for d in found}


def test_every_direct_dependency_is_pinned_within_its_bounds():
    pinned = pins()
    for requirement in direct():
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{name} is in pyproject.toml but not in constraints.txt"
        assert pinned[name] in requirement.specifier, f"{name} {pinned[name]} is outside its bounds"
        # Lower bounds only: a library that pins what others ship breaks them. Jupyter-book 2 is another program.
        operators = {specifier.operator for specifier in requirement.specifier}
        bounded = requirement.name == "jupyter-book"
        assert operators == ({">=", "<"} if bounded else {">="}), str(requirement)


def test_conda_environment_names_the_same_versions():
    pinned = pins()
    names = {canonicalize_name(requirement.name) for requirement in direct("dev")}
    assert conda() == {{"torch": "pytorch"}.get(name, name): pinned[name] for name in names}


def test_constraints_are_exact_sorted_and_unique():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9.]+", line) for line in lines), lines
    names = [canonicalize_name(line.split("==")[0]) for line in lines]
    assert names == sorted(set(names))


def test_running_environment_equals_the_constraints():
    if (Path(sys.prefix) / "conda-meta").is_dir():
        pytest.skip("a conda environment: only its direct dependencies are pinned")
    pinned = pins()
    here = {name: version for name, version in installed().items() if not UNPINNED.fullmatch(name)}
    here.pop("setuptools", None)  # of the build, not of the library; a new venv brings its own
    wrong = {
        name: f"{here[name]}, pinned {pinned.get(name)}" for name in here if pinned.get(name) != here[name]
    }
    assert not wrong, f"run `make` in a fresh .venv: {wrong}"
    missing = {canonicalize_name(requirement.name) for requirement in direct("dev")} - set(here)
    assert not missing, f"not installed: {missing}"


def test_package_and_citation_carry_one_version():
    import mini_lib

    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert mini_lib.__version__ == version
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_citation_names_every_paper_of_the_readme():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]
    row = re.compile(r"^\| `\w+` \| .* (\d{4}), \*(.+)\* \|", re.MULTILINE)
    papers = row.findall((ROOT / "README.md").read_text())
    assert len(papers) >= 4
    assert {(str(each["year"]), each["title"]) for each in cited} == set(papers)


def test_tables_of_notices_are_whole():
    """A blank line before a row ends a table, and what follows is printed as bars."""
    blocks = (ROOT / "THIRD-PARTY.md").read_text().split("\n\n")
    tables = [block.splitlines() for block in blocks if block.startswith("|")]
    assert tables
    assert all(re.fullmatch(r"[|-]+", table[1]) for table in tables)


def test_the_package_shows_the_readme():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["readme"] == "README.md"


def shown_to_readers() -> list[Path]:
    folders = (("*.md", ROOT), ("*.md", ROOT / "book"), ("**/*.py", ROOT / "mini_lib"))
    return [path for pattern, folder in folders for path in sorted(folder.glob(pattern))]


def test_nobody_is_told_to_install_the_package_from_an_index_that_does_not_have_it():
    asks = re.compile(r"pip install [^\n`]*\bmini[_-]lib\b")
    assert not [path.name for path in shown_to_readers() if asks.search(path.read_text(encoding="utf-8"))]


def test_the_pytorch_that_readme_names_is_the_pinned_one():
    named = re.findall(r"(?:PyTorch |torch==)(\d[\d.]*\d)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(named) >= 2
    assert {Version(version) for version in named} == {pins()["torch"]}
