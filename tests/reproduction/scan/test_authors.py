"""Weights of the authors' released code: names and shapes as in SyntacticAttention.py, full size.

What our networks compute with them, and with those of Li et al., is in `tests/scan/test_networks.py`.
"""

import pytest
import torch
from scan.networks import weights
from torch import nn

from mini_lib.reproduction.authors import load_renamed
from mini_lib.scan.syntactic_attention import SyntacticAttention

ENCODER = {
    **{"W_m": nn.Embedding(16, 120), "W_x": nn.Embedding(16, 100)},
    **{"SOS_embed": nn.Embedding(1, 200), "EOS_embed": nn.Embedding(1, 200)},
    **{"rnn1": nn.LSTM(100, 100, bidirectional=True), "rnn2": nn.LSTM(200, 200, bidirectional=True)},
    "fc0": nn.Linear(400, 400),
}
DECODER = {"rnn": nn.LSTM(400, 400), "out": nn.Linear(120, 8)}
SEQUENTIAL = {"semantic_rnn": nn.LSTM(120, 60, bidirectional=True)}


@pytest.mark.parametrize(
    ("options", "encoder", "decoder", "parameters"),
    [
        ({}, {}, {}, 2_253_288),
        ({"sequential_semantics": True}, SEQUENTIAL, {}, 2_340_648),
        ({"syntax_action": True}, {}, {"out": nn.Linear(520, 8)}, 2_256_488),
        ({"nonlinear_semantics": True}, {}, {"sem_nn": nn.Linear(120, 120)}, 2_267_808),
    ],
)
def test_the_authors_weights_load(options, encoder, decoder, parameters):
    parts = {"encoder": nn.ModuleDict(ENCODER | encoder), "decoder": nn.ModuleDict(DECODER | decoder)}
    theirs = nn.ModuleDict(parts).state_dict()
    assert sum(each.numel() for each in theirs.values()) == parameters
    ours = weights(load_renamed(SyntacticAttention(**options), theirs, "scan", ["syntactic_attention"]))
    assert ours.keys() == theirs.keys()
    assert all(torch.from_numpy(ours[name]).equal(theirs[name].squeeze(0)) for name in theirs)
