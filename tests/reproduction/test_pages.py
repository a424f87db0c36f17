"""The replication pages: what they tell, sentence by sentence, on the runs on record."""

import json
import re
from html import unescape
from pathlib import Path
from statistics import fmean

import pytest

from mini_lib.reproduction import Records, compare, ledger, load_claims, write_pages
from mini_lib.reproduction.cells import PAPERS, cells_of
from mini_lib.reproduction.claims import judge_all, level_mean
from mini_lib.reproduction.glance import chance
from mini_lib.reproduction.judgement import WIDE
from mini_lib.reproduction.pages import CHAPTERS, TABLES, anchor, mark, once, outcome
from mini_lib.reproduction.tables import not_compared

MAIN = ("esbn.table9", "esbn.table10", "esbn.table11", "esbn.table12")
HARDEST = dict.fromkeys(MAIN, "m=95") | {"esbn.table9": "m=98"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    made = write_pages(tmp_path_factory.mktemp("pages"), Records())
    return {paper: path.read_text(encoding="utf-8") for paper, path in zip(PAPERS, made, strict=True)}


@pytest.fixture(scope="module")
def told(pages):
    """What is on a page before its table and the words that explain it, in one line."""
    return {paper: " ".join(page.partition('<p class="note">')[0].split()) for paper, page in pages.items()}


def numbers(paper):
    return {each.cell.id: each for each in compare(cells_of(paper), Records()) if not each.cell.variant}


def counted_once(paper):
    return once(each for each in numbers(paper).values() if each.is_printed)


def with_verdict(entries, verdict):
    return [each for each in entries if each.verdict == verdict]


def judged(paper):
    return {
        (j.claim.id.removeprefix(f"{paper}."), j.scale): j.verdict
        for j in judge_all(compare(cells_of(paper), Records()))
    }


# ------------------------------------------------------------------------------------------------ the page


def test_a_page_is_one_screen_of_text_one_table_and_one_closed_fold(pages, told):
    for paper, page in pages.items():
        assert len(told[paper].split()) < 340
        assert page.partition("<details")[0].count('<table class="verdicts') == 1
        assert page.count("<details") == page.count("<summary>") == 1
        assert "<details open" not in page
        assert re.search(r"\n\*\*[^*].{20,}?\*\*", page, re.DOTALL)  # the answer, in bold


def test_every_chapter_that_is_linked_is_there(pages):
    for notebook in {*CHAPTERS.values(), *(group.chapter for own in TABLES.values() for group in own)}:
        assert Path(f"notebooks/{notebook}.ipynb").is_file()
    for page in pages.values():
        for notebook in re.findall(r"notebooks/([\w/]+)\.(?:html|ipynb)", page):
            assert Path(f"notebooks/{notebook}.ipynb").is_file()


def test_a_line_shows_a_dot_for_each_run(pages):
    for paper, page in pages.items():
        lines = re.findall(r'<tr><th scope="row">.*?</tr>', page.partition("</table>")[0])
        assert lines
        for line in lines:
            runs = re.search(r'data-head="ours">[^<]*<small>([\d and]+) runs', line)[1]
            assert line.count("<circle") == sum(map(int, re.findall(r"\d+", runs)))
            assert line.count("</text>") == 2  # both ends of the axis
            assert ("reported mean" in line) == (paper != "kanerva" and "over 1,000" not in line)


def test_no_number_is_counted_twice(pages):
    every = counted_once("esbn")
    assert len({each.number for each in every}) == len(every)
    squares = re.findall(r'<button type="button" class="square [^>]*id="([^"]+)"', pages["esbn"])
    assert sorted(squares) == sorted(anchor(each.cell.id) for each in every)
    assert not [each for each in every if each.cell.row.endswith("(conv)")]  # these are of Tables 9 to 12


def test_a_square_has_the_runs_on_record(pages):
    found = numbers("esbn")["esbn.table10/MNM/m=95"]
    square, card = re.search(
        rf'<button([^>]*id="{anchor(found.cell.id)}"[^>]*)>[^<]*</button><template>(.*?)</template>',
        unescape(pages["esbn"]),
    ).groups()
    assert outcome(found) in square
    assert card.count("<circle") == len(found.ours.values)


def test_chance_is_never_far_above_a_reported_score():
    for each in counted_once("esbn"):
        assert each.paper.mean > chance(each) - 4


def test_every_claim_with_runs_is_on_its_page(pages):
    for paper in PAPERS:
        words = judged(paper)
        for claim in load_claims():
            name = claim.id.removeprefix(f"{paper}.")
            has = any(word != "not run" for (other, _), word in words.items() if other == name)
            if claim.paper == paper:
                assert (claim.statement in unescape(pages[paper])) == has


def test_details_that_change_a_result_are_on_the_page(pages):
    for paper in PAPERS:
        for each in ledger.load(paper).details:
            assert (f"**{each.about}.** {each.brief}" in pages[paper]) == bool(each.brief)


def test_what_unclear_means_is_in_the_glossary(pages):
    rule = " ".join(Path("book/glossary.md").read_text(encoding="utf-8").split())
    assert f"more than {WIDE['%']:g} points (or 25 %) either way" in rule
    assert all('<a href="../glossary.html">' in pages[paper] for paper in ("esbn", "scan", "functions"))


def test_a_claim_has_one_word_for_each_size(pages):
    """On the functions page numbers agree or differ: these networks may not be the authors'."""
    for paper in PAPERS:
        shown, _, claims = pages[paper].partition('<table class="verdicts claims">')
        words = set(re.findall(r'<b class="verdict-[a-z-]+">([a-z ]+)</b>', claims))
        assert words <= {"holds", "does not hold", "undecided", "seen", "not seen", "cannot be tested"}
        words = set(re.findall(r'<b class="verdict-[a-z-]+">([a-z ]+)</b>', shown))
        if paper == "kanerva":
            assert words <= {"seen", "not seen", "undecided", "cannot be tested"}
        else:
            known = {"reproduced", "not reproduced", "unclear", "agrees", "differs"}
            assert words <= known | {"does not hold", "fewer than three runs"}
            assert ("agrees" in words) == (paper == "functions")
            explained = set(re.findall(r"<em>([A-Z][a-z ]+)</em>:", shown))
            assert {each.lower() for each in explained} == words & known | {"luck"}


def test_what_differs_at_chance_is_marked_apart(pages):
    every = counted_once("esbn")
    noise = [each for each in every if mark(each) == "at chance"]
    assert {each.verdict for each in noise} == {"not reproduced"}
    assert pages["esbn"].count('<button type="button" class="square mark-at-chance"') == len(noise)
    assert f"ignore {len(noise)} that are at chance on both sides:" in pages["esbn"]


@pytest.mark.parametrize("paper", PAPERS)
def test_no_text_names_a_chapter_by_a_number_or_a_hash(paper):
    """Chapters move; a hash is lost where history is."""
    texts = json.dumps([vars(each) for each in (*ledger.load(paper).details, *ledger.load(paper).findings)])
    assert not re.findall(r"[Cc]hapters? \d", texts)


# ------------------------------------------------------------------------- what the pages say, sentence by sentence


def test_what_is_told_of_the_esbn(told):
    every = counted_once("esbn")
    run = [each for each in every if each.verdict != "not run"]
    assert f"only {len(run)} of the {len(every)} reported numbers have the three runs" in told["esbn"]
    hardest = [each for each in run if HARDEST.get(each.cell.table) == each.cell.column]
    esbn = [each for each in hardest if each.cell.row == "ESBN + TCN"]
    assert len(esbn) == 4
    assert {each.verdict for each in esbn} == {"reproduced"}
    assert all(min(each.ours.values) > 93 and each.ours.mean > 94 for each in esbn)
    others = [each for each in hardest if not each.cell.row.startswith("ESBN")]
    thirds = [each for each in others if each.cell.table == "esbn.table11"]
    assert len({each.cell.row.removesuffix(" + TCN") for each in thirds}) == 6
    assert max(max(each.ours.values) for each in thirds) < 36
    at = numbers("esbn")
    for task in ("esbn.table9/ESBN/m=98", "esbn.table10/ESBN/m=95"):  # without TCN
        assert abs(at[task].ours.mean - 50) < 1.5
        assert abs(at[task].paper.mean - 50) < 1.5
        assert at[task].verdict == "reproduced"
    differ = [each for each in with_verdict(every, "not reproduced") if mark(each) != "at chance"]
    ours = [each for each in differ if "ESBN" in each.cell.row or each.cell.table == "esbn.table19"]
    assert len(ours) == 3
    assert all(min(each.ours.mean, each.paper.mean) > 95 for each in ours)
    assert len(differ) - len(ours) == 9
    assert max(abs(each.difference.value) for each in differ) < 11.5
    random = [at[f"esbn.table{table}/ESBN (rand)/m=95"].ours for table in (16, 17, 18)]
    assert all(each.n >= 3 and each.mean > 94 for each in (*random, at["esbn.table15/ESBN (rand)/m=98"].ours))
    assert abs(at["esbn.table19/Same/different/m=98"].ours.mean - 50) < 0.5
    assert judged("esbn")["C6", "paper"] == "not reproduced"
    updates = level_mean(at["esbn.table10/Transformer + TCN/m=0"], "updates_to_95").value
    assert f"Our Transformer needs about {round(updates / 10) * 10} on RMTS." in told["esbn"]
    relation_net = at["esbn.table10/RN + TCN/m=95"].mean()
    assert relation_net.value + relation_net.half_width > 100
    assert judged("esbn")["C2", "paper"] == "unclear"
    lacking = with_verdict(every, "not run")
    assert f"The other {len(lacking)}, mostly" in told["esbn"]
    assert sum(each.cell.column in ("m=0", "m=50") for each in lacking) > len(lacking) / 2


def test_the_best_others_are_the_best_as_reported(pages):
    at = numbers("esbn")
    for table, column in HARDEST.items():
        others = {
            each.cell.row: each.paper.mean
            for each in at.values()
            if (each.cell.table, each.cell.column) == (table, column) and not each.cell.row.startswith("ESBN")
        }
        best = max(others, key=others.get)
        task = pages["esbn"].split('scope="rowgroup">')[1 + MAIN.index(table)]
        assert f"best rival with this encoder: {best}<" in task


def test_what_is_told_of_scan(told):
    found = numbers("scan")
    run = [each for each in counted_once("scan") if each.verdict != "not run"]
    assert {(each.verdict, each.cell.column) for each in run} == {("unclear", "Add jump")}
    assert f"Only {len(run)} of the paper's {len(counted_once('scan'))} numbers have" in told["scan"]
    jump = found["scan.table1/Syntactic Attention/Add jump"].ours
    assert min(jump.values) < 1 < 99 < max(jump.values)
    words = {claim: word for (claim, scale), word in judged("scan").items() if scale == "paper"}
    assert [claim for claim, word in words.items() if word == "reproduced"] == ["C7"]
    assert "not reproduced" not in words.values()
    assert words["C4"] == words["C9"] == "unclear"
    assert sum(jump.values) / (jump.n + 1) < 69.2 < jump.mean  # one failed run more
    runs = found["scan.table2/Sequential semantics/Add jump"].records
    failed = [each["metrics"]["validation_accuracy"] < 1 for each in runs].count(True)
    assert f"on {len(runs)} runs, of which {failed} did not even learn" in told["scan"]
    rest = with_verdict(counted_once("scan"), "not run")
    single = [each for each in rest if each.ours.n == 1]
    assert f"Of the other {len(rest)} numbers" in told["scan"]
    assert f"{len(single)} have one run and {len(rest) - len(single)} have none" in told["scan"]
    assert all(each.ours.n <= 1 for each in rest)


def test_what_is_told_of_functions(told, pages):
    found = numbers("functions")
    errors = [each for each in found.values() if each.cell.table == "functions.table1" and each.is_printed]
    unclear = with_verdict(errors, "unclear")
    run = [each for each in errors if each.verdict != "not run"]
    assert unclear
    assert len(run) == 12
    assert f"The {len(found) - len(errors)} spreads of Table 2" in told["functions"]
    for column in ("rbf", "all"):
        assert found[f"functions.table1/relational transformer/{column}"].verdict == "reproduced"
    plain, window, relational = (
        found[f"functions.table1/{row}/all"].ours
        for row in ("1d transformer", "1d transformer, learned window", "relational transformer")
    )
    assert min(plain.values) > max(window.values)
    assert relational.mean > plain.mean
    words = judged("functions")
    assert [words[f"C1{letter}", "paper"] for letter in "abcd"] == ["reproduced"] * 2 + ["unclear"] * 2
    lines = [
        found[f"functions.table1/{row}/lin"] for row in ("1d transformer", "1d transformer, learned window")
    ]
    ours, papers = (
        [mean(each) for each in lines] for mean in (lambda e: e.ours.mean, lambda e: e.paper.mean)
    )
    assert ours[0] > ours[1]  # with the window, and the other way round in the paper
    assert papers[0] < papers[1]
    for column in ("sine", "rbf"):
        without, with_it = (
            found[f"functions.table1/1d transformer{end}/{column}"].paper.mean
            for end in ("", ", learned window")
        )
        assert with_it < without
    both = [each for each in errors if each.cell.row == "relational transformer, learned window"]
    assert {each.verdict for each in both} == {"not run"}
    assert f"has only {both[0].ours.n} runs" in told["functions"]
    own = [each for each in load_claims() if each.paper == "functions"]
    known = {f"functions.{name}" for (name, _), word in words.items() if word != "not run"}
    lacking = {each.id for each in own} - known
    assert lacking == {each.id for each in own if any(map(not_compared, each.tables()))}
    assert f"{len(lacking)} more claims are about the spreads" in pages["functions"]
    # The mask of the formula, and what it does to the spread on lines.
    assert {each.cell.settings["options"]["mask"] for each in errors} == {"strict"}
    spread = "functions.table2/relational transformer{}/lin"
    small = {each.cell.id: each for each in compare(cells_of("functions"), Records()) if each.ours.n}
    assert min(small[f"{spread.format('')}/tutorial"].ours.mean, found[spread.format("")].ours.mean) > 0.19
    reported = [found[spread.format(end)].paper.mean for end in ("", ", learned window")]
    assert [f"{each:.2f}" for each in reported] == ["0.07", "0.09"]
    assert {words[claim, "tutorial"] for claim in ("C6b", "C7")} == {"reproduced"}
    assert (words["C1a", "tutorial"], words["C1c", "tutorial"]) == ("unclear", "not reproduced")


def test_what_is_told_of_kanerva(told):
    words = judged("kanerva")
    assert {word for (_, scale), word in words.items() if scale == "paper"} == {"not run"}
    for claim in ("fig1d.2", "fig4d.1", "fig3c.1"):
        assert words[claim, "tutorial"] == "reproduced"
    for claim in ("fig2c.1", "fig2a.1", "fig2a.2"):
        assert words[claim, "tutorial"] == "not reproduced"
    assert words["fig2c.1", "tutorial, small"] == "not reproduced"
    assert words["fig3c.3", "tutorial"] == "unclear"
    for claim in ("fig2a.1", "fig2a.2", "fig2d.1"):
        assert words[claim, "tutorial, small"] == "reproduced"
    found = {each.cell.id: each for each in compare(cells_of("kanerva"), Records())}
    assert found["kanerva.fig3b/k = 4/least used machine/tutorial"].ours.mean < 0.05
    for claim in ("fig1d.4", "fig1e.1", "fig3b.1"):
        assert words[claim, "tutorial"] == "not reproduced"
    assert words["fig2c.1", "tutorial, balanced at first"] == "unclear"
    (one,) = found["kanerva.fig2c/k = 2/loss/tutorial, six times as long"].ours.values
    (share,) = found["kanerva.fig2a/k = 2/largest gamma, reading/tutorial, six times as long"].ours.values
    single = found["kanerva.fig2c/k = 1/loss/tutorial"].ours.mean
    assert one > single
    assert share < 0.6
    *four, fifth = sorted(found["kanerva.fig2c/k = 2/loss/tutorial, balanced at first"].ours.values)
    assert 1.5 < single - fmean(four) < 2.5
    assert max(four) < single
    assert f"the fifth is {fifth - single:.0f} worse, which spoils the mean" in told["kanerva"]
    stopped, free = (
        found[f"kanerva.fig2c/k = 2{how}/loss/tutorial"].ours.mean for how in (", no gradient to r", "")
    )
    assert f"({stopped:.0f} nats in place of {free:.0f})" in told["kanerva"]
    assert stopped > free > single
    assert words["fig2c.2", "tutorial"] == words["fig2c.2", "tutorial, small"] == "unclear"
    assert ("fig3b.3", "tutorial, even weights") not in words


def test_verdicts_of_small_networks_do_not_judge_the_paper(pages):
    shown = re.findall(r'<b class="verdict-[a-z-]+">([a-z ]+)</b>', pages["kanerva"])
    assert shown
    assert set(shown) <= {"seen", "not seen", "undecided", "cannot be tested"}


def test_the_id_of_an_entry_names_its_place_on_the_page():
    assert anchor("esbn.table11/ESBN + TCN/m=95") == "esbn-table11-ESBN-TCN-m-95"
