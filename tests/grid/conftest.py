import pytest

from mini_lib.grid import analysis, tasks
from mini_lib.scan.tasks import Split

VERBS = ("walk", "look", "run")
FORMS = ("{}", "{} twice", "{} left", "{} and walk", "walk twice and {}", "run left and {} twice")


@pytest.fixture
def few_commands(monkeypatch):
    """A split of SCAN in which each of two verbs is shown alone, with few commands."""
    trained = [form.format(verb) for verb in VERBS for form in FORMS] * 2
    asked = [form.format(verb) for verb in ("jump", "dax") for form in FORMS[1:]]
    split = Split((*trained, *["jump"] * 3, *["dax"] * 3), tuple(asked))
    for module in (analysis, tasks):
        monkeypatch.setattr(module, "get_split", lambda name: split)
    return split
