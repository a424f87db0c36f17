"""Small runs: their settings, and what is said of their examples."""

from collections import Counter

import torch

from mini_lib.scan.runs import Settings
from mini_lib.scan.tasks import NO_ACTION

SIZES = {
    "syntactic_attention": {"syntax": 8, "semantics": 6},
    "gru_attention": {"embedding": 6, "hidden": 5},
    "cnn": {"dim": 8, "layers": 2, "kernel": 3},
    "li": {"primitive": 4, "function": 4, "units": 6},
}


def small(model="syntactic_attention", **changes):
    """Few and small; commands are those of `few` where a test asks for it."""
    kept = {"split": "simple", "lr": 1e-2, "epochs": 3, "batch_size": 100 if model == "cnn" else 16}
    options = SIZES[model] | changes.pop("options", {})
    return Settings(model=model, **(kept | {"options": options, "checks": (1, 2)} | changes))


def of_size(count):
    """As much of a batch as noise asks for."""
    return {"lengths": torch.zeros(count)}


def rows(*parts):
    """Every command with its actions, counted over the parts, whatever the padding."""
    return Counter(
        tuple(row[row != NO_ACTION].tolist()) + tuple(words.tolist())
        for part in parts
        for words, row in zip(part.padded().words, part.padded().actions, strict=True)
    )
