"""The mechanisms: each against its numpy twin, its size, its bottleneck, and what its twin differs in."""

from functools import partial

import numpy as np
import pytest
import torch
from esbn import oracles as esbn_oracles
from torch.func import functional_call, grad, stack_module_state, vmap

from grid import oracles
from mini_lib.errors import UsageError
from mini_lib.esbn.recurrent_baselines import LSTM
from mini_lib.grid.mechanisms import Abstractor, CoRelNet, Differences, Pointer
from mini_lib.grid.networks import MODELS, SIZES, CommandNetwork, CurveNetwork, build_core
from mini_lib.grid.runs import TASKS, Settings, build
from mini_lib.grid.tasks import RULES
from mini_lib.reproduction.grid.contrasts import BOTTLENECKS, LEARNING, SYMMETRY
from mini_lib.scan.tasks import encode

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


def small(name, seed=0, **changes):
    """A mechanism of its kind, small, in double precision, with no parameter at zero."""
    torch.manual_seed(seed)
    kind, _, how = name.partition(" ")
    kind = kind.rstrip(",")
    options = {"hidden": 7} if how and kind == "corelnet" else SMALL.get(kind, {"hidden": 7})
    if how and kind == "abstractor":
        options = {"hidden": 7, "size": 16, "head_size": 16}
    shape = {key: value for key, value in SHAPE.items() if key != "length" or kind not in ("esbn", "lstm")}
    network = MODELS[name](**shape, **options | changes).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return network


def vectors(count=3, length=5, features=16, seed=1):
    return torch.randn(
        count, length, features, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def by_numpy(name, network, z):
    p = {key: value.detach().numpy() for key, value in network.state_dict().items()}
    kind = name.split(" ")[0].rstrip(",")
    if kind == "corelnet":
        return oracles.corelnet(p, z, network.content)
    if kind == "abstractor":
        return oracles.abstractor(p, z, network.heads, network.content)
    if kind == "kanerva":
        return oracles.kanerva(p, z)
    if kind == "pointer":
        return oracles.pointer(p, z, network.places.tolist())
    theirs = {
        "qkv": "transformer_encoder.layers.0.self_attn.in_proj_",
        "out_proj": "transformer_encoder.layers.0.self_attn.out_proj.",
        "norm1": "transformer_encoder.layers.0.norm1.",
        "norm2": "transformer_encoder.layers.0.norm2.",
        "expand": "transformer_encoder.layers.0.linear1.",
        "contract": "transformer_encoder.layers.0.linear2.",
        "final_norm": "transformer_encoder.norm.",
        "hidden": "out_hidden.",
        "answer": "y_out.",
    }
    renamed = {}
    for key, value in p.items():
        part, _, what = key.removeprefix("transformer.").rpartition(".")
        if part in theirs:
            renamed[theirs[part] + what] = value
    return oracles.differences(p, z, partial(esbn_oracles.transformer, renamed))


OWN = [name for name in MODELS if name not in ("esbn", "lstm", "transformer")]


@pytest.mark.parametrize("name", OWN)
def test_a_mechanism_is_its_numpy_twin(name):
    network, z = small(name), vectors()
    ours = network(z).detach().numpy()
    tolerance = (
        1e-6 if name.startswith("differences") else 1e-9
    )  # its places are constants in single precision
    for answer, each in zip(ours, z.numpy(), strict=True):
        np.testing.assert_allclose(answer, by_numpy(name, network, each), rtol=0, atol=tolerance)
    assert np.abs(ours[0] - ours[1]).max() > 1e-4


def test_a_pointer_without_places_says_what_it_finds():
    network, z = small("pointer", places=()), vectors()
    for answer, each in zip(network(z).detach().numpy(), z.numpy(), strict=True):
        np.testing.assert_allclose(answer, by_numpy("pointer", network, each), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_reach_every_parameter_and_stacked_networks_equal_each_alone(name):
    networks, z = [small(name, seed) for seed in (0, 1)], vectors()
    target = torch.tensor([0, 3, 1])

    def loss(parameters, buffers, z):
        return torch.nn.functional.cross_entropy(
            functional_call(networks[0], (parameters, buffers), (z,)), target
        )

    parameters, buffers = stack_module_state(networks)
    stacked = vmap(grad(loss), in_dims=(0, 0, None))(parameters, buffers, z)
    for i, network in enumerate(networks):
        torch.nn.functional.cross_entropy(network(z), target).backward()
        for key, parameter in network.named_parameters():
            assert parameter.grad.abs().max() > 0, key
            torch.testing.assert_close(stacked[key][i], parameter.grad, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("task", TASKS)
def test_mechanisms_that_are_described_are_of_one_size(task):
    """Numbers to learn of the mechanism alone; of commands, of the stream of syntax."""
    wanted = 83_000 if task == "commands" else 110_000
    for name in SIZES[task]:
        count = learned(of_task(task, name), task)
        assert 0.9 * wanted < count < 1.13 * wanted, (name, count)


def of_task(task, name):
    return Settings(task, name, 1e-3, 1, m=95 if task in RULES else 0).network()


def learned(network, task):
    """Of the mechanism, those numbers that a gradient reaches."""
    if task != "commands":
        return sum(p.numel() for p in network.core.parameters())
    words, lengths, actions = encode(["jump twice and look left", "walk"]).tensors
    network(words, lengths, actions).sum().backward()
    return sum(p.numel() for p in network.core.parameters() if p.grad is not None)


def built(task, name):
    return build(Settings(task, name, 1e-3, 1, m=95 if task in RULES else 0), seed=3).model.state_dict()


TWINS = [
    *((task, pair) for task in (*RULES, "match") for pair in (*BOTTLENECKS, *LEARNING, *SYMMETRY)),
    ("curves", ("differences", "differences, open")),
    ("commands", ("syntactic attention", "sequential semantics")),
    ("commands", ("abstractor learned", "abstractor learned, open")),
]


@pytest.mark.parametrize(("task", "pair"), TWINS)
def test_twins_begin_with_the_same_numbers_but_for_what_only_one_of_them_has(task, pair):
    """Codes of glyphs are among them. What only one has is what the two differ in."""
    one, other = (built(task, name) for name in pair)
    for name in one.keys() & other.keys():
        torch.testing.assert_close(one[name], other[name], rtol=0, atol=0, msg=name)
    own = {name.removeprefix("core.").split(".")[0] for name in one.keys() ^ other.keys()}
    assert own == parts_of_one_twin(pair)


def parts_of_one_twin(pair):
    """The parts that the second of two twins has and the first has not."""
    if pair in LEARNING:
        return {"query"}
    if pair in SYMMETRY:
        return {"key"}
    if pair[0].startswith("abstractor"):
        return set()  # what is passed on is the sum of symbols and objects, through the same weights
    return {"sequence"} if pair[0] == "syntactic attention" else {"from_content"}


@pytest.mark.parametrize("pair", [*BOTTLENECKS, ("differences", "differences, open")])
def test_networks_with_and_without_a_bottleneck_differ_in_nothing_but_what_is_passed_on(pair):
    closed, opened = (small(name) for name in pair)
    own = [
        {(name, repr(value)) for name, value in vars(each).items() if name[0] != "_"}
        for each in (closed, opened)
    ]
    changed = {name for name, _ in own[0] ^ own[1]}
    assert changed <= {"content", "from_content"}
    opened.load_state_dict(closed.state_dict(), strict=False)
    assert (opened(vectors()) - closed(vectors())).abs().max() > 1e-3
    if hasattr(opened, "from_content"):
        torch.nn.init.zeros_(opened.from_content.weight)
    else:  # an Abstractor, which passes objects on through the weights of its symbols
        torch.testing.assert_close(opened.relate(vectors()), closed.relate(vectors()), rtol=0, atol=0)
        opened.content = False
    torch.testing.assert_close(opened(vectors()), closed(vectors()), rtol=0, atol=0)


def test_a_learned_relation_whose_maps_are_the_identity_is_the_fixed_one():
    for kind in ("abstractor", "corelnet"):
        fixed = small(f"{kind} fixed")
        for name in (f"{kind} tied", f"{kind} learned"):
            other = small(name)
            other.load_state_dict(fixed.state_dict(), strict=False)
            with torch.no_grad():
                for part in filter(None, (other.query, other.key)):
                    part.weight.copy_(torch.eye(16))
            torch.testing.assert_close(other(vectors()), fixed(vectors()), rtol=1e-12, atol=1e-12)
    fresh = MODELS["abstractor learned from fixed"](features=16, classes=4, length=5, size=16, head_size=16)
    assert torch.equal(fresh.query.weight, torch.eye(16))
    assert torch.equal(fresh.key.weight, torch.eye(16))


@pytest.mark.parametrize("name", ["abstractor fixed", "corelnet fixed"])
def test_behind_a_bottleneck_with_a_fixed_relation_only_likeness_counts(name):
    """A rotation of all vectors changes every one of them, and none of their products."""
    rotation = torch.linalg.qr(torch.randn(16, 16, dtype=torch.float64)).Q
    network, z = small(name), vectors()
    torch.testing.assert_close(network(z @ rotation), network(z), rtol=1e-9, atol=1e-9)
    for open_ in (f"{name}, open", name.replace("fixed", "tied"), name.replace("fixed", "learned")):
        network = small(open_)
        assert (network(z @ rotation) - network(z)).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["corelnet fixed", "abstractor fixed", "esbn"])
def test_to_fixed_relations_all_commands_of_different_words_are_alike(name):
    """Why these cannot learn commands: *jump twice* and *walk left* are the same to them."""
    torch.manual_seed(0)
    network = Settings("commands", name, 1e-3, 1).network().eval()
    words, lengths, actions = encode(
        ["jump opposite left and walk", "look around right after run", "run twice and jump left"]
    ).tensors
    looks = network.trace(words, lengths, actions.shape[1]).attention
    torch.testing.assert_close(looks[0], looks[1], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(looks[0], looks[2], rtol=1e-4, atol=1e-6)
    learned_ = Settings("commands", "abstractor learned", 1e-3, 1).network().eval()
    looks = learned_.trace(words, lengths, actions.shape[1]).attention
    assert (looks[0] - looks[1]).abs().max() > 1e-4


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("shape", [(3, 4, 16), (3, 5, 12)])
def test_sequences_of_another_shape_are_refused(name, shape):
    with pytest.raises(UsageError):
        small(name)(torch.zeros(shape, dtype=torch.float64))


@pytest.mark.parametrize(
    "call",
    [
        lambda: build_core("corelnet fixd", "rmts", features=8, classes=2, length=6),
        lambda: build_core("lstm", "rmts", features=8, classes=2, length=6, hiden=3),
        lambda: CoRelNet(relation="fix"),
        lambda: Abstractor(from_identity=True),
        lambda: Abstractor(content=True),
        lambda: Abstractor(size=64, heads=3),
        lambda: Pointer(places=(1, 9)),
        lambda: CommandNetwork(partial(CoRelNet, features=8, length=11), features=8),
        lambda: Differences(length=1),
    ],
)
def test_bad_input_is_named(call):
    with pytest.raises(UsageError):
        call()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "name",
    ["corelnet learned, open", "abstractor", "abstractor fixed", "differences, open", "pointer", "kanerva"],
)
def test_half_precision_and_autocast_are_near_single_precision(name, dtype):
    z, target = vectors().float(), torch.tensor([0, 3, 1])

    def logits(network, z):
        found = network(z)
        torch.nn.functional.cross_entropy(found.float(), target).backward()
        assert all(parameter.grad.isfinite().all() for parameter in network.parameters())
        return found.float()

    wanted = logits(small(name).float(), z)
    close = {"rtol": 0.1, "atol": 0.1 * wanted.abs().max().item()}
    with torch.autocast("cpu", dtype):
        torch.testing.assert_close(logits(small(name).float(), z), wanted, **close)
    torch.testing.assert_close(logits(small(name).to(dtype), z.to(dtype)), wanted, **close)


def test_a_normalized_curve_scales_and_shifts_with_its_input():
    network, y = (
        CurveNetwork(torch.nn.Linear(1, 6), LSTM(features=6, classes=1), normalize=True),
        torch.rand(3, 7),
    )
    torch.testing.assert_close(network(5 * y + 2), 5 * network(y), rtol=1e-4, atol=1e-5)
    assert network.half()(torch.ones(2, 7).half()).isfinite().all()


@pytest.mark.parametrize("number", [-1, 101])
def test_glyphs_that_are_not_there_are_refused(number):
    with pytest.raises(UsageError, match="ids are from 0 to 100"):
        Settings("match", "lstm", 1e-3, 10).network()(torch.tensor([[[number]]]))
