"""How well a network extrapolates, and what its uncertainty is worth ("Results", Tables 1 and 2)."""

import torch
from jaxtyping import Float, Int
from scipy.stats import spearmanr
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.functions.extrapolation import CONTEXTS, Extrapolation, extrapolate
from mini_lib.functions.models import FunctionTransformer, RelationalTransformer
from mini_lib.functions.tasks import KINDS, STEPS, Curves, rows_by_kind

# The text says that classes are evenly split; the six printed "all" follow, within rounding, from these weights.
WEIGHTS = {"lin": 15 / 34, "rbf": 10 / 34, "sine": 9 / 34}
# Keys and values of one curve of 29 points take 10 MiB at the paper's size. On a CPU few curves stay in its cache.
CURVES_AT_ONCE = {"cpu": 25, "cuda": 500}


def per_kind(values: Float[Tensor, "B S"], kinds: Int[Tensor, "B"]) -> dict[str, float]:
    """Means over the curves of each class, and over all of them: "all" by `WEIGHTS`, "even" with equal weights."""
    means = {kind: values[rows].double().mean().item() for kind, rows in rows_by_kind(kinds).items()}
    if lacking := [kind for kind in KINDS if kind not in means]:
        raise UsageError(f"no curve of class {lacking[0]!r} to take a mean over")
    weighted = sum(WEIGHTS[kind] * means[kind] for kind in KINDS)
    return means | {"all": weighted, "even": sum(means.values()) / len(KINDS)}


def extrapolate_all(
    model: FunctionTransformer, y: Float[Tensor, "B T"], context: str = "growing"
) -> Extrapolation:
    """`extrapolate` curves in parts that fit the network's device; the result is on the CPU."""
    device = next(model.parameters()).device
    chunks = y.split(CURVES_AT_ONCE.get(device.type, 25))
    parts = [extrapolate(model, chunk.to(device), STEPS, context) for chunk in chunks]
    point, spread = (torch.cat([part[i].cpu() for part in parts]) for i in (0, 1))
    by_step = zip(*(part.estimates for part in parts), strict=True)
    return Extrapolation(point, spread, [torch.cat(step).cpu() for step in by_step])


def evaluate(model: FunctionTransformer, curves: Curves) -> dict[str, float]:
    """Everything that a record keeps of the last 10 points of curves, extrapolated from the others.

    Each figure is a mean over steps and curves, by class, "all" and "even".

    Returns:
        ``mse_lin`` and so on: squared error against the noiseless function, context growing. ``noisy_mse_``: against
        observations. ``sliding_mse_``: context sliding. With a window ``window``: its length. For a relational
        network also ``spread_``: standard deviation of the estimates (Table 2); ``covered_1_`` and ``covered_2_``:
        percentage of observations within one and two of them; ``spread_error_``, by class: rank correlation of the
        spread with the absolute error against observations, all steps together (both grow with the steps;
        `analysis.rank_within_steps` keeps them apart).
    """
    seen, truth, y = curves.y[:, :-STEPS], curves.truth[:, -STEPS:], curves.y[:, -STEPS:]
    grown, slid = (extrapolate_all(model, seen, context) for context in CONTEXTS)
    measures = {
        "mse": (grown.point - truth).square(),
        "noisy_mse": (grown.point - y).square(),
        "sliding_mse": (slid.point - truth).square(),
    }
    relational = isinstance(model, RelationalTransformer)
    if relational:
        measures["spread"] = grown.spread
        measures |= {f"covered_{n}": 100 * grown.covers(y, n).float() for n in (1, 2)}
    metrics = {
        f"{name}_{kind}": mean
        for name, values in measures.items()
        for kind, mean in per_kind(values, curves.kinds).items()
    }
    if relational:
        metrics |= spread_against_error(grown, y, curves.kinds)
    if model.window is not None:
        metrics["window"] = model.window.length.mean().item()
    return metrics


def spread_against_error(
    forecast: Extrapolation, y: Float[Tensor, "B S"], kinds: Int[Tensor, "B"]
) -> dict[str, float]:
    """Spearman's correlation, over all points of a class, of the spread with how far an observation is off."""
    error = (forecast.point - y).abs()
    return {
        f"spread_error_{kind}": float(spearmanr(forecast.spread[rows].ravel(), error[rows].ravel()).statistic)
        for kind, rows in rows_by_kind(kinds).items()
    }
