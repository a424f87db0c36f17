"""Shared layers against PyTorch's own, and what the base class promises of inputs and noise."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mini_lib import layers
from mini_lib.errors import UsageError
from mini_lib.layers import LSTMCell, check_dropout, check_sequences, dropout_masks, lstm_step
from mini_lib.module import Module, check_floats, noise_or_draw

CPU = torch.device("cpu")


def test_lstm_cell_is_torchs_and_a_forget_bias_is_its_forget_gates():
    ours, theirs = LSTMCell(7, 5), nn.LSTMCell(7, 5)
    ours.load_state_dict(theirs.state_dict())
    x, one = torch.randn(3, 4, 7), ours.initial_state(torch.zeros(3))
    other = one
    for t, projected in enumerate(ours.project(x).unbind(1)):  # a sequence is projected at once
        one, other = ours.step(projected, one), theirs(x[:, t], other)
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(ours(x[:, 0], one), theirs(x[:, 0], other))
    gates = torch.randn(3, 20)
    shifted = gates + F.pad(torch.ones(5), (5, 10))
    torch.testing.assert_close(lstm_step(gates, one[1], forget_bias=1.0), lstm_step(shifted, one[1]))


def test_attention_is_pytorchs_with_a_bias_and_a_factor():
    q, k, v = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)
    bias = torch.randn(3, 5).masked_fill(torch.eye(3, 5) == 1, -torch.inf)
    out, weights = layers.attention(q, k, v, bias, factor=0.5)
    torch.testing.assert_close(out, 0.5 * F.scaled_dot_product_attention(q, k, v, attn_mask=bias))
    torch.testing.assert_close(weights @ v, out)
    assert (weights[:, torch.eye(3, 5) == 1] == 0).all()


def test_positions_are_those_of_vaswani():
    table = layers.sinusoidal_positions(9, 127).numpy()
    for t, i in [(0, 0), (3, 0), (3, 1), (8, 64), (8, 125)]:
        angle = t / 10_000 ** (2 * (i // 2) / 127)
        assert table[t, i] == pytest.approx(np.cos(angle) if i % 2 else np.sin(angle), abs=1e-6)


@pytest.mark.parametrize(
    ("init", "gain"),
    [("kaiming", (600 / 400) ** 0.5), ("xavier", 1), ("xavier_tanh", 5 / 3), ("glorot", 1)],
)
def test_initial_weights_have_the_named_spread(init, gain):
    torch.manual_seed(0)
    layer = layers.linear(400, 200, init)
    assert layer.weight.std().item() == pytest.approx(gain * (2 / 600) ** 0.5, rel=0.02)
    assert (layer.weight.abs().max() <= (6 / 600) ** 0.5) == (init == "glorot")
    assert layer.bias.abs().max() == 0


def test_an_lstm_begins_with_the_spread_of_its_gates_or_with_pytorchs():
    torch.manual_seed(0)
    cell, theirs = LSTMCell(200, 200), LSTMCell(3, 100, init="uniform")
    for weight in (cell.weight_ih, cell.weight_hh):
        spreads = [gate.std().item() * 400**0.5 for gate in weight.chunk(4)]
        assert spreads == pytest.approx([(4 / 3) ** 0.5, (4 / 3) ** 0.5, 5 / 3 * 2**0.5, 2**0.5], rel=0.03)
    assert cell.bias_ih.abs().max() == cell.bias_hh.abs().max() == 0
    assert all(0.09 < parameter.abs().max() <= 0.1 for parameter in theirs.parameters())


def test_dropout_hides_its_share_and_keeps_the_mean():
    masks = dropout_masks({"words": (100, 200)}, 0.2, torch.Generator().manual_seed(1))
    assert masks["words"].unique().tolist() == [0, 1.25]
    assert masks["words"].mean().item() == pytest.approx(1, abs=0.02)
    assert dropout_masks({"words": (2, 3)}, 0.0, None) == {}


class Noisy(Module):
    features = 4

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def draw_noise(self, batch, length, generator):
        return {"sizes": torch.tensor([batch, length])}


def test_noise_is_what_is_passed_and_is_drawn_in_training_alone():
    network, passed = Noisy(), {"mask": torch.zeros(1)}
    assert noise_or_draw(network, None, CPU, 3, 5)["sizes"].tolist() == [3, 5]
    assert noise_or_draw(network, passed, CPU, 3) is passed
    assert noise_or_draw(network.eval(), None, CPU, 3) == {}
    assert noise_or_draw(network, passed, CPU, 3) is passed


def test_inputs_that_a_network_was_not_built_for_are_refused():
    check_sequences(torch.ones(2, 5, 4), None, Noisy())
    for shape, length in (((2, 5, 4), 6), ((2, 5, 3), 5), ((2, 0, 4), None), ((5, 4), None)):
        with pytest.raises(UsageError):
            check_sequences(torch.ones(shape), length, Noisy())
    with torch.autocast("cpu"):
        check_floats(torch.ones(2).bfloat16(), Noisy(), "x")
    for check, given in ((check_dropout, (1,)), (check_floats, (torch.ones(2).double(), Noisy(), "x"))):
        with pytest.raises(UsageError):
            check(*given)
