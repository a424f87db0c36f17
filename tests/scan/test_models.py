"""Syntactic Attention in all its forms against slow numpy, and what the released code does beyond the text."""

from functools import cache

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import functional as F

from mini_lib.errors import WrongUse
from mini_lib.scan.models import MODELS, SyntacticAttention, build_network
from mini_lib.scan.tasks import MOST_ACTIONS, MOST_WORDS, NO_ACTION, WORD_IDS, encode, exactly_right, padded
from scan import oracles

FORMS = {
    "default": {},
    "sequential": {"sequential_semantics": True},
    "syntax-action": {"syntax_action": True},
    "nonlinear": {"nonlinear_semantics": True},
    "one-hot": {"one_hot": True},
    "top": {"surrounding": "top"},
    "ends zero": {"ends": "zero"},
    "top, ends zero": {"surrounding": "top", "ends": "zero"},
    "everything": {
        **{"sequential_semantics": True, "syntax_action": True, "nonlinear_semantics": True},
        **{"one_hot": True, "surrounding": "top", "ends": "zero"},
    },
}
# Facts, section 2.
COUNTS = {
    "default": 2_253_288,
    "sequential": 2_340_648,
    "syntax-action": 2_256_488,
    "nonlinear": 2_267_808,
}
PARTS = {
    "steering": 1_283_200,
    "roles": 643_200,
    "neighbours": 161_600,
    "first_query": 160_400,
    "meaning": 1_920,
    "word": 1_600,
    "ends": 400,
    "action": 968,
}
COMMANDS = (
    "walk",
    "jump around left thrice after turn right",
    "run twice and look opposite right",
    "turn left",
)

every_form = pytest.mark.parametrize("form", FORMS)


def make(form="default", seed=0, **sizes):
    torch.manual_seed(seed)
    return build_network("syntactic_attention", **({"syntax": 6, "semantics": 4} | sizes), **FORMS[form])


def double(form="default", seed=0, **sizes):
    return make(form, seed, **sizes).double()


@cache
def batch(commands=COMMANDS):
    return encode(commands)


def noise_of(network, examples, seed=0):
    drawn = network.noise(
        len(examples.lengths), MOST_WORDS, MOST_ACTIONS, torch.Generator().manual_seed(seed)
    )
    return {name: mask.double() for name, mask in drawn.items()}


def numbers(command):
    return [WORD_IDS[word] for word in ("<SOS>", *command.split(), "<EOS>")]


def arrays(network):
    return {name: value.numpy() for name, value in network.state_dict().items()}


def loss_of(logits, actions):
    return F.cross_entropy(logits.flatten(0, 1), actions.flatten(), ignore_index=NO_ACTION)


# --------------------------------------------------------------------------------------- the function itself


@every_form
@pytest.mark.parametrize("noisy", [False, True])
def test_equals_the_numpy_forward_pass(form, noisy):
    network, examples = double(form), batch()
    noise = noise_of(network, examples) if noisy else None
    with torch.no_grad():
        trace = network.trace(examples.words, examples.lengths, examples.actions.shape[1], noise)
    for row, command in enumerate(COMMANDS):
        masks = {name: mask[row].numpy() for name, mask in (noise or {}).items()}
        steps, length = examples.actions.shape[1], int(examples.lengths[row])
        logits, attention, roles, meanings = oracles.syntactic_attention(
            arrays(network), numbers(command), steps, masks, **FORMS[form]
        )
        for ours, expected in (
            (trace.logits[row], logits),
            (trace.attention[row, :, :length], attention),
            (trace.roles[row, :length], roles),
            (trace.meanings[row, :length], meanings),
        ):
            np.testing.assert_allclose(ours.numpy(), expected, rtol=0, atol=1e-9)
    assert np.ptp(trace.logits.numpy(), axis=1).max() > 1e-4  # it matters which step it is


@pytest.mark.parametrize("form", COUNTS)
def test_parameters_are_as_many_as_in_the_released_code(form):
    network = build_network("syntactic_attention", **FORMS[form])
    assert sum(p.numel() for p in network.parameters()) == COUNTS[form]


def test_parameters_of_each_part():
    network, counts = build_network("syntactic_attention"), dict.fromkeys(PARTS, 0)
    for name, parameter in network.named_parameters():
        counts[name.split(".")[0]] += parameter.numel()
    assert counts == PARTS


def test_initial_weights_are_pytorchs_own():
    weights = dict(build_network("syntactic_attention").named_parameters())
    for name in ("meaning.weight", "word.weight", "ends"):
        assert weights[name].std().item() == pytest.approx(1, rel=0.1)
        assert weights[name].mean().item() == pytest.approx(0, abs=0.1)
    for start, bound in (
        ("neighbours", 100**-0.5),
        ("roles", 200**-0.5),
        ("steering", 400**-0.5),
        ("first_query", 400**-0.5),
        ("action", 120**-0.5),
    ):
        for name, value in weights.items():
            if name.startswith(f"{start}."):
                assert value.abs().max() <= bound
                if value.numel() > 500:
                    assert value.std().item() == pytest.approx(bound / 3**0.5, rel=0.1)


# ------------------------------------------------------------------------------------- batches, masks, noise


@every_form
@pytest.mark.parametrize("noisy", [False, True])
def test_commands_do_not_see_their_batch_mates_nor_padding(form, noisy):
    network, examples = make(form), padded(batch())
    noise = {name: mask.float() for name, mask in noise_of(network, examples).items()} if noisy else None
    together = network(*examples, noise)
    other_padding = examples.words.clone()
    other_padding[other_padding == WORD_IDS["<NULL>"]] = WORD_IDS["jump"]
    other = network(other_padding, examples.lengths, examples.actions, noise)
    torch.testing.assert_close(other, together, rtol=0, atol=1e-5)
    for row in range(len(COMMANDS)):
        own = examples[row : row + 1].trimmed()
        mine = {name: mask[row : row + 1] for name, mask in (noise or {}).items()}
        alone = network(*own, mine)
        expected = together[row : row + 1, : own.actions.shape[1]]
        torch.testing.assert_close(alone, expected, rtol=0, atol=1e-5)


@every_form
def test_gradients_do_not_see_padding(form):
    """With as many steps for each command, so that the padding of actions counts for nothing."""
    network, examples = double(form), padded(batch())
    loss_of(network(*examples), examples.actions).backward()
    together = {name: p.grad.clone() for name, p in network.named_parameters() if p.requires_grad}
    network.zero_grad()
    total = (examples.actions != NO_ACTION).sum()
    for row in range(len(COMMANDS)):
        own = examples[row : row + 1].trimmed()
        (loss_of(network(*own), own.actions) * own.actions.numel() / total).backward()
    for name, expected in together.items():
        torch.testing.assert_close(network.get_parameter(name).grad, expected, rtol=1e-8, atol=1e-10)


@every_form
def test_attention_sums_to_one_over_the_words_of_the_command(form):
    examples = padded(batch())
    attention = make(form).trace(examples.words, examples.lengths, 9).attention
    torch.testing.assert_close(attention.sum(dim=-1), torch.ones(len(COMMANDS), 9))
    absent = torch.arange(MOST_WORDS) >= examples.lengths[:, None]
    assert not attention[absent[:, None].expand(attention.shape)].any()
    assert (attention[~absent[:, None].expand(attention.shape)] > 0).all()


@every_form
def test_noise_is_dropout_on_both_embeddings_and_on_nothing_else(form):
    network = make(form, syntax=40, semantics=30)
    masks = network.noise(5, 7, 3, torch.Generator().manual_seed(1))
    sizes = {"meaning": 30} | ({} if FORMS[form].get("one_hot") else {"word": 20})
    assert {name: tuple(mask.shape) for name, mask in masks.items()} == {
        name: (5, 7, size) for name, size in sizes.items()
    }
    for mask in masks.values():
        assert set(mask.unique().tolist()) == {0.0, 2.0}
        assert mask.mean().item() == pytest.approx(1, abs=0.15)
    again, other = (network.noise(5, 7, 3, torch.Generator().manual_seed(seed)) for seed in (1, 2))
    assert all(again[name].equal(mask) and not other[name].equal(mask) for name, mask in masks.items())


def test_dropout_keeps_the_mean_and_can_be_left_out():
    network = make(dropout=0.2)
    masks = network.noise(200, 5, 3, torch.Generator().manual_seed(1))
    assert set(masks["word"].unique().tolist()) == {0.0, 1.25}
    assert masks["word"].mean().item() == pytest.approx(1, abs=0.03)
    assert make(dropout=0.0).noise(2, 3, 4, torch.Generator()) == {}


def test_each_mask_reaches_its_own_stream():
    network, examples = double(), batch()
    plain, noise = network.trace(examples.words, examples.lengths, 5), noise_of(network, examples)
    meaning = network.trace(examples.words, examples.lengths, 5, {"meaning": noise["meaning"]})
    word = network.trace(examples.words, examples.lengths, 5, {"word": noise["word"]})
    assert meaning.roles.equal(plain.roles)
    assert meaning.attention.equal(plain.attention)
    assert not meaning.logits.allclose(plain.logits)
    assert word.meanings.equal(plain.meanings)
    assert not word.attention.allclose(plain.attention)


@every_form
def test_evaluation_is_noise_of_ones_and_the_mode_does_not_matter(form):
    network, examples = double(form), batch()
    plain = network(*examples)
    ones = {name: torch.ones_like(mask) for name, mask in noise_of(network, examples).items()}
    assert network(*examples, ones).equal(plain)
    assert network(*examples, {}).equal(plain)
    assert network.eval()(*examples).equal(plain)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    network.train()(*examples, noise_of(network, examples))
    assert torch.get_rng_state().equal(before)


# ----------------------------------------------------------------------------- quirks of the released code


@every_form
def test_there_is_no_teacher_forcing(form):
    network, (words, lengths, actions) = make(form), batch()
    others = torch.randint(1, 8, actions.shape, generator=torch.Generator().manual_seed(0))
    logits = network(words, lengths, actions)
    assert network(words, lengths, others).equal(logits)
    shorter = network(words, lengths, actions[:, :3])
    torch.testing.assert_close(shorter, logits[:, :3], rtol=0, atol=1e-6)
    assert network.predict(words, lengths, actions.shape[1]).equal(logits.argmax(dim=-1))
    assert not network.predict(words, lengths, 2).requires_grad


@every_form
def test_the_first_query_steers_the_first_step_alone(form):
    """The decoder's state starts at zero: the query changes later steps only through the first attention."""
    network, (words, lengths, _) = double(form), batch()
    trace = network.trace(words, lengths, 1)
    _, query = network.parse(words, lengths, {})
    scores = torch.einsum("btk,bk->bt", trace.roles, query)
    present = torch.arange(words.shape[1]) < lengths[:, None]
    expected = torch.softmax(scores.masked_fill(~present, -torch.inf), dim=-1)
    torch.testing.assert_close(trace.attention[:, 0], expected)
    assert (query >= 0).all()


@pytest.mark.parametrize("ends", ["learned", "zero"])
def test_end_vectors_stand_in_place_of_the_outer_contexts(ends):
    network, lengths = double("ends zero" if ends == "zero" else "default"), torch.tensor([5, 3, 2])
    before, after = torch.randn(2, 3, 5, 6, dtype=torch.float64)
    around = network.surround(before[..., :3], after[..., :3], lengths)
    first, last = network.ends if ends == "learned" else torch.zeros(2, 6, dtype=torch.float64)
    for row, length in enumerate(lengths.tolist()):
        assert around[row, 0].equal(first)
        assert around[row, length - 1].equal(last)
        for j in range(1, length - 1):
            assert around[row, j].equal(torch.cat([before[row, j - 1, :3], after[row, j + 1, :3]]))


def changed(place, word, command="walk opposite right twice"):
    words = command.split()
    return encode([command, " ".join([*words[:place], word, *words[place + 1 :]])])


@pytest.mark.parametrize("ends", ["learned", "zero"])
def test_a_words_own_identity_leaks_into_its_role_through_the_second_layer(ends):
    words, lengths, _ = changed(0, "jump")
    network = double("ends zero" if ends == "zero" else "default")
    one, other = network.parse(words, lengths, {})[0].detach()
    moved = (one - other).norm(dim=-1)
    assert moved[1] > 0.1 * moved.max()
    first, _, _ = network.neighbours(network.word(words), network.word(words), lengths)
    assert first[0, 0].equal(first[1, 0])


@pytest.mark.parametrize("form", ["top", "top, ends zero"])
@pytest.mark.parametrize(("place", "word"), [(0, "jump"), (1, "around"), (2, "left"), (3, "thrice")])
def test_with_neighbours_at_the_top_a_role_does_not_depend_on_its_word(form, place, word):
    words, lengths, _ = changed(place, word)
    one, other = double(form).parse(words, lengths, {})[0].detach()
    assert one[place + 1].equal(other[place + 1])
    inner = {*range(1, 5)} - {place + 1}
    assert all(not one[j].allclose(other[j]) for j in inner)


def test_a_meaning_depends_on_its_word_alone_unless_it_is_sequential():
    words, lengths, _ = changed(0, "jump")
    one, other = double().trace(words, lengths, 1).meanings.detach()
    assert [not a.equal(b) for a, b in zip(one, other, strict=True)] == [False, True] + 4 * [False]
    one, other = double("sequential").trace(words, lengths, 1).meanings.detach()
    assert not any(a.equal(b) for a, b in zip(one, other, strict=True))


def test_syntax_reaches_the_actions_through_attention_alone():
    for form, meets in (("default", False), ("nonlinear", False), ("syntax-action", True)):
        network, examples = double(form), batch()
        trace = network.trace(examples.words, examples.lengths, 5)
        said = trace.semantic
        if form == "nonlinear":
            said = torch.relu(network.hidden(torch.relu(said)))
        weight = network.action.weight[:, :4]
        same = torch.allclose(said @ weight.mT + network.action.bias, trace.logits)
        assert same is not meets


# ------------------------------------------------------------------------------------- training and stacking


@every_form
def test_gradient_reaches_every_parameter(form):
    network, examples = double(form), batch()
    loss_of(network(*examples, noise_of(network, examples)), examples.actions).backward()
    without = {name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()}
    assert without == ({"word.weight"} if FORMS[form].get("one_hot") else set())


@every_form
def test_stacked_networks_equal_each_alone(form):
    networks, examples = [double(form, seed) for seed in range(3)], padded(batch())
    noises = [noise_of(network, examples, seed) for seed, network in enumerate(networks)]
    rows = [torch.tensor(order) for order in ((0, 1, 2), (3, 2, 1), (1, 3, 0))]
    parts = [examples[row] for row in rows]
    noises = [{k: mask[row] for k, mask in each.items()} for each, row in zip(noises, rows, strict=True)]
    skeleton = double(form)

    def loss(parameters, buffers, words, lengths, actions, noise):
        logits = functional_call(skeleton, (parameters, buffers), (words, lengths, actions, noise))
        return loss_of(logits, actions), logits

    stacks = [torch.stack(each) for each in zip(*parts, strict=True)]
    noise = {name: torch.stack([each[name] for each in noises]) for name in noises[0]}
    gradients, logits = vmap(grad(loss, has_aux=True))(*stack_module_state(networks), *stacks, noise)
    for replica, network in enumerate(networks):
        own = network(*parts[replica], noises[replica])
        torch.testing.assert_close(logits[replica], own, rtol=1e-8, atol=1e-10)
        loss_of(own, parts[replica].actions).backward()
        for name, parameter in network.named_parameters():
            if parameter.requires_grad:
                torch.testing.assert_close(gradients[name][replica], parameter.grad, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("form", ["default", "syntax-action"])
def test_learns_commands_by_heart(form):
    network = make(form, syntax=32, semantics=24, dropout=0.0)
    examples = encode(
        ["walk", "jump", "turn left", "run right twice", "look thrice and walk", "run after jump"]
    )
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    for _update in range(150):
        optimiser.zero_grad()
        loss_of(network(*examples), examples.actions).backward()
        optimiser.step()
        predicted = network.predict(examples.words, examples.lengths, examples.actions.shape[1])
        if exactly_right(predicted, examples.actions).all():
            return
    pytest.fail(f"{form} still errs on its training commands")


# -------------------------------------------------------------------------------------------- wrong use


def test_a_fifth_verb_has_a_row_of_its_own_when_asked_for():
    network = SyntacticAttention(words=17, actions=9, syntax=6, semantics=4)
    assert network(*encode(["dax twice", "walk"])).shape == (2, 3, 9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"surrounding": "botom"}, "unknown surrounding 'botom'.* known: between, top"),
        ({"ends": "zeros"}, "unknown ends 'zeros'; did you mean 'zero'"),
    ],
)
def test_forms_that_are_not_there_are_refused(options, message):
    with pytest.raises(WrongUse, match=message):
        SyntacticAttention(**options)


def test_networks_that_are_not_there_are_refused():
    with pytest.raises(
        WrongUse, match="unknown model 'syntactic_atention'; did you mean 'syntactic_attention'"
    ):
        build_network("syntactic_atention")
    assert MODELS["syntactic_attention"] is SyntacticAttention
