"""The Product Kanerva Machine with its networks (Section 2 and A.4)."""

from torch import nn

from mini_lib.errors import unknown_name_error
from mini_lib.kanerva.memory import RIDGE
from mini_lib.kanerva.models.assignment import AssignmentNetwork, GivenAssignment
from mini_lib.kanerva.models.network import Kanerva

ASSIGNMENTS = ("learned", "given")


class ProductKanerva(Kanerva):
    """K machines that all remember every item, each with the weight that an assignment network gives it.

    Writing and reading, item by item: z = e(x), h ~ q(h | z_1..t-1), u ~ q(u | z, h), eta = softplus(u) + .001,
    gamma_i = eta_i^-2 / sum_j eta_j^-2, w_i by least squares; then writing by Equations 2 to 4, or the answer
    mu_z = sum_i gamma_i R_i w_i, which is decoded. All queries share one h, of the whole episode.

    Any modules serve as encoder and decoder; `models.images` has the paper's.

    >>> import torch
    >>> from mini_lib.kanerva.objective import nats
    >>> encoder = nn.Sequential(nn.Flatten(2), nn.Linear(25, 6))  # images [B, T, 1, 5, 5] to codes [B, T, 6]
    >>> decoder = nn.Sequential(nn.Linear(6, 25), nn.Unflatten(2, (1, 5, 5)))
    >>> model = ProductKanerva(encoder, decoder, dim=6, machines=2, columns=4)
    >>> optimiser = torch.optim.Adam(model.parameters())
    >>> for _ in range(2):
    ...     images = (torch.rand(3, 8, 1, 5, 5) > 0.5).float()
    ...     trace = model(images)
    ...     kl = sum(each.mean() for each in trace.kl.values())
    ...     loss = nats(trace.logits, images).mean() + kl / 8
    ...     optimiser.zero_grad()
    ...     loss.backward()
    ...     optimiser.step()
    >>> trace.logits.shape, trace.weights.gamma.shape
    (torch.Size([3, 8, 1, 5, 5]), torch.Size([3, 8, 2]))

    Args:
        encoder: images to codes; see `models.images`.
        decoder: codes to logits.
        dim: D, features of a code, the paper's c.
        machines: K, the paper's k.
        columns: M, of each machine, the paper's m_i.
        stop_grad_r: nothing is learned through r; the assignment network stays as it was initialised (Figure 2C).
        assignment: "learned", or "given": the noise named "given" says which machine has an item; see
            `GivenAssignment`.
        ridge: lambda of the addressing.
        sample: addresses at their "mean" or drawn, "full"; see `Kanerva`.
    """

    rule = "product"

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        dim: int,
        machines: int,
        columns: int,
        *,
        stop_grad_r: bool = False,
        assignment: str = "learned",
        ridge: float = RIDGE,
        sample: str = "mean",
    ):
        if assignment not in ASSIGNMENTS:
            raise unknown_name_error("assignment", assignment, ASSIGNMENTS)
        super().__init__(encoder, decoder, dim, machines, columns, ridge=ridge, sample=sample)
        if assignment == "learned":
            self.assignment = AssignmentNetwork(dim, machines, self.history.size, stop_grad_r)
        else:
            self.assignment = GivenAssignment(machines)
