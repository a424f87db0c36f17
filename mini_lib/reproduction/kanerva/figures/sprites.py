"""Dancing sprites: whose pixels they are."""

import numpy as np
from jaxtyping import Float
from matplotlib.colors import to_rgb

from mini_lib.reproduction.plotting import Numbers

SPRITES = ("#5D3A9B", "#E69F00")  # one color a sprite, in every figure


def colored(templates: Numbers) -> Float[np.ndarray, "... 3 H W"]:
    """Sprites alone, [..., S, H, W], in color on white: the first purple, the second orange, both dark."""
    templates = np.asarray(templates, dtype=float)[..., None, :, :]
    picture = np.ones((*templates.shape[:-4], 3, *templates.shape[-2:]))
    for sprite, color in enumerate(SPRITES):
        inked = picture * np.array(to_rgb(color))[:, None, None]
        picture = np.where(templates[..., sprite, :, :, :] > 0, inked, picture)
    return picture
