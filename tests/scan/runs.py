"""Small runs: their settings, and what is said of their examples."""

from collections import Counter

import torch

from mini_lib.scan.runs import Settings, build
from mini_lib.scan.tasks import NO_ACTION, padded

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


def build_double(settings, seed):
    """A run whose network is in double precision."""
    run = build(settings, seed)
    run.model.double()
    return run


def check_stack_gradients(stack, alone):
    """Parameter by parameter: those of a stack in double precision are those of each of its networks alone."""
    for place, own in enumerate(alone):
        for name, parameter in own.params.items():
            stacked = stack.params[name].grad
            assert (stacked is None) == (parameter.grad is None), name
            if stacked is not None:
                torch.testing.assert_close(stacked[place], parameter.grad, rtol=1e-7, atol=1e-10)


def of_size(count):
    """As much of a batch as noise asks for."""
    return {"lengths": torch.zeros(count)}


def rows(*parts):
    """Every command with its actions, counted over the parts, whatever the padding."""
    return Counter(
        tuple(row[row != NO_ACTION].tolist()) + tuple(words.tolist())
        for part in parts
        for words, row in zip(padded(part).words, padded(part).actions, strict=True)
    )
