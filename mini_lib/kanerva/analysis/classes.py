"""Whether machines are chosen by what a digit shows: class selectivity (Figures 2D, 4A, 4B and 5)."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mini_lib.errors import UsageError
from mini_lib.kanerva.tasks.digits import CLASSES


def class_means(
    values: Float[Tensor, "N F"], labels: Int[Tensor, "N A"]
) -> tuple[Float[Tensor, "..."], Int[Tensor, "..."]]:
    """Means of N items' values over all combinations of A labels, and how many items each combination has.

    With the red, green and blue digit as labels and gamma as values this is Figure 5, S[r, g, b]; with one label,
    Figure 4A and B. Combinations that do not occur are NaN.

    Args:
        values: F numbers of each item.
        labels: 0 to 9 each.

    Returns:
        [10, ..., 10, F], with A axes before F, and [10, ..., 10].

    Raises:
        UsageError: if items and labels are not equally many, or a label is not 0 to 9.
    """
    if len(values) != len(labels) or not len(values):
        raise UsageError(f"each item needs its labels; got {len(values)} items and labels of {len(labels)}")
    if labels.min() < 0 or labels.max() >= CLASSES:
        raise UsageError("labels are digits from 0 to 9")
    shape = (CLASSES,) * labels.shape[1]
    place = torch.zeros_like(labels[:, 0])
    for axis in labels.unbind(1):
        place = CLASSES * place + axis
    number = torch.bincount(place, minlength=math.prod(shape))
    sums = values.new_zeros(len(number), values.shape[1]).index_add(0, place, values)
    return (sums / number[:, None]).reshape(*shape, -1), number.reshape(shape)


def explained(values: Float[Tensor, "N F"], labels: Int[Tensor, " N"]) -> float:
    """Which share of the variance of N items' values their classes account for: eta squared, from 0 to 1.

    All F numbers of an item count together: sums of squares between classes over those of all. For gamma of two
    machines that is eta squared of gamma_1; for one-hot choices, of the choice. 0 where nothing varies, NaN where
    a value is.
    """
    whole = values.double() - values.double().mean(0)
    total = whole.square().sum()
    if total <= 1e-12 * len(values):
        return 0.0
    means, number = class_means(whole, labels[:, None])
    between = (number[:, None] * means.nan_to_num().square()).sum()
    return (between / total).item()
