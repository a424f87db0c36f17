"""Everything that is measured on test episodes of a trained network and kept in a record."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.kanerva import analysis, generation, tasks
from mini_lib.kanerva.analysis import cosines, modulation, usage, variance_explained
from mini_lib.kanerva.assignment import GIVEN
from mini_lib.kanerva.digits import COLORS, HIDDEN, routes
from mini_lib.kanerva.memory import EpisodeMemory, State
from mini_lib.kanerva.network import Kanerva, ProductKanerva
from mini_lib.kanerva.objective import nats, terms
from mini_lib.kanerva.tasks import Episodes, RGBEpisodes, SpriteEpisodes
from mini_lib.module import Noise
from mini_lib.seeding import torch_rng

EPISODES_AT_ONCE = 20
STORED, IMAGINED = 4, 10  # images that are written and imagined for Figure 8
RETRIEVED = 0.9  # cosine with the nearest stored image from which an imagined one counts as retrieved,
NEW = 0.7  # and below which as new


class EpisodeOutputs(NamedTuple):
    """A network's outputs for B test episodes of T images."""

    logits: Float[Tensor, "B T C H W"]  #: of the pixels read out.
    empty: Float[Tensor, "B T C H W"]  #: the same of a memory that nothing was written into.
    codes: Float[Tensor, "B T C H W"]  #: those of the images decoded themselves.
    machines: Float[Tensor, "B T K C H W"]  #: of each machine's part alone.
    gamma: Float[Tensor, "B T K"]  #: when writing.
    gamma_read: Float[Tensor, "B T K"]  #: when reading.
    forgotten: Float[Tensor, "B F T C H W"]  #: with one of F machines at its prior; F = 0 unless requested.
    parts: dict[str, Float[Tensor, "B"]]  #: of the bound, in nats per image; see `objective.terms`.


@torch.no_grad()
def run_episodes(model: Kanerva, episodes: Episodes, *, forgetting: bool = False) -> EpisodeOutputs:
    """Write and read test episodes, with noise that is equal for networks with equal noise shapes.

    With `forgetting` each episode is also read with each machine forgotten. The result is on the CPU.
    """
    generator, device = torch_rng(0, "test noise"), model.prior_means.device
    queries = getattr(episodes, "queries", episodes.images)
    outputs = []
    for start in range(0, len(queries), EPISODES_AT_ONCE):
        span = slice(start, start + EPISODES_AT_ONCE)
        images = episodes.images[span].to(device)
        noise = model.draw_noise(*images.shape[:2], generator)
        if model.assignment.noise_name == GIVEN:
            noise |= routes(episodes.labels[span], model.machines)
        noise = _on(device, noise)
        trace = model.trace(images, queries[span].to(device), noise, autoencode=True)
        memories = [model.empty(len(images))]
        if forgetting:
            memories += [forget(model, trace.memory, i) for i in range(model.machines)]
        read = [model.decoder(model.read(each, trace.queries, noise).codes) for each in memories]
        logits = trace.logits, read[0], trace.autoencoded, model.machine_logits(trace.reading)
        gammas, forgotten = (trace.written.gamma, trace.reading.gamma), torch.stack(read, dim=1)[:, 1:]
        outputs.append(EpisodeOutputs(*logits, *gammas, forgotten, terms(trace, images)))
    *tensors, parts = zip(*outputs, strict=True)
    joined = {name: torch.cat([each[name] for each in parts]).cpu() for name in parts[0]}
    return EpisodeOutputs(*(torch.cat(each).cpu() for each in tensors), joined)


def _on(device: torch.device, noise: Noise) -> Noise:
    return {name: each.to(device) for name, each in noise.items()}


def fixed_loss(source: str, episodes: int = 100, items: int = 45) -> float:
    """The loss, in nats, of the mean training digit as the answer to every query; sources are of `digits`."""
    training = tasks.sample("digits", episodes, items, torch_rng(1, "fixed"), source=source).images
    test = tasks.evaluation("digits", episodes, items, source=source).images
    share = training.mean(dim=(0, 1)).clamp(1e-3, 1 - 1e-3)
    return nats(torch.logit(share).expand_as(test), test).mean().item()


def forget(model: Kanerva, memory: EpisodeMemory, machine: int) -> EpisodeMemory:
    """The memory with one machine reset to its prior; the history, and with it all weights, stays."""
    if machine not in range(model.machines):
        raise UsageError(f"there are machines 0 to {model.machines - 1}, got {machine!r}")
    state = State(*(part.clone() for part in memory.state))
    for part, prior in zip(state, model.prior.state(len(memory.omega)), strict=True):
        part[:, machine] = prior[:, machine]
    return memory._replace(state=state)


def evaluate(model: Kanerva, episodes: Episodes) -> dict[str, float]:
    """Metrics of test episodes, as a record keeps them; those in nats are means per image.

    ``nll``, of a memory with nothing written ``nll_empty``, of the images' own codes ``nll_codes``; ``kl_`` and a
    name of `KL_TERMS`; `usage` of gamma at writing, with ``read_`` at reading.
    Binding: ``nll_`` and a color; with more than one machine `single_machine`, ``nll_green_forgotten`` without the
    machine that is missed least, and ``classes_`` and a color, the share of gamma's variance its digits explain:
    ``most`` and ``next`` of the three, ``shown`` and ``least_shown`` of the two in the query.
    Digits in a mixture: ``classes``, that of its choices at reading (Figure 4A and B).
    Sprites: `separation`; ``tuned_`` and a factor, `modulation`, with ``_fixed`` of mean images, with ``_rest``
    without the machine that counts most; of what a product imagines (Figure 8) see `imagination`.
    """
    binding, images = isinstance(episodes, RGBEpisodes), episodes.images
    outputs = run_episodes(model, episodes, forgetting=binding and model.machines > 1)
    parts = {f"kl_{name}": part.mean().item() for name, part in outputs.parts.items()}
    metrics = {"nll": parts.pop("kl_reconstruction"), "nll_empty": nats(outputs.empty, images).mean().item()}
    metrics |= {"nll_codes": nats(outputs.codes, images).mean().item()} | parts
    metrics |= usage(outputs.gamma)
    metrics |= {f"read_{name}": value for name, value in usage(outputs.gamma_read).items()}
    if binding:
        return metrics | _binding(outputs, episodes)
    if isinstance(episodes, SpriteEpisodes):
        return metrics | _sprites(model, outputs, episodes)
    if not isinstance(model, ProductKanerva):
        metrics["classes"] = variance_explained(outputs.gamma_read.flatten(0, 1), episodes.labels.flatten())
    return metrics


def _binding(outputs: EpisodeOutputs, episodes: RGBEpisodes) -> dict[str, float]:
    def loss(logits: Tensor, channel: int) -> float:
        only = slice(channel, channel + 1)
        return nats(logits[:, :, only], episodes.images[:, :, only]).mean().item()

    metrics = {f"nll_{color}": loss(outputs.logits, channel) for channel, color in enumerate(COLORS)}
    metrics["nll_empty_green"] = loss(outputs.empty, HIDDEN)
    if outputs.gamma.shape[2] == 1:
        return metrics
    metrics["nll_green_forgotten"] = min(loss(logits, HIDDEN) for logits in outputs.forgotten.unbind(1))
    for name, gamma in (("classes", outputs.gamma), ("read_classes", outputs.gamma_read)):
        for channel, color in enumerate(COLORS):
            labels = episodes.labels[..., channel].flatten()
            metrics[f"{name}_{color}"] = variance_explained(gamma.flatten(0, 1), labels)
    shares = [metrics[f"classes_{color}"] for color in COLORS]
    shown = [share for channel, share in enumerate(shares) if channel != HIDDEN]
    _, metrics["classes_next"], metrics["classes_most"] = sorted(shares)
    metrics["classes_least_shown"], metrics["classes_shown"] = sorted(shown)
    return metrics | analysis.single_machine(outputs.machines, outputs.gamma_read, episodes.images)


def _sprites(model: Kanerva, outputs: EpisodeOutputs, episodes: SpriteEpisodes) -> dict[str, float]:
    pictures = torch.sigmoid(outputs.machines[:, :, :, 0])  # [B, T, K, H, W]
    metrics = analysis.separation(pictures, episodes.templates)
    similarity = cosines(pictures, episodes.templates)  # [B, T, K, S]
    position, *others = analysis.factors(episodes)
    metrics |= {f"tuned_{each.name}": modulation(similarity, each) for each in (position, *others)}
    unchanging = cosines(analysis.fixed(pictures), episodes.templates)
    metrics["tuned_position_fixed"] = modulation(unchanging, position)
    if model.machines > 1:
        most = outputs.gamma_read.mean(dim=(0, 1)).argmax().item()
        rest = [i for i in range(model.machines) if i != most]
        metrics["tuned_position_rest"] = modulation(similarity[:, :, rest], position)
    if isinstance(model, ProductKanerva):
        metrics |= imagination(model, episodes.images[:, :STORED])
    return metrics


def nearest(imagined: Float[Tensor, "B N C H W"], stored: Float[Tensor, "B T C H W"]) -> Float[Tensor, "B N"]:
    """The cosine of each imagined image with the most similar stored one; 0 for an empty image."""
    return cosines(imagined.flatten(2, 3), stored.flatten(2, 3)).max(dim=2).values


@torch.no_grad()
def imagination(model: Kanerva, images: Float[Tensor, "B T C H W"]) -> dict[str, float]:
    """Metrics of what a network imagines after writing images, 10 for each episode, each by itself (Figure 8).

    ``nearest``: the mean cosine with the nearest stored image; ``retrieved`` and ``new``: the shares from .9 and
    below .7; ``blank``: that of empty images, which are neither.
    """
    generator, device = torch_rng(0, "imagination"), model.prior_means.device
    noise = _on(device, model.draw_noise(*images.shape[:2], generator))
    imagined = _on(device, generation.draw_noise(model, len(images), IMAGINED, generator))
    memory = model.trace(images.to(device), noise=noise).memory
    found = generation.imagine(model, memory, imagined).images.cpu()
    best, blank = nearest(found, images), found.flatten(2).sum(2) == 0
    return {
        "nearest": best.mean().item(),
        "retrieved": (best >= RETRIEVED).double().mean().item(),
        "new": ((best < NEW) & ~blank).double().mean().item(),
        "blank": blank.double().mean().item(),
    }
