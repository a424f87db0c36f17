"""Figure 1D as runs: the memory is timed, and nothing is trained."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from mini_lib.reproduction.kanerva.looped import FORMS
from mini_lib.reproduction.kanerva.scaling import evaluate_scaling
from mini_lib.settings import RunSettings, run_key
from mini_lib.training_run import Batch, TrainingRun


@dataclass(frozen=True)
class Timing(RunSettings):
    """What is timed, always on the CPU; a seed only counts the repetitions.

    The paper names a machine with 8 CPU cores, but neither B nor T nor D: these are ours, and the small scale's one
    thread is.

    Attributes:
        form: of `memory.FORMS`: the machines in one batched call, or in a loop.
        episodes: B.
        items: T.
        dim: D.
        threads: that torch may use.
    """

    PAPER: ClassVar[str] = "kanerva"

    form: str
    episodes: int = 2
    items: int = 3
    dim: int = 50
    threads: int = 1

    def __post_init__(self) -> None:
        """Raise UsageError for a form that is not there, or numbers below 1."""
        super().__post_init__()
        self.check_known(("form", "form", FORMS))
        self.check_whole("episodes", "items", "dim", "threads")


class Clock(nn.Module):
    """In the place of a network, which a timing does not have."""

    def __init__(self):
        super().__init__()
        self.nothing = nn.Parameter(torch.zeros(1))


def build(settings: dict, seed: int) -> TrainingRun:
    """A replica that makes no update and whose test is the timing; time it with one worker on an idle machine."""
    s = Timing.from_dict(settings)
    return TrainingRun(
        key=run_key(s.to_dict(), seed),
        name=f"timing of the memory, {s.form}, repetition {seed}",
        model=Clock(),
        epoch=_no_data,
        examples=1,
        batch_size=1,
        epochs=0,
        lr=1e-3,
        loss=_no_loss,
        evaluate=lambda model: _timed(s),
        cpu_only=True,
    )


def _timed(s: Timing) -> dict[str, float]:
    """What `evaluate_scaling` finds with so many threads, and no more than these."""
    before = torch.get_num_threads()
    torch.set_num_threads(s.threads)
    try:
        return evaluate_scaling(s.form, episodes=s.episodes, items=s.items, dim=s.dim)
    finally:
        torch.set_num_threads(before)


def _no_data(epoch: int) -> Batch:
    return {}


def _no_loss(apply, batch: Batch) -> tuple[Tensor, Tensor]:
    raise RuntimeError("a timing has no loss")
