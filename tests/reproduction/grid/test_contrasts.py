"""The protocol's rules: scores, contrasts, verdict, the choice of learning rates; and the page that shows them."""

import json
import math
import re
from statistics import fmean

import pytest
import torch

from mini_lib.grid.runs import models_for
from mini_lib.hashing import run_key
from mini_lib.reproduction import Records
from mini_lib.reproduction.grid import cells, contrasts, page, rates
from mini_lib.reproduction.grid.cells import TASKS, TUNING, chosen_rates, declare, twins_of
from mini_lib.reproduction.grid.contrasts import BOTTLENECKS, FAMILIES, RULES, Scored, by_family, paired
from mini_lib.reproduction.judgement import Mean
from reproduction.samples import record

EVERY_RATE = {name: {twins_of(model): 1e-3 for model in task.runs} for name, task in TASKS.items()}


def test_scores_run_from_the_floor_to_the_ceiling():
    assert contrasts.score("d3, m=95", "new", {"new": 25.0}) == 0
    assert contrasts.score("rmts, m=95", "new", {"new": 75.0}) == 0.5
    assert contrasts.score("commands", "jump", {"jump": 100.0}) == 1
    slowed = contrasts.anchors()["slowed"]
    for lin, sine in ((0, 0), (1, 1), (0, 1)):  # as the last value goes, or as fitted
        metrics = {"slowed_lin": slowed["lin"][lin], "slowed_sine": slowed["sine"][sine]}
        assert contrasts.score("curves", "slowed", metrics) == pytest.approx((lin + sine) / 2)


def test_a_fitted_curve_is_a_line_or_a_sine_and_nobody_tells_which():
    x = torch.arange(1.0, 23.0)
    curves = torch.stack([0.7 + 1.1 * torch.sin(2 * math.pi * x / 7.3 + 0.4), 0.2 - 0.05 * x])
    noisy = curves[:, :12] + 0.01 * torch.randn(2, 12, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(contrasts.fitted_curve(noisy), curves[:, 12:].double(), rtol=0, atol=0.1)


def run(**metrics):
    return {"diverged": False, "metrics": metrics}


@pytest.mark.parametrize(
    ("task", "ran", "wanted"),
    [
        ("match", run(familiar=90.0, new=90.0) | {"diverged": True}, (0.0, 0.0, False)),
        ("match", run(familiar=100.0, new=12.5), (1.0, 0.0, True)),
        ("match", run(familiar=90.0, new=12.5), (0.886, 0.0, False)),
        ("name", run(familiar=100 / 15), (0.0, math.nan, False)),
        ("rmts, m=95", run(training=100.0, familiar=50.0, new=50.0), (0.0, 0.0, True)),  # by heart
        ("rmts, m=95", run(training=60.0, familiar=100.0, new=60.0), (1.0, 0.2, False)),
        ("commands", run(training=100.0, familiar=100.0, jump=80.0, dax=40.0), (1.0, 0.6, True)),
    ],
)
def test_a_run_is_scored_on_familiar_and_new_content_and_by_what_it_learned(task, ran, wanted):
    assert contrasts.scored(task, ran) == pytest.approx(wanted, abs=1e-3, nan_ok=True)


def test_runs_are_paired_by_seed_and_averaged_over_tasks_and_twins():
    found = {
        ("a", "closed"): {1: Scored(1.0, 0.9, True), 2: Scored(1.0, 0.8, True), 3: Scored(1.0, 1.0, True)},
        ("a", "open"): {1: Scored(1.0, 0.5, True), 2: Scored(0.8, 0.7, False)},
        ("b", "closed"): {1: Scored(1.0, 1.0, True), 2: Scored(1.0, 1.0, True)},
        ("b", "open"): {1: Scored(1.0, 0.0, True), 2: Scored(1.0, 1.0, True)},
    }
    pair = (("closed", "open"),)
    assert paired(found, ("a",), pair) == pytest.approx([0.4, 0.1])
    assert paired(found, ("a",), pair, "familiar") == pytest.approx([0.0, 0.2])
    assert paired(found, ("a", "b"), pair) == pytest.approx([0.7, 0.05])
    assert paired(found, ("a", "b"), pair, only_learned=True) == pytest.approx([0.7, 0.0])
    assert paired(found, ("a",), pair, only_learned=True) == pytest.approx([0.4])
    assert paired(found, ("a", "c"), pair) == []


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.2, 0.5, "helps"),
        (-0.5, -0.2, "harms"),
        (-0.05, 0.05, "none"),
        (-0.2, 0.5, "undecided"),
        (0.05, 0.3, "undecided"),
    ],
)
def test_a_contrast_is_decided_by_its_interval(low, high, word):
    assert contrasts.decided(Mean((low + high) / 2, (high - low) / 2 / 1.96)) == word


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["helps"] * 3 + ["harms"], "for"),
        (["helps"] * 2 + ["undecided"] * 2, "undecided"),
        (["none", "none", "harms", "helps"], "against"),
        (["helps", "helps", "none", "undecided"], "mixed"),
        (["helps"] * 3 + ["not run"], "not run"),
    ],
)
def test_the_verdict_counts_families(words, expected):
    assert contrasts.verdict(dict(zip(FAMILIES, words, strict=True))) == expected


def made_up(learned=True, lacking=(), equal=()):
    """Scores in which every network with a bottleneck is better by 0.3, give or take a little."""
    found = {}
    for tasks, pairs in (*FAMILIES.values(), (("normalised curves",), FAMILIES["curves"][1])):
        for task in tasks:
            for one, other in pairs:
                for name, new in ((one, 0.8), (other, 0.8 if task in equal else 0.5)):
                    runs = {seed: Scored(1.0, new + 0.01 * (seed % 3), learned) for seed in range(1, 6)}
                    found[task, name] = {} if task in lacking else runs
    return found


def test_a_family_is_decided_where_all_runs_and_those_that_learned_agree():
    assert set(by_family(made_up()).values()) == {"helps"}
    assert set(by_family({}).values()) == {"not run"}
    assert set(by_family(made_up(learned=False)).values()) == {"undecided"}
    assert by_family(made_up(equal=["normalised curves"]))["curves"] == "undecided"
    assert by_family(made_up(lacking=["normalised curves"]))["curves"] == "not run"
    assert by_family(made_up(lacking=["match"]))["match"] == "not run"
    one_learned = made_up()  # with the bottleneck that is no better; all others are, and did not learn
    for one, other in BOTTLENECKS:
        learned = one == BOTTLENECKS[0][0]
        for seed in range(1, 6):
            one_learned["match", one][seed] = Scored(1.0, 0.5 if learned else 0.9, learned)
            one_learned["match", other][seed] = Scored(1.0, 0.5, learned)
    assert contrasts.decided(contrasts.interval(paired(one_learned, ("match",), BOTTLENECKS))) == "helps"
    assert by_family(one_learned)["match"] == "undecided"


def test_twins_are_mechanisms_of_their_tasks():
    for names, pairs in FAMILIES.values():
        for task in names:
            assert {name for pair in pairs for name in pair} <= {*TASKS[task].runs}
    assert len(BOTTLENECKS) == 6
    for task in TASKS.values():
        assert {*task.runs} <= {*models_for(task.settings["task"])}


def kept_record(cell, seed, **metrics):
    own = {"settings": cell.settings, "hash": cell.hash, "key": run_key(cell.settings, seed)}
    return record(seed) | own | {"metrics": metrics}


def test_scores_are_those_of_the_declared_seeds(tmp_path, monkeypatch):
    chosen = [cell for cell in declare(EVERY_RATE) if cell.table == "grid.match" and cell.row == "esbn"]
    monkeypatch.setattr(contrasts, "CELLS", chosen)
    store = Records(tmp_path)
    for seed in (1, 2, 6):  # of five that are declared
        store.add(kept_record(chosen[0], seed, familiar=100.0, new=56.25), "grid.match")
    assert contrasts.scores(store) == {("match", "esbn"): {1: (1.0, 0.5, True), 2: (1.0, 0.5, True)}}


def test_a_rate_with_which_a_run_diverged_is_out(tmp_path, monkeypatch):
    tuned = [cell for cell in declare({}) if cell.row == "lstm" and cell.column.startswith("match")]
    monkeypatch.setattr(rates, "CELLS", tuned)
    store = Records(tmp_path)
    for number, cell in enumerate(tuned):
        for seed in (1, 2):
            assert rates.choose_rates(store) == {}
            diverged = number == 0 and seed == 2
            store.add(kept_record(cell, seed, familiar_loss=float(number)) | {"diverged": diverged}, TUNING)
    assert rates.choose_rates(store) == {"match": {"lstm": 1e-3}}
    monkeypatch.setattr(rates, "CELLS", tuned[:1])
    with pytest.raises(ValueError, match="lstm diverged with every learning rate on match"):
        rates.choose_rates(store)


def test_runs_that_count_are_declared_with_the_rates_that_the_rule_chooses_from_the_records():
    assert chosen_rates() == json.loads(json.dumps(rates.choose_rates(Records())))
    declared = [cell for cell in declare({"match": {"lstm": 3e-3}}) if cell.table != TUNING]
    found = {(cell.table, cell.row, cell.settings["lr"]) for cell in declared}
    assert found == {("grid.match", "lstm", 3e-3), ("grid.name", "lstm", 3e-3)}
    for cell in cells.CELLS:
        assert (cell.table == TUNING) == ("seeds_after" in cell.settings)


def test_the_page_says_what_the_records_say(tmp_path):
    found = contrasts.scores(Records())
    text = page.write_page(tmp_path, Records()).read_text(encoding="utf-8")
    rows = dict(re.findall(r'^<tr><th scope="row">(.*?)</th>(.*)$', text, re.MULTILINE))
    families = by_family(found)
    for told, (family, word) in zip(rows.values(), families.items(), strict=False):
        assert f">{page.VERDICTS[word]}</b>" in told
        seeds = len(paired(found, *FAMILIES[family]))
        assert told.count("<circle") == (0 if family == "curves" else seeds)
    assert f"the answer is {page.VERDICTS[contrasts.verdict(families)]}.**" in text
    for name in ("CoRelNet", "Abstractor"):
        own = [pair for pair in BOTTLENECKS if pair[0].startswith(name.lower())]
        assert page.number(fmean(paired(found, RULES, own))) in rows[name]
        as_they_are, fifteen = (fmean(paired(found, tasks, own[:1])) for tasks in (RULES[:1], page.MORE))
        assert re.search(rf"{page.number(as_they_are)} for (the )?{name}", text)
        if name == "CoRelNet":
            assert f"{page.number(fifteen)} for CoRelNet with fifteen" in text
            assert as_they_are > 0.4 > 0.05 > fifteen  # predicted, and seen
    (naming,) = (told for name, told in rows.items() if name.startswith("naming"))
    assert page.number(fmean(paired(found, ("name",), BOTTLENECKS, "familiar"))) in naming
    # What its other sentences say: helps in one, none in one, also by all runs alone; and luck decides.
    assert sorted(families.values()) == ["helps", "none", "undecided", "undecided"]
    by_all = [contrasts.decided(contrasts.interval(paired(found, *FAMILIES[name]))) for name in families]
    assert by_all == [*families.values()]
    attention = [run.new for run in found["commands", "syntactic attention"].values()]
    assert min(attention) < 0.01 < 0.5 < max(attention)


def test_a_line_has_the_mean_and_the_95_percent_interval_by_t():
    assert page.line("a", [0.2, 0.3, 0.4]).ours == ".3<small>.05 to .55</small>"
    assert page.line("a", [0.2, 0.3]).word == "not run"
