"""Fixtures that several files share."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from mini_lib.reproduction.scan import cells as experiments
from mini_lib.scan.tasks import Split, get_split
from scan.by_hand import ByHand, Looks


@pytest.fixture
def few(monkeypatch):
    """Fifty commands for training and thirty for the test."""
    train, test = get_split("size_1")
    monkeypatch.setattr(experiments, "get_split", lambda name: Split(train[:50], test[:30]))


@pytest.fixture(scope="module")
def perfect():
    """A network that follows the grammar at every step."""
    return ByHand(Looks({}))


@pytest.fixture
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")
