"""The ledgers, kept in step with code, tests, pages, tables and claims; and that what is out of step is found."""

import ast
import importlib
import inspect
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from mini_lib.reproduction import ledger, load_claims
from mini_lib.reproduction.cli import packages
from mini_lib.reproduction.comparison import _tables, reading_of, table_name

ROOT = Path(__file__).parents[2]
PACKAGES = packages()
PAPERS = ledger.papers()
TAG = re.compile(r"#\s*((?:Algorithm|Eq\.)\s+\d+[\w.]*)")
ROW = {
    "number": "Section 2",
    "what": "Tasks.",
    "code": "mini_lib.esbn.tasks:make_problems",
    "test": "tests/reproduction/test_ledger.py::test_a_row_in_step_has_no_problem",
    "page": "notebooks/esbn/1_tasks.ipynb",
}


def book(*rows, details=()):
    return ledger.Ledger("esbn", tuple(ledger.Row(**ROW | row) for row in rows), tuple(details))


def problems(**changes):
    """What is wrong with a row, apart from rows that a ledger of one row lacks."""
    return [text for text in check(book(changes)) if "no row" not in text]


def required(paper):
    package = next(package for package in PACKAGES if package.PAPER == paper)
    tables = {*_tables(), *(cell.table for cell in package.CELLS)}
    claims = [claim.id for claim in load_claims() if claim.paper == paper]
    return [*(table_name(table) for table in tables if table.startswith(f"{paper}.")), *claims]


# ----------------------------------------------------------------------------------------- the check


def check(book, required=()):
    """Everything in which a package's ledger and code, tests and pages are out of step, a sentence each.

    Numbers that are `required`, such as every printed table and every claim, must have a row.
    """
    toc = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
    pages = {str(Path(page).with_suffix("")) for page in re.findall(r"(?:file|root):\s*(\S+)", toc)}
    found = [f"{row.number}: {fault}" for row in book.rows for fault in faults(row, pages)]
    numbers = [row.number for row in book.rows]
    found += [f"{number}: two rows" for number in dict.fromkeys(numbers) if numbers.count(number) > 1]
    wanted = dict.fromkeys([*required, *up_to_the_last(numbers)])
    found += [f"{number}: no row" for number in wanted if number not in numbers]
    return found + tags_without_row(book)


def faults(row, pages):
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
    if str(Path(row.page).with_suffix("")) not in pages:
        found.append(f"the page {row.page!r} is not in the book's contents")
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


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.PAPER)
def test_ledger_code_tests_and_pages_are_in_step(package):
    assert package.PAPER in PAPERS
    found = check(ledger.load(package.PAPER), required(package.PAPER))
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
    package = next(package for package in PACKAGES if package.PAPER == "scan")
    networks = {cell.row for cell in package.CELLS if cell.table == "scan.table1"} - {"Syntactic Attention"}
    assert {f"Table 1, {network}" for network in networks} <= set(rows)


def test_every_table_entry_and_network_of_the_function_paper_has_a_row():
    rows = {row.number: row for row in ledger.load("functions").rows}
    package = next(package for package in PACKAGES if package.PAPER == "functions")
    shown = {(cell.table, cell.row) for cell in package.CELLS} | {("functions.table2", "optimal")}
    assert {f"{table_name(table)}, {row}" for table, row in shown} <= set(rows)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_ledger_belongs_to_a_wing_and_every_detail_is_told(paper):
    assert paper in {package.PAPER for package in PACKAGES}
    text = (ROOT / "mini_lib" / "reproduction" / paper / "paper.toml").read_text(encoding="utf-8")
    assert set(tomllib.loads(text)) <= {"row", "detail", "renaming", "claims_test"}  # no other part is read
    book = ledger.load(paper)
    assert [row.number for row in book.rows if not row.what.strip().endswith((".", "?"))] == []
    fields = ("about", "paper", "released", "ours", "why")
    assert [each.about for each in book.details if not all(getattr(each, name) for name in fields)] == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.PAPER)
def test_claims_and_variants_have_their_rows_and_details(package):
    book = ledger.load(package.PAPER)
    rows = {row.number: row.what for row in book.rows}
    claims = {each.id: each.statement for each in load_claims() if each.paper == package.PAPER}
    assert {number: rows.get(number) for number in claims} == claims
    variants = {reading or base for base, reading in map(reading_of, package.CELLS)} - {""}
    assert {detail.variant for detail in book.details if detail.variant} == variants
    assert len({detail.about for detail in book.details}) == len(book.details)
    # A text of ours in `effect` would hide what was measured.
    assert [each.about for each in book.details if each.variant and each.effect] == []


# ----------------------------------------------------------------------------------------- what the check finds


def test_a_row_in_step_has_no_problem():
    assert problems() == []
    assert problems(code="mini_lib.esbn.esbn:ESBN.trace", tag="# Algorithm 1") == []
    assert problems(tag="section 2") == []  # in the module's docstring
    assert problems(code="mini_lib.esbn.tasks:TASKS", test="tests/reproduction/test_ledger.py") == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"code": "mini_lib.esbn.tasks:make_problem"}, "no code 'mini_lib.esbn.tasks:make_problem'"),
        ({"code": "mini_lib.esbn.task:make_problems"}, "no code 'mini_lib.esbn.task:make_problems'"),
        (
            {"tag": "# Algorithm 1"},
            "the tag '# Algorithm 1' does not stand in mini_lib.esbn.tasks:make_problems",
        ),
        ({"tag": "section 9"}, "the tag 'section 9' does not stand in"),
        ({"test": "tests/test_legder.py"}, "no test file 'tests/test_legder.py'"),
        (
            {"test": "tests/reproduction/test_ledger.py::test_a"},
            "no test 'test_a' in tests/reproduction/test_ledger.py",
        ),
        (
            {"page": "notebooks/esbn/9_more.ipynb"},
            "the page 'notebooks/esbn/9_more.ipynb' is not in the book",
        ),
    ],
)
def test_what_is_out_of_step_is_found(changes, message):
    (found,) = problems(**changes)
    assert found.startswith(f"Section 2: {message}")


def test_missing_and_doubled_rows_are_found():
    found = check(book({}, {}, {"number": "Table 3"}), ["esbn.C1", "Table 3"])
    assert [text for text in found if "row" in text and "Algorithm" not in text] == [
        "Section 2: two rows",
        "esbn.C1: no row",
        "Table 1: no row",
        "Table 2: no row",
    ]


def test_a_tag_in_the_code_without_a_row_is_found():
    assert "esbn.py: the tag '# Algorithm 1' has no row" in check(book({}))
    told = book({"code": "mini_lib.esbn.esbn:ESBN.trace", "tag": "# Algorithm 1"})
    assert check(told) == []


def test_a_paper_without_a_ledger_is_named():
    with pytest.raises(ValueError, match="unknown paper 'esnb'; did you mean 'esbn'"):
        ledger.load("esnb")


# ----------------------------------------------------------------------------------------- pages


def test_the_index_has_a_line_for_every_row():
    books = [ledger.load(paper) for paper in PAPERS]
    page = ledger.index_page([("T", book) for book in books])
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(lines) == sum(len(book.rows) + 2 for book in books)
    assert "[2 algorithm](../../notebooks/esbn/2_algorithm.ipynb)" in lines[2]


def test_renamings_are_plain_or_have_notes():
    book = ledger.read(
        "esbn", '[renaming.x]\n"a.*" = "b.*"\nc = {unused = "never"}\nd = {ours = "e", note = "n"}'
    )
    assert book.renamings["x"] == (
        ledger.Renaming("a.*", "b.*"),
        ledger.Renaming("c", unused="never"),
        ledger.Renaming("d", "e", note="n"),
    )
    page = ledger.details_page([("T", book)], {})
    assert "| x | `a.*` | `b.*` |  |\n| x | `c` |  | never |\n| x | `d` | `e` | n |" in page


def test_claims_can_be_tested_elsewhere():
    claims = [row for row in ledger.read("scan", "claims_test = 'elsewhere.py'").rows]
    assert {row.test for row in claims} == {"elsewhere.py"}
    assert {row.test for row in ledger.read("scan", "").rows} == {ledger.CLAIMS_TEST}


def test_a_variant_is_a_reading_unless_the_ledger_says_what_else():
    entry = 'detail = [{about = "A", paper = "p", released = "r", ours = "o", why = "w", variant = "v"%s}]'
    assert ledger.read("scan", entry % "").details[0].kind == "reading"
    ours = ledger.read("scan", entry % ', option = "`x`", kind = "addition"')
    assert '- *Addition of ours, "v":* `x`\n' in ledger.details_page([("T", ours)], {})
    kinds = {
        name: ledger.kind_of("kanerva", name) for name in ("unit prior", "balanced", "machine given", "small")
    }
    assert list(kinds.values()) == ["reading", "addition", "control", "task"]
    assert ledger.kind_of("scan", "nobody has named it") == "reading"
    for paper in PAPERS:
        assert {each.kind for each in ledger.load(paper).details} <= set(ledger.KINDS)
        given = [each for each in ledger.load(paper).details if each.kind != "reading"]
        assert all(each.variant for each in given), "a kind is a variant's"


def test_details_tell_what_was_measured_or_that_nothing_was():
    detail = ledger.Detail("A", "p", "r", "o.", "w.", option="`x`", variant="v")
    found = book(details=[detail])
    page = ledger.details_page([("T", found)], {found.paper: {"v": "1 instead of 2."}})
    assert '- *Other reading, "v":* `x`\n- *Effect:* 1 instead of 2.' in page
    of_another = ledger.details_page([("T", found)], {"another": {"v": "1 instead of 2."}})
    assert "- *Effect:* not measured yet." in of_another
    assert "- *Effect:* not measured yet." in ledger.details_page([("T", book(details=[detail]))], {})
    for paper in PAPERS:
        book_of = ledger.load(paper)
        page = ledger.details_page([("T", book_of)], {})
        assert page.count("- *Effect:*") == len(book_of.details)
        assert ("Parameters of the authors' code" in page) == bool(book_of.renamings)


def test_a_table_survives_bars_and_line_ends():
    assert ledger.table(("a", "b"), [("x|y", "1\n2")]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 2 |"
