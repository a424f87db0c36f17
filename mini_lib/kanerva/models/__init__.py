"""The networks of the Kanerva wing: images to codes and back, and memories with all that they learn.

- "product": `ProductKanerva`, all machines remember every item, each with a weight that a network infers.
- "mixture": `MixtureKanerva`, one machine is chosen for each item.

Both are called alike: `network(images, queries, noise)` writes an episode, reads it and returns a `KanervaTrace`.
`generation` makes images out of memory alone.
"""

import inspect
from collections.abc import Mapping

from mini_lib.errors import check_names
from mini_lib.kanerva.memory import columns_of
from mini_lib.kanerva.models.images import DECODERS, ENCODERS, build_decoder, build_encoder
from mini_lib.kanerva.models.mixture import MixtureKanerva
from mini_lib.kanerva.models.network import SAMPLES, EpisodeMemory, Kanerva, KanervaTrace
from mini_lib.kanerva.models.noise import draw_noise
from mini_lib.kanerva.models.product import ProductKanerva
from mini_lib.settings import own_options

MODELS = {"product": ProductKanerva, "mixture": MixtureKanerva}

__all__ = [
    "DECODERS",
    "ENCODERS",
    "MODELS",
    "SAMPLES",
    "EpisodeMemory",
    "Kanerva",
    "KanervaTrace",
    "MixtureKanerva",
    "ProductKanerva",
    "build_decoder",
    "build_encoder",
    "build_network",
    "draw_noise",
    "kept_options",
    "options_of",
]


def options_of(model: str) -> list[str]:
    """The options of a network of `MODELS`, without its sizes; UsageError for a network that is not there.

    Where a network knows one assignment only, there is nothing to choose, and `assignment` is no option.
    """
    check_names("model", [model], MODELS)
    known = inspect.signature(MODELS[model]).parameters.values()
    left_out = ["assignment"] if len(MODELS[model].assignments) == 1 else []
    return [p.name for p in known if p.kind is p.KEYWORD_ONLY and p.name not in left_out]


def kept_options(model: str, options: Mapping[str, object]) -> dict[str, object]:
    """The options that a network of `MODELS` does not have by itself; UsageError as `own_options` says."""
    known = options_of(model)  # first, since the network may not be there
    return own_options(model, MODELS[model], options, known)


def build_network(
    model: str,
    *,
    channels: int = 1,
    size: int = 28,
    dim: int = 50,
    machines: int = 1,
    total: int = 30,
    encoder: str = "valid",
    decoder: str = "conv",
    **options,
) -> Kanerva:
    """A network of `MODELS` for images of C x size x size pixels; the sizes are the paper's for digits.

    `dim` is D, `machines` K, `total` K M, the columns of all machines together. The networks for images are of
    `ENCODERS` and `DECODERS`; for other options see `options_of`.

    >>> network = build_network("product", machines=2, size=8, encoder="mlp", decoder="mlp", sample="full")
    >>> network.columns
    15
    """
    options = kept_options(model, options)
    columns = columns_of(total, machines)
    networks = build_encoder(encoder, channels, size, dim), build_decoder(decoder, channels, size, dim)
    return MODELS[model](*networks, dim, machines, columns, **options)
