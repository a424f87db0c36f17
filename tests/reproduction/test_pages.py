"""The generated pages: what they tell of runs, on runs that are made up and on those on record."""

import json
import re
from html import unescape

import pytest

from mini_lib.reproduction import Records, compare, ledger, load_claims, write_pages
from mini_lib.reproduction.cells import PAPERS, cells_of
from mini_lib.reproduction.claims import judge_all
from mini_lib.reproduction.pages import anchor, in_cell, inline, made, measured_effects, run_sets
from reproduction.samples import FILE, cell, record


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("pages")
    write_pages(made, Records())
    return made


@pytest.fixture(scope="module")
def pages(folder):
    return {paper: (folder / f"replication_{paper}.md").read_text() for paper in PAPERS}


@pytest.fixture(scope="module")
def data(folder):
    """What each page loads, taken out of its script."""
    scripts = {paper: (folder / "data" / f"replication-{paper}.js").read_text() for paper in PAPERS}
    start = {paper: f'Replication.deliver("{paper}", ' for paper in PAPERS}
    assert all(
        script.startswith(start[paper]) and script.endswith(");\n") for paper, script in scripts.items()
    )
    return {paper: json.loads(script[len(start[paper]) : -3]) for paper, script in scripts.items()}


def test_every_reported_number_has_a_square_and_a_card(pages, data):
    for paper, page in pages.items():
        squares = re.findall(r'<a class="square[^>]*href="#([^"]+)"', page)
        assert len(squares) == len(set(squares))
        assert set(squares) == set(data[paper]["cards"])
    assert sum(page.count('<a class="square') for page in pages.values()) == 424


def test_a_card_has_the_runs_on_record(data):
    (found,) = (
        each
        for each in compare(cells_of("esbn"), Records())
        if each.cell.id == "esbn.table11/ESBN + TCN/m=95"
    )
    card = data["esbn"]["cards"][anchor(found.cell.id)]
    assert card["title"] == "Table 11: ESBN + TCN, m=95"
    assert (card["reported"], card["runs"]) == ([99.7, found.paper.error], list(found.ours.values))
    assert card["words"].endswith(f": {found.verdict}")


def test_every_claim_is_on_its_page_and_the_figures_without_numbers_have_a_strip(pages):
    for claim in load_claims():
        assert in_cell(claim.statement) in unescape(pages[claim.paper])
    short = [claim for claim in load_claims() if claim.short]
    assert {claim.id for claim in short} == {
        claim.id for claim in load_claims() if claim.paper == "kanerva" and not claim.ours
    }
    page = unescape(pages["kanerva"])
    assert all(f"<td>{claim.short}</td>" in page and len(claim.short.split()) <= 7 for claim in short)


def test_tables_are_whole_and_their_rows_as_long_as_their_heads(data):
    for paper, tables in data.items():
        compared = compare(cells_of(paper), Records())
        shown = sum(bool(each.ours.n or (each.paper and not each.cell.variant)) for each in compared)
        assert len(tables["entries"]["rows"]) == shown
        assert len(tables["runs"]["rows"]) == len(run_sets(compared))
        assert len(tables["details"]["rows"]) == len(ledger.load(paper).details)
        assert [row[0] for row in tables["findings"]["rows"]] == [
            inline(each.about) for each in ledger.load(paper).findings
        ]
        for name in ("entries", "runs", "details", "findings"):
            assert {len(row) for row in tables[name]["rows"]} == {len(tables[name]["head"])}


def test_details_that_change_a_result_are_on_the_page(pages):
    for paper in PAPERS:
        text = pages[paper].partition("## What the paper leaves open")[2]
        for each in ledger.load(paper).details:
            assert (f"**{each.about}.** {each.brief}" in text) == bool(each.brief)


def test_a_page_is_read_in_ten_minutes(pages):
    for page in pages.values():
        shown = re.sub(r"<[^>]+>|\{[^}]*\}|\]\([^)]*\)", " ", unescape(page))
        assert sum(bool(re.search(r"\w", word)) for word in shown.split()) <= 2000


def test_what_the_pages_say_at_their_tops_is_what_the_records_say(pages):
    def entries(paper, **which):
        found = compare(cells_of(paper), Records(), variants=[""], **which)
        return [each for each in found if each.paper and each.verdict != "not run"]

    for table in ("esbn.table9", "esbn.table10", "esbn.table11", "esbn.table12"):
        own = entries("esbn", tables=[table], rows=["ESBN + TCN"])
        assert {each.verdict for each in own} == {"reproduced"}
        assert own[-1].ours.n >= 5  # the hardest regime
    bare = [each for each in entries("esbn") if each.verdict == "not reproduced" and each.cell.row == "ESBN"]
    assert not bare
    apart = [each.ours.mean - each.paper.mean for each in entries("esbn") if each.verdict == "not reproduced"]
    assert (round(min(apart)), round(max(apart))) == (-11, 10)
    (jump,) = entries("scan", tables=["scan.table1"])
    assert (round(jump.ours.mean), round(jump.paper.mean)) == (77, 78)
    assert min(jump.ours.values) < 1 < 99 < max(jump.ours.values)
    assert "**The main one is in reach" in pages["scan"]
    judged = judge_all(compare(cells_of("scan"), Records()))
    assert [j.claim.id for j in judged if (j.scale, j.verdict) == ("paper", "reproduced")] == ["scan.C7"]
    table1 = entries("functions", tables=["functions.table1"])
    better = [
        each for each in table1 if each.verdict == "not reproduced" and each.ours.mean < each.paper.mean
    ]
    assert [each.verdict for each in table1].count("reproduced") == 3
    assert "twelve have three runs, and three of these agree" in pages["functions"]
    assert sum(each.cell.row.startswith("1d") for each in better) == 3


def test_text_of_a_ledger_becomes_html():
    assert inline("**Whether** `a<b>` is *so*") == (
        "<strong>Whether</strong> <code>a&lt;b&gt;</code> is <em>so</em>"
    )
    assert inline("$x_i < 1$") == r'<span class="math">\(x_i &lt; 1\)</span>'


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
    assert made(compared) == "3 runs, an hour or less of one CPU core, from d to d."
    assert made([]) == "No runs on record yet."


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
