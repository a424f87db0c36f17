"""Figure 1D as runs: the memory is timed, and nothing is trained."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from mini_lib.hashing import run_key
from mini_lib.reproduction.kanerva.scaling import evaluate_scaling
from mini_lib.settings import RunSettings
from mini_lib.training import TrainingRun


@dataclass(frozen=True)
class Timing(RunSettings):
    """What is timed, always on the CPU; a seed only counts the repetitions.

    The paper names a machine with 8 CPU cores, but neither B nor T nor D: these are ours, and the small scale's one
    thread is.
    """

    PAPER: ClassVar[str] = "kanerva"

    form: str  #: of `looped.FORMS`: the machines in one batched call, or in a loop.
    episodes: int = 2  #: of a batch, B.
    items: int = 3  #: of an episode, T.
    dim: int = 50  #: features of a code, D.
    threads: int = 1  #: that torch may use.


def build(settings: dict, seed: int) -> TrainingRun:
    """A run that makes no update and whose test is the timing; time it with one worker on an idle machine."""
    s = Timing.from_dict(settings)
    sizes = {name: getattr(s, name) for name in ("form", "episodes", "items", "dim", "threads")}
    return TrainingRun(
        key=run_key(s.to_dict(), seed),
        name=f"timing of the memory, {s.form}, repetition {seed}",
        model=nn.LayerNorm(1),  # a timing has no network, nor data, nor a loss
        epoch=lambda epoch: {},
        examples=1,
        batch_size=1,
        epochs=0,
        lr=1e-3,
        loss=lambda apply, batch: (apply(batch), apply(batch)),
        evaluate=lambda model: evaluate_scaling(**sizes),
        cpu_only=True,
    )
