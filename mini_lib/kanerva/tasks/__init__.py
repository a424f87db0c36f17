"""The paper's problems by name, as episodes of images [B, T, C, H, W] with values 0 and 1.

Each problem is a file with the functions `sample` (fresh episodes from a generator) and `evaluation` (those that
every network is tested on), which return a `NamedTuple` of tensors, `images` first and then what else was drawn:

- "digits": handwritten digits; each is its own query. Options: source, split.
- "rgb": three digits in three colours; a query lacks the green one. Options: source, split.
- "dsprites": two sprites that move. Option: size.
"""

import inspect
from types import ModuleType

import torch

from mini_lib.errors import unknown_name_error
from mini_lib.kanerva.tasks import digits, dsprites, rgb
from mini_lib.kanerva.tasks.digits import DigitEpisodes
from mini_lib.kanerva.tasks.dsprites import SpriteEpisodes
from mini_lib.kanerva.tasks.rgb import RGBEpisodes

TASKS: dict[str, ModuleType] = {"digits": digits, "rgb": rgb, "dsprites": dsprites}

__all__ = ["TASKS", "DigitEpisodes", "RGBEpisodes", "SpriteEpisodes", "evaluation", "sample"]


def _maker(task: str, function: str, options: dict):
    """The function of that name of a problem, once its options are known to be there."""
    if task not in TASKS:
        raise unknown_name_error("task", task, TASKS)
    maker = getattr(TASKS[task], function)
    known = [p.name for p in inspect.signature(maker).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise unknown_name_error(f"option of {task}", option, known)
    return maker


def sample(
    task: str, count: int, items: int, generator: torch.Generator, **options
) -> DigitEpisodes | RGBEpisodes | SpriteEpisodes:
    """Draw B = `count` fresh episodes of T = `items` images of a problem of `TASKS`; options as its own `sample`.

    Raises:
        UsageError: for a task or an option that is not there, or as the problem's own `sample` does.
    """
    return _maker(task, "sample", options)(count, items, generator, **options)


def evaluation(task: str, count: int, items: int, **options) -> DigitEpisodes | RGBEpisodes | SpriteEpisodes:
    """The episodes of a problem of `TASKS` that every network is tested on; options as its own `evaluation`.

    Raises:
        UsageError: for a task or an option that is not there, or as the problem's own `evaluation` does.
    """
    return _maker(task, "evaluation", options)(count, items, **options)
