"""The ten networks, the encoders and temporal context normalization: sizes, first weights, gradients, precision.

That each computes its formulas is in `tests/reproduction/esbn/test_authors.py`, under the authors' names.
"""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from esbn import oracles
from esbn.networks import WINDOWS, batch, busy, in_half_precision, network, stacked_gradients
from mini_lib.errors import UsageError
from mini_lib.esbn.esbn import ESBN
from mini_lib.esbn.network import ENCODERS, ConvEncoder, Network, TemporalContextNorm
from mini_lib.esbn.relational_baselines import TemporalRelationNet, Transformer
from mini_lib.esbn.runs import MODELS

# Parameters with convolutions and normalization that get a gradient, by T, counted by hand from A.3.
COUNTS = {
    "esbn": (1_909_733, 1_909_733, 1_910_759),
    "esbn_no_confidence": (1_907_683, 1_907_683, 1_908_709),
    "esbn_default_memory": (1_908_067, 1_908_067, 1_909_093),
    "lstm": (1_513_698, 1_513_698, 1_514_724),
    "ntm": (2_572_014, 2_572_014, 2_573_040),  # of which 1,026 idle at T = 2, see IDLE
    "mnm": (544_355, 544_355, 544_613),
    "rn": (528_098, 528_098, 528_612),
    "trn": (528_098, 858_082, 858_596),
    "transformer": (429_922, 429_922, 430_436),
    "predinet": (470_810, 999_194, 1_395_500),
}

# Parameters (by the start of their name) without a gradient, and why.
IDLE = {
    # Step 1 reads the only entry with weight 1 whatever it holds, and step 2's read comes too late.
    ("esbn_no_confidence", 2): ("encoder.", "norm."),
    # A head's first address is not interpolated, and its second one comes too late.
    ("ntm", 2): ("core.read_head.gate.", "core.write_head.gate."),
}

every_model = pytest.mark.parametrize("model", MODELS)
every_esbn = pytest.mark.parametrize("model", [name for name in MODELS if name.startswith("esbn")])
every_length = pytest.mark.parametrize("length", WINDOWS)


def count(made):
    return sum(parameter.numel() for parameter in made.parameters())


@every_model
def test_parameter_counts_are_the_papers(model):
    assert tuple(count(network(model, length, full=True)) for length in WINDOWS) == COUNTS[model]


def test_other_parts_change_the_count():
    plain = COUNTS["lstm"][2]
    assert count(network("lstm", full=True, encoder="mlp")) == plain + 491_424
    # The authors count the random encoder's 131,200 weights, which no gradient reaches; ours are buffers.
    assert count(network("lstm", full=True, encoder="rand")) == plain - 66_400 - 131_200
    assert count(network("lstm", full=True, tcn=False)) == plain - 2 * 128


def with_loss(made):
    made.forward = made.forward_with_loss
    return made


def total(output):
    logits, extra = output
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(logits, torch.arange(len(logits)) % logits.shape[1]) + extra


@every_length
@every_model
def test_gradients_reach_every_parameter_and_stacked_networks_equal_each_alone(model, length):
    networks = [with_loss(busy(model, length, seed)) for seed in (0, 1)]
    stacked, own = stacked_gradients(networks, total, *batch(length, size=8))
    wanted = IDLE.get((model, length), ())
    for which, gradients in enumerate(own):
        for name, gradient in gradients.items():
            gradient = torch.zeros_like(stacked[name][0]) if gradient is None else gradient
            torch.testing.assert_close(stacked[name][which], gradient, rtol=1e-7, atol=1e-10)
            idle = wanted and name.startswith(wanted)
            assert (gradient.abs().max() < 1e-12) == bool(idle), name


@every_model
def test_a_pool_with_ids_is_the_same_as_images(model):
    made = busy(model)
    pool, ids = batch(size=4)
    together = made(pool, ids)
    torch.testing.assert_close(together, made(pool[ids]))
    for row in range(4):  # and no problem depends on the others of the batch
        torch.testing.assert_close(made(pool, ids[row : row + 1]), together[row : row + 1])


# Layers, by the last part of their name, that start by Kaiming's rule; two of the NTM by Xavier's with tanh's gain.
KAIMING = dict.fromkeys((name for name in MODELS if name.startswith("esbn")), "key")
KAIMING |= {"ntm": "strength sharpen", "rn": "pair_hidden pair_out hidden", "trn": "hidden out"}
KAIMING |= {"transformer": "expand contract hidden", "predinet": "hidden", "lstm": ""}


def starts_as(rule, weight, bias):
    """Whether a layer's first weights have the spread of a rule, and its bias is zero."""
    outputs, inputs = len(weight), weight[0].numel()
    xavier = math.sqrt(2 / (inputs + outputs))
    spread = {"kaiming": math.sqrt(2 / inputs), "xavier": xavier, "tanh": 5 / 3 * xavier}[rule]
    tolerance = max(0.02, 4 / math.sqrt(2 * weight.numel()))
    return weight.std().item() == pytest.approx(spread, rel=tolerance) and (bias is None or not bias.any())


@pytest.mark.parametrize("model", KAIMING)
def test_layers_start_with_their_spread_and_zero_biases(model):
    core = network(model, full=True).core
    rules = dict.fromkeys(KAIMING[model].split(), "kaiming")
    rules |= {"key": "tanh", "add": "tanh"} if model == "ntm" else {}
    for name, layer in core.named_modules():
        if isinstance(layer, torch.nn.Linear):
            rule = rules.get(name.rpartition(".")[2], "xavier")
            assert starts_as(rule, layer.weight, layer.bias), name
    assert model != "ntm" or starts_as("xavier", core.memory, None)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_encoders_start_kaiming(encoder):
    values = [*network("lstm", full=True, encoder=encoder).encoder.state_dict().values()]
    assert all(starts_as("kaiming", *layer) for layer in zip(values[::2], values[1::2], strict=True))


def test_mnm_starts_uniform_and_its_memory_is_not_trained():
    core = network("mnm", full=True).core
    assert {name for name, _ in core.named_buffers()} == {"memory1", "memory2", "memory3"}
    for name, value in core.state_dict().items():
        bound = 1 / 16 if name.startswith("output") else 128**-0.5
        assert value.abs().max() <= bound
        if value.numel() > 1000:
            assert value.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.04)


@every_esbn
def test_ablations_start_with_exactly_zero_logits(model):
    pool, ids = batch()
    assert network(model, full=True)(pool.float(), ids).any() == (model == "esbn")


@every_length
def test_context_norm_equals_its_definition(length):
    norm = TemporalContextNorm(7, WINDOWS[length]).double()
    assert norm.gain.tolist() == [1.0] * 7
    assert norm.shift.tolist() == [0.0] * 7
    torch.nn.init.normal_(norm.shift)
    z = torch.randn(4, length, 7, dtype=torch.float64)
    z[0, :, 0] = 0.3  # steps that are all alike keep only the shift
    z[1] = 0.001 * z[1] + 0.1
    gain, shift = norm.gain.detach().numpy(), norm.shift.detach().numpy()
    expected = [oracles.context_norm(row, gain, shift, WINDOWS[length]) for row in z.numpy()]
    np.testing.assert_allclose(norm(z).detach().numpy(), np.stack(expected), rtol=1e-10, atol=1e-12)
    for dtype in (torch.float16, torch.bfloat16):  # small spreads, too
        wanted = norm.double()(z.to(dtype).double())
        found = norm.to(dtype)(z.to(dtype)).double()
        torch.testing.assert_close(found, wanted, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("model", [name for name in MODELS if name.startswith("esbn")] + ["lstm"])
def test_sequences_of_different_lengths_equal_each_alone(model):
    core, lengths = busy(model).core, torch.tensor([9, 1, 4, 2])
    z = torch.randn(4, 9, 16, dtype=torch.float64, requires_grad=True)
    together = core(z, lengths)
    whole = Network(torch.nn.Identity(), torch.nn.Identity(), core)
    torch.testing.assert_close(whole(z, lengths=lengths), together)
    gradient = torch.autograd.grad(together.sum(), z)[0]
    for row, length in enumerate(lengths.tolist()):
        alone = z[row : row + 1, :length].detach().requires_grad_()
        logits = core(alone)
        torch.testing.assert_close(together[row : row + 1], logits, rtol=1e-10, atol=1e-12)
        expected = torch.autograd.grad(logits.sum(), alone, materialize_grads=True)[0]
        torch.testing.assert_close(gradient[row : row + 1, :length], expected, rtol=1e-9, atol=1e-12)
        assert not gradient[row, length:].any()
        if model != "lstm":
            for ours, wanted in zip(core.trace(z, lengths)[1:4], core.trace(alone)[1:4], strict=True):
                torch.testing.assert_close(ours[row : row + 1, : length + 1], wanted)


@every_esbn
def test_edits_see_the_keys_written_before_and_reach_the_answer(model):
    core, seen = busy(model).core, []
    z = torch.randn(3, 9, 16, dtype=torch.float64)
    core.trace(z, edit=lambda t, keys: seen.append(keys) or keys)
    assert [len(keys) - core.default_memory for keys in seen] == list(range(10))
    written = torch.stack(seen[9][core.default_memory :], dim=1)
    torch.testing.assert_close(written, core.trace(z).keys_written[:, :9])
    zeroed = core.trace(z, edit=lambda t, keys: [0 * key for key in keys])
    assert (zeroed.logits - core(z)).abs().max() > 1e-3
    assert not zeroed.keys_retrieved[..., :12].any()
    with pytest.raises(UsageError):
        core.trace(z, edit=lambda t, keys: [*keys, z])


@every_esbn
def test_trace_is_what_the_network_does(model):
    made = busy(model)
    core, z = made.core, made.embed(*batch())
    trace, default, key = core.trace(z), int(core.default_memory), core.key.out_features
    torch.testing.assert_close(trace.logits, core(z))
    torch.testing.assert_close(trace.logits, core.answer(trace.hidden[:, -1]))
    held = torch.ones(10, 9 + default, dtype=torch.bool).tril(-1 + default)
    held[0] = False
    assert ((trace.weights > 0) == held).all()
    torch.testing.assert_close(trace.weights.sum(dim=2)[:, 1:], torch.ones(3, 9, dtype=torch.float64))
    assert not trace.keys_retrieved[:, 0].any()
    keys = trace.keys_written[:, :9]
    if default:
        keys = torch.cat([core.default_key.expand(3, 1, -1), keys], dim=1)
    read = trace.gates[..., None] * (trace.weights @ keys)
    torch.testing.assert_close(trace.keys_retrieved[..., :key], read)
    confidence = trace.gates * (trace.weights * trace.confidences).sum(dim=2)
    if core.confidence:
        torch.testing.assert_close(trace.keys_retrieved[..., -1], confidence)
    assert trace.confidences.any() == core.confidence


KINDS = [(model, "conv") for model in MODELS] + [("lstm", kind) for kind in ENCODERS if kind != "conv"]
POOL, IDS = batch(size=8)


@pytest.mark.parametrize(("model", "encoder"), KINDS)
def test_half_precision_and_autocast_are_near_single_precision(model, encoder):
    in_half_precision(lambda: with_loss(busy(model, encoder=encoder)), (POOL, IDS), total)
    core = network(model).core.half()
    assert core(torch.zeros(2, 9, 16, dtype=torch.float16)).isfinite().all()


@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("image", [(1, 28, 28), (3, 20, 17)])
def test_images_have_any_size_and_colors(kind, image):
    encoder = ENCODERS[kind](16, image=image)
    made = Network(encoder, TemporalContextNorm(16, (3,)), ESBN(16, 2, 8, 8))
    pool, ids = torch.rand(6, *image), torch.randint(6, (4, 3))
    torch.testing.assert_close(made(pool[ids]), made(pool, ids))
    if image[0] == 1:
        torch.testing.assert_close(encoder(pool[:, 0]), encoder(pool))


@pytest.mark.parametrize(
    "call",
    [
        *(lambda given=given: network("lstm")(*given) for given in ((255 * POOL, IDS), (POOL, IDS + 5))),
        lambda: ESBN(default_memory=True),
        lambda: ESBN(4)(torch.ones(2, 3, 4), torch.tensor([0, 3])),
        lambda: TemporalContextNorm(4, (8, 1)),
        lambda: Transformer(features=12),
        lambda: TemporalRelationNet(length=1),
        lambda: ConvEncoder(image=(1, 7, 9)),
        *(lambda make=make: make(features=0) for make in MODELS.values()),
        *(lambda make=make: make(16)(torch.randn(4, 9, 17)) for make in MODELS.values()),
    ],
)
def test_bad_input_is_named(call):
    with pytest.raises(UsageError):
        call()
