"""What an exchange leaves of a signal, and which signals cannot say."""

import pytest
import torch

from mini_lib.esbn.network import TemporalContextNorm
from mini_lib.grid.analysis import ConstantSignal, kept
from mini_lib.seeding import torch_rng


def noise(*shape: int, purpose: str = "signal") -> torch.Tensor:
    return torch.randn(*shape, generator=torch_rng(1, purpose))


def test_nothing_moved_half_moved_all_moved():
    signal, fresh = noise(4000, 5), noise(4000, 5, purpose="fresh")
    assert kept(signal, signal) == 1
    # |s' - s|^2 = 2 (1 - r) when s and s' have unit variance and correlation r; random pairs are 2 apart
    assert kept(signal, (signal + fresh) / 2**0.5) == pytest.approx(0.5**0.5, abs=0.02)
    assert kept(signal, fresh) == pytest.approx(0, abs=0.03)


def test_kept_is_one_minus_the_ratio_of_distances():
    before = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
    after = before + torch.tensor([0.0, 1.0])
    # its own after is 1 away (squared), the other's 5; of random pairs some share are own ones
    share_own = (5 - 1 / (1 - kept(before, after))) / 4
    assert share_own * 20 == pytest.approx(round(share_own * 20), abs=1e-5)
    assert 0 < share_own < 1


def test_scale_shift_and_layout_do_not_matter():
    before, after = noise(50, 6), noise(50, 6) + 0.3 * noise(50, 6, purpose="fresh")
    plain = kept(before, after)
    assert kept(1e-3 * before + 2e-3, 1e-3 * after + 2e-3) == pytest.approx(plain, abs=1e-4)
    assert kept(before.view(50, 2, 3), after.view(50, 2, 3)) == plain


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_a_signal_at_rounding_is_refused(dtype: torch.dtype, shift: float):
    """The sum over a window of temporal context normalisation is 0 or T times the shift, whatever the problem."""
    norm = TemporalContextNorm(16, (9,)).to(dtype)
    norm.shift.data += shift
    pictures = noise(20, 16).to(dtype)
    shown = torch.randint(20, (300, 9), generator=torch_rng(1, "problems"))
    with torch.no_grad():
        z = norm(pictures[shown])
    total = z.sum(dim=1)
    assert total.std(dim=0).max() > 0  # it does vary, by rounding
    with pytest.raises(ConstantSignal):
        kept(total, total.flip(0))
    moments = z.transpose(1, 2) @ z
    turned = z[:, [0, 1, 2, 4, 3, 5, 6, 7, 8]]
    assert kept(moments, turned.transpose(1, 2) @ turned) == pytest.approx(1, abs=1e-5)
    assert kept(z, turned) < 0.9


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        (1e-6 * noise(50, 4), noise(50, 4), ConstantSignal),
        (torch.ones(5, 2), torch.rand(5, 2), ConstantSignal),
        (torch.rand(5, 2), torch.rand(5, 3), ValueError),
        (torch.rand(1, 2), torch.rand(1, 2), ValueError),
        (torch.rand(5, 2) / 0, torch.rand(5, 2), ValueError),
        (torch.rand(5, 2), torch.rand(5, 2) / 0, ValueError),
    ],
)
def test_signals_that_cannot_be_compared(before, after, error):
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        kept(before, after)
    assert type(refused.value) is error
