"""What each claim on a figure asks for: numbers with which it holds, and for each part of it one that breaks it."""

import pytest

from mini_lib.reproduction import load_claims
from mini_lib.reproduction.judgement import NOT_REPRODUCED, REPRODUCED, Mean, judge_rule

CLAIMS = {each.id: each for each in load_claims() if each.paper == "kanerva"}
USED = {"loss": 10, "loss, nothing written": 12}
TUNED = {"k = 4/shape": 0.01, "k = 4/orientation": 0.01, "k = 4/scale": 0.01}
TOO_MUCH = {f"k = 4/{name}": 0.04 for name in ("shape", "orientation", "scale")}


def each_of(rows, values):
    return {f"{row}/{column}": value for row in rows for column, value in values.items()}


def unused(*rows):
    """The memory's part in the loss: in every row there has to be one."""
    return each_of(rows, USED), each_of(rows, {"loss, nothing written": 10.9})


# id -> (values of cells, "row/column" of the claim's own figure, that fit; single values that do not).
EXPECTED = {
    "fig1d.1": ({"loop/R^2, m=400": 0.95}, {"loop/R^2, m=400": 0.85}),
    "fig1d.2": (
        {"loop/T(1)/T(2), m=500": 1.6, "loop/T(1)/T(2), m=600": 1.7},
        {"loop/T(1)/T(2), m=500": 1.4, "loop/T(1)/T(2), m=600": 1.4},
    ),
    "fig1d.3": (
        {"loop/best k, m=400": 2.0, "loop/best k, m=600": 5.0},
        {"loop/best k, m=400": 1.0, "loop/best k, m=600": 1.0},
    ),
    "fig1d.4": (
        {"loop/R^2, m=100": 0.95, "loop/R^2, m=600": 0.95},
        {"loop/R^2, m=100": 0.85, "loop/R^2, m=600": 0.85},
    ),
    "fig1d.5": (
        {f"batched/R^2, m={m}": 0.95 for m in (100, 400, 600)},
        {f"batched/R^2, m={m}": 0.85 for m in (100, 400, 600)},
    ),
    "fig1e.1": (
        {"k = 1/loss": 10, "k = 3/loss": 10.1, "k = 15/loss": 10.2},
        {"k = 1/loss": 11, "k = 3/loss": 11, "k = 15/loss": 9},
    ),
    "fig1e.2": (
        {f"k = {k}/loss": 10 for k in (1, 2, 5, 6, 10)},
        {f"k = {k}/loss": 11 for k in (1, 2, 5, 6, 10)},
    ),
    "fig1e.3": unused("k = 1", "k = 3", "k = 15"),
    "fig2a.1": (
        {"k = 2/largest gamma": 0.97, "k = 2/largest gamma, reading": 0.97},
        {"k = 2/largest gamma": 0.93, "k = 2/largest gamma, reading": 0.93},
    ),
    "fig2a.2": (
        {"k = 2/lesser machine": 0.4, "k = 2/lesser machine, reading": 0.4},
        {"k = 2/lesser machine": 0.2, "k = 2/lesser machine, reading": 0.2},
    ),
    "fig2a.3": (
        {"k = 2/green": 10, "k = 2/green, a machine forgotten": 15},
        {"k = 2/green, a machine forgotten": 9},
    ),
    "fig2b.1": (
        {"k = 2/loss": 10, "k = 2/dominant machine's loss": 10.2},
        {"k = 2/dominant machine's loss": 11},
    ),
    "fig2b.2": ({"k = 2/idle variance": 0.05}, {"k = 2/idle variance": 0.2}),
    "fig2c.1": ({"k = 1/loss": 20, "k = 2/loss": 15}, {"k = 2/loss": 25}),
    "fig2c.2": (
        {"k = 1/loss": 20, "k = 2, no gradient to r/loss": 20.1},
        {"k = 2, no gradient to r/loss": 15},
    ),
    "fig2c.3": unused("k = 1", "k = 2"),
    "fig2d.1": ({"k = 2/red or blue": 0.4}, {"k = 2/red or blue": 0.2}),
    "fig2d.2": ({"k = 2/red or blue": 0.4, "k = 2/next": 0.1}, {"k = 2/next": 0.2}),
    "fig3b.1": (
        {"k = 4/contrast": 0.4, "k = 4/contrast, other sprites": 0.2, "k = 1/contrast": 0.2},
        {"k = 4/contrast, other sprites": 0.5, "k = 1/contrast": 0.5},
    ),
    "fig3b.2": ({"k = 4/one sprite": 0.6}, {"k = 4/one sprite": 0.4}),
    "fig3b.3": (
        {"k = 4/changes of gamma": 0.05, "k = 4/changes of gamma, reading": 0.05},
        {"k = 4/changes of gamma": 0.2, "k = 4/changes of gamma, reading": 0.2},
    ),
    "fig3b.4": (
        {"k = 4/one sprite": 0.6}
        | {f"k = 4/one sprite, {other}": 0.3 for other in ("other sprites", "mean images")}
        | {"k = 1/one sprite": 0.3},
        {f"k = 4/one sprite, {other}": 0.7 for other in ("other sprites", "mean images")}
        | {"k = 1/one sprite": 0.7},
    ),
    "fig3b.5": (
        {"k = 4/least used machine": 0.2, "k = 4/least used machine, reading": 0.2},
        {"k = 4/least used machine": 0.1, "k = 4/least used machine, reading": 0.1},
    ),
    "fig3c.1": (
        {"k = 1, 20 columns each/loss": 20, "k = 4, 5 columns each/loss": 15},
        {"k = 4, 5 columns each/loss": 25},
    ),
    "fig3c.3": (
        {"k = 1, 5 columns each/loss": 20, "k = 4, 5 columns each/loss": 15},
        {"k = 4, 5 columns each/loss": 25},
    ),
    "fig3c.2": unused("k = 1, 20 columns each", "k = 4, 5 columns each"),
    "fig7.1": ({"k = 4/position": 0.1} | TUNED, TOO_MUCH),
    "fig7.2": (
        {"k = 4/position": 0.1, "k = 4/position, mean images": 0.01},
        {"k = 4/position, mean images": 0.06},
    ),
    "fig7.3": (
        {"k = 4/position, lesser machines": 0.1} | TUNED,
        TOO_MUCH | {"k = 4/position, lesser machines": 0.0},
    ),
    "fig4a.1": ({"k = 2/classes": 0.4, "k = 3/classes": 0.4}, {"k = 2/classes": 0.2, "k = 3/classes": 0.2}),
    "fig4d.1": ({"k = 1/loss": 5, "k = 2/loss": 7, "k = 3/loss": 10}, {"k = 1/loss": 8, "k = 3/loss": 6}),
    "fig4d.2": ({"k = 3/loss": 10, "kanerva.fig1e/k = 3/loss": 7}, {"kanerva.fig1e/k = 3/loss": 11}),
    "fig4d.3": (
        {"k = 5/loss": 12, "k = 3/loss": 10, "kanerva.fig1e/k = 5/loss": 7},
        {"k = 3/loss": 13, "kanerva.fig1e/k = 5/loss": 13},
    ),
    "fig4d.4": unused("k = 2", "k = 3"),
    "fig8.1": ({"k = 4/retrieved": 0.2}, {"k = 4/retrieved": 0.02}),
    "fig8.2": ({"k = 4/new": 0.1}, {"k = 4/new": 0.02}),
    "fig8.3": ({"k = 4/new": 0.1}, {"k = 4/new": 0.9}),
}


def named(claim, values):
    figure = f"{claim.paper}.{claim.id.split('.')[1]}"
    return {
        cell if cell.startswith(claim.paper) else f"{figure}/{cell}": value for cell, value in values.items()
    }


def verdict(claim, values):
    return judge_rule(claim.rule, {cell: Mean(value, 1e-4) for cell, value in values.items()})[0]


def test_what_is_expected_is_said_of_every_claim():
    assert {f"kanerva.{name}" for name in EXPECTED} == set(CLAIMS)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_claim_holds_with_numbers_as_in_the_paper_and_fails_without_any_of_them(name):
    claim = CLAIMS[f"kanerva.{name}"]
    fits, breaks = (named(claim, values) for values in EXPECTED[name])
    assert set(claim.cells()) == set(fits)
    assert verdict(claim, fits) == REPRODUCED
    for cell, value in breaks.items():
        assert verdict(claim, fits | {cell: value}) == NOT_REPRODUCED, cell


def test_no_memory_passes_for_several_machines_that_are_tuned():
    """A machine shows both sprites, the others one spot each: its place alone sets it apart from them."""
    recorded = {
        "k = 4/position": 0.0075,
        "k = 4/shape": 0.0004,
        "k = 4/orientation": 0.0004,
        "k = 4/scale": -0.0001,
        "k = 4/position, lesser machines": 0.0,
    }
    first, third = CLAIMS["kanerva.fig7.1"], CLAIMS["kanerva.fig7.3"]
    known = named(first, recorded)
    for claim, word in ((first, REPRODUCED), (third, NOT_REPRODUCED)):
        means = {cell: Mean(known[cell], 1e-5) for cell in claim.cells()}
        assert judge_rule(claim.rule, means)[0] == word
