"""Images out of memory alone: a random first image, then settling into what is stored (A.2.3, A.9)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, einsum

from mini_lib.errors import UsageError, check_positive_int
from mini_lib.kanerva.assignment import Shapes, check_noise, draw_all
from mini_lib.kanerva.memory import EpisodeMemory, draw_machines, read
from mini_lib.kanerva.network import Kanerva
from mini_lib.module import Noise

SETTLE = 12  # readings of an image, as in the paper


class Imagined(NamedTuple):
    """N images for each of B memories."""

    path: Float[Tensor, "B N P C H W"]  #: each image, 0 or 1, from the first to the last of P = S + 1.
    logits: Float[Tensor, "B N C H W"]  #: of the pixels of the last.
    codes: Float[Tensor, "B N D"]  #: what was read last.
    eta: Float[Tensor, "B N K"]  #: noise of each machine at the last reading.
    gamma: Float[Tensor, "B N K"]  #: weight of each machine at the last reading.

    @property
    def images(self) -> Float[Tensor, "B N C H W"]:
        """The last images."""
        return self.path[:, :, -1]


def _shapes(network: Kanerva, batch: int, images: int, draw: bool) -> Shapes:
    """Names and shapes of the noise, in the order in which it is drawn; UsageError for a network of another kind."""
    if not hasattr(network.assignment, "imagined_weights"):
        raise UsageError("this network has no prior of the assignment and cannot imagine")
    check_positive_int(batch=batch, images=images)
    lead, K, M = (batch, images), network.machines, network.columns
    shapes = {"history": (*lead, network.history.size), "assignment": (*lead, K)}
    shapes |= {"address": (*lead, K, M), "settle": (*lead, SETTLE, K)}
    return shapes | ({"machines": (*lead, K, network.dim, M)} if draw else {})


def draw_noise(
    network: Kanerva, batch: int, images: int, generator: torch.Generator | None = None, draw: bool = False
) -> Noise:
    """Draw the noise for N images from each of B memories; for `draw` see `imagine`."""
    return draw_all(_shapes(network, batch, images, draw), generator)


@torch.no_grad()
def imagine(network: Kanerva, memory: EpisodeMemory, noise: Noise, *, draw: bool = False) -> Imagined:
    """N images from each memory of a product, independent of each other; nothing is written (Figure 8).

    First image: w_i ~ N(0, I), h ~ q(h | Omega), or N(0, I) where nothing has been written yet, u ~ p(u | h), and
    z = sum_i gamma_i R_i w_i is decoded, each pixel rounded to 0 or 1; with `draw` from machines that are drawn from
    N(vec(R), V x I), instead of their means. Then, `SETTLE` times, 12 in the paper, the image is a query: encoded,
    read with q(u | z, h) and w by least squares, decoded and rounded, which brings it nearer to what is stored.
    """
    batch, images = len(memory.omega), len(noise["address"][0]) if "address" in noise else 1
    noise = check_noise(noise, _shapes(network, batch, images, draw))
    h = noise["history"]  # [B, N, L]
    if memory.items:
        h = network.history(memory.omega[:, None].expand(-1, images, -1)).draw(h)  # q(h | Omega)
    weights = network.assignment.imagined_weights(h, noise["assignment"])  # p(u | h)
    R = memory.state.R[:, None].expand(-1, images, -1, -1, -1)  # [B, N, K, D, M]
    if draw:
        R = draw_machines(memory.state, noise["machines"].transpose(0, 1)).transpose(0, 1)
    codes = einsum("bnk,bnkdm,bnkm->bnd", weights.gamma, R, noise["address"].to(R.dtype))
    path = []
    for step in range(SETTLE + 1):
        logits = network.decoder(codes.to(network.prior_means.dtype))
        path.append((logits > 0).to(logits.dtype))  # pixels of a probability above a half
        if step < SETTLE:
            z = network.encoder(path[-1])
            features = network.assignment.features(z)
            weights = network.assignment.weights(features, h, noise["settle"][:, :, step])  # q(u | z, h)
            codes = read(memory.state, z, weights.gamma).codes
    return Imagined(torch.stack(path, dim=2), logits, codes, *weights)
