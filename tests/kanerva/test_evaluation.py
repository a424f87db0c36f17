"""What a record keeps of a test: every figure against a second computation, and what a test must not depend on."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from kanerva import oracles, whole
from kanerva.whole import make, pictures
from mini_lib.kanerva import evaluation as module, generation
from mini_lib.kanerva.analysis import (
    cosines,
    factors,
    modulation,
    separation,
    single_machine,
    usage,
    variance_explained,
)
from mini_lib.kanerva.evaluation import evaluate, fixed_loss, forget, run_episodes
from mini_lib.kanerva.objective import KL_TERMS
from mini_lib.kanerva.tasks import TASKS, DigitEpisodes, evaluation
from mini_lib.seeding import seeded, torch_rng

CASES = [
    *((task, "product", machines) for task in TASKS for machines in (1, 3 if task != "rgb" else 2)),
    *(("digits", "mixture", machines) for machines in (1, 3)),
    *((task, "mixture", 2) for task in ("rgb", "dsprites")),
]
TEST = {"digits": (6, 4), "rgb": (6, 4), "dsprites": (80, 8)}  # episodes and items
every_case = pytest.mark.parametrize(("task", "model", "machines"), CASES)


def network(task="digits", model="product", machines=2, seed=0, **options):
    """A small network whose machines are not used evenly."""
    with seeded(seed, "network"):
        made = whole.build(
            model,
            channels=3 if task == "rgb" else 1,
            size=14 if task == "dsprites" else 8,
            dim=5,
            machines=machines,
            total=6,
            encoder="mlp",
            decoder="mlp",
            **({"sample": "full"} if task == "dsprites" else {}) | options,
        )
        with torch.no_grad():
            for name, parameter in made.named_parameters():
                if name.startswith("assignment"):
                    parameter.add_(0.3 * torch.randn(parameter.shape))
            made.encoder.code.weight.mul_(5.0)
    return made


def test_episodes(task):
    return evaluation(task, *TEST[task], **({"size": 14} if task == "dsprites" else {}))


test_episodes.__test__ = False


def slow_nats(logits, images):
    """-ln p, mean over images, in numpy."""
    p = 1 / (1 + np.exp(-logits.double().numpy()))
    x = images.double().numpy()
    return -np.sum(x * np.log(p) + (1 - x) * np.log(1 - p)) / (x.shape[0] * x.shape[1])


@torch.no_grad()
def imagined_after(made, images):
    """Ten images, settled twelve times, after a noisy writing."""
    generator = torch_rng(0, "imagination")
    noise = made.draw_noise(*images.shape[:2], generator)
    drawn = generation.draw_noise(made, len(images), 10, generator)
    memory = made.write(made.encoder(images), noise).memory
    return generation.imagine(made, memory, drawn).images


# ------------------------------------------------------------------------------------------------ all that there is


@every_case
def test_every_figure_is_what_its_name_says(task, model, machines):
    made, episodes = network(task, model, machines), test_episodes(task)
    metrics, seen = evaluate(made, episodes), run_episodes(made, episodes)
    images = episodes.images
    expected = {
        "nll": slow_nats(seen.logits, images),
        "nll_empty": slow_nats(seen.empty, images),
        "nll_codes": slow_nats(seen.codes, images),
    }
    expected |= {f"kl_{name}": seen.parts[name].mean().item() for name in KL_TERMS if name in seen.parts}
    expected |= usage(seen.gamma)
    expected |= {f"read_{name}": value for name, value in usage(seen.gamma_read).items()}
    if task == "digits" and model == "mixture":
        expected["classes"] = variance_explained(seen.gamma_read.flatten(0, 1), episodes.labels.flatten())
    if task == "rgb":
        for i, color in enumerate(("red", "green", "blue")):
            expected[f"nll_{color}"] = slow_nats(seen.logits[:, :, i], images[:, :, i])
        expected["nll_empty_green"] = slow_nats(seen.empty[:, :, 1], images[:, :, 1])
    if task == "rgb" and machines > 1:
        for i, color in enumerate(("red", "green", "blue")):
            labels = episodes.labels[:, :, i].flatten()
            expected[f"classes_{color}"] = variance_explained(seen.gamma.flatten(0, 1), labels)
            expected[f"read_classes_{color}"] = variance_explained(seen.gamma_read.flatten(0, 1), labels)
        shares = [expected[f"classes_{color}"] for color in ("red", "green", "blue")]
        expected["classes_most"], expected["classes_next"] = max(shares), np.median(shares)
        expected["classes_shown"] = max(shares[0], shares[2])
        expected["classes_least_shown"] = min(shares[0], shares[2])
        without = run_episodes(made, episodes, forgetting=True).forgotten
        expected["nll_green_forgotten"] = min(
            slow_nats(without[:, i, :, 1], images[:, :, 1]) for i in range(machines)
        )
        expected |= single_machine(seen.machines, seen.gamma_read, images)
    if task == "dsprites":
        shown = 1 / (1 + (-seen.machines.squeeze(3)).exp())
        expected |= separation(shown, episodes.templates)
        like = cosines(shown, episodes.templates)
        expected |= {f"tuned_{each.name}": modulation(like, each) for each in factors(episodes)}
        position, mean = factors(episodes)[0], torch.zeros_like(shown) + shown.mean(dim=(0, 1))
        expected["tuned_position_fixed"] = modulation(cosines(mean, episodes.templates), position)
        if machines > 1:
            rest = sorted(set(range(machines)) - {int(seen.gamma_read.sum(dim=(0, 1)).argmax())})
            expected["tuned_position_rest"] = modulation(like[:, :, rest], position)
    if task == "dsprites" and model == "product":
        drawn = imagined_after(made, images[:, :4])
        best = [
            max(like_one(image, stored) for stored in episodes.images[b, :4])
            for b, new in enumerate(drawn)
            for image in new
        ]
        blank = [not image.any() for new in drawn for image in new]
        assert len(best) == len(images) * 10
        expected["nearest"] = np.mean(best)
        expected["retrieved"] = np.mean([value >= 0.9 for value in best])
        new = [value < 0.7 and not empty for value, empty in zip(best, blank, strict=True)]
        expected |= {"new": np.mean(new), "blank": np.mean(blank)}
    assert metrics.keys() == expected.keys()
    assert all(type(value) is float and math.isfinite(value) for value in metrics.values())
    wrong = {name for name in expected if metrics[name] != pytest.approx(expected[name], rel=1e-4, abs=1e-7)}
    assert not wrong


# ------------------------------------------------------------------------------------------------ what was seen


def traced(model, episodes, spans):
    """The trace of all episodes at once, with the noise of a test that takes them in these parts.

    The stream depends on nothing but its name; so noise is the same for all networks with equal noise shapes.
    """
    generator = torch_rng(0, "test noise")
    drawn = [model.draw_noise(len(span), episodes.images.shape[1], generator) for span in spans]
    noise = {name: torch.cat([each[name] for each in drawn]) for name in drawn[0]}
    with torch.no_grad():
        return model.trace(episodes.images, getattr(episodes, "queries", None), noise, autoencode=True)


@pytest.mark.parametrize(
    ("task", "model", "machines"),
    [("rgb", "product", 2), ("digits", "mixture", 3), ("dsprites", "product", 3)],
)
def test_taking_episodes_in_parts_changes_nothing(task, model, machines, monkeypatch):
    monkeypatch.setattr(module, "EPISODES_AT_ONCE", 3)
    made = network(task, model, machines)
    episodes = evaluation(task, 7, 4, **({"size": 14} if task == "dsprites" else {}))
    seen, trace = run_episodes(made, episodes), traced(made, episodes, [range(3), range(3), range(1)])
    with torch.no_grad():
        machines_alone = made.machine_logits(trace.reading)
    for ours, theirs in (
        (seen.logits, trace.logits),
        (seen.codes, trace.autoencoded),
        (seen.machines, machines_alone),
        (seen.gamma, trace.written.gamma),
        (seen.gamma_read, trace.reading.gamma),
        (seen.parts["memory"], trace.kl["memory"] / 4),
        (seen.parts["address_read"], trace.kl["address_read"].mean(1)),
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", ["default", "full", "mixture"])
def test_the_empty_memory_is_the_prior_alone(form):
    """Against numpy: nothing is written, h comes from Omega = 0, and machines are their prior means."""
    made, images = make(form), pictures(batch=2, items=3)[0]
    seen = run_episodes(made, DigitEpisodes(images, torch.zeros(2, 3).long()))
    noise = made.draw_noise(2, 3, torch_rng(0, "test noise"))
    p = {key: value.numpy() for key, value in made.state_dict().items()}
    gumbel = "gumbel_read" if form == "mixture" else "assignment_read"
    for b, t in itertools.product(range(2), range(3)):
        z = whole.encode(p, images[b, t].numpy())
        h, _ = whole.history(p, np.zeros(50), noise["history_read"][b].numpy())
        _, gamma, _ = whole.assign(p, z, h, noise[gumbel][b, t].numpy())
        w = [oracles.least_squares(R, z) for R in p["prior_means"]]
        if form == "full":
            w = [
                here + np.exp(p["log_chi"][i]) * noise["address_read"][b, t, i].numpy()
                for i, here in enumerate(w)
            ]
        said = sum(g * R @ here for g, R, here in zip(gamma, p["prior_means"], w, strict=True))
        np.testing.assert_allclose(seen.empty[b, t].flatten(), whole.decode(p, said), rtol=1e-5, atol=1e-7)
    assert not torch.allclose(seen.empty, seen.logits, atol=1e-3)


@pytest.mark.parametrize("task", ["rgb", "dsprites"])
def test_a_test_leaves_the_network_as_it_is(task):
    made, episodes = network(task), test_episodes(task)
    made.train()
    before = {name: value.clone() for name, value in made.state_dict().items()}
    state = torch.get_rng_state()
    first = evaluate(made, episodes)
    assert made.training
    assert all(value.equal(before[name]) for name, value in made.state_dict().items())
    assert all(each.grad is None and each.requires_grad for each in made.parameters())
    assert torch.get_rng_state().equal(state)
    assert evaluate(made.eval(), episodes) == first
    assert not made.training


# ------------------------------------------------------------------------------------------------ imagination


def like_one(a, b):
    """Cosine of two images, 0 if one is empty."""
    a, b = a.flatten().double().numpy(), b.flatten().double().numpy()
    size = np.sqrt(a @ a) * np.sqrt(b @ b)
    return a @ b / size if size else 0.0


def test_retrieved_and_new_are_counted_by_cosine(monkeypatch):
    asked = []

    def near(imagined, stored):
        asked.append(stored)
        return torch.tensor([[0.95, 0.91, 0.89, 0.71], [0.69, 0.5, 0.0, 0.8]])

    pictures = torch.ones(2, 4, 1, 14, 14)
    pictures[1, 2] = 0.0  # blank, and so not new
    monkeypatch.setattr(module, "nearest", near)
    monkeypatch.setattr(generation, "imagine", lambda *given: SimpleNamespace(images=pictures))
    episodes = test_episodes("dsprites")
    metrics = evaluate(network("dsprites"), episodes)
    assert metrics["nearest"] == pytest.approx((0.95 + 0.91 + 0.89 + 0.71 + 0.69 + 0.5 + 0.8) / 8)
    assert (metrics["retrieved"], metrics["new"], metrics["blank"]) == (2 / 8, 2 / 8, 1 / 8)
    (stored,) = asked
    assert stored.equal(episodes.images[:, :4])


def test_a_network_is_given_the_machine_of_each_item():
    made, episodes = network("rgb", assignment="given"), test_episodes("rgb")
    seen = run_episodes(made, episodes)
    low = episodes.labels[..., 0] < 5
    for gamma in (seen.gamma, seen.gamma_read):
        assert (gamma.argmax(-1) == 0).equal(low)
        assert gamma.max(-1).values.min() > 0.999
    assert evaluate(made, episodes)["classes_red"] > 0.99


# ------------------------------------------------------------------------------------------------ forgetting


@pytest.mark.parametrize("machine", [0, 1])
def test_a_forgotten_machine_is_at_its_prior_and_the_others_are_as_they_were(machine):
    made, episodes = network("rgb"), test_episodes("rgb")
    with torch.no_grad():
        memory = made.write(made.encoder(episodes.images)).memory
        left = forget(made, memory, machine)
    prior = made.prior.state(len(episodes.images))
    for now, before, empty in zip(left.state, memory.state, prior, strict=True):
        assert torch.equal(now[:, machine], empty[:, machine])
        assert not torch.equal(before[:, machine], empty[:, machine])
        assert torch.equal(now[:, 1 - machine], before[:, 1 - machine])
    assert torch.equal(left.omega, memory.omega)


def test_reading_after_forgetting_is_from_what_is_left():
    """Against writing the episodes again for each machine; what is not forgotten is read as ever."""
    made, episodes = network("rgb"), test_episodes("rgb")
    usual, less = (run_episodes(made, episodes, forgetting=each) for each in (False, True))
    assert usual.forgotten.shape[1] == 0
    assert usual.logits.equal(less.logits)
    noise = made.draw_noise(*episodes.labels.shape[:2], torch_rng(0, "test noise"))
    for machine in (0, 1):
        with torch.no_grad():
            memory = forget(made, made.write(made.encoder(episodes.images), noise).memory, machine)
            codes = made.read(memory, made.encoder(episodes.queries), noise).codes
            torch.testing.assert_close(less.forgotten[:, machine], made.decoder(codes), rtol=1e-4, atol=1e-5)
        assert not torch.allclose(less.forgotten[:, machine], usual.logits)


# ------------------------------------------------------------------------------------------------ a fixed answer


def test_a_fixed_answer_is_the_best_one_of_the_training_digits():
    """It costs test digits little more than the best of all single pictures would, which knows them."""
    digits = evaluation("digits", 20, 45, source="digits").images
    best = digits.mean(dim=(0, 1)).clamp(1e-3, 1 - 1e-3)
    least = slow_nats(torch.logit(best).expand_as(digits), digits)
    for step in (0.9, 1.1):  # it is the best: neither a fainter picture nor a bolder one does as well
        other = torch.logit(best) * step
        assert slow_nats(other.expand_as(digits), digits) > least
    assert least < fixed_loss("digits", episodes=20) < 1.1 * least
