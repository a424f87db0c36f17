"""The networks of the Kanerva wing: images to codes and back, and memories with all that they learn.

- "product": `ProductKanerva`, all machines remember every item, each as much as a network says.
- "mixture": `MixtureKanerva`, one machine is chosen for each item.

Both are called alike: `network(images, queries, noise)` writes an episode, asks for it and returns a `KanervaTrace`.
Noise is what `network.noise(episodes, items, generator)` draws; nothing is drawn inside. `generation` makes images
out of memory alone.
"""

import inspect
from collections.abc import Iterable

from mini_lib.errors import check_names
from mini_lib.kanerva.memory import columns_of
from mini_lib.kanerva.models.images import DECODERS, ENCODERS, build_decoder, build_encoder
from mini_lib.kanerva.models.mixture import MixtureKanerva
from mini_lib.kanerva.models.network import H_READ, SAMPLES, Kanerva
from mini_lib.kanerva.models.noise import draw_noise
from mini_lib.kanerva.models.product import ProductKanerva
from mini_lib.kanerva.models.trace import EpisodeMemory, KanervaTrace

MODELS = {"product": ProductKanerva, "mixture": MixtureKanerva}

__all__ = [
    "DECODERS",
    "ENCODERS",
    "H_READ",
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
    "check_options",
    "draw_noise",
    "options_of",
]


def options_of(name: str) -> list[str]:
    """The options of a network of `MODELS`, without its sizes.

    Raises:
        UsageError: for a network that is not there.
    """
    check_names("model", [name], MODELS)
    own, shared = (inspect.signature(model).parameters.values() for model in (MODELS[name], Kanerva))
    return [p.name for p in (*own, *shared) if p.kind is p.KEYWORD_ONLY and p.name != "rule"]


def check_options(name: str, options: Iterable[str]) -> None:
    """UsageError for an option that a network of `MODELS` does not have."""
    check_names(f"option of {name}", options, options_of(name))


def build_network(
    name: str,
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

    Args:
        name: "product" or "mixture".
        channels: C.
        size: H = W.
        dim: D, features of a code.
        machines: K.
        total: K M, columns of all machines together.
        encoder: of `ENCODERS`.
        decoder: of `DECODERS`.
        options: of the network; see `options_of`.

    Raises:
        UsageError: for a name, an option or a size that cannot be; K has to divide `total`.
    """
    check_options(name, options)
    columns = columns_of(total, machines)
    networks = build_encoder(encoder, channels, size, dim), build_decoder(decoder, channels, size, dim)
    return MODELS[name](*networks, dim, machines, columns, **options)
