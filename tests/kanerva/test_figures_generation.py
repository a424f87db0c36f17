"""Every value that a figure of imagined images draws is the value that it was given."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from mini_lib.errors import UsageError
from mini_lib.kanerva.evaluation import NEW, RETRIEVED
from mini_lib.reproduction.kanerva import figures
from mini_lib.reproduction.kanerva.figures import generation
from mini_lib.reproduction.kanerva.figures.generation import KINDS, kind
from mini_lib.reproduction.plotting import OKABE_ITO


@pytest.fixture(autouse=True)
def headless():
    mpl.use("agg")
    yield
    plt.close("all")


def names(fig):
    return [text.get_text() for text in fig.legends[0].get_texts()]


def test_what_an_image_counts_as():
    assert kind(RETRIEVED) == "retrieved" == kind(1.0)
    assert kind(NEW) == "between" == kind(RETRIEVED - 0.01)
    assert kind(NEW - 0.01) == "new" == kind(0.01)
    assert kind(0.0) == "blank"
    assert list(KINDS) == ["retrieved", "between", "new", "blank"]
    assert len(set(KINDS.values())) == 4


def test_the_generative_model_has_its_arrows():
    (ax,) = figures.generative_model().axes
    words = [text.get_text() for text in ax.texts if text.get_text().strip()]
    assert {"history  $h$", "code  $z$", "image  $x$", "decoder", "$p(r\\,|\\,h)$"} <= set(words)
    (width, height) = (ax.get_xlim(), ax.get_ylim())
    for text in ax.texts:
        x, y = text.get_position()
        assert width[0] < x < width[1]
        assert height[0] < y < height[1]


def arrows():
    (ax,) = figures.generative_model().axes
    return [(text.xyann, text.xy) for text in ax.texts if getattr(text, "arrow_patch", None)]


def test_machines_addresses_and_weights_make_the_code():
    ends = [end for _, end in arrows()]
    assert len(ends) == 5
    code = [end for start, end in arrows() if abs(end[0] - 7.5) < 0.1]
    assert len(code) == 3  # of machines, addresses and weights
    assert sum(start[0] < 3 for start, _ in arrows()) == 1  # of the history


# ------------------------------------------------------------------------------------------------ stored, imagined


def test_imagined_pictures_stand_below_what_was_stored():
    stored, pictures = torch.rand(4, 3, 3), torch.rand(10, 3, 3)
    cosines = [0.95, 0.9, 0.8, 0.7, 0.69, 0.0, 1.0, 0.5, 0.89, 0.71]
    fig = figures.imagined(stored, pictures, cosines)
    assert len(fig.axes) == 15  # 4 stored and a place to spare, then twice 5
    for ax, picture in zip(fig.axes[:4], stored, strict=True):
        assert np.allclose(ax.images[0].get_array(), picture)
    assert not fig.axes[4].images
    assert not fig.axes[4].axison
    for ax, picture, cosine in zip(fig.axes[5:], pictures, cosines, strict=True):
        assert np.allclose(ax.images[0].get_array(), picture)
        assert ax.get_xlabel() == f"{cosine:.2f}"
        assert to_hex(ax.spines["left"].get_edgecolor()) == to_hex(KINDS[kind(cosine)])
    assert [ax.get_ylabel() for ax in fig.axes[::5]] == ["stored", "imagined", ""]


def test_imagined_without_cosines_has_plain_frames():
    fig = figures.imagined(torch.rand(2, 3, 3), torch.rand(3, 3, 3))
    assert len(fig.axes) == 10
    assert not any(ax.get_xlabel() for ax in fig.axes)
    colours = {to_hex(ax.spines["left"].get_edgecolor()) for ax in fig.axes if ax.images}
    assert not colours & {to_hex(c) for c in KINDS.values()}


def test_imagined_that_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="at least one stored"):
        figures.imagined(torch.rand(0, 3, 3), torch.rand(3, 3, 3))
    with pytest.raises(UsageError, match="at least one stored"):
        figures.imagined(torch.rand(1, 3, 3), torch.rand(0, 3, 3))
    with pytest.raises(UsageError, match="3 pictures with 2 cosines"):
        figures.imagined(torch.rand(2, 3, 3), torch.rand(3, 3, 3), [0.1, 0.2])


# -------------------------------------------------------------------------------------------------------- settling


def test_settling_draws_means_and_shares():
    a, b = torch.rand(4, 5, 3), torch.rand(4, 5, 3)
    a[0, 0] = torch.tensor([NEW, RETRIEVED, 0.01])  # a limit counts as retrieved, and not as new
    b[0, :2, 1] = 0.0  # blank
    fig = figures.settling({"a": a, "b": b})
    left, right = fig.axes
    for place, given in enumerate((a, b)):
        line = left.lines[place]
        assert line.get_xdata().tolist() == [0, 1, 2]
        assert np.allclose(line.get_ydata(), given.mean(dim=(0, 1)))
        assert line.get_color() == OKABE_ITO[place]
        band = left.collections[place].get_paths()[0].vertices[:, 1]
        by_memory = given.mean(dim=1)
        wide = 2 * by_memory.std(dim=0) / 4**0.5
        assert np.isclose(band.max(), (by_memory.mean(dim=0) + wide).max(), atol=1e-5)
        solid, dashed = right.lines[2 * place : 2 * place + 2]
        assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
        retrieved, new = (given.double() >= RETRIEVED), ((given.double() < NEW) & (given > 0))
        assert np.allclose(solid.get_ydata(), 100 * retrieved.double().mean(dim=(0, 1)))
        assert np.allclose(dashed.get_ydata(), 100 * new.double().mean(dim=(0, 1)))
    assert names(fig) == ["a", "b", "right: from 0.9: retrieved", "right: below 0.7: new"]


def test_settling_of_one_memory_has_no_band():
    left, _ = figures.settling({"a": torch.rand(1, 5, 3)}).axes
    assert not left.collections
    for wrong in ({}, {"a": torch.rand(1, 5, 3), "b": torch.rand(1, 5, 4)}):
        with pytest.raises(UsageError, match="one length"):
            figures.settling(wrong)


# ---------------------------------------------------------------------------------------------------------- orbits


def test_orbits_go_from_the_first_look_to_the_end():
    """In two dimensions nothing is lost, so that distances are those of the codes."""
    paths, stored = torch.randn(3, 4, 2).double(), torch.randn(2, 2).double()
    fig = figures.orbits(paths, stored, [0.95, 0.8, 0.1])
    (ax,) = fig.axes
    assert len(ax.lines) == 3 * 3 + 1
    assert names(fig) == ["stored", "first look", "settled", "retrieved", "between", "new"]
    drawn = np.concatenate([ax.lines[3 * n].get_xydata() for n in range(3)])
    crosses = ax.lines[-1].get_xydata()
    assert ax.lines[-1].get_marker() == "x"
    given = np.concatenate([paths.reshape(-1, 2), stored])
    found = np.concatenate([drawn, crosses])
    apart = [np.linalg.norm(each[:, None] - each[None], axis=2) for each in (given, found)]
    assert np.allclose(*apart)
    for number, colour in enumerate([*KINDS.values()][:3]):
        line, first, last = ax.lines[3 * number : 3 * number + 3]
        assert np.allclose(first.get_xydata()[0], line.get_xydata()[0])
        assert np.allclose(last.get_xydata()[0], line.get_xydata()[-1])
        assert (first.get_fillstyle(), last.get_fillstyle()) == ("none", "full")
        assert {line.get_color(), first.get_color(), last.get_color()} == {colour}
    assert names(fig) == ["stored", "first look", "settled", "retrieved", "between", "new"]
    shares = [float(label.split("(")[1].split(" ")[0]) for label in (ax.get_xlabel(), ax.get_ylabel())]
    assert shares[0] >= shares[1]
    assert sum(shares) == pytest.approx(100, abs=1)


def test_orbits_lie_where_codes_vary_most():
    """Codes of three dimensions, one of which hardly varies."""
    paths = torch.randn(5, 6, 3).double() * torch.tensor([0.001, 3.0, 1.0])
    (ax,) = figures.orbits(paths, torch.zeros(1, 3).double()).axes
    widest = np.ptp(np.concatenate([ax.lines[3 * n].get_xdata() for n in range(5)]))
    assert widest == pytest.approx(np.ptp(paths[..., 1].numpy()), rel=0.2)
    assert len({ax.lines[3 * n].get_color() for n in range(5)}) == 1


def test_orbits_that_do_not_fit_are_refused():
    for paths, stored in (
        (torch.rand(3, 4, 5), torch.rand(2, 4)),
        (torch.rand(4, 5), torch.rand(2, 5)),
        (torch.rand(3, 4, 1), torch.rand(2, 1)),
    ):
        with pytest.raises(UsageError, match="paths \\[N, S \\+ 1, D\\]"):
            figures.orbits(paths, stored)


def test_every_figure_is_offered():
    for name in ("generative_model", "imagined", "settling", "orbits"):
        assert name in figures.__all__
        assert getattr(figures, name) is getattr(generation, name)
