"""What a record keeps of a test, and images out of memory, against second computations."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from kanerva import oracles, whole
from kanerva.whole import build, make, noise_of, pictures
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
from mini_lib.kanerva.generation import imagine
from mini_lib.kanerva.objective import KL_TERMS
from mini_lib.kanerva.tasks import evaluation, sample
from mini_lib.seeding import seeded, torch_rng

COLORS = ("red", "green", "blue")


def network(task="digits", model="product", machines=2, **options):
    """A small network whose machines are not used evenly."""
    sizes = {"channels": 3 if task == "rgb" else 1, "size": 14 if task == "dsprites" else 8, "dim": 5}
    if task == "dsprites":
        options |= {"sample": "full"}
    with seeded(0, "network"):
        made = build(model, **sizes, machines=machines, total=6, encoder="mlp", decoder="mlp", **options)
        with torch.no_grad():
            for name, parameter in made.named_parameters():
                if name.startswith("assignment"):
                    parameter.add_(0.3 * torch.randn(parameter.shape))
            made.encoder.code.weight.mul_(5.0)
            if task == "dsprites":
                made.decoder.pixels.weight.mul_(20.0)  # for machines whose images differ
    return made


def episodes_of(task):
    sizes = {"digits": (6, 4), "rgb": (23, 4), "dsprites": (40, 8)}[task]
    return evaluation(task, *sizes, **({"size": 14} if task == "dsprites" else {}))


def slow_nats(logits, images):
    """-ln p, mean over images, in numpy."""
    p, x = 1 / (1 + np.exp(-logits.double().numpy())), images.double().numpy()
    return -np.sum(x * np.log(p) + (1 - x) * np.log(1 - p)) / (x.shape[0] * x.shape[1])


def of_colors(made, episodes, seen):
    images = episodes.images
    expected = {f"nll_{c}": slow_nats(seen.logits[:, :, i], images[:, :, i]) for i, c in enumerate(COLORS)}
    expected["nll_empty_green"] = slow_nats(seen.empty[:, :, 1], images[:, :, 1])
    if made.machines == 1:
        return expected
    for i, color in enumerate(COLORS):
        labels = episodes.labels[:, :, i].flatten()
        expected[f"classes_{color}"] = variance_explained(seen.gamma.flatten(0, 1), labels)
        expected[f"read_classes_{color}"] = variance_explained(seen.gamma_read.flatten(0, 1), labels)
    red, green, blue = (expected[f"classes_{color}"] for color in COLORS)
    expected["classes_most"], expected["classes_next"] = max(red, green, blue), np.median([red, green, blue])
    expected["classes_shown"], expected["classes_least_shown"] = max(red, blue), min(red, blue)
    expected["nll_green_forgotten"] = min(
        slow_nats(each[:, :, 1], images[:, :, 1]) for each in seen.forgotten.unbind(1)
    )
    return expected | single_machine(seen.machines, seen.gamma_read, images)


def like_one(a, b):
    """Cosine of two images, 0 if one is empty."""
    a, b = a.flatten().double().numpy(), b.flatten().double().numpy()
    size = np.sqrt(a @ a) * np.sqrt(b @ b)
    return a @ b / size if size else 0.0


def of_sprites(made, episodes, seen):
    shown = 1 / (1 + (-seen.machines.squeeze(3)).exp())
    expected = separation(shown, episodes.templates)
    like, position = cosines(shown, episodes.templates), factors(episodes)[0]
    expected |= {f"tuned_{each.name}": modulation(like, each) for each in factors(episodes)}
    unchanging = torch.zeros_like(shown) + shown.mean(dim=(0, 1))
    expected["tuned_position_fixed"] = modulation(cosines(unchanging, episodes.templates), position)
    if made.machines > 1:
        most = seen.gamma_read.sum(dim=(0, 1)).argmax().item()
        rest = [i for i in range(made.machines) if i != most]
        expected["tuned_position_rest"] = modulation(like[:, :, rest], position)
    return expected


def of_imagination(made, images):
    """Of ten images, settled twelve times, after a noisy writing of four."""
    generator, stored = torch_rng(0, "imagination"), images[:, :4]
    noise = made.draw_noise(*stored.shape[:2], generator)
    drawn = generation.draw_noise(made, len(stored), 10, generator)
    with torch.no_grad():
        found = imagine(made, made.write(made.encoder(stored), noise).memory, drawn).images
    best = [max(like_one(image, each) for each in stored[b]) for b, new in enumerate(found) for image in new]
    blank = [not image.any() for image in found.flatten(0, 1)]
    new = [value < 0.7 and not empty for value, empty in zip(best, blank, strict=True)]
    retrieved = np.mean([value >= 0.9 for value in best])
    return {"nearest": np.mean(best), "retrieved": retrieved, "new": np.mean(new), "blank": np.mean(blank)}


@pytest.mark.parametrize(
    ("task", "model", "machines"),
    [(task, "product", k) for task, k in (("digits", 1), ("digits", 3), ("rgb", 1), ("rgb", 2))]
    + [("dsprites", "product", 3), ("digits", "mixture", 3), ("dsprites", "mixture", 1)],
)
def test_every_metric_is_what_its_name_says(task, model, machines):
    """And a test changes nothing: neither the network nor a random stream."""
    made, episodes = network(task, model, machines), episodes_of(task)
    before, state = {name: value.clone() for name, value in made.state_dict().items()}, torch.get_rng_state()
    metrics = evaluate(made.train(), episodes)
    assert made.training
    assert all(value.equal(before[name]) for name, value in made.state_dict().items())
    assert torch.get_rng_state().equal(state)
    seen, images = run_episodes(made.eval(), episodes, forgetting=True), episodes.images
    expected = {"nll": slow_nats(seen.logits, images), "nll_empty": slow_nats(seen.empty, images)}
    expected["nll_codes"] = slow_nats(seen.codes, images)
    expected |= {f"kl_{name}": seen.parts[name].mean().item() for name in KL_TERMS if name in seen.parts}
    expected |= usage(seen.gamma)
    expected |= {f"read_{name}": value for name, value in usage(seen.gamma_read).items()}
    if task == "digits" and model == "mixture":
        expected["classes"] = variance_explained(seen.gamma_read.flatten(0, 1), episodes.labels.flatten())
    if task == "rgb":
        expected |= of_colors(made, episodes, seen)
    if task == "dsprites":
        expected |= of_sprites(made, episodes, seen)
        expected |= of_imagination(made, images) if model == "product" else {}
    assert metrics.keys() == expected.keys()
    assert all(type(value) is float and math.isfinite(value) for value in metrics.values())
    wrong = {name for name in expected if metrics[name] != pytest.approx(expected[name], rel=1e-4, abs=1e-9)}
    assert not wrong


def test_episodes_are_taken_in_parts_with_the_noise_of_the_test():
    """Against one pass; a machine that is forgotten is at its prior, and all else as it was."""
    made, episodes = network("rgb"), episodes_of("rgb")
    generator = torch_rng(0, "test noise")
    parts = [made.draw_noise(count, 4, generator) for count in (20, 3)]
    noise = {name: torch.cat([each[name] for each in parts]) for name in parts[0]}
    seen = run_episodes(made, episodes, forgetting=True)
    with torch.no_grad():
        trace = made.trace(episodes.images, episodes.queries, noise, autoencode=True)
        expected = {"logits": trace.logits, "codes": trace.autoencoded, "gamma": trace.written.gamma}
        expected |= {"gamma_read": trace.reading.gamma, "machines": made.machine_logits(trace.reading)}
        memories = [forget(made, trace.memory, machine) for machine in (0, 1)]
        every = [*memories, made.empty(23)]
        read = [made.decoder(made.read(each, trace.queries, noise).codes) for each in every]
    expected |= {"empty": read.pop(), "forgotten": torch.stack(read, dim=1)}
    for name, value in expected.items():
        torch.testing.assert_close(getattr(seen, name), value, rtol=1e-4, atol=1e-5)
    for name, value in trace.kl.items():
        per_image = value.mean(1) if value.dim() > 1 else value / 4
        torch.testing.assert_close(seen.parts[name], per_image, rtol=1e-4, atol=1e-5)
    prior = made.prior.state(23)
    for machine, left in enumerate(memories):
        for now, before, empty in zip(left.state, trace.memory.state, prior, strict=True):
            assert torch.equal(now[:, machine], empty[:, machine])
            assert not torch.equal(before[:, machine], empty[:, machine])
            assert torch.equal(now[:, 1 - machine], before[:, 1 - machine])
        assert torch.equal(left.omega, trace.memory.omega)
    few = type(episodes)(*(part[:2] for part in episodes))
    assert run_episodes(made, few).forgotten.shape[1] == 0


def test_retrieved_and_new_images_are_counted_by_their_cosine(monkeypatch):
    images = torch.ones(2, 4, 1, 14, 14)
    images[1, 2] = 0.0  # blank, and so not new
    best = torch.tensor([[0.95, 0.91, 0.89, 0.71], [0.69, 0.5, 0.0, 0.8]])
    monkeypatch.setattr(module, "nearest", lambda imagined, stored: best)
    monkeypatch.setattr(generation, "imagine", lambda *given: SimpleNamespace(images=images))
    found = module.imagination(network("dsprites"), episodes_of("dsprites").images)
    assert found == pytest.approx({"nearest": 5.45 / 8, "retrieved": 2 / 8, "new": 2 / 8, "blank": 1 / 8})


def test_a_network_is_given_the_machine_of_each_item():
    made, episodes = network("rgb", assignment="given"), episodes_of("rgb")
    seen = run_episodes(made, episodes)
    for gamma in (seen.gamma, seen.gamma_read):
        assert (gamma.argmax(-1) == 0).equal(episodes.labels[..., 0] < 5)
    assert evaluate(made, episodes)["classes_red"] > 0.99


def test_a_fixed_answer_is_the_mean_of_the_training_digits():
    generator = torch_rng(1, "fixed")
    mean = sample("digits", 5, 45, generator, source="digits").images.mean(dim=(0, 1)).clamp(1e-3, 1 - 1e-3)
    test = evaluation("digits", 5, 45, source="digits").images
    expected = slow_nats(torch.logit(mean).expand_as(test), test)
    assert fixed_loss("digits", episodes=5) == pytest.approx(expected, rel=1e-5)


def slow_image(made, R, omega, items, noise, machines):
    """One image of one memory: the path and the last z, eta, gamma."""
    p = {key: value.numpy() for key, value in made.state_dict().items()}
    h = whole.history(p, omega, noise["history"])[0] if items else noise["history"]
    eta, gamma = whole.imagine(p, h, noise["assignment"])
    z = sum(g * r @ w for g, r, w in zip(gamma, machines, noise["address"], strict=True))
    path = [np.round(1 / (1 + np.exp(-whole.decode(p, z))))]
    for step in range(12):
        asked = whole.encode(p, path[-1])
        eta, gamma, *_ = whole.assign(p, asked, h, noise["settle"][step])
        z = sum(g * r @ oracles.least_squares(r, asked) for g, r in zip(gamma, R, strict=True))
        path.append(np.round(1 / (1 + np.exp(-whole.decode(p, z)))))
    return path, z, eta, gamma


@pytest.mark.parametrize("draw", [False, True])
@pytest.mark.parametrize(("form", "items"), [("default", 0), ("full", 4), ("unit prior", 4), ("even", 4)])
def test_imagined_images_equal_a_loop_in_numpy_over_one_at_a_time(form, items, draw):
    made = make(form)
    memory = made.empty(2)
    if items:
        with torch.no_grad():
            memory = made.trace(pictures(items=items)[0], noise=noise_of(made, items=items)).memory
    before = [part.clone() for part in memory.state]
    noise = generation.draw_noise(made, 2, 3, torch_rng(0, "imagination"), draw=draw)
    noise = {name: each.double() for name, each in noise.items()}
    ours = imagine(made, memory, noise, draw=draw)
    assert all(now.equal(then) for now, then in zip(memory.state, before, strict=True))
    assert not ours.logits.requires_grad
    assert ours.images.equal(torch.sigmoid(ours.logits).round())
    for b, n in np.ndindex(2, 3):
        R, V = (part[b].detach().numpy() for part in memory.state[:2])
        own = {name: each[b, n].numpy() for name, each in noise.items()}
        drawn = own["machines"] @ np.linalg.cholesky(V).transpose(0, 2, 1) if draw else 0
        path, *last = slow_image(made, R, memory.omega[b].numpy(), items, own, R + drawn)
        np.testing.assert_array_equal(ours.path[b, n].flatten(1).numpy(), path)
        for mine, theirs in zip((ours.codes, ours.eta, ours.gamma), last, strict=True):
            np.testing.assert_allclose(mine[b, n].numpy(), theirs, rtol=1e-6, atol=1e-8)
