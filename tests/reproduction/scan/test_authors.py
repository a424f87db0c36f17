"""Weights of the authors' released codes: names, shapes and conventions as their networks have them, full size.

Syntactic Attention is written anew from `SynAttnEncoder` and `SynAttnDecoder` of their SyntacticAttention.py.
"""

import pytest
import torch
from torch import nn

from mini_lib.reproduction.authors import load_renamed, places
from mini_lib.reproduction.ledger import load
from mini_lib.scan.li import LiNetwork
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import encode


class Encoder(nn.Module):
    """Of one command; the modules have the names that they have in the authors' code."""

    def __init__(self, sequential):
        super().__init__()
        self.W_m, self.W_x = nn.Embedding(16, 120), nn.Embedding(16, 100)
        self.SOS_embed, self.EOS_embed = nn.Embedding(1, 200), nn.Embedding(1, 200)
        self.rnn1 = nn.LSTM(100, 100, bidirectional=True)
        self.rnn2 = nn.LSTM(200, 200, bidirectional=True)
        self.semantic_rnn = nn.LSTM(120, 60, bidirectional=True) if sequential else None
        self.fc0 = nn.Linear(400, 400)

    def forward(self, command):
        m = self.W_m(command)[:, None]
        if self.semantic_rnn is not None:
            m, _ = self.semantic_rnn(m)
        states, _ = self.rnn1(self.W_x(command)[:, None])
        inner = torch.cat([states[:-2, 0, :100], states[2:, 0, 100:]], dim=1)
        context = torch.cat([self.SOS_embed.weight, inner, self.EOS_embed.weight])
        h, (final, _) = self.rnn2(context[:, None])
        return m[:, 0], h[:, 0], torch.relu(self.fc0(torch.cat([final[0, 0], final[1, 0]])))


class Decoder(nn.Module):
    """No action goes in; the attention of the first step is the encoder's, the state starts at zero."""

    def __init__(self, syntax_action, nonlinear):
        super().__init__()
        self.syntax_action = syntax_action
        self.rnn = nn.LSTM(400, 400)
        self.sem_nn = nn.Linear(120, 120) if nonlinear else None
        self.out = nn.Linear(520 if syntax_action else 120, 8)

    def forward(self, m, h, query, steps):
        state, logits = None, []
        for _ in range(steps):
            alpha = torch.softmax(h @ query, dim=0)
            d, c = alpha @ m, alpha @ h
            if self.sem_nn is not None:
                d = torch.relu(self.sem_nn(torch.relu(d)))
            logits.append(self.out(torch.cat([d, c]) if self.syntax_action else d))
            output, state = self.rnn(c[None, None], state)
            query = output[0, 0]
        return torch.stack(logits)


class Released(nn.Module):
    """The authors' network, with all of its parts busy: the first weights of nn.Linear are small."""

    def __init__(self, sequential_semantics=False, syntax_action=False, nonlinear_semantics=False):
        super().__init__()
        torch.manual_seed(3)
        self.encoder = Encoder(sequential_semantics)
        self.decoder = Decoder(syntax_action, nonlinear_semantics)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if "rnn" in name or "fc0" in name:
                    weight *= 3

    def forward(self, command, steps):
        return self.decoder(*self.encoder(command), steps)


COMMANDS = [
    "jump",
    "turn left",
    "run twice after look",
    "walk opposite right thrice and jump around left twice",
]
FORMS = {
    "as released": ({}, 2_253_288),
    "--seq_sem": ({"sequential_semantics": True}, 2_340_648),
    "--syn_act": ({"syntax_action": True}, 2_256_488),
    "--sem_mlp": ({"nonlinear_semantics": True}, 2_267_808),
}


@torch.no_grad()
@pytest.mark.parametrize("form", FORMS)
def test_the_authors_weights_load_and_compute_the_same_function(form):
    options, parameters = FORMS[form]
    theirs, ours = Released(**options), SyntacticAttention(**options).eval()
    assert sum(each.numel() for each in theirs.parameters()) == parameters
    load_renamed(ours, theirs.state_dict(), "scan", ["syntactic_attention"])
    examples = encode(COMMANDS)
    logits, seen = ours(*examples.tensors), []
    for row, (words, length, actions) in enumerate(zip(*examples.tensors, strict=True)):
        steps = int((actions != 0).sum())
        expected = theirs(words[:length], steps)
        torch.testing.assert_close(logits[row, :steps], expected, rtol=0, atol=1e-5)
        seen.append(expected)
    assert (seen[-1][0] - seen[-1][1:]).abs().max() > 0.02  # steps differ, so attention is tested too
    assert all((each[0] - seen[0][0]).abs().max() > 0.02 for each in seen[1:])


def test_each_parameter_of_li_has_its_place_in_ours():
    rows, state = load("scan").renamings["li"], LiNetwork().state_dict()
    filled = [(place.name, place.half) for place in places(rows, state).values()]
    halves = [name for name in state if name.startswith("encoder")]
    assert sorted(filled, key=str) == sorted(
        [(name, half) for name in halves for half in (0, 1)]
        + [(name, None) for name in {*state} - {*halves}],
        key=str,
    )
