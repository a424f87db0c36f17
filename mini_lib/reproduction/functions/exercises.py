"""The exercises of the function-learning chapters: what a right answer has to do."""

import math

import torch

from mini_lib.functions import baselines, tasks
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


# ------------------------------------------------------------------------------------------------ 5: what bounds


MEANS = {"A": (0.1, 1.5, 0.2), "B": (0.37, 0.81, 0.06), "C": (0.07, 1.1, 0.16), "D": (0.06, 1.2, 0.09)}


def at_share(p: float, parts: tuple[float, float, float]) -> float:
    """The mean of three classes, of which lines count p and the others half of the rest each."""
    return p * parts[0] + (1 - p) / 2 * (parts[1] + parts[2])


@EXERCISES.add("functions 5.1", lambda p, means: "B", lambda p, means: max(means, key=lambda n: means[n][0]))
def first_at(answer) -> None:
    """Who has the lowest mean."""
    for p in (0.0, 0.2, 0.3, 0.4, 0.44, 0.6, 0.9, 1.0):
        given = answer(p, dict(MEANS))
        expected = min(MEANS, key=lambda name: at_share(p, MEANS[name]))
        require(given == expected, f"at p = {p:g} of {MEANS} it is {expected}, not {given}.")


@EXERCISES.add(
    "functions 5.2", lambda means, everything: (1 / 3, 1 / 3, 1 / 3), lambda means, everything: (1, 1, 1)
)
def weights_behind(answer) -> None:
    """The weights of a mean, found again."""
    means = torch.tensor(list(MEANS.values()))
    for weights in ((15 / 34, 10 / 34, 9 / 34), (0.2, 0.5, 0.3)):
        given = [float(each) for each in answer(means.clone(), means @ torch.tensor(weights))]
        require(len(given) == 3, "return three weights.")
        require(abs(sum(given) - 1) < 1e-3, f"the weights sum to {sum(given):.3f}, not 1.")
        off = max(abs(one - other) for one, other in zip(given, weights, strict=True))
        require(
            off < 2e-3, f"with weights {', '.join(f'{w:.3f}' for w in weights)} yours are off by {off:.3f}."
        )


def exact_error(weights: torch.Tensor) -> float:
    """Expected squared error of a linear rule on RBF curves, written out by parts."""
    steps, observed = weights.shape
    covariance = tasks.covariance(observed + steps)
    seen, across, ahead = (
        covariance[:observed, :observed],
        covariance[observed:, :observed],
        covariance[observed:, observed:],
    )
    noisy = seen + tasks.NOISE**2 * torch.eye(observed, dtype=torch.float64)
    errors = ahead.diagonal() - 2 * (weights * across).sum(dim=1) + ((weights @ noisy) * weights).sum(dim=1)
    return errors.mean().item()


@EXERCISES.add(
    "functions 5.3",
    lambda weights: 1.0,
    lambda weights: exact_error(weights) - tasks.NOISE**2 * weights.square().sum(dim=1).mean().item(),
)
def expected(answer) -> None:
    """The exact error of a linear rule."""
    for name in ("zero", "last value", "OLS line"):
        for observed, steps in ((20, 10), (5, 3)):
            unit = torch.eye(observed, dtype=torch.float64)
            weights = baselines.PREDICTORS[name](unit, steps).mT
            given, right = float(answer(weights.clone())), exact_error(weights)
            require(
                abs(given - right) < 1e-4,
                f"the rule “{name}” has {right:.4f} after {observed} points, over {steps} steps, not {given:.4f}.",
            )


def added_up(y: torch.Tensor, order: int) -> torch.Tensor:
    """Autoregression of the steps, from the last observation on."""
    steps = baselines.autoregression(y.double().diff(), tasks.STEPS, order)
    return torch.stack([y[:, -1].double() + steps[:, : s + 1].sum(dim=1) for s in range(tasks.STEPS)], dim=1)


@EXERCISES.add(
    "functions 5.4",
    lambda y, order: baselines.autoregression(y, tasks.STEPS, order),
    lambda y, order: baselines.autoregression(y.double().diff(), tasks.STEPS, order),
)
def by_differences(answer) -> None:
    """Autoregression that cannot see the level."""
    y = tasks.evaluation_curves(30, 30).y[:, :20]
    for order in (1, 4):
        given = torch.as_tensor(answer(y.clone(), order)).double()
        right = added_up(y, order)
        require(given.shape == right.shape, f"return {tasks.STEPS} values for each curve.")
        moved = torch.as_tensor(answer(y + 2, order)).double() - given
        require(
            torch.allclose(moved, torch.full_like(moved, 2.0), atol=1e-3),
            "2 added to a curve does not add 2 to the answers.",
        )
        require(torch.allclose(given, right, atol=1e-4), f"the answers of order {order} are others.")


@EXERCISES.add(
    "functions 5.5",
    lambda spread, difference: (2 * spread / difference) ** 2,
    lambda spread, difference: 2 * (spread / difference) ** 2,
)
def curves_needed(answer) -> None:
    """How many curves show a difference."""
    for spread, difference in ((1.0, 0.1), (0.5, 0.02)):
        given = float(answer(spread, difference))
        require(given > 0, "return a number above 0.")
        errors = difference / math.hypot(spread / math.sqrt(given), spread / math.sqrt(given))
        require(
            abs(errors - 2) < 0.01,
            f"with spread {spread:g} and {given:.0f} curves a difference of {difference:g} is {errors:.2f} "
            "standard errors, not 2.",
        )
