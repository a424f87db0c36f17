"""The exercises of the function-learning chapters: what a right answer has to do."""

import math

import torch

from mini_lib.functions.models import build_network
from mini_lib.functions.models.window import Tokens, Window, visible
from mini_lib.reproduction.exercises import Exercises, require
from mini_lib.seeding import seeded
from mini_lib.weights import trained

EXERCISES = Exercises()


# ------------------------------------------------------------------------------------------------ 3: the window


def factor(distance: float, a: float, b: float) -> float:
    """F by its printed formula."""
    return (1 + math.exp(-a)) / (1 + math.exp(distance / b - a))


@EXERCISES.add("functions 3.1", lambda a, b: a * b, lambda a, b: b * (a - math.log(1 + 2 * math.exp(-a))))
def half(answer) -> None:
    """Where the factor is exactly a half."""
    for a, b in ((2.0, 5.0), (0.5, 20.0), (8.0, 1.25), (1.0, 1.0)):
        found = factor(float(answer(a, b)), a, b)
        require(abs(found - 0.5) < 1e-4, f"with a = {a:g} and b = {b:g} the factor there is {found:.4f}.")


@EXERCISES.add("functions 3.2", lambda: (2.0, 2.0), lambda: (16.0, 0.3))
def sharp(answer) -> None:
    """A window with an edge between 3 and 5."""
    a, b = (float(each) for each in answer())
    require(a > 0 and b > 0, "both have to be above 0.")
    require(abs(a * b - 4) < 1e-3, f"the length ab is {a * b:g}, not 4.")
    require(factor(3.0, a, b) > 0.95, f"F(3) is {factor(3.0, a, b):.3f}, not above 0.95.")
    require(factor(5.0, a, b) < 0.05, f"F(5) is {factor(5.0, a, b):.3f}, not below 0.05.")


@EXERCISES.add("functions 3.3", lambda i, n: (n * (n - 1) // 2,) * 2, lambda i, n: (i * n, (i - 1) * n))
def sees(answer) -> None:
    """How many differences a query may look at under both masks."""
    with seeded(0, "tokens"):
        network = build_network("relational", dim=8, layers=1, heads=1)
    for observed in (4, 7, 12):
        told, asked = network.input_tokens(1, observed), network.query_tokens(observed + 1)
        for i in (1, 2, observed // 2, observed):
            query = Tokens(*(part[i - 1 : i] for part in asked))
            expected = tuple(int(visible(query, told, mask).sum()) for mask in ("causal", "strict"))
            given = tuple(int(each) for each in answer(i, observed))
            require(
                given == expected,
                f"of {observed} observations query ({i}, {observed + 1}) sees {expected[0]} and {expected[1]} "
                f"differences, not {' and '.join(map(str, given))}.",
            )


@EXERCISES.add(
    "functions 3.4",
    lambda start, end, lr: math.log(start / end) / lr,
    lambda start, end, lr: math.log(start / end) / (2 * lr),  # nothing for a window that grows
)
def updates_needed(answer) -> None:
    """How long Adam takes to a length, tried out."""
    for start, end, lr in ((10.0, 2.0, 0.01), (3.0, 12.0, 0.02)):
        window = Window(length=start)
        adam = torch.optim.Adam(window.parameters(), lr)
        taken, sign = 0, 1.0 if end < start else -1.0
        while (window.length.item() - end) * sign > 0:
            window.log_a.grad = window.log_b.grad = torch.full((1, 1), 0.5 * sign)
            adam.step()
            taken += 1
        given = float(answer(start, end, lr))
        require(
            abs(given - taken) <= 1 + 0.03 * taken,
            f"from {start:g} to {end:g} at learning rate {lr:g} it takes {taken} updates, not {given:.0f}.",
        )


@EXERCISES.add("functions 3.5", lambda network, length: network, lambda network, length: _changed_a(network))
def with_length(answer) -> None:
    """A copy with a window of another length."""
    network, _ = trained("one_d_window")
    a, own = network.window.a.item(), network.window.length.item()
    for length in (1.0, 10.0, 1000.0):
        copy = answer(network, length)
        require(
            copy is not network and abs(network.window.length.item() - own) < 1e-6,
            "change a copy of the network (copy.deepcopy), not itself.",
        )
        given = copy.window.length.item()
        require(abs(given / length - 1) < 1e-3, f"the length is {given:.3g}, not {length:g}.")
        require(abs(copy.window.a.item() - a) < 1e-4, "a has changed: move b alone.")


def _changed_a(network):
    """A copy whose a is another."""
    copy, _ = trained("one_d_window")
    copy.window.log_a.data += math.log(1 / copy.window.length.item())
    return copy
