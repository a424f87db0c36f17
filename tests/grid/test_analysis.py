"""What an exchange of content or structure leaves of a signal, and which signals cannot say."""

import math

import pytest
import torch

from mini_lib.esbn.network import TemporalContextNorm
from mini_lib.grid.analysis import (
    ConstantSignal,
    commands_exchanged,
    curves_exchanged,
    dissociation,
    glyphs_exchanged,
    kept,
    signal,
)
from mini_lib.grid.runs import Settings
from mini_lib.grid.tasks import item_tests, rules
from mini_lib.scan.tasks import WORD_IDS
from mini_lib.seeding import torch_rng


def noise(*shape: int, purpose: str = "signal") -> torch.Tensor:
    return torch.randn(*shape, generator=torch_rng(1, purpose))


def test_nothing_moved_half_moved_all_moved():
    signal, fresh = noise(4000, 5), noise(4000, 5, purpose="fresh")
    assert kept(signal, signal) == 1
    # |s' - s|^2 = 2 (1 - r) when s and s' have unit variance and correlation r; random pairs are 2 apart
    assert kept(signal, (signal + fresh) / 2**0.5) == pytest.approx(0.5**0.5, abs=0.02)
    assert kept(signal, fresh) == pytest.approx(0, abs=0.03)


def test_scale_shift_and_layout_do_not_matter():
    before, after = noise(50, 6), noise(50, 6) + 0.3 * noise(50, 6, purpose="fresh")
    plain = kept(before, after)
    assert kept(1e-3 * before + 2e-3, 1e-3 * after + 2e-3) == pytest.approx(plain, abs=1e-4)
    assert kept(before.view(50, 2, 3), after.view(50, 2, 3)) == plain


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_signal_at_rounding_is_refused(dtype: torch.dtype):
    """The sum over a window of temporal context normalization is T times the shift, whatever the problem."""
    norm = TemporalContextNorm(16, (9,)).to(dtype)
    norm.shift.data += 0.1
    z = norm(noise(300, 9, 16).to(dtype)).detach()
    total = z.sum(dim=1)
    assert total.std(dim=0).max() > 0  # it does vary, by rounding
    with pytest.raises(ConstantSignal):
        kept(total, total.flip(0))
    assert kept(z, z[:, [0, 1, 2, 4, 3, 5, 6, 7, 8]]) < 0.9


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        (1e-6 * noise(50, 4), noise(50, 4), ConstantSignal),
        (noise(5, 2), noise(5, 3), ValueError),
        (noise(5, 2), noise(5, 2) / 0, ValueError),
    ],
)
def test_signals_that_cannot_be_compared(before, after, error):
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        kept(before, after)
    assert type(refused.value) is error


@pytest.mark.parametrize("task", ["distribution_of_three", "rmts"])
def test_exchanged_content_leaves_what_is_alike_and_exchanged_structure_the_glyphs(task):
    data = rules(task, 95, seed=1)
    (before,), (content,), (structure,) = glyphs_exchanged(data.familiar, *data.images)
    alike = [ids[..., 0][:, :, None] == ids[..., 0][:, None] for ids in (before, content, structure)]
    assert torch.equal(alike[0], alike[1])
    assert not {*before.unique().tolist()} & {*content.unique().tolist()}
    assert torch.equal(before.sort(dim=1).values, structure.sort(dim=1).values)
    assert (alike[0] != alike[2]).flatten(1).any(dim=1).all()  # in every problem


def test_items_change_places_and_the_one_that_is_asked_about_stays():
    tests = item_tests(1, 20)
    pools = (tests["familiar"].ids.unique()[:-1], tests["new"].ids.unique()[:-1])
    (before,), (content,), (structure,) = glyphs_exchanged(tests["familiar"], *pools)
    assert structure[:, 1:8].equal(before[:, :7])
    assert structure[:, [0, 8]].equal(before[:, [7, 8]])
    assert ((content == 100) == (before == 100)).all()


def test_curves_are_lifted_and_commands_say_another_verb(few_commands):
    (y,), (lifted,), (other,) = curves_exchanged()
    torch.testing.assert_close(lifted.diff(dim=1), y.diff(dim=1), rtol=0, atol=1e-5)
    assert 2 < (lifted - y).abs().max() <= 3
    torch.testing.assert_close(other[:, -1], y[:, -1])
    torch.testing.assert_close(other.diff(dim=1)[1:], y.diff(dim=1)[:-1], rtol=0, atol=1e-5)
    before, content, structure = (words for words, *_ in commands_exchanged())
    run, look, link, after = (WORD_IDS[word] for word in ("run", "look", "and", "after"))
    assert (before == run).any(dim=1).all()
    assert content.equal(before.where(before != run, look))
    assert structure.equal(before.where(before != link, after))


def exchanges(count=20):
    return glyphs_exchanged(item_tests(1, count)["new"], torch.arange(5), torch.arange(5, 10))


@pytest.mark.parametrize(("codes", "wanted"), [(0.0, 1.0), (torch.nan, torch.nan)])
def test_a_constant_signal_keeps_all_of_itself_and_a_broken_one_says_nothing(codes, wanted):
    """NaN in a record makes the run a diverged one."""
    network = Settings("match", "corelnet fixed", 1e-3, 3).network()
    network.codes.fill_(codes)
    found = dissociation(network, exchanges())
    assert found == pytest.approx({"kept_content": wanted, "kept_structure": wanted}, nan_ok=True)


def test_a_fixed_relation_keeps_all_when_content_is_exchanged_and_not_when_structure_is():
    network = Settings("distribution_of_three", "corelnet fixed", 1e-3, 3, m=95).network()
    data = rules("distribution_of_three", 95, seed=1)
    found = dissociation(network, glyphs_exchanged(data.familiar, *data.images))
    assert found["kept_content"] == pytest.approx(1, abs=1e-3)
    assert found["kept_structure"] < 0.95
    assert not math.isnan(found["kept_structure"])


def test_the_signal_is_what_the_last_layer_reads():
    ids = item_tests(1, 4)["new"].ids
    for model in ("esbn", "transformer", "differences"):
        network = Settings("match", model, 1e-3, 3).network()
        last = getattr(network.core, "transformer", network.core).answer
        torch.testing.assert_close(last(signal(network, (ids,))), network(ids))
    pointer = Settings("match", "pointer", 1e-3, 3).network()
    torch.testing.assert_close(signal(pointer, (ids,)).sum(dim=1), torch.ones(4))
