"""Fixtures that several files share."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")
