"""Weights of the authors' released codes: names, shapes and conventions as their networks have them, full size."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from mini_lib.reproduction.authors import load_renamed, places
from mini_lib.reproduction.ledger import load
from mini_lib.reproduction.scan import authors
from mini_lib.scan.grammar import WORDS
from mini_lib.scan.li import LiNetwork
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import ACTION_IDS, EOS, SOS, WORD_IDS, encode
from reproduction.scan.released import (
    THEIR_ACTIONS,
    THEIR_WORDS,
    Released,
    li_forward,
    li_shapes,
    li_variables,
    released,
)

LI_ACTIONS = tuple(action for action in list(ACTION_IDS)[:8] if action not in (SOS, EOS))
COMMANDS = [
    "jump",
    "turn left",
    "run twice after look",
    "walk opposite right thrice and jump around left twice",
]


def load_li(
    network,
    variables,
    words=WORDS,
    actions=LI_ACTIONS,
):
    """Give `network` the variables of their TensorFlow graph, `words` and `actions` in the order of the run."""
    word_rows = torch.tensor([0, *(words.index(word) + 1 for word in WORD_IDS if word in words)])
    order = [EOS, *actions]
    action_rows = torch.tensor([order.index(action) for action in ACTION_IDS if action in order])
    theirs = {}
    for name, value in variables.items():
        tensor = torch.from_numpy(np.array(value, dtype=np.float32))
        theirs[name.removesuffix(":0")] = _as_ours(name, tensor, word_rows, action_rows)
    return load_renamed(network, theirs, "scan", ["li"])


def _as_ours(name: str, value, word_rows, action_rows):
    """Rows in our order, kernels transposed, gates from TensorFlow's order (i, g, f, o) into PyTorch's."""
    if "/Variable" in name:  # their tables of embeddings have no names of their own
        return value[word_rows] if len(value) == len(word_rows) else value
    value = value.mT if value.dim() == 2 else value
    if "lstm_cell" in name:
        i, g, f, o = value.chunk(4)
        return torch.cat([i, f, g, o])
    picked = "prediction_network" in name and len(value) == len(action_rows)
    return value[action_rows] if picked else value


FORMS = {
    "as released": ({}, 2_253_288),
    "--seq_sem": ({"sequential_semantics": True}, 2_340_648),
    "--syn_act": ({"syntax_action": True}, 2_256_488),
    "--sem_mlp": ({"nonlinear_semantics": True}, 2_267_808),
}


def test_there_are_as_many_parameters_as_were_counted():
    for options, parameters in FORMS.values():
        assert sum(each.numel() for each in Released(**options).parameters()) == parameters
    assert sum(np.prod(shape) for shape in li_shapes().values()) == 57_183


@torch.no_grad()
@pytest.mark.parametrize(
    "options",
    [
        *(each for each, _ in FORMS.values()),
        dict.fromkeys(("sequential_semantics", "syntax_action", "nonlinear_semantics"), True),
    ],
    ids=[*FORMS, "all at once"],
)
def test_loads_and_computes_the_same_function(options):
    theirs, ours = released(**options), SyntacticAttention(**options).eval()
    assert authors.load_syntactic_attention(ours, theirs.state_dict()) is ours
    examples = encode(COMMANDS)
    logits, seen = ours(*examples.tensors), []
    for row, (words, length, actions) in enumerate(zip(*examples.tensors, strict=True)):
        steps = int((actions != 0).sum())
        expected = theirs(words[:length], steps)
        torch.testing.assert_close(logits[row, :steps], expected, rtol=0, atol=1e-5)
        seen.append(expected)
    assert (seen[-1][0] - seen[-1][1:]).abs().max() > 0.02  # steps differ, so the steering is tested too
    assert all((each[0] - seen[0][0]).abs().max() > 0.02 for each in seen[1:])


def test_every_parameter_of_theirs_is_of_effect():
    """So that none can be put into the wrong place unnoticed: each changes the logits of ours."""
    theirs = released(**dict.fromkeys(("sequential_semantics", "syntax_action", "nonlinear_semantics"), True))
    ours = SyntacticAttention(sequential_semantics=True, syntax_action=True, nonlinear_semantics=True).eval()
    examples, state = encode(COMMANDS[-1:]), theirs.state_dict()
    before = authors.load_syntactic_attention(ours, state)(*examples.tensors)
    for name in state:
        changed = state | {name: state[name] + torch.rand_like(state[name])}
        after = authors.load_syntactic_attention(ours, changed)(*examples.tensors)
        assert not torch.equal(after, before), name


@torch.no_grad()
def test_li_loads_and_computes_the_same_function():
    v, ours = li_variables(), LiNetwork().eval()
    assert load_li(ours, v, THEIR_WORDS, THEIR_ACTIONS) is ours
    columns = [ACTION_IDS[action] for action in (EOS, *THEIR_ACTIONS)]
    examples = encode(COMMANDS)
    logits = ours(*examples.tensors)
    for row, command in enumerate(COMMANDS):
        words = [*(THEIR_WORDS.index(word) + 1 for word in command.split()), 0]
        steps = int((examples.actions[row] != 0).sum())
        expected = li_forward(v, words, steps)
        np.testing.assert_allclose(logits[row, :steps][:, columns].numpy(), expected, rtol=0, atol=1e-5)
    assert np.abs(expected[0] - expected[1:]).max() > 0.02  # steps differ, so the decoder is tested too
    assert logits[..., ACTION_IDS[SOS]].max() < -1e8


def test_every_variable_of_li_is_of_effect_but_the_one_that_their_graph_leaves_unused():
    v, ours, examples = li_variables(), LiNetwork().eval(), encode(COMMANDS)
    before = load_li(ours, v)(*examples.tensors)
    for name in v:
        changed = v | {name: v[name] + np.random.default_rng(5).normal(size=v[name].shape)}
        after = load_li(ours, changed)(*examples.tensors)
        assert torch.equal(after, before) == (name == "word_embeddings/compute_switch/Variable:0"), name


def test_li_counts_words_and_actions_as_we_do_unless_told():
    """Their rows 1, 2, ... are then our lists as they stand; row 0 is the end."""
    v = li_variables()
    bias = v["prediction/prediction_network/dense/bias:0"]
    network = load_li(LiNetwork(), v)
    order = [EOS, *LI_ACTIONS]
    expected = [bias[order.index(action)] for action in ACTION_IDS if action in order]
    np.testing.assert_allclose(network.action_bias.detach().numpy(), expected, rtol=1e-6)
    assert LI_ACTIONS == ("RIGHT", "JUMP", "WALK", "LEFT", "RUN", "LOOK")


@pytest.mark.parametrize(
    ("load", "state", "message"),
    [
        (
            lambda state: authors.load_syntactic_attention(SyntacticAttention(), state),
            lambda: released(sequential_semantics=True).state_dict(),
            "'encoder.semantic_rnn.weight_ih_l0' has no place in it",
        ),
        (
            lambda state: load_li(LiNetwork(), state),
            lambda: li_variables(single=True),
            r"basic_lstm_cell/kernel' has shape \(128, 48\), our 'encoder_kernel' needs \(128, 40\)",
        ),
    ],
    ids=["--seq_sem", "--single_representation"],
)
def test_weights_of_another_option_do_not_fit(load, state, message):
    with pytest.raises(ValueError, match=message):
        load(state())


def test_the_switch_of_li_may_be_missing_and_nothing_else():
    variables = li_variables()
    for name in variables:
        rest = {key: value for key, value in variables.items() if key != name}
        with nullcontext() if "switch" in name else pytest.raises(ValueError, match="is missing"):
            load_li(LiNetwork(), rest)


def test_every_row_of_the_table_is_met_by_a_parameter():
    full = dict.fromkeys(("sequential_semantics", "nonlinear_semantics"), True)
    theirs = {"syntactic_attention": Released(**full).state_dict(), "li": li_shapes()}
    ours = {"syntactic_attention": SyntacticAttention(**full), "li": LiNetwork()}
    for case, rows in load("scan").renamings.items():
        own = ours[case].state_dict()
        assert {*places(rows, own)} | {row.theirs for row in rows if not row.ours} == {*theirs[case]}
        assert [row.theirs for row in rows if row.ours and not places([row], own)] == []
