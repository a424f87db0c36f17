"""The ten networks, the encoders and temporal context normalisation against the facts.

That each is its slow numpy twin stands in `tests/reproduction/esbn/test_authors.py`, under the authors' names.
"""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from esbn import oracles
from esbn.networks import CLASSES, WINDOWS, network, options
from mini_lib.errors import UsageError
from mini_lib.esbn.esbn import ESBN
from mini_lib.esbn.network import ENCODERS, ConvEncoder, Network, TemporalContextNorm
from mini_lib.esbn.recurrent_baselines import LSTM
from mini_lib.esbn.relational_baselines import TemporalRelationNet, Transformer
from mini_lib.esbn.runs import MODELS
from mini_lib.esbn.tasks import make_problems
from mini_lib.layers import LSTMCell

# Facts, 3.3: parameters with conv encoder and TCN that get a gradient, by T.
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

# Parameters (by the start of their name) without a gradient in the first updates, and why.
IDLE = {
    # Step 1 reads the only entry with weight 1 whatever it holds, and step 2's read comes too late.
    ("esbn_no_confidence", 2): ("encoder.", "norm."),
    # A head's first address is not interpolated, and its second one comes too late.
    ("ntm", 2): ("core.read_head.gate.", "core.write_head.gate."),
    # d(z_0 . z_1)/d shift = z_0 + z_1 = 2 shift, which starts at zero.
    ("esbn", 2): ("norm.shift",),
}

every_model = pytest.mark.parametrize("model", MODELS)
every_esbn = pytest.mark.parametrize("model", [name for name in MODELS if name.startswith("esbn")])
every_length = pytest.mark.parametrize("length", WINDOWS)


def busy(model, length=9, seed=0, **options):
    """A small network in double precision whose zeros (biases, shift, default memory) are zero no more."""
    made = network(model, length, seed=seed, **options).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return made


def batch(length=9, size=3, seed=0, images=5, dtype=torch.float64):
    rng = torch.Generator().manual_seed(seed)
    pool = torch.rand(images, 32, 32, generator=rng, dtype=torch.float64).to(dtype)
    return pool, torch.randint(images, (size, length), generator=rng)


@every_model
def test_parameter_counts_are_those_of_the_facts(model):
    made = (network(model, length, full=True) for length in WINDOWS)
    assert tuple(sum(p.numel() for p in each.parameters()) for each in made) == COUNTS[model]


@pytest.mark.parametrize(
    ("options", "change"),
    [({"encoder": "mlp"}, 491_424), ({"encoder": "rand"}, -66_400 - 131_200), ({"tcn": False}, -256)],
)
def test_other_parts_change_the_count(options, change):
    # The authors count the random encoder's 131,200 weights, which no gradient reaches; ours are buffers.
    made = network("lstm", full=True, **options)
    assert sum(p.numel() for p in made.parameters()) == 1_514_724 + change


@every_length
@every_model
def test_gradient_reaches_every_parameter_within_five_updates(model, length):
    made = network(model, length).double()
    optimizer = torch.optim.Adam(made.parameters(), 5e-4)
    largest = dict.fromkeys(dict(made.named_parameters()), 0.0)
    for update in range(5):
        pool, ids = batch(length, 16, seed=update, images=12)
        ids[::2, -1] = ids[::2, 0]  # some repetition, as every task has
        answers = torch.randint(CLASSES[length], (16,), generator=torch.Generator().manual_seed(update))
        optimizer.zero_grad()
        logits, extra = made.forward_with_loss(pool, ids)
        (F.cross_entropy(logits, answers) + extra).backward()
        optimizer.step()
        for name, parameter in made.named_parameters():
            size = 0.0 if parameter.grad is None else parameter.grad.abs().max().item()
            largest[name] = max(largest[name], size)
    without = {name for name, size in largest.items() if size < 1e-12}
    idle = IDLE.get((model, length), ())
    assert without == {name for name in largest if idle and name.startswith(idle)}


@every_model
def test_a_pool_with_ids_is_the_same_as_images(model):
    made = busy(model)
    pool, ids = batch(size=4)
    together = made(pool, ids)
    torch.testing.assert_close(together, made(pool[ids]))
    for row in range(4):  # and no problem depends on the others of the batch
        torch.testing.assert_close(made(pool, ids[row : row + 1]), together[row : row + 1])


@pytest.mark.slow
@every_model
def test_learns_16_problems_by_heart(model):
    problems = make_problems("distribution_of_three", 92, 0).train
    answers = problems.answers[:16]
    used, ids = problems.ids[:16].unique(return_inverse=True)
    made, pool = network(model), torch.rand(len(used), 32, 32)
    optimizer = torch.optim.Adam(made.parameters(), 4e-3)
    for _update in range(300):
        optimizer.zero_grad()
        logits, extra = made.forward_with_loss(pool, ids)
        if (logits.argmax(dim=1) == answers).all():
            return
        (F.cross_entropy(logits, answers) + extra).backward()
        optimizer.step()
    pytest.fail(f"{model} still errs on its training problems")


# Initialization: facts, 3.2 and each network's own section.


@pytest.mark.parametrize("inputs", [128, 257, 384])
def test_lstm_rows_start_in_three_blocks(inputs):
    torch.manual_seed(0)
    cell = LSTMCell(inputs, 512)
    for weight, fan_in in ((cell.weight_ih, inputs), (cell.weight_hh, 512)):
        gates, cell_rows, output = weight.split([1024, 512, 512])
        for rows, gain in ((gates, 1), (cell_rows, 5 / 3), (output, 1)):
            expected = gain * math.sqrt(2 / (fan_in + len(rows)))
            assert rows.std().item() == pytest.approx(expected, rel=0.02)
    assert not cell.bias_ih.any()
    assert not cell.bias_hh.any()


def spread(rule, outputs, inputs):
    """Standard deviation of initial weights."""
    xavier = math.sqrt(2 / (inputs + outputs))
    return {"kaiming": math.sqrt(2 / inputs), "xavier": xavier, "xavier_tanh": 5 / 3 * xavier}[rule]


SPREAD = {
    **{model: {"kaiming": "key", "xavier": "gate answer"} for model in MODELS if model.startswith("esbn")},
    "lstm": {"xavier": "answer"},
    "ntm": {
        "xavier_tanh": "read_head.key write_head.key add",
        "kaiming": "read_head.strength read_head.sharpen write_head.strength write_head.sharpen",
        "xavier": "read_head.gate read_head.shift write_head.gate write_head.shift erase answer",
    },
    "rn": {"kaiming": "pair_hidden pair_out hidden", "xavier": "answer"},
    "trn": {"kaiming": "pairs.hidden pairs.out triples.hidden triples.out hidden", "xavier": "answer"},
    "transformer": {"kaiming": "expand contract hidden", "xavier": "qkv out_proj answer"},
    "predinet": {"kaiming": "hidden", "xavier": "key query1 query2 relation answer"},
}


@pytest.mark.parametrize("model", SPREAD)
def test_layers_start_with_their_spread_and_zero_biases(model):
    core = network(model, full=True).core
    rules = {name: rule for rule, names in SPREAD[model].items() for name in names.split()}
    assert {name for name, part in core.named_modules() if isinstance(part, torch.nn.Linear)} == {*rules}
    for name, rule in rules.items():
        weight, bias = core.get_submodule(name).weight, core.get_submodule(name).bias
        tolerance = max(0.02, 4 / math.sqrt(2 * weight.numel()))
        assert weight.std().item() == pytest.approx(spread(rule, *weight.shape), rel=tolerance)
        assert bias is None or not bias.any()
    assert model != "ntm" or core.memory.std().item() == pytest.approx(spread("xavier", 10, 256), rel=0.05)


@pytest.mark.parametrize("encoder", ["conv", "mlp", "rand"])
def test_encoders_start_kaiming(encoder):
    for name, value in network("lstm", full=True, encoder=encoder).encoder.state_dict().items():
        if "bias" in name:
            assert not value.any()
        else:
            tolerance = max(0.02, 4 / math.sqrt(2 * value.numel()))
            assert value.std().item() == pytest.approx(math.sqrt(2 / value[0].numel()), rel=tolerance)


def test_mnm_starts_uniform_and_its_memory_is_not_trained():
    core = network("mnm", full=True).core
    assert "memory2" in core.state_dict()
    assert "memory2" not in dict(core.named_parameters())
    values = dict(core.named_parameters()) | dict(core.named_buffers())
    for name, value in values.items():
        bound = 1 / 16 if name.startswith("output") else 128**-0.5
        assert value.abs().max() <= bound
        if value.numel() > 1000:
            assert value.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.04)


@every_esbn
def test_ablations_start_with_exactly_zero_logits(model):
    assert network(model, full=True)(*batch(dtype=torch.float32)).any() == (model == "esbn")


# Temporal context normalisation: facts, section 2.


@every_length
def test_context_norm_equals_its_definition(length):
    torch.manual_seed(0)
    norm = TemporalContextNorm(7, WINDOWS[length]).double()
    assert norm.gain.tolist() == [1.0] * 7
    assert norm.shift.tolist() == [0.0] * 7
    torch.nn.init.normal_(norm.gain)
    torch.nn.init.normal_(norm.shift)
    z = torch.randn(4, length, 7, dtype=torch.float64)
    z[0, :, 0] = 0.3  # steps that are all alike keep only the shift
    gain, shift = norm.gain.detach().numpy(), norm.shift.detach().numpy()
    expected = [oracles.context_norm(row, gain, shift, WINDOWS[length]) for row in z.numpy()]
    np.testing.assert_allclose(norm(z).detach().numpy(), np.stack(expected), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(norm.eval()(z), norm.train()(z), rtol=0, atol=0)


# The ESBN: Algorithm 1. Its oracle is in `tests/reproduction/esbn/test_authors.py`.


@pytest.mark.parametrize("model", [name for name in MODELS if name.startswith("esbn")] + ["lstm"])
def test_sequences_of_different_lengths_equal_each_alone(model):
    core, lengths = busy(model).core, torch.tensor([9, 1, 4, 2])
    z = torch.randn(4, 9, 16, dtype=torch.float64, requires_grad=True)
    together = core(z, lengths)
    gradient = torch.autograd.grad(together.sum(), z)[0]
    for row, length in enumerate(lengths.tolist()):
        alone = z[row : row + 1, :length].detach().requires_grad_()
        logits = core(alone)
        torch.testing.assert_close(together[row : row + 1], logits, rtol=1e-10, atol=1e-12)
        expected = torch.autograd.grad(logits.sum(), alone, materialize_grads=True)[0]
        torch.testing.assert_close(gradient[row : row + 1, :length], expected, rtol=1e-9, atol=1e-12)
        assert not gradient[row, length:].any()
        if model != "lstm":
            trace, whole = core.trace(alone), core.trace(z, lengths)
            for ours, wanted in zip(whole[1:], trace[1:], strict=True):
                ours = ours[row : row + 1, : length + 1]
                ours = ours[..., : wanted.shape[-1]] if ours.dim() == 3 else ours
                torch.testing.assert_close(ours, wanted, rtol=1e-10, atol=1e-12)


@every_esbn
def test_edits_see_the_keys_written_before_and_reach_the_answer(model):
    core, seen = busy(model).core, []
    z = torch.randn(3, 9, 16, dtype=torch.float64)
    core.trace(z, edit=lambda t, keys: seen.append(keys) or keys)
    assert [len(keys) - core.default_memory for keys in seen] == list(range(10))
    written = torch.stack(seen[9][core.default_memory :], dim=1)
    torch.testing.assert_close(written, core.trace(z).keys_written[:, :9])
    zeroed = core.trace(z, edit=lambda t, keys: [0 * key for key in keys]).logits
    assert (zeroed - core(z)).abs().max() > 1e-3
    for bad in (lambda t, keys: [*keys, z], lambda t, keys: None, lambda t, keys: [z for _ in keys] or [z]):
        with pytest.raises(UsageError):
            core.trace(z, edit=bad)


@every_esbn
def test_trace_is_what_the_network_does(model):
    made = busy(model)
    pool, ids = batch()
    core = made.core
    trace, default = core.trace(made.embed(pool, ids)), int(core.default_memory)
    torch.testing.assert_close(trace.logits, made(pool, ids))
    torch.testing.assert_close(trace.logits, core.answer(trace.hidden[:, -1]))
    key = core.key.out_features
    assert trace.keys_retrieved.shape == (3, 10, key + core.confidence)
    held = torch.ones(10, 9 + default, dtype=torch.bool).tril(-1 + default)
    held[0] = False
    assert not trace.weights[:, ~held].any()
    assert (trace.weights[:, held] > 0).all()
    torch.testing.assert_close(trace.weights.sum(dim=2)[:, 1:], torch.ones(3, 9, dtype=torch.float64))
    assert not trace.keys_retrieved[:, 0].any()
    keys = trace.keys_written[:, :9]
    if default:
        keys = torch.cat([core.default_key.expand(3, 1, -1), keys], dim=1)
    read = trace.gates[..., None] * (trace.weights @ keys)
    torch.testing.assert_close(trace.keys_retrieved[..., :key], read)
    if core.confidence:
        confidence = trace.gates * (trace.weights * trace.confidences).sum(dim=2)
        torch.testing.assert_close(trace.keys_retrieved[..., -1], confidence)
    else:
        assert not trace.confidences.any()


# One's own images and encoders.


@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("image", [(1, 28, 28), (3, 20, 17)])
def test_images_have_any_size_and_colors(kind, image):
    encoder = ENCODERS[kind](16, image=image)
    made = Network(encoder, TemporalContextNorm(16, (3,)), ESBN(16, 2, 8, 8))
    pool, ids = torch.rand(6, *image), torch.randint(6, (4, 3))
    assert made(pool, ids).shape == (4, 2)
    torch.testing.assert_close(made(pool[ids]), made(pool, ids))
    if image[0] == 1:
        torch.testing.assert_close(encoder(pool[:, 0]), encoder(pool))


POOL, IDS = torch.rand(5, 32, 32), torch.randint(5, (2, 9))


@pytest.mark.parametrize(
    "call",
    [
        *(
            lambda images=images: network("lstm")(images, IDS)
            for images in (torch.rand(5, 28, 28), POOL.double(), POOL.byte(), 255 * POOL, POOL - 0.5)
        ),
        lambda: network("lstm", encoder="rand")(POOL.double(), IDS),
        *(lambda last=last: network("lstm")(POOL, torch.tensor([[0, last]])) for last in (-1, 5)),
        lambda: ESBN(default_memory=True),
        lambda: TemporalContextNorm(4, (8, 1)),
        lambda: TemporalContextNorm(4, (2, 2, 2))(torch.zeros(1, 9, 4)),
        lambda: Transformer(features=12),
        lambda: TemporalRelationNet(length=1),
        lambda: ConvEncoder(image=(1, 7, 9)),
        *(
            lambda make=make, lengths=lengths: make(4)(torch.ones(2, 3, 4), torch.tensor(lengths))
            for make in (LSTM, ESBN)
            for lengths in ([1, 4], [0, 3])
        ),
        lambda: network("esbn")(POOL),  # without ids these are no problems
    ],
)
def test_bad_input_is_named(call):
    with pytest.raises(UsageError):
        call()


@every_model
def test_sizes_are_positive_integers_and_vectors_of_the_network_s_size_and_type(model):
    for size in ("features", "classes", *options(model)):
        for value in (0, -1, True):
            with pytest.raises(UsageError, match=size):
                MODELS[model](**{size: value})
    made = MODELS[model](features=16, classes=2)
    assert made(torch.randn(4, 9, 16)).shape == (4, 2)
    for shape in ((4, 9, 17), (4, 0, 16)):
        with pytest.raises(UsageError):
            made(torch.randn(shape))
    with pytest.raises(UsageError):
        made(torch.randn(4, 9, 16).double())
