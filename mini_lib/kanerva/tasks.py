"""The problems of the paper by name, as episodes of images [B, T, C, H, W] with values 0 and 1.

"digits" are handwritten digits, each its own query; in "rgb" three have three colors, and a query lacks the green
one; options of both are source and split. "dsprites" are two sprites that move; option: size. `TASKS` has the
function that draws each; it returns a `NamedTuple` of tensors, `images` first.
"""

import inspect
from collections.abc import Callable

import torch

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.kanerva import digits, dsprites
from mini_lib.kanerva.digits import DigitEpisodes, RGBEpisodes
from mini_lib.kanerva.dsprites import SpriteEpisodes
from mini_lib.seeding import torch_rng

Episodes = DigitEpisodes | RGBEpisodes | SpriteEpisodes
TASKS: dict[str, Callable[..., Episodes]] = {
    "digits": digits.sample,
    "rgb": digits.sample_rgb,
    "dsprites": dsprites.sample,
}


def sample(task: str, count: int, items: int, generator: torch.Generator, **options: object) -> Episodes:
    """Draw B = `count` episodes of T = `items` images: "digits", "rgb" (three digits in three colors) or "dsprites".

    Options of digits: `source`, "digits" (8 x 8 pixels), "distorted" (14 x 14) or "mnist" (28 x 28, from the data
    folder), and `split`, "train" or "test". Of sprites: `size`, 14, 28 or 64 pixels a side.

    >>> episodes = sample("rgb", count=2, items=45, generator=torch.Generator().manual_seed(1))
    >>> episodes.images.shape, episodes.queries.shape, episodes.labels.shape
    (torch.Size([2, 45, 3, 8, 8]), torch.Size([2, 45, 3, 8, 8]), torch.Size([2, 45, 3]))
    """
    check_names("task", [task], TASKS)
    check_positive_int(count=count, items=items)
    if not isinstance(generator, torch.Generator) or generator.device.type != "cpu":
        raise UsageError(f"generator has to be a torch.Generator on the CPU, got {generator!r}")
    known = [*inspect.signature(TASKS[task]).parameters][3:]  # after count, items and generator
    check_names(f"option of {task}", options, known)
    return TASKS[task](count, items, generator, **options)


sample_episodes = sample  # its name in `mini_lib`


def evaluation(task: str, count: int, items: int, **options: object) -> Episodes:
    """The episodes of a problem that every network is tested on; arguments as of `sample`."""
    if task == "dsprites":
        return sample(task, count, items, torch_rng(0, "test episodes", task), **options)
    generator = torch_rng(0, "test episodes", task, options.get("source", "digits"))
    return sample(task, count, items, generator, **{"split": "test"} | options)
