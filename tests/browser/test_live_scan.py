"""Syntactic Attention in the page: its numbers next to PyTorch's, and its figures driven as readers drive them."""

from copy import deepcopy

import pytest
import torch

from mini_lib.files import trained
from mini_lib.reproduction.scan.figures.squares import LOOKS
from mini_lib.reproduction.scan.live import NETWORKS
from mini_lib.scan import analysis
from mini_lib.scan.grammar import NEW_VERB, VERBS, WORDS, commands, derive, interpret
from mini_lib.scan.tasks import SOS, WORD_IDS, encode, get_split

pytestmark = pytest.mark.browser
CLOSE = {"rtol": 1e-3, "atol": 1e-3}
COMMANDS = get_split("add_jump").test[::311]
LISTS = (
    "const lists = ({ attention, logits }) => [attention, logits].map((all) => all.map((row) => [...row]));"
)


@pytest.fixture(scope="module")
def page(live):
    return live("scan_attention")


@pytest.fixture
def attention(page):
    return page.locator("[data-live='scan_attention']")


@pytest.fixture(scope="module")
def streams(live):
    return live("scan_streams").locator("[data-live='scan_streams']")


def assert_close(model, commands, answers) -> None:
    """Attention and logits of the page are those of a network."""
    for command, answer in zip(commands, answers, strict=True):
        words, lengths, actions = encode([command]).tensors
        trace = model.trace(words, lengths, actions.shape[1])
        for ours, theirs in zip(answer, (trace.attention, trace.logits), strict=True):
            torch.testing.assert_close(torch.tensor(ours), theirs[0], **CLOSE)


@pytest.mark.parametrize("name", NETWORKS)
def test_attention_and_logits_are_those_of_pytorch(page, name):
    answers = page.evaluate(
        f"""async ([name, commands]) => {{
          {LISTS}
          const parcel = await Live.load("scan"), net = Live.network(parcel, name);
          return commands.map((text) => lists(Scan.ask(net, parcel.facts, text)));
        }}""",
        [name, COMMANDS],
    )
    assert_close(trained(name), COMMANDS, answers)


@torch.no_grad()
def test_dax_is_a_word_of_random_numbers_that_means_jump(page):
    given = [command.replace("jump", "dax") for command in COMMANDS[::4]]
    vector, answers = page.evaluate(
        f"""async ([name, commands]) => {{
          {LISTS}
          const parcel = await Live.load("scan"), {{ facts }} = parcel;
          const known = {{ ...facts, words: [...facts.words, "dax"] }};
          const net = Scan.withDax(Live.network(parcel, name), facts.words, Arithmetic.uniform(5));
          const vector = Arithmetic.rows(net["word.weight"]).at(-1);
          return [[...vector], commands.map((text) => lists(Scan.ask(net, known, text)))];
        }}""",
        [NETWORKS[0], given],
    )
    assert abs(torch.tensor(vector).std() - 1) < 0.4
    model = deepcopy(trained(NETWORKS[0]))
    model.word.weight[WORD_IDS["jump"]] = torch.tensor(vector)
    assert_close(model, COMMANDS[::4], answers)


def test_the_grammar_is_the_librarys(page):
    commands = [*get_split("simple").train[::97], *COMMANDS]
    derived = page.evaluate("all => all.map((text) => Scan.derive(text.split(' ')))", commands)
    for command, steps in zip(commands, derived, strict=True):
        assert [(step["action"], step["at"]) for step in steps] == [tuple(step) for step in derive(command)]
    nonsense = ["jump and", "turn", "twice jump", "walk around", "walk and run and jump", "left"]
    assert page.evaluate("all => all.map((text) => Scan.derive(text.split(' ')))", nonsense) == [None] * 6


def ask(box, **commands) -> str:
    for label, text in commands.items():
        box.get_by_label(label).fill(text)
    box.page.keyboard.press("Enter")
    return box.locator(".live-status").inner_text()


def test_both_ends_are_outlined_where_both_mean_the_end(streams, attention):
    """In the last column; to network 2 the start means JUMP."""
    ask(streams, Syntax="jump twice", Semantics="walk twice")
    assert streams.locator(".live-ring").count() == 3 + 1
    for number, rings in ((1, 2 + 1), (2, 2)):
        attention.get_by_role("button", name=f"network {number}").click()
        ask(attention, Command="jump")
        assert attention.locator(".live-ring").count() == rings


def test_streams_answer_by_keyboard(streams):
    assert streams.get_by_role("status").inner_text() == "The network is correct: WALK WALK."
    both = ask(streams, Syntax="jump opposite left twice", Semantics="walk opposite right twice")
    assert both == "The network is correct: RIGHT RIGHT WALK RIGHT RIGHT WALK."
    assert streams.locator(".live-map tbody tr").count() == 6
    assert streams.locator(".live-map thead tr").first.locator("th").count() == 1 + 7
    assert "same number of words" in ask(streams, Semantics="walk")
    assert not streams.locator(".live-map").count()
    streams.get_by_role("button", name="walk after look left twice").click()
    assert streams.get_by_role("status").inner_text() == "The network is correct: RIGHT JUMP RIGHT JUMP RUN."
    assert not streams.page.complaints


def test_where_semantics_has_no_action_streams_say_so_and_answer(streams):
    told = ask(streams, Syntax="jump twice", Semantics="twice twice")
    assert told == "“twice” has no action of its own, so no answer is correct. Output: RUN RUN."
    assert streams.locator(".live-map tbody tr").count() == 4
    assert not streams.locator(".live-wrong").count()
    both = ask(streams, Syntax="walk after look left twice", Semantics="run and jump right thrice")
    assert both == "The network is correct: RIGHT JUMP RIGHT JUMP RUN."


@pytest.mark.parametrize(
    ("command", "said"),
    [("jump twize", "“twize” is not a word"), ("twice jump", "not a command"), ("", "not a command")],
)
def test_what_is_no_command_is_said(attention, command, said):
    assert said in ask(attention, Command=command)
    assert not attention.locator(".live-map").count()


def test_it_begins_with_the_network_and_the_command_of_the_text(live):
    told = live("scan_attention").locator("[data-live='scan_attention']").get_by_role("status").inner_text()
    assert told.startswith("Wrong at step 3: it outputs <EOS> instead of JUMP")


def test_networks_fail_each_in_its_way(attention):
    attention.get_by_role("button", name="network 1").click()
    assert ask(attention, Command="jump opposite left twice").startswith("The network is correct: LEFT")
    for number, said in ((2, "It attends to the word that it should, “jump”."), (3, " instead of “")):
        attention.get_by_role("button", name=f"network {number}").press("Enter")
        told = attention.get_by_role("status").inner_text()
        assert told.startswith("Wrong at step")
        assert said in told.partition(". ")[2]
        assert attention.locator(".live-wrong").count()
    attention.get_by_role("button", name="network 1").click()
    assert not attention.locator(".live-wrong").count()


def test_either_stream_can_receive_walk(attention):
    attention.get_by_role("button", name="network 2").click()
    assert ask(attention, Command="jump left").startswith("Wrong at step 2")
    told = {}
    for pair in ("jump / jump", "jump / walk", "walk / jump", "walk / walk"):
        button = attention.get_by_role("button", name=pair)
        button.press("Enter")
        assert button.get_attribute("aria-pressed") == "true"
        told[pair] = "is correct: " in attention.get_by_role("status").inner_text()
    assert list(told.values()) == [False, True, False, True], "it does not know what jump means"
    ask(attention, Command="look left")
    assert not attention.get_by_role("group", name="In place of jump").is_visible()
    attention.get_by_role("button", name="network 1").click()
    ask(attention, Command="jump")
    attention.get_by_role("button", name="jump / jump").click()


@torch.no_grad()
def test_network_2_is_cured_by_a_meaning(attention):
    cured = deepcopy(trained(NETWORKS[1]))
    meanings = cured.meaning.weight
    meanings[WORD_IDS["jump"]] = meanings[WORD_IDS[SOS]].clone()
    cure = attention.get_by_role("button", name="Give jump the meaning of <SOS>")
    attention.get_by_role("button", name="network 2").click()
    assert ask(attention, Command="jump around left").startswith("Wrong")
    cure.press("Enter")
    assert cure.get_attribute("aria-pressed") == "true"
    told = [ask(attention, Command=command).startswith("The network is correct") for command in COMMANDS]
    assert told == analysis.follow(cured, COMMANDS).right.tolist()
    cure.click()
    assert ask(attention, Command="jump twice").startswith("Wrong")
    cure.click()
    attention.get_by_role("button", name="network 1").click()
    assert cure.get_attribute("aria-pressed") == "false"  # each network begins with its own meanings
    ask(attention, Command="jump")


def test_another_dax_may_fail(attention):
    another, told = attention.get_by_role("button", name="Another dax"), set()
    attention.get_by_role("button", name="network 1").click()
    ask(attention, Command="jump")
    assert not another.is_visible()
    ask(attention, Command="walk after dax around left")
    for _ in range(12):
        another.click()
        told.add("is correct: " in attention.get_by_role("status").inner_text())
    assert told == {True, False}
    ask(attention, Command="jump")


def test_on_a_phone_a_long_map_scrolls_and_says_so(live):
    box = live("scan_attention", 400).locator("[data-live='scan_attention']")
    hint = box.get_by_text("The map goes on to the right")
    ask(box, Command="jump")
    assert not hint.is_visible()
    ask(box, Command="jump around left thrice and walk")
    assert hint.is_visible()
    box.locator(".live-scroll").evaluate("e => { e.scrollLeft = 300; }")
    word = box.locator(".live-map tbody th").first
    assert word.bounding_box()["x"] >= box.bounding_box()["x"], "words stay in sight"


# -------------------------------------------------------------------------------------------- a command of one's own


@pytest.fixture(scope="module")
def grammar(live):
    return live("scan_commands").locator("[data-live='scan_commands']")


def test_commands_are_interpreted_as_by_the_library(grammar):
    asked = [*commands((*VERBS, NEW_VERB))[::13], *COMMANDS]
    found = grammar.page.evaluate(
        "all => all.map((text) => [Scan.commands.actionsOf(text.split(' ')), Scan.commands.steps(text.split(' '))])",
        asked,
    )
    for command, (actions, steps) in zip(asked, found, strict=True):
        assert actions == interpret(command)
        assert " ".join(steps[-1][0]) == command, "the last rule gives the whole command"


def test_words_that_can_come_next_are_those_of_the_grammar(grammar):
    all_commands = [command.split() for command in commands((*VERBS, NEW_VERB))]
    following = {}
    for words in all_commands:
        for place, word in enumerate(words):
            following.setdefault(" ".join(words[:place]), set()).add(word)
    begun = [
        *sorted(following)[::29],
        "",
        "turn",
        "jump around",
        "jump and",
        "dax left thrice after",
        "turn around",
    ]
    begun += ["jump left twice after run right thrice", "twice", "turn twice", "walk and run and"]
    found = grammar.page.evaluate(
        "all => all.map((text) => Scan.commands.next(text.split(' ').filter(Boolean)))", begun
    )
    for text, words in zip(begun, found, strict=True):
        assert set(words) == following.get(text, set()), text


def test_what_training_held_is_what_the_split_holds(grammar):
    split = get_split("add_jump")
    asked = [*sorted(set(split.train))[::211], "jump", *split.test[::211]]
    told = grammar.page.evaluate("all => all.map((text) => Scan.commands.held(text.split(' ')))", asked)
    assert [each.startswith("In training") for each in told] == [text in split.train for text in asked]
    assert [each.startswith("Held back") for each in told] == [text not in split.train for text in asked]


def test_a_command_is_built_by_buttons_and_typed(grammar):
    told, field = grammar.get_by_role("status"), grammar.get_by_label("Command")
    assert "Held back" in told.inner_text()  # jump twice
    grammar.get_by_role("button", name="Clear").click()
    assert told.inner_text() == "Press a verb, or turn."
    for word in ("dax", "opposite", "left", "twice"):
        grammar.get_by_role("button", name=word, exact=True).press("Enter")
    assert field.input_value() == "dax opposite left twice"
    assert "not in SCAN" in told.inner_text().replace("Not", "not")
    steps = grammar.locator(".live-steps > li")
    assert steps.count() == 3
    answer = steps.last.get_by_role("img").get_attribute("aria-label")
    assert answer.split() == interpret("dax opposite left twice")
    twice = grammar.get_by_role("button", name="twice", exact=True)
    assert twice.get_attribute("aria-disabled") == "true"
    twice.click(force=True)
    assert field.input_value() == "dax opposite left twice"
    grammar.get_by_role("button", name="Remove a word").click()
    assert field.input_value() == "dax opposite left"
    for typed, said in (
        ("jump", "only training command with jump"),
        ("look left", "In training"),
        ("jump around", "can go on with left or right"),
        ("jump twize", "“twize” is not a word"),
        ("twice jump", "not a command"),
    ):
        field.fill(typed)
        assert said in told.inner_text()
        assert bool(steps.count()) == (typed in ("jump", "look left"))
    grammar.get_by_role("button", name="jump twice").click()
    assert not grammar.page.complaints


def test_colors_and_signs_of_actions_are_those_of_the_printed_figures(grammar):
    field = grammar.get_by_label("Command")
    shown = "[...document.querySelectorAll('.live-steps > li:last-child .live-acts .live-act')]"
    for word in (*WORDS[:4], NEW_VERB, "turn left", "turn right"):
        field.fill(word)
        (chip,) = grammar.page.evaluate(
            shown + ".map((e) => [e.style.getPropertyValue('--act'), e.textContent])"
        )
        assert tuple(chip) == LOOKS[interpret(word)[0]]
    field.fill("jump twice")


# ---------------------------------------------------------------------------------------- jump on its way to look


@pytest.fixture(scope="module")
def way(live):
    return live("scan_way").locator("[data-live='scan_way']")


@pytest.mark.parametrize("goals", [["look"], ["walk", "look", "run"]], ids=len)
@pytest.mark.parametrize("share", [0, 0.35, 1])
@torch.no_grad()
def test_the_network_on_the_way_is_that_of_pytorch(way, share, goals):
    answers = way.page.evaluate(
        """async ([commands, share, goals]) => {
          const { facts: { words, actions }, ...parcel } = await Live.load("scan_way");
          const net = Live.network(parcel, "gru_attention"), end = actions.indexOf("<EOS>");
          const vectors = (text) => Scan.vectors(net, words, text.split(" "), share, goals);
          return commands.map((text) => Scan.decode(net, vectors(text), end, 50))
            .map(({ actions, logits }) => [actions, logits.map((row) => [...row])]);
        }""",
        [COMMANDS, share, goals],
    )
    model = deepcopy(trained("gru_attention"))
    rows = model.word.weight
    goal = rows[[WORD_IDS[verb] for verb in goals]].mean(dim=0)
    rows[WORD_IDS["jump"]] = torch.lerp(rows[WORD_IDS["jump"]], goal, share)
    for command, (actions, logits) in zip(COMMANDS, answers, strict=True):
        words, lengths, _ = encode([command]).tensors
        own = torch.tensor([actions])
        assert torch.equal(model.predict(words, lengths, len(actions)), own)
        torch.testing.assert_close(torch.tensor(logits), model(words, lengths, own)[0], **CLOSE)


def test_jump_goes_to_look_by_keyboard(way):
    slider, told = way.get_by_role("slider", name="Move jump"), way.locator(".live-status")
    assert told.inner_text().startswith("At 0 % of the way, of the first six: 2 correct")
    slider.press("End")
    assert (
        told.inner_text()
        == "At 100 % of the way, of the first six: 0 correct, 6 with a wrong verb only, 0 wrong."
    )
    assert way.locator("tbody tr").first.inner_text().split() == ["jump", "J", "L", "wrong", "verb"]
    ask(way, **{"Your command": "look twice"})
    assert way.locator("tbody tr").last.inner_text().split() == ["look", "twice", *"LLLL", "correct"]
    way.get_by_label("Your command").fill("jump twize")
    way.page.keyboard.press("Enter")
    assert "“jump twize” is not a command" in way.get_by_role("alert").inner_text()
    assert way.locator("tbody tr").count() == 6
    slider.press("Home")
    assert "At 0 %" in told.inner_text()
    slider.press("End")
    way.get_by_label("of the way to").select_option("the mean of walk, look and run")
    assert "0 correct, 4 with a wrong verb only" in told.inner_text()
    slider.press("Home")
    assert not way.page.complaints


def test_on_a_phone_outputs_stay_in_the_figure(live):
    box = live("scan_way", 400).locator("[data-live='scan_way']")
    table = box.locator("table").bounding_box()
    assert table["x"] + table["width"] <= 392
