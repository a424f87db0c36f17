"""Syntactic Attention in the page: its numbers beside PyTorch's, and the figure driven as a reader drives it."""

import pytest
import torch

from mini_lib.files import trained
from mini_lib.reproduction.scan.live import NETWORKS
from mini_lib.scan.grammar import derive
from mini_lib.scan.tasks import encode, get_split

pytestmark = pytest.mark.browser
CLOSE = {"rtol": 1e-3, "atol": 1e-3}
SCAN = "notebooks/scan/1_scan.html"


@pytest.fixture(scope="module")
def scan_page(live):
    return live(SCAN)


COMMANDS = get_split("add_jump").test[::311]


@pytest.mark.parametrize("name", NETWORKS)
def test_scan_attention_and_logits_are_those_of_pytorch(scan_page, name):
    answers = scan_page.evaluate(
        """async ([name, commands]) => {
          const parcel = await Live.load("scan"), net = ScanFigure.network(parcel, name);
          return commands.map((text) => {
            const { attention, logits } = ScanFigure.ask(net, parcel.facts, text);
            return { attention: attention.map((row) => [...row]), logits: logits.map((row) => [...row]) };
          });
        }""",
        [name, COMMANDS],
    )
    model = trained(name)
    for command, answer in zip(COMMANDS, answers, strict=True):
        words, lengths, actions = encode([command])
        trace = model.trace(words, lengths, actions.shape[1])
        torch.testing.assert_close(torch.tensor(answer["attention"]), trace.attention[0], **CLOSE)
        torch.testing.assert_close(torch.tensor(answer["logits"]), trace.logits[0], **CLOSE)


def test_scan_grammar_is_the_librarys(scan_page):
    commands = [*get_split("simple").train[::97], *COMMANDS]
    derived = scan_page.evaluate("all => all.map((text) => Scan.derive(text.split(' ')))", commands)
    for command, steps in zip(commands, derived, strict=True):
        assert [(step["action"], step["at"]) for step in steps] == [tuple(step) for step in derive(command)]
    nonsense = ["jump and", "turn", "twice jump", "walk around", "walk and run and jump", "left"]
    assert scan_page.evaluate("all => all.map((text) => Scan.derive(text.split(' ')))", nonsense) == [
        None
    ] * len(nonsense)


def test_scan_figure_answers_by_keyboard(scan_page):
    box = scan_page.locator("[data-live='scan']")
    box.get_by_label("Syntax hears").fill("jump opposite left twice")
    box.get_by_label("Semantics hears").fill("")
    scan_page.keyboard.press("Enter")
    assert box.get_by_role("status").inner_text() == "Right: LEFT LEFT JUMP LEFT LEFT JUMP."
    assert box.locator(".live-map tbody tr").count() == 7
    box.get_by_label("Semantics hears").fill("walk opposite right twice")
    scan_page.keyboard.press("Enter")
    assert box.get_by_role("status").inner_text() == "Right: RIGHT RIGHT WALK RIGHT RIGHT WALK."
    box.locator(".live-map tbody button").nth(2).focus()
    scan_page.keyboard.press("Enter")
    assert "Step 3" in box.locator(".live-bars caption").inner_text()


@pytest.mark.parametrize(
    ("syntax", "semantics", "said"),
    [
        ("jump twize", "", "twize"),
        ("twice jump", "", "no command"),
        ("jump twice", "walk", "as many words"),
        ("", "", "no command"),
    ],
)
def test_scan_figure_says_what_is_no_command(scan_page, syntax, semantics, said):
    box = scan_page.locator("[data-live='scan']")
    box.get_by_label("Syntax hears").fill(syntax)
    box.get_by_label("Semantics hears").fill(semantics)
    scan_page.keyboard.press("Enter")
    assert said in box.get_by_role("status").inner_text()
    assert not box.locator(".live-map").count()
    assert not scan_page.complaints


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ("looks right, speaks wrong", "It looks at the right word, “jump”, and says the wrong thing."),
        ("looks astray", "It looks astray"),
    ],
)
def test_scan_networks_fail_each_in_its_way(scan_page, network, said):
    box = scan_page.locator("[data-live='scan']")
    box.get_by_label("Network").select_option(label=network)
    box.get_by_label("Syntax hears").fill("jump opposite left twice")
    box.get_by_label("Semantics hears").fill("")
    scan_page.keyboard.press("Enter")
    assert said in box.get_by_role("status").inner_text()
    assert box.locator(".live-wrong").count()
    box.get_by_label("Network").select_option(label="looks right, speaks right")
    assert box.get_by_role("status").inner_text().startswith("Right")
