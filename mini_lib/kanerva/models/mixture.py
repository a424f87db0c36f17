"""A mixture of Kanerva Machines: every item is one machine's, which is chosen at random (A.5)."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import UsageError
from mini_lib.kanerva.memory import MachineWeights
from mini_lib.kanerva.models.assignment import FromCodes
from mini_lib.kanerva.models.network import Kanerva
from mini_lib.kanerva.models.noise import GUMBEL


def straight_through(soft: Float[Tensor, "*B K"]) -> Float[Tensor, "*B K"]:
    """One-hot, 1 at the largest; its gradient is that of the soft weights (Jang et al. 2017, Bengio et al. 2013)."""
    largest = soft.argmax(dim=-1, keepdim=True)
    hard = torch.zeros_like(soft).scatter(-1, largest, 1.0)
    return hard + (soft - soft.detach())


class Choice(FromCodes):
    """The one-hot choice of a machine, drawn from softmax(Linear_1([MLP_1(z), h])) with Gumbel noise.

    gamma = softmax((logits + g) / tau), the choice is its largest, and gradients are those of gamma. The noise sigma
    of a machine is 1. The paper names Gumbel-softmax sampling; that the choice is hard going forward, and how logits
    come about, is ours. With `stop_grad` no gradient reaches the logits: the paper's control.
    """

    noise_name = GUMBEL

    def __init__(self, dim: int, machines: int, history: int, stop_grad: bool = False):
        super().__init__(dim, machines, stop_grad)
        self.logits = nn.Linear(machines + history, machines)

    def probabilities(
        self, features: Float[Tensor, "*B K"], h: Float[Tensor, "*B L"]
    ) -> Float[Tensor, "*B K"]:
        """Of each machine to be chosen, whatever the temperature; they pass no gradient with `stop_grad`."""
        soft = torch.softmax(self.logits(torch.cat([features, h], dim=-1)), dim=-1)
        return soft.detach() if self.stop_grad else soft

    def weights(
        self,
        features: Float[Tensor, "*B K"],
        h: Float[Tensor, "*B L"],
        noise: Float[Tensor, "*B K"] | None = None,
        tau: float | Float[Tensor, "..."] = 1.0,
    ) -> MachineWeights:
        """sigma, and the choice for standard Gumbel noise; without noise, the most probable machine.

        tau, the temperature, is one for all or one for each of B episodes.
        """
        if not isinstance(tau, Tensor) and not tau > 0:
            raise UsageError(f"tau, a temperature, has to be above 0, got {tau!r}")
        logits = self.logits(torch.cat([features, h], dim=-1))
        logits = logits if noise is None else logits + noise
        if isinstance(tau, Tensor) and tau.dim():
            tau = tau.reshape(-1, *[1] * (logits.dim() - 1))
        chosen = straight_through(torch.softmax(logits / tau, dim=-1))
        chosen = chosen.detach() if self.stop_grad else chosen
        return MachineWeights(torch.ones_like(chosen), chosen)


class MixtureKanerva(Kanerva):
    """K machines, of which one is chosen for every item and every query (Equations 60 to 62).

    As `ProductKanerva`, but gamma is one-hot: the chosen machine is written with its own error, and its answer is
    that of the memory. `forward`, `write` and `read` also take `tau`, the temperature of the choice, 1 by
    default. There is no divergence of the choice, as in the paper.

    >>> from mini_lib.kanerva.models.images import MLPDecoder, MLPEncoder
    >>> model = MixtureKanerva(MLPEncoder(1, 5, 6), MLPDecoder(1, 5, 6), dim=6, machines=3, columns=4)
    >>> trace = model(torch.ones(2, 7, 1, 5, 5), tau=0.5)  # B = 2 episodes of T = 7 images
    >>> trace.written.gamma.sum(-1).shape, trace.written.gamma.max().item()
    (torch.Size([2, 7]), 1.0)
    """

    coupling = "mixture"
    assignments: ClassVar = {"learned": Choice}

    def _shares(
        self, weights: MachineWeights, features: Float[Tensor, "B N K"], h: Float[Tensor, "B N L"]
    ) -> Float[Tensor, "B N K"]:
        """The probabilities of the choice: they have a gradient also where a machine is never chosen."""
        return self.assignment.probabilities(features, h)
