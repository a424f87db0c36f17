"""The top of the comparison page: squares, drawings and three lines, of cells and records made up for it."""

import math
import re
from dataclasses import replace

import pytest

from mini_lib.reproduction import Records, compare, glance
from reproduction.samples import HOME, cell, record


def compared(folder, cells, runs):
    """The cells beside the papers' numbers, with runs of these accuracies (None: diverged) by settings `x`."""
    store = Records(folder)
    for x, accuracies in runs.items():
        for seed, accuracy in enumerate(accuracies, start=1):
            made = record(seed, accuracy or 0.0, diverged=accuracy is None, x=x)
            store.add(made, HOME)
    return compare(cells, store)


@pytest.fixture
def table_11(tmp_path):
    """99.7 ± 0.1 is printed for m=95, 98.7 ± 0.4, 99 ± 0.3 and 99.5 ± 0.2 for the others; another reading beside."""
    cells = [cell(column=f"m={m}", x=m) for m in (0, 50, 85, 95)]
    cells += [cell(variant="other", x=1), cell(row="a row that is not printed", x=95)]
    return compared(
        tmp_path, cells, {95: [99.6, 99.7, 99.8], 85: [40.0, 41.0, 42.0], 50: [98.0], 1: [99.0] * 3}
    )


def tags(html, name):
    """The attributes of each such tag, in order."""
    found = re.findall(rf"<{name}( [^>]*)>", html)
    return [dict(re.findall(r'([\w-]+)="([^"]*)"', attributes)) for attributes in found]


def squares_of(html):
    return [each for each in tags(html, "a") if each.get("class", "").startswith("square ")]


def test_each_printed_number_has_one_square_and_nothing_else_has(table_11):
    html = glance.squares(table_11)
    assert [square["class"] for square in squares_of(html)] == [
        "square mark-not-run",
        "square mark-too-few-runs",
        "square mark-differs",
        "square mark-match",
    ]
    assert re.findall(r'scope="row">(.+?)<', html) == ["ESBN + TCN"]
    assert re.findall(r'scope="col".*?><span>(.+?)<', html) == ["m=0", "m=50", "m=85", "m=95"]
    assert "\n\n" not in html, "Markdown would end the HTML there"


def test_a_square_names_its_cell_both_numbers_and_the_verdict_and_leads_to_the_entry(table_11):
    empty, few, _, match = squares_of(glance.squares(table_11))
    assert match["title"] == match["aria-label"]
    assert match["title"].startswith(
        "Table 11, ESBN + TCN, m=95: paper 99.7 ± 0.1 (%), ours 99.7 ± 0.058 (3 runs), match"
    )
    assert "ours 1 run: 98, too few runs" in few["title"]
    assert empty["title"].endswith("paper 98.7 ± 0.4 (%), not run")
    assert match["href"] == "#cell-esbn-table11-ESBN-TCN-m-95"


def test_a_square_carries_its_verdict_without_colour_too(table_11):
    signs = re.findall(r'<a class="square[^>]*>(.*?)</a>', glance.squares(table_11))
    assert signs == ["", "1", glance.SIGNS["differs"], glance.SIGNS["match"]]
    assert len(set(glance.SIGNS.values())) == len(glance.SIGNS)
    assert [word in glance.legend() for word in glance.SIGNS] == [True] * len(glance.SIGNS)


def test_tables_of_the_same_rows_share_them(tmp_path):
    names = ("esbn.table10", "esbn.table11", "esbn.table15")
    rows = ("ESBN + TCN", "ESBN + TCN", "ESBN (conv)")
    cells = [cell(table, row, "m=0") for table, row in zip(names, rows, strict=True)]
    html = glance.squares(compare(cells, Records(tmp_path)))
    assert html.count("<table") == 2
    assert re.findall(r'scope="row">(.+?)<', html) == ["ESBN + TCN", "ESBN (conv)"]
    assert re.findall(r'<a href="#(esbn-table\d+)">', html) == [name.replace(".", "-") for name in names]
    assert len(squares_of(html)) == 3


def test_a_paper_without_numbers_has_a_sentence(tmp_path):
    none = compare([cell("kanerva.fig8", "k = 4", "new")], Records(tmp_path))
    assert "prints no numbers" in glance.squares(none)


# ----------------------------------------------------------------------------------------- the drawing


def points_of(svg):
    """Class, href, middle and bars of each point."""
    return re.findall(
        r'<a class="(mark-[\w-]+)" href="(.+?)">.*?(?:class="bars" d="(.*?)"/>)?<circle cx="(.+?)" cy="(.+?)"',
        svg,
    )


def test_each_cell_with_a_run_has_a_point_filled_from_three_runs_on(table_11):
    printed = [each for each in table_11 if each.is_printed]
    points = points_of(glance.scatter("%", printed))
    assert {point[1].removeprefix("#cell-esbn-table11-ESBN-TCN-"): point[0] for point in points} == {
        "m-50": "mark-too-few-runs",
        "m-85": "mark-differs",
        "m-95": "mark-match",
    }


@pytest.mark.parametrize(
    ("place", "error"),
    [((), 10 / math.sqrt(3)), (("scan.table1", "GRU + attn", "Add jump"), 10.0)],
    ids=["SEM", "SD"],
)
def test_a_point_stands_where_the_two_numbers_meet_with_both_errors(tmp_path, place, error):
    """Errors are of the kind that the paper prints."""
    (each,) = compared(tmp_path, [cell(*place, x=1)], {1: [40.0, 50.0, 60.0]})
    each = replace(each, paper=replace(each.paper, mean=25.0, err=10.0))
    svg = glance.scatter("%", [each])
    (frame,) = (
        {name: float(frame[name]) for name in ("x", "y", "width", "height")} for frame in tags(svg, "rect")
    )
    (point,) = points_of(svg)
    x, y = float(point[3]), float(point[4])
    assert x == pytest.approx(frame["x"] + frame["width"] / 4, abs=0.1)
    assert y == pytest.approx(frame["y"] + frame["height"] / 2, abs=0.1)
    (left, _, right, _, top, bottom) = map(float, re.findall(r"[\d.]+", point[2]))
    assert (right - left) / frame["width"] == pytest.approx(0.2, abs=0.001)
    assert abs(top - bottom) / frame["height"] == pytest.approx(2 * error / 100, abs=0.001)


def test_other_units_have_logarithmic_axes_that_hold_every_value(tmp_path):
    (each,) = compared(tmp_path, [cell(x=1)], {1: [0.1] * 3})
    mse = [
        replace(each, paper=replace(each.paper, mean=mean, err=2 * mean, unit="MSE")) for mean in (0.01, 1.0)
    ]
    svg = glance.scatter("MSE", [*mse, each])
    points = points_of(svg)
    assert len(points) == 2, "a cell in another unit has its own drawing"
    assert {"0.01", "0.1", "1"} == set(re.findall(r">([\d.]+)</text>", svg))
    (frame,) = tags(svg, "rect")
    begin, width = float(frame["x"]), float(frame["width"])
    for (_, _, bars, x, _), share in zip(points, (0, 1), strict=True):
        assert float(x) == pytest.approx(begin + share * width)
        left, right = float(bars[1:].split()[0]), float(bars.split("H")[1].split("M")[0])
        assert begin <= left <= right <= begin + width, "an error bar leaves the frame"


def test_a_cell_without_a_mean_has_no_point_and_a_unit_without_points_says_so(tmp_path):
    diverged = compared(tmp_path, [cell(x=1)], {1: [None] * 3})
    assert glance.scatter("%", diverged) == glance.scatter("%", []) == "<p>No printed % has a run yet.</p>"


# ----------------------------------------------------------------------------------------- lines in words


NONE_HOLDS = "No claim holds at the paper's scale so far."
NONE_FAILS = "No claim fails at the paper's scale so far."


def test_three_lines_count_cells_by_their_verdicts(table_11):
    reproduced, contradicted, untested = glance.what_became(table_11)
    assert reproduced == f"**Reproduced.** 1 of 4 printed numbers match, 0 are close. {NONE_HOLDS}"
    assert contradicted == f"**Contradicted.** 1 of 4 printed numbers differ. {NONE_FAILS}"
    assert untested == "**Undecided or untested.** 1 of 4 printed numbers have no run, 1 have one or two."


def test_inconclusive_numbers_are_told(tmp_path):
    unclear = compared(tmp_path, [cell(x=1)], {1: [20.0, 60.0, 99.0]})
    assert (
        "1 are inconclusive: the runs, ours or the paper's, differ too much to tell."
        in glance.what_became(unclear)[2]
    )


NEW = (
    "kanerva.fig8",
    "k = 4",
    "new",
)  # claim fig8.2 says that this is at least 0.05, fig8.3 that it is below 0.5


def test_claims_are_named_by_what_became_of_them_at_each_scale(tmp_path):
    variants = {"": 0, "tutorial": 1, "tutorial, balanced": 2}
    cells = [cell(*NEW, variant=name, x=x) for name, x in variants.items()]
    store = Records(tmp_path)
    for seed in (1, 2, 3):
        for x, value in ((1, 0.0), (2, 0.1)):
            store.add(record(seed, value, scale="tutorial", x=x), "kanerva.fig8")
    lines = [
        re.sub(r'<a href="#claim-kanerva-fig8-(\d)" title=".+?">fig8\.\1</a>', r"<\1>", line)
        for line in glance.what_became(compare(cells, store))
    ]
    assert lines == [
        f"**Reproduced.** {NONE_HOLDS}",
        f"**Contradicted.** {NONE_FAILS}",
        "**Goes the claimed way in small runs.** 1 of 2 claims (<3>).",
        "**Goes another way in small runs.** 1 of 2 claims (<2>). "
        "Of these go the claimed way with an addition of ours (*balanced*): <2>.",
        "**Undecided or untested.** Claims without a run at the paper's scale: 2 of 2.",
    ]


def test_claims_of_ours_have_a_line_of_their_own_and_what_has_some_runs_is_not_without(tmp_path):
    """Of claim fig3c.1 and two of ours: of four machines three runs, of one machine two, or none."""
    columns = ("loss", "loss, nothing written")
    rows = {"k = 4, 5 columns each": 3, "k = 1, 20 columns each": 2, "k = 1, 5 columns each": 0}
    store, cells = Records(tmp_path), []
    for row, runs in rows.items():
        cells += [cell("kanerva.fig3c", row, column, x=row) for column in columns]
        for seed in range(1, runs + 1):
            store.add(record(seed, 10.0, x=row), "kanerva.fig3c")
    *_, untested, ours = glance.what_became(compare(cells, store))
    assert (
        untested
        == "**Undecided or untested.** Claims that lack some of their runs at the paper's scale: 1 of 1."
    )
    assert re.sub("<.+?>", "", ours) == (
        "**Claims of ours.** Fail at the paper's scale: 1 of 2 (fig3c.2). "
        "Claims that lack some of their runs at the paper's scale: 1 of 2."
    )


def test_readings_additions_and_easier_tasks_save_a_claim_controls_do_not_and_each_is_named(tmp_path):
    variants = ["tutorial", "balanced at first", "unit prior", "machine given", "six times as long", "small"]
    cells = [
        cell(*NEW, variant=name if name == "tutorial" else f"tutorial, {name}", x=x)
        for x, name in enumerate(variants, start=1)
    ]
    store = Records(tmp_path)
    for seed in (1, 2, 3):
        for x in range(1, len(variants) + 1):
            store.add(record(seed, 0.1 * (x > 1), scale="tutorial", x=x), "kanerva.fig8")
    *_, another_way, untested = glance.what_became(compare([cell(*NEW, x=0), *cells], store))
    assert re.findall(r"go the claimed way (.+?): <a href=\"#claim-kanerva-fig8-2\"", another_way) == [
        "under another reading (*unit prior*)",
        "with an addition of ours (*balanced at first*)",
        "on a smaller and easier task (*small*)",
    ]
    assert (another_way.count("Of these"), untested.count("Of these")) == (3, 0)


def test_a_claim_that_holds_is_named_again_where_a_control_of_ours_beside_it_fails(tmp_path):
    """Claim fig3b.2 asks for half or more; fig3b.4, ours, for more than of another episode's sprites."""
    told = {}
    for control in (0.1, 0.9):
        values = {
            ("k = 4", "one sprite"): 0.7,
            ("k = 4", "one sprite, other sprites"): control,
            ("k = 4", "one sprite, mean images"): 0.1,
            ("k = 1", "one sprite"): 0.1,
        }
        store = Records(tmp_path / str(control))
        cells = [cell("kanerva.fig3b", *place, x=-1) for place in values]
        for x, (place, value) in enumerate(values.items()):
            cells.append(cell("kanerva.fig3b", *place, variant="tutorial", x=x))
            for seed in (1, 2, 3):
                store.add(record(seed, value, scale="tutorial", x=x), "kanerva.fig3b")
        lines = [re.sub("<.+?>", "", line) for line in glance.what_became(compare(cells, store))]
        (told[control],) = (line for line in lines if "the claimed way" in line)
    goes = "**Goes the claimed way in small runs.** 1 of 1 claims (fig3b.2)."
    assert told == {
        0.1: goes,
        0.9: f"{goes} Of these may hold for another reason, as a control of ours on the same figure or table fails: "
        "fig3b.2.",
    }


@pytest.mark.parametrize(
    ("mean", "verb", "headings"),
    [
        (0.6, "hold", ("**Reproduced", "**Goes the claimed")),
        (0.4, "fail", ("**Contradicted", "**Goes another")),
    ],
)
@pytest.mark.parametrize(("spread", "narrow"), [(0.07, True), (0.03, False)])
def test_a_claim_that_student_s_t_would_leave_undecided_is_named(
    spread, narrow, mean, verb, headings, tmp_path
):
    """Claim fig3b.2 asks for half or more: .6 and .4 are 2.5 standard errors away from it, or 5.8."""
    store, cells = Records(tmp_path), []
    for scale, variant in (("paper", ""), ("tutorial", "tutorial")):
        cells.append(cell("kanerva.fig3b", "k = 4", "one sprite", variant=variant, x=scale))
        for seed in (1, 2, 3):
            store.add(record(seed, mean + spread * (seed - 2), scale=scale, x=scale), "kanerva.fig3b")
    lines = [re.sub("<.+?>", "", line) for line in glance.what_became(compare(cells, store))]
    said = [line.startswith(headings) for line in lines]
    found = [f"By Student's t undecided, of those that {verb}: fig3b.2." in line for line in lines]
    assert found == [narrow and each for each in said]
    assert sum(said) == 2


def test_what_saves_a_claim_at_one_scale_is_not_told_of_the_other(tmp_path):
    variants = {"": 0.0, "tutorial": 0.0, "unit prior": 0.1, "tutorial, balanced": 0.1}
    cells = [cell(*NEW, variant=name, x=x) for x, name in enumerate(variants)]
    store = Records(tmp_path)
    for x, (name, value) in enumerate(variants.items()):
        for seed in (1, 2, 3):
            store.add(
                record(seed, value, scale="tutorial" if "tut" in name else "paper", x=x), "kanerva.fig8"
            )
    _, contradicted, _, another_way, _ = glance.what_became(compare(cells, store))
    assert "Of these hold under another reading (*unit prior*): " in contradicted
    assert "Of these go the claimed way with an addition of ours (*balanced*): " in another_way
    assert contradicted.count("Of these") == another_way.count("Of these") == 1


def test_a_paper_with_nothing_left_says_so(tmp_path):
    cells = [cell(*NEW, x=0), cell(*NEW, x=1, variant="tutorial")]
    store = Records(tmp_path)
    for seed in (1, 2, 3):
        for x, scale in ((0, "paper"), (1, "tutorial")):
            store.add(record(seed, 0.1, scale=scale, x=x), "kanerva.fig8")
    reproduced, contradicted, claimed, untested = glance.what_became(compare(cells, store))
    assert "Claims that hold at the paper's scale: 2 of 2 (" in reproduced
    assert claimed.startswith("**Goes the claimed way in small runs.** 2 of 2 claims (<a href=")
    assert contradicted == f"**Contradicted.** {NONE_FAILS}"
    assert untested == "**Undecided or untested.** Nothing."


def test_no_two_cells_share_a_place():
    cells = [cell(row="A + B"), cell(row="A"), cell(variant="A"), cell(column="m=50")]
    assert len({glance.anchor(each) for each in cells} | {glance.anchor(each, "runs") for each in cells}) == 8
