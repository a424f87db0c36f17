"""The loss: the evidence bound in nats per image, with the terms that each experiment counts (A.2.2).

Equations 13 to 20 derive it; what is computed are the sums of Equations 21 to 25, which are those of Equations 5 and
7 over time. The likelihood is that of the image's pixels given the code that was read, as in Equation 5. Equation 21
has that of the code; but codes are learned without noise or prior, and would shrink to nothing.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_names
from mini_lib.kanerva.models import KanervaTrace
from mini_lib.kanerva.tasks.rgb import hide
from mini_lib.training import Batch

KL_TERMS = ("memory", "address", "address_read", "assignment", "assignment_read", "history", "history_read")


def _weights(*left_out: str) -> dict[str, float]:
    return {name: float(name not in left_out) for name in KL_TERMS}


# The note after Equation 25 says what is left out. With "mean addresses" they are not drawn either.
WEIGHTS = {
    "mean addresses": _weights("address"),  # Figures 1, 2 and 5
    "full": _weights(),  # Figures 3, 6, 7 and 8
    "mixture": _weights(*set(KL_TERMS) - {"address_read"}),  # Figure 4
}
# The network's option that goes with it.
SAMPLE = {"mean addresses": "mean", "full": "full", "mixture": "mean"}


def nats(logits: Float[Tensor, "*B C H W"], images: Float[Tensor, "*B C H W"]) -> Float[Tensor, "*B"]:
    """-ln p(x | z) of each image, all pixels together: they are Bernoulli."""
    each = F.binary_cross_entropy_with_logits(logits, images, reduction="none")
    return each.flatten(-3).sum(-1)  # Eq. 21, of pixels in place of codes


def terms(trace: KanervaTrace, images: Float[Tensor, "B T C H W"]) -> dict[str, Float[Tensor, "B"]]:
    """All parts of the bound in nats per image, of each episode: "reconstruction" and the network's `KL_TERMS`.

    Divergences of items are averaged; those of a whole episode are divided by T.
    """
    items = images.shape[1]
    parts = {name: kl.flatten(1).sum(1) if kl.dim() > 1 else kl for name, kl in trace.kl.items()}
    reconstruction = nats(trace.logits, images).mean(1)
    return {"reconstruction": reconstruction} | {
        name: parts[name] / items for name in KL_TERMS if name in parts
    }


@dataclass(frozen=True)
class Loss:
    """Reconstruction plus weighted divergences, in nats per image; the score is the reconstruction alone.

    A batch holds "images" [B, T, C, H, W], 0 or 1, also as bytes, and may hold "queries" (by default the images),
    "noise" (see `Kanerva.noise_shapes`), "warm_up", a factor of all divergences (see `warm_up`), "balance", one of
    the balance (see `fade`), and for a mixture "tau", its temperature; these three are one number or [B], one for
    each episode.
    """

    #: which divergences count: "mean addresses", "full" or "mixture"; see `WEIGHTS`.
    experiment: str = "mean addresses"
    #: weight of -ln p(x | e(x)), the images decoded from their own codes; 0 in the paper.
    ae_weight: float = 0.0
    #: (name, weight) of divergences that weigh something else than in the experiment.
    changed: tuple[tuple[str, float], ...] = ()
    hide_green: bool = False  #: queries are the images without their green channel, as in the binding task.
    balance: float = 0.0  #: weight of the `unevenness` of the machines' use; ours, 0 in the paper.

    def __post_init__(self):
        check_names("experiment", [self.experiment], WEIGHTS)
        check_names("divergence", dict(self.changed), KL_TERMS)
        for name, weight in (("ae_weight", self.ae_weight), ("balance", self.balance), *self.changed):
            if not 0 <= weight < math.inf:
                raise UsageError(f"the weight of {name} has to be at least 0, got {weight!r}")

    @property
    def weights(self) -> dict[str, float]:
        """The divergences that count, and how much."""
        all_of_them = WEIGHTS[self.experiment] | dict(self.changed)
        return {name: weight for name, weight in all_of_them.items() if weight}

    def __call__(
        self, apply: Callable[..., KanervaTrace], batch: Batch
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Loss and score of a batch; `apply` is called like the network."""
        images = batch["images"]
        if not images.is_floating_point():  # bytes until they are on the device
            images = images.float()
        queries = hide(images) if self.hide_green else batch.get("queries")
        how = {"tau": batch["tau"]} if "tau" in batch else {}
        trace = apply(images, queries, batch.get("noise"), autoencode=self.ae_weight > 0, **how)
        parts = terms(trace, images)
        score = parts["reconstruction"].mean()
        loss = score + (batch.get("warm_up", 1.0) * self.divergence(parts)).mean()  # Eq. 5 and Eq. 7
        if self.ae_weight:
            loss = loss + self.ae_weight * nats(trace.autoencoded, images).mean()
        if self.balance:
            factor = torch.as_tensor(batch.get("balance", 1.0)).mean()
            loss = loss + self.balance * factor * unevenness(trace.shares)
        return loss, score

    def divergence(self, parts: dict[str, Float[Tensor, "B"]]) -> Float[Tensor, "B"]:
        """The weighted sum of the divergences among `terms`."""
        total = torch.zeros_like(parts["reconstruction"])
        for name, weight in self.weights.items():
            if name not in parts:
                raise UsageError(
                    f"this network has no divergence {name!r}; a mixture is trained with experiment='mixture'"
                )
            total = total + weight * parts[name]
        return total


def unevenness(shares: Float[Tensor, "B N K"]) -> Float[Tensor, ""]:
    """KL(mean share || 1 / K) over all items of all episodes, in nats: 0 where machines are used equally; ours.

    It looks at the mean alone, and leaves open whether every item is shared or each has a machine of its own.
    """
    mean = shares.mean(dim=(0, 1))  # [K]
    return math.log(len(mean)) + (mean * mean.clamp(min=torch.finfo(mean.dtype).tiny).log()).sum()


def warm_up(update: Int[Tensor, "*B"], over: int) -> Float[Tensor, "*B"]:
    """A factor that grows evenly from 0 at the first update to 1 after `over`; 1 throughout for 0."""
    return (update / over).clamp(max=1.0) if over else torch.ones_like(update, dtype=torch.float32)


def fade(update: Int[Tensor, "*B"], over: int) -> Float[Tensor, "*B"]:
    """A factor that falls evenly from 1 at the first update to 0 after `over`; 1 throughout for 0."""
    return 1.0 - warm_up(update, over) if over else warm_up(update, 0)


def temperature(update: Int[Tensor, "*B"], updates: int, last: float = 0.5) -> Float[Tensor, "*B"]:
    """Temperature of a mixture: falls evenly from 1 to `last` over the first half of all updates; ours."""
    return 1.0 - (1.0 - last) * (2 * update / updates).clamp(max=1.0)
