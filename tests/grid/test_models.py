"""The mechanisms: each against its numpy twin, its size, its bottleneck, and what its twin differs in."""

from functools import partial

import numpy as np
import pytest
import torch
from esbn import oracles as esbn_oracles
from esbn.networks import in_half_precision, stacked_gradients

from grid import oracles
from mini_lib.datasets import glyphs
from mini_lib.errors import UsageError
from mini_lib.esbn.network import ConvEncoder
from mini_lib.esbn.recurrent_baselines import LSTM
from mini_lib.grid.mechanisms import Abstractor, CoRelNet, Differences, Pointer
from mini_lib.grid.networks import FACTORIAL, MODELS, SIZES, CommandNetwork, CurveNetwork, build_core
from mini_lib.grid.runs import TASKS, Settings
from mini_lib.grid.tasks import HIDDEN, RULES
from mini_lib.reproduction.authors import places
from mini_lib.reproduction.grid.contrasts import BOTTLENECKS
from mini_lib.reproduction.ledger import load
from mini_lib.scan.tasks import PAD, WORD_IDS, encode
from mini_lib.seeding import seeded

SHAPE = {"features": 16, "classes": 4, "length": 5}
SMALL = {
    "abstractor": {"size": 16, "heads": 2, "head_size": 6, "hidden": 10, "answer_hidden": 7},
    "esbn": {"hidden": 12, "key_size": 6},
    "differences": {"size": 8, "hidden": 9, "answer_hidden": 7},
    "pointer": {"syntax": 6, "semantics": 5, "places": (1, 2, 3, 4)},
    "kanerva": {"columns": 10, "hidden": 7},
    "lstm": {"hidden": 9},
    "transformer": {"hidden": 9, "answer_hidden": 7},
}
OWN = [name for name in MODELS if name not in ("esbn", "lstm", "transformer")]
# Networks that differ in the relation alone: fixed and one map that is learned, one map and two.
LEARNING = [(name, name.replace("fixed", "tied")) for name in FACTORIAL if "fixed" in name]
SYMMETRY = [(name, name.replace("tied", "learned")) for name in FACTORIAL if "tied" in name]
OPEN = [*BOTTLENECKS, ("differences", "differences, open")]


def kind_of(name):
    return name.split(" ")[0].rstrip(",")


def small(name, seed=0, **changes):
    """A mechanism of its kind, small, in double precision, with no parameter at zero."""
    torch.manual_seed(seed)
    kind = kind_of(name)
    options = SMALL.get(kind, {"hidden": 7})
    if kind == "abstractor" and " " in name:
        options = {"hidden": 7, "size": 16, "head_size": 16}
    shape = {key: value for key, value in SHAPE.items() if key != "length" or kind not in ("esbn", "lstm")}
    network = MODELS[name](**shape, **options | changes).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return network


def vectors():
    return torch.randn(3, 5, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def by_numpy(name, network, z):
    p = {key: value.detach().numpy() for key, value in network.state_dict().items()}
    kind = kind_of(name)
    if kind == "corelnet":
        return oracles.corelnet(p, z, network.content)
    if kind == "abstractor":
        return oracles.abstractor(p, z, network.heads, network.content)
    if kind == "kanerva":
        return oracles.kanerva(p, z)
    if kind == "pointer":
        return oracles.pointer(p, z, network.places.tolist())
    core = {key.replace("transformer.", "core."): value for key, value in p.items() if "transformer." in key}
    names = [row for table in ("every network", "transformer") for row in load("esbn").renamings[table]]
    theirs = {name: ours for name, (_, ours) in places(names, core).items()}
    return oracles.differences(p, z, partial(esbn_oracles.transformer, theirs))


@pytest.mark.parametrize(
    ("name", "options"), [*((name, {}) for name in OWN), ("pointer", {"places": ()})], ids=str
)
def test_a_mechanism_is_its_numpy_twin(name, options):
    network, z = small(name, **options), vectors()
    ours = network(z).detach().numpy()
    # The places of differences are constants in single precision.
    tolerance = 1e-6 if kind_of(name) == "differences" else 1e-9
    for answer, each in zip(ours, z.numpy(), strict=True):
        np.testing.assert_allclose(answer, by_numpy(name, network, each), rtol=0, atol=tolerance)
    assert np.abs(ours[0] - ours[1]).max() > 1e-4


@pytest.mark.parametrize("name", MODELS)
def test_gradients_reach_every_parameter_and_stacked_networks_equal_each_alone(name):
    stacked, own = stacked_gradients([small(name, seed) for seed in (0, 1)], loss, vectors())
    for which, gradients in enumerate(own):
        for key, gradient in gradients.items():
            assert gradient.abs().max() > 0, key
            torch.testing.assert_close(stacked[key][which], gradient, rtol=1e-7, atol=1e-10)


def loss(logits):
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return torch.nn.functional.cross_entropy(logits, torch.tensor([0, 3, 1]))


def of_task(task, name, **changes):
    """The network of a run of seed 3."""
    with seeded(3, "weights"):
        return Settings(task, name, 1e-3, 1, m=95 if task in RULES else 0, **changes).network()


@pytest.mark.parametrize("task", TASKS)
def test_mechanisms_that_are_described_are_of_one_size(task):
    """Numbers to learn of the mechanism alone; of commands, those of the syntax stream that a gradient reaches."""
    wanted = 83_000 if task == "commands" else 110_000
    for name in SIZES[task]:
        network = of_task(task, name)
        learned = [*network.core.parameters()]
        if task == "commands":
            words, lengths, actions = encode(["jump twice and look left", "walk"]).tensors
            network(words, lengths, actions).sum().backward()
            learned = [parameter for parameter in learned if parameter.grad is not None]
        count = sum(parameter.numel() for parameter in learned)
        assert 0.9 * wanted < count < 1.13 * wanted, (name, count)


TWINS = [
    *((task, pair) for task in ("distribution_of_three", "match") for pair in (*OPEN, *LEARNING, *SYMMETRY)),
    ("curves", OPEN[-1]),
    ("commands", ("syntactic attention", "sequential semantics")),
    ("commands", ("abstractor learned", "abstractor learned, open")),
]


@pytest.mark.parametrize(("task", "pair"), TWINS)
def test_twins_begin_with_the_same_numbers_but_for_what_only_one_of_them_has(task, pair):
    """Codes of glyphs are among them. What only one has is what the two differ in."""
    one, other = (of_task(task, name).state_dict() for name in pair)
    for name in one.keys() & other.keys():
        assert one[name].equal(other[name]), name
    own = {name.removeprefix("core.").split(".")[0] for name in one.keys() ^ other.keys()}
    if pair in LEARNING:
        assert own == {"query"}
    elif pair in SYMMETRY:
        assert own == {"key"}
    elif pair[0].startswith("abstractor"):
        assert own == set()  # what is passed on is the sum of symbols and objects, through the same weights
    else:
        assert own == ({"sequence"} if pair[0] == "syntactic attention" else {"from_content"})


@pytest.mark.parametrize("name", ["abstractor fixed", "corelnet fixed", "esbn"])
def test_behind_a_bottleneck_with_a_fixed_relation_only_likeness_counts(name):
    """So all commands of n different words are alike to it."""
    network, z = small(name), vectors()
    turned = z @ torch.linalg.qr(torch.randn(16, 16, dtype=z.dtype)).Q
    torch.testing.assert_close(network(turned), network(z))
    assert not network(torch.cat([z[:, :1], z[:, :-1]], dim=1)).allclose(network(z))
    words, lengths, _ = encode(["walk opposite left twice", "look around right thrice"]).tensors
    one, other = of_task("commands", name).eval().roles_and_query(words, lengths)[0]
    torch.testing.assert_close(one, other)


def test_a_relation_may_start_as_the_fixed_one():
    learned = MODELS["abstractor learned from fixed"](**SHAPE, size=16, head_size=16)
    for part in (learned.query, learned.key):
        assert part.weight.equal(torch.eye(16))


def test_codes_of_glyphs_are_standardized_and_the_objects_of_a_rule_normalized_together():
    network, images = of_task("match", "lstm"), glyphs("rendered")
    with seeded(3, "weights"), torch.no_grad():
        raw = ConvEncoder(40)(images).double().numpy()
    codes = (raw - raw.mean(axis=0)) / np.sqrt(raw.var(axis=0, ddof=1) + 1e-8)
    embedded = network.embed(torch.tensor([[[3, 99, HIDDEN]]]))[0, 0].numpy()
    np.testing.assert_allclose(embedded, [*codes[3], *codes[99], *np.zeros(40)], rtol=1e-3, atol=1e-3)
    rule, raw = (of_task("rmts", "lstm", normalised=normalised) for normalised in (True, False))
    shown, codes = torch.arange(6)[None, :, None], rule.codes[:6]
    wanted = (codes - codes.mean(dim=0)) / (codes.var(dim=0) + 1e-8).sqrt()
    torch.testing.assert_close(rule.embed(shown)[0], wanted, rtol=1e-3, atol=1e-3)
    assert not any(parameter.requires_grad for parameter in rule.norm.parameters())
    assert raw.embed(shown)[0].equal(raw.codes[:6])


def test_a_normalized_curve_scales_and_shifts_with_its_input():
    core = LSTM(features=6, classes=1)
    network, y = CurveNetwork(torch.nn.Linear(1, 6), core, normalize=True), torch.rand(3, 7)
    torch.testing.assert_close(network(5 * y + 2), 5 * network(y), rtol=1e-4, atol=1e-5)
    spread, mean = torch.std_mean(y, dim=1, keepdim=True)
    step = core(network.read(((y - mean) / spread)[..., None]))
    torch.testing.assert_close(network(y), (step * spread)[:, 0], rtol=1e-4, atol=1e-5)
    assert network.half()(torch.ones(2, 7).half()).isfinite().all()


def test_commands_read_of_each_vector_its_relations_or_the_pairs_that_it_is_part_of():
    z, network = vectors(), small("differences")
    of_pairs = network.transformer.states(network.inputs(z))
    pairs = [(j, i) for j in range(5) for i in range(j)]
    for t in range(5):
        own = [number for number, pair in enumerate(pairs) if t in pair]
        wanted = of_pairs[:, own].mean(dim=1)
        torch.testing.assert_close(network.states(z)[:, t], wanted, rtol=1e-6, atol=1e-8)
    network = small("corelnet fixed, open")
    assert network.states(z).equal(torch.cat([network.relate(z), z], dim=-1))
    assert small("esbn").states(z).equal(small("esbn").trace(z).keys_retrieved[:, :-1])


def test_in_commands_a_mechanism_takes_the_place_of_the_syntax_stream():
    network = of_task("commands", "corelnet learned", options={"hidden": 5}).eval()
    words, lengths, actions = encode(["jump", "look opposite left and walk"]).tensors
    roles, query = network.roles_and_query(words, lengths)
    padded = torch.full((2, 11), WORD_IDS[PAD])
    padded[:, : words.shape[1]] = words
    one_hot = 32**0.5 * torch.eye(32)[padded]
    wanted = network.role(network.core.states(one_hot))
    for row, length in enumerate(lengths.tolist()):
        torch.testing.assert_close(roles[row, :length], wanted[row, :length])
        first = network.first_query(wanted[row, :length].mean(dim=0)).relu()
        torch.testing.assert_close(query[row], first)
    alone, _ = network.roles_and_query(words[:1, :3], lengths[:1])
    torch.testing.assert_close(alone, roles[:1, :3])
    assert network.trace(words, lengths, actions.shape[1]).roles.equal(roles)


@pytest.mark.parametrize(
    "name",
    ["corelnet learned, open", "abstractor", "abstractor fixed", "differences, open", "pointer", "kanerva"],
)
def test_half_precision_and_autocast_are_near_single_precision(name):
    in_half_precision(lambda: small(name), (vectors(),), loss)


@pytest.mark.parametrize(
    "call",
    [
        lambda: build_core("corelnet fixd", "rmts", features=8, classes=2, length=6),
        lambda: CoRelNet(relation="fix"),
        lambda: Abstractor(from_identity=True),
        lambda: Pointer(places=(1, 9)),
        lambda: CommandNetwork(partial(CoRelNet, features=8, length=11), features=8),
        lambda: Differences(length=1),
        lambda: of_task("match", "lstm")(torch.tensor([[[101]]])),
        *(lambda name=name: small(name)(vectors()[:, :4]) for name in OWN),
    ],
)
def test_bad_input_is_named(call):
    with pytest.raises(UsageError):
        call()
