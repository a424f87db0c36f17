"""Each paper.toml, kept in step with code, tests, tables and claims."""

import inspect
import re
import sys
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest

from mini_lib.reproduction import ledger, load_claims
from mini_lib.reproduction.cells import PAPERS, cells_of
from mini_lib.reproduction.tables import _tables, table_name

ROOT = Path(__file__).parents[2]
TAG = re.compile(r"#\s*((?:Algorithm|Eq\.)\s+\d+[\w.]*)")
LINES = {"esbn": 15}  # of Algorithm 1
# Each row of these is a network with a row of its own, but for the paper's.
NETWORKS, OWN = ("scan.table1", "functions.table1", "functions.table2"), "Syntactic Attention"


def read(paper):
    """A paper.toml as it is written."""
    file = ROOT / "mini_lib" / "reproduction" / paper / "paper.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def required(paper):
    """What has to have a row: all that is numbered, every claim, every table with runs and its networks."""
    numbered = [f"{kind} {n}" for kind, last in read(paper)["numbered"].items() for n in range(1, last + 1)]
    tables = {*_tables(), *(cell.table for cell in cells_of(paper))}
    named = [table_name(table) for table in tables if table.startswith(f"{paper}.")]
    networks = [cell for cell in cells_of(paper) if cell.table in NETWORKS and cell.row != OWN]
    named += [f"{table_name(cell.table)}, {cell.row}" for cell in networks]
    return {*numbered, *named, *(claim.id for claim in load_claims() if claim.paper == paper)}


def faults(row):
    """Whatever a row names that is not there."""
    source, mentions = source_of(row.code)
    if source is None:
        yield f"no code {row.code!r}"
    elif row.tag and row.tag not in (source if row.tag.startswith("#") else mentions):
        yield f"the tag {row.tag!r} is not in {row.code}"
    file, _, function = row.test.partition("::")
    if not (ROOT / file).is_file():
        yield f"no test file {file!r}"
    elif function and f"\ndef {function}(" not in (ROOT / file).read_text(encoding="utf-8"):
        yield f"no test {function!r} in {file}"


def source_of(code):
    """The source of a "module:object", and that with its module's docstring; None if it is not there."""
    try:
        found = resolve_name(code)
    except (ImportError, AttributeError, ValueError):
        return None, ""
    module = sys.modules[code.partition(":")[0]]
    try:
        source = inspect.getsource(found)
    except TypeError:  # a constant has no source of its own
        source = inspect.getsource(module)
    return source, f"{module.__doc__}\n{source}"


def tags_in_code(paper):
    folders = ROOT / "mini_lib" / paper, ROOT / "mini_lib" / "reproduction" / paper
    paths = (path for folder in folders for path in folder.rglob("*.py"))
    return {tag for path in paths for tag in TAG.findall(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("paper", PAPERS)
def test_all_that_a_paper_numbers_and_claims_has_one_row_with_its_code_and_its_test(paper):
    rows = ledger.load(paper).rows
    found = [f"{row.number}: {fault}" for row in rows for fault in faults(row)]
    assert not found, "\n".join(found)
    numbers = [row.number for row in rows]
    assert len(set(numbers)) == len(numbers)
    assert required(paper) <= set(numbers)
    assert not tags_in_code(paper) - {tag for row in rows for tag in TAG.findall(row.tag)}
    spans = [re.findall(r"\d+", number)[1:] for number in numbers if number.startswith("Algorithm 1, line")]
    lines = [line for first, *last in spans for line in range(int(first), int((last or [first])[0]) + 1)]
    assert lines == [*range(1, LINES.get(paper, 0) + 1)]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_detail_and_finding_has_its_words_and_every_variant_its_detail(paper):
    stored, book = read(paper), ledger.load(paper)
    assert set(stored) <= {"numbered", "row", "detail", "finding", "renaming", "claims_test"}
    assert not [row.number for row in book.rows if not row.what.strip().endswith((".", "?"))]
    for each in book.details:
        assert all((each.about, each.paper, each.released, each.ours, each.why)), each.about
        assert each.kind == "reading" or (each.variant and each.kind in ledger.KINDS), each.about
        assert not (each.variant and each.effect), each.about  # a text of ours would hide what was measured
    variants = {cell.interpretation or cell.variant for cell in cells_of(paper)} - {""}
    assert {each.variant for each in book.details if each.variant} == variants
    for texts in (stored["detail"], stored["finding"]):
        assert len({each["about"] for each in texts}) == len(texts)
    for each in stored["finding"]:
        assert each.keys() == {"about", "text"}
        assert 5 <= len(each["text"].split()) <= 60, each["about"]


def test_a_variant_is_an_interpretation_unless_the_ledger_says_what_else():
    for name, words in (
        ("not in the ledger", "not in the ledger, another interpretation"),
        ("tutorial, balanced", "small; balanced, an addition of ours"),
        ("small", "a smaller task"),
        ("tutorial", "small"),
    ):
        assert ledger.variant_in_words("kanerva", name) == words
