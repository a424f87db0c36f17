"""Each paper.toml, kept in step with code, tests, tables and claims."""

import ast
import importlib
import inspect
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from mini_lib.reproduction import ledger, load_claims
from mini_lib.reproduction.cells import PAPERS, cells_of
from mini_lib.reproduction.tables import _tables, table_name

ROOT = Path(__file__).parents[2]
TAG = re.compile(r"#\s*((?:Algorithm|Eq\.)\s+\d+[\w.]*)")


def required(paper):
    tables = {*_tables(), *(cell.table for cell in cells_of(paper))}
    claims = [claim.id for claim in load_claims() if claim.paper == paper]
    return [*(table_name(table) for table in tables if table.startswith(f"{paper}.")), *claims]


# ----------------------------------------------------------------------------------------- the check


def check(book, required=()):
    """Everything in which a paper.toml and code and tests are out of step, a sentence each.

    Numbers that are `required`, such as every printed table and every claim, must have a row.
    """
    found = [f"{row.number}: {fault}" for row in book.rows for fault in faults(row)]
    numbers = [row.number for row in book.rows]
    found += [f"{number}: two rows" for number in dict.fromkeys(numbers) if numbers.count(number) > 1]
    wanted = dict.fromkeys([*required, *up_to_the_last(numbers)])
    found += [f"{number}: no row" for number in wanted if number not in numbers]
    return found + tags_without_row(book)


def faults(row):
    found = []
    source, mentions = source_of(row.code)
    if source is None:
        found.append(f"no code {row.code!r}")
    elif row.tag and row.tag not in (source if row.tag.startswith("#") else mentions):
        found.append(f"the tag {row.tag!r} does not stand in {row.code}")
    file, _, function = row.test.partition("::")
    if not (ROOT / file).is_file():
        found.append(f"no test file {file!r}")
    elif function and function not in functions_of(ROOT / file):
        found.append(f"no test {function!r} in {file}")
    return found


def source_of(code):
    """The source of a "module:object", and that with its module's docstring; None if it is not there."""
    module_name, _, path = code.partition(":")
    try:
        module = found = importlib.import_module(module_name)
        for name in path.split(".") if path else ():
            found = getattr(found, name)
    except (ImportError, AttributeError):
        return None, ""
    try:
        source = inspect.getsource(found)
    except TypeError:  # a constant has no source of its own
        source = inspect.getsource(module)
    return source, f"{module.__doc__}\n{source}"


@cache
def functions_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def up_to_the_last(numbers):
    """Every "Table n", "Figure n" and "Eq. n" up to the highest that is there."""
    found = [re.fullmatch(r"(Table|Figure|Eq\.) (\d+)", number) for number in numbers]
    highest = {}
    for match in filter(None, found):
        highest[match[1]] = max(highest.get(match[1], 0), int(match[2]))
    return [f"{kind} {number}" for kind, last in highest.items() for number in range(1, last + 1)]


def tags_without_row(book):
    """Tags in the package's code that no row knows."""
    known = {match[1] for row in book.rows if (match := TAG.search(row.tag))}
    folders = ROOT / "mini_lib" / book.paper, ROOT / "mini_lib" / "reproduction" / book.paper
    return [
        f"{path.name}: the tag '# {tag}' has no row"
        for path in sorted(path for folder in folders for path in folder.rglob("*.py"))
        for tag in sorted(set(TAG.findall(path.read_text(encoding="utf-8"))) - known)
    ]


# ----------------------------------------------------------------------------------------- the ledgers we have


@pytest.mark.parametrize("paper", PAPERS)
def test_rows_code_and_tests_are_in_step(paper):
    found = check(ledger.load(paper), required(paper))
    assert not found, "\n".join(found)


def test_every_table_figure_and_line_of_the_esbn_paper_has_a_row():
    numbers = [row.number for row in ledger.load("esbn").rows]
    assert {f"Table {n}" for n in range(1, 21)} <= set(numbers)
    assert {f"Figure {n}" for n in range(1, 11)} <= set(numbers)
    spans = [
        re.findall(r"\d+", n.removeprefix("Algorithm 1, ")) for n in numbers if n.startswith("Algorithm 1")
    ]
    lines = [line for first, *last in spans for line in range(int(first), int((last or [first])[0]) + 1)]
    assert lines == list(range(1, 16))


def test_every_equation_table_figure_and_network_of_the_scan_paper_has_a_row():
    rows = {row.number: row for row in ledger.load("scan").rows}
    assert {f"Eq. {n}" for n in range(1, 7)} | {"Table 1", "Table 2"} <= set(rows)
    assert {f"Figure {n}" for n in range(1, 4)} <= set(rows)
    assert all(rows[f"Eq. {n}"].tag == f"# Eq. {n}" for n in range(1, 7))
    networks = {cell.row for cell in cells_of("scan") if cell.table == "scan.table1"} - {
        "Syntactic Attention"
    }
    assert {f"Table 1, {network}" for network in networks} <= set(rows)


def test_every_table_entry_and_network_of_the_function_paper_has_a_row():
    rows = {row.number: row for row in ledger.load("functions").rows}
    shown = {(cell.table, cell.row) for cell in cells_of("functions")} | {("functions.table2", "optimal")}
    assert {f"{table_name(table)}, {row}" for table, row in shown} <= set(rows)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_detail_is_told(paper):
    text = (ROOT / "mini_lib" / "reproduction" / paper / "paper.toml").read_text(encoding="utf-8")
    assert set(tomllib.loads(text)) <= {"row", "detail", "finding", "renaming", "claims_test"}
    book = ledger.load(paper)
    assert [row.number for row in book.rows if not row.what.strip().endswith((".", "?"))] == []
    fields = ("about", "paper", "released", "ours", "why")
    assert [each.about for each in book.details if not all(getattr(each, name) for name in fields)] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_and_variants_have_their_rows_and_details(paper):
    book = ledger.load(paper)
    rows = {row.number: row.what for row in book.rows}
    claims = {each.id: each.statement for each in load_claims() if each.paper == paper}
    assert {number: rows.get(number) for number in claims} == claims
    variants = {cell.interpretation or cell.variant for cell in cells_of(paper)} - {""}
    assert {detail.variant for detail in book.details if detail.variant} == variants
    assert len({detail.about for detail in book.details}) == len(book.details)
    # A text of ours in `effect` would hide what was measured.
    assert [each.about for each in book.details if each.variant and each.effect] == []


def test_a_paper_without_a_ledger_is_named():
    with pytest.raises(ValueError, match="unknown paper 'esnb'; did you mean 'esbn'"):
        ledger.load("esnb")


def test_a_variant_is_an_interpretation_unless_the_ledger_says_what_else():
    kinds = [ledger.kind_of("kanerva", name) for name in ("unit prior", "balanced", "machine given", "small")]
    assert kinds == ["reading", "addition", "control", "task"]
    assert ledger.variant_in_words("kanerva", "tutorial, balanced") == "small; balanced, an addition of ours"
    assert ledger.variant_in_words("kanerva", "tutorial") == "small"
    for paper in PAPERS:
        given = [each for each in ledger.load(paper).details if each.kind != "reading"]
        assert all(each.variant and each.kind in ledger.KINDS for each in given)


@pytest.mark.parametrize("paper", PAPERS)
def test_findings_are_short_and_whole(paper):
    findings = ledger.load(paper).findings
    assert findings
    assert len({each.about for each in findings}) == len(findings)
    assert [each.about for each in findings if not 1 <= len(each.about.split()) <= 8] == []
    assert [each.about for each in findings if not 5 <= len(each.text.split()) <= 60] == []
    assert [each.about for each in findings if not each.text.endswith(".")] == []
