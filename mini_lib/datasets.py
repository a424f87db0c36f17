"""Data sets: images that need no download, and the public originals when they are wanted.

The glyphs of the ESBN chapters are drawn from the font that matplotlib ships, so everything runs without a network.
"""

import os
import unicodedata
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mini_lib.errors import unknown

# One character an image, in image order: letters of seven scripts, arrows, mathematical signs, shapes, symbols. They were
# chosen so that no two pictures come closer than 70 grey levels (root mean square over the pixels).
GLYPHS = (
    "o~*4^<=¿£B7K21ήφΞθΓΩ"
    "ςΣЭЯщльшчլԿՋԱյւზოდჲჟ"
    "ჸⴷⵅⴳⴰⵃᒂᒇᒺᐭᐏ➧↝➦⇙⇚⇨↻⇀↞"
    "⇴⇄⊖⊀∞⋋∟≩≤∲⋧⊐◢◙◲◗▴▵◩▨"
    "♣♫✌✱♀✉♥✑⚙⚓☘☏♕♳♡⚑♆♝⚘♛"
)
SIDE = 32  # pixels of a picture, each way
INK = 26  # pixels of a glyph's longer side


def glyphs(source: str = "rendered") -> Float[Tensor, "100 32 32"]:
    """Return the 100 pictures that the ESBN tasks draw on: white ground 1.0, dark glyph towards 0.0.

    Args:
        source: "rendered" draws characters of DejaVu Sans, and needs no data; "released" reads the images that the ESBN
            authors published, from `MINI_LIB_DATA`/esbn/released_images.npz.

    Returns:
        A fresh float32 tensor with values k / 255 for whole k, so that it can be changed without harm to later calls.

    Raises:
        ValueError: for another source.
        FileNotFoundError: when "released" is asked for and the file is not there; the message says what to set.
    """
    makers = {"rendered": _rendered, "released": _released}
    if source not in makers:
        raise unknown("image source", source, makers)
    return torch.from_numpy(makers[source]()).float() / 255


def glyph_names() -> list[str]:
    """Return the Unicode names of the rendered glyphs, in image order ("BLACK HEART SUIT")."""
    return [unicodedata.name(character) for character in GLYPHS]


@lru_cache(maxsize=1)
def _rendered() -> np.ndarray:
    """Draw all glyphs, uint8 [100, 32, 32], at eight times the size and averaged down.

    The averaging hides what differs between versions of the FreeType library, which is about hinting.
    """
    import matplotlib
    from PIL import ImageFont

    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    font = ImageFont.truetype(str(path), 8 * SIDE, layout_engine=ImageFont.Layout.BASIC)
    return np.stack([_draw(character, font) for character in GLYPHS])


def _draw(character: str, font) -> np.ndarray:
    """Draw one character, uint8 [32, 32]: longer side `INK` pixels, centred, dark on white."""
    from PIL import Image, ImageDraw

    large = Image.new("L", (20 * SIDE, 20 * SIDE), 0)
    ImageDraw.Draw(large).text((6 * SIDE, 4 * SIDE), character, fill=255, font=font)
    ink = large.crop(large.getbbox())
    size = [max(1, round(INK * extent / max(ink.size))) for extent in ink.size]
    picture = Image.new("L", (SIDE, SIDE), 255)
    corner = ((SIDE - size[0]) // 2, (SIDE - size[1]) // 2)
    picture.paste(0, corner, mask=ink.resize(size, Image.Resampling.BOX))
    return np.asarray(picture)


@lru_cache(maxsize=1)
def _released() -> np.ndarray:
    """Read the authors' images, uint8 [100, 32, 32]."""
    folder = os.environ.get("MINI_LIB_DATA", "")
    path = Path(folder) / "esbn" / "released_images.npz"
    if not folder or not path.is_file():
        raise FileNotFoundError(f"{path} is not there: set MINI_LIB_DATA to a folder that holds esbn/released_images.npz")
    with np.load(path) as archive:
        return archive["images"]
