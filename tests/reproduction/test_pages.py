"""The generated pages: what they tell of runs, on runs that are made up and on those on record."""

import re
from html import unescape

import pytest

from mini_lib.reproduction import Records, compare, ledger, load_claims, write_pages
from mini_lib.reproduction.cells import PAPERS, cells_of
from mini_lib.reproduction.pages import anchor, in_cell, made, measured_effects, run_sets
from reproduction.samples import FILE, cell, record


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    found = write_pages(tmp_path_factory.mktemp("pages"), Records())
    return {path.stem: path.read_text() for path in found}


def rows_of(page):
    return [line for line in page.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("page", ["paper_against_ours", "index_to_the_paper", "what_the_paper_does_not_say"])
def test_every_row_of_a_table_has_as_many_cells_as_its_head(pages, page):
    widths, width = [], 0
    lines = pages[page].splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if set(after) <= set("| -") and after.startswith("|"):
            width = len(re.findall(r"(?<!\\)\|", line))
        elif line.startswith("|") and not set(line) <= set("| -"):
            assert len(re.findall(r"(?<!\\)\|", line)) == width, line[:200]
            widths.append(width)
    assert len(widths) > 200


def test_every_reported_number_has_a_square_and_every_link_a_place(pages):
    page = pages["paper_against_ours"]
    places = [*re.findall(r'id="([^"]+)"', page), *re.findall(r"^\(([\w-]+)\)=$", page, re.MULTILINE)]
    assert len(places) == len(set(places))
    links = {*re.findall(r'href="#([^"]+)"', page), *re.findall(r"\]\(#([^)]+)\)", page)}
    assert links <= set(places), sorted(links - set(places))[:5]
    assert page.count('<a class="square') == 424
    assert len(page.encode()) < 400_000


def test_every_claim_is_on_the_page_and_the_figures_without_numbers_have_a_strip(pages):
    page = unescape(pages["paper_against_ours"])
    for claim in load_claims():
        assert f"| {claim.id} |" in page
        assert in_cell(claim.statement) in page
    short = [claim for claim in load_claims() if claim.short]
    assert {claim.id for claim in short} == {
        claim.id for claim in load_claims() if claim.paper == "kanerva" and not claim.ours
    }
    assert all(f"<td>{claim.short}</td>" in page and len(claim.short.split()) <= 7 for claim in short)


def test_the_details_that_change_most_come_first_and_none_is_lost(pages):
    page = pages["what_the_paper_does_not_say"]
    first = page[: page.index(f"## {PAPERS['esbn']}")]
    for paper in PAPERS:
        for each in ledger.load(paper).details:
            assert page.count(f"**{in_cell(each.about)}**") >= 1, each.about
            assert (f"**{in_cell(each.about)}**" in first) == each.first
    assert len(rows_of(first)) == 10 + 2


def test_the_index_has_a_row_for_each_of_the_ledgers(pages):
    rows = rows_of(pages["index_to_the_paper"])
    assert len(rows) == sum(len(ledger.load(paper).rows) + 2 for paper in PAPERS)


@pytest.fixture
def store(tmp_path):
    return Records(tmp_path)


def test_runs_that_fill_many_entries_are_told_once_with_the_command_that_repeats_them(store):
    for seed in (1, 2, 4):
        store.add(record(seed), FILE)
    compared = compare([cell(), cell(row="again"), cell(column="m=85", m=85)], store)
    (found,) = run_sets(compared)
    assert (found["first"], found["others"], found["seeds"]) == (cell().id, 1, "1, 2, 4")
    assert found["command"] == f"mini-lib reproduce '{cell().id}' --seeds 4 --records again"
    assert found["file"] == f"{FILE}.jsonl"
    assert made(compared) == "3 runs, 0 hours of one CPU core, from d to d."
    assert made([]) == "No runs on record yet."


def test_each_set_of_runs_is_one_row(pages):
    sets = [run_sets(compare(cells_of(paper), Records())) for paper in PAPERS]
    rows = [line for line in rows_of(pages["paper_against_ours"]) if 'id="run-' in line]
    assert len(rows) == sum(map(len, sets)) < 300


def test_a_variant_is_compared_with_what_it_is_a_variant_of(store):
    for accuracy, settings in ((90.0, {}), (80.0, {"mask": "none"}), (60.0, {"mask": "none", "window": 3})):
        for seed in (1, 2, 3):
            store.add(record(seed, accuracy, **settings), FILE)
    no_mask = cell(variant="no mask", mask="none")
    both = cell(variant="no mask, window", mask="none", window=3)
    found = measured_effects(
        compare([cell(), no_mask, both, cell(variant="same")], store), ledger.Ledger("esbn", ())
    )
    where = "ESBN + TCN, Table 11, m=95"
    assert found == {
        "no mask": f"{where}: 80 instead of 90",
        "no mask, window": f"{where}: 60 instead of 80",
    }
    beside = ledger.Detail("a", "p", "r", "o", "w", variant="no mask, window", beside="")
    found = measured_effects(compare([cell(), no_mask, both], store), ledger.Ledger("esbn", (), (beside,)))
    assert found["no mask, window"] == f"{where}: 60 instead of 90"


def test_names_of_places_and_cells_of_tables():
    assert anchor("esbn.table11/ESBN + TCN/m=95") == "esbn-table11-ESBN-TCN-m-95"
    assert in_cell("x|y\n z") == "x\\|y z"
    assert in_cell("to <EOS> and `<SOS>`") == "to &lt;EOS> and `<SOS>`"
