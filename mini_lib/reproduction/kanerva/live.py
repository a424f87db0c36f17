"""The live figures of the Product Kanerva Machine: what their scripts are given."""

import torch
from jaxtyping import Bool
from torch import Tensor

from mini_lib.files import trained
from mini_lib.kanerva.assignment import draw_all
from mini_lib.kanerva.dsprites import BOX, POSITIONS, SHAPES, SIZES, SpriteEpisodes, draw
from mini_lib.kanerva.evaluation import fixed_loss
from mini_lib.kanerva.memory import RIDGE
from mini_lib.kanerva.product_memory import ProductMemory
from mini_lib.kanerva.tasks import digits, evaluation
from mini_lib.reproduction.live import Parcel, halves
from mini_lib.seeding import torch_rng

ITEMS = 45  # of an episode
COLUMNS = (5, 15, 30)  # of the memories that hold pixels
ETA = 0.3  # their noise, the chapter's
SPRITES = "kanerva_sprites"
BINDING = (  # name, title, trained network
    ("unaided", "without balance term", "kanerva_binding"),
    ("balanced", "with balance term", "kanerva_binding_balanced"),
)
EPISODES = 50  # of triplets, in which the stroke is searched
INKED = 0.2  # how much more often machine 2's red digits have ink at a pixel of the stroke
PROBABILITIES, COSTS = (0.6, 0.3, 0.1), (1.0, 2.0, 4.0)  # of a choice among three machines
CURVE = {"answers": (0.0, 1.0, 3.0), "rate": 1.5}  # a cost that is not linear: exp(rate times the answer)
DRAWS = 400
PAIR = {"means": (0.0, 3.0), "eta": (1.0, 1.0), "item": 3.0, "variance": 1.0}  # two machines of one number
SHOWN = (3, 8, 10, 5)  # test episodes of sprites: no two pairs of the same shapes


def parcel(part: str = "memory") -> Parcel:
    """The parcel "memory" to write digits into, "binding" of two networks, "sprites", "choice" or "product"."""
    return {each.__name__: each for each in (memory, binding, sprites, choice, product)}[part]()


def memory() -> Parcel:
    """Digits of one episode, and prior means of memories that hold pixels."""
    pixels = digits.pool().images.flatten(1).double()
    mean = pixels.mean(0)
    chosen = torch.randperm(digits.HELD_OUT, generator=torch_rng(0, "chapter"))[:ITEMS]
    tensors = {"digits/8": digits.pool(split="test").images[chosen].flatten(1).byte()}
    tensors |= {f"means/{columns}": ProductMemory(len(mean), columns=columns).prior.R for columns in COLUMNS}
    facts = {"mean": mean.tolist(), "scale": (pixels - mean).std().item()}
    return Parcel(tensors, facts | {"columns": COLUMNS, "eta": ETA, "ridge": RIDGE})


def binding() -> Parcel:
    """Two networks of two machines, and an episode of triplets with their digits."""
    source = trained(BINDING[0][2]).about["settings"]["source"]
    episodes = evaluation("rgb", 1, ITEMS, source=source)
    tensors = {"triplets": episodes.images[0].flatten(1).byte(), "labels": episodes.labels[0].byte()}
    for name, _, network in BINDING:
        tensors |= halves(name, trained(network))
    networks = [{"name": name, "title": title} for name, title, _ in BINDING]
    facts = {"networks": networks, "ridge": RIDGE, "fixed": fixed_loss(source)}
    return Parcel(tensors, facts | {"stroke": stroke().flatten().int().tolist()})


@torch.no_grad()
def stroke() -> Bool[Tensor, "H W"]:
    """The pixels that red digits of machine 2 ink more often than those of machine 1: with the balance term."""
    network = trained("kanerva_binding_balanced")
    source = network.about["settings"]["source"]
    images = evaluation("rgb", 2 * EPISODES, ITEMS, source=source).images[:EPISODES]
    first = network.write(network.encoder(images)).gamma[..., 0] > 0.5
    red = images[:, :, 0]
    return red[~first].mean(0) - red[first].mean(0) > INKED


def sprites() -> Parcel:
    """A network of four machines, and pairs of sprites with the places of their pictures.

    "stamps" are the sprites in every phase of a block, "positions" of each picture x and y of both sprites.
    """
    network = trained(SPRITES)
    size = network.encoder.shape[-1]
    margin, block = SIZES[size]
    items = network.about["settings"]["items"]
    chosen = SpriteEpisodes(*(each[list(SHOWN)] for each in evaluation("dsprites", max(SHOWN) + 1, items)))
    corner = torch.arange(block)
    phases = torch.stack(torch.meshgrid(corner, corner, indexing="xy"), dim=-1).flatten(0, 1)  # x, then y
    first = size // 4  # of the pixels around a sprite in the middle
    kinds = (each[..., None] for each in (chosen.shape, chosen.scale, chosen.orientation))
    window = slice(first, first + BOX // block + 1)
    stamps = draw(*kinds, phases + block * first + margin, size)[..., window, window]
    tensors = halves("network", network) | {"stamps": stamps.flatten(-2).byte()}
    tensors["positions"] = chosen.position.flatten(0, 1).flatten(1).byte()
    names = [[SHAPES[shape] for shape in pair] for pair in chosen.shape.tolist()]
    geometry = {"size": size, "margin": margin, "block": block, "last": POSITIONS - 1}
    return Parcel(tensors, {"names": names, "items": items, "ridge": RIDGE} | geometry)


def choice() -> Parcel:
    """Random numbers for a choice among three machines, their probabilities and costs."""
    gumbel = draw_all({"gumbel": (DRAWS, len(COSTS))}, torch_rng(1, "gumbel"))["gumbel"]
    return Parcel({"gumbel": gumbel}, {"p": PROBABILITIES, "costs": COSTS, "curve": CURVE})


def product() -> Parcel:
    """Two machines of one number, their noise, and an item."""
    return Parcel({}, PAIR)
