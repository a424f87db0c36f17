"""The generated pages say what the records and the ledger say, and link to what exists."""

import re
import shlex
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest
from scipy import stats

from mini_lib.errors import UsageError
from mini_lib.reproduction import Records, compare, ledger, load_claims, summary, write_pages
from mini_lib.reproduction.cli import cells as named_cells, packages
from mini_lib.reproduction.comparison import table_name
from mini_lib.reproduction.glance import anchor
from mini_lib.reproduction.kanerva import cells as kanerva
from mini_lib.reproduction.pages import (
    COUNTS,
    command_again,
    comparison_page,
    measured_effects,
    with_counts,
)
from reproduction.samples import HOME as TABLE, cell, record

ROOT = Path(__file__).parents[2]
UNSAID = ledger.Ledger("esbn", ())  # a ledger without a detail
PACKAGES = packages()


def add(store, seed, accuracy, device="cpu: x", **settings):
    made = record(seed, accuracy or 0.0, diverged=accuracy is None, **settings)
    made["provenance"] |= {"device": device, "seconds": 1800.0, "date": f"2026-11-{seed:02}"}
    store.add(made, TABLE)


@pytest.fixture
def papers():
    cells = [cell(column=f"m={m}", m=m) for m in (0, 50, 85, 95)]
    cells += [cell(variant="released images", x=1), cell("esbn.figure8", "RMTS", "m=0", m=8)]
    package = ModuleType("experiments")
    package.PAPER, package.TITLE, package.CELLS = "esbn", "A title", cells
    return [package]


@pytest.fixture
def store(tmp_path):
    store = Records(tmp_path / "records")
    for seed in range(1, 11):
        add(store, seed, 99.6)
    for seed in (1, 2, 3):
        add(store, seed, 60.0, "cuda: H", m=85)
    add(store, 4, None, "cuda: H", m=85)
    add(store, 1, 99.0, x=1)
    return store


@pytest.fixture
def page(papers, store, tmp_path):
    paths = write_pages(tmp_path / "book" / "generated", papers, store)
    assert [path.name for path in paths] == [
        "paper_against_ours.md",
        "index_to_the_paper.md",
        "what_the_paper_does_not_say.md",
    ]
    return paths[0].read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


def linked(kind, column, variant=""):
    """The name of a place on the page, of a cell of Table 11."""
    return anchor(cell(column=column, variant=variant), kind)


def test_an_entry_says_paper_ours_and_verdict_and_leads_to_its_runs(page):
    def entry(column, variant=""):
        start = re.escape(f'<span id="{linked("cell", column, variant)}"></span>')
        (found,) = re.findall(rf"{start}(.*?) \|", page)
        target = linked("runs", column, variant)
        return found.replace(f'<a href="#{target}">', "<ours>").replace("</a>", "</ours>")

    assert entry("m=95") == "99.7 ± 0.1<br><ours>99.6 ± 0 (10 runs)</ours><br>[match]{.verdict-match}"
    assert entry("m=0") == "98.7 ± 0.4"
    differs = "<br>[differs]{.verdict-differs}, partial"
    assert entry("m=85") == f"99.5 ± 0.2<br><ours>60 ± 0, 1 diverged (4 runs)</ours>{differs}"
    assert entry("m=95", "released images") == "99.7 ± 0.1<br><ours>1 run: 99</ours><br>too few runs"


def folded(page):
    """What stands inside of each <details>, by its summary."""
    return re.findall(r"<details>\n<summary>(.*?)</summary>\n(.*?)</details>", page, re.DOTALL)


def test_what_has_no_run_is_folded(page):
    folds = dict(folded(page.split("(esbn-table11)=")[1].split("(esbn-figure8)=")[0]))
    waiting = folds["2 cells without a run"]
    assert re.findall(r'<span id="(cell-.+?)"', waiting) == [linked("cell", "m=0"), linked("cell", "m=50")]
    open_page = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
    assert linked("cell", "m=85") in open_page
    assert f'<span id="{linked("cell", "m=50")}"' not in open_page
    assert "No runs yet." in page.split("(esbn-figure8)=")[1]


def test_a_wide_table_is_laid_on_its_side(tmp_path):
    """Six measures of two machines; of six machines they stay as they are."""

    def heads(machines):
        cells = [
            cell("kanerva.fig8", f"k = {k}", f"measure {m}", x=k) for k in range(machines) for m in range(6)
        ]
        text = comparison_page([("T", ledger.Ledger("kanerva", ()), compare(cells, Records(tmp_path)))])
        return re.findall(r"^\|  \| ((?:k|measure) .+) \|$", text, re.MULTILINE)

    assert heads(2) == ["k = 0 | k = 1"]
    assert heads(6) == [" | ".join(f"measure {m}" for m in range(6))]


def test_the_runs_of_a_cell_are_folded_with_seeds_records_and_command(page):
    folds = dict(folded(page.split("(esbn-table11)=")[1]))
    (row,) = (
        line
        for line in folds["The runs behind these numbers, and how to repeat them"].splitlines()
        if linked("runs", "m=85") in line
    )
    assert "| 1 to 4<br>60 ... 60 |" in row
    assert "[esbn.table11.jsonl](../../mini_lib/reproduction/records/esbn.table11.jsonl)<br>" in row
    again = "mini-lib reproduce esbn.table11 --rows 'ESBN + TCN' --columns m=85 --seeds 4 --records again"
    assert f"`{again}`" in row


def test_the_command_trains_every_seed_up_to_the_last(tmp_path):
    store = Records(tmp_path)
    for seed in (2, 5):
        add(store, seed, 99.0, scale="tutorial", x=1)
    (found,) = compare([cell("esbn.table17", variant="tutorial, no mask", x=1)], store)
    assert command_again(found) == (
        "mini-lib reproduce esbn.table17 --rows 'ESBN + TCN' --columns m=95 "
        "--variant 'tutorial, no mask' --seeds 5 --records again"
    )


def test_verdicts_are_counted_and_variants_stand_beneath(page):
    assert "| [Table 11](#esbn-table11) | 1 |  | 1 |  |  | 2 | 1 |" in page
    assert page.index("(esbn-table11)=") < page.index("Other reading: *released images*.")
    assert page.index("Table 11: ") < page.index("Figure 8: Training accuracy")
    assert "`mini-lib reproduce esbn.table11` trains what is missing" in page


def test_a_paper_without_printed_numbers_is_counted_by_what_was_measured(tmp_path):
    rows = ("k = 1", "k = 2")
    cells = [cell("kanerva.fig1e", row, "loss", m=row) for row in rows]
    cells += [cell("kanerva.fig1e", row, "loss", variant="tutorial", small=row) for row in rows]
    store = Records(tmp_path)
    store.add(record(1, 3.0, scale="tutorial", small="k = 1"), "kanerva.fig1e")
    text = comparison_page([("T", ledger.Ledger("kanerva", ()), compare(cells, store))])
    assert "prints no numbers" in text
    assert "| [Figure\N{NO-BREAK SPACE}1E](#kanerva-fig1e) | 0 of 2 | 1 of 2 |" in text


def test_settings_of_the_smaller_scale_stand_once_beneath_the_claims(tmp_path):
    text = write_pages(tmp_path, [kanerva], Records(tmp_path / "none"))[0].read_text(encoding="utf-8")
    lines = dict(folded(text))["What differs from the paper's settings"]
    notes = re.findall(r"^- \((.)\) [a-z_]+=", lines, re.MULTILINE)
    assert notes == [str(number) for number in range(1, len(notes) + 1)] != []
    assert "not run (1)<br>no runs |" in text
    assert text.count("source=distorted") == lines.count("source=distorted")


def test_provenance_tells_devices_versions_and_hours(page):
    assert "15 runs, 5.5 cpu hours and 2.0 cuda hours" in page
    assert "- devices: cpu: x (11), cuda: H (4)" in page
    assert "- torch: 2 (15)" in page
    assert "- made from: 2026-11-01 to 2026-11-10" in page


def test_a_run_that_shared_its_gpu_counts_for_its_part_of_the_hours(papers, tmp_path):
    store = Records(tmp_path / "records")
    shared = record(1, 99.0, m=0)
    shared["provenance"] |= {"device": "cuda: H", "seconds": 18000.0, "at_once": 10}
    store.add(shared, TABLE)
    page = write_pages(tmp_path, papers, store)[0].read_text(encoding="utf-8")
    assert "1 run, 0.5 cuda hours" in page


def test_columns_stand_in_the_order_of_the_table_whatever_has_runs(tmp_path):
    package, store = ModuleType("experiments"), Records(tmp_path / "records")
    package.PAPER, package.TITLE = "esbn", "A title"
    package.CELLS = [
        cell(row=f"{name} + TCN", column=f"m={m}", m=m, model=name)
        for name in ("ESBN", "LSTM")
        for m in (0, 95)
    ]
    store.add(record(m=95, model="ESBN"), TABLE)
    store.add(record(m=0, model="LSTM"), TABLE)
    page = write_pages(tmp_path, [package], store)[0].read_text(encoding="utf-8")
    assert "|  | m=0 | m=95 |" in page
    assert "|  | m=95 | m=0 |" not in page


def test_how_often_chance_alone_decides_is_told(papers, store, tmp_path):
    text = " ".join(write_pages(tmp_path, papers, store)[0].read_text(encoding="utf-8").split())
    three, ten = (round(100 * stats.t.sf(2, runs - 1)) for runs in (3, 10))
    assert (
        f"2 standard errors above it in {three} of 100 cases, and as often below (a mean of ten in {ten})"
        in text
    )


def test_without_records_the_page_says_so(papers, tmp_path):
    text = write_pages(tmp_path, papers, Records(tmp_path))[0].read_text(encoding="utf-8")
    assert "No runs on record yet." in text
    assert "verdict-" not in text


def test_what_a_variant_measured_reaches_the_details(papers, store, tmp_path):
    effects = measured_effects(compare(papers[0].CELLS, store), UNSAID)
    assert effects == {
        "released images": "ESBN + TCN, Table 11, m=95: 1 run: 99 instead of 99.6 ± 0 (10 runs)."
    }
    text = write_pages(tmp_path, papers, store)[2].read_text(encoding="utf-8")
    assert f"- *Effect:* {effects['released images']}" in text


def test_a_reading_at_the_smaller_scale_is_compared_with_that_scale(tmp_path):
    store = Records(tmp_path)
    cells = [cell(), cell(variant="no mask", x=1)]
    cells += [cell(variant="tutorial", x=2), cell(variant="tutorial, no mask", x=3)]
    store.add(record(1, 99.0), TABLE)
    store.add(record(1, 98.0, x=1), TABLE)
    store.add(record(1, 60.0, scale="tutorial", x=2), TABLE)
    store.add(record(1, 50.0, scale="tutorial", x=3), TABLE)
    effects = measured_effects(compare(cells, store), UNSAID)
    where = "ESBN + TCN, Table 11, m=95"
    assert effects == {
        "tutorial": f"{where}: 1 run: 60 instead of 1 run: 99.",
        "no mask": f"{where}: 1 run: 98 instead of 1 run: 99; "
        f"{where}, tutorial scale: 1 run: 50 instead of 1 run: 60.",
    }


def test_a_reading_of_a_reading_is_compared_with_that_and_nothing_with_the_same_runs(tmp_path):
    store = Records(tmp_path)
    settings = {"": 1, "small": 2, "small, even": 3, "long, even": 4, "alone": 1}
    cells = [cell(variant=", ".join(filter(None, ("tutorial", name))), x=x) for name, x in settings.items()]
    for x in (1, 2, 3, 4):
        store.add(record(1, 10.0 * x, scale="tutorial", x=x), TABLE)
    where = "ESBN + TCN, Table 11, m=95, tutorial scale"
    assert measured_effects(compare(cells, store), UNSAID) == {
        "small": f"{where}: 1 run: 20 instead of 1 run: 10.",
        "small, even": f"{where}, small: 1 run: 30 instead of 1 run: 20.",
        "long, even": f"{where}: 1 run: 40 instead of 1 run: 10.",
    }


def test_two_readings_at_once_are_compared_with_what_the_ledger_names(tmp_path):
    store = Records(tmp_path)
    names = ("tutorial", "tutorial, mask", "tutorial, last point", "tutorial, mask, last point")
    cells = [cell(variant=name, x=x) for x, name in enumerate(names)]
    for x in range(len(names)):
        store.add(record(1, 10.0 * (x + 1), scale="tutorial", x=x), TABLE)
    both = ledger.Detail("A", "p", "r", "o", "w", variant="mask, last point", beside="")
    where = "ESBN + TCN, Table 11, m=95, tutorial scale"
    found, nearest = (
        measured_effects(compare(cells, store), ledger.Ledger("esbn", (), details))["mask, last point"]
        for details in ((both,), (replace(both, beside=None),))
    )
    assert found == f"{where}: 1 run: 40 instead of 1 run: 10."
    assert nearest == f"{where}, mask: 1 run: 40 instead of 1 run: 20."


def test_a_paper_is_not_told_the_effects_of_another_one(tmp_path):
    store = Records(tmp_path / "records")
    measured, other = ModuleType("measured"), ModuleType("other")
    measured.PAPER, measured.TITLE = "kanerva", "Measured"
    other.PAPER, other.TITLE, other.CELLS = "scan", "Other", []
    for paper in ("kanerva", "scan"):
        assert "tutorial" in {detail.variant for detail in ledger.load(paper).details}
    variant = cell("kanerva.fig8", "k = 4", "new", variant="tutorial", x=7)
    measured.CELLS = [cell("kanerva.fig8", "k = 4", "new", x=6), variant]
    store.add(record(1, 0.2, x=6), "kanerva.fig8")
    store.add(record(1, 0.3, scale="tutorial", x=7), "kanerva.fig8")
    text = write_pages(tmp_path, [measured, other], store)[2].read_text(encoding="utf-8")
    assert text.count("k = 4, Figure 8, new: 1 run: 0.3 instead of 1 run: 0.2.") == 1


def test_another_number_of_the_same_runs_is_an_effect(tmp_path):
    store = Records(tmp_path)
    found = record(1, 10.0, scale="tutorial")
    found["metrics"]["other"] = 20.0
    store.add(found, TABLE)
    cells = [cell(variant="tutorial"), replace(cell(variant="tutorial, sliding"), metric="other")]
    effects = measured_effects(compare(cells, store), UNSAID)
    assert effects == {
        "sliding": "ESBN + TCN, Table 11, m=95, tutorial scale: 1 run: 20 instead of 1 run: 10."
    }


def test_readings_stand_beneath_the_scale_that_they_are_of(tmp_path):
    store = Records(tmp_path)
    names = {"": 0, "tutorial": 1, "tutorial, balanced": 2, "tutorial, without runs": 3}
    cells = [cell("kanerva.fig8", "k = 4", "new", variant=name, x=x) for name, x in names.items()]
    for seed in (1, 2, 3):
        store.add(record(seed, 0.0, scale="tutorial", x=1), "kanerva.fig8")
        store.add(record(seed, 0.1, scale="tutorial", x=2), "kanerva.fig8")
    text = comparison_page([("T", ledger.Ledger("kanerva", ()), compare(cells, store))])
    (row,) = (line for line in text.splitlines() if line.startswith("| kanerva.fig8.2"))
    assert "[fails]" in row
    assert "<br>*balanced* (addition): [holds]{.verdict-match}<br>weakest: fig8/k = 4/new, 0.1 |" in row
    assert "without runs" not in row


def test_a_table_is_headed_by_what_its_variant_is(tmp_path):
    headings = {
        "tutorial": "Smaller task",
        "tutorial, unit prior": "Other reading",
        "tutorial, balanced at first": "Addition of ours",
        "tutorial, machine given": "Control",
        "tutorial, small": "Smaller task",
    }
    cells = [cell("kanerva.fig8", "k = 4", "new", variant=name, x=x) for x, name in enumerate(headings)]
    text = comparison_page([("T", ledger.Ledger("kanerva", ()), compare(cells, Records(tmp_path)))])
    assert re.findall(r"^([\w ]+): \*(tutorial.*)\*\.$", text, re.MULTILINE) == [
        (heading, name) for name, heading in headings.items()
    ]


def test_tables_have_the_papers_names():
    assert [table_name(table) for table in ("esbn.table9", "kanerva.fig2c")] == ["Table 9", "Figure 2C"]


@pytest.fixture(scope="module")
def real_comparisons():
    """All cells beside the committed records."""
    return compare(list(chain.from_iterable(package.CELLS for package in PACKAGES)), Records())


def test_the_counts_in_the_readme_are_those_of_the_records(real_comparisons):
    """After new runs, or new claims, `make pages` writes them anew."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == with_counts(text, real_comparisons), "out of date: run `make pages` and commit"


def test_the_readme_has_the_tables_of_the_summary(tmp_path):
    store = Records(tmp_path)
    for seed in (1, 2, 3):
        for x in (1, 2):
            store.add(record(seed, 0.1, scale="tutorial", x=x), "kanerva.fig8")
        store.add(record(seed, 99.0), TABLE)
    variants = ("", "tutorial", "tutorial, small")
    cells = [cell("kanerva.fig8", "k = 4", "new", variant=name, x=x) for x, name in enumerate(variants)]
    compared = compare([*cells, cell(), cell("esbn.table17", "ESBN (conv)")], store)
    written = with_counts(f"{COUNTS}{COUNTS}", compared)
    in_readme = [line.strip("| ").split(" | ") for line in written.splitlines() if line.startswith("| ")]
    printed = [re.split(r"  +", line.strip()) for line in summary(compared).splitlines()]
    assert [row for row in in_readme if row[0] != "---" and row not in printed] == []
    assert [row[1] for row in in_readme if row[0] == "kanerva"][1:] == [
        "paper",
        "tutorial",
        "tutorial, small",
    ]
    assert "esbn 1 of 2." in written


def test_counts_need_their_place_in_the_readme():
    text = f"above\n{COUNTS}\nof last week\n{COUNTS}\nbelow\n"
    written = with_counts(text, [])
    assert written.startswith(f"above\n{COUNTS}\n\n| paper | printed numbers |")
    assert written.endswith(f"|\n\n{COUNTS}\nbelow\n")
    assert "last week" not in written
    with pytest.raises(UsageError, match=r"stand between two lines '<!-- counts.*and this README has 0"):
        with_counts("above\nbelow\n", [])


@pytest.fixture(scope="module")
def real_pages(tmp_path_factory):
    """Of the committed records."""
    return write_pages(tmp_path_factory.mktemp("pages"), PACKAGES, Records())


def test_the_real_pages_name_every_table_and_claim_and_link_to_the_books_pages(real_pages):
    text = real_pages[0].read_text(encoding="utf-8")
    assert [claim.id for claim in load_claims() if f"| {claim.id} |" not in text] == []
    anchors = {cell.table.replace(".", "-") for package in PACKAGES for cell in package.CELLS}
    assert set(re.findall(r"^\((.+)\)=$", text, re.M)) == anchors
    assert set(re.findall(r"\]\(#(.+?)\)", text)) == anchors
    contents = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
    for path in real_pages:
        for link in re.findall(r"\]\(\.\./\.\./(.+?)\.(?:ipynb|md)\)", path.read_text(encoding="utf-8")):
            assert f"file: {link}\n" in contents
        assert f"file: book/generated/{path.stem}\n" in contents


def test_claims_without_a_run_stand_below_the_command_that_trains_the_first(real_pages):
    folds = folded(real_pages[0].read_text(encoding="utf-8"))
    commands = {
        re.search(r"^\| ([a-z]+\.\S+) \|", body, re.M)[1]: re.findall(r"`mini-lib reproduce (.+?)`", body)
        for summary, body in folds
        if re.match(r"\d+ claims? without a run", summary)
    }
    assert commands
    assert all(named == [first] for first, named in commands.items())


@pytest.mark.parametrize("page", [0, 1, 2])
def test_every_line_of_a_table_has_as_many_cells(real_pages, page):
    width = 0
    for line in real_pages[page].read_text(encoding="utf-8").splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert width in (0, cells) or cells == 0
        width = cells


def test_every_link_within_the_comparison_page_leads_somewhere(real_pages):
    text = real_pages[0].read_text(encoding="utf-8")
    places = re.findall(r'<span id="(.+?)">', text)
    assert len(places) == len(set(places)), "two places of one name"
    places += re.findall(r"^\((.+)\)=$", text, re.M)
    places += [title.lower().replace(" ", "-") for title in re.findall(r"^## (.+)$", text, re.M)]
    links = set(re.findall(r'href="#(.+?)"', text))
    assert len(links) > len(load_claims())
    assert links <= set(places)


def test_every_printed_number_has_a_square_and_every_one_with_runs_a_point(real_pages, real_comparisons):
    text = real_pages[0].read_text(encoding="utf-8")
    squares = re.findall(r'<a class="square mark-([\w-]+)" href="#(.+?)"', text)
    printed = [each for each in real_comparisons if each.is_printed]
    assert sorted(squares) == sorted((each.verdict.replace(" ", "-"), anchor(each.cell)) for each in printed)
    points = re.findall(r'<a class="mark-[\w-]+" href="#(.+?)"', text)
    assert sorted(points) == sorted(anchor(each.cell) for each in printed if each.ours.mean is not None)
    assert [
        text.count(f"- **{word}.**") for word in ("Reproduced", "Contradicted", "Undecided or untested")
    ] == [len(PACKAGES)] * 3


def test_a_cells_records_lie_in_the_file_that_is_linked_and_its_command_asks_for_that_cell(real_comparisons):
    folder = ROOT / "mini_lib" / "reproduction" / "records"
    measured = [each for each in real_comparisons if each.ours.n]
    files = {home: (folder / f"{home}.jsonl").read_text() for home in {each.cell.home for each in measured}}
    for each in measured:
        assert [record["key"] for record in each.records if record["key"] not in files[each.cell.home]] == []
        words = shlex.split(command_again(each))
        assert words[:2] == ["mini-lib", "reproduce"]
        options = dict(zip(words[3::2], words[4::2], strict=True))
        variants = [options["--variant"]] if "--variant" in options else None
        found = named_cells(words[2], [options["--rows"]], [options["--columns"]], variants)
        assert [cell for cell in found if variants or not cell.variant] == [each.cell]
        assert int(options["--seeds"]) >= len(each.records)
