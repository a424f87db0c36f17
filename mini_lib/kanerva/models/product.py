"""The Product Kanerva Machine with its networks (Section 2 and A.4)."""

from torch import nn

from mini_lib.errors import unknown_name_error
from mini_lib.kanerva.memory import COUPLINGS
from mini_lib.kanerva.models.assignment import AssignmentNetwork, GivenAssignment
from mini_lib.kanerva.models.network import Kanerva

ASSIGNMENTS = ("learned", "given")


class ProductKanerva(Kanerva):
    """K machines that all remember every item, each as much as an assignment network says.

    Writing and reading, item by item: z = e(x), h ~ q(h | z_1..t-1), u ~ q(u | z, h), eta = softplus(u) + .001,
    gamma_i = eta_i^-2 / sum_j eta_j^-2, w_i by least squares; then writing by Equations 2 to 4, or the answer
    mu_z = sum_i gamma_i R_i w_i, which is decoded. All queries share one h, of the whole episode.

    Args:
        encoder: images to codes; see `models.images`.
        decoder: codes to logits.
        dim: D, features of a code, the paper's c.
        machines: K, the paper's k.
        columns: M, of each machine, the paper's m_i.
        coupling: "product", or "independent", which is exact under Equation 37; see `memory.writing`.
        stop_grad_r: nothing is learned through r; the assignment network stays as it was initialised (Figure 2C).
        assignment: "learned", or "given": the noise named "given" says which machine has an item; see there.
        options: those of `Kanerva`.

    Raises:
        UsageError: for an option or a size that cannot be.
    """

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        dim: int,
        machines: int,
        columns: int,
        *,
        coupling: str = "product",
        stop_grad_r: bool = False,
        assignment: str = "learned",
        **options,
    ):
        for kind, name, known in (("coupling", coupling, COUPLINGS), ("assignment", assignment, ASSIGNMENTS)):
            if name not in known:
                raise unknown_name_error(kind, name, known)
        super().__init__(encoder, decoder, dim, machines, columns, rule=coupling, **options)
        learned = assignment == "learned"
        self.assignment = (
            AssignmentNetwork(dim, machines, self.history.size, stop_grad_r)
            if learned
            else GivenAssignment(machines)
        )
