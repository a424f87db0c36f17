"""The grammar against a second implementation: every command, every action's word, nothing else."""

from functools import cache
from inspect import unwrap

import pytest
from hypothesis import given, settings, strategies as st

from mini_lib.errors import UsageError
from mini_lib.scan.grammar import NEW_VERB, VERBS, WORDS, commands, derive, parse, phrases
from scan import oracles

FIVE = (*VERBS, NEW_VERB)


@cache
def language(verbs=FIVE):
    return oracles.all_commands(verbs)


@pytest.mark.parametrize(("verbs", "s", "c"), [(VERBS, 102, 20_910), (FIVE, 123, 30_381)])
def test_phrases_and_commands_are_all_of_the_language(verbs, s, c):
    assert len(phrases(verbs)) == len({str(phrase) for phrase in phrases(verbs)}) == s
    assert len(commands(verbs)) == c
    assert set(commands(verbs)) == language(verbs)


def test_every_command_means_what_rewriting_says():
    """All with one verb, and each phrase with every other verb, alone and joined."""
    others = [f"{phrase}{end}" for phrase in phrases(FIVE) for end in ("", " and turn left", " after run")]
    for command in (*commands(("jump",)), *others):
        steps = derive(command)
        assert steps == oracles.meaning(oracles.tagged(command))
        words = command.split()
        assert all(words[step.word].upper() == step.action for step in steps)
        meant = {place for place, word in enumerate(words) if word in (*FIVE, "left", "right")}
        assert {step.word for step in steps} == meant


@settings(max_examples=100)
@given(st.sampled_from(sorted(language())), st.data())
def test_a_command_with_a_word_changed_is_parsed_or_refused(command, data):
    words = command.split()
    place = data.draw(st.integers(0, len(words) - 1))
    words[place : place + 1] = data.draw(st.lists(st.sampled_from(WORDS), max_size=2))
    text = " ".join(words)
    if text in language():
        found, conjunction = parse(text)
        assert f" {conjunction} ".join(map(str, found)) == text
    else:
        with pytest.raises(UsageError, match="is not a phrase of SCAN"):
            parse(text)


@pytest.mark.parametrize("command", ["jmup twice", 5])
def test_what_is_not_a_command_is_refused(command):
    with pytest.raises(UsageError, match=r"did you mean 'jump'|got int"):
        unwrap(parse)(command)  # past the check of types, which only tests make
