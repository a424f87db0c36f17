"""The Product Kanerva Machine with its networks (Section 2 and A.4)."""

from functools import partial
from typing import ClassVar

from mini_lib.kanerva.models.assignment import AssignmentNetwork, EvenAssignment, GivenAssignment
from mini_lib.kanerva.models.network import Kanerva


class ProductKanerva(Kanerva):
    """K machines that all remember every item, each with the weight that an assignment network gives it.

    Writing and reading, item by item: z = e(x), h ~ q(h | z_1..t-1), u ~ q(u | z, h), eta = softplus(u) + .001,
    gamma_i = eta_i^-2 / sum_j eta_j^-2, w_i by least squares; then writing by Equations 2 to 4, or the answer
    mu_z = sum_i gamma_i R_i w_i, which is decoded. All queries share one h, of the whole episode.

    Arguments are those of `Kanerva`. Any modules serve as encoder and decoder; `models.images` has the paper's.

    >>> import torch
    >>> from torch import nn
    >>> from mini_lib.kanerva.objective import nats
    >>> encoder = nn.Sequential(nn.Flatten(2), nn.Linear(25, 6))  # images [B, T, 1, 5, 5] to codes [B, T, 6]
    >>> decoder = nn.Sequential(nn.Linear(6, 25), nn.Unflatten(2, (1, 5, 5)))
    >>> model = ProductKanerva(encoder, decoder, dim=6, machines=2, columns=4)
    >>> optimizer = torch.optim.Adam(model.parameters())
    >>> for _ in range(2):
    ...     images = (torch.rand(3, 8, 1, 5, 5) > 0.5).float()
    ...     trace = model(images)
    ...     kl = sum(each.mean() for each in trace.kl.values())
    ...     loss = nats(trace.logits, images).mean() + kl / 8
    ...     optimizer.zero_grad()
    ...     loss.backward()
    ...     optimizer.step()
    >>> trace.logits.shape, trace.weights.gamma.shape
    (torch.Size([3, 8, 1, 5, 5]), torch.Size([3, 8, 2]))
    """

    coupling = "product"
    assignments: ClassVar = {
        "learned": AssignmentNetwork,
        "unit prior": partial(AssignmentNetwork, prior="unit"),
        "given": lambda dim, machines, history, stop_grad: GivenAssignment(machines),
        "even": lambda dim, machines, history, stop_grad: EvenAssignment(machines),
    }
