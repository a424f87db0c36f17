"""The mixture: one-hot choices with a gradient, and the product that it is a case of; see test_product.py too."""

import pytest
import torch

from kanerva.whole import MIXTURES, SIZES, build, make, noise_of, pictures
from mini_lib.kanerva.assignment import Assignment, Choice, draw_all, straight_through
from mini_lib.kanerva.memory import MachineWeights, weights_from_eta
from mini_lib.kanerva.objective import Loss, usage_kl
from mini_lib.seeding import seeded, torch_rng

TIGHT = {"rtol": 1e-9, "atol": 1e-11}
FAR = 1e4  # eta of machines that were not chosen
every_mixture = pytest.mark.parametrize("form", MIXTURES)


def choice(**options):
    with seeded(0, "choice"):
        return Choice(5, 3, 4, **options).double()


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch_rng(seed, "numbers"), dtype=torch.float64)


def loss_of(network, **batch):
    images, queries = pictures()
    given = {"images": images, "queries": queries, "noise": noise_of(network)} | batch
    return Loss("mixture")(network, given)[0]


def test_straight_through_is_one_hot_with_the_gradient_of_soft_weights():
    logits = numbers(4, 3).requires_grad_()
    soft, pull = torch.softmax(logits, -1), numbers(4, 3, seed=1)
    hard = straight_through(soft)
    assert hard.equal(torch.nn.functional.one_hot(soft.argmax(-1), 3).double())
    ours, theirs = (
        torch.autograd.grad((each * pull).sum(), logits, retain_graph=True) for each in (hard, soft)
    )
    torch.testing.assert_close(ours, theirs)


def test_choices_have_the_probabilities_of_the_logits():
    network, count = choice(), 20_000
    h, features = numbers(1, 4), 3 * numbers(1, 3, seed=1)
    noise = draw_all({"gumbel": (count, 3)}, torch_rng(0, "noise"))["gumbel"].double()
    sigma, chosen = network.weights(features.expand(count, 3), h.expand(count, 4), noise)
    probabilities = torch.softmax(network.logits(torch.cat([features, h], -1)), -1)[0]
    torch.testing.assert_close(chosen.mean(0), probabilities, rtol=0, atol=0.015)
    assert (sigma == 1).all()


@pytest.mark.parametrize("shape", [(2,), (2, 5)], ids=["writing", "reading"])
def test_tau_is_one_number_or_one_for_each_episode(shape):
    network = choice()
    features, h, noise, pull = (numbers(*shape, n, seed=n) for n in (3, 4, 3, 3))

    def slopes(tau):
        given = features.clone().requires_grad_()
        return torch.autograd.grad((network.weights(given, h, noise, tau).gamma * pull).sum(), given)[0]

    two, one = slopes(2.0), slopes(1.0)
    each = slopes(torch.tensor([2.0, 1.0]).double())
    assert not torch.allclose(two, one)
    torch.testing.assert_close(slopes(torch.tensor(2.0).double()), two, **TIGHT)
    torch.testing.assert_close(each, torch.stack([two[0], one[1]]), **TIGHT)


@every_mixture
def test_stop_grad_leaves_the_choice_as_it_is(form):
    network = make(form, stop_grad_r=True)
    loss = loss_of(network)
    loss.backward()
    torch.testing.assert_close(loss, loss_of(make(form)), **TIGHT)
    assert all(p.grad is None or not p.grad.any() for p in network.assignment.parameters())


@every_mixture
@pytest.mark.parametrize("far", [20.0, 1e4])
def test_balance_reaches_a_machine_that_is_never_chosen(form, far):
    network = make(form)
    with torch.no_grad():
        network.assignment.logits.bias += torch.tensor([far, 0.0]).double()
    images, queries = pictures()
    trace = network.trace(images, queries, noise_of(network))
    assert (trace.written.gamma[..., 0] == 1).all()
    assert (trace.reading.gamma[..., 0] == 1).all()
    usage_kl(trace.shares).backward()
    slope = network.assignment.logits.bias.grad
    assert slope.isfinite().all()
    if far == 20.0:  # where the other machine's probability is a number above 0
        assert slope[0] > 0 > slope[1]


@every_mixture
def test_balance_is_of_probabilities_whatever_the_temperature_and_nothing_passes_with_stop_grad(form):
    network = make(form)
    images, queries = pictures()
    cold, warm = (network.trace(images, queries, noise_of(network), tau=tau).shares for tau in (0.1, 1.0))
    torch.testing.assert_close(cold[:, 0], warm[:, 0], **TIGHT)  # later items have another history
    torch.testing.assert_close(cold.sum(-1), torch.ones(2, 8).double(), **TIGHT)
    assert not make(form, stop_grad_r=True).trace(images).shares.requires_grad


class AssignmentByHand(Assignment):
    """An assignment that says what it was told to: choices of writing, then of reading."""

    def __init__(self, chosen):
        super().__init__(0, 0, 0)
        self.chosen = list(chosen)

    def features(self, codes):
        return self.chosen.pop(0)

    def weights(self, features, h, noise=None):
        eta = torch.where(features > 0, 1.0, FAR).to(features)
        return MachineWeights(eta, weights_from_eta(eta).gamma)


def test_a_one_hot_product_is_a_mixture():
    images, queries = pictures()
    mixture = make("mixture", machines=3, total=6)
    with seeded(0, "product"):
        product = build("product", machines=3, total=6, **SIZES).double().eval()
    shared = {k: v for k, v in mixture.state_dict().items() if not k.startswith("assignment")}
    product.load_state_dict(shared, strict=False)
    noise = noise_of(mixture, seed=1)
    theirs = mixture.trace(images, queries, noise)
    product.assignment = AssignmentByHand([theirs.written.gamma, theirs.reading.gamma])
    ours = product.trace(
        images, queries, noise | {n: torch.zeros(2, 4, 3) for n in ("assignment", "assignment_read")}
    )
    assert theirs.written.gamma.flatten(0, 1).any(0).all()
    near = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(ours.logits, theirs.logits, **near)
    torch.testing.assert_close(ours.memory.state.R, theirs.memory.state.R, **near)
    torch.testing.assert_close(ours.memory.state.V, theirs.memory.state.V, **near)
    torch.testing.assert_close(ours.kl["memory"], theirs.kl["memory"], **near)
