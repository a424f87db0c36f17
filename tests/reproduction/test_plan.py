"""The plan of `mini-lib reproduce`: what is worth most first, and what it takes."""

import dataclasses
import json
import math

import pytest
import torch
from torch import nn

from mini_lib.hashing import run_key, settings_hash
from mini_lib.reproduction import Cell, Claim, Records, cli, plan
from mini_lib.reproduction.launch import Job
from mini_lib.reproduction.plan import (
    Cost,
    Costs,
    Step,
    describe_plan,
    make_plan,
    schedule,
    share_trained,
    span,
)
from mini_lib.training import TrainingRun
from reproduction.samples import HOME, record

BASE = {"paper": "esbn", "model": "lstm", "epochs": 10}


def build(settings, seed):
    """A run of 10 updates an epoch, as far as a plan looks at it."""
    batch = settings.get("batch", 32)
    sizes = {"examples": 10 * batch, "batch_size": batch, "epochs": settings["epochs"], "lr": 1.0}
    network = nn.LayerNorm(1)
    return TrainingRun(
        key="key", name="name", model=network, epoch=dict, loss=network, evaluate=network, **sizes
    )


def job(seed=1, **settings):
    settings = BASE | settings
    return Job(build, settings, seed, run_key(settings, seed))


def timed(seconds, seed=1, device="cpu: x", **settings):
    """A record of a run that took so long; `task` and `m` are no settings of these."""
    made = record(seed)
    settings = BASE | settings
    own = {"settings": settings, "hash": settings_hash(settings), "key": run_key(settings, seed)}
    provenance = made["provenance"] | {"device": device, "seconds": seconds}
    return made | own | {"updates": 10 * settings["epochs"], "provenance": provenance}


@pytest.fixture(autouse=True)
def nothing_stored(monkeypatch):
    """What a network takes is known from the records of a test alone."""
    monkeypatch.setattr(plan, "_stored", lambda: {"sizes": {}, "timed": []})


def cost(records, kind="cpu", **settings):
    return Costs(records, kind, build).of(BASE | settings)


# ------------------------------------------------------------------------------------------ what a run takes


def test_runs_of_the_same_settings_tell_what_it_takes():
    """By their median: one of them had to wait for hours."""
    records = [timed(20.0, 1), timed(9000.0, 2), timed(24.0, 3)]
    assert cost(records) == (24.0, True)


def test_a_run_that_diverged_early_tells_nothing():
    records = [timed(20.0, 1), timed(1.0, 2) | {"diverged": True}]
    assert cost(records) == (20.0, True)


def test_settings_that_were_never_run_are_estimated_from_the_nearest_of_that_network():
    records = [timed(50.0, m=95), timed(8.0, m=0, task="x"), timed(1.0, model="rn", m=90)]
    assert cost(records, m=90) == (pytest.approx(50.0), False)
    assert cost(records, m=90, epochs=30) == (pytest.approx(150.0), False)
    assert cost(records, m=90, batch=64) == (pytest.approx(100.0), False)
    assert cost(records, m=0, task="y") == (pytest.approx(8.0), False)


@pytest.mark.parametrize("schedule", [{"epochs": 1000}, {"lr": 9.0}, {"checks": 5}], ids=list)
def test_settings_are_no_less_near_for_another_schedule(schedule):
    an_epoch = schedule.get("epochs", 10) / 10
    records = [timed(50.0 * an_epoch, m=90, **schedule), timed(8.0, m=80)]
    assert cost(records, m=90) == (pytest.approx(50.0), False)


def test_options_of_a_network_count_as_settings_do():
    near = timed(50.0, m=90, options={"size": 64})
    others = [timed(8.0, m=80, options={"size": 65}), timed(9.0, m=90, options={"size": 512})]
    assert cost([near, *others], m=90, options={"size": 65}) == (pytest.approx(50.0), False)


def test_those_that_are_equally_near_count_alike():
    records = [timed(40.0, task="a"), timed(90.0, task="b")]
    assert cost(records, task="c") == (pytest.approx(60.0), False)


def test_a_network_that_was_never_run_is_estimated_from_others_of_its_paper_and_a_paper_from_none():
    assert cost([timed(50.0, model="rn")], model="ntm") == (pytest.approx(50.0), False)
    assert cost([timed(50.0)], paper="scan") == (math.inf, False)


def test_times_of_networks_that_are_stored_stand_beside_records(monkeypatch):
    stored = {"sizes": {settings_hash(BASE | {"m": 1}): [7, 4]}, "timed": [{"settings": BASE, "ms": 320.0}]}
    monkeypatch.setattr(plan, "_stored", lambda: stored)
    assert cost([]) == (pytest.approx(32.0), False)  # 100 updates; a timing is no run
    assert cost([], m=1) == (pytest.approx(7 * 4 * 0.01), False)


def test_on_a_gpu_runs_on_gpus_tell_and_else_it_stands_for_cores():
    on_both = [timed(100.0), timed(3.0, 2, "cuda: H")]
    assert cost(on_both, "cuda") == (3.0, True)
    assert cost(on_both, "cuda", epochs=20) == (pytest.approx(6.0), False)
    on_a_core = (pytest.approx(100.0 / plan.CORES_OF_A_GPU), False)
    assert cost(on_both[:1], "cuda") == on_a_core
    assert cost([on_both[0], timed(3.0, 2, "cuda: H", model="rn")], "cuda") == on_a_core


def test_a_run_that_shared_its_gpu_tells_nothing():
    alone, shared = timed(3.0, 2, "cuda: H"), timed(30.0, 3, "cuda: H")
    shared["provenance"]["at_once"] = 11
    assert cost([alone, shared], "cuda") == (3.0, True)
    assert cost([timed(100.0), shared], "cuda") == (pytest.approx(100.0 / plan.CORES_OF_A_GPU), False)


def test_what_is_stored_is_read_again(tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(plan, "STORED", tmp_path / "costs.json")
    plan._stored.cache_clear()

    def some_are_missing(settings, seed):
        if "m" in settings:
            raise FileNotFoundError("data")
        return build(settings, seed)

    plan.store_costs([BASE, BASE | {"m": 3}], [(BASE, 12.34567)], some_are_missing, "cpu: x")
    stored = json.loads((tmp_path / "costs.json").read_text())
    assert stored["sizes"] == {settings_hash(BASE): [100, 32]}
    assert plan._stored()["timed"] == [{"settings": BASE, "ms": 12.35}]
    plan._stored.cache_clear()


def test_the_sizes_that_come_along_are_those_of_the_runs(monkeypatch):
    monkeypatch.undo()
    sizes = plan._stored()["sizes"]
    small = [
        cell for cell in cli.cells("esbn.table9") if cell.column in ("m=95", "m=98") and not cell.variant
    ]
    for cell in small[:4]:
        run = cli.build_run(cell.settings, 1)
        assert sizes[cell.hash] == [run.updates, min(run.batch_size, run.examples)]


def test_the_size_of_every_run_comes_along(monkeypatch):
    """Else `mini-lib bench --store` was not run after cells were added."""
    monkeypatch.undo()
    assert {cell.hash for cell in cli.cells()} <= plan._stored()["sizes"].keys()


# ------------------------------------------------------------------------------------------ the order


def cell(row, m, runs=10, variant="", table=HOME):
    return Cell(table, row, f"m={m}", BASE | {"m": m, "row": row}, runs, home=HOME, variant=variant)


def jobs_of(cells, store, seeds=None):
    found = {}
    for each in cells:
        for seed in range(1, (seeds or each.runs) + 1):
            key = run_key(each.settings, seed)
            if key not in store:
                found.setdefault(key, Job(build, each.settings, seed, key))
    return list(found.values())


class Known(Costs):
    """Costs by one of the settings."""

    def __init__(self, name, seconds):
        self.name, self.seconds = name, seconds

    def of(self, settings):
        return Cost(float(self.seconds[settings[self.name]]), True)


def taking(**seconds):
    """Costs by the setting m, such as m95=10."""
    return Known("m", {int(name[1:]): each for name, each in seconds.items()})


def add_runs(store, of, seeds, **changes):
    for seed in seeds:
        made = record(seed, **changes)
        own = {"settings": of.settings, "hash": of.hash, "key": run_key(of.settings, seed)}
        store.add(made | own, HOME)


def claim(name, *cells):
    return Claim(name, "S.", "s", {"kind": "threshold", "cells": [each.id for each in cells], "at_least": 1})


@pytest.fixture
def claimed(monkeypatch):
    """Set the claims that there are."""

    def these(*some):
        monkeypatch.setattr(plan, "load_claims", lambda: some)

    these()
    return these


@pytest.fixture
def store(tmp_path):
    return Records(tmp_path)


def purposes(steps):
    return [(step.purpose, len(step.jobs)) for step in steps]


def test_claims_without_a_verdict_come_first_and_the_cheapest_of_them_before_others(claimed, store):
    dear, cheap, decided, free = (cell("A", m) for m in (0, 50, 85, 95))
    add_runs(store, decided, range(1, 11))
    add_runs(store, cheap, [1])
    elsewhere = claim("esbn.C4", cheap, cell("A", 98))
    claimed(claim("esbn.C1", dear), claim("esbn.C2", cheap, decided), claim("esbn.C3", decided), elsewhere)
    cells = [dear, cheap, decided, free]
    steps = make_plan(jobs_of(cells, store), cells, store, taking(m0=90, m50=2, m85=5, m95=1))
    assert purposes(steps) == [
        ("claim esbn.C2", 2),
        ("claim esbn.C1", 3),
        (f"{HOME}, A: 3 runs", 3),
        (f"{HOME}, A: all runs", 21),
    ]
    assert [each.settings["m"] for each in steps[-1].jobs] == [95] * 7 + [50] * 7 + [0] * 7


def test_runs_that_diverged_and_those_of_another_scale_do_not_count_towards_three(claimed, store):
    some, other_scale, hopeless = (cell("A", m, runs=9) for m in (1, 2, 3))
    add_runs(store, some, [1])
    add_runs(store, some, [2, 3], diverged=True)
    add_runs(store, other_scale, [1, 2], scale="tutorial")
    add_runs(store, hopeless, [1, 2, 3], diverged=True)
    cells = [some, other_scale, hopeless]
    claimed(*(claim(f"esbn.C{number}", each) for number, each in enumerate(cells, 1)))
    steps = make_plan(jobs_of(cells, store), cells, store, taking(m1=1, m2=2, m3=3))
    assert purposes(steps) == [("claim esbn.C1", 2), ("claim esbn.C2", 3), (f"{HOME}, A: all runs", 14)]


def test_runs_of_ones_own_are_a_single_step(claimed, store):
    cells = [cell("A", 1), cell("B", 2)]
    claimed(claim("esbn.C1", cells[0]))
    steps = make_plan(jobs_of(cells, store, seeds=4), cells, store, taking(m1=9, m2=1), own=True)
    assert purposes(steps) == [("runs of your own", 8)]
    assert [each.settings["m"] for each in steps[0].jobs] == [2] * 4 + [1] * 4
    assert make_plan([], cells, store, taking(), own=True) == []


def test_what_two_claims_need_is_made_once_and_makes_the_second_cheaper(claimed, store):
    a, b, c = (cell("A", m, runs=3) for m in (1, 2, 3))
    claimed(claim("esbn.C1", c), claim("esbn.C2", a, b), claim("esbn.C3", a))
    steps = make_plan(jobs_of([a, b, c], store), [a, b, c], store, taking(m1=10, m2=1, m3=4))
    assert purposes(steps) == [("claim esbn.C1", 3), ("claim esbn.C3", 3), ("claim esbn.C2", 3)]
    assert steps[2].seconds == (1.0, 1.0, 1.0)


def test_a_claim_at_the_small_scale_is_planned_where_its_cells_are_asked_for(claimed, store):
    full, small = cell("A", 1, runs=3), cell("A", 1, runs=3, variant="tutorial")
    small = Cell(HOME, "A", "m=1", small.settings | {"m": 2}, 3, home=HOME, variant="tutorial")
    claimed(claim("esbn.C1", full))
    costs = taking(m1=50, m2=1)
    steps = make_plan(jobs_of([full, small], store), [full, small], store, costs)
    assert purposes(steps) == [("claim esbn.C1 @tutorial", 3), ("claim esbn.C1", 3)]
    assert purposes(make_plan(jobs_of([full], store), [full], store, costs)) == [("claim esbn.C1", 3)]


def test_a_claim_is_planned_under_the_readings_that_it_is_judged_under(claimed, store):
    """Only of a paper that prints no numbers: elsewhere a reading's cells stand beside the numbers."""

    def twice(table, m):
        return [cell("A", m, 3, table=table), cell("A", m + 1, 3, "tutorial, no mask", table)]

    cells = [
        dataclasses.replace(each, column="m")
        for each in (*twice("kanerva.fig2c", 1), *twice("esbn.table11", 3))
    ]
    claimed(claim("kanerva.C1", cells[0]), claim("esbn.C1", cells[2]))
    steps = make_plan(jobs_of(cells, store), cells, store, taking(m1=4, m2=1, m3=2, m4=3))
    assert purposes(steps) == [
        ("claim kanerva.C1 @tutorial, no mask", 3),
        ("claim esbn.C1", 3),
        ("claim kanerva.C1", 3),
        ("esbn.table11, A (tutorial, no mask): 3 runs", 3),
    ]


def test_rows_nearly_whole_come_first_then_cheap_ones_then_other_readings(claimed, store):
    rows = {name: [cell(name, m) for m in (1, 2)] for name in ("dear", "cheap", "nearly")}
    other = [cell("other", 1, variant="as they say")]
    for each in rows["nearly"]:
        add_runs(store, each, [1, 2])
    cells = [*other, *(each for row in rows.values() for each in row)]
    costs = Known("row", {"dear": 9, "cheap": 1, "nearly": 99, "other": 0.1})
    steps = make_plan(jobs_of(cells, store), cells, store, costs)
    names = [step.purpose.removeprefix(f"{HOME}, ") for step in steps]
    assert names == [
        *("nearly: 3 runs", "cheap: 3 runs", "dear: 3 runs", "other (as they say): 3 runs"),
        *("cheap: all runs", "dear: all runs", "nearly: all runs", "other (as they say): all runs"),
    ]


def test_every_job_is_in_one_step(claimed, store):
    shared = cell("A", 1)
    again = Cell("esbn.table15", "B", "m=1", shared.settings, 10, home=HOME)
    cells = [shared, again, cell("B", 2, runs=25)]
    claimed(claim("esbn.C1", shared))
    jobs = jobs_of(cells, store, seeds=40)
    steps = make_plan(jobs, cells, store, taking(m1=1, m2=1))
    assert sorted(each.key for step in steps for each in step.jobs) == sorted(each.key for each in jobs)
    assert make_plan([], cells, store, taking()) == []


def test_what_a_stopped_run_was_trained_is_not_expected_again(claimed, store):
    cells = [cell("A", 1, runs=2)]
    stopped = jobs_of(cells, store)[0]
    steps = make_plan(
        jobs_of(cells, store), cells, store, taking(m1=10), lambda each: 0.7 * (each == stopped)
    )
    assert steps[0].seconds == pytest.approx((3.0, 10.0))


@pytest.mark.parametrize("seconds", [10, math.inf])
def test_a_run_that_lacks_nothing_but_its_test_is_expected_to_end_at_once(claimed, store, seconds):
    cells = [cell("A", 1, runs=1)]
    (only,) = make_plan(jobs_of(cells, store), cells, store, taking(m1=seconds), lambda each: 1.0)
    assert only.seconds == (0.0,)


def test_a_step_is_estimated_where_some_of_its_runs_are(claimed, store):
    cells = [cell("A", 1, runs=1), cell("A", 2, runs=1), cell("B", 1, runs=1)]
    records = [timed(9.0, m=1, row="A"), timed(9.0, m=1, row="B")]
    steps = make_plan(jobs_of(cells, store), cells, store, Costs(records, "cpu", build))
    assert {step.purpose: step.estimated for step in steps} == {
        f"{HOME}, A: 3 runs": True,
        f"{HOME}, B: 3 runs": False,
    }


def test_a_checkpoint_says_which_share_of_its_updates_a_run_has_made(tmp_path):
    begun, ended, damaged, beyond, another = map(job, range(1, 6))
    costs = Costs([], "cpu", build)
    updates, _ = costs.sizes(begun.settings)
    torch.save({"update": updates // 4}, tmp_path / f"{begun.key}.pt")
    torch.save({"update": updates}, tmp_path / f"{ended.key}.pt")
    torch.save({"update": 2 * updates}, tmp_path / f"{beyond.key}.pt")
    torch.save({"epoch": 7}, tmp_path / f"{another.key}.pt")
    (tmp_path / f"{damaged.key}.pt").write_bytes(b"half")
    found = [
        share_trained(tmp_path, costs, each) for each in (begun, ended, beyond, damaged, another, job(6))
    ]
    assert found == [(updates // 4) / updates, 1.0, 1.0, 0.0, 0.0, 0.0]


def test_a_plan_needs_no_data_to_see_a_stopped_run(tmp_path):
    def no_data(settings, seed):
        raise FileNotFoundError("no digits here")

    torch.save({"update": 1}, tmp_path / f"{job(1).key}.pt")
    assert share_trained(tmp_path, Costs([], "cpu", no_data), job(1)) == 0.0


def test_the_sizes_of_settings_are_counted_once():
    built = []
    costs = Costs([], "cpu", lambda settings, seed: built.append(seed) or build(settings, seed))
    assert costs.sizes(BASE) == costs.sizes(BASE) == (build(BASE, 1).updates, 32)
    assert len(built) == 1


# ------------------------------------------------------------------------------------------ time, words


def step(name, *seconds, estimated=False):
    return Step(name, tuple(job(seed) for seed in range(len(seconds))), seconds, estimated)


def test_workers_take_the_next_run_as_soon_as_they_are_free():
    table = schedule([step("a", 4.0, 2.0, 3.0), step("b", 1.0)], workers=2)
    assert table.ends == [5.0, 5.0]
    assert schedule([step("a", 4.0, 2.0, 3.0)], workers=1).ends == [9.0]


def test_what_ends_within_the_budget_comes_before_what_does_not():
    steps = [
        step("a", 2.0),
        step("long", 50.0),
        step("b", 3.0, 3.0),
        step("c", 9.0),
        step("unknown", math.inf),
    ]
    table = schedule(steps, workers=1, budget=10.0)
    assert [each.purpose for each in table.steps] == ["a", "b", "long", "c", "unknown"]
    assert table.inside == 2
    assert table.ends[:2] == [2.0, 8.0]


def test_a_plan_in_words_says_what_is_estimated_and_where_the_budget_ends():
    table = schedule([step("a", 30.0), step("long", 7200.0, estimated=True)], workers=1, budget=60.0)
    head, a, beyond, long, total = describe_plan(table, "cpu", "1m").splitlines()
    assert head.split() == ["ends", "after", "core", "time", "runs", "what", "for"]
    assert a.split() == ["0.0", "h", "30", "s", "1", "a"]
    assert "would not be finished within 1m" in beyond
    assert long.split() == ["~2.0", "h", "~2.0", "h", "1", "long"]
    assert total.startswith(
        "in all 2 runs, ~2.0 h of one core, ~2.0 h on 1 core; expected within 1m: 1 run ("
    )


def test_steps_of_a_plan_stand_as_they_end_in_one_unit():
    steps = [step("dear", 3000.0, 7200.0), step("cheap", 60.0), step("unknown", math.inf)]
    _, *lines, _ = describe_plan(schedule(steps, workers=2), "cpu").splitlines()
    assert [line.split()[:2] + line.split()[-1:] for line in lines] == [
        ["0.8", "h", "cheap"],
        ["2.0", "h", "dear"],
        ["unknown", "unknown", "unknown"],
    ]


def test_a_long_plan_is_cut_and_says_so():
    text = describe_plan(schedule([step(f"s{i}", 1.0) for i in range(9)], workers=3), "cuda", shown=2)
    assert "... and 7 more; --dry-run prints them all" in text
    assert text.count("\n") == 4
    assert text.endswith("in all 9 runs, 9 s of one GPU, 3 s on 3 GPUs")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (99.0, "99 s"),
        (100.0, "2 min"),
        (5900.0, "98 min"),
        (9000.0, "2.5 h"),
        (math.inf, "unknown"),
    ],
)
def test_spans(seconds, words):
    assert span(seconds) == words
