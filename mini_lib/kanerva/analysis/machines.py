"""How machines share the work: how much each counts, and what each one says alone (Figures 2A, 2B and 4C)."""

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
    varies = [[], []]  # sums of squares and items, of the idle and the dominant
    for i in range(gamma.shape[2]):
        for ahead in (0, 1):
            chosen = probabilities[:, :, i][(top == i) == bool(ahead)].double()
            if len(chosen) > 1:
                varies[ahead].append((chosen.var(0).mean() * len(chosen), len(chosen)))
    idle, dominant = (
        sum(v for v, _ in each) / sum(n for _, n in each) if each else torch.tensor(torch.nan)
        for each in varies
    )
    return {
        "dominant_nll": nats(shown, images).mean().item(),
        "idle_variance": (idle / dominant).item(),
    }
