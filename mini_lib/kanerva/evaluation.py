"""What is measured on test episodes of a trained network: all that a record keeps."""

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
from mini_lib.kanerva.tasks import DigitEpisodes, RGBEpisodes, SpriteEpisodes
from mini_lib.kanerva.tasks.rgb import COLOURS, HIDDEN, route
from mini_lib.seeding import torch_rng

EPISODES_AT_ONCE = 20
STORED, IMAGINED = 4, 10  # images that are written and imagined for Figure 8
RETRIEVED = 0.9  # cosine with the nearest stored image from which an imagined one counts as retrieved,
NEW = 0.7  # and below which as new
Episodes = DigitEpisodes | RGBEpisodes | SpriteEpisodes


class EpisodeOutputs(NamedTuple):
    """What a network made of B test episodes.

    Attributes:
        logits: of the pixels read out. [B, T, C, H, W]
        empty: the same of a memory that nothing was written into.
        codes: those of the images decoded themselves.
        machines: of what each machine says alone. [B, T, K, C, H, W]
        gamma: when writing. [B, T, K]
        gamma_read: when reading. [B, T, K]
        parts: of the bound, in nats per image; see `objective.terms`. [B] each
    """

    logits: Float[Tensor, "B T C H W"]
    empty: Float[Tensor, "B T C H W"]
    codes: Float[Tensor, "B T C H W"]
    machines: Float[Tensor, "B T K C H W"]
    gamma: Float[Tensor, "B T K"]
    gamma_read: Float[Tensor, "B T K"]
    parts: dict[str, Float[Tensor, "B"]]


@torch.no_grad()
def run_episodes(model: Kanerva, episodes: Episodes, forgotten: int | None = None) -> EpisodeOutputs:
    """Write and ask test episodes with noise as in training, the same for all networks with equal noise shapes.

    The result is on the CPU.

    Args:
        model: a product or a mixture.
        episodes: of test images.
        forgotten: a machine that is put back to its prior before the memory is asked.
    """
    generator = torch_rng(0, "test noise")
    device = next(model.parameters()).device
    queries = getattr(episodes, "queries", episodes.images)
    found = []
    for place in range(0, len(queries), EPISODES_AT_ONCE):
        images, asked = (each[place : place + EPISODES_AT_ONCE] for each in (episodes.images, queries))
        drawn = model.noise(*images.shape[:2], generator)
        if GIVEN in drawn:
            drawn |= routes(episodes.labels[place : place + EPISODES_AT_ONCE], model.machines)
        noise = _on(device, drawn)
        found.append(_see(model, images.to(device), asked.to(device), noise, forgotten))
    *tensors, parts = zip(*found, strict=True)
    joined = {name: torch.cat([each[name] for each in parts]).cpu() for name in parts[0]}
    return EpisodeOutputs(*(torch.cat(each).cpu() for each in tensors), joined)


def _on(device: torch.device, noise: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: each.to(device) for name, each in noise.items()}


def routes(labels: Int[Tensor, "B T 3"], machines: int) -> dict[str, Float[Tensor, "B T K"]]:
    """What a network whose assignment is given gets beside its noise, for writing and for reading."""
    return {GIVEN + end: route(labels, machines) for end in ("", "_read")}


def _see(
    model: Kanerva, images: Tensor, queries: Tensor, noise: dict[str, Tensor], forgotten: int | None
) -> EpisodeOutputs:
    trace = model(images, queries, noise, autoencode=True)
    unwritten = model.read(model.empty(len(images)), trace.queries, noise).reading.codes
    if forgotten is not None:
        found = model.read(forget(model, trace.memory, forgotten), trace.queries, noise)
        logits = model.decoder(found.reading.codes)
        trace = trace._replace(
            logits=logits, reading=found.reading, weights=found.weights, kl=trace.kl | found.kl
        )
    return EpisodeOutputs(
        trace.logits,
        model.decoder(unwritten),
        trace.autoencoded,
        model.machine_logits(trace.reading, trace.weights.gamma),
        trace.written.gamma,
        trace.weights.gamma,
        terms(trace, images),
    )


def fixed_loss(source: str, episodes: int = 100, items: int = 45) -> float:
    """The loss of one answer to every digit, in nats: the share of training digits that ink each pixel.

    It is what a network would say that has neither a memory nor a look at the query.

    Args:
        source: of digits; see `tasks.digits.pictures`.
        episodes: of training digits, and as many of test digits.
        items: of an episode.
    """
    known = tasks.sample("digits", episodes, items, torch_rng(1, "fixed"), source=source).images
    asked = tasks.evaluation("digits", episodes, items, source=source).images
    share = known.mean(dim=(0, 1)).clamp(1e-3, 1 - 1e-3)
    return nats(torch.logit(share).expand_as(asked), asked).mean().item()


def forget(model: Kanerva, memory: EpisodeMemory, machine: int) -> EpisodeMemory:
    """The memory with one machine put back to its prior; the history, and with it all weights, stays.

    Raises:
        UsageError: for a machine that is not there.
    """
    if machine not in range(model.machines):
        raise UsageError(f"there are machines 0 to {model.machines - 1}, got {machine!r}")
    machines = memory.state.split()
    machines[machine] = model.prior.state(len(memory.omega)).split()[machine]
    return memory._replace(state=join(machines))


def evaluate(model: Kanerva, episodes: Episodes) -> dict[str, float]:
    """Everything that a record keeps; figures in nats are means per image.

    Args:
        model: a product or a mixture.
        episodes: of test images.

    Returns:
        ``nll``: -ln p(x | z), the loss that the paper's figures show; ``nll_empty``: the same asked of a memory that
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
    seen = run_episodes(model, episodes)
    images = episodes.images
    found = {
        "nll": seen.parts["reconstruction"].mean().item(),
        "nll_empty": nats(seen.empty, images).mean().item(),
        "nll_codes": nats(seen.codes, images).mean().item(),
    }
    found |= {
        f"kl_{name}": part.mean().item() for name, part in seen.parts.items() if name != "reconstruction"
    }
    found |= sharing(seen.gamma) | {f"read_{name}": v for name, v in sharing(seen.gamma_read).items()}
    if isinstance(episodes, RGBEpisodes):
        return found | _binding(model, seen, episodes)
    if isinstance(episodes, SpriteEpisodes):
        return found | _sprites(model, seen, episodes)
    if not isinstance(model, ProductKanerva):
        found["classes"] = explained(seen.gamma_read.flatten(0, 1), episodes.labels.flatten())
    return found


def _binding(model: Kanerva, seen: EpisodeOutputs, triplets: RGBEpisodes) -> dict[str, float]:
    def loss(logits: Tensor, place: int) -> float:
        only = slice(place, place + 1)
        return nats(logits[:, :, only], triplets.images[:, :, only]).mean().item()

    found = {f"nll_{colour}": loss(seen.logits, place) for place, colour in enumerate(COLOURS)}
    found["nll_empty_green"] = loss(seen.empty, HIDDEN)
    if seen.gamma.shape[2] == 1:
        return found
    found["nll_green_forgotten"] = min(
        loss(run_episodes(model, triplets, forgotten=i).logits, HIDDEN) for i in range(model.machines)
    )
    for name, gamma in (("classes", seen.gamma), ("read_classes", seen.gamma_read)):
        for place, colour in enumerate(COLOURS):
            labels = triplets.labels[..., place].flatten()
            found[f"{name}_{colour}"] = explained(gamma.flatten(0, 1), labels)
    *_, found["classes_next"], found["classes_most"] = sorted(found[f"classes_{each}"] for each in COLOURS)
    shown = sorted(found[f"classes_{each}"] for place, each in enumerate(COLOURS) if place != HIDDEN)
    found["classes_least_shown"], found["classes_shown"] = shown
    return found | alone(seen.machines, seen.gamma_read, triplets.images)


def _sprites(model: Kanerva, seen: EpisodeOutputs, dances: SpriteEpisodes) -> dict[str, float]:
    pictures = torch.sigmoid(seen.machines[:, :, :, 0])
    found = separation(pictures, dances.templates)
    like = cosines(pictures, dances.templates)
    position, *others = factors(dances)
    found |= {f"tuned_{factor.name}": modulation(like, factor) for factor in (position, *others)}
    found["tuned_position_fixed"] = modulation(cosines(fixed(pictures), dances.templates), position)
    if model.machines > 1:
        most = seen.gamma_read.mean(dim=(0, 1)).argmax().item()
        rest = [i for i in range(model.machines) if i != most]
        found["tuned_position_rest"] = modulation(like[:, :, rest], position)
    return found | _imagination(model, dances)


@torch.no_grad()
def imagine_after(
    model: Kanerva, images: Float[Tensor, "B T C H W"], count: int = IMAGINED
) -> Float[Tensor, "B N C H W"]:
    """What a network imagines once images are written, each independently of the others (Figure 8).

    Images are 0 or 1, settled as often as in the paper. Noise is the same for all networks with equal noise shapes.
    The result is on the CPU.

    Raises:
        UsageError: for a mixture.
    """
    generator = torch_rng(0, "imagination")
    device = next(model.parameters()).device
    noise = _on(device, model.noise(*images.shape[:2], generator))
    memory = model(images.to(device), noise=noise).memory
    shapes = generation.noise_shapes(model, len(images), count)
    imagined = _on(device, draw_noise(shapes, generator))
    return generation.imagine(model, memory, imagined).images.cpu()


def nearest(imagined: Float[Tensor, "B N C H W"], stored: Float[Tensor, "B T C H W"]) -> Float[Tensor, "B N"]:
    """The cosine of each imagined image with the most alike of those stored; 0 for an empty image."""
    a, b = imagined.flatten(2), stored.flatten(2)
    sizes = (a.norm(dim=2)[:, :, None] * b.norm(dim=2)[:, None]).clamp(min=1e-12)
    return (a @ b.transpose(1, 2) / sizes).max(dim=2).values


def _imagination(model: Kanerva, dances: SpriteEpisodes) -> dict[str, float]:
    if not isinstance(model, ProductKanerva):
        return {}
    stored = dances.images[:, :STORED]
    imagined = imagine_after(model, stored)
    best, blank = nearest(imagined, stored), imagined.flatten(2).sum(2) == 0
    return {
        "nearest": best.mean().item(),
        "retrieved": (best >= RETRIEVED).double().mean().item(),
        "new": ((best < NEW) & ~blank).double().mean().item(),
        "blank": blank.double().mean().item(),
    }
