"""The generated pages: what they tell of runs, on runs that are made up and on those on record."""

import json
import re
from html import unescape

import pytest

from mini_lib.kanerva.runs import Settings
from mini_lib.reproduction import Records, compare, ledger, load_claims, write_pages
from mini_lib.reproduction.cells import PAPERS, cells_of
from mini_lib.reproduction.claims import judge_all
from mini_lib.reproduction.pages import anchor, figure_of, in_cell, inline, made, measured_effects, run_sets
from reproduction.samples import FILE, cell, record

MAIN = ("esbn.table9", "esbn.table10", "esbn.table11", "esbn.table12")


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
    assert all(
        f'<th scope="row">{claim.short}</th>' in page and len(claim.short.split()) <= 7 for claim in short
    )


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


# ----------------------------------------------------------------------- what the pages say, sentence by sentence


@pytest.fixture(scope="module")
def told(pages):
    """The paragraphs under the squares, in one line each."""
    found = {}
    for paper, page in pages.items():
        text = page.partition("## What comes back, and what does not")[2].partition("\n## ")[0]
        found[paper] = " ".join(text.split())
    return found


def numbers(paper):
    return {each.cell.id: each for each in compare(cells_of(paper), Records()) if not each.cell.variant}


def with_verdict(entries, verdict):
    return [each for each in entries if each.verdict == verdict]


def judged(paper):
    return {
        (j.claim.id.removeprefix(f"{paper}."), j.scale): j.verdict
        for j in judge_all(compare(cells_of(paper), Records()))
    }


def test_what_is_told_of_the_esbn(told):
    every = [each for each in numbers("esbn").values() if each.is_printed]
    run = [each for each in every if each.verdict != "not run"]
    assert f"report {len(every)} numbers, and we have three runs or more of {len(run)}." in told["esbn"]
    assert 0.45 < 1 - len(run) / len(every) < 0.55  # half has not been run
    differ = with_verdict(run, "not reproduced")
    assert f"{len(differ)} differ" in told["esbn"]
    main = [each for each in run if each.cell.row == "ESBN + TCN" and each.cell.table in MAIN]
    assert {each.verdict for each in main} == {"reproduced"}
    assert f"we ran {len(main)} numbers of Tables 9 to 12, and all of them agree" in told["esbn"]
    hardest = {each.cell.table: each for each in main}
    assert {each.cell.column for each in hardest.values()} == {"m=95", "m=98"}
    without = [
        each for each in run if each.cell.row == "Same/different" and each.cell.table == "esbn.table19"
    ]
    without += [each for each in run if each.cell.row == "ESBN" and each.cell.table == "esbn.table9"]
    assert len(without) == 8
    assert all(abs(each.ours.mean - 50) < 0.5 for each in without)
    assert judged("esbn")["C6", "paper"] == "not reproduced"
    assert "our Transformer with TCN learns RMTS in about 460." in told["esbn"]
    apart = [each.ours.mean - each.paper.mean for each in differ]
    assert (round(min(apart)), round(max(apart))) == (-11, 10)
    esbn = [each for each in differ if "ESBN" in each.cell.row or each.cell.table == "esbn.table19"]
    assert [each.cell.row for each in esbn] == ["ESBN (MLP)"] * 2 + ["Same/different", "Identity rules"]
    lacking = with_verdict(every, "not run")
    assert (
        sum("ESBN" not in each.cell.row and each.cell.table != "esbn.table19" for each in lacking)
        > len(lacking) / 2
    )


def test_what_is_told_of_scan(told):
    found = numbers("scan")
    run = [each for each in found.values() if each.is_printed and each.verdict != "not run"]
    assert (len(run), {each.verdict for each in run}, {each.cell.column for each in run}) == (
        4,
        {"unclear"},
        {"Add jump"},
    )
    jump = found["scan.table1/Syntactic Attention/Add jump"].ours.values
    assert min(jump) < 1 < 99 < max(jump)
    assert "get 77 % of the new commands" in told["scan"]
    assert "and the paper's got 78 %" in told["scan"]
    assert [
        claim for (claim, scale), word in judged("scan").items() if (scale, word) == ("paper", "reproduced")
    ] == ["C7"]
    runs = found["scan.table2/Sequential semantics/Add jump"].records
    assert "rests on 3 runs, one of which did not learn" in told["scan"]
    assert [each["metrics"]["validation_accuracy"] < 1 for each in runs].count(True) == 1
    rest = [each for each in found.values() if each.is_printed and each.verdict == "not run"]
    assert all(each.ours.n <= 1 for each in rest)


def test_what_is_told_of_functions(told):
    found = numbers("functions")
    errors = [each for each in found.values() if each.cell.table == "functions.table1" and each.is_printed]
    assert f"{len(errors)} errors in Table 1" in told["functions"]
    assert "Of the 12 errors with three runs, 3 agree, 3 differ, and 6 cannot be told." in told["functions"]
    for column in ("rbf", "all"):
        assert found[f"functions.table1/relational transformer/{column}"].verdict == "reproduced"
    differ = with_verdict(errors, "not reproduced")
    assert all(each.cell.row.startswith("1d") and each.ours.mean < each.paper.mean for each in differ)
    words = judged("functions")
    assert {words[claim, "tutorial"] for claim in ("C6b", "C7")} == {"reproduced"}
    assert {words[claim, "tutorial"] for claim in ("C1a", "C5a")} == {"not reproduced"}
    small = {
        each.cell.id: each.ours.mean for each in compare(cells_of("functions"), Records()) if each.ours.n
    }
    plain, window, relational = (
        small[f"functions.table1/{row}/all/tutorial"]
        for row in ("1d transformer", "1d transformer, learned window", "relational transformer")
    )
    assert plain < window < relational  # neither idea alone lowers the error
    assert "from 0.35 to 0.57; the window moves it to 0.37 and the bottleneck to 0.44" in told["functions"]


def test_what_is_told_of_kanerva(told):
    words = judged("kanerva")
    assert {word for (_, scale), word in words.items() if scale == "paper"} == {"not run"}
    for claim in ("fig1d.3", "fig4d.1", "fig2c.2", "fig3c.1"):
        assert words[claim, "tutorial"] == "reproduced"
    for claim in ("fig2c.1", "fig1e.1", "fig1d.4", "fig2a.1", "fig2a.2", "fig3b.4", "fig3b.5"):
        assert words[claim, "tutorial"] == "not reproduced"
    assert words["fig3c.3", "tutorial"] == "unclear"
    for claim in ("fig2a.1", "fig2a.2", "fig2d.1"):
        assert words[claim, "tutorial, small"] == "reproduced"
    balanced = "tutorial, balanced at first"
    assert (words["fig2a.1", balanced], words["fig2a.2", balanced]) == ("unclear", "reproduced")
    found = {each.cell.id: each for each in compare(cells_of("kanerva"), Records())}
    assert found["kanerva.fig3b/k = 4/one sprite/tutorial"].ours.mean > 0.5
    assert found["kanerva.fig3b/k = 4/least used machine/tutorial"].ours.mean < 0.05
    assert "for 10,000 updates of 8 episodes, at a learning" in told["kanerva"]
    assert (Settings("rgb", 2).epochs * 10, Settings("rgb", 2).batch_size) == (200_000, 24)


def test_verdicts_of_small_networks_do_not_judge_the_paper(pages):
    page = pages["kanerva"]
    shown = re.findall(r"\[([a-z ]+)\]\{\.verdict", page)
    assert shown
    assert set(shown) <= {"seen", "not seen", "unclear", "not run"}
    assert "no square: not tried" in page


@pytest.mark.parametrize("paper", PAPERS)
def test_no_text_names_a_chapter_by_a_number_or_a_hash(paper, pages):
    """Chapters move; a hash is lost where history is."""
    texts = json.dumps([vars(each) for each in (*ledger.load(paper).details, *ledger.load(paper).findings)])
    assert not re.findall(r"[Cc]hapters? \d", texts + pages[paper])
    assert not re.findall(r"\bat [0-9a-f]{7,40}\b", pages[paper])


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
    where = "(Table 11: ESBN + TCN, m=95)"
    assert found == {
        "no mask": f"80 in place of 90 {where}",
        "no mask, window": f"60 in place of 80 {where}",
    }
    beside = ledger.Detail("a", "p", "r", "o", "w", variant="no mask, window", beside="")
    found = measured_effects(compare([cell(), no_mask, both], store), ledger.Ledger("esbn", (), (beside,)))
    assert found["no mask, window"] == f"60 in place of 90 {where}"
    other = compare(
        [cell(column="m=85", m=85), cell(column="m=85", m=85, variant="no mask", mask="none")], store
    )
    assert len(measured_effects(other, ledger.Ledger("esbn", ()))) == 0  # no runs


def test_names_of_places_and_cells_of_tables():
    assert anchor("esbn.table11/ESBN + TCN/m=95") == "esbn-table11-ESBN-TCN-m-95"
    assert figure_of("Section 3.1, Figure 1D, footnote 1") == "1D"
    assert (figure_of("A.5, Figures 1E and 4D"), figure_of("Section 3.4")) == ("1E and 4D", "Section 3.4")
    assert in_cell("x|y\n z") == "x\\|y z"
    assert in_cell("to <EOS> and `<SOS>`") == "to &lt;EOS> and `<SOS>`"
