"""The plan of `mini-lib reproduce`: what decides a claim first, and what it takes."""

import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from mini_lib.reproduction import Cell, Claim, Records, plan
from mini_lib.reproduction.cells import PAPERS, cells_of, paper_module
from mini_lib.reproduction.launch import Job
from mini_lib.reproduction.plan import Step, describe_plan, expected_seconds, make_plan, schedule
from mini_lib.reproduction.tables import is_papers
from mini_lib.settings import run_key, settings_hash
from reproduction.samples import FILE, record

BASE = {"paper": "esbn", "model": "lstm", "epochs": 10}
HERE = "cpu: this one"


def build(settings, seed):
    if settings.get("model") == "no data":
        raise FileNotFoundError
    return SimpleNamespace(updates=10 * settings["epochs"])


def job(seed=1, **settings):
    settings = BASE | settings
    return Job(build, settings, seed, run_key(settings, seed))


def timed(seconds, seed=1, device=HERE, **settings):
    """A record of a run that took so long."""
    made, settings = record(seed), BASE | settings
    own = {"settings": settings, "hash": settings_hash(settings), "key": run_key(settings, seed)}
    provenance = made["provenance"] | {"device": device, "seconds": seconds}
    return made | own | {"updates": 10 * settings["epochs"], "provenance": provenance}


def cell(row, m, runs=10, variant="", table=FILE):
    return Cell(table, row, f"m={m}", BASE | {"m": m, "row": row}, runs, file=FILE, variant=variant)


def test_a_run_takes_the_median_of_its_settings_or_that_of_an_update_of_its_network(tmp_path):
    records = [timed(20.0, 1), timed(900.0, 2), timed(24.0, 3), timed(1.0, 4) | {"diverged": True}]
    records += [timed(1.0, device="cuda: x"), timed(7.0, device="cpu: another", model="rn")]
    seconds = expected_seconds(records, HERE, tmp_path)
    assert seconds(job()) == 24.0
    assert seconds(job(m=5, epochs=30)) == pytest.approx(3 * 24.0)
    assert [seconds(job(**other)) for other in ({"model": "rn"}, {"options": {"hidden": 9}})] == [
        math.inf
    ] * 2
    assert expected_seconds(records, "cpu: a third", tmp_path)(job(model="rn")) == 7.0
    assert seconds(job(model="no data")) == math.inf


def test_what_a_stopped_run_was_trained_is_not_expected_again(tmp_path):
    begun, ended, damaged = job(1), job(2), job(3)
    sizes = {"examples": 99, "batch_size": 10, "epochs": 10}
    for stopped, update in ((begun, 70), (ended, 100)):
        torch.save({"update": update, "plan": sizes}, tmp_path / f"{stopped.key}.pt")
    (tmp_path / f"{damaged.key}.pt").write_bytes(b"half")
    seconds = expected_seconds([timed(20.0, 9)], HERE, tmp_path)
    assert [seconds(each) for each in (begun, ended, damaged)] == pytest.approx([6.0, 0.0, 20.0])


def test_claims_that_lack_three_runs_come_first_then_rows_then_all_runs_the_cheapest_first(
    monkeypatch, tmp_path
):
    dear, cheap, decided, _ = cells = [cell("A", m) for m in (0, 50, 85, 95)]
    small, hopeless = cell("A", 50, 3, "tutorial"), cell("B", 7, 4)
    small = Cell(FILE, "A", "m=50", small.settings | {"m": 51}, 3, file=FILE, variant="tutorial")
    store = Records(tmp_path / "records")
    for of, seeds, diverged in (
        (decided, range(1, 11), False),
        (cheap, [1], False),
        (hopeless, [1, 2, 3], True),
    ):
        for seed in seeds:
            own = {"settings": of.settings, "hash": of.hash, "key": run_key(of.settings, seed)}
            store.add(record(seed, diverged=diverged) | own, FILE)
    named = {
        "C1": [dear],
        "C2": [cheap, decided],
        "C3": [decided],
        "C4": [cheap, cell("A", 98)],
        "C5": [hopeless],
        "C6": [cheap],
    }
    rules = {
        name: {"kind": "threshold", "cells": [each.id for each in of], "at_least": 1}
        for name, of in named.items()
    }
    claims = [Claim(f"esbn.{name}", "S.", "s", rule) for name, rule in rules.items()]
    monkeypatch.setattr(plan, "load_claims", lambda: claims)
    cells = [*cells, small, hopeless]
    keys = {(run_key(of.settings, seed), seed, of.hash): of for of in cells for seed in range(1, of.runs + 1)}
    jobs = [Job(build, of.settings, seed, key) for (key, seed, _), of in keys.items() if key not in store]
    takes = {0: 90, 50: 2, 51: 3, 7: 4, 95: 1}
    steps = make_plan(jobs, cells, store, lambda job: float(takes[job.settings["m"]]))
    assert [(step.purpose, len(step.jobs)) for step in steps] == [
        ("claim esbn.C2", 2),
        ("claim esbn.C6 @tutorial", 3),
        ("claim esbn.C1", 3),
        (f"{FILE}, A: up to 3 runs each", 3),
        (f"{FILE}, B: all runs", 1),
        (f"{FILE}, A: all runs", 21),
    ]
    assert [each.settings["m"] for each in steps[-1].jobs] == [95] * 7 + [50] * 7 + [0] * 7
    assert sorted(each.key for step in steps for each in step.jobs) == sorted(each.key for each in jobs)


def step(name, *seconds):
    return Step(name, tuple(job(seed) for seed in range(len(seconds))), seconds)


def test_workers_take_the_next_run_and_what_ends_within_the_budget_comes_first():
    assert schedule([step("a", 4.0, 2.0, 3.0), step("b", 1.0)], workers=2).ends == [5.0, 5.0]
    steps = [step("a", 2.0), step("long", 7200.0, math.inf), step("b" * 200, 3.0, 3.0)]
    table = schedule(steps, workers=1, budget=10.0)
    assert (table.ends, table.inside) == ([2.0, 8.0, math.inf], 2)
    lines = describe_plan(table, "10s").splitlines()
    assert [line.split()[:3] for line in lines[:3]] == [
        ["ends", "after", "runs"],
        ["2", "s", "1"],
        ["8", "s", "2"],
    ]
    assert lines[3].startswith("after the budget of 10s")
    assert lines[4].split() == ["unknown", "2", "long"]
    assert lines[5] == "in all 5 runs for 1 worker: 2.0 h of work, and 1 run whose time is unknown"
    assert lines[6] == "expected within 10s: 3 runs"
    assert max(map(len, lines)) == 100
    assert "... and 2 more; --dry-run prints them all" in describe_plan(table, shown=1)


def test_what_all_runs_cost_is_in_the_book(tmp_path):
    page = Path("book/where_to_run.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| \w+ \| ([\d,]+) \| (\d+) \| ([\d,]+)", page, re.MULTILINE)
    records, runs, hours = Records(), {}, 0.0
    for paper in PAPERS:
        papers = [each for each in cells_of(paper) if not each.variant and is_papers(each.table)]
        runs[paper] = {
            each.hash: max(other.runs for other in papers if other.hash == each.hash) for each in papers
        }
        made = sum(len(records.of(digest)[:wanted]) for digest, wanted in runs[paper].items())
        assert (f"{sum(runs[paper].values()):,}", f"{made}") == told[list(PAPERS).index(paper)][:2]
    seconds = expected_seconds(records, "cpu", tmp_path)
    for each in {each.hash: each for each in cells_of("esbn") if each.hash in runs["esbn"]}.values():
        expected = seconds(Job(paper_module("esbn").build, each.settings, 1, f"{each.hash}-s1"))
        hours += runs["esbn"][each.hash] * expected / 3600 if expected < math.inf else 0
    assert 0.85 < hours / float(told[0][2].replace(",", "")) < 1  # some networks are not on record
