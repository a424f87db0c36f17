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

from .reader import calculate, choose, close, press, said

pytestmark = pytest.mark.browser
COMMANDS = get_split("add_jump").test[::311]
ALL_COMMANDS = commands((*VERBS, NEW_VERB))


def ask(box, **commands) -> str:
    for label, text in commands.items():
        box.get_by_label(label.replace("_", " ")).fill(text)
    box.page.keyboard.press("Enter")
    return said(box)


def right(box, button: str) -> bool:
    """Whether the network is correct once this button is pressed."""
    press(box, button)
    return said(box).startswith("The network is correct")


@torch.no_grad()
def test_attention_and_logits_are_those_of_pytorch_for_dax_as_well(live):
    """*dax* is a word of random numbers that means *jump*."""
    script = """async (commands) => {
      const parcel = await Live.load("scan"), { facts } = parcel, words = [...facts.words, "dax"];
      const [own, ...others] = facts.networks.map((name) => Live.network(parcel, name));
      const net = Scan.withDax(own, facts.words, Arithmetic.uniform(5));
      const ask = (net, facts, verb) =>
        commands.map((text) => Scan.ask(net, facts, text.replaceAll("jump", verb)));
      const plain = [own, ...others].map((each) => ask(each, facts, "jump"));
      return [Arithmetic.rows(net["word.weight"]).at(-1), ask(net, { ...facts, words }, "dax"), ...plain];
    }"""
    vector, *answers = calculate(live("scan_attention"), script, COMMANDS)
    assert abs(torch.tensor(vector).std() - 1) < 0.4
    dax = deepcopy(trained(NETWORKS[0]))
    dax.word.weight[WORD_IDS["jump"]] = torch.tensor(vector)
    for model, found in zip([dax, *map(trained, NETWORKS)], answers, strict=True):
        for command, answer in zip(COMMANDS, found, strict=True):
            words, lengths, actions = encode([command]).tensors
            trace = model.trace(words, lengths, actions.shape[1])
            close(answer["attention"], trace.attention[0])
            close(answer["logits"], trace.logits[0])


@torch.no_grad()
def test_the_network_on_the_way_is_that_of_pytorch(live):
    ways = [(share, goals) for share in (0, 0.35, 1) for goals in (["look"], ["walk", "look", "run"])]
    script = """async (commands, ways) => {
      const { facts: { words, actions }, ...parcel } = await Live.load("scan_way");
      const net = Live.network(parcel, "gru_attention"), end = actions.indexOf("<EOS>");
      return ways.map((way) => commands
        .map((text) => Scan.decode(net, Scan.vectors(net, words, text.split(" "), ...way), end, 50)));
    }"""
    some = COMMANDS[::4]
    found = calculate(live("scan_way"), script, some, ways)
    for (share, goals), answers in zip(ways, found, strict=True):
        model = deepcopy(trained("gru_attention"))
        rows = model.word.weight
        goal = rows[[WORD_IDS[verb] for verb in goals]].mean(dim=0)
        rows[WORD_IDS["jump"]] = torch.lerp(rows[WORD_IDS["jump"]], goal, share)
        for command, answer in zip(some, answers, strict=True):
            words, lengths, _ = encode([command]).tensors
            own = torch.tensor([answer["actions"]])
            assert torch.equal(model.predict(words, lengths, own.shape[1]), own)
            close(answer["logits"], model(words, lengths, own)[0])


def test_the_grammar_is_the_librarys(live):
    split, following = get_split("add_jump"), {}
    for words in map(str.split, ALL_COMMANDS):
        for place, word in enumerate(words):
            following.setdefault(" ".join(words[:place]), set()).add(word)
    known = [*get_split("simple").train[::97], *COMMANDS]
    nonsense = ["jump and", "turn", "twice jump", "walk around", "walk and run and jump", "left"]
    some = [*ALL_COMMANDS[::13], *COMMANDS]
    begun = [*sorted(following)[::29], *nonsense, "", "dax left thrice after", "turn around"]
    held = [*sorted(set(split.train))[::211], "jump", *split.test[::211]]
    script = """(known, some, begun, held) => {
      const { actionsOf, steps, next, held: told } = Scan.commands;
      const asked = [[known, Scan.derive], [some, actionsOf], [some, steps], [begun, next], [held, told]];
      return asked.map(([texts, ask]) => texts.map((text) => ask(text.split(" ").filter(Boolean))));
    }"""
    derived, actions, steps, can_follow, told = calculate(
        live("scan_commands"), script, known + nonsense, some, begun, held
    )
    ours = [[{"action": action, "at": at} for action, at in derive(command)] for command in known]
    assert derived == ours + [None] * len(nonsense)
    assert actions == [interpret(command) for command in some]
    assert [" ".join(each[-1][0]) for each in steps] == some, "the last rule gives the whole command"
    assert [set(words) for words in can_follow] == [following.get(text, set()) for text in begun]
    assert [each.startswith("In training") for each in told] == [text in split.train for text in held]
    assert [each.startswith("Held back") for each in told] == [text not in split.train for text in held]


def test_streams_receive_two_commands_and_say_what_is_none(live):
    box = live("scan_streams")
    count = "rows => rows.map((row) => row.querySelectorAll('.live-ring').length)"
    rings = box.locator(".live-map tbody tr").evaluate_all(count)
    assert rings == [1, 2, 0, 1], "the verb's row at both its steps, and at the last one both ends"
    both = ask(box, Syntax="jump opposite left twice", Semantics="walk opposite right twice")
    assert both == "The network is correct: RIGHT RIGHT WALK RIGHT RIGHT WALK."
    assert box.locator(".live-map tbody tr").count() == 6
    assert "same number of words" in ask(box, Semantics="walk")
    assert "“twice” has no action of its own" in ask(box, Syntax="jump twice", Semantics="twice twice")
    for wrong, told in (("jump twize", "“twize” is not a word"), ("twice jump", "not a command")):
        assert told in ask(box, Syntax=wrong, Semantics=wrong)
        assert not box.locator(".live-map").count()


@torch.no_grad()
def test_networks_fail_each_in_its_way_and_walk_or_a_meaning_cures_the_second(live):
    box = live("scan_attention", 400)
    assert said(box).startswith("Wrong at step 3: it outputs <EOS> instead of JUMP"), "as the text says"
    assert not right(box, "network 3")
    assert " instead of “" in said(box).partition(". ")[2]
    assert box.locator(".live-wrong").count()
    assert right(box, "network 1")
    assert not box.locator(".live-wrong").count()
    press(box, "network 2")
    assert ask(box, Command="jump left").startswith("Wrong at step 2")
    cures = [right(box, pair) for pair in ("jump / walk", "walk / jump", "walk / walk", "jump / jump")]
    assert cures == [True, False, True, False], "it does not know what jump means"
    cured = deepcopy(trained(NETWORKS[1]))
    cured.meaning.weight[WORD_IDS["jump"]] = cured.meaning.weight[WORD_IDS[SOS]]
    press(box, "Give jump the meaning of <SOS>")
    told = [ask(box, Command=command).startswith("The network is correct") for command in COMMANDS]
    assert told == analysis.follow(cured, COMMANDS).right.tolist()
    press(box, "network 1")
    assert not box.locator("[aria-pressed='true']", has_text="<SOS>").count(), "others keep their meanings"
    ask(box, Command="walk after dax around left")
    assert {right(box, "Another dax") for _ in range(12)} == {True, False}


def test_a_command_is_built_by_buttons_and_typed(live):
    box = live("scan_commands")
    field, steps = box.get_by_label("Command"), box.locator(".live-steps > li")
    press(box, "Clear")
    for word in ("dax", "opposite", "left", "twice", "twice"):  # the last one cannot follow
        press(box, word)
    assert field.input_value() == "dax opposite left twice"
    answer = steps.last.get_by_role("img").get_attribute("aria-label")
    assert answer.split() == interpret("dax opposite left twice")
    press(box, "Remove a word")
    assert field.input_value() == "dax opposite left"
    for typed, told in (("jump around", "left or right"), ("jump twize", "“twize”"), ("twice jump", "not a")):
        field.fill(typed)
        assert told in said(box)
        assert not steps.count()
    for word in (*WORDS[:4], NEW_VERB, "turn left", "turn right"):
        field.fill(word)
        chip = steps.last.locator(".live-acts .live-act")
        look = chip.evaluate("(e) => [e.style.getPropertyValue('--act'), e.textContent]")
        assert tuple(look) == LOOKS[interpret(word)[0]], "colors and signs are those of the printed figures"


def test_jump_goes_to_look_by_keyboard(live):
    box = live("scan_way")
    slider, rows = box.get_by_role("slider"), box.locator("tbody tr")
    assert said(box).startswith("At 0 % of the way, of the first six: 2 correct")
    slider.press("End")
    assert "100 % of the way, of the first six: 0 correct, 6 with a wrong verb only" in said(box)
    assert rows.first.inner_text().split() == ["jump", "J", "L", "wrong", "verb"]
    ask(box, Your_command="look twice")
    assert rows.last.inner_text().split() == ["look", "twice", *"LLLL", "correct"]
    ask(box, Your_command="jump twize")
    assert "“jump twize” is not a command" in box.get_by_role("alert").inner_text()
    choose(box, "of the way to", "walk look run")
    assert "0 correct, 4 with a wrong verb only" in said(box)
