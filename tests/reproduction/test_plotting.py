import base64
import io
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from PIL import Image

from mini_lib.esbn.runs import MODELS
from mini_lib.reproduction import plotting

FINDING = "The ESBN is right where the LSTM <guesses>."


@pytest.fixture(autouse=True)
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


@pytest.fixture
def shown(monkeypatch):
    """Collect what is displayed."""
    outputs = []
    monkeypatch.setattr("IPython.display.display", outputs.append)
    return outputs


def drawing(value=1.0, size=(3.0, 2.0)):
    fig, ax = plotting.figure(size=size)
    ax.plot([0, value])
    return fig


def decoded(source):
    return Image.open(io.BytesIO(source))


def test_style_holds_inside_and_is_put_back():
    before = mpl.rcParams["axes.spines.top"], mpl.rcParams["figure.facecolor"]
    with plotting.style():
        assert mpl.rcParams["axes.spines.top"] is False
        assert mpl.rcParams["figure.facecolor"] == "white"
        assert mpl.rcParams["axes.prop_cycle"].by_key()["color"] == list(plotting.OKABE_ITO)
    assert (mpl.rcParams["axes.spines.top"], mpl.rcParams["figure.facecolor"]) == before


def test_the_papers_networks_share_an_accent_and_all_others_are_other_shades():
    others = [plotting.color(name) for name in MODELS if name != "esbn"]
    assert plotting.color("ESBN") == plotting.color("syntactic_attention") == plotting.ACCENT
    assert set(MODELS) <= set(plotting.COLORS)
    assert len(set(others)) == len(others)
    assert not {plotting.ACCENT, plotting.STRUCTURE, plotting.CONTENT} & set(others)
    assert plotting.color("somebody") == plotting.color("somebody") in plotting.OKABE_ITO


def test_show_writes_finding_caption_and_alt_text(shown):
    fig = drawing()
    plotting.show(fig, f" {FINDING}\n", caption="10 seeds & more.")
    (output,) = shown
    text = "The ESBN is right where the LSTM &lt;guesses&gt;."
    assert f"<figcaption><strong>{text}</strong> 10 seeds &amp; more.</figcaption>" in output.data
    assert f'alt="{text}"' in output.data
    assert not plt.fignum_exists(fig.number)


def shown_pictures(output) -> list[tuple[str, Image.Image]]:
    """Each picture of a figure, with the attributes that follow its source."""
    found = re.findall(r'<img src="data:image/png;base64,([^"]+)" ([^>]*)>', output.data)
    return [(rest, decoded(base64.b64decode(source))) for source, rest in found]


def test_a_figure_is_transparent_and_as_wide_as_it_was_drawn(shown):
    plotting.show(drawing(size=(3.0, 2.0)), FINDING)
    ((attributes, picture),) = shown_pictures(shown[0])
    assert 'width="288"' in attributes
    assert picture.mode == "P"
    assert picture.size == (528, 352)
    pixels = np.asarray(picture.convert("RGBA"), dtype=float) / 255
    assert (pixels[0, 0, 3], pixels[..., 3].max()) == (0, 1)
    on_white = pixels[..., :3] * pixels[..., 3:] + 1 - pixels[..., 3:]
    blue = np.array(mpl.colors.to_rgb(plotting.STRUCTURE))
    assert np.abs(on_white - blue).max(axis=-1).min() < 0.02


def test_several_figures_are_panels_and_only_the_first_tells_the_finding(shown):
    plotting.show([drawing(), drawing(2.0)], FINDING)
    attributes = [each for each, _ in shown_pictures(shown[0])]
    assert [re.search('alt="([^"]*)"', each)[1][:8] for each in attributes] == ["The ESBN", ""]
    assert not plt.get_fignums()


RED_AND_BLUE = np.array([[[1.0, 0, 0], [0, 0, 1.0]], [[0, 0, 0], [1.0, 1.0, 1.0]]])


@pytest.mark.parametrize("values", [RED_AND_BLUE, RED_AND_BLUE[..., 0]], ids=["colors", "shades"])
def test_a_dark_page_shows_a_picture_as_it_is_and_ink_turned(shown, values):
    fig, ax = plotting.figure(size=(2, 2))
    ax.imshow(values, cmap="gray", vmin=0, vmax=1)
    ax.set_axis_off()
    fig.suptitle("▉▉▉", color="#0000ff")
    plotting.show(fig, FINDING)
    (light, bright), (dark, turned) = shown_pictures(shown[0])
    assert "class='light'" in light
    assert "class='dark'" in dark
    assert "display:none" in dark
    bright, turned = (np.asarray(each.convert("RGBA"), dtype=float) / 255 for each in (bright, turned))
    inside = (slice(120, 300, 170), slice(90, 270, 170))
    assert turned[inside][..., 3].min() == 1
    shown_values = turned[inside][..., :3] if values.ndim == 3 else turned[inside][..., 0]
    assert shown_values == pytest.approx(values, abs=0.02)
    title = turned[:20][turned[:20, :, 3] > 0.9]
    assert title[:, 2].min() > 0.8  # still blue,
    assert title[:, :2].min() > 0.4  # but light
    assert (bright[:20, :, 3] > 0.9).sum() == len(title) > 0


def test_a_dark_page_keeps_the_scale_of_a_picture_with_it(shown):
    fig, ax = plotting.figure(size=(7, 8))
    fig.colorbar(ax.imshow(RED_AND_BLUE[..., 0], cmap="gray", vmin=0, vmax=1), ax=ax)
    scale = fig.axes[1]
    plotting.show(fig, FINDING)
    (_, bright), (_, turned) = shown_pictures(shown[0])
    box = scale.get_position()
    x, low, high = round(bright.width * (box.x0 + box.x1) / 2), box.y0 + 0.02, box.y1 - 0.02
    ends = [turned.convert("RGBA").getpixel((x, round(bright.height * (1 - y)))) for y in (low, high)]
    assert ends[0][0] < 30 < 225 < ends[1][0]


def test_labels_are_dark_enough_to_read():
    assert plotting.legible("#0072B2") == mpl.colors.to_rgb("#0072B2")
    assert 0.4 < max(plotting.legible("#b0b0b0")) < 0.47  # #767676 has a contrast of 4.54


def test_chance_is_a_dotted_line_with_its_name():
    _, ax = plotting.figure()
    plotting.chance(ax, 25)
    assert (ax.lines[0].get_linestyle(), ax.lines[0].get_ydata()[0]) == (":", 25)
    assert [text.get_text() for text in ax.texts] == ["chance"]


def test_labels_stand_at_the_ends_of_their_lines_and_apart():
    _, ax = plotting.figure()
    for height, name in ((1.0, "low"), (1.001, "high"), (0.0, "_none")):
        ax.plot([0, 1, 2], [0, height, np.nan], label=name)
    plotting.label_ends(ax)
    low, high = ax.texts
    assert [low.get_text(), high.get_text()] == ["low", "high"]
    assert (low.xy, high.xy) == ((1, 1), (1, 1.001))
    assert low.get_color() == mpl.colors.to_rgb(ax.lines[0].get_color())
    apart = [
        ax.transData.transform(each.xy)[1] * 72 / ax.figure.dpi + each.get_position()[1]
        for each in (low, high)
    ]
    assert apart[1] - apart[0] == pytest.approx(11)


@pytest.mark.parametrize(
    ("finding", "message"),
    [("", "needs its finding"), ("  \n", "needs its finding"), ("x" * 251, "251 characters, over 250")],
)
def test_a_figure_with_no_finding_or_an_overlong_one_is_refused(finding, message, shown):
    with pytest.raises(ValueError, match=message):
        plotting.show(drawing(), finding)
    assert shown == []


def test_seed_dots_stand_evenly_around_their_mean():
    _, ax = plotting.figure()
    plotting.seed_dots(ax, 0, [], color="#0072B2")
    plotting.seed_dots(ax, 2, torch.tensor([1.0, 2.0, 6.0]), color="#0072B2", spread=0.1, bar=0.4, marker="s")
    (dots,), (bar,) = ax.lines, ax.collections
    assert dots.get_xdata() == pytest.approx([1.9, 2.0, 2.1])
    assert dots.get_ydata().tolist() == [1, 2, 6]
    assert bar.get_segments()[0].ravel() == pytest.approx([1.6, 3, 2.4, 3])
    plotting.seed_dots(ax, 3, [5.0], color="#0072B2")
    assert ax.lines[1].get_xdata().tolist() == [3]


def test_a_paper_mark_has_its_error_each_way():
    _, ax = plotting.figure()
    plotting.paper_mark(ax, 1, 50, 3)
    plotting.paper_mark(ax, 1, 50)
    errors = [each.get_segments()[0].tolist() for each in ax.collections]
    assert errors == [[[1, 47], [1, 53]], [[1, 50], [1, 50]]]


def test_heat_map_prints_what_is_not_zero():
    _, ax = plotting.figure()
    image = plotting.heat_map(ax, [[0.0, 0.4, 10.0], [0.6, 5.0, 7.0]], ["a", "b"], [1, 2, 3])
    assert {text.get_position(): text.get_text() for text in ax.texts} == {
        (2, 0): "10",
        (0, 1): "1",
        (1, 1): "5",
        (2, 1): "7",
    }
    assert [text.get_color() for text in ax.texts] == ["white", "#222222", "#222222", "white"]
    assert image.get_clim() == (0, 10)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "3"]
    _, ax = plotting.figure()
    image = plotting.heat_map(ax, torch.eye(2), form="", vmin=-2, vmax=2)
    assert not ax.texts
    assert image.get_clim() == (-2, 2)


def test_log_ticks_are_plain_numbers():
    fig, ax = plotting.figure()
    ax.set(yscale="log", ylim=(0.04, 6))
    plotting.log_ticks(ax.yaxis)
    fig.canvas.draw()
    low, high = ax.get_ylim()
    ticks = zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    shown = [label.get_text() for value, label in ticks if low <= value <= high]
    assert shown == ["0.05", "0.1", "0.2", "0.5", "1", "2", "5"]
    assert {label.get_text() for label in ax.yaxis.get_ticklabels(minor=True)} <= {""}


def test_legend_below_names_each_label_of_the_panels_once():
    fig, (left, right) = plotting.figure(1, 2)
    for ax in (left, right):
        ax.plot([1, 2], label="ours")
    right.plot([2, 1], label="paper")
    plotting.legend_below(fig)
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["ours", "paper"]
    plotting.legend_below(fig, right.lines[1:], ncols=1)
    assert [text.get_text() for text in fig.legends[1].get_texts()] == ["paper"]
    fig.canvas.draw()
    box = fig.legends[0].get_window_extent()
    assert box.y1 < left.get_tightbbox().y0
