"""Fixtures that several files share."""

import pytest

from mini_lib.scan import runs
from mini_lib.scan.tasks import Split, get_split
from scan.by_hand import ByHand, Looks


@pytest.fixture
def few(monkeypatch):
    """Fifty commands for training and thirty for the test, whatever split a run asks for."""
    train, test = get_split("size_1")
    split = Split(train[:50], test[:30])
    monkeypatch.setattr(runs, "get_split", lambda name: split)
    return split


@pytest.fixture(scope="module")
def perfect():
    """A network that follows the grammar at every step."""
    return ByHand(Looks({}))
