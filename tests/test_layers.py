import numpy as np
import pytest
import torch

from mini_lib.layers import LSTMCell, linear, sinusoidal_positions


def test_lstm_cell_is_torchs():
    ours, theirs = LSTMCell(7, 5), torch.nn.LSTMCell(7, 5)
    ours.load_state_dict(theirs.state_dict())
    x, state = torch.randn(3, 7), (torch.randn(3, 5), torch.randn(3, 5))
    torch.testing.assert_close(ours(x, state), theirs(x, state))
    x, (h, c) = torch.randn(3, 4, 7), ours.initial_state(x)  # a sequence is projected at once
    one = other = h, c
    for t, projected in enumerate(ours.project(x).unbind(1)):
        one, other = ours.step(projected, one), theirs(x[:, t], other)
    torch.testing.assert_close(one, other)


def test_positions_are_those_of_vaswani():
    table = sinusoidal_positions(9, 128).numpy()
    for t, i in [(0, 0), (3, 0), (3, 1), (8, 64), (8, 127)]:
        angle = t / 10_000 ** (2 * (i // 2) / 128)
        assert table[t, i] == pytest.approx(np.cos(angle) if i % 2 else np.sin(angle), abs=1e-6)


@pytest.mark.parametrize(
    ("init", "std"),
    [("kaiming", (2 / 400) ** 0.5), ("xavier", (2 / 600) ** 0.5), ("xavier_tanh", 5 / 3 * (2 / 600) ** 0.5)],
)
def test_initial_weights_have_the_named_spread(init, std):
    torch.manual_seed(0)
    layer = linear(400, 200, init)
    assert layer.weight.std().item() == pytest.approx(std, rel=0.02)
    assert layer.bias.abs().max() == 0
