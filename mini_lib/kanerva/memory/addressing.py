"""Where to look: columns by least squares (A.1.2), and how much each machine counts (Eq. 45).

All machines look for the whole code, not for what the others leave of it.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError, check_names

RIDGE = 0.35  # lambda; the paper has .1 to .5, "typically 0.35"
SOLVERS = ("ridge", "dkm")


def addresses(
    R: Float[Tensor, "B K D M"], codes: Float[Tensor, "B N D"], solver: str = "ridge", ridge: float = RIDGE
) -> Float[Tensor, "B N K M"]:
    """The columns' weights with which each machine comes nearest to each of N codes.

    "ridge" minimises ``|z - R w|^2 + lambda |w|^2``, so that w = (R^T R + lambda I)^-1 R^T z. "dkm" hands
    A = R^T R and R^T z to such a solver in place of R and z, as the code of the Dynamic Kanerva Machine does, so
    that w = (A^2 + lambda I)^-1 A R^T z. A singular value s of R becomes s / (s^2 + lambda) and
    s^3 / (s^4 + lambda).

    One factorisation serves all N codes of a memory. The diagonal gets a little more than lambda (see
    `add_jitter`). With "dkm", float32 and many large numbers that little may exceed lambda; take float64 there.
    """
    check_names("solver", [solver], SOLVERS)
    if not 0 < ridge < math.inf:
        raise UsageError(f"ridge (lambda) has to be above 0, got {ridge!r}")
    gram = R.mT @ R  # [B, K, M, M]
    rhs = (codes[:, None] @ R).mT  # [B, K, M, N]; rows times matrices, as a batch of columns is slower
    if solver == "dkm":
        gram, rhs = gram @ gram, gram @ rhs
    return solve(add_jitter(gram, ridge), rhs).permute(0, 3, 1, 2)


def address(
    R: Float[Tensor, "B K D M"], code: Float[Tensor, "B D"], solver: str = "ridge", ridge: float = RIDGE
) -> Float[Tensor, "B K M"]:
    """`addresses` of one code."""
    return addresses(R, code[:, None], solver, ridge)[:, 0]


def add_jitter(matrix: Float[Tensor, "*B M M"], ridge: float = 0.0) -> Float[Tensor, "*B M M"]:
    """Matrix + ridge I, for a positive semidefinite matrix; exact but for rounding.

    The diagonal also gets what rounding may have taken from an eigenvalue: the trace times the machine epsilon,
    about 1e-14 in float64.
    """
    trace = matrix.diagonal(dim1=-2, dim2=-1).sum(-1)
    added = ridge + torch.finfo(matrix.dtype).eps * trace
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return matrix + added[..., None, None] * identity


def root(matrix: Float[Tensor, "*B M M"]) -> Float[Tensor, "*B M M"]:
    """L with L L^T = matrix plus `add_jitter`; nothing is checked, which would make a GPU wait."""
    return torch.linalg.cholesky_ex(add_jitter(matrix), check_errors=False).L


def solve(matrix: Float[Tensor, "*B M M"], rhs: Float[Tensor, "*B M N"]) -> Float[Tensor, "*B M N"]:
    """Solve A x = b for x, for a symmetric positive definite A; nothing is checked."""
    factor = torch.linalg.cholesky_ex(matrix.detach(), check_errors=False).L
    return _Solved.apply(matrix, factor, rhs)


class _Solved(torch.autograd.Function):
    """x with A x = b, where A's Cholesky factor is at hand.

    The gradient of b is g = A^-1 dx, that of A is -g x^T: two triangular solves with the factor, where PyTorch's own
    way back through the factorisation takes several times as long. As g is solved for by the same function,
    derivatives of any order are right, in reverse mode; there is no other.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(matrix: Tensor, factor: Tensor, rhs: Tensor) -> Tensor:
        if factor.device.type == "cpu":
            return torch.cholesky_solve(rhs, factor)
        # The same in two steps: on a GPU PyTorch's function for many systems waits, and is slow.
        half = torch.linalg.solve_triangular(factor, rhs, upper=False)
        return torch.linalg.solve_triangular(factor.mT, half, upper=True)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2], output)

    @staticmethod
    def backward(ctx, dx: Tensor) -> tuple[Tensor, None, Tensor]:
        matrix, factor, x = ctx.saved_tensors
        g = _Solved.apply(matrix, factor, dx)
        return -(g @ x.mT), None, g


def gamma_from_eta(eta: Float[Tensor, "*B K"]) -> Float[Tensor, "*B K"]:
    """gamma_i = eta_i^-2 / sum_j eta_j^-2, where eta_i stands for sigma_i / sqrt(r_i) (A.3.3).

    Through logarithms, since 1 / eta^2 may be too large for a number. An eta that is not above 0 gives NaN.
    """
    return torch.softmax(-2 * eta.log(), dim=-1)  # Eq. 45; Eq. 52
