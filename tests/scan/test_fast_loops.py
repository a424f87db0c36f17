"""The loops with hand-derived gradients against the plain lines, in double precision.

Values are those of slow numpy in both forms: see `test_networks.py`.
"""

import pytest
import torch
from torch.func import functional_call, jvp

from mini_lib.scan import attention_fast as fast
from mini_lib.scan.tasks import encode
from scan.networks import COMMANDS, make

WORDS, LENGTHS, ACTIONS = encode(COMMANDS).tensors


@pytest.mark.parametrize("form", ["default", "sequential", "top, ends hear"])
@pytest.mark.parametrize("steps", [1, 2, 3, 7])
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_first_and_second_derivatives_are_those_of_the_plain_lines(form, steps, monkeypatch):
    network = make(form, spread=1.0)
    state = {key: each.detach() for key, each in network.named_parameters()}
    ahead = {key: torch.randn_like(each) for key, each in state.items()}

    def value(parameters):
        """A sum of logits with weights that tell every entry from the others."""
        logits = functional_call(network, parameters, (WORDS, LENGTHS, ACTIONS[:, :steps]))
        return (logits.flatten().sin() * torch.linspace(-1, 2, logits.numel())).sum()

    def derivatives():
        """Gradient, slope along `ahead`, and Hessian times `ahead`."""
        leaves = {key: each.clone().requires_grad_() for key, each in state.items()}
        kinds = {"create_graph": True, "allow_unused": True, "materialize_grads": True}
        first = torch.autograd.grad(value(leaves), leaves.values(), **kinds)
        slope = sum((each * ahead[key]).sum() for each, key in zip(first, leaves, strict=True))
        return *first, slope, *torch.autograd.grad(slope, leaves.values(), **kinds)

    found, forward = derivatives(), jvp(value, (state,), (ahead,))[1]
    monkeypatch.setattr(fast, "applies", lambda *tensors: False)
    torch.testing.assert_close(found, derivatives(), rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(forward, found[len(state)].detach(), rtol=1e-9, atol=1e-11)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_the_fast_form_runs_where_it_applies_and_nowhere_else():
    x = torch.zeros(2)
    assert fast.applies(x, x.double())
    assert not fast.applies(x, x.bfloat16())
    with torch.autocast("cpu", torch.bfloat16):
        assert not fast.applies(x)
    with torch.autograd.forward_ad.dual_level():
        assert not fast.applies(x, torch.autograd.forward_ad.make_dual(x, x))
