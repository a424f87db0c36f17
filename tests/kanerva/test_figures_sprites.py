"""Every value that a figure of sprites and machines draws is the value that it was given."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex, to_rgb

from mini_lib.errors import UsageError
from mini_lib.kanerva import analysis, tasks
from mini_lib.reproduction.kanerva import figures
from mini_lib.reproduction.kanerva.figures import sprites, tunings
from mini_lib.seeding import torch_rng


@pytest.fixture(autouse=True)
def headless():
    mpl.use("agg")
    yield
    plt.close("all")


@pytest.fixture
def dances():
    return tasks.sample("dsprites", 2, 4, torch_rng(0, "figures"), size=14)


def names(fig):
    return [text.get_text() for text in fig.legends[0].get_texts()]


def test_colours_of_sprites_and_of_machines_are_told_apart():
    assert len({sprites.shade(machine) for machine in range(6)}) == 6
    assert sprites.shade(6) == sprites.shade(0)
    assert len(set(sprites.SPRITES)) == 2
    assert not {c.lower() for c in sprites.SPRITES} & {c.lower() for c in sprites.MACHINES}


# --------------------------------------------------------------------------------------------------- the task


def test_a_dance_shows_images_above_and_whose_pixels_they_are_below(dances):
    fig = figures.dance(dances, episode=1, items=3)
    assert len(fig.axes) == 6
    assert [ax.get_title() for ax in fig.axes[:3]] == ["1", "2", "3"]
    for t in range(3):
        assert np.array_equal(fig.axes[t].images[0].get_array(), dances.images[1, t, 0])
        assert fig.axes[t].images[0].get_cmap().name == "gray_r"  # 1 is ink
        below = fig.axes[3 + t].images[0].get_array()
        first, second = dances.templates[1, t].bool().numpy()
        assert (below[~first & ~second] == 1).all()
        assert np.allclose(below[first & ~second], to_rgb(sprites.SPRITES[0]))
        assert np.allclose(below[second & ~first], to_rgb(sprites.SPRITES[1]))


def test_pixels_of_both_sprites_are_dark():
    both = sprites._coloured(np.array([[[1.0, 1.0, 0.0]], [[0.0, 1.0, 1.0]]]))
    expected = np.array(to_rgb(sprites.SPRITES[0])) * np.array(to_rgb(sprites.SPRITES[1]))
    assert np.allclose(both[0, 1], expected)
    assert both[0, 1].sum() < min(both[0, 0].sum(), both[0, 2].sum())


@pytest.mark.parametrize("wrong", [{"episode": 2}, {"episode": -1}, {"items": 0}, {"items": 5}])
def test_a_dance_that_is_not_there_is_refused(dances, wrong):
    with pytest.raises(UsageError, match=r"can be drawn|there are episodes"):
        figures.dance(dances, **wrong)


# -------------------------------------------------------------------------------------------- what machines show


def test_machines_stand_between_the_image_and_all_together():
    images, parts, together = torch.rand(2, 5, 5), torch.rand(2, 3, 5, 5), torch.rand(2, 5, 5)
    templates = torch.zeros(2, 2, 5, 5)
    templates[:, 0, 1:3, 1:3] = 1  # the second sprite is not in sight
    cosines = torch.tensor([[[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]]).expand(2, -1, -1)
    fig = figures.single_machines(images, parts, together, templates, cosines, names=["a", "b"])
    assert len(fig.axes) == 10
    assert [ax.get_title() for ax in fig.axes[:5]] == [
        "image",
        "machine 1",
        "machine 2",
        "machine 3",
        "together",
    ]
    for row in range(2):
        line = fig.axes[5 * row : 5 * row + 5]
        shown = [ax.images[0].get_array() for ax in line]
        for drawn, given in zip(shown, (images[row], *parts[row], together[row]), strict=True):
            assert np.allclose(drawn, given)
        assert all(ax.images[0].get_clim() == (0, 1) for ax in line)
        assert [ax.get_xlabel() for ax in line] == ["", "0.10   0.20", "0.30   0.40", "0.50   0.60", ""]
        assert line[0].get_ylabel() == "ab"[row]
        for ax in line[1:4]:
            (outline,) = ax.collections
            assert to_hex(outline.get_edgecolor()[0]) == sprites.SPRITES[0].lower()
            corners = outline.get_paths()[0].vertices
            assert (corners.min(), corners.max()) == (0.5, 2.5)  # half-way out of the sprite's pixels
        assert not line[0].collections
        assert not line[4].collections


def test_machines_without_outlines_or_cosines():
    fig = figures.single_machines(torch.rand(1, 5, 5), torch.rand(1, 2, 5, 5), torch.rand(1, 5, 5))
    assert not any(ax.collections or ax.get_xlabel() or ax.get_ylabel() for ax in fig.axes)


def test_machines_of_other_items_are_refused():
    one, many = torch.rand(1, 5, 5), torch.rand(13, 5, 5)
    with pytest.raises(UsageError, match="the same items"):
        figures.single_machines(torch.rand(2, 5, 5), torch.rand(1, 2, 5, 5), one)
    with pytest.raises(UsageError, match="the same items"):
        figures.single_machines(one, torch.rand(1, 2, 5, 5), one, names=["a", "b"])
    with pytest.raises(UsageError, match="room for 1 to 12 rows"):
        figures.single_machines(many, torch.rand(13, 2, 5, 5), many)


def test_gammas_of_one_episode_and_of_all():
    gamma = torch.rand(3, 4, 2).softmax(dim=2)
    left, right = figures.gammas(gamma, episode=2).axes
    for machine in range(2):
        line = left.lines[machine]
        assert line.get_xdata().tolist() == [1, 2, 3, 4]
        assert np.allclose(line.get_ydata(), gamma[2, :, machine])
        assert line.get_color() == sprites.shade(machine)
        dots = right.lines[machine]
        assert np.allclose(dots.get_ydata(), gamma[..., machine].flatten())
        assert abs(dots.get_xdata() - machine).max() < 0.5
        (bar,) = right.collections[machine].get_segments()
        assert np.allclose(bar[:, 1], gamma[..., machine].mean())
    assert left.lines[2].get_ydata()[0] == 0.5  # an even share
    assert right.get_xlim()[0] < 0
    assert names(left.figure) == ["machine 1", "machine 2"]
    with pytest.raises(UsageError, match="episodes 0 to 2"):
        figures.gammas(gamma, episode=3)


def test_contrasts_stand_by_way_of_measuring():
    groups = {"one": {"own": [0.2, 0.4], "other": [0.1]}, "two": {"own": [0.3], "other": [0.05]}}
    fig = figures.contrasts(groups, "contrast")
    (ax,) = fig.axes
    assert [line.get_ydata().tolist() for line in ax.lines] == [[0.2, 0.4], [0.1], [0.3], [0.05]]
    places = [line.get_xdata().mean() for line in ax.lines]
    assert places[0] < 0 < places[2] < 0.5 < places[1] < 1 < places[3]
    (bar,) = ax.collections  # only where there are several
    assert np.allclose(bar.get_segments()[0][:, 1], 0.3)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["own", "other"]
    assert names(fig) == ["one", "two"]
    assert ax.get_ylabel() == "contrast"
    for wrong in ({}, {"one": {"own": [1]}, "two": {"other": [1]}}):
        with pytest.raises(UsageError, match="same ways"):
            figures.contrasts(wrong, "contrast")


# -------------------------------------------------------------------------------------------------------- tunings


def test_maps_have_x_from_the_left_and_y_from_the_top():
    found = torch.zeros(2, 64, 2)
    found[1, 8 * 2 + 5, 0] = 1.0  # machine 2, sprite 1, row 2, column 5
    fig = figures.maps({"net": found, "both": found.mean(dim=2, keepdim=True)})
    *axes, bar = fig.axes
    assert len(axes) == 6
    assert [ax.get_ylabel() for ax in axes[::2]] == ["net\nsprite 1", "net\nsprite 2", "both"]
    assert [ax.get_title() for ax in axes[:2]] == ["machine 1", "machine 2"]
    drawn = axes[1].images[0].get_array()
    assert (drawn.shape, drawn[2, 5], drawn.sum()) == ((8, 8), 1.0, 1.0)
    assert not axes[3].images[0].get_array().any()
    assert axes[5].images[0].get_array()[2, 5] == 0.5
    assert {ax.images[0].get_clim() for ax in axes} == {(0.0, 1.0)}
    assert axes[0].get_ylim()[0] > axes[0].get_ylim()[1]
    assert bar.get_ylabel() == "mean cosine"
    limited = figures.maps({"net": found}, limits=(-1.0, 2.0))
    assert limited.axes[0].images[0].get_clim() == (-1.0, 2.0)
    for wrong in ({}, {"net": torch.zeros(2, 10, 2)}):
        with pytest.raises(UsageError, match="8 x 8 places"):
            figures.maps(wrong)


def test_maps_leave_out_bins_that_were_not_met():
    found = torch.full((1, 64, 1), torch.nan)
    found[0, 3], found[0, 4] = 0.2, 0.6
    assert figures.maps({"": found}).axes[0].images[0].get_clim() == pytest.approx((0.2, 0.6))


def test_profiles_have_a_line_for_each_machine():
    panels = {"shape": torch.rand(2, 3), "scale": torch.rand(2, 6)}
    fig = figures.profiles(panels, {"shape": ["square", "ellipse", "heart"]})
    for ax, (title, values) in zip(fig.axes, panels.items(), strict=True):
        assert ax.get_xlabel() == title
        assert not ax.get_title()
        for machine, line in enumerate(ax.lines):
            assert np.allclose(line.get_ydata(), values[machine])
            assert line.get_xdata().tolist() == list(range(1, values.shape[1] + 1))
            assert line.get_color() == sprites.shade(machine)
    assert [text.get_text() for text in fig.axes[0].get_xticklabels()] == ["square", "ellipse", "heart"]
    assert names(fig) == ["machine 1", "machine 2"]
    shared = figures.profiles({"sprite 1": torch.rand(2, 8)}, xlabel="place")
    assert (shared.axes[0].get_title(), shared.axes[0].get_xlabel()) == ("sprite 1", "place")


def test_profiles_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match="nothing to draw"):
        figures.profiles({})
    for wrong in ({"shape": ["a", "b"]}, {"scale": ["a", "b", "c"]}):
        with pytest.raises(UsageError, match="no panel of as many"):
            figures.profiles({"shape": torch.rand(2, 3)}, wrong)


def test_centring_takes_apart_machines_bins_and_the_rest():
    machine, place = torch.tensor([[0.3], [0.1], [-0.1]]), torch.tensor([[0.0, 0.2, 0.1, -0.1]])
    extra = torch.zeros(3, 4)
    extra[1, 2] = 0.6
    means = 0.5 + machine + place + extra
    fig = figures.centring(means, ["a", "b", "c", "d"], "scale")
    measured, of_machine, of_bin, rest = (ax.images[0].get_array() for ax in fig.axes[:4])
    assert np.allclose(measured, of_machine + of_bin + rest, atol=1e-6)
    assert np.allclose(measured, means - means.mean(), atol=1e-6)
    for part in (of_machine, of_bin, rest):
        assert abs(part.sum()) < 1e-6
    assert np.allclose(rest.sum(axis=0), 0, atol=1e-6)
    assert np.allclose(rest.sum(axis=1), 0, atol=1e-6)
    assert np.allclose(of_machine, of_machine[:, :1])
    assert np.allclose(of_bin, of_bin[:1])
    assert rest.argmax() == 1 * 4 + 2
    assert len({ax.images[0].get_clim() for ax in fig.axes[:4]}) == 1
    low, high = fig.axes[0].images[0].get_clim()
    assert low == -high  # white is 0
    assert [ax.get_title() for ax in fig.axes[:4]] == ["measured", "of the machine", "of the bin", "the rest"]
    assert fig.axes[0].get_xlabel() == "scale"


def test_the_rest_is_what_the_modulation_measures(dances):
    like = torch.rand(40, 4, 3, 2, generator=torch_rng(0, "cosines"))
    many = tasks.sample("dsprites", 40, 4, torch_rng(1, "figures"), size=14)
    shape = analysis.factors(many)[1]
    twice = shape._replace(bins=shape.bins.repeat_interleave(2, dim=0))
    doubled = like.repeat_interleave(2, dim=0)  # both halves are the same, so that there is one table
    which = torch.nn.functional.one_hot(shape.bins, shape.number).to(like)
    pooled = torch.einsum("btks,btsj->kj", like, which) / which.sum(dim=(0, 1, 2))
    rest = figures.centring(pooled, list("abc")).axes[3].images[0].get_array()
    assert np.isclose((rest**2).mean(), analysis.modulation(doubled, twice), rtol=1e-3)


def test_centring_needs_names_for_its_bins():
    for wrong in (torch.rand(3, 4), torch.rand(3)):
        with pytest.raises(UsageError, match="3 bins are named"):
            figures.centring(wrong, ["a", "b", "c"])


def test_every_figure_is_offered():
    for module, offered in (
        (sprites, "dance gammas single_machines contrasts"),
        (tunings, "maps profiles centring"),
    ):
        for name in offered.split():
            assert name in figures.__all__
            assert getattr(figures, name) is getattr(module, name)
