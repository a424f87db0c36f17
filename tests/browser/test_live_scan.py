"""Syntactic Attention in the page: its numbers next to PyTorch's, and its figures driven as readers drive them."""

from copy import deepcopy

import pytest
import torch

from mini_lib.files import trained
from mini_lib.reproduction.scan.live import NETWORKS
from mini_lib.scan.grammar import derive
from mini_lib.scan.tasks import WORD_IDS, encode, get_split

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
    return box.get_by_role("status").inner_text()


def test_streams_answer_by_keyboard(streams):
    assert streams.get_by_role("status").inner_text().startswith("Correct: RIGHT LOOK")
    both = ask(streams, Syntax="jump opposite left twice", Semantics="walk opposite right twice")
    assert both == "Correct: RIGHT RIGHT WALK RIGHT RIGHT WALK."
    assert streams.locator(".live-map tbody tr").count() == 6
    assert streams.locator(".live-map thead tr").first.locator("th").count() == 1 + 7
    assert "same number of words" in ask(streams, Semantics="walk")
    assert not streams.locator(".live-map").count()
    streams.get_by_role("button", name="jump twice / walk twice").click()
    assert streams.get_by_role("status").inner_text() == "Correct: WALK WALK."
    assert not streams.page.complaints


@pytest.mark.parametrize(
    ("command", "said"),
    [("jump twize", "“twize” is not a word"), ("twice jump", "not a command"), ("", "not a command")],
)
def test_what_is_no_command_is_said(attention, command, said):
    assert said in ask(attention, Command=command)
    assert not attention.locator(".live-map").count()


def test_networks_fail_each_in_its_way(attention):
    assert ask(attention, Command="jump opposite left twice").startswith("Correct: LEFT")
    for number, said in ((2, "It attends to the word that it should, “jump”."), (3, " instead of “")):
        attention.get_by_role("button", name=f"network {number}").press("Enter")
        told = attention.get_by_role("status").inner_text()
        assert told.startswith("Wrong at step")
        assert said in told.partition(". ")[2]
        assert attention.locator(".live-wrong").count()
    attention.get_by_role("button", name="network 1").click()
    assert not attention.locator(".live-wrong").count()


def test_another_dax_may_fail(attention):
    another, told = attention.get_by_role("button", name="Another dax"), set()
    assert not another.is_visible()
    ask(attention, Command="walk after dax around left")
    for _ in range(12):
        another.click()
        told.add(attention.get_by_role("status").inner_text().split()[0])
    assert told == {"Correct:", "Wrong"}
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
