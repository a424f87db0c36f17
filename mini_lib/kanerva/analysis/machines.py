"""How machines share the work: each one's weight, and its image alone (Figures 2A, 2B and 4C)."""

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.kanerva.objective import nats


def sharing(gamma: Float[Tensor, "B T K"]) -> dict[str, float]:
    """How gamma spreads over machines and items.

    Returns:
        ``largest``: the mean of each item's largest gamma, 1 where one machine does everything (1/K at least).
        ``least_used``: the smallest machine's mean gamma, 1/K where machines share evenly.
        ``changes``: standard deviations over items, of all machines together; 0 where gamma is fixed (since the
        means add up to 1, this is the standard deviation in parts of the mean, weighted by use).
    """
    items = gamma.flatten(0, 1).double()
    return {
        "largest": items.max(dim=1).values.mean().item(),
        "least_used": items.mean(0).min().item(),
        "changes": items.std(0).sum().item(),
    }


def alone(
    pictures: Float[Tensor, "B T K C H W"], gamma: Float[Tensor, "B T K"], images: Float[Tensor, "B T C H W"]
) -> dict[str, float]:
    """What machines show alone, the one that counts most for an item and the others (Figure 2B).

    Args:
        pictures: logits of each machine's own image; see `Kanerva.machine_logits`.
        gamma: each machine's weight at reading.
        images: what was written.

    Returns:
        ``dominant_nll``: of the image that the machine with the largest gamma shows, in nats.
        ``idle_variance``: how much the other machines' images vary from item to item, in parts of what the dominant
        ones' do: variances of each pixel's probability, within each machine; 0 for a fixed pattern. NaN for one
        machine, or where no machine was idle, or none was dominant, for two items.
    """
    top = gamma.argmax(dim=2)
    index = top[..., None, None, None, None].expand(*top.shape, 1, *pictures.shape[3:])
    shown = pictures.gather(2, index).squeeze(2)
    probabilities = torch.sigmoid(pictures).flatten(3)

    def variance(dominant: bool) -> Tensor:
        """The mean variance of images whose machine was dominant, or idle, within each machine."""
        groups = [probabilities[:, :, i][(top == i) == dominant].double() for i in range(gamma.shape[2])]
        groups = [group for group in groups if len(group) > 1]
        total = sum(group.var(0).mean() * len(group) for group in groups)
        return total / sum(map(len, groups)) if groups else torch.tensor(torch.nan)

    return {
        "dominant_nll": nats(shown, images).mean().item(),
        "idle_variance": (variance(False) / variance(True)).item(),
    }
