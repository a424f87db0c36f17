import pytest
import torch

from mini_lib.esbn.analysis import answers_with_edited_keys
from mini_lib.esbn.models import build_network


@pytest.fixture
def core():
    """A small ESBN whose first keys are not zero, as they are before training."""
    torch.manual_seed(0)
    core = build_network("esbn", classes=4, windows=(9,), width=0.125).core
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return core


def leave(t, keys):
    return keys


@pytest.mark.parametrize("confidence", [True, False])
def test_without_an_edit_it_is_the_network(confidence):
    torch.manual_seed(1)
    name = "esbn" if confidence else "esbn_no_confidence"
    core = build_network(name, classes=4, windows=(9,), width=0.125).core
    with torch.no_grad():
        core.key.bias.add_(torch.rand_like(core.key.bias))
        z = torch.randn(3, 9, 16)
        assert torch.allclose(answers_with_edited_keys(core, z, leave), core(z), atol=1e-5)
        assert core(z).abs().max() > 1e-3


def test_an_edit_reaches_the_answer(core):
    z = torch.randn(3, 9, 16)
    with torch.no_grad():
        zeroed = answers_with_edited_keys(core, z, lambda t, keys: [0 * key for key in keys])
        assert not torch.allclose(zeroed, core(z), atol=1e-4)


def test_edits_see_the_keys_written_before(core):
    seen = []
    z = torch.randn(2, 9, 16)
    with torch.no_grad():
        answers_with_edited_keys(
            core, z, lambda t, keys: seen.append((t, torch.stack(keys) if keys else None)) or keys
        )
        written = core.trace(z).keys_written
    assert [t for t, _ in seen] == list(range(10))
    assert torch.allclose(seen[9][1], written[:, :9].transpose(0, 1), atol=1e-5)


def test_wrong_edits_are_refused(core):
    with pytest.raises(ValueError, match="at step 0 memory holds 0 keys, the edit returned 1"):
        answers_with_edited_keys(core, torch.randn(2, 9, 16), lambda t, keys: [*keys, torch.zeros(2, 32)])
    other = build_network("esbn_default_memory", classes=4, windows=(9,), width=0.125).core
    with pytest.raises(ValueError, match="default entry"):
        answers_with_edited_keys(other, torch.randn(2, 9, 16), leave)
