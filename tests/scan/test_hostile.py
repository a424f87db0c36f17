"""Networks in half precision, compiled, and with wrong input, which gets one sentence."""

import copy
import pickle
import subprocess
import sys
from inspect import unwrap

import pytest
import torch
from torch.func import functional_call, jvp

import mini_lib
from mini_lib.errors import UsageError
from mini_lib.scan import attention_fast
from mini_lib.scan.cnn import CNN, loss as cross_entropy
from mini_lib.scan.gru_attention import GRUAttention
from mini_lib.scan.li import LiNetwork
from mini_lib.scan.meta_seq2seq import MetaSeq2Seq
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import encode
from scan.networks import COMMANDS, LOSSES, NETWORKS

EXAMPLES = encode(COMMANDS)
HALVES = (torch.bfloat16, torch.float16)
FOUR = ("default", "gru", "li", "cnn")
every_network = pytest.mark.parametrize("name", NETWORKS)
every_kind = pytest.mark.parametrize("name", FOUR)


def seeded(name, **options):
    torch.manual_seed(0)
    return NETWORKS[name](**options)


def gradients(network, loss):
    found = torch.autograd.grad(loss, [p for p in network.parameters() if p.requires_grad], allow_unused=True)
    return torch.cat([each.flatten().float() for each in found if each is not None])


@every_network
@pytest.mark.parametrize("dtype", HALVES)
def test_learns_under_autocast(name, dtype):
    """In training mode; without noise logits and gradients are near those of single precision."""
    network = seeded(name)
    whole = network(*EXAMPLES.tensors, {})
    with torch.autocast("cpu", dtype):
        assert network(*EXAMPLES.tensors).isfinite().all()  # draws its own noise
        logits = network(*EXAMPLES.tensors, {})
        predicted = network.eval().predict(EXAMPLES.words, EXAMPLES.lengths, 3)
    assert predicted.shape == (len(COMMANDS), 3)
    torch.testing.assert_close(logits[..., 1:].float(), whole[..., 1:], rtol=0.05, atol=0.05)
    right, found = (
        gradients(network, LOSSES[name](each.float(), EXAMPLES.actions)) for each in (whole, logits)
    )
    assert (found - right).norm() < 0.1 * right.norm()


@every_network
@pytest.mark.parametrize("dtype", HALVES)
def test_learns_in_half_precision(name, dtype):
    network = seeded(name).to(dtype)
    logits = network(*EXAMPLES.tensors)
    assert logits.dtype == dtype
    assert gradients(network, LOSSES[name](logits, EXAMPLES.actions)).isfinite().all()
    assert network.predict(EXAMPLES.words, EXAMPLES.lengths, 3).shape == (len(COMMANDS), 3)


@pytest.mark.parametrize("dtype", HALVES)
def test_meta_seq2seq_learns_in_half_precision_and_under_autocast(dtype):
    for network, enabled in ((MetaSeq2Seq(size=6).to(dtype), False), (MetaSeq2Seq(size=6), True)):
        with torch.autocast("cpu", dtype, enabled=enabled):
            logits = network(EXAMPLES[:3], EXAMPLES)
        assert gradients(network, cross_entropy(logits, EXAMPLES.actions)).isfinite().all()
        assert network.eval().predict(EXAMPLES[:3], EXAMPLES, 2).shape == (len(COMMANDS), 2)


WITHOUT_TYPE_CHECKS = """
import numpy as np, torch
from mini_lib.scan import CNN, GRUAttention, LiNetwork, MetaSeq2Seq, SyntacticAttention, encode
examples, two, eight = encode(["jump", "walk around left twice after run"]), np.int64(2), np.int32(8)
for network in (
    SyntacticAttention(syntax=two, semantics=eight, words=np.int64(17)), GRUAttention(embedding=two, hidden=eight),
    LiNetwork(primitive=two, function=two, units=eight), CNN(dim=eight, kernel=two, layers=two),
):
    assert network.predict(examples.words, examples.lengths, np.int64(3)).shape == (2, 3)
    compiled = torch.compile(network, fullgraph=True, backend="eager")
    for noise in (None, {}, network.draw_noise(2, 11, 49, torch.Generator().manual_seed(1))):
        torch.manual_seed(1)
        expected = network(*examples.tensors, noise)
        torch.manual_seed(1)
        torch.testing.assert_close(compiled(*examples.tensors, noise), expected)
    predict = torch.compile(network.predict, fullgraph=True, backend="eager")
    assert predict(examples.words, examples.lengths, 3).equal(network.predict(examples.words, examples.lengths, 3))
MetaSeq2Seq(size=eight)(examples, examples)
"""


@pytest.mark.slow
def test_compiles_as_one_graph_and_takes_numpys_integers():
    """In a process of its own, since a compiler cannot trace the tests' checks of types."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", WITHOUT_TYPE_CHECKS], check=True)


@every_kind
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_forward_mode_and_second_derivatives_agree_with_the_plain_lines(name, monkeypatch):
    network = seeded(name).double().eval()
    state = {key: value.detach() for key, value in network.named_parameters()}
    ahead = {key: torch.randn_like(value) for key, value in state.items()}

    def loss(parameters):
        return LOSSES[name](functional_call(network, parameters, EXAMPLES.tensors), EXAMPLES.actions)

    def along():
        """Hessian times `ahead`, by two backward passes."""
        leaves = {key: value.clone().requires_grad_() for key, value in state.items()}
        first = torch.autograd.grad(loss(leaves), leaves.values(), create_graph=True)
        inner = sum((each * ahead[key]).sum() for each, key in zip(first, leaves, strict=True))
        return inner.item(), torch.autograd.grad(inner, leaves.values())

    slope, hessian = along()
    assert jvp(loss, (state,), (ahead,))[1].item() == pytest.approx(slope, rel=1e-9)
    monkeypatch.setattr(attention_fast, "applies", lambda *tensors: False)
    torch.testing.assert_close(hessian, along()[1], rtol=1e-8, atol=1e-10)


@every_kind
def test_copies_pickles_and_files_are_the_same_network(name, tmp_path):
    network = seeded(name).eval()
    network.save(tmp_path / "mine.safetensors", note="mine")
    loaded = mini_lib.load(tmp_path / "mine.safetensors")
    assert loaded.about == {"note": "mine"}
    for other in (copy.deepcopy(network), pickle.loads(pickle.dumps(network)), loaded):
        torch.testing.assert_close(other(*EXAMPLES.tensors), network(*EXAMPLES.tensors))


WORDS, LENGTHS, ACTIONS = EXAMPLES.tensors
WRONG = [
    ((WORDS.float(), LENGTHS, ACTIONS), "words"),
    (("jump twice", LENGTHS, ACTIONS), "words"),
    ((WORDS[0], LENGTHS, ACTIONS), "words"),
    ((WORDS, LENGTHS[:1], ACTIONS), "lengths"),
    ((WORDS, LENGTHS, ACTIONS[:2]), "actions"),
    ((WORDS, LENGTHS + 3, ACTIONS), "lengths have to be from 2 to 8, got 6 to 11"),
    ((WORDS, LENGTHS * 0, ACTIONS), "lengths"),
    ((-WORDS, LENGTHS, ACTIONS), "words"),
    ((WORDS, LENGTHS, ACTIONS + 8), "actions"),
    ((WORDS, LENGTHS, ACTIONS[:, :0]), "actions"),
]


@every_kind
def test_a_wrong_batch_is_refused_in_one_sentence(name):
    network = seeded(name)
    answer = unwrap(type(network).trace if name == "default" else type(network).predict)
    for inputs, message in WRONG:
        with pytest.raises(UsageError, match=message):
            unwrap(type(network).forward)(network, *inputs)
        if message != "actions":
            with pytest.raises(UsageError, match=message):
                answer(network, *inputs[:2], 3)
    with pytest.raises(UsageError, match="steps has to be a positive integer, got 0"):
        network.predict(WORDS, LENGTHS, 0)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (SyntacticAttention, {"dropout": 1.0}),
        (SyntacticAttention, {"syntax": 7}),
        (SyntacticAttention, {"ends": "zeros"}),
        (GRUAttention, {"hidden": "x"}),
        (LiNetwork, {"strength": -1}),
        (CNN, {"kernel": 0}),
        (MetaSeq2Seq, {"size": 2.0}),
    ],
)
def test_networks_that_cannot_be_made_are_refused(kind, options):
    ((name, value),) = options.items()
    with pytest.raises(UsageError, match=f"{name}.* {value}|{name}.*'{value}'"):
        unwrap(kind.__init__)(kind.__new__(kind), **options)  # past the check of types, which only tests make
