"""Predictors with few parameters, or none, to compare the networks with.

A predictor takes observations at x = 1..N and returns values at x = N+1..N+S, in float64 on the CPU:
`predict(y [B, N], steps) -> [B, S]`. `PREDICTORS` has them by name; `bounds` adds the best possible ones.

The linear autoregressive models are those of Segert and Cohen (2022a), as the paper describes them in "Background":
f(i) = sum_j w_j f(i - j) for j = 1..L, without an intercept, with weights fitted to one curve. A straight line is
the case w = (2, -1), a sine of angular frequency v the case w = (2 cos v, -1).
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import UsageError, check_positive, check_positive_int
from mini_lib.functions.tasks import STEPS, check_curves, positions

Predictor = Callable[[Tensor, int], Tensor]
CLIP_FACTOR = 3.0  # a rollout stays within this many times the largest observation
ORDERS = (2, 3, 4, 5, 6)  # among which leave-one-out chooses


def checked(y: Float[Tensor, "B N"], steps: int) -> Float[Tensor, "B N"]:
    """The observations in float64, on the CPU."""
    check_curves(y)
    check_positive_int(steps=steps)
    return y.cpu().double()


def zero(y: Float[Tensor, "B N"], steps: int = STEPS) -> Float[Tensor, "B S"]:
    """Zero, the mean of all classes of curves."""
    return torch.zeros(len(checked(y, steps)), steps, dtype=torch.float64)


def last_value(y: Float[Tensor, "B N"], steps: int = STEPS) -> Float[Tensor, "B S"]:
    """The last observation, repeated."""
    return checked(y, steps)[:, -1:].expand(-1, steps).clone()


def straight_line(y: Float[Tensor, "B N"], steps: int = STEPS) -> Float[Tensor, "B S"]:
    """The line of ordinary least squares, with an intercept."""
    y = checked(y, steps)
    observed = y.shape[1]
    x = positions(observed + steps) - (observed + 1) / 2  # 0 in the middle of the observations
    slope = y @ x[:observed] / x[:observed].square().sum()
    return y.mean(dim=1, keepdim=True) + slope[:, None] * x[observed:]


def lags(y: Float[Tensor, "B N"], order: int) -> tuple[Float[Tensor, "B E L"], Float[Tensor, "B E"]]:
    """The equations of AR(L): the L values before each value, latest first, and the value. E = N - L."""
    check_positive_int(order=order)
    if order >= y.shape[1]:
        raise UsageError(f"AR(L) of {y.shape[1]} observations needs an L below {y.shape[1]}, got {order}")
    return y[:, :-1].unfold(1, order, 1).flip(-1), y[:, order:]


def _inverse(before: Float[Tensor, "B E L"], ridge: float) -> Float[Tensor, "B L L"]:
    """(X^T X + lambda I)^-1."""
    check_positive(ridge=ridge)
    return torch.linalg.inv(before.mT @ before + ridge * torch.eye(before.shape[2], dtype=before.dtype))


def ar_weights(y: Float[Tensor, "B N"], order: int, ridge: float) -> Float[Tensor, "B L"]:
    """The ridge solution (X^T X + lambda I)^-1 X^T f for each curve, from the equations of `lags`."""
    before, value = lags(y, order)
    return (_inverse(before, ridge) @ (before.mT @ value[..., None]))[..., 0]


def roll_out(
    y: Float[Tensor, "B N"], weights: Float[Tensor, "B L"], steps: int, clip_factor: float = CLIP_FACTOR
) -> Float[Tensor, "B S"]:
    """Apply f(i) = sum_j w_j f(i - j) to its own predictions.

    They are clipped at `clip_factor` times the curve's largest absolute observation (math.inf: not at all), since a
    few curves that grow exponentially would dominate the mean.
    """
    limit = clip_factor * y.abs().amax(dim=1)
    for _ in range(steps):
        following = (weights * y[:, -weights.shape[1] :].flip(-1)).sum(dim=1)
        y = torch.cat([y, following.clamp(-limit, limit)[:, None]], dim=1)
    return y[:, -steps:]


def autoregression(
    y: Float[Tensor, "B N"],
    steps: int = STEPS,
    order: int = 2,
    ridge: float = 0.1,
    clip_factor: float = CLIP_FACTOR,
) -> Float[Tensor, "B S"]:
    """AR(L), L the `order`, with weights fitted to each curve (`ar_weights`) and rolled out (`roll_out`)."""
    y = checked(y, steps)
    return roll_out(y, ar_weights(y, order, ridge), steps, clip_factor)


def leave_one_out(y: Float[Tensor, "B N"], order: int, ridge: float, skip: int) -> Float[Tensor, "B"]:
    """Mean squared error of the values after the first `skip`, each predicted with weights fitted to the others.

    Without refitting: the error left out is the residual over 1 - h, with h from the diagonal of X A^-1 X^T.
    """
    before, value = (part[:, skip - order :] for part in lags(y, order))
    projected = before @ _inverse(before, ridge)
    residual = value - (projected @ (before.mT @ value[..., None]))[..., 0]
    return (residual / (1 - (projected * before).sum(dim=2))).square().mean(dim=1)


def order_by_loocv(
    y: Float[Tensor, "B N"], steps: int = STEPS, orders: tuple[int, ...] = ORDERS, ridge: float = 0.1
) -> Float[Tensor, "B S"]:
    """AR(L) with the L of least leave-one-out error on the curve, over the values after the first max(L)."""
    y = checked(y, steps)
    errors = torch.stack([leave_one_out(y, order, ridge, max(orders)) for order in orders])
    answers = torch.stack([roll_out(y, ar_weights(y, order, ridge), steps) for order in orders])
    return answers[errors.argmin(dim=0), torch.arange(len(y))]


PREDICTORS: dict[str, Predictor] = {
    "zero": zero,
    "last value": last_value,
    "OLS line": straight_line,
    "ridge AR(2)": autoregression,
    "ridge AR, own L": order_by_loocv,
}
