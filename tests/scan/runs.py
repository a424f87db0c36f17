"""Settings of small runs."""

import torch

from mini_lib.scan.experiments import (
    Settings,
)

SMALL = {"syntax": 8, "semantics": 6}


CPU = torch.device("cpu")


FORMS = [
    {},
    {"sequential_semantics": True},
    {"syntax_action": True},
    {"nonlinear_semantics": True},
    {"surrounding": "top"},
    {"ends": "zero"},
    {"one_hot": True},
]


def small(**changes):
    """Few and small; commands are those of `few` where a test asks for it."""
    options = SMALL | changes.pop("options", {})
    return Settings(
        **{
            **{"split": "size_1", "model": "syntactic_attention", "lr": 1e-2, "epochs": 3, "batch_size": 16},
            **{"options": options, "checks": (1, 2)},
            **changes,
        }
    )
