"""The exercises of the function-learning chapters: what a right answer has to do."""

import math

import numpy as np
import torch
from scipy import stats

from mini_lib.files import trained
from mini_lib.functions import baselines, bounds, tasks
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.transformer import OneDTransformer, RelationalTransformer
from mini_lib.functions.window import Tokens, Window, visible
from mini_lib.reproduction.exercises import Exercises, near, number, numbers, require, same_but, state_of
from mini_lib.reproduction.functions.readings import distance, standard_error
from mini_lib.seeding import torch_rng

EXERCISES = Exercises()


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


# ------------------------------------------------------------------------------------------------ 1: the task


@EXERCISES.add("functions 1.1")
def two_weights(answer) -> None:
    """Weights that go on with a line or a sinusoid."""
    x = tasks.positions(12)
    for name, f in (
        ("the line 0.3 x", 0.3 * x),
        ("sin(0.7 x + 1)", torch.sin(0.7 * x + 1)),
        ("2 cos(x)", 2 * x.cos()),
    ):
        one, two = (float(each) for each in answer(*f[:3].tolist()))
        off = float((one * f[1:-1] + two * f[:-2] - f[2:]).abs().max())
        require(off < 1e-3, f"on {name} these weights are off by {off:.3f} at the worst step.")


@EXERCISES.add("functions 1.2")
def chosen_kernel(answer) -> None:
    """The kernel that wins when complexity costs."""
    parameters = {"rbf": 3, "periodic": 4, "rbf+periodic": 6}
    for values in ((-5.0, -6.0, -4.5), (-9.0, -6.0, -5.0), (-9.0, -6.0, -2.0)):
        for count in (6, 12, 40):
            likelihoods = dict(zip(parameters, values, strict=True))
            worth = {k: likelihoods[k] - math.log(count) / 2 * parameters[k] for k in parameters}
            expected = max(worth, key=worth.__getitem__)
            given = answer(dict(likelihoods), dict(parameters), count)
            require(
                given == expected,
                f"of {likelihoods}, with {count} observations, {expected} wins, not {given}.",
            )


@EXERCISES.add("functions 1.3")
def last_value_error(answer) -> None:
    """What it costs to say the last value on RBF curves."""
    for steps in (1, 4, 10):
        expected = exact_error(torch.eye(3, dtype=torch.float64)[-1:].expand(steps, -1))
        given = float(answer(steps))
        require(abs(given - expected) < 5e-4, f"over {steps} steps it is {expected:.4f}, not {given:.4f}.")


@EXERCISES.add("functions 1.4")
def slide(answer) -> None:
    """Ten steps with a window that moves."""
    network = trained("one_d")
    y = tasks.evaluation_curves(6, 22).y[:, :12]
    for steps in (1, 4):
        given = numbers(answer(network, y.clone(), steps))
        require(tuple(given.shape) == (6, steps), f"return {steps} new values for each curve, no others.")
        expected = extrapolate(network, y, steps, "sliding").point
        require(near(given, expected, atol=1e-3), f"over {steps} steps the answers are others.")


@EXERCISES.add("functions 1.5")
def line_error(answer) -> None:
    """The exact error of least squares on lines."""
    for observed in (3, 12, 20):
        unit = torch.eye(observed, dtype=torch.float64)
        weights = baselines.straight_line(unit)  # by observation and step; a line itself is continued exactly
        expected = tasks.NOISE**2 * float(weights.square().sum(dim=0).mean())
        given = float(answer(observed))
        require(
            abs(given - expected) < 1e-3 * expected,
            f"after {observed} points it is {expected:.5f}, not {given:.5f}.",
        )


# ------------------------------------------------------------------------------------------------ 2: differences


@EXERCISES.add("functions 2.1")
def find(answer) -> None:
    """The next value from distances without sign."""
    for place, curve in enumerate(tasks.evaluation_curves(6, 13).truth):
        y, following = curve[:12], curve[12]
        given = float(answer(y.clone(), (following - y).abs()))
        require(
            abs(given - float(following)) < 1e-3,
            f"of test curve {place + 1} the next value is {following:.3f}, not {given:.3f}.",
        )


@EXERCISES.add("functions 2.2")
def price(answer) -> None:
    """How much more attention the bottleneck takes."""
    for observed in (4, 12, 20):
        one_d, relational = (
            len(each.input_tokens(observed).cat(each.query_tokens(observed + 1)).query)
            for each in (OneDTransformer, RelationalTransformer)
        )
        expected, given = (relational / one_d) ** 2, float(answer(observed))
        require(
            abs(given - expected) < 0.01 * expected,
            f"for {observed} observations it is {relational} tokens against {one_d}, so {expected:.1f} times "
            f"the pairs, not {given:.1f}.",
        )


@EXERCISES.add("functions 2.3")
def blind_to_lines(answer) -> None:
    """The nearest weights that continue every line."""
    generator = torch_rng(0, "exercise")
    for observed in (5, 12):
        w = torch.randn(observed, generator=generator)
        given = numbers(answer(w.clone()))
        require(given.shape == w.shape, f"return {observed} weights.")
        k = torch.arange(1.0, observed + 1)
        require(abs(given.sum() - 1) < 1e-3, f"they sum to {given.sum():.3f}, not 1.")
        slope = float((given * k).sum())
        require(abs(slope - observed - 1) < 1e-2, f"the sum of w_k k is {slope:.2f}, not {observed + 1}.")
        # The nearest point of a plane: what is left stands at right angles to it, so it is a line in k.
        left = given - w
        centred = k - k.mean()
        on_line = left.mean() + (left * centred).sum() / centred.square().sum() * centred
        require(near(left, on_line, atol=1e-3), "there are nearer weights that satisfy both.")


@EXERCISES.add("functions 2.4")
def resized(answer) -> None:
    """Predictions that scale with the curve."""
    model = trained("relational")
    y = tasks.evaluation_curves(6, 22).y[:, :12]
    given = numbers(answer(model, y.clone()))
    require(given.shape == (6, tasks.STEPS), "return ten values for each curve.")
    larger = answer(model, 10 * y)
    require(
        near(larger, 10 * given, atol=0.02),
        "ten times the curve does not give ten times the answers.",
    )
    unit = y.std(dim=1, keepdim=True) / 0.36
    expected = extrapolate(model, y / unit, context="sliding").point * unit
    require(near(given, expected, atol=0.01), "the unit is not the sample standard deviation over 0.36.")


# ------------------------------------------------------------------------------------------------ 3: the window


def factor(distance: float, a: float, b: float) -> float:
    """F by its printed formula."""
    return (1 + math.exp(-a)) / (1 + math.exp(distance / b - a))


@EXERCISES.add("functions 3.1")
def half(answer) -> None:
    """Where the factor is exactly a half."""
    for a, b in ((2.0, 5.0), (0.5, 20.0), (8.0, 1.25), (1.0, 1.0)):
        found = factor(float(answer(a, b)), a, b)
        require(abs(found - 0.5) < 1e-4, f"with a = {a:g} and b = {b:g} the factor there is {found:.4f}.")


@EXERCISES.add("functions 3.2")
def sharp(answer) -> None:
    """A window with an edge between 3 and 5."""
    a, b = (float(each) for each in answer())
    require(a > 0 and b > 0, "both have to be above 0.")
    require(abs(a * b - 4) < 1e-3, f"the length ab is {a * b:g}, not 4.")
    require(factor(3.0, a, b) > 0.95, f"F(3) is {factor(3.0, a, b):.3f}, not above 0.95.")
    require(factor(5.0, a, b) < 0.05, f"F(5) is {factor(5.0, a, b):.3f}, not below 0.05.")


@EXERCISES.add("functions 3.3")
def sees(answer) -> None:
    """How many differences a query may look at under both masks."""
    network = RelationalTransformer
    for observed in (4, 7, 12):
        told, asked = network.input_tokens(observed), network.query_tokens(observed + 1)
        for i in (1, 2, observed // 2, observed):
            query = Tokens(*(part[i - 1 : i] for part in asked))
            expected = tuple(int(visible(query, told, mask).sum()) for mask in ("causal", "strict"))
            given = tuple(float(each) for each in answer(i, observed))
            require(
                given == expected,
                f"of {observed} observations query ({i}, {observed + 1}) sees {expected[0]} and {expected[1]} "
                f"differences, not {' and '.join(f'{each:g}' for each in given)}.",
            )


@EXERCISES.add("functions 3.4")
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


@EXERCISES.add("functions 3.5")
def with_length(answer) -> None:
    """A copy with a window of another length."""
    network = trained("one_d_window")
    before, a = state_of(network), network.window.a.item()
    for length in (1.0, 10.0, 1000.0):
        copy = answer(network, length)
        require(copy is not network, "return a copy of the network (copy.deepcopy).")
        same_but(before, network)
        given = copy.window.length.item()
        require(abs(given / length - 1) < 1e-3, f"the length is {given:.3g}, not {length:g}.")
        require(abs(copy.window.a.item() - a) < 1e-4, "a has changed: move b alone.")
        same_but(before, copy, "window.log_a", "window.log_b")


# ------------------------------------------------------------------------------------------------ 4: uncertainty


@EXERCISES.add("functions 4.1")
def share_of_variance(answer) -> None:
    """How much of the loss is disagreement."""
    generator = torch_rng(0, "exercise")
    estimates, following = torch.randn(20, 4, generator=generator), torch.randn(20, generator=generator)
    given = float(answer(estimates.clone(), following.clone()))
    means = estimates.mean(dim=1, keepdim=True)
    apart, loss = (estimates - means).square().mean(), (estimates - following[:, None]).square().mean()
    expected = float(apart / loss)
    require(abs(given - expected) < 1e-3, f"of these random estimates it is {expected:.3f}, not {given:.3f}.")


@EXERCISES.add("functions 4.2")
def factor_of_spreads(answer) -> None:
    """By how much spreads are too small."""
    generator = torch_rng(0, "exercise")
    point, noise = (torch.randn(200, 5, generator=generator) for _ in range(2))
    spread = 0.1 + torch.rand(200, 5, generator=generator)
    y = point + 3 * spread * noise
    given = float(answer(point.clone(), spread.clone(), y.clone()))
    within = 100 * float(((y - point).abs() <= given * spread).float().mean())
    require(
        abs(within - 68.27) < 0.3, f"times {given:.3f}, {within:.1f} % lie within one spread, not 68.27 %."
    )


@EXERCISES.add("functions 4.3")
def spread_of(answer) -> None:
    """The mean spread of the first voices."""
    generator = torch_rng(0, "exercise")
    estimates = [torch.randn(7, 4 + step, generator=generator) for step in range(3)]
    for count in (2, 4):
        given = float(answer([e.clone() for e in estimates], count))
        voices = torch.stack([e[:, :count] for e in estimates])
        off = voices - voices.mean(dim=2, keepdim=True)
        expected = float((off.square().sum(dim=2) / (count - 1)).sqrt().mean())
        require(
            abs(given - expected) < 1e-4,
            f"if {count} vote, the mean sample standard deviation is {expected:.3f}, not {given:.3f}.",
        )


@EXERCISES.add("functions 4.4")
def with_and_without(answer) -> None:
    """Rank correlations, pooled and within steps."""
    generator = torch_rng(0, "exercise")
    spread, error = (torch.rand(30, 6, generator=generator) + torch.arange(6) for _ in range(2))
    given = [float(each) for each in answer(spread.clone(), error.clone())]
    require(len(given) == 2, "return two numbers.")
    pooled = stats.spearmanr(spread.flatten(), error.flatten()).statistic
    within = sum(stats.spearmanr(spread[:, s], error[:, s]).statistic for s in range(6)) / 6
    require(abs(given[0] - pooled) < 1e-3, f"pooled it is {pooled:.3f}, not {given[0]:.3f}.")
    require(abs(given[1] - within) < 1e-3, f"within steps it is {within:.3f}, not {given[1]:.3f}.")


@EXERCISES.add("functions 4.5")
def honest_sd(answer) -> None:
    """What the best predictor from differences leaves open."""
    for observed in (2, 4, 12):
        expected = float((bounds.posterior(observed, 1, sees_offset=False).variance + tasks.NOISE**2).sqrt())
        given = float(answer(observed))
        require(
            abs(given - expected) < 2e-4, f"after {observed} points it is {expected:.4f}, not {given:.4f}."
        )


# ------------------------------------------------------------------------------------------------ 5: what bounds


MEANS = {"A": (0.1, 1.5, 0.2), "B": (0.37, 0.81, 0.06), "C": (0.07, 1.1, 0.16), "D": (0.06, 1.2, 0.09)}


def at_share(p: float, parts: tuple[float, float, float]) -> float:
    """The mean of three classes, of which lines count p and the others half of the rest each."""
    return p * parts[0] + (1 - p) / 2 * (parts[1] + parts[2])


@EXERCISES.add("functions 5.1")
def first_at(answer) -> None:
    """Who has the lowest mean."""
    for p in (0.0, 0.2, 0.3, 0.4, 0.44, 0.6, 0.9, 1.0):
        given = answer(p, dict(MEANS))
        expected = min(MEANS, key=lambda name: at_share(p, MEANS[name]))
        require(given == expected, f"at p = {p:g} of {MEANS} it is {expected}, not {given}.")


@EXERCISES.add("functions 5.2")
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


@EXERCISES.add("functions 5.3")
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


@EXERCISES.add("functions 5.4")
def by_differences(answer) -> None:
    """Autoregression that cannot see the level."""
    y = tasks.evaluation_curves(30, 30).y[:, :20]
    for order in (1, 4):
        given = numbers(answer(y.clone(), order))
        right = added_up(y, order)
        require(given.shape == right.shape, f"return {tasks.STEPS} values for each curve.")
        moved = numbers(answer(y + 2, order)) - given
        require(
            near(moved, torch.full_like(moved, 2.0), atol=1e-3),
            "2 added to a curve does not add 2 to the answers.",
        )
        require(near(given, right, atol=1e-4), f"the answers of order {order} are others.")


@EXERCISES.add("functions 5.5")
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


# ------------------------------------------------------------------------------------------------ 6: ours and print

RUNS = np.array(
    [[[0.2, 0.1, 0.4], [1.2, 0.9, 1.0]], [[0.05, 0.3, 0.02], [0.8, 1.1, 1.6]]]
)  # [network, class, run]
IN_PRINT = np.array([[0.1, 1.5], [0.2, 1.0]])


@EXERCISES.add("functions 6.1")
def distance_from_print(answer) -> None:
    """How far means over runs are from a printed table."""
    for count in (1, 2, 3):
        expected = distance(RUNS[..., :count], IN_PRINT)
        given = number(answer(RUNS[..., :count].copy(), IN_PRINT.copy()))
        which = f"of {RUNS[..., :count].tolist()} and {IN_PRINT.tolist()}"
        require(abs(given - expected) < 1e-6, f"{which} it is {expected:.4f}, not {given:.4f}.")


@EXERCISES.add("functions 6.2")
def judge_less(answer) -> None:
    """The verdict on a claim that one error is less."""
    pairs = (
        ([0.1, 0.2, 0.15], [0.3, 0.25, 0.35], "holds"),
        ([0.3, 0.25, 0.35], [0.1, 0.2, 0.15], "fails"),
        ([0.1, 0.5, 0.2], [0.3, 0.25, 0.35], "tie"),
        ([0.30, 0.34, 0.32, 0.36], [0.37, 0.33], "tie"),
        ([1.0, 1.4], [1.6, 2.0, 1.9, 1.7], "holds"),
        ([0.10, 0.20, 0.30], [0.30, 0.38, 0.46], "holds"),
        ([0.10, 0.20, 0.30], [0.25, 0.33, 0.41], "tie"),
    )
    for one, other, expected in pairs:
        given = answer(list(one), list(other))
        require(given == expected, f"of {one} and {other} the verdict is {expected!r}, not {given!r}.")


@EXERCISES.add("functions 6.3")
def chance_of_a_verdict(answer) -> None:
    """How often equal networks are told apart."""
    for runs in (2, 3, 10, 40):
        expected, given = 2 * stats.t.sf(2, 2 * runs - 2), number(answer(runs))
        words = f"with {runs} runs each it is exactly {expected:.5f}, both tails, not {given:.5f}."
        require(abs(given - expected) < 1e-4, words)


@EXERCISES.add("functions 6.4")
def error_of_the_distance(answer) -> None:
    """The bootstrap error of one network's distance."""
    for network, count in ((0, 2), (0, 3), (1, 3)):
        ours, in_print = RUNS[network, :, :count], IN_PRINT[network]
        expected = standard_error(ours[None], in_print[None])
        given = number(answer(ours.copy(), in_print.copy()))
        which = f"of {ours.tolist()} and {in_print.tolist()}"
        require(abs(given - expected) < 1e-6, f"{which} it is {expected:.4f}, not {given:.4f}.")
