"""Each claim is reproduced in a world where the paper is right, and no longer if one of its numbers is wrong."""

import pytest

from mini_lib.reproduction import load_claims
from mini_lib.reproduction.judgement import NOT_REPRODUCED, REPRODUCED, Mean, judge_rule

CLAIMS = {each.id: each for each in load_claims() if each.paper == "kanerva"}
EMPTY = "loss, nothing written"
READING = ("", ", reading")


def each_of(row, columns, *numbers):
    return {f"{row}/{column}": numbers for column in columns}


def used(rows, loss, empty):
    """Losses, with what makes them wrong, and those of an empty memory, which have to be larger."""
    return {f"{row}/loss": loss for row in rows} | {f"{row}/{EMPTY}": (empty, loss[0] - 3) for row in rows}


TUNED = ("shape", "orientation", "scale")
TABLES = {  # "row/column": as in the paper, and then numbers that contradict it
    "fig1d": each_of("loop", [f"R^2, m={m}" for m in (100, 400, 600)], 0.95, 0.85)
    | each_of("batched", [f"R^2, m={m}" for m in (100, 400, 600)], 0.95, 0.85)
    | each_of("loop", [f"T(1)/T(2), m={m}" for m in (500, 600)], 1.6, 1.4)
    | each_of("loop", [f"best k, m={m}" for m in (400, 600)], 2.0, 1.0),
    "fig1e": used([f"k = {k}" for k in (1, 2, 3, 5, 6, 10, 15)], (7, 5, 12.5, 25), 20),
    "fig2a": each_of("k = 2", [f"largest gamma{end}" for end in READING], 0.97, 0.93)
    | each_of("k = 2", [f"lesser machine{end}" for end in READING], 0.4, 0.2)
    | {"k = 2/green": (10, 16), "k = 2/green, a machine forgotten": (15, 9)},
    "fig2b": {"k = 2/loss": (10, 11), "k = 2/dominant machine's loss": (10.2, 11.2)}
    | {"k = 2/idle variance": (0.05, 0.2)},
    "fig2c": used(["k = 1"], (20, 14, 40), 30)
    | used(["k = 2, no gradient to r"], (20.5, 14, 40), 30)
    | used(["k = 2"], (15, 25, 40), 30),
    "fig2d": {"k = 2/red or blue": (0.4, 0.05), "k = 2/next": (0.1, 0.3)},
    "fig3b": {"k = 4/contrast": (0.4, 0.1), "k = 4/contrast, other sprites": (0.2, 0.5)}
    | {"k = 1/contrast": (0.2, 0.5), "k = 1/one sprite": (0.3, 0.7), "k = 4/one sprite": (0.6, 0.2)}
    | each_of("k = 4", ["one sprite, other sprites", "one sprite, mean images"], 0.3, 0.7)
    | each_of("k = 4", [f"changes of gamma{end}" for end in READING], 0.05, 0.2)
    | each_of("k = 4", [f"least used machine{end}" for end in READING], 0.2, 0.1),
    "fig3c": used(["k = 1, 20 columns each", "k = 1, 5 columns each"], (20, 14, 40), 30)
    | used(["k = 4, 5 columns each"], (15, 25, 40), 30),
    "fig7": {"k = 4/position": (0.1, 0.0), "k = 4/position, mean images": (0.01, 0.06)}
    | {"k = 4/position, lesser machines": (0.1, 0.0)}
    | each_of("k = 4", TUNED, 0.01, 0.04),
    "fig4a": {"k = 2/classes": (0.4, 0.2), "k = 3/classes": (0.4, 0.2)},
    "fig4d": {
        "k = 1/loss": (5, 9),
        "k = 2/loss": (8, 15, 4, 25),
        "k = 3/loss": (10, 6, 25),
        "k = 5/loss": (12, 6),
    }
    | each_of("k = 2", [EMPTY], 20, 1)
    | each_of("k = 3", [EMPTY], 20, 1),
    "fig8": {"k = 4/retrieved": (0.2, 0.02), "k = 4/new": (0.1, 0.02, 0.9)},
}
WORLD = {f"kanerva.{table}/{cell}": each for table, cells in TABLES.items() for cell, each in cells.items()}


def verdict(claim, **changed):
    means = {cell: Mean(WORLD[cell][0], 1e-4) for cell in claim.cells()}
    return judge_rule(claim.rule, means | changed)[0]


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_needs_each_of_its_numbers(claim):
    assert verdict(claim) == REPRODUCED
    for cell in claim.cells():
        words = {verdict(claim, **{cell: Mean(wrong, 1e-4)}) for wrong in WORLD[cell][1:]}
        assert NOT_REPRODUCED in words, cell


def test_no_memory_passes_for_several_machines_that_are_tuned():
    """A machine shows both sprites, the others one spot each: its place alone sets it apart from them."""
    recorded = {"position": 0.0075, "position, lesser machines": 0.0} | dict.fromkeys(TUNED, 0.0004)
    means = {f"kanerva.fig7/k = 4/{name}": Mean(value, 1e-5) for name, value in recorded.items()}
    assert verdict(CLAIMS["kanerva.fig7.1"], **means) == REPRODUCED
    assert verdict(CLAIMS["kanerva.fig7.3"], **means) == NOT_REPRODUCED
