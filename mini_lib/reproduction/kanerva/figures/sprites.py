"""Dancing sprites and the machines that remember them: whose pixels they are, and what each machine shows alone."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from mini_lib.kanerva.analysis import BINS
from mini_lib.reproduction.kanerva.figures.parts import arrays, heat_maps, pictures
from mini_lib.reproduction.plotting import Numbers, style

SPRITES = ("#5D3A9B", "#E69F00")  # one colour a sprite, in every figure


def coloured(templates: Numbers) -> Float[np.ndarray, "... 3 H W"]:
    """Sprites alone, [..., S, H, W], in colour on white: the first purple, the second orange, both dark."""
    templates = np.asarray(templates, dtype=float)[..., None, :, :]
    picture = np.ones((*templates.shape[:-4], 3, *templates.shape[-2:]))
    for sprite, colour in enumerate(SPRITES):
        inked = picture * np.array(to_rgb(colour))[:, None, None]
        picture = np.where(templates[..., sprite, :, :, :] > 0, inked, picture)
    return picture


def single_machines(
    images: Numbers,
    parts: Numbers,
    together: Numbers,
    templates: Numbers | None = None,
    cosines: Numbers | None = None,
    names: Sequence[str] = (),
) -> Figure:
    """Draw for each item the image, what each machine shows alone, and what all show together (Figures 3B and 6).

    Images and what is shown together are [N, H, W], parts [N, K, H, W]. Outlines of the sprites alone, [N, S, H, W],
    are drawn over the machines' pictures, and the cosines with them, [N, K, S], are written below in the same
    colours. Rows have names.
    """
    images, parts, together = (np.asarray(each, dtype=float) for each in (images, parts, together))
    rows, count = parts.shape[:2]
    names = names or [" " * i for i in range(rows)]
    shown = np.concatenate([images[:, None], parts, together[:, None]], axis=1)
    titles = ["image", *(f"machine {i + 1}" for i in range(count)), "together"]
    inches = (1.05, 1.08 if cosines is None else 1.42)
    with style():
        fig = pictures(dict(zip(names, shown, strict=True)), titles, inches=inches)
        for row, line in enumerate(np.reshape(fig.axes, (rows, count + 2))[:, 1:-1]):
            for machine, ax in enumerate(line):
                for template, colour in zip(
                    () if templates is None else templates[row], SPRITES, strict=False
                ):
                    if template.min() < template.max():
                        ax.contour(np.asarray(template), levels=[0.5], colors=[colour], linewidths=0.9)
                if cosines is not None:
                    spots = {"y": -0.04, "va": "top", "ha": "center", "fontsize": 8}
                    for at, (c, colour) in enumerate(zip(cosines[row][machine], SPRITES, strict=False)):
                        x = 0.27 + 0.46 * at
                        ax.text(x, s=f"{float(c):.2f}", color=colour, transform=ax.transAxes, **spots)
    return fig


# -------------------------------------------------------------------------------------------------- heat maps


def maps(tunings: Mapping[str, Numbers]) -> Figure:
    """Draw mean cosines over a sprite's place, a panel for each machine; x from the left, y from the top.

    Of each name's `analysis.tuning` of positions, [K, 64, S], each sprite has a row (with S = 1, say of both sprites
    together, each name).
    """
    rows = {
        f"{name}\nsprite {sprite + 1}" if each.shape[2] > 1 else name: each[:, :, sprite].reshape(
            -1, BINS, BINS
        )
        for name, each in arrays(tunings).items()
        for sprite in range(each.shape[2])
    }
    titles = [f"machine {machine + 1}" for machine in range(len(next(iter(rows.values()))))]
    return heat_maps(rows, titles, "mean cosine", xticks=(), yticks=())
