"""Small binding networks that are trained with a meaningless mark in every second picture: do they sort by it?

Not in the paper. `tools/make_marked.py` made marked.json, and the weights of the network that is offered a line.
"""

import json
from dataclasses import replace
from pathlib import Path

import torch
from jaxtyping import Shaped
from torch import Tensor, nn

from mini_lib.kanerva import tasks
from mini_lib.kanerva.analysis import variance_explained
from mini_lib.kanerva.digits import COLORS
from mini_lib.kanerva.runs import Settings, build
from mini_lib.training import TrainingRun

STORED = Path(__file__).with_name("marked.json")
MARKS = {  # of the blue digit: rows and columns
    "line": (slice(None), 0),  # eight pixels, the left edge
    "pixel": (0, 0),  # the corner
}
BLUE, EVERY = 2, 2


def marked(images: Shaped[Tensor, "B T C H W"], mark: str) -> Shaped[Tensor, "B T C H W"]:
    """The images of episodes with a mark in every second one, the first among them."""
    images = images.clone()
    images[:, ::EVERY, BLUE][(..., *MARKS[mark])] = 1
    return images


def build_marked(settings: Settings, seed: int, mark: str) -> TrainingRun:
    """The run of these settings, on the same episodes with a mark."""
    run = build(settings, seed)

    def epoch(number: int) -> dict[str, Tensor]:
        batch = run.epoch(number)
        return batch | {"images": marked(batch["images"], mark)}

    return replace(run, epoch=epoch, evaluate=lambda model: sorting(model, settings, mark))


@torch.no_grad()
def sorting(network: nn.Module, settings: Settings, mark: str) -> dict[str, float]:
    """By what a network sorts marked test episodes.

    "by_mark": how the shares of marked and of other pictures that go to machine 1 differ, 1 if the mark decides;
    of each color the share of the weights' variance that its class explains.
    """
    test = tasks.evaluation("rgb", 400, settings.items, source=settings.source)
    gamma = network.write(network.encoder(marked(test.images, mark))).gamma
    first = (gamma[..., 0] > 0.5).double()
    by_mark = (first[:, ::EVERY].mean() - first[:, 1::EVERY].mean()).abs().item()
    labels = test.labels.flatten(0, 1)
    shares = (variance_explained(gamma.flatten(0, 1), labels[:, c]) for c in range(len(COLORS)))
    return {"by_mark": by_mark} | dict(zip(COLORS, shares, strict=True))


def stored() -> list[dict]:
    """The results that come with the library, each with its mark and seed."""
    return json.loads(STORED.read_text())
