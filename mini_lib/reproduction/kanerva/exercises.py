"""The exercises of the Kanerva chapters: what a right answer has to do."""

import torch
from torch.overrides import TorchFunctionMode

from mini_lib.kanerva import analysis
from mini_lib.kanerva.analysis import cosines, usage
from mini_lib.kanerva.evaluation import NEW, RETRIEVED, nearest
from mini_lib.kanerva.memory import RIDGE
from mini_lib.kanerva.product_memory import ProductMemory
from mini_lib.reproduction.exercises import Exercises, near, numbers, require
from mini_lib.reproduction.kanerva.scaling import error_ratios
from mini_lib.seeding import torch_rng

EXERCISES = Exercises()
ROUNDED = 1e-3  # how far an inverse in single precision may be off


def some_pictures(*shape: int) -> torch.Tensor:
    """Random pictures of black and white, [*shape, 1, 6, 6]."""
    return (torch.rand(*shape, 1, 6, 6, generator=torch_rng(0, "exercise")) < 0.4).float()


def some_numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Random normal numbers."""
    return torch.randn(*shape, generator=torch_rng(seed, "exercise"))


def some_weights(*shape: int, seed: int = 0) -> torch.Tensor:
    """Random weights of machines, which sum to 1 over the last axis."""
    return torch.softmax(3 * some_numbers(*shape, seed=seed), dim=-1)


# ------------------------------------------------------------------------------------------------ one memory


def one_memory(
    R: torch.Tensor, V: torch.Tensor, codes: torch.Tensor, w: torch.Tensor, eta: float, q: float = 0.0
):
    """One memory's R and V after codes [T, D] at addresses [T, m], item by item; V grows by q before each."""
    for z, each in zip(codes, w, strict=True):
        V = V + q * torch.eye(len(V))
        u = V @ each
        gain = u / (each @ u + eta**2)
        R, V = R + torch.outer(z - R @ each, gain), V - torch.outer(u, gain)
    return R, V


@EXERCISES.add("kanerva 1.1")
def other_units(answer) -> None:
    """What a change of units does to a memory."""
    for c, dim in ((5.0, 6), (0.5, 4)):
        given = [float(each) for each in answer(c, dim)]
        require(len(given) == 4, "return four numbers.")
        codes = some_numbers(3, dim)
        plain, large = (ProductMemory(dim, columns=2, dtype=torch.float64) for _ in range(2))
        plain.write(codes.double(), 0.3)
        large.write(c * codes.double(), c * 0.3)
        for place, name in enumerate("RV"):
            ratio = (large.state[place] / plain.state[place]).mean().item()
            require(abs(given[place] - ratio) < 1e-3, f"{name} does not change by that factor.")
        errors = [
            ((memory.read(z).codes - z).square().sum() / z.square().sum()).item()
            for memory, z in ((plain, codes.double()), (large, c * codes.double()))
        ]
        require(abs(given[2] - errors[1] / errors[0]) < 1e-3, "the relative error does not change like that.")
        fall = plain.log_likelihood(codes.double(), 0.3) - large.log_likelihood(c * codes.double(), c * 0.3)
        require(abs(given[3] - fall.mean().item()) < 1e-3, "each feature's density falls by a factor of c.")


@EXERCISES.add("kanerva 1.2")
def at_once(answer) -> None:
    """The posterior of all items in one step."""
    R, codes, w = some_numbers(4, 3), some_numbers(6, 4, seed=1), some_numbers(6, 3, seed=2)
    for eta in (0.4, 1.5):
        given = answer(R.clone(), codes.clone(), w.clone(), eta)
        require(len(given) == 2, "return R and V.")
        mean, covariance = one_memory(R, torch.eye(3), codes, w, eta)
        require(
            near(given[1], covariance, atol=ROUNDED), "V is the inverse of I plus all w w' over eta squared."
        )
        require(
            near(given[0], mean, atol=ROUNDED), "R times the precision is R0 plus all z w' over eta squared."
        )


@EXERCISES.add("kanerva 1.3")
def leaking(answer) -> None:
    """A memory that forgets."""
    R, V = some_numbers(4, 3), torch.eye(3)
    codes, w = some_numbers(5, 4, seed=1), some_numbers(5, 3, seed=2)
    for q in (0.1, 1.0):
        given = answer(R.clone(), V.clone(), codes.clone(), w.clone(), q, 0.5)
        require(len(given) == 2, "return R and V.")
        expected = one_memory(R, V, codes, w, 0.5, q)
        require(
            near(given[1], expected[1], atol=ROUNDED),
            "V differs; add q times the identity before every item.",
        )
        require(
            near(given[0], expected[0], atol=ROUNDED), "R differs; use the V that has grown for the gain."
        )


@EXERCISES.add("kanerva 1.4")
def completing(answer) -> None:
    """Completion in one step."""
    R, codes = some_numbers(6, 2), some_numbers(5, 6, seed=1)
    known = torch.tensor([True, False, True, True, False, True])
    for ridge in (0.35, 2.0):
        given = numbers(answer(R.clone(), codes.clone(), known.clone(), ridge))
        require(given.shape == codes.shape, "return answers [T, D], of all features.")
        changed = torch.where(known, codes, codes + 1)
        require(
            near(answer(R.clone(), changed.clone(), known.clone(), ridge), given),
            "what is not known must not change the answer.",
        )
        seen = torch.cat([R[known], ridge**0.5 * torch.eye(2)])  # ridge as more rows, which say 0
        said = torch.cat([codes[:, known], torch.zeros(5, 2)], dim=1)
        w = torch.linalg.lstsq(seen, said.mT).solution
        require(
            near(given, (R @ w).mT, atol=ROUNDED), "solve with the known rows of R, and answer with all rows."
        )


@EXERCISES.add("kanerva 1.5")
def area(answer) -> None:
    """The area under the ROC curve."""
    one = torch.tensor([0.3, 1.0, 2.0, 2.0, 5.0])
    other = torch.tensor([0.1, 1.0, 2.0, 4.0])
    for a, b in ((one, other), (other, one), (one, one - 9)):
        given = float(answer(a.clone(), b.clone()))
        expected = sum((x > y) + (x == y) / 2 for x in a.tolist() for y in b.tolist()) / (len(a) * len(b))
        require(abs(given - expected) < 1e-5, f"{given:.3f} is not it; compare all pairs, a tie is one half.")


# ------------------------------------------------------------------------------------------------ product


@EXERCISES.add("kanerva 2.1")
def agreed(answer) -> None:
    """Mean and standard deviation of a product of Gaussians."""
    for count in (1, 3):
        means, eta = some_numbers(count), some_numbers(count, seed=1).abs() + 0.5
        given = answer(means.clone(), eta.clone())
        require(len(given) == 2, "return two numbers: the mean and the standard deviation.")
        x = torch.linspace(-15, 15, 20_001)
        density = torch.exp(-0.5 * ((x[:, None] - means) / eta).square().sum(dim=1)).double()
        density = density / density.sum()
        mean = (density * x).sum()
        spread = (density * (x - mean).square()).sum().sqrt()
        require(
            abs(float(given[0]) - mean) < 1e-3,
            "the mean weighs the means by precision, one over eta squared.",
        )
        require(abs(float(given[1]) - spread) < 1e-3, "precisions add up; the spread is one over their root.")


@EXERCISES.add("kanerva 2.2")
def two_gains(answer) -> None:
    """The gain of an item in a machine with a power."""
    w, root = some_numbers(4), some_numbers(4, 4, seed=1)
    V = root @ root.mT + 0.1 * torch.eye(4)
    for r in (0.01, 3.0):
        given = answer(V.clone(), w.clone(), r)
        require(len(given) == 2, "return two gains.")
        inverse = torch.linalg.inv(V)
        # a posterior mean, by precisions: (inv(C) + w w' / noise)^-1 w / noise
        expected = [torch.linalg.solve(P + r * torch.outer(w, w), r * w) for P in (r * inverse, inverse)]
        close = [near(a, b, atol=1e-3) for a, b in zip(given, expected, strict=True)]
        require(close[0], "the first gain has V / r in place of V, and 1 / r in place of 1.")
        require(close[1], "the second gain has V as it is, and 1 / r in place of 1.")


@EXERCISES.add("kanerva 2.3")
def at_right_angles(answer) -> None:
    """Columns made orthogonal."""
    columns = some_numbers(9, 4)
    given = numbers(answer(columns.clone()))
    require(given.shape == columns.shape, "return columns [D, m].")
    products = given.mT @ given
    lengths = columns.square().sum(dim=0)
    require(
        near(products.diagonal(), lengths, atol=1e-4),
        "the columns should be as long as those given.",
    )
    require(
        near(products, torch.diag(lengths), atol=1e-4),
        "two columns are not orthogonal to each other.",
    )
    onto = numbers(columns @ torch.linalg.pinv(columns))
    require(near(onto @ given, given, atol=1e-4), "they should span the same space as those given.")


def own_parts(R: torch.Tensor, codes: torch.Tensor, rounds: int) -> torch.Tensor:
    """What machines say of codes in turn."""
    parts = torch.zeros(len(R), *codes.shape)
    for _ in range(rounds):
        for i in range(len(R)):
            left = codes - parts.sum(dim=0) + parts[i]
            gram = R[i].mT @ R[i] + RIDGE * torch.eye(R.shape[2])
            parts[i] = torch.linalg.solve(gram, R[i].mT @ left.mT).mT @ R[i].mT
    return parts.sum(dim=0)


@EXERCISES.add("kanerva 2.4")
def in_turn(answer) -> None:
    """Machines that read in turn."""
    R, codes = some_numbers(3, 8, 2), some_numbers(5, 8, seed=1)
    for rounds in (1, 4):
        given = numbers(answer(R.clone(), codes.clone(), rounds))
        require(given.shape == codes.shape, "return answers [T, D].")
        expected = own_parts(R, codes, rounds)
        require(
            near(given, expected, atol=1e-4),
            f"after {rounds} rounds the answers differ; a machine sees what those before it have just said.",
        )


# ------------------------------------------------------------------------------------------------ binding


@EXERCISES.add("kanerva 3.1")
def three_numbers(answer) -> None:
    """How sparse weights are, how even, and whether items are asked for where they were written."""
    written, asked = some_weights(3, 7, 4), some_weights(3, 7, 4, seed=1)
    given = answer(written.clone(), asked.clone())
    require(len(given) == 3, "return three numbers.")
    expected = usage(written)
    require(near(given[0], expected["largest"]), "the first is each item's largest weight, then their mean.")
    require(
        near(given[1], expected["least_used"]), "the second is the smallest of the machines' mean weights."
    )
    same = (written.argmax(dim=2) == asked.argmax(dim=2)).float().mean()
    require(near(given[2], same), "the third is a share of items: the same machine has most both times.")


@EXERCISES.add("kanerva 3.2")
def winner(answer) -> None:
    """The code of the machine that counts most."""
    parts, gamma = some_numbers(2, 5, 3, 4), some_weights(2, 5, 3)
    given = numbers(answer(parts.clone(), gamma.clone()))
    require(given.shape == (2, 5, 4), "return codes [B, T, C].")
    top = gamma.argmax(dim=2)
    expected = torch.stack([torch.stack([parts[b, t, top[b, t]] for t in range(5)]) for b in range(2)])
    require(
        near(given, expected), "take what the machine with the largest weight says, and with a weight of 1."
    )


@EXERCISES.add("kanerva 3.3")
def eta_squared(answer) -> None:
    """The share of variance that classes explain."""
    labels = torch.tensor([0] * 30 + [1] * 5 + [4] * 3)
    values = some_numbers(38) + labels
    given = numbers(answer(values.clone(), labels.clone()))
    require(given.ndim == 0, "return one number.")
    expected = analysis.eta_squared(values[:, None], labels)
    require(
        abs(float(given) - expected) < 1e-4,
        f"{float(given):.3f} is not it; each class counts with its number of items.",
    )


@EXERCISES.add("kanerva 3.4")
def hide(answer) -> None:
    """Pictures without a channel."""
    images = some_numbers(2, 3, 3, 4, 4)
    for channel in range(3):
        given = numbers(answer(images, channel))
        require(given.shape == images.shape, "return pictures of the same shape.")
        require(torch.equal(images, some_numbers(2, 3, 3, 4, 4)), "hide in a copy, and leave what was given.")
        require(not given[:, :, channel].any(), "something of that channel is left.")
        kept = [c for c in range(3) if c != channel]
        require(near(given[:, :, kept], images[:, :, kept]), "the other channels have changed.")


@EXERCISES.add("kanerva 3.5")
def quarters(answer) -> None:
    """Losses of the first items and of the last ones."""
    losses = some_numbers(3, 12)
    given = answer(losses.clone())
    require(len(given) == 2, "return two numbers: the first quarter, the last.")
    require(near(given[0], losses[:, :3].mean()), "the first quarter of 12 items are three items.")
    require(near(given[1], losses[:, 9:].mean()), "the last quarter of 12 items are the last three.")


@EXERCISES.add("kanerva 3.6")
def kappa_again(answer) -> None:
    """What machines learn of an item that is written once more."""
    s, eta = some_numbers(3).square() + 0.2, some_numbers(3, seed=1).abs() + 0.5
    given = numbers(answer(s.clone(), eta.clone()))
    require(given.shape == (3,), "return one number for each machine.")
    expected = []
    for unknown, noise in zip(s, eta, strict=True):
        V = unknown[None, None]  # one column, at the address 1
        _, V = one_memory(torch.zeros(1, 1), V, torch.ones(1, 1), torch.ones(1, 1), noise.item())
        expected.append((V / (V + noise.square()))[0, 0])
    require(
        near(given, torch.stack(expected)),
        "by Eq. 27 the first writing takes s^2 / (s + eta squared) from s; then kappa is as before.",
    )


# ------------------------------------------------------------------------------------------------ sprites


def without_means(table: torch.Tensor) -> torch.Tensor:
    """A table without what its rows, and its columns, have in common."""
    return table - table.mean(1, keepdim=True) - table.mean(0, keepdim=True) + table.mean()


@EXERCISES.add("kanerva 4.1")
def template_matching(answer) -> None:
    """Cosines of pictures and sprites."""
    pictures, sprites = some_numbers(3, 5, 5).abs(), some_pictures(2)[:, 0, :5, :5]
    given = numbers(answer(pictures.clone(), sprites.clone()))
    require(given.shape == (3, 2), "return a table of machines by sprites, [K, S].")
    expected = cosines(pictures[None, None], sprites[None, None])[0, 0]
    require(near(given, expected), "a cosine is the product of pixels, divided by the length of both.")


def apart(found: torch.Tensor, limit: float) -> torch.Tensor:
    """For each picture, whether one machine prefers the first sprite by more than the limit, and one the second."""
    prefers = found[..., 0] - found[..., 1]
    return (prefers.amax(dim=1) > limit) & (prefers.amin(dim=1) < -limit)


@EXERCISES.add("kanerva 4.2")
def disagreement(answer) -> None:
    """The share of pictures in which two machines prefer different sprites."""
    found = some_numbers(200, 4, 2)
    for limit in (0.2, 1.0):
        expected = 100 * apart(found, limit).double().mean()
        given = numbers(answer(found.clone(), limit))
        require(given.numel() == 1, "return one number.")
        require(not near(given * 100, expected, 1e-3), "count in per cent.")
        require(
            near(given.reshape(()), expected, 1e-3),
            "one machine above the limit, and one below minus the limit.",
        )


@EXERCISES.add("kanerva 4.3")
def interaction(answer) -> None:
    """A table without the means of its rows and columns."""
    table = some_numbers(3, 5)
    given = numbers(answer(table.clone()))
    require(given.shape == table.shape, "return a table of the same shape.")
    require(near(given.sum(dim=1), torch.zeros(3)), "the rows still have levels of their own.")
    require(near(given.sum(dim=0), torch.zeros(5)), "the columns still have levels of their own.")
    require(
        near(given, without_means(table)), "subtract the means of rows and columns, and add the grand mean."
    )


@EXERCISES.add("kanerva 4.4")
def unbiased(answer) -> None:
    """The effect of bins, without that of noise."""
    bins = torch.arange(120) // 2 % 5
    values = some_numbers(120, 3) + torch.stack([bins, -bins, 0 * bins], dim=1)
    given = numbers(answer(values.clone(), bins.clone(), 5))
    require(given.ndim == 0, "return one number.")
    tables = [
        without_means(torch.stack([values[half::2][bins[half::2] == j].mean(dim=0) for j in range(5)], dim=1))
        for half in (0, 1)
    ]
    expected = (tables[0] * tables[1]).mean()
    require(near(given, expected), "multiply the interactions of the rows 0, 2, 4, ... and 1, 3, 5, ... .")


@EXERCISES.add("kanerva 4.5")
def blurred(answer) -> None:
    """Means of 5 x 5 pixels."""
    pictures = some_numbers(2, 1, 2, 8, 8)
    given = numbers(answer(pictures.clone()))
    require(given.shape == pictures.shape, "return pictures of the same shape.")
    framed = torch.nn.functional.pad(pictures, (2, 2, 2, 2))
    expected = sum(framed[..., i : i + 8, j : j + 8] for i in range(5) for j in range(5)) / 25
    middle = (..., slice(2, -2), slice(2, -2))
    require(
        near(given[middle], expected[middle]), "a pixel should be the mean of the 5 x 5 pixels around it."
    )
    require(near(given, expected), "outside of the picture there are zeros, and 25 pixels count.")


# ------------------------------------------------------------------------------------------------ mixture


@EXERCISES.add("kanerva 5.1")
def draw(answer) -> None:
    """Draws by a maximum."""
    logits = some_numbers(200, 3)
    uniform = torch.rand(200, 3, generator=torch_rng(1, "exercise")).clamp(min=1e-6)
    given = numbers(answer(logits.clone(), uniform.clone()))
    require(given.shape == (200,), "return one number for each draw, that of the machine.")
    expected = (logits - torch.log(-torch.log(uniform))).argmax(dim=1)
    require(near(given, expected), "add a Gumbel number to each logit, and take the largest.")


@EXERCISES.add("kanerva 5.2")
def warm_limit(answer) -> None:
    """The gradient at a high temperature, times that temperature."""
    for cost in (torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0.0, 3.0, 1.0, 0.0])):
        given = numbers(answer(cost.clone()))
        require(given.shape == cost.shape, "return one number for each machine.")
        logits = some_numbers(len(cost)).double().requires_grad_()
        tau = 1e6
        (slopes,) = torch.autograd.grad((torch.softmax(logits / tau, 0) * cost).sum(), logits)
        require(
            near(given, tau * slopes),
            f"with a temperature of {tau:,.0f} the gradient times {tau:,.0f} differs.",
        )


@EXERCISES.add("kanerva 5.3")
def moved_by(answer) -> None:
    """How far plain descent and Adam move a logit."""
    for slopes in (some_numbers(7).double() - 0.5, torch.full((5,), -1e-8, dtype=torch.float64)):
        given = [float(each) for each in answer(slopes.clone(), 0.01)]
        require(len(given) == 2, "return two numbers.")
        rules = ((torch.optim.SGD, "plain descent"), (torch.optim.Adam, "Adam"))
        for (rule, name), far in zip(rules, given, strict=True):
            logit = torch.zeros((), dtype=torch.float64, requires_grad=True)
            steps = rule([logit], lr=0.01)
            for each in slopes:
                logit.grad = each.clone()
                steps.step()
            right = logit.item()
            require(abs(far - right) <= 1e-4 * abs(right), f"{name} moves the logit by another amount.")


@EXERCISES.add("kanerva 5.4")
def agreement(answer) -> None:
    """How often two choices agree, and how often they would by chance."""
    hot = torch.nn.functional.one_hot
    written, asked = (hot(some_weights(4, 9, 3, seed=i).argmax(2) * (1 + i) % 3, 3).float() for i in (0, 1))
    given = answer(written.clone(), asked.clone())
    require(len(given) == 2, "return two shares.")
    same = (written.argmax(2) == asked.argmax(2)).float().mean()
    require(near(given[0], same), "the first is the share of items whose two choices are the same.")
    uses = [[(each.argmax(2) == i).float().mean() for i in range(3)] for each in (written, asked)]
    chance = sum(a * b for a, b in zip(*uses, strict=True))
    require(near(given[1], chance), "by chance both are machine i with the product of its two shares.")


@EXERCISES.add("kanerva 5.5")
def use_by_class(answer) -> None:
    """The share of each machine among the items of a class."""
    labels = torch.tensor([0, 0, 0, 3, 3, 9, 9, 9, 9])
    choices = torch.nn.functional.one_hot(torch.tensor([0, 1, 1, 2, 2, 0, 0, 1, 2]), 3).float()
    given = numbers(answer(choices.clone(), labels.clone()))
    require(given.shape == (10, 3), "return a table of classes by machines, [10, K].")
    require(not given.isnan().any(), "a class that does not occur should have zeros.")
    expected = torch.zeros(10, 3)
    for c in (0, 3, 9):
        expected[c] = choices[labels == c].mean(dim=0)
    require(near(given, expected), "each row holds shares of the items of that class.")


# ------------------------------------------------------------------------------------------------ generation


@EXERCISES.add("kanerva 6.1")
def count(answer) -> None:
    """Retrieved, new and blank."""
    kept = some_pictures(3, 4)
    close, similar = kept.clone(), kept.clone()
    close[..., 0, 0] = 1 - close[..., 0, 0]  # one pixel, then a row of six
    similar[..., 0, :] = 1 - similar[..., 0, :]
    pictures = torch.cat(
        [kept[:, :2], close, similar, some_pictures(3, 9)[:, 4:], torch.zeros(3, 2, 1, 6, 6)], dim=1
    )
    given = answer(pictures.clone(), kept.clone())
    require(len(given) == 3, "return three shares: retrieved, new, blank.")
    blank = pictures.sum(dim=(2, 3, 4)) == 0
    require(near(given[2], blank.float().mean()), "the share of blank images is not that.")
    best = nearest(pictures, kept)
    require(near(given[0], (best >= RETRIEVED).float().mean()), "the share of retrieved images is not that.")
    new = ((best < NEW) & ~blank).float().mean()
    require(near(given[1], new), "the share of new images is not that; blank ones are not new.")


def own_less_another(pictures: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """Cosines with the nearest image of the own memory, less those with that of the next."""
    return nearest(pictures, kept) - nearest(pictures, kept.roll(1, dims=0))


@EXERCISES.add("kanerva 6.2")
def surplus(answer) -> None:
    """How much nearer images are to their own memory's."""
    kept = some_pictures(5, 4)
    pictures = (kept != some_pictures(5, 4).roll(1, dims=1)).float()
    given = numbers(answer(pictures.clone(), kept.clone()))
    require(given.ndim == 0, "return one number, the mean over all images.")
    expected = own_less_another(pictures, kept).mean()
    other = (nearest(pictures, kept) - nearest(pictures, kept.roll(-1, dims=0))).mean()
    require(
        near(given, expected) or near(given, other), f"{given:.3f} is not the difference of the two means."
    )


@EXERCISES.add("kanerva 6.3")
def ends_of(answer) -> None:
    """Images that have stopped, and those that go round in a circle of two."""
    a, b, c = some_pictures(3)
    paths = [[a, b, b, b], [a, b, a, b], [a, b, c, a], [c, a, b, b], [b, c, b, c], [c, a, c, a]]
    path = torch.stack([torch.stack(each) for each in paths])[None]
    for first, stopped, circles in ((0, 2, 3), (1, 1, 3)):
        number = 6 - first
        given = answer(path[:, first:].clone())
        require(len(given) == 2, "return two shares: stopped, and circles of two.")
        require(near(given[0], stopped / number), f"{stopped} of {number} paths have stopped in this test.")
        require(
            near(given[1], circles / number),
            f"{circles} of {number} go round in a circle of two; those that stopped do not count.",
        )


@EXERCISES.add("kanerva 6.4")
def wiped(answer) -> None:
    """The lower half is gone."""
    pictures = some_pictures(2, 3)
    given = numbers(answer(pictures))
    require(given.shape == pictures.shape, "return images of the same shape.")
    require(torch.equal(pictures, some_pictures(2, 3)), "wipe a copy, and leave what was given as it is.")
    require(near(given[..., :3, :], pictures[..., :3, :]), "the upper half has changed.")
    require(not given[..., 3:, :].any(), "something is left in the lower half.")


# ---------------------------------------------------------------------------------------- time and Bayes' rule


@EXERCISES.add("kanerva 7.1")
def best_in_turn(answer) -> None:
    """The best number of machines for one processor."""
    for a, b, m in ((0.04, 3e-8, 400), (0.1, 2e-8, 600)):
        k = float(answer(a, b, m))
        require(k > 0, "return a positive number.")

        def time(k: float, a: float = a, b: float = b, m: float = m) -> float:
            return a * k + b * m**3 / k**2

        least = min(time(k * 0.99), time(k * 1.01))
        require(time(k) < least, f"{k:.3g} is not it for m = {m}: the time falls on one side of it.")


class Largest(TorchFunctionMode):
    """Notes the shortest side of the largest square that any function of PyTorch returns."""

    side = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for each in made if isinstance(made, tuple) else (made,):
            if isinstance(each, torch.Tensor) and each.dim() > 1:
                self.side = max(self.side, min(each.shape[-2:]))
        return made


@EXERCISES.add("kanerva 7.2")
def smaller_system(answer) -> None:
    """Addresses by a system as large as the features are many."""
    for columns in (3, 40):
        R, codes = some_numbers(6, columns), some_numbers(5, 6, seed=1)
        with Largest() as largest:
            given = numbers(answer(R.clone(), codes.clone(), RIDGE))
        require(largest.side <= 6, "a matrix of m x m was made on the way; the smaller one is D x D.")
        require(given.shape == (5, columns), "return a weight for each code and column, [T, m].")
        gram = R.mT @ R + RIDGE * torch.eye(columns)
        require(
            near(given, torch.linalg.solve(gram, R.mT @ codes.mT).mT, atol=1e-4),
            f"with {columns} columns they are not the addresses of the m x m system.",
        )


@EXERCISES.add("kanerva 7.3")
def forced_errors(answer) -> None:
    """Ratios of standard errors that no time can change."""
    for machines, m in (([1, 2, 4, 5, 10, 20], 400), ([1, 2, 3, 6], 60)):
        given = [float(each) for each in answer(list(machines), m)]
        require(len(given) == 2, "return two ratios: constant / slope, and cubic / slope.")
        for found, forced, name in zip(
            given, error_ratios(machines, m), ("constant / slope", "cubic / slope"), strict=True
        ):
            require(abs(found / forced - 1) < 1e-3, f"{name} should be {forced:.3g} for k in {machines}.")


@EXERCISES.add("kanerva 7.4")
def two_posteriors(answer) -> None:
    """Posterior means of a product and of a weighted sum, of machines with one number each."""
    R, w, z = some_numbers(3), some_numbers(3, seed=1), 0.7
    V, sigma = some_numbers(3, seed=2).abs() + 0.5, some_numbers(3, seed=3).abs() + 0.5
    given = answer(R.clone(), V.clone(), w.clone(), sigma.clone(), z)
    require(len(given) == 2, "return two posteriors: of the product, and of the weighted sum.")
    noise = sigma.pow(-2)
    product = (R / V + w * z * noise) / (1 / V + w**2 * noise)  # by precisions
    a = noise / noise.sum() * w
    joint = torch.diag(1 / V) + noise.sum() * torch.outer(a, a)
    require(near(given[0], product, atol=1e-4), "in a product each machine learns from z alone.")
    require(
        near(given[1], torch.linalg.solve(joint, R / V + a * noise.sum() * z), atol=1e-4),
        "in a weighted sum z is one look at all machines, with the noise 1 / sum of sigma^-2.",
    )
