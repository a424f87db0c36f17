"""Both networks and their loss against a slow numpy pass; noise, gradients, stacks and precision."""

import numpy as np
import pytest
import torch
from other_device import OTHER, OtherDevice
from slopes import slopes

from kanerva import whole
from kanerva.cases import randn, same
from kanerva.whole import EVEN, FORMS, build, make, noise_of, pictures
from mini_lib.errors import UsageError
from mini_lib.kanerva import memory as functions
from mini_lib.kanerva.assignment import GIVEN, Choice, draw_all
from mini_lib.kanerva.objective import KL_TERMS, WEIGHTS, Loss, usage_kl
from mini_lib.seeding import seeded, torch_rng
from mini_lib.training import TrainingRun, TrainingStack

TIGHT = {"rtol": 1e-9, "atol": 1e-11}
every_form = pytest.mark.parametrize("form", FORMS)
even_weights_too = pytest.mark.parametrize("form", [*FORMS, *EVEN])
MIXTURES = ["mixture", "full mixture"]


def batch_of(network, seed=0, **more):
    images, queries = pictures(seed=seed)
    return {"images": images, "queries": queries, "noise": noise_of(network, seed=seed)} | more


def slow(network, form, batch):
    """The numpy pass over each episode of a batch."""
    for b in range(len(batch["images"])):
        own = {name: each[b].numpy() for name, each in batch["noise"].items()}
        images, queries = (batch[name][b].numpy() for name in ("images", "queries"))
        yield whole.forward(network, form, images, queries, own)


def test_starts_from_the_sizes_and_values_of_the_paper():
    with seeded(0, "network"):
        network = build("product", 1, 28, 50, 4, 40, "mlp", "mlp")
    parameters = *network.assignment.parameters(), *network.history.parameters()
    assignment = [(40, 50), (20, 40), (4, 20), (4, 14), (4, 14), (4, 10), (4, 10)]
    history = [(50, 54), (10, 50), (10, 10), (10, 50), (10, 10)]
    assert [tuple(p.shape) for p in parameters if p.dim() == 2] == assignment + history
    assert network.prior_means.shape == (4, 50, 10)
    assert network.prior_means.abs().max() <= 2
    assert 0.8 < network.prior_means.std() < 0.95  # a standard normal cut off at 2 has 0.88
    assert not torch.allclose(network.prior_means[0], network.prior_means[1])
    torch.testing.assert_close(network.chi, torch.full((4,), 0.3))
    state = network.empty(2).state
    assert state.V.equal(torch.eye(10).expand(2, 4, 10, 10))
    assert state.R.equal(network.prior_means.expand(2, 4, 50, 10))


def close(ours, theirs):
    torch.testing.assert_close(ours, torch.as_tensor(np.array(theirs)).reshape(ours.shape), **TIGHT)


@even_weights_too
def test_equals_the_numpy_forward_pass(form):
    network = make(form)
    batch = batch_of(network)
    with torch.no_grad():
        trace = network.trace(**batch)
        alone = network.machine_logits(trace.reading)
    ours = {
        "codes": trace.codes, "queries": trace.queries, "logits": trace.logits, "omega": trace.memory.omega,
        "eta": trace.written.eta, "gamma": trace.written.gamma, "w": trace.written.w,
        "R": trace.memory.state.R, "V": trace.memory.state.V,
        "eta_read": trace.reading.eta, "gamma_read": trace.reading.gamma, "w_read": trace.reading.w,
        "parts": trace.reading.parts, "shares": trace.shares, "machines": alone,
    }  # fmt: skip
    for b, expected in enumerate(slow(network, form, batch)):
        for name, value in ours.items():
            close(value[b], expected[name])
        assert trace.kl.keys() == expected["kl"].keys()
        for name, value in trace.kl.items():
            close(value[b], expected["kl"][name])


@every_form
def test_writing_in_two_parts_is_writing_at_once(form, monkeypatch):
    """Also in the least noise, which is that of the learned prior whatever has been written."""
    told, usual = [], functions.noise_variance
    monkeypatch.setattr(functions, "noise_variance", lambda *given: (told.append(given[2]), usual(*given))[1])
    network, noise = make(form), noise_of(make(form), items=5)
    codes = randn(2, 5, 3)
    first, second = ({k: each[:, part] for k, each in noise.items()} for part in (slice(2), slice(2, 5)))
    memory = network.write(codes[:, :2], first).memory
    after, at_once = network.write(codes[:, 2:], second, memory), network.write(codes, noise)
    assert after.memory.items == at_once.memory.items == 5
    torch.testing.assert_close(after.memory.state, at_once.memory.state, **TIGHT)
    torch.testing.assert_close(after.memory.omega, at_once.memory.omega, **TIGHT)
    torch.testing.assert_close(after.kl["memory"], at_once.kl["memory"], **TIGHT)
    assert len(told) == 10
    assert all(psi.equal(network.log_psi.exp()) for psi in told)


COUNTED = {  # what each experiment adds to the reconstruction
    "mean addresses": {"memory", "address_read", "assignment", "assignment_read", "history", "history_read"},
    "full": {"memory", "address", "address_read", "assignment", "assignment_read", "history", "history_read"},
    "mixture": {"address_read"},
}
FORM = {"mean addresses": "default", "full": "full", "mixture": "mixture"}
CHANGED = {name: 0.3 + 0.1 * place for place, name in enumerate(KL_TERMS)}


@pytest.mark.parametrize("experiment", WEIGHTS)
@pytest.mark.parametrize("ours", [{}, {"ae_weight": 0.5}, {"balance": 3.0}, {"changed": CHANGED}])
@pytest.mark.parametrize(("kl_weight", "balance"), [(None, None), ((0.25, 0.5), (0.2, 0.6))])
def test_loss_equals_numpy(experiment, ours, kl_weight, balance):
    """Factors are of single episodes; those of the balance count by their mean. The score is the reconstruction."""
    network, form = make(FORM[experiment]), FORM[experiment]
    factors = {"kl_weight": kl_weight, "balance": balance}
    batch = batch_of(network) | {name: torch.tensor(each).double() for name, each in factors.items() if each}
    episodes, x = list(slow(network, form, batch)), batch["images"].numpy()

    def nats_of(logits):
        on = 1 / (1 + np.exp(-np.reshape(logits, x.shape)))
        return -np.sum(np.log(np.where(x == 1, on, 1 - on))) / (x.shape[0] * x.shape[1])

    changed = {name: weight for name, weight in ours.get("changed", {}).items() if name in episodes[0]["kl"]}
    weights = dict.fromkeys(COUNTED[experiment], 1.0) | changed
    costs = [sum(w * np.sum(each["kl"][n]) for n, w in weights.items()) / x.shape[1] for each in episodes]
    score = nats_of([each["logits"] for each in episodes])
    share = np.mean([each["shares"] for each in episodes], axis=(0, 1))
    expected = score + np.mean(np.array(kl_weight or 1.0) * costs)
    expected += ours.get("balance", 0.0) * np.mean(balance or 1.0) * np.sum(share * np.log(2 * share))
    p = {key: value.numpy() for key, value in network.state_dict().items()}
    own = nats_of([[whole.decode(p, z) for z in each["codes"]] for each in episodes])
    expected += ours.get("ae_weight", 0.0) * own
    found = Loss(experiment, **ours | {"changed": tuple(changed.items())})(network, batch)
    np.testing.assert_allclose([each.item() for each in found], (expected, score), rtol=1e-8)


def test_bytes_are_made_numbers_and_green_is_hidden_on_the_device():
    network = make("default", channels=3)
    images, _ = pictures(channels=3)
    queries = images.clone()
    queries[:, :, 1] = 0
    noise = noise_of(network)
    wanted = Loss()(network, {"images": images, "queries": queries, "noise": noise})
    noise = {name: each.float() for name, each in noise.items()}
    found = Loss(hide_green=True)(network.float(), {"images": images.byte(), "noise": noise})
    torch.testing.assert_close([each.double() for each in found], list(wanted), rtol=1e-4, atol=1e-4)


def test_noise_has_its_distributions_and_depends_on_the_generator_alone():
    shapes = {"history": (20_000, 2), "gumbel": (20_000, 2), "gumbel_read": (5,)}
    noise = draw_all(shapes | {GIVEN: (2, 5)}, torch_rng(0, "noise"))
    assert {name: tuple(each.shape) for name, each in noise.items()} == shapes
    again = draw_all(shapes, torch_rng(0, "noise"))
    assert all(noise[name].equal(again[name]) for name in shapes)
    for name, mean, variance in (("history", 0.0, 1.0), ("gumbel", np.euler_gamma, np.pi**2 / 6)):
        assert abs(noise[name].mean().item() - mean) < 0.03
        assert abs(noise[name].var().item() - variance) < 0.08
        assert noise[name].isfinite().all()


@every_form
def test_noise_is_drawn_in_training_and_every_variable_is_at_its_mean_in_evaluation(form):
    network, (images, _) = make(form), pictures()
    codes = network.encoder(images).detach()
    memory = network.write(codes).memory

    def weights(found):
        return torch.cat([found.eta, found.shares], dim=-1)

    uses = {
        "trace": lambda: network(images),
        "write": lambda: weights(network.write(codes)),
        "read": lambda: weights(network.read(memory, codes)),
    }
    without = {name: use() for name, use in uses.items()}
    zeros = {name: torch.zeros(shape).double() for name, shape in network.noise_shapes(2, 4).items()}
    torch.testing.assert_close(without["trace"], network(images, noise=zeros), **TIGHT)
    network.train()
    for name, use in uses.items():
        torch.manual_seed(0)
        first, second = use(), use()
        torch.manual_seed(0)
        assert first.equal(use())
        assert not first.equal(second)
        assert not first.equal(without[name])
    with OtherDevice():
        assert network.to(OTHER)(images.to(OTHER)).device == OTHER


def test_given_machines_have_their_items_and_have_to_be_given():
    """An even split, silently, is not what such a network learned."""
    network, (images, queries) = make(assignment="given").train(), pictures()
    drawn = network.draw_noise(2, 4)
    for noise in (None, drawn):
        with pytest.raises(UsageError, match="'given'"):
            network(images, queries, noise)
    shares = torch.nn.functional.one_hot(torch.arange(8).reshape(2, 4) % 2, 2).double()
    written = network.trace(images, queries, drawn | {"given": shares, "given_read": shares}).written
    quiet = torch.nn.functional.softplus(network.assignment.u.detach()) + 1e-3
    torch.testing.assert_close(written.eta, quiet * (40.0 - 39.0 * shares), **TIGHT)
    torch.testing.assert_close(written.gamma, (1600 * shares + 1 - shares) / 1601, **TIGHT)


@pytest.mark.parametrize("shape", [(2,), (2, 5)], ids=["writing", "reading"])
@pytest.mark.parametrize("tau", [0.5, torch.tensor(2.0).double(), torch.tensor([2.0, 0.5]).double()])
def test_gradients_of_a_choice_are_those_at_its_temperature(shape, tau):
    with seeded(0, "choice"):
        network = Choice(5, 3, 4).double()
    features, h, noise, pull = (randn(*shape, n, seed=n) for n in (3, 4, 3, 3))
    features.requires_grad_()
    logits = network.logits(torch.cat([features, h], dim=-1)) + noise
    each = tau.reshape(-1, *[1] * len(shape)) if isinstance(tau, torch.Tensor) and tau.dim() else tau
    (expected,) = torch.autograd.grad((torch.softmax(logits / each, -1) * pull).sum(), features)
    (found,) = torch.autograd.grad((network.weights(features, h, noise, tau).gamma * pull).sum(), features)
    torch.testing.assert_close(found, expected, **TIGHT)


def test_tau_comes_with_the_batch():
    found = []
    for tau in ({}, {"tau": torch.tensor(1.0).double()}, {"tau": torch.tensor([1.0, 3.0]).double()}):
        network = make("mixture")
        Loss("mixture")(network, batch_of(network, **tau))[0].backward()
        found.append(network.assignment.logits.weight.grad)
    torch.testing.assert_close(found[0], found[1], **TIGHT)
    assert not torch.allclose(found[0], found[2])


@pytest.mark.parametrize("form", MIXTURES)
@pytest.mark.parametrize("far", [20.0, 1e4])
def test_balance_reaches_a_machine_that_is_never_chosen_whatever_the_temperature(form, far):
    network = make(form)
    with torch.no_grad():
        network.assignment.logits.bias += torch.tensor([far, 0.0]).double()
    batch = batch_of(network)
    cold, warm = (network.trace(**batch, tau=tau) for tau in (0.1, 1.0))
    assert same(cold.shares[:, 0], warm.shares[:, 0])  # later items have another history
    for found in (warm.written, warm.reading):
        assert (found.gamma[..., 0] == 1).all()
    usage_kl(warm.shares).backward()
    slope = network.assignment.logits.bias.grad
    assert slope.isfinite().all()
    if far == 20.0:  # where the other machine's probability is a number above 0
        assert slope[0] > 0 > slope[1]


def loss_for(form, **options):
    name, own = (FORMS | EVEN)[form]
    full = "full" if own.get("sample") == "full" else "mean addresses"
    return Loss("mixture" if name == "mixture" else full, **options)


def gradients(network, form, **options):
    loss_for(form, **options)(network, batch_of(network))[0].backward()
    return {name: p.grad for name, p in network.named_parameters()}


@even_weights_too
def test_gradient_reaches_every_parameter(form):
    without = {name for name, each in gradients(make(form), form).items() if each is None or not each.any()}
    assert without == set()


@every_form
def test_stop_grad_r_leaves_the_assignment_as_it_is(form):
    network = make(form, stop_grad_r=True)
    found = gradients(network, form, balance=1.0)
    touched = {name for name, each in found.items() if each is not None and each.any()}
    assert not any(name.startswith("assignment") for name in touched)
    assert {"prior_means", "encoder.code.weight", "decoder.pixels.weight"} <= touched
    plain, stopped = (each.trace(**batch_of(network)) for each in (make(form), network))
    torch.testing.assert_close(plain.logits, stopped.logits, **TIGHT)
    assert not any(each.any() for name, each in stopped.kl.items() if name.startswith("assignment"))


@pytest.mark.parametrize("form", ["default", "full", "unit prior"])
def test_the_gradient_is_the_slope(form):
    network = make(form)
    loss, batch = loss_for(form, ae_weight=0.5, balance=2.0), batch_of(network)
    _, along, expected = slopes(lambda: loss(network, batch)[0], network.parameters())
    torch.testing.assert_close(along, expected, rtol=1e-6, atol=1e-6)


def stack_of(form, *seeds):
    """A step of these networks by the harness, each with data, noise and factors of its own."""
    runs, sizes = [], {"examples": 2, "batch_size": 2, "epochs": 1, "lr": 0.1}
    for seed in seeds:
        network = make(form, seed)
        kl_weight, balance = torch.full((2,), 0.2 * (seed + 1)), torch.tensor([0.5, 0.2]) * seed
        batch = batch_of(network, seed, kl_weight=kl_weight, balance=balance)
        data = {"epoch": lambda _, own=batch: {k: v for k, v in own.items() if k != "noise"}}
        data["noise"] = lambda *_, own=batch: own["noise"]
        data["loss"] = loss_for(form, ae_weight=0.3, balance=2.0)
        named = {"key": f"{seed}", "name": form, "stack": ()}
        runs.append(TrainingRun(model=network, evaluate=dict, **named, **data, **sizes))
    stack = TrainingStack(runs, torch.device("cpu"), stacked=len(runs) > 1)
    return torch.stack(stack.step(stack.batch(0))), stack.params


@even_weights_too
def test_stacked_networks_equal_each_alone(form):
    found, together = stack_of(form, 0, 1)
    for place in (0, 1):
        expected, alone = stack_of(form, place)
        torch.testing.assert_close(found[:, place], expected[:, 0], **TIGHT)
        for name, parameter in alone.items():
            torch.testing.assert_close(together[name].grad[place], parameter.grad, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("form", ["full", "mixture", "even"])
def test_learning_in_half_precision_and_under_autocast_is_near_single_precision(form):
    """What comes out is in the network's type; the memory inside is in float32."""
    dtype = torch.float16
    batch, loss_of = batch_of(make(form)), loss_for(form, ae_weight=0.5, balance=1.0)
    batch["noise"] = {name: each.float() for name, each in batch["noise"].items()}
    single, half = make(form).float(), make(form).to(dtype)
    batch |= {name: batch[name].float() for name in ("images", "queries")}
    plain, _ = loss_of(single, batch)
    with torch.autocast("cpu", dtype):
        cast, _ = loss_of(single, batch)
        inside = single.trace(batch["images"]).memory.state.R.dtype
    batch |= {name: batch[name].to(dtype) for name in ("images", "queries")}
    own, trace = loss_of(half, batch)[0], half.trace(batch["images"])
    assert trace.logits.dtype == trace.codes.dtype == trace.reading.codes.dtype == dtype
    assert trace.memory.state.R.dtype == inside == torch.float32
    for loss, network in ((own, half), (cast, single)):
        torch.testing.assert_close(loss.float(), plain, rtol=0.0015, atol=0)
        loss.backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in network.parameters())
        assert network.prior_means.grad.any()
