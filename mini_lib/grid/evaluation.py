"""What a record of the study keeps: performance on training problems, on familiar and on new content."""

import math
from collections.abc import Callable, Mapping

import torch
from torch import nn
from torch.nn import functional as F

from mini_lib.functions.tasks import STEPS
from mini_lib.grid.analysis import Exchanges, dissociation
from mini_lib.grid.tasks import Problems, Transformed
from mini_lib.scan.runs import accuracy
from mini_lib.scan.syntactic_attention import loss
from mini_lib.scan.tasks import Examples

TOGETHER = 500  # problems that a network is asked at a time


def evaluate(
    model: nn.Module,
    scores: Callable[[nn.Module], dict[str, float]],
    exchanges: Exchanges,
    untrained: nn.Module,
) -> dict[str, float]:
    """All that a record keeps: scores by part, and what exchanges leave of the signal, untrained and trained."""
    before = {f"untrained_{name}": value for name, value in dissociation(untrained, exchanges).items()}
    return scores(model) | dissociation(model, exchanges) | before


@torch.no_grad()
def accuracies(model: nn.Module, parts: Mapping[str, Problems]) -> dict[str, float]:
    """Percent of right answers, and mean cross-entropy, of each part by name."""
    device, metrics = next(model.parameters()).device, {}
    for name, problems in parts.items():
        logits = torch.cat([model(ids.to(device)).cpu() for ids in problems.ids.split(TOGETHER)])
        right = logits.argmax(dim=1) == problems.answers
        metrics[name] = 100 * right.float().mean().item()
        metrics[f"{name}_loss"] = F.cross_entropy(logits, problems.answers).item()
    return metrics


@torch.no_grad()
def extrapolation_errors(model: nn.Module, parts: Mapping[str, Transformed]) -> dict[str, float]:
    """Mean squared error over ten steps, by part and class of curves; and each part's geometric mean over classes.

    The context slides: each prediction becomes the last observation, and the first one is forgotten, so that the
    network always sees as many points as in training.
    """
    device, metrics = next(model.parameters()).device, {}
    for name, part in parts.items():
        seen = part.y.to(device)
        observed = seen.shape[1]
        for _ in range(STEPS):
            context = seen[:, -observed:]
            seen = torch.cat([seen, (context[:, -1] + model(context))[:, None]], dim=1)
        errors = (seen[:, observed:].cpu() - part.truth).square().mean(dim=1)
        means = {kind: errors[rows].mean().item() for kind, rows in part.kinds.items()}
        metrics |= {f"{name}_{kind}": mean for kind, mean in means.items()}
        metrics[name] = math.prod(means.values()) ** (1 / len(means))
    return metrics


@torch.no_grad()
def exact_matches(model: nn.Module, parts: Mapping[str, Examples]) -> dict[str, float]:
    """Percent of commands of each part whose every action is right, and of familiar ones the loss."""
    device, familiar = next(model.parameters()).device, parts["familiar"]
    losses = []
    for part in familiar.length_buckets():
        words, lengths, actions = familiar[part].trimmed().to(device).tensors
        losses.append(len(part) * loss(model(words, lengths, actions), actions).item())
    found = {name: accuracy(model, part) for name, part in parts.items()}
    return found | {"familiar_loss": sum(losses) / len(familiar)}
