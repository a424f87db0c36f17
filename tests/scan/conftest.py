"""Fixtures that several files share."""

import pytest

from mini_lib.scan import runs
from mini_lib.scan.tasks import Split, simple_order
from scan.by_hand import ByHand, Looks


@pytest.fixture
def few(monkeypatch):
    """Fifty commands for training and thirty for the test, whatever split a run asks for."""
    split = Split(simple_order()[:50], simple_order()[209:239])
    monkeypatch.setattr(runs, "get_split", lambda name: split)
    return split


@pytest.fixture(scope="module")
def perfect():
    """A network that follows the grammar at every step."""
    return ByHand(Looks({}))
