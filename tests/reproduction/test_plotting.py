"""How a figure enters a page: its finding, its picture on a light and on a dark page, its numbers."""

import base64
import io
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from mini_lib.reproduction import plotting

FINDING = "The ESBN is right where the LSTM <guesses>."
RED_AND_BLUE = np.array([[[1.0, 0, 0], [0, 0, 1.0]], [[0, 0, 0], [1.0, 1.0, 1.0]]])


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


def drawing():
    fig, ax = plotting.figure(size=(3.0, 2.0))
    ax.plot([0, 1])
    return fig


def pictures(output) -> list[tuple[str, np.ndarray]]:
    """Each picture of a figure, from 0 to 1 in four channels, with the attributes that follow its source."""
    found = re.findall(r'<img src="data:image/png;base64,([^"]+)" ([^>]*)>', output.data)
    images = (Image.open(io.BytesIO(base64.b64decode(source))).convert("RGBA") for source, _ in found)
    return [(rest, np.asarray(image) / 255) for (_, rest), image in zip(found, images, strict=True)]


def test_a_figure_is_shown_with_its_finding_and_only_the_first_panel_tells_it(shown):
    figures = [drawing(), drawing()]
    plotting.show(figures, f" {FINDING}\n", caption="10 seeds & more.")
    (output,) = shown
    text = "The ESBN is right where the LSTM &lt;guesses&gt;."
    assert f"<figcaption><strong>{text}</strong> 10 seeds &amp; more.</figcaption>" in output.data
    assert [re.search('alt="([^"]*)"', each)[1] for each, _ in pictures(output)] == [text, ""]
    assert not plt.get_fignums()
    with pytest.raises(ValueError, match="needs its finding"):
        plotting.show(drawing(), "  \n")


def test_a_figure_is_transparent_and_as_wide_as_it_was_drawn(shown):
    plotting.show(drawing(), FINDING)
    ((attributes, pixels),) = pictures(shown[0])
    assert 'width="288"' in attributes
    assert pixels.shape == (352, 528, 4)
    assert (pixels[0, 0, 3], pixels[..., 3].max()) == (0, 1)
    on_white = pixels[..., :3] * pixels[..., 3:] + 1 - pixels[..., 3:]
    blue = np.array(mpl.colors.to_rgb(plotting.STRUCTURE))
    assert np.abs(on_white - blue).max(axis=-1).min() < 0.02


@pytest.mark.parametrize("values", [RED_AND_BLUE, RED_AND_BLUE[..., 0]], ids=["colors", "shades"])
def test_a_dark_page_shows_a_picture_as_it_is_and_ink_turned(shown, values):
    fig, ax = plotting.figure(size=(2, 2))
    ax.imshow(values, cmap="gray", vmin=0, vmax=1)
    ax.set_axis_off()
    fig.suptitle("▉▉▉", color="#0000ff")
    plotting.show(fig, FINDING)
    (light, bright), (dark, turned) = pictures(shown[0])
    assert "class='light'" in light
    assert "class='dark'" in dark
    assert "display:none" in dark
    inside = turned[120:300:170, 90:270:170]
    assert inside[..., 3].min() == 1
    assert (inside[..., :3] if values.ndim == 3 else inside[..., 0]) == pytest.approx(values, abs=0.02)
    title = turned[:20][turned[:20, :, 3] > 0.9]
    assert title[:, 2].min() > 0.8  # still blue,
    assert title[:, :2].min() > 0.4  # but light
    assert (bright[:20, :, 3] > 0.9).sum() == len(title) > 0


def test_labels_are_dark_enough_to_read():
    assert plotting.legible("#0072B2") == mpl.colors.to_rgb("#0072B2")
    assert 0.4 < max(plotting.legible("#b0b0b0")) < 0.47  # #767676 has a contrast of 4.54


def test_labels_of_lines_that_end_together_do_not_overlap():
    fig, ax = plotting.figure()
    for end in (1.0, 1.0, 1.01):
        ax.plot([0, 1, np.nan], [0, end, 0], label=f"to {end}")
    plotting.label_ends(ax)
    places = [ax.transData.transform(each.xy)[1] * 72 / fig.dpi + each.xyann[1] for each in ax.texts]
    assert np.diff(sorted(places)).min() > 10.9  # points
