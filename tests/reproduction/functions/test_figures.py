"""What the figures of the chapters share: colors and names, smooth curves, histories of training."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest

from mini_lib.errors import UsageError
from mini_lib.functions.tasks import KINDS
from mini_lib.functions.transformer import MODELS
from mini_lib.reproduction import plotting
from mini_lib.reproduction.functions import figures
from mini_lib.reproduction.functions.cells import ROWS


def seen_by_the_color_blind(color):
    """Deuteranopia, after Machado et al. (2009), in linear RGB."""
    matrix = [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
    return np.array(matrix) @ np.power(mpl.colors.to_rgb(color), 2.2)


def test_classes_are_told_apart_by_the_color_blind_and_look_like_no_structure_or_content():
    others = (plotting.STRUCTURE, plotting.CONTENT, plotting.ACCENT)
    for first, second in itertools.combinations([*figures.KIND_COLORS.values(), *others], 2):
        distance = np.linalg.norm(seen_by_the_color_blind(first) - seen_by_the_color_blind(second))
        assert distance > 0.04, (first, second)


def test_every_network_and_every_class_has_one_color_and_one_name():
    assert set(figures.MODEL_NAMES) == set(MODELS)
    assert set(figures.KIND_COLORS) == set(figures.KIND_NAMES) == set(KINDS)
    assert len({figures.shade(model) for model in MODELS}) == len(MODELS)
    assert figures.shade("relational") == plotting.ACCENT
    for model in MODELS:
        row = ROWS.get(model, model)  # a control of ours has no row in the paper's tables
        assert figures.shade(row) == figures.shade(figures.label(model)) == figures.shade(model)
    assert figures.shade("zero") == plotting.QUIET
    assert figures.label("zero") == "zero"


def test_a_smooth_curve_goes_through_its_points():
    x, y = figures.smooth([1.0, 3.0, 2.0, 2.5])
    assert (x[0], x[-1]) == (1, 4)
    assert y[:: figures.BETWEEN] == pytest.approx([1.0, 3.0, 2.0, 2.5])


def test_a_history_is_read_from_the_checks_of_a_record():
    checks = [
        {"epoch": epoch, "window": window, **{f"spread_{kind}": epoch + i for i, kind in enumerate(KINDS)}}
        for epoch, window in ((1, 9.0), (10, 8.0))
    ]
    history = figures.metric_history({"checks": checks}, "spread")
    assert history.updates == [100, 1000]
    assert history.values == {"lin": [1, 10], "rbf": [2, 11], "sine": [3, 12]}
    assert figures.metric_history({"checks": checks}, "window").values == {"window": [9.0, 8.0]}
    with pytest.raises(UsageError, match="one test, at the end"):
        figures.metric_history({"checks": []}, "mse")
    with pytest.raises(UsageError, match="unknown measure 'spred'; did you mean 'spread'"):
        figures.metric_history({"checks": checks}, "spred")
