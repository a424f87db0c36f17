"""The settings of small runs."""

from mini_lib.scan.runs import Settings

SIZES = {
    "syntactic_attention": {"syntax": 8, "semantics": 6},
    "gru_attention": {"embedding": 6, "hidden": 5},
    "cnn": {"dim": 8, "layers": 2, "kernel": 3},
    "li": {"primitive": 4, "function": 4, "units": 6},
}


def small(model="syntactic_attention", **changes):
    """Few and small."""
    kept = {"split": "simple", "lr": 1e-2, "epochs": 3, "batch_size": 100 if model == "cnn" else 16}
    options = SIZES[model] | changes.pop("options", {})
    return Settings(model=model, **(kept | {"options": options, "checks": (1, 2)} | changes))
