"""The directions of imports that ARCHITECTURE.md states: storeys, wings, and the order of files within each.

What is loaded by a name that somebody asks for is no import: the files that do so are named in `BY_NAME`.
"""

import ast
import tomllib
from pathlib import Path

import pytest

import mini_lib

ROOT = Path(mini_lib.__file__).parent
PYTEST = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
STUDY = "grid"  # stands on the wings; none of them knows it
WINGS = ("esbn", "scan", "functions", "kanerva", STUDY)
FILES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))
DOOR = Path("__main__.py")  # where the command begins: the one file below that looks up
COMMAND = Path("reproduction/cli.py")  # brings the wings together
# These load a module when asked for it by name, a wing's too: a public name of a package (through `lazy_names`), a
# trained network, a paper's cells, live figure, exercises or runs.
BY_NAME = {
    *("__init__.py", "reproduction/__init__.py", "lazy.py"),
    *(
        "weights.py",
        "reproduction/cli.py",
        "reproduction/live.py",
        "reproduction/exercises.py",
        "reproduction/other_seeds.py",
    ),
}

# Each file imports only from groups that come before its own (or from its own folder).
GROUND = (
    {"errors", "lazy"},
    {"module"},
    {"seeding", "devices", "progress", "layers", "storage", "training_run", "cuda_graphs"},
    {"datasets", "settings", "dissociation"},
    {"training", "weights"},
)
WING = (
    {"grammar"},
    {"tasks", "memory"},
    {"meta_tasks", "models"},
    {"objective", "recipes", "extrapolation", "baselines"},
    {"bounds"},
    {"analysis"},
    {"evaluation"},
    {"runs"},
)
UPSTAIRS = (
    {"cells", "plotting", "launch", "cluster", "notebooks", "other_seeds", "exercises", "html"},
    {"records"},
    {"comparison"},
    {"claims"},
    {"ledger", "glance", "mine", "plan"},
    {"capacity", "gallery"},
    {"authors", "pages", "live"},
    {"bench", "doctor"},
    {"cli"},
)
UPPER_WING = (
    {"looped"},
    {"scaling"},
    {"timing", "starts"},
    {"cells", "authors", "gaussian_processes"},
    {"tables", "rates", "contrasts"},
    {"readings", "film", "toss"},
    {"figures"},
    {"live", "exercises"},
)
UNCONNECTED = ("reproduction.esbn.", "reproduction.scan.")  # their files import none of each other


def imported(path: Path) -> set[str]:
    """The names in mini_lib that a file imports, without that prefix: "scan.tasks.encode"."""
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("mini_lib.") for name in names if name.startswith("mini_lib.")}


def place(parts: tuple[str, ...]) -> tuple[str, str]:
    """The storey ("library" or "reproduction") and the wing, or "" for its ground floor."""
    upstairs = parts[0] == "reproduction"
    inner = parts[1:] if upstairs else parts
    return "reproduction" if upstairs else "library", inner[0] if inner and inner[0] in WINGS else ""


def rank(groups: tuple[set[str], ...], name: str) -> int | None:
    """The number of the group that a file belongs to."""
    return next((i for i, group in enumerate(groups) if name in group), None)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_go_one_way(path: Path):
    storey, wing = place(path.parts)
    for name in imported(path):
        other_storey, other_wing = place(tuple(name.split(".")))
        assert storey == "reproduction" or other_storey == "library" or path == DOOR, f"{path}: {name}"
        above = wing == STUDY and other_wing
        assert other_wing in ("", wing) or path == COMMAND or above, f"{path}: {name}"


@pytest.mark.parametrize(
    ("prefix", "groups"),
    [
        ("", GROUND),
        ("reproduction.", UPSTAIRS),
        *((f"{wing}.", WING) for wing in WINGS),
        *((f"reproduction.{wing}.", UPPER_WING) for wing in WINGS),
    ],
    ids=["ground", "reproduction", *WINGS, *(f"{wing} upstairs" for wing in WINGS)],
)
def test_files_of_a_floor_stand_in_order(prefix: str, groups: tuple[set[str], ...]):
    depth = prefix.count(".")
    own = [path for path in FILES if ".".join((*path.parts[:-1], path.stem)).startswith(prefix)]
    own = [path for path in own if place(path.parts) == place((*filter(None, prefix.split(".")), "x"))]
    ordered = 0
    for path in own:
        name = path.with_suffix("").parts[depth]
        if name in ("__init__", "__main__"):
            continue  # a package's face
        here = rank(groups, name)
        assert here is not None, f"{path} stands in no group; ARCHITECTURE.md and this test name the places"
        for other in imported(path):
            if other.startswith(prefix) and place(tuple(other.split("."))) == place(path.parts):
                there = rank(groups, other.split(".")[depth])
                if there is not None and other.split(".")[depth] != name:
                    assert there < here or (there == here and prefix == "reproduction."), f"{path}: {other}"
                    ordered += 1
    assert ordered or prefix in UNCONNECTED, "no import was looked at"


def test_only_the_files_that_are_named_load_by_name():
    """An import that no `import` line shows would get past the tests above."""
    loaders = {"import_module", "lazy_names", "__import__"}
    by_name = set()
    for path in FILES:
        nodes = ast.walk(ast.parse((ROOT / path).read_text()))
        if loaders & {getattr(node, "id", getattr(node, "attr", "")) for node in nodes}:
            by_name.add(path.as_posix())
    assert by_name == BY_NAME


def test_shapes_are_checked_wherever_they_are_written():
    (option,) = [each for each in PYTEST["addopts"] if each.startswith("--jaxtyping-packages=")]
    checked = option.partition("=")[2].split(",")
    for path in FILES:
        module = ".".join(("mini_lib", *path.with_suffix("").parts))
        if "from jaxtyping import" in (ROOT / path).read_text():
            assert any(f"{module}.".startswith(f"{each}.") for each in checked), (
                f"{module}: add it to {option}"
            )


def test_every_wing_stands_on_both_floors():
    for wing in WINGS:
        assert {"tasks", "models", "analysis", "runs"} <= {
            path.stem if path.suffix else path.name for path in (ROOT / wing).iterdir()
        }, wing
        upstairs = {"cells.py", "contrasts.py"} if wing == STUDY else {"cells.py", "figures", "paper.toml"}
        assert upstairs <= {path.name for path in (ROOT / "reproduction" / wing).iterdir()}, wing
