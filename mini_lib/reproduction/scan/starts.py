"""How many runs of Syntactic Attention start to learn: the first updates of its runs on add-jump. Not in the paper.

Scores of attention are neither scaled nor clipped. In some runs attention soon lies on one end of the command, <SOS>
or <EOS>, to the last digits, and next to no gradient reaches the syntax stream. Such a run is trapped, until it
comes free.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import torch

from mini_lib.hashing import run_key
from mini_lib.scan import runs
from mini_lib.scan.recipes import RECIPES, batch_of
from mini_lib.scan.runs import paper_settings
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import NO_ACTION, Examples
from mini_lib.settings import RunSettings
from mini_lib.training import TrainingRun

LYING = 0.9999  # attention on one end, above which it lies there
LOOKED_AT = 300  # training commands


@dataclass(frozen=True)
class Start(RunSettings):
    """The first updates of the runs that fill Table 1's cell of Syntactic Attention on add-jump."""

    PAPER: ClassVar[str] = runs.PAPER

    looks: tuple[int, ...] | list[int]  #: updates of the first epoch after which it is measured, in order.


def build(settings: dict, seed: int) -> TrainingRun:
    """The first updates of the paper's run of this seed: the same weights, commands and dropout masks."""
    start = Start.from_dict(settings)
    whole = runs.build(paper_settings("add_jump"), seed)
    part = math.gcd(*start.looks)
    train = runs.make_parts(paper_settings("add_jump"), seed).train
    some = train[torch.arange(0, len(train.lengths), len(train.lengths) // LOOKED_AT)[:LOOKED_AT]]
    first = whole.epoch(0)
    return replace(
        whole,
        key=run_key(start.to_dict(), seed),
        name=f"the first {start.looks[-1]:,} updates of {whole.name}",
        epoch=lambda number: {name: rows[number * part :][:part] for name, rows in first.items()},
        examples=part,
        epochs=start.looks[-1] // part,
        checks=tuple(look // part for look in start.looks[:-1]),
        evaluate=partial(look_inside, examples=some),
        report=partial(by_update, part=part),
    )


@torch.no_grad()
def look_inside(model: SyntacticAttention, examples: Examples) -> dict[str, float]:
    """The loss on these commands without dropout, and "on_an_end" (see `share_on_an_end`)."""
    loss, _ = RECIPES["syntactic_attention"].loss(model, batch_of(examples))
    return {"loss": float(loss), "on_an_end": share_on_an_end(model, examples)}


def share_on_an_end(model: SyntacticAttention, examples: Examples) -> float:
    """At how many percent of the steps more than `LYING` of the attention is on <SOS>, or on <EOS>."""
    lying = steps = 0
    for part in examples.length_buckets():
        words, lengths, actions = examples[part].trimmed().tensors
        attention = model.trace(words, lengths, actions.shape[1]).attention  # [B, N, T]
        last = (lengths - 1)[:, None, None].expand(-1, attention.shape[1], -1)
        on_end = torch.maximum(attention[:, :, 0], attention.gather(2, last).squeeze(2))  # [B, N]
        due = actions != NO_ACTION
        lying += int((on_end > LYING)[due].sum())
        steps += int(due.sum())
    return 100 * lying / steps


def by_update(checks: list[dict], part: int) -> dict[str, float]:
    """The metrics of every look by its update; "trapped", 0 or 100, is whether most steps lie on an end."""
    found = {}
    for check in checks:
        update = check["epoch"] * part
        found |= {f"loss_{update}": check["loss"], f"on_an_end_{update}": check["on_an_end"]}
        found[f"trapped_{update}"] = 100.0 * (check["on_an_end"] > 50)
    return found
