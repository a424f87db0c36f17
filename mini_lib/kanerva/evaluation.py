"""Everything that is measured on test episodes of a trained network and kept in a record."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.kanerva import tasks
from mini_lib.kanerva.analysis import (
    alone,
    cosines,
    explained,
    factors,
    fixed,
    modulation,
    separation,
    sharing,
)
from mini_lib.kanerva.memory.state import join
from mini_lib.kanerva.models import EpisodeMemory, Kanerva, ProductKanerva, draw_noise, generation
from mini_lib.kanerva.models.noise import GIVEN
from mini_lib.kanerva.objective import nats, terms
from mini_lib.kanerva.tasks import Episodes, RGBEpisodes, SpriteEpisodes
from mini_lib.kanerva.tasks.rgb import COLOURS, HIDDEN, route
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
    #: logits where one machine was put back to its prior before reading, for each of F machines: all, or none
    #: unless requested.
    forgotten: Float[Tensor, "B F T C H W"]
    parts: dict[str, Float[Tensor, "B"]]  #: of the bound, in nats per image; see `objective.terms`. [B] each


@torch.no_grad()
def run_episodes(model: Kanerva, episodes: Episodes, *, forgetting: bool = False) -> EpisodeOutputs:
    """Write and read test episodes with noise as in training, the same for all networks with equal noise shapes.

    With `forgetting` each episode is also read with each machine forgotten. The result is on the CPU.
    """
    generator, device = torch_rng(0, "test noise"), model.prior_means.device
    queries = getattr(episodes, "queries", episodes.images)
    outputs = []
    for start in range(0, len(queries), EPISODES_AT_ONCE):
        span = slice(start, start + EPISODES_AT_ONCE)
        images = episodes.images[span].to(device)
        noise = model.noise(*images.shape[:2], generator)
        if model.assignment.noise_name == GIVEN:
            noise |= routes(episodes.labels[span], model.machines)
        noise = {name: each.to(device) for name, each in noise.items()}
        trace = model(images, queries[span].to(device), noise, autoencode=True)
        memories = [model.empty(len(images))]
        if forgetting:
            memories += [forget(model, trace.memory, i) for i in range(model.machines)]
        read = [model.decoder(model.read(each, trace.queries, noise).reading.codes) for each in memories]
        outputs.append(
            EpisodeOutputs(
                logits=trace.logits,
                empty=read[0],
                codes=trace.autoencoded,
                machines=model.machine_logits(trace.reading, trace.weights.gamma),
                gamma=trace.written.gamma,
                gamma_read=trace.weights.gamma,
                forgotten=torch.stack(read, dim=1)[:, 1:],
                parts=terms(trace, images),
            )
        )
    *tensors, parts = zip(*outputs, strict=True)
    joined = {name: torch.cat([each[name] for each in parts]).cpu() for name in parts[0]}
    return EpisodeOutputs(*(torch.cat(each).cpu() for each in tensors), joined)


def routes(labels: Int[Tensor, "B T 3"], machines: int) -> dict[str, Float[Tensor, "B T K"]]:
    """What a network whose assignment is given gets beside its noise, for writing and for reading."""
    return {GIVEN + end: route(labels, machines) for end in ("", "_read")}


def fixed_loss(source: str, episodes: int = 100, items: int = 45) -> float:
    """The loss of one answer to every digit, in nats: the share of training digits that ink each pixel.

    It is the best that a network can do which has neither a memory nor the query. There are as many episodes of
    training digits as of test digits; for sources see `tasks.digits.pictures`.
    """
    training = tasks.sample("digits", episodes, items, torch_rng(1, "fixed"), source=source).images
    test = tasks.evaluation("digits", episodes, items, source=source).images
    share = training.mean(dim=(0, 1)).clamp(1e-3, 1 - 1e-3)
    return nats(torch.logit(share).expand_as(test), test).mean().item()


def forget(model: Kanerva, memory: EpisodeMemory, machine: int) -> EpisodeMemory:
    """The memory with one machine put back to its prior; the history, and with it all weights, stays."""
    if machine not in range(model.machines):
        raise UsageError(f"there are machines 0 to {model.machines - 1}, got {machine!r}")
    machines = memory.state.split()
    machines[machine] = model.prior.state(len(memory.omega)).split()[machine]
    return memory._replace(state=join(machines))


def evaluate(model: Kanerva, episodes: Episodes) -> dict[str, float]:
    """Everything that a record keeps of test episodes; figures in nats are means per image.

    Returns:
        ``nll``: -ln p(x | z), the loss that the paper's figures show; ``nll_empty``: the same of a memory that
        nothing was written into; ``nll_codes``: of the images' own codes, without a memory; ``kl_`` and a name of
        `objective.KL_TERMS`: divergences. What `analysis.sharing` returns, of gamma at writing, and the same with
        ``read_``, at reading.
        Of the binding task ``nll_red``, ``nll_green``, ``nll_blue``, ``nll_empty_green``, and with more than one
        machine what `analysis.alone` returns, ``nll_green_forgotten``: that of green where the machine that is
        missed least has forgotten the episode, and ``classes_red`` and so on: the share of gamma's variance that
        the classes of the red digit explain, when writing; ``classes_most`` and ``classes_next``, the largest of
        the three and the one after it; ``classes_shown`` and ``classes_least_shown``, the larger and the smaller of
        the two that are in the query; ``read_classes_red`` and so on when reading.
        Of digits in a mixture ``classes``: the same of its choices when reading, for Figure 4A and B.
        Of sprites what `analysis.separation` returns, ``tuned_position``, ``tuned_shape`` and so on: see
        `analysis.modulation`; ``tuned_position_fixed``, where each machine always shows its mean image, and with
        more than one ``tuned_position_rest``, without the machine that counts most; and of what a product
        imagines (Figure 8) ``nearest``, its mean cosine with the nearest stored image, ``retrieved`` and ``new``,
        the shares from .9 and below .7, and ``blank``, that of images without a sprite, which count as neither.
    """
    binding, images = isinstance(episodes, RGBEpisodes), episodes.images
    outputs = run_episodes(model, episodes, forgetting=binding and model.machines > 1)
    metrics = {
        "nll": outputs.parts["reconstruction"].mean().item(),
        "nll_empty": nats(outputs.empty, images).mean().item(),
        "nll_codes": nats(outputs.codes, images).mean().item(),
    }
    divergences = {name: part for name, part in outputs.parts.items() if name != "reconstruction"}
    metrics |= {f"kl_{name}": part.mean().item() for name, part in divergences.items()}
    metrics |= sharing(outputs.gamma)
    metrics |= {f"read_{name}": value for name, value in sharing(outputs.gamma_read).items()}
    if binding:
        return metrics | _binding(outputs, episodes)
    if isinstance(episodes, SpriteEpisodes):
        return metrics | _sprites(model, outputs, episodes)
    if not isinstance(model, ProductKanerva):
        metrics["classes"] = explained(outputs.gamma_read.flatten(0, 1), episodes.labels.flatten())
    return metrics


def _binding(outputs: EpisodeOutputs, episodes: RGBEpisodes) -> dict[str, float]:
    def loss(logits: Tensor, channel: int) -> float:
        only = slice(channel, channel + 1)
        return nats(logits[:, :, only], episodes.images[:, :, only]).mean().item()

    metrics = {f"nll_{colour}": loss(outputs.logits, channel) for channel, colour in enumerate(COLOURS)}
    metrics["nll_empty_green"] = loss(outputs.empty, HIDDEN)
    if outputs.gamma.shape[2] == 1:
        return metrics
    metrics["nll_green_forgotten"] = min(loss(logits, HIDDEN) for logits in outputs.forgotten.unbind(1))
    for name, gamma in (("classes", outputs.gamma), ("read_classes", outputs.gamma_read)):
        for channel, colour in enumerate(COLOURS):
            labels = episodes.labels[..., channel].flatten()
            metrics[f"{name}_{colour}"] = explained(gamma.flatten(0, 1), labels)
    shares = [metrics[f"classes_{colour}"] for colour in COLOURS]
    shown = [share for channel, share in enumerate(shares) if channel != HIDDEN]
    _, metrics["classes_next"], metrics["classes_most"] = sorted(shares)
    metrics["classes_least_shown"], metrics["classes_shown"] = sorted(shown)
    return metrics | alone(outputs.machines, outputs.gamma_read, episodes.images)


def _sprites(model: Kanerva, outputs: EpisodeOutputs, episodes: SpriteEpisodes) -> dict[str, float]:
    pictures = torch.sigmoid(outputs.machines[:, :, :, 0])  # [B, T, K, H, W]
    metrics = separation(pictures, episodes.templates)
    similarity = cosines(pictures, episodes.templates)  # [B, T, K, S]
    position, *others = factors(episodes)
    metrics |= {f"tuned_{each.name}": modulation(similarity, each) for each in (position, *others)}
    unchanging = cosines(fixed(pictures), episodes.templates)
    metrics["tuned_position_fixed"] = modulation(unchanging, position)
    if model.machines > 1:
        most = outputs.gamma_read.mean(dim=(0, 1)).argmax().item()
        rest = [i for i in range(model.machines) if i != most]
        metrics["tuned_position_rest"] = modulation(similarity[:, :, rest], position)
    return metrics | _imagination(model, episodes)


@torch.no_grad()
def imagine_after(
    model: Kanerva, images: Float[Tensor, "B T C H W"], count: int = IMAGINED
) -> Float[Tensor, "B N C H W"]:
    """Images that a network imagines once images are written, each independently of the others (Figure 8).

    Images are 0 or 1, settled as often as in the paper. Noise is the same for all networks with equal noise shapes.
    The result is on the CPU. A mixture cannot imagine.
    """
    generator, device = torch_rng(0, "imagination"), model.prior_means.device
    shapes = model.noise_shapes(*images.shape[:2]), generation.noise_shapes(model, len(images), count)
    noises = [draw_noise(each, generator) for each in shapes]
    written, imagined = ({name: each.to(device) for name, each in noise.items()} for noise in noises)
    memory = model(images.to(device), noise=written).memory
    return generation.imagine(model, memory, imagined).images.cpu()


def nearest(imagined: Float[Tensor, "B N C H W"], stored: Float[Tensor, "B T C H W"]) -> Float[Tensor, "B N"]:
    """The cosine of each imagined image with the most alike of those stored; 0 for an empty image."""
    a, b = imagined.flatten(2), stored.flatten(2)
    sizes = (a.norm(dim=2)[:, :, None] * b.norm(dim=2)[:, None]).clamp(min=1e-12)
    return (a @ b.transpose(1, 2) / sizes).max(dim=2).values


def _imagination(model: Kanerva, episodes: SpriteEpisodes) -> dict[str, float]:
    if not isinstance(model, ProductKanerva):
        return {}
    stored = episodes.images[:, :STORED]
    imagined = imagine_after(model, stored)
    best, blank = nearest(imagined, stored), imagined.flatten(2).sum(2) == 0
    return {
        "nearest": best.mean().item(),
        "retrieved": (best >= RETRIEVED).double().mean().item(),
        "new": ((best < NEW) & ~blank).double().mean().item(),
        "blank": blank.double().mean().item(),
    }
