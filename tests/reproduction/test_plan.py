"""The plan of `mini-lib reproduce`: what decides a claim first, and what it takes."""

import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from mini_lib.hashing import run_key, settings_hash
from mini_lib.reproduction import Cell, Claim, Records, plan
from mini_lib.reproduction.cells import PAPERS, cells_of
from mini_lib.reproduction.launch import Job
from mini_lib.reproduction.plan import Step, describe_plan, expected_seconds, make_plan, schedule
from reproduction.samples import FILE, record

BASE = {"paper": "esbn", "model": "lstm", "epochs": 10}
HERE = "cpu: this one"
ROOT = Path(__file__).parents[2]


def build(settings, seed):
    if settings.get("model") == "no data":
        raise FileNotFoundError
    return SimpleNamespace(updates=10 * settings["epochs"])


def job(seed=1, **settings):
    settings = BASE | settings
    return Job(build, settings, seed, run_key(settings, seed))


def timed(seconds, seed=1, device=HERE, diverged=False, **settings):
    """A record of a run that took this long."""
    made, settings = record(seed, diverged=diverged), BASE | settings
    made |= {"settings": settings, "hash": settings_hash(settings), "key": run_key(settings, seed)}
    provenance = made["provenance"] | {"device": device, "seconds": seconds}
    return made | {"updates": 10 * settings["epochs"], "provenance": provenance}


def cell(row, m, variant=""):
    settings = BASE | {"m": m + bool(variant), "row": row}
    return Cell(FILE, row, f"m={m}", settings, 5, file=FILE, variant=variant)


def test_a_run_takes_the_median_of_its_settings_or_that_of_an_update_of_its_network():
    shared = timed(1.0, 5)
    shared["provenance"]["at_once"] = 2
    records = [timed(20.0, 1), timed(900.0, 2), timed(24.0, 3), timed(1.0, 4, diverged=True), shared]
    records += [timed(1.0, device="cuda: x"), timed(7.0, device="cuda: x", model="rn")]
    records += [timed(2.0, model="no data")]
    seconds = expected_seconds(records, HERE)
    assert seconds(job()) == 24.0
    assert seconds(job(m=5, epochs=30)) == pytest.approx(3 * 24.0)
    for unknown in ({"model": "rn"}, {"options": {"hidden": 9}}, {"model": "no data", "m": 5}):
        assert seconds(job(**unknown)) == math.inf
    assert expected_seconds(records, "cuda: another")(job(model="rn")) == 7.0


def test_claims_that_lack_runs_come_first_then_rows_then_all_the_cheapest_first(monkeypatch, tmp_path):
    dear, cheap, decided, hopeless = cell("A", 0), cell("A", 50), cell("A", 95), cell("B", 7)
    other, small = cell("A", 85), cell("A", 50, "tutorial")
    store = Records(tmp_path)
    for of, runs, diverged in ((decided, 4, False), (cheap, 1, False), (hopeless, 3, True)):
        for seed in range(1, runs + 1):
            store.add(timed(1.0, seed, diverged=diverged, **of.settings), FILE)
    store.add(timed(1.0, 5, diverged=True, **cheap.settings), FILE)
    named = {"C1": [dear], "C2": [cheap, decided], "C3": [decided], "C4": [hopeless], "C5": [cheap]}
    rules = {
        name: {"kind": "threshold", "cells": [each.id for each in of], "at_least": 1}
        for name, of in named.items()
    }
    claims = [Claim(f"esbn.{name}", "S.", "s", rule) for name, rule in rules.items()]
    monkeypatch.setattr(plan, "load_claims", lambda: claims)
    cells = [dear, cheap, decided, hopeless, other, small]
    jobs = [job(seed, **each.settings) for each in cells for seed in range(1, 6)]
    jobs = [each for each in jobs if each.key not in store]
    takes = {0: 90, 7: 4, 50: 2, 51: 1, 85: 3, 95: 1}
    steps = make_plan(jobs, cells, store, lambda job: float(takes[job.settings["m"]]))
    assert [(step.purpose, [(each.settings["m"], each.seed) for each in step.jobs]) for step in steps] == [
        ("claim esbn.C2", [(50, 2), (50, 3)]),
        ("claim esbn.C1", [(0, 1), (0, 2), (0, 3)]),
        ("claim esbn.C5 @tutorial", [(51, 1), (51, 2), (51, 3)]),
        (f"{FILE}, A: up to 3 runs each", [(85, 1), (85, 2), (85, 3)]),
        (f"{FILE}, B: all runs", [(7, 4), (7, 5)]),
        (f"{FILE}, A: all runs", [(95, 5), (50, 4), (85, 4), (85, 5), (0, 4), (0, 5)]),
        (f"{FILE}, A (tutorial): all runs", [(51, 4), (51, 5)]),
    ]


def step(name, *seconds):
    return Step(name, tuple(job(seed) for seed in range(len(seconds))), seconds)


def test_what_ends_within_the_budget_comes_first_and_a_step_takes_as_long_as_its_longest_run():
    steps, inside = schedule([step("a", 4.0, 2.0, 3.0), step("b", 1.0), step("c", 1.0, 1.0)], workers=2)
    assert ([each.ends for each in steps], inside) == ([4.5, 5.5, 6.5], 3)
    steps = [step("a", 2.0), step("long", 4200.0, 3000.0), step("b" * 200, 3.0, 3.0), step("new", math.inf)]
    steps, inside = schedule(steps, workers=1, budget=10.0)
    assert ([each.ends for each in steps], inside) == ([2.0, 8.0, 7208.0, math.inf], 2)
    lines = describe_plan(steps, inside, "10s").splitlines()
    assert [line.split()[:3] for line in lines[1:3]] == [["2", "s", "1"], ["8", "s", "2"]]
    assert lines[3].startswith("after the budget of 10s")
    assert [line.split() for line in lines[4:6]] == [["2.0", "h", "2", "long"], ["unknown", "1", "new"]]
    assert lines[6].startswith("in all 6 runs: 2.0 h of work")
    assert lines[6].endswith("without 1 run whose time is unknown")
    assert lines[7] == "expected within 10s: 3 runs"
    assert max(map(len, lines)) == 100
    assert "... and 3 more; --dry-run prints them all" in describe_plan(steps, inside, shown=1)


def test_the_book_says_how_many_runs_each_paper_has_and_how_many_are_made():
    page, records = (ROOT / "book/where_to_run.md").read_text(encoding="utf-8"), Records()
    lines = re.findall(r"^\| (\w+) \| ([\d,]+) \| (\d+) \| ", page, re.MULTILINE)
    rows = {}
    for paper in PAPERS:
        wanted: dict[str, int] = {}
        for each in cells_of(paper):
            if not each.variant and re.search(r"\d", each.table):  # and none of our own
                wanted[each.hash] = max(each.runs, wanted.get(each.hash, 0))
        on_record = sum(len(records.of(digest)[:number]) for digest, number in wanted.items())
        rows[paper] = [f"{sum(wanted.values()):,}", f"{on_record}"]
    said = {name.lower(): numbers for name, *numbers in lines}
    assert said == rows, "correct the rows `| paper | runs | made | hours |`"
