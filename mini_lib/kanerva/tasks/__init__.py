"""The paper's problems by name, as episodes of images [B, T, C, H, W] with values 0 and 1.

Each problem is a file with the functions `sample` (fresh episodes from a generator) and `evaluation` (those that
every network is tested on), which return a `NamedTuple` of tensors, `images` first; `.to(device)` moves it.

- "digits": handwritten digits; each is its own query. Options: source, split.
- "rgb": three digits in three colours; a query lacks the green one. Options: source, split.
- "dsprites": two sprites that move. Option: size.
"""

import inspect
from types import ModuleType

import torch

from mini_lib.errors import check_names, check_positive_int
from mini_lib.kanerva.tasks import digits, dsprites, rgb
from mini_lib.kanerva.tasks.digits import DigitEpisodes
from mini_lib.kanerva.tasks.dsprites import SpriteEpisodes
from mini_lib.kanerva.tasks.rgb import RGBEpisodes

TASKS: dict[str, ModuleType] = {"digits": digits, "rgb": rgb, "dsprites": dsprites}
Episodes = DigitEpisodes | RGBEpisodes | SpriteEpisodes

__all__ = ["TASKS", "DigitEpisodes", "Episodes", "RGBEpisodes", "SpriteEpisodes", "evaluation", "sample"]


def _checked(task: str, function: str, count: int, items: int, options: dict):
    """A problem's own function of that name, for numbers and options that it can take."""
    check_names("task", [task], TASKS)
    own = getattr(TASKS[task], function)
    known = [p.name for p in inspect.signature(own).parameters.values() if p.kind is p.KEYWORD_ONLY]
    check_names(f"option of {task}", options, known)
    check_positive_int(count=count, items=items)
    return own


def sample(task: str, count: int, items: int, generator: torch.Generator, **options) -> Episodes:
    """Draw B = `count` fresh episodes of T images of a problem of `TASKS`; the generator has to be on the CPU.

    >>> episodes = sample("rgb", count=2, items=45, generator=torch.Generator().manual_seed(1))
    >>> episodes.images.shape, episodes.queries.shape, episodes.labels.shape
    (torch.Size([2, 45, 3, 8, 8]), torch.Size([2, 45, 3, 8, 8]), torch.Size([2, 45, 3]))
    >>> episodes.to("cpu").images.max().item()
    1.0
    """
    return _checked(task, "sample", count, items, options)(count, items, generator, **options)


def evaluation(task: str, count: int, items: int, **options) -> Episodes:
    """The episodes of a problem that every network is tested on; arguments as of `sample`. Cached; do not modify."""
    return _checked(task, "evaluation", count, items, options)(count, items, **options)


sample_episodes = sample
