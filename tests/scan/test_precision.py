"""Networks in half precision, copied, and with wrong input."""

import copy
import pickle
from inspect import unwrap

import pytest
import torch

import mini_lib
from mini_lib.errors import UsageError
from mini_lib.scan.cnn import CNN
from mini_lib.scan.gru_attention import GRUAttention
from mini_lib.scan.li import LiNetwork
from mini_lib.scan.meta_seq2seq import MetaSeq2Seq
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import encode
from scan.networks import COMMANDS, KINDS, LOSSES, NETWORKS

EXAMPLES = encode(COMMANDS)
every_kind = pytest.mark.parametrize("name", KINDS)


def seeded(name):
    torch.manual_seed(0)
    return NETWORKS[name]()


def gradients(network, loss):
    found = torch.autograd.grad(loss, [p for p in network.parameters() if p.requires_grad], allow_unused=True)
    return torch.cat([each.flatten().float() for each in found if each is not None])


@pytest.mark.parametrize("name", [*KINDS, "everything"])
@pytest.mark.parametrize(("dtype", "autocast"), [(torch.bfloat16, True), (torch.float16, False)])
def test_in_half_precision_logits_and_gradients_are_near_those_of_single_precision(name, dtype, autocast):
    network = seeded(name)
    whole = network(*EXAMPLES.tensors, {})
    right = gradients(network, LOSSES[name](whole, EXAMPLES.actions))
    network = network if autocast else network.to(dtype)
    with torch.autocast("cpu", dtype, enabled=autocast):
        assert network(*EXAMPLES.tensors).isfinite().all()  # draws its own noise
        logits = network(*EXAMPLES.tensors, {})
        predicted = network.predict(EXAMPLES.words, EXAMPLES.lengths, 3)
    assert predicted.shape == (len(COMMANDS), 3)
    assert logits.dtype == dtype
    torch.testing.assert_close(logits[..., 1:].float(), whole[..., 1:], rtol=0.02, atol=0.02)
    found = gradients(network, LOSSES[name](logits.float(), EXAMPLES.actions))
    assert (found - right).norm() < 0.02 * right.norm()


@every_kind
def test_copies_pickles_and_files_are_the_same_network(name, tmp_path):
    network = seeded(name).eval()
    network.save(tmp_path / "mine.safetensors", note="mine")
    loaded = mini_lib.load(tmp_path / "mine.safetensors")
    for other in (copy.deepcopy(network), pickle.loads(pickle.dumps(network)), loaded):
        torch.testing.assert_close(other(*EXAMPLES.tensors), network(*EXAMPLES.tensors))


WORDS, LENGTHS, ACTIONS = EXAMPLES.tensors
WRONG = {
    "words have to be from 0 to 15": (-WORDS, LENGTHS, ACTIONS),
    "lengths have to be from 2 to 8, got 6 to 11": (WORDS, LENGTHS + 3, ACTIONS),
    "actions have to be from 0 to 7": (WORDS, LENGTHS, ACTIONS + 8),
}


@every_kind
def test_a_wrong_batch_is_refused_in_one_sentence(name):
    network = seeded(name)
    for message, inputs in WRONG.items():
        with pytest.raises(UsageError, match=message):
            unwrap(type(network).forward)(network, *inputs)
    answer = unwrap(type(network).trace if name == "default" else type(network).predict)
    with pytest.raises(UsageError, match="lengths"):
        answer(network, WORDS, LENGTHS + 3, 3)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (SyntacticAttention, "ends", "zeros"),
        (GRUAttention, "dropout", 1.0),
        (LiNetwork, "strength", -1),
        (CNN, "kernel", 0),
        (MetaSeq2Seq, "size", 2.0),
    ],
)
def test_networks_that_cannot_be_made_are_refused(kind, name, value):
    with pytest.raises(UsageError, match=f"{name}.* '?{value}"):
        unwrap(kind.__init__)(kind.__new__(kind), **{name: value})  # past the check of types
