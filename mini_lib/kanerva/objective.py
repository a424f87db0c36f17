"""The loss: the evidence bound in nats per image, with the terms that each experiment counts (A.2.2).

Equations 13 to 20 derive it; computed are the sums of Equations 21 to 25, which are those of Equations 5 and 7 over
time. The likelihood is that of the image's pixels given the code that was read, as in Equation 5.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_names, is_finite
from mini_lib.kanerva.digits import hide
from mini_lib.kanerva.network import KanervaTrace
from mini_lib.training import Batch

KL_TERMS = ("memory", "address", "address_read", "assignment", "assignment_read", "history", "history_read")
# The note after Equation 25 says what is left out. With "mean addresses" they are not drawn either.
WEIGHTS: dict[str, dict[str, float]] = {
    "mean addresses": dict.fromkeys(KL_TERMS, 1.0) | {"address": 0.0},  # Figures 1, 2 and 5
    "full": dict.fromkeys(KL_TERMS, 1.0),  # Figures 3, 6, 7 and 8
    "mixture": dict.fromkeys(KL_TERMS, 0.0) | {"address_read": 1.0},  # Figure 4
}


def nats(logits: Float[Tensor, "*B C H W"], images: Float[Tensor, "*B C H W"]) -> Float[Tensor, "*B"]:
    """-ln p(x | z) of each image, all pixels together: they are Bernoulli."""
    each = F.binary_cross_entropy_with_logits(logits, images, reduction="none")
    return each.flatten(-3).sum(-1)  # Eq. 21, of pixels in place of codes


def terms(trace: KanervaTrace, images: Float[Tensor, "B T C H W"]) -> dict[str, Float[Tensor, "B"]]:
    """All parts of the bound in nats per image, of each episode: "reconstruction" and the network's `KL_TERMS`."""
    kl = {name: each.flatten(1).sum(1) if each.dim() > 1 else each for name, each in trace.kl.items()}
    kl = {name: kl[name] / images.shape[1] for name in KL_TERMS if name in kl}
    return {"reconstruction": nats(trace.logits, images).mean(1)} | kl


@dataclass(frozen=True)
class Loss:
    """Reconstruction plus weighted divergences, in nats per image; the score is the reconstruction alone.

    A batch holds "images" [B, T, C, H, W], 0 or 1, also as bytes, and may hold "queries" (by default the images),
    "noise" (see `Kanerva.draw_noise`), "kl_weight", a factor of all divergences, "balance", one of the balance (see
    `fade`), and for a mixture "tau", its temperature; these three are one number or [B], one for each episode.
    """

    experiment: str = "mean addresses"  #: divergences that count; of `WEIGHTS`.
    ae_weight: float = 0.0  #: of -ln p(x | e(x)), images decoded from their own codes; 0 in the paper.
    changed: tuple[tuple[str, float], ...] = ()  #: (name, weight) of divergences with another weight.
    hide_green: bool = False  #: queries are the images without their green channel, as in the binding task.
    balance: float = 0.0  #: weight of `usage_kl`; an addition, 0 in the paper.

    def __post_init__(self):
        check_names("experiment", [self.experiment], WEIGHTS)
        check_names("divergence", dict(self.changed), KL_TERMS)
        for name, weight in (("ae_weight", self.ae_weight), ("balance", self.balance), *self.changed):
            if not is_finite(weight) or weight < 0:
                raise UsageError(f"the weight of {name} has to be at least 0, got {weight!r}")

    @property
    def weights(self) -> dict[str, float]:
        """The divergences that count, and how much."""
        weights = WEIGHTS[self.experiment] | dict(self.changed)
        return {name: weight for name, weight in weights.items() if weight}

    def __call__(self, model: Any, batch: Batch) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Loss and score of a batch; `model` is a `Kanerva` network or stands for one of a stack."""
        images = batch["images"]
        if not images.is_floating_point():  # bytes until they are on the device
            images = images.float()
        queries = hide(images) if self.hide_green else batch.get("queries")
        options = {"tau": batch.get("tau"), "autoencode": self.ae_weight > 0}
        trace = model.trace(images, queries, batch.get("noise"), **options)
        parts = terms(trace, images)
        if missing := self.weights.keys() - parts:
            raise UsageError(f"no divergence {min(missing)!r} here; a mixture has experiment='mixture'")
        divergence = images.new_zeros(()) + sum(weight * parts[name] for name, weight in self.weights.items())
        score = parts["reconstruction"].mean()
        loss = score + (batch.get("kl_weight", 1.0) * divergence).mean()  # Eq. 5 and Eq. 7
        if self.ae_weight:
            loss = loss + self.ae_weight * nats(trace.autoencoded, images).mean()
        if self.balance:
            factor = torch.as_tensor(batch.get("balance", 1.0)).mean()
            loss = loss + self.balance * factor * usage_kl(trace.shares)
        return loss, score


def usage_kl(shares: Float[Tensor, "B N K"]) -> Float[Tensor, ""]:
    """KL(mean share || 1 / K) over all items of all episodes, in nats: 0 where machines are used equally."""
    mean = shares.mean(dim=(0, 1))  # [K]
    return math.log(len(mean)) + (mean * mean.clamp(min=torch.finfo(mean.dtype).tiny).log()).sum()


def fade(update: Int[Tensor, "*B"], over: int) -> Float[Tensor, "*B"]:
    """A factor that falls evenly from 1 at the first update to 0 after `over`; 1 throughout for 0."""
    return 1.0 - (update / over).clamp(max=1.0) if over else torch.ones_like(update, dtype=torch.float32)


def temperature(update: Int[Tensor, "*B"], updates: int, last: float = 0.5) -> Float[Tensor, "*B"]:
    """Temperature of a mixture: falls evenly from 1 to `last` over the first half of all updates."""
    return 1.0 - (1.0 - last) * (2 * update / updates).clamp(max=1.0)
