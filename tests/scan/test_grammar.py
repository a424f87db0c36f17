"""The grammar against a second implementation: every command, every action's word, nothing else."""

from functools import cache
from inspect import unwrap

import pytest
from hypothesis import given, settings, strategies as st

from mini_lib.errors import UsageError
from mini_lib.scan.grammar import NEW_VERB, VERBS, WORDS, Phrase, commands, derive, parse, phrases
from scan import oracles

FIVE = (*VERBS, NEW_VERB)


@cache
def language(verbs=FIVE):
    return oracles.all_commands(verbs)


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


def test_every_parse_prints_as_it_was_and_its_form_leaves_out_the_content():
    forms = set()
    for command in commands(("jump",)):
        found, conjunction = parse(command)
        assert f" {conjunction} ".join(map(str, found)) == command
        forms |= {phrase.form for phrase in found}
    assert len(forms) == 21
    assert parse("  jump around  left twice after turn right") == (
        (Phrase("jump", "around", "left", "twice"), Phrase("turn", direction="right")),
        "after",
    )
    assert parse("dax")[0][0].form == parse("walk")[0][0].form == "U"


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(sorted(language())), st.data())
def test_a_command_with_a_word_changed_is_parsed_or_refused(command, data):
    words = command.split()
    place = data.draw(st.integers(0, len(words) - 1))
    words[place : place + 1] = data.draw(st.lists(st.sampled_from(WORDS), max_size=2))
    text = " ".join(words)
    if text in language():
        parse(text)
    else:
        with pytest.raises(UsageError, match="is not a phrase of SCAN"):
            parse(text)


@pytest.mark.parametrize("command", ["jmup twice", "walk and Jump", "jump and walk and run", "jump after", 5])
def test_a_wrong_command_is_refused(command):
    with pytest.raises(UsageError, match=r"did you mean 'jump'|is not a phrase of SCAN|got int"):
        unwrap(parse)(command)  # past the check of types, which only tests make
