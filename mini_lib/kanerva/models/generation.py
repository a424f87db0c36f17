"""Images out of memory alone: a first look at random, then settling into what is stored (A.2.3, A.9)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError, check_positive_int
from mini_lib.kanerva.memory import MachineWeights, combine, draw_machines, read, readouts, write_episode
from mini_lib.kanerva.models.network import EpisodeMemory, Kanerva
from mini_lib.kanerva.models.noise import Noise, Shapes, pick

SETTLE = 12  # the paper's


class Imagined(NamedTuple):
    """N images for each of B memories, or an episode of N images."""

    #: each image on its way, 0 or 1, from the first look to the last settling, P = S + 1 times.
    path: Float[Tensor, "B N P C H W"]
    logits: Float[Tensor, "B N C H W"]  #: of the pixels of the last.
    codes: Float[Tensor, "B N D"]  #: what was read last.
    weights: MachineWeights  #: eta and gamma, with which it was read. [B, N, K] each
    h: Float[Tensor, "B N L"]  #: the history variable of each.

    @property
    def images(self) -> Float[Tensor, "B N C H W"]:
        """What it settled into."""
        return self.path[:, :, -1]


def noise_shapes(
    network: Kanerva, batch: int, images: int, *, settle: int = SETTLE, draw: bool = False
) -> Shapes:
    """The random tensors for N images from each of B memories, by name, and their shapes; all are standard normal.

    `settle` is S, how often an image is read again; with `draw` machines are drawn for each image too.
    """
    check_positive_int(batch=batch, images=images)
    if not isinstance(settle, int) or settle < 0:
        raise UsageError(f"settle has to be a whole number from 0, got {settle!r}")
    lead, machines, columns = (batch, images), network.machines, network.columns
    shapes = {
        "history": (*lead, network.history.size),
        "assignment": (*lead, machines),
        "address": (*lead, machines, columns),
    }
    if settle:
        shapes["settle"] = (*lead, settle, machines)
    if draw:
        shapes["machines"] = (*lead, machines, network.dim, columns)
    return shapes


@torch.no_grad()
def imagine(
    network: Kanerva, memory: EpisodeMemory, noise: Noise, *, settle: int = SETTLE, draw: bool = False
) -> Imagined:
    """N images from each memory, independent of each other; nothing is written (Figure 8).

    First look: w_i ~ N(0, I), h ~ q(h | Omega), or N(0, I) where nothing has been written yet, u ~ p(u | h), and
    z = sum_i gamma_i R_i w_i is decoded, each pixel rounded to 0 or 1. Then, `settle` times, the image is a query:
    it is encoded, read with q(u | z, h) and w by least squares, decoded and rounded, which brings it nearer to what
    is stored. Addresses are at their mean then, whatever the network's `sample`.

    >>> from mini_lib.kanerva.models import build_network, draw_noise
    >>> network = build_network("product", machines=2, size=8, encoder="mlp", decoder="mlp")
    >>> noise = draw_noise(noise_shapes(network, 3, 5, settle=2), torch.Generator().manual_seed(0))
    >>> imagine(network, network.empty(3), noise, settle=2).images.shape  # five from each of three memories
    torch.Size([3, 5, 1, 8, 8])

    Args:
        network: a product; a mixture has learned no p(r | h).
        memory: what is stored: `KanervaTrace.memory`, or `network.empty(B)`.
        noise: as `noise_shapes` names it.
        settle: how often; 12 in the paper.
        draw: the first look is at machines drawn from N(vec(R), V x I), instead of their means.
    """
    _check(network, noise)
    images = noise["address"].shape[1]
    shapes = noise_shapes(network, len(memory.omega), images, settle=settle, draw=draw)
    noise = {name: pick(noise, shapes, name) for name in shapes}
    h = noise["history"]  # [B, N, L]
    if memory.items:
        h = network.history(memory.omega[:, None].expand(-1, images, -1)).draw(h)
    weights = network.assignment.imagined_weights(h, noise["assignment"])  # p(u | h)
    R = memory.state.R[:, None].expand(-1, images, -1, -1, -1)  # [B, N, K, D, M]
    if draw:
        R = draw_machines(memory.state, noise["machines"].transpose(0, 1)).transpose(0, 1)
    codes = combine(readouts(R, noise["address"]), weights.gamma)  # [B, N, D]
    logits = network.decoder(codes)
    path = [rounded(logits)]
    for step in range(settle):
        queries = network.encoder(path[-1])
        features = network.assignment.features(queries)
        weights = network.assignment.weights(features, h, noise["settle"][:, :, step])  # q(u | z, h)
        codes = read(memory.state, queries, weights.gamma, **network.solving).codes
        logits = network.decoder(codes)
        path.append(rounded(logits))
    return Imagined(torch.stack(path, dim=2), logits, codes, weights, h)


@torch.no_grad()
def imagine_episode(
    network: Kanerva,
    noise: Noise,
    memory: EpisodeMemory | None = None,
    *,
    settle: int = SETTLE,
    draw: bool = False,
) -> tuple[Imagined, EpisodeMemory]:
    """An episode of N images, each of which is written before the next is looked for (A.2.3), and its memory.

    What is written is the code that was read last, with the weights that it was read with. The memory to begin with
    is by default an empty one; the other arguments are those of `imagine`.
    """
    _check(network, noise)
    memory = network.empty(len(noise["address"])) if memory is None else memory
    images = []
    for t in range(noise["address"].shape[1]):
        own = {name: each[:, t : t + 1] for name, each in noise.items()}
        new = imagine(network, memory, own, settle=settle, draw=draw)
        state = write_episode(memory.state, new.codes, new.weights, **network.writing).state
        omega = network.history.add(memory.omega, new.codes[:, 0], new.weights.gamma[:, 0], memory.items)
        memory = EpisodeMemory(state, omega, memory.items + 1)
        images.append(new)
    path, logits, codes, weights, h = zip(*images, strict=True)
    eta, gamma = (torch.cat(parts, dim=1) for parts in zip(*weights, strict=True))
    path, logits, codes, h = (torch.cat(parts, dim=1) for parts in (path, logits, codes, h))
    return Imagined(path, logits, codes, MachineWeights(eta, gamma), h), memory


def rounded(logits: Tensor) -> Tensor:
    """Pixels whose probability is above a half."""
    return (logits > 0).to(logits.dtype)


def _check(network: Kanerva, noise: Noise) -> None:
    if not hasattr(network.assignment, "imagined_weights"):
        raise UsageError(
            "a mixture learns no prior of its choice, and machines that are given have none: neither can imagine;"
            " take a ProductKanerva whose assignment is learned, has a unit prior, or is even"
        )
    if "address" not in noise:
        raise UsageError("noise lacks 'address'; it needs what generation.noise_shapes names")
