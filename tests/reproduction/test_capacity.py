"""What the whole reproduction costs, from the time that runs took."""

import re
from pathlib import Path

import pytest

from mini_lib.hashing import settings_hash
from mini_lib.reproduction import Cell, cli, plan
from mini_lib.reproduction.capacity import COSTS, capacity, write_capacity
from reproduction.samples import HOME
from reproduction.test_plan import BASE, build, timed

ROOT = Path(__file__).parents[2]


def cell(m, runs, variant=""):
    return Cell(HOME, "A", f"m={m}", BASE | {"m": m}, runs, home=HOME, variant=variant)


@pytest.fixture
def papers(monkeypatch):
    """One paper of ten runs of an hour and one of eight; and one that shares its settings, and another reading."""
    monkeypatch.setattr(plan, "_stored", lambda: {"sizes": {}, "timed": []})
    again = Cell("esbn.table15", "B", "m=1", BASE | {"m": 1}, 5, home=HOME)
    return {"One": [cell(1, 10), cell(2, 1), again, cell(3, 99, "another reading")]}


HOURS = [timed(3600.0, m=1), timed(8 * 3600.0, m=2)]


def rows(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return {
        each[0]: each[1:]
        for each in ([part.strip() for part in line.strip("|").split("|")] for line in lines)
    }


def test_runs_are_counted_once_and_their_hours_added(papers):
    found = rows(capacity(papers, HOURS, build))
    assert found["One"] == found["all"] == ["11", "0", "18", "0", "8.0 h"]


def test_a_table_of_our_own_is_no_part_of_the_papers(papers):
    ours = Cell("scan.starts", "A", "m=1", BASE | {"m": 5}, 30, home="scan.starts")
    found = rows(capacity({"One": [*papers["One"], ours]}, HOURS, build))
    assert found["One"][0] == "11"


def test_more_cores_help_until_the_longest_run_is_all_that_is_left(papers):
    found = rows(capacity(papers, HOURS, build))
    assert found["1"] == ["18.0 h", "100%", "the number of cores"]
    assert found["8"] == ["8.0 h", "28%", "the longest run"]
    assert found["64"] == ["8.0 h", "4%", "the longest run"]


def test_what_was_never_run_is_said_to_be_estimated(papers):
    found = rows(capacity(papers, HOURS[:1], build))
    assert found["One"] == ["11", "1", "11", "1", "60 min"]


def test_hours_of_a_gpu_are_an_assumption_until_runs_were_made_on_one(papers):
    text = capacity(papers, HOURS, build)
    assert (
        "**GPU-hours are not measured**, since no run of a paper's table had one to itself. We assume" in text
    )
    assert text.endswith("By that, all of it is 1 GPU-hours.")  # 18 core-hours, of which 20 are one
    text = capacity(papers, [*HOURS, timed(360.0, 2, "cuda: H", m=1)], build)
    assert "was made on a GPU, one stack at a time, in fp32, in 6 min; a core would take 60 min" in text
    assert "a core would take 60 min for that, 10 times as" in text
    assert text.endswith("By that, all of it is 2 GPU-hours.")
    twice = [timed(360.0, seed, "cuda: H", m=1) for seed in (2, 3)]
    assert "2 runs on record were made on a GPU, one stack at a time, in fp32, in 12 min" in capacity(
        papers, [*HOURS, *twice], build
    )


def test_a_gpu_that_was_timed_on_one_paper_says_nothing_of_another(papers):
    other = Cell("scan.table1", "A", "m=1", BASE | {"m": 7, "paper": "scan"}, 40, home="scan.table1")
    hours = [*HOURS, timed(3600.0, m=7, paper="scan"), timed(360.0, 2, "cuda: H", m=1)]
    text = capacity(papers | {"Two": [other]}, hours, build)
    assert "For the other papers we assume that a GPU stands for 20 cores." in text
    assert text.endswith("By that, all of it is 4 GPU-hours.")  # 1.8 of the first, 2 of the other


def test_runs_that_shared_a_gpu_do_not_tell_what_one_takes_alone(papers):
    shared = timed(3600.0, 2, "cuda: H", m=1)
    shared["provenance"]["at_once"] = 11
    text = capacity(papers, [*HOURS, shared], build)
    assert text.startswith("1 of the 3 runs on record was made on a GPU.")
    assert "no run of a paper's table had one to itself. 1 run shared a GPU with other stacks" in text
    beside = capacity(papers, [*HOURS, shared, timed(360.0, 3, "cuda: H", m=1)], build)
    assert "1 run on record was made on a GPU, one stack at a time, in fp32, in 6 min" in beside


def test_the_page_says_first_what_was_trained_on_a_gpu(papers):
    """The page shows what stands before the line of its own where GPUs are, and the rest at its end."""

    def said(*more):
        sentence, costs = capacity(papers, [*HOURS, *more], build).split("\n\n<!-- costs -->\n\n")
        assert costs.startswith("|")
        return sentence

    on_gpus = [timed(360.0, seed, "cuda: H", m=1) for seed in (2, 3)]
    assert said() == "No run on record was made on a GPU yet."
    assert said(on_gpus[0]) == "1 of the 3 runs on record was made on a GPU."
    assert said(*on_gpus) == "2 of the 4 runs on record were made on a GPU."
    page = (ROOT / "book" / "where_to_run.md").read_text(encoding="utf-8")
    before, after = (page.index(f":{option}: {COSTS}\n") for option in ("end-before", "start-after"))
    assert (
        page.index("## One GPU")
        < before
        < page.index("## Slurm")
        < page.index("## What all of it costs")
        < after
    )


def test_the_page_of_the_real_papers_is_written_from_the_records(tmp_path):
    """Of one paper, for the time it takes; every number is finite."""
    package = cli.package("functions")
    timings = [timed(100.0) | {"settings": cell.settings, "hash": cell.hash} for cell in package.CELLS[:1]]
    path = write_capacity(
        tmp_path / "generated" / "costs.md", {package.TITLE: package.CELLS}, timings, cli.build_run
    )
    text = path.read_text(encoding="utf-8")
    assert not re.search("inf|nan|unknown", text)
    own = {cell.hash for cell in package.CELLS if not cell.variant}
    assert rows(text)[package.TITLE][0] == str(3 * len(own))
    assert settings_hash(package.CELLS[0].settings) in own
