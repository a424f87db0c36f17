"""The ten networks, the encoders and temporal context normalisation against the facts.

That each is its slow numpy twin stands in `tests/reproduction/esbn/test_authors.py`, under the authors' names.
"""

import inspect
import math
import re
from functools import partial

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import functional as F

from esbn import oracles
from mini_lib.errors import UsageError
from mini_lib.esbn.models import ENCODERS, MODELS, TemporalContextNorm, build_network, scaled_sizes
from mini_lib.esbn.models.network import check_pictures
from mini_lib.esbn.tasks import make_problems
from mini_lib.layers import LSTMCell, check_sequences, scaled

WINDOWS = {2: (2,), 6: (2, 2, 2), 9: (9,)}
CLASSES = {2: 2, 6: 2, 9: 4}
SMALL = 0.125

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
    ("ntm", 2): ("core.read_gate.", "core.write_gate."),
    # d(z_0 . z_1)/d shift = z_0 + z_1 = 2 shift, which starts at zero.
    ("esbn", 2): ("norm.shift",),
}

every_model = pytest.mark.parametrize("model", MODELS)
every_esbn = pytest.mark.parametrize("model", [name for name in MODELS if name.startswith("esbn")])
every_length = pytest.mark.parametrize("length", WINDOWS)


def make(model, length=9, width=SMALL, seed=0, **options):
    torch.manual_seed(seed)
    return build_network(model, classes=CLASSES[length], windows=WINDOWS[length], width=width, **options)


build = partial(build_network, "esbn", classes=4, windows=(9,))


def busy(model, length=9, seed=0, **options):
    """A small network in double precision whose zeros (biases, shift, default memory) are zero no more."""
    network = make(model, length, seed=seed, **options).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return network


def batch(length=9, size=3, seed=0, images=5, dtype=torch.float64):
    rng = torch.Generator().manual_seed(seed)
    pool = torch.rand(images, 32, 32, generator=rng, dtype=torch.float64).to(dtype)
    return pool, torch.randint(images, (size, length), generator=rng)


def loss_of(network, pool, where, answers):
    logits, extra = network(pool, where, aux=True)
    return F.cross_entropy(logits, answers) + extra


@every_model
def test_parameter_counts_are_those_of_the_facts(model):
    counts = tuple(sum(p.numel() for p in make(model, length, width=1.0).parameters()) for length in WINDOWS)
    assert counts == COUNTS[model]


@pytest.mark.parametrize(
    ("options", "change"),
    [({"encoder": "mlp"}, 491_424), ({"encoder": "rand"}, -66_400 - 131_200), ({"tcn": False}, -256)],
)
def test_other_parts_change_the_count(options, change):
    # The authors count the random encoder's 131,200 weights, which no gradient reaches; ours are buffers.
    assert sum(p.numel() for p in make("lstm", 9, 1.0, **options).parameters()) == 1_514_724 + change


@every_length
@every_model
def test_gradient_reaches_every_parameter_within_five_updates(model, length):
    network = make(model, length, width=0.25).double()
    optimizer = torch.optim.Adam(network.parameters(), 5e-4)
    largest = dict.fromkeys(dict(network.named_parameters()), 0.0)
    for update in range(5):
        pool, where = batch(length, 16, seed=update, images=12)
        where[::2, -1] = where[::2, 0]  # some repetition, as every task has
        answers = torch.randint(CLASSES[length], (16,), generator=torch.Generator().manual_seed(update))
        optimizer.zero_grad()
        loss_of(network, pool, where, answers).backward()
        optimizer.step()
        for name, parameter in network.named_parameters():
            largest[name] = max(largest[name], parameter.grad.abs().max().item())
    without = {name for name, size in largest.items() if size < 1e-12}
    idle = IDLE.get((model, length), ())
    assert without == {name for name in largest if idle and name.startswith(idle)}


@pytest.mark.parametrize(
    ("images", "where", "message"),
    [
        ((5, 28, 28), (2, 9), "a pool is [P, 32, 32]; got pictures of shape [5, 28, 28]"),
        ((5, 1, 32, 32), (2, 9), "a pool is [P, 32, 32]; got pictures of shape [5, 1, 32, 32]"),
        (
            (5, 32, 32),
            None,
            "problems are [B, T, 32, 32], without `where`; got pictures of shape [5, 32, 32]",
        ),
        ((5, 32, 32), (9,), "`where` takes the ids of pictures, whole numbers [B, T]"),
    ],
)
def test_pictures_and_ids_of_another_shape_are_named(images, where, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        check_pictures(torch.rand(images), None if where is None else torch.zeros(where, dtype=torch.long))


def test_pictures_and_ids_of_another_type_are_named():
    pool, where = batch(size=2)
    check_pictures(pool, where)
    for images in (pool.numpy(), pool.byte()):
        with pytest.raises(UsageError, match="pictures are a tensor of floats from 0 to 1"):
            check_pictures(images, where)
    for ids in (where.float(), (where, where)):
        with pytest.raises(UsageError, match=r"such as `problems\.ids`"):
            check_pictures(pool, ids)


@every_model
def test_a_pool_with_places_is_the_same_as_images(model):
    network = busy(model)
    pool, where = batch(size=4)
    together = network(pool, where)
    torch.testing.assert_close(together, network(pool[where]))
    for row in range(4):  # and nobody sees the others of the batch
        torch.testing.assert_close(network(pool, where[row : row + 1]), together[row : row + 1])


@every_model
def test_stacked_networks_equal_each_alone(model):
    networks = [make(model, seed=seed).double() for seed in range(3)]
    pools, where = torch.stack([batch(seed=seed)[0] for seed in range(3)]), batch()[1]
    answers = torch.tensor([0, 3, 1])
    skeleton = make(model).double()

    def loss(parameters, buffers, pool):
        logits, extra = functional_call(skeleton, (parameters, buffers), (pool, where, True))
        return F.cross_entropy(logits, answers) + extra

    parameters, buffers = stack_module_state(networks)
    stacked = vmap(grad(loss))(parameters, buffers, pools)
    for i, network in enumerate(networks):
        loss_of(network, pools[i], where, answers).backward()
        for name, parameter in network.named_parameters():
            torch.testing.assert_close(stacked[name][i], parameter.grad, rtol=1e-7, atol=1e-10)


@pytest.mark.slow
@every_model
def test_learns_16_problems_by_heart(model):
    problems = make_problems("distribution_of_three", 92, 0).train
    answers = problems.answers[:16]
    used, where = problems.ids[:16].unique(return_inverse=True)
    network = make(model)
    pool = torch.rand(len(used), 32, 32)
    optimizer = torch.optim.Adam(network.parameters(), 4e-3)
    for _update in range(300):
        optimizer.zero_grad()
        logits, extra = network(pool, where, aux=True)
        if (logits.argmax(dim=1) == answers).all():
            return
        (F.cross_entropy(logits, answers) + extra).backward()
        optimizer.step()
    pytest.fail(f"{model} still errs on its training problems")


# Initialisation: facts, 3.2 and each network's own section.


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


def kaiming(outputs, inputs):
    return math.sqrt(2 / inputs)


def xavier(outputs, inputs):
    return math.sqrt(2 / (inputs + outputs))


def xavier_tanh(outputs, inputs):
    return 5 / 3 * xavier(outputs, inputs)


SPREAD = {
    **{model: {kaiming: "key", xavier: "gate answer"} for model in MODELS if model.startswith("esbn")},
    "lstm": {xavier: "answer"},
    "ntm": {
        xavier_tanh: "read_key write_key add",
        kaiming: "read_strength read_sharpen write_strength write_sharpen",
        xavier: "read_gate read_shift write_gate write_shift erase answer",
    },
    "rn": {kaiming: "pair_hidden pair_out hidden", xavier: "answer"},
    "trn": {kaiming: "pair_hidden pair_out triple_hidden triple_out hidden", xavier: "answer"},
    "transformer": {kaiming: "expand contract hidden", xavier: "qkv out_proj answer"},
    "predinet": {kaiming: "hidden", xavier: "key query1 query2 relation answer"},
}


@pytest.mark.parametrize("model", SPREAD)
def test_layers_start_with_their_spread_and_zero_biases(model):
    core = make(model, width=1.0).core
    rules = {name: rule for rule, names in SPREAD[model].items() for name in names.split()}
    assert {name for name, part in core.named_modules() if isinstance(part, torch.nn.Linear)} == {*rules}
    for name, rule in rules.items():
        weight, bias = core.get_submodule(name).weight, core.get_submodule(name).bias
        tolerance = max(0.02, 4 / math.sqrt(2 * weight.numel()))
        assert weight.std().item() == pytest.approx(rule(*weight.shape), rel=tolerance)
        assert bias is None or not bias.any()
    assert model != "ntm" or core.memory.std().item() == pytest.approx(xavier(10, 256), rel=0.05)


@pytest.mark.parametrize("encoder", ["conv", "mlp", "rand"])
def test_encoders_start_kaiming(encoder):
    for name, value in make("lstm", width=1.0, encoder=encoder).encoder.state_dict().items():
        if "bias" in name:
            assert not value.any()
        else:
            tolerance = max(0.02, 4 / math.sqrt(2 * value.numel()))
            assert value.std().item() == pytest.approx(math.sqrt(2 / value[0].numel()), rel=tolerance)


def test_mnm_starts_uniform_and_its_memory_is_not_trained():
    core = make("mnm", width=1.0).core
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
    assert make(model, width=1.0)(*batch(dtype=torch.float32)).any() == (model == "esbn")


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


# What ESBN lets one see: Algorithm 1.


@every_length
@every_esbn
def test_algorithm_1_and_the_faster_forward_are_one_function(model, length):
    network = busy(model, length)
    z = torch.randn(3, length, 16, dtype=torch.float64)
    values, gradients = [], []
    for answer in (network.core.algorithm_1, network.core):
        given = z.clone().requires_grad_()
        values.append(answer(given))
        weights = torch.linspace(-1, 1, values[-1].numel(), dtype=torch.float64).view_as(values[-1])
        parameters = dict(network.core.named_parameters())
        gradients.append(torch.autograd.grad((values[-1] * weights).sum(), [given, *parameters.values()]))
    torch.testing.assert_close(*values, rtol=1e-12, atol=1e-12)
    for name, one, other in zip(["z", *parameters], *gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12, msg=name)
        assert one.any() or (model, length, name) == ("esbn_no_confidence", 2, "z"), name


@every_esbn
def test_edits_see_the_keys_written_before_and_reach_the_answer(model):
    core, seen = busy(model).core, []
    z = torch.randn(3, 9, 16, dtype=torch.float64)
    core.algorithm_1(z, lambda t, keys: seen.append(keys) or keys)
    assert [len(keys) - core.default_memory for keys in seen] == list(range(10))
    written = torch.stack(seen[9][core.default_memory :], dim=1)
    torch.testing.assert_close(written, core.trace(z).keys_written[:, :9])
    zeroed = core.algorithm_1(z, lambda t, keys: [0 * key for key in keys])
    assert (zeroed - core(z)).abs().max() > 1e-3
    with pytest.raises(UsageError, match=r"step 0: memory holds \d keys, the edit returned \d"):
        core.algorithm_1(z, lambda t, keys: [*keys, keys])


@pytest.mark.parametrize("name", MODELS)
def test_vectors_of_another_size_are_refused(name):
    network = MODELS[name](features=16, classes=2)
    assert network(torch.randn(4, 9, 16)).shape == (4, 2)
    for shape in ((4, 9, 17), (4, 0, 16)):
        with pytest.raises(UsageError, match=r"vectors of 16 features, \[B, \w, 16\]; got"):
            network(torch.randn(shape))


def test_what_is_no_sequence_of_vectors_is_refused():
    """Without the types that tests check, by which such things would not come so far."""
    with pytest.raises(UsageError, match=r"\[B, T, 16\]; got \[9, 16\]"):
        check_sequences(torch.randn(9, 16), None, MODELS["lstm"](features=16))
    with pytest.raises(UsageError, match="has to be a tensor of floats"):
        check_sequences(torch.ones(4, 9, 16, dtype=torch.long), None, MODELS["lstm"](features=16))


def sizes_of(part):
    parameters = inspect.signature(part).parameters.values()
    return [each.name for each in parameters if type(each.default) is int]


PARTS = {**MODELS, **{f"{name} encoder": part for name, part in ENCODERS.items()}}


@pytest.mark.parametrize("name", PARTS)
def test_a_size_has_to_be_a_whole_number_from_1(name):
    for size in sizes_of(PARTS[name]):
        for value in (0, -1):
            with pytest.raises(UsageError, match=f"{size} has to be a positive integer, got {value}"):
                PARTS[name](**{size: value})


@every_esbn
def test_trace_is_what_the_network_does(model):
    network = busy(model)
    pool, where = batch()
    z, core = network.embed(pool, where), network.core
    trace, default = core.trace(z), int(core.default_memory)
    torch.testing.assert_close(trace.logits, network(pool, where))
    torch.testing.assert_close(trace.step_logits[:, -1], trace.logits)
    key = scaled(256, SMALL)
    assert trace.keys_written.shape == (3, 10, key)
    assert trace.keys_retrieved.shape == (3, 10, key + core.confidence)
    assert trace.weights.shape == trace.confidences.shape == (3, 10, 9 + default)
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


def test_attention_of_predinet_and_transformer_are_weights():
    pool, where = batch()
    for model in ("predinet", "transformer"):
        network = busy(model)
        attended = network.core.attention(network.embed(pool, where))
        weights = attended[1] if isinstance(attended, tuple) else attended
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))


@every_model
def test_sizes_have_names_and_width_scales_them_all(model):
    """A size that `build_network` does not know would stay at the paper's, whatever the width."""
    sizes = scaled_sizes(MODELS[model], SMALL)
    own = {name: value.default for name, value in inspect.signature(MODELS[model]).parameters.items()}
    assert {*sizes} == {name for name, value in own.items() if type(value) is int} - {"classes", "length"}
    named = {name: 48 for name in sizes if name != "features"}
    plain, other = (make(model, **options) for options in ({}, named))
    assert [p.shape for p in plain.parameters()] != [p.shape for p in other.parameters()] or not named
    assert other(*batch(dtype=torch.float32)).shape == (3, 4)


@pytest.mark.parametrize("encoder", ["conv", "mlp", "rand"])
def test_encoders_carry_over_alone(encoder):
    whole = make("esbn", encoder=encoder).encoder
    alone = ENCODERS[encoder](**scaled_sizes(ENCODERS[encoder], SMALL))
    alone.load_state_dict(whole.state_dict())
    pool = batch(dtype=torch.float32)[0]
    torch.testing.assert_close(alone(pool), whole(pool), rtol=0, atol=0)
    assert whole(pool).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: build_network("ebsn", classes=4, windows=(9,)), "unknown model 'ebsn'; did you mean 'esbn'"),
        (lambda: build(encoder="cnov"), "unknown encoder 'cnov'; did you mean 'conv'"),
        (lambda: build(default_memory=True), "pass confidence=False"),
        (lambda: TemporalContextNorm(4, (8, 1)), "2 steps or more"),
        (
            lambda: TemporalContextNorm(4, (2, 2, 2))(torch.zeros(1, 9, 4)),
            r"windows \(2, 2, 2\) cover 6 steps, the input has 9",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(UsageError, match=message):
        call()
