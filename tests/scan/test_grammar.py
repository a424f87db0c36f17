"""The grammar against a second implementation: every command, every action's word, every place of an error."""

from functools import cache
from inspect import unwrap

import pytest
from hypothesis import given, settings, strategies as st

from mini_lib.errors import UsageError
from mini_lib.scan.grammar import NEW_VERB, VERBS, WORDS, Command, Phrase, commands, derive, parse, phrases
from scan import oracles

FIVE = (*VERBS, NEW_VERB)


@cache
def language(verbs=FIVE):
    return oracles.all_commands(verbs)


@cache
def beginnings():
    """Every first part of a command, the empty one included."""
    split = (command.split() for command in language())
    return {tuple(words[:end]) for words in split for end in range(len(words) + 1)}


@pytest.mark.parametrize(("verbs", "v", "s", "c"), [(VERBS, 34, 102, 20_910), (FIVE, 41, 123, 30_381)])
def test_as_many_phrases_and_commands_as_counted(verbs, v, s, c):
    assert len({str(phrase) for phrase in phrases(verbs) if not phrase.times}) == v
    assert len(phrases(verbs)) == len({str(phrase) for phrase in phrases(verbs)}) == s
    assert len(commands(verbs)) == c
    assert set(commands(verbs)) == language(verbs)


def test_thirteen_words_up_to_nine_in_a_command():
    assert len(set(WORDS)) == 13
    assert {word for command in commands() for word in command.split()} == set(WORDS)
    assert {len(command.split()) for command in commands()} == set(range(1, 10))


def test_every_command_means_what_rewriting_says():
    for command in (*commands(), *commands((NEW_VERB,))):
        steps = derive(command)
        assert steps == oracles.meaning(oracles.tagged(command))
        words = command.split()
        assert all(words[step.word].upper() == step.action for step in steps)
        meant = {place for place, word in enumerate(words) if word in (*FIVE, "left", "right")}
        assert {step.word for step in steps} == meant


def test_a_parse_has_the_parts():
    assert parse("jump around left twice") == Command(Phrase("jump", "around", "left", "twice"))
    assert parse("turn left after run") == Command(Phrase("turn", direction="left"), "after", Phrase("run"))
    assert parse("  jump   left ") == parse("jump left")


def test_every_parse_prints_as_it_was_and_its_form_leaves_out_the_content():
    parsed = {command: parse(command) for command in commands(("jump",))}
    assert all(str(each) == command for command, each in parsed.items())
    assert len({phrase.form for each in parsed.values() for phrase in each.phrases}) == 21
    first, second = parsed["jump around left twice after turn right"].phrases
    assert (first.form, second.form) == ("U around D twice", "turn D")
    assert parse("dax").first.form == parse("walk").first.form == "U"


def marked(message):
    """The words and the word that a message's mark stands under; the count of words for the end."""
    line, mark, *_ = message.splitlines()
    assert set(mark) <= {" ", "^"}
    column = mark.index("^")
    assert column == 0 or line[column - 1 : column] in (" ", "")
    return line.split(), len(line[:column].split())


def check(words):
    """A command is parsed, anything else is marked at the first word that no command goes on with."""
    text = " ".join(words)
    if text in language():
        assert str(parse(text)) == text
        return
    with pytest.raises(UsageError) as error:
        parse(text)
    shown, place = marked(str(error.value))
    assert shown == words
    assert tuple(words[:place]) in beginnings()
    assert place == len(words) or tuple(words[: place + 1]) not in beginnings()


@pytest.mark.parametrize(("command", "offered"), [("jump arround left", False), ("dax arround left", True)])
def test_dax_is_offered_where_it_is_used(command, offered):
    with pytest.raises(UsageError, match="unknown word 'arround'; did you mean 'around'") as error:
        parse(command)
    assert str(error.value).endswith(", dax") == offered


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from((*WORDS, NEW_VERB)), max_size=9))
def test_random_words_are_parsed_or_marked_at_the_right_word(words):
    check(words)


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(sorted(language())), st.data())
def test_a_command_with_a_word_changed_is_marked_at_the_right_word(command, data):
    words = command.split()
    place = data.draw(st.integers(0, len(words) - 1))
    words[place : place + 1] = data.draw(st.lists(st.sampled_from(WORDS), max_size=2))
    check(words)


@pytest.mark.parametrize(
    ("command", "mark", "says"),
    [
        ("jmup twice", "^", "unknown word 'jmup'; did you mean 'jump'"),
        ("walk and Jump", "         ^", "unknown word 'Jump'; did you mean 'jump'"),
        ("twice jump", "^", "'twice' is word 1 but this was expected: a verb or 'turn'"),
        ("turn twice", "     ^", "'twice' is word 2 but this was expected: 'left' or 'right'"),
        ("jump around", "            ^", "the command ends but this was expected: 'left' or 'right'"),
        ("jump twice left", "           ^", "expected: the end of the command, 'and' or 'after'"),
        ("jump and walk and run", "              ^", "'and' is word 4 but this was expected: the end of the"),
        ("jump after", "           ^", "the command ends but this was expected: a verb or 'turn'"),
        ("", "^", "the command ends but this was expected: a verb or 'turn'"),
    ],
)
def test_a_wrong_command_is_pointed_at(command, mark, says):
    with pytest.raises(UsageError) as error:
        parse(command)
    line, pointer, rest = str(error.value).split("\n", 2)
    assert (line, pointer) == (command, mark)
    assert says in rest


def test_a_command_is_a_text():
    with pytest.raises(UsageError, match="a command is a text, such as 'jump twice'; got 5"):
        unwrap(parse)(5)  # past the check of types, which only tests make
