"""The ledgers, kept in step with code, tests, pages, tables and claims; and that what is out of step is found."""

import re
from pathlib import Path

import pytest

from mini_lib.reproduction import ledger, load_claims
from mini_lib.reproduction.cli import wings
from mini_lib.reproduction.comparison import _tables, reading_of, table_name

ROOT = Path(__file__).parents[2]
WINGS = wings()
PAPERS = ledger.papers()
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
    return [text for text in ledger.check(book(changes), ROOT) if "no row" not in text]


def required(paper):
    wing = next(wing for wing in WINGS if wing.PAPER == paper)
    tables = {*_tables(), *(cell.table for cell in wing.CELLS)}
    claims = [claim.id for claim in load_claims() if claim.paper == paper]
    return [*(table_name(table) for table in tables if table.startswith(f"{paper}.")), *claims]


# ----------------------------------------------------------------------------------------- the ledgers we have


@pytest.mark.parametrize("wing", WINGS, ids=lambda wing: wing.PAPER)
def test_ledger_code_tests_and_pages_are_in_step(wing):
    assert wing.PAPER in PAPERS
    found = ledger.check(ledger.load(wing.PAPER), ROOT, required(wing.PAPER))
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
    wing = next(wing for wing in WINGS if wing.PAPER == "scan")
    networks = {cell.row for cell in wing.CELLS if cell.table == "scan.table1"} - {"Syntactic Attention"}
    assert {f"Table 1, {network}" for network in networks} <= set(rows)


def test_every_table_entry_and_network_of_the_function_paper_has_a_row():
    rows = {row.number: row for row in ledger.load("functions").rows}
    wing = next(wing for wing in WINGS if wing.PAPER == "functions")
    shown = {(cell.table, cell.row) for cell in wing.CELLS} | {("functions.table2", "optimal")}
    assert {f"{table_name(table)}, {row}" for table, row in shown} <= set(rows)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_ledger_belongs_to_a_wing_and_every_detail_is_told(paper):
    assert paper in {wing.PAPER for wing in WINGS}
    book = ledger.load(paper)
    assert [row.number for row in book.rows if not row.what.strip().endswith((".", "?"))] == []
    fields = ("about", "paper", "released", "ours", "why")
    assert [each.about for each in book.details if not all(getattr(each, name) for name in fields)] == []


@pytest.mark.parametrize("wing", WINGS, ids=lambda wing: wing.PAPER)
def test_claims_and_variants_have_their_rows_and_details(wing):
    book = ledger.load(wing.PAPER)
    rows = {row.number: row.what for row in book.rows}
    claims = {each.id: each.statement for each in load_claims() if each.paper == wing.PAPER}
    assert {number: rows.get(number) for number in claims} == claims
    variants = {reading or base for base, reading in map(reading_of, wing.CELLS)} - {""}
    assert {detail.variant for detail in book.details if detail.variant} == variants
    assert len({detail.about for detail in book.details}) == len(book.details)
    # A text of ours in `effect` would hide what was measured.
    assert [each.about for each in book.details if each.variant and each.effect] == []


# ----------------------------------------------------------------------------------------- what the check finds


def test_a_row_in_step_has_no_problem():
    assert problems() == []
    assert problems(code="mini_lib.esbn.models.esbn:ESBN._run", tag="# Algorithm 1") == []
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
    found = ledger.check(book({}, {}, {"number": "Table 3"}), ROOT, ["esbn.C1", "Table 3"])
    assert [text for text in found if "row" in text and "Algorithm" not in text] == [
        "Section 2: two rows",
        "esbn.C1: no row",
        "Table 1: no row",
        "Table 2: no row",
    ]


def test_a_tag_in_the_code_without_a_row_is_found():
    assert "esbn.py: the tag '# Algorithm 1' has no row" in ledger.check(book({}), ROOT)
    told = book({"code": "mini_lib.esbn.models.esbn:ESBN._run", "tag": "# Algorithm 1"})
    assert ledger.check(told, ROOT) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rows]]\nnumber = '1'", "unknown part of a ledger 'rows'; did you mean 'row'"),
        ("[[row]]\nnumbr = '1'", "unknown field of a row 'numbr'; did you mean 'number'"),
        ("[[row]]\nnumber = '1'\nwhat = 'x'", "the ledger's row '1' lacks code, test, page"),
        ("[renaming.x]\na = {our = 'b'}", "unknown field of a renaming 'our'; did you mean 'ours'"),
    ],
)
def test_a_ledger_that_cannot_be_read_says_why(text, message):
    with pytest.raises(ValueError, match=message):
        ledger.read("esbn", text)


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
    assert "- *Addition of ours:* `x`\n" in ledger.details_page([("T", ours)], {})
    with pytest.raises(ValueError, match="unknown kind of variant 'adition'; did you mean 'addition'"):
        ledger.read("scan", entry % ', kind = "adition"')
    kinds = {
        name: ledger.kind_of("kanerva", name) for name in ("unit prior", "balanced", "machine given", "small")
    }
    assert list(kinds.values()) == ["reading", "addition", "control", "task"]
    assert ledger.kind_of("scan", "nobody has named it") == "reading"
    for paper in PAPERS:
        given = [each for each in ledger.load(paper).details if each.kind != "reading"]
        assert all(each.variant for each in given), "a kind is a variant's"


def test_details_tell_what_was_measured_or_that_nothing_was():
    detail = ledger.Detail("A", "p", "r", "o.", "w.", option="`x`", variant="v")
    page = ledger.details_page([("T", book(details=[detail]))], {"v": "1 instead of 2."})
    assert "- *Other reading:* `x`\n- *Effect:* 1 instead of 2." in page
    assert "- *Effect:* not measured yet." in ledger.details_page([("T", book(details=[detail]))], {})
    for paper in PAPERS:
        book_of = ledger.load(paper)
        page = ledger.details_page([("T", book_of)], {})
        assert page.count("- *Effect:*") == len(book_of.details)
        assert ("Parameters of the authors' code" in page) == bool(book_of.renamings)


def test_a_table_survives_bars_and_line_ends():
    assert ledger.table(("a", "b"), [("x|y", "1\n2")]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 2 |"
