"""What `training.train` is given, and what it gives back."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from mini_lib.errors import UsageError, check_positive_int

CPU = torch.device("cpu")
Batch = dict[str, Any]  # tensors by name; "noise", where there is some, is such a dict itself


def adam(parameters, lr: float) -> torch.optim.Optimizer:
    """Adam (Kingma and Ba 2015), the default; as one kernel where PyTorch has one."""
    parameters = list(parameters)
    fused = all(parameter.device.type in ("cpu", "cuda") for parameter in parameters)
    return torch.optim.Adam(parameters, lr=lr, fused=fused)


def plain_attributes(module: nn.Module) -> tuple[tuple[str, str], ...]:
    """What a module keeps besides parameters, buffers and other modules, in words."""
    own = {name: value for name, value in vars(module).items() if name[0] != "_" and name != "training"}
    return tuple((name, repr(value)) for name, value in sorted(own.items()))


def tensor_bytes(value: Tensor) -> bytes:
    """A tensor's values as bytes, whatever its type and wherever it lies."""
    return value.cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()


def last_check(checks: list[dict]) -> dict[str, float]:
    """The metrics that were measured last."""
    return {name: value for name, value in checks[-1].items() if name != "epoch"}


@dataclass
class TrainingRun:
    """One network and all that its training needs. Each paper's `build` makes one of settings and a seed.

    Attributes:
        key: unique; it stands for the settings and the seed, and names the checkpoint.
        name: names the run in messages.
        model: the network, freshly initialized.
        epoch: gives epoch e's examples, shuffled, as tensors [N, ...]; a function of e alone, so that a resumed
            run sees the same data. It may be called from another thread while the network is trained, and so has to
            draw from a generator of its own, not from PyTorch's common one.
        examples: N.
        batch_size: B; the last batch of an epoch may be smaller.
        epochs: passes over the data.
        lr: learning rate of the optimizer.
        loss: (apply, batch) -> (loss, score), both scalars; `apply` is called like the model. The score, such as
            the batch's accuracy in percent, goes into the learning curve. It must not depend on data for its
            shapes, nor draw random numbers, nor differ between runs: what does comes with the batch. On a GPU one
            update is recorded and replayed, so that what Python computes in it stays as it was then: what changes
            from update to update has to come with the batch, too.
        evaluate: measures the trained model; returns metrics by name.
        constants: tensors that every batch gets besides its examples (such as the pool of images).
        noise: (update, batch) -> the random tensors of one update by name, each [B, ...]: dropout masks and the
            like, from a stream that the update's number names, best on the device of the batch's tensors
            (`torch_rng(..., device=)`); the batch gets them as "noise".
        dedupe_batch: an exact saving with data-dependent shapes, used only where a run is trained alone on a CPU:
            on a GPU every such shape is waited for.
        optimizer: makes the optimizer from parameters and `lr`; it has to work element by element.
        schedule: the learning rate of an update, as a factor of `lr`.
        clip: the greatest norm of all gradients together, or none.
        checks: epochs after which `evaluate` measures on the way; it always does at the end.
        report: makes the run's metrics from all that was measured, each with its "epoch"; by default the last.
        cpu_only: runs on the CPU, and alone, whatever device is asked for, such as what times the CPU.
    """

    key: str
    name: str
    model: nn.Module
    epoch: Callable[[int], Batch]
    examples: int
    batch_size: int
    epochs: int
    lr: float
    loss: Callable[[Callable, Batch], tuple[Tensor, Tensor]]
    evaluate: Callable[[nn.Module], dict[str, float]]
    constants: Batch = field(default_factory=dict)
    noise: Callable[[int, Batch], Batch] | None = None
    dedupe_batch: Callable[[Batch], Batch] | None = None
    optimizer: Callable = adam
    schedule: Callable[[int], float] | None = None
    clip: float | None = None
    checks: tuple[int, ...] = ()
    report: Callable[[list[dict]], dict[str, float]] = last_check
    cpu_only: bool = False

    def __post_init__(self) -> None:
        """UsageError for counts with which nothing can be trained."""
        check_positive_int(examples=self.examples, batch_size=self.batch_size)
        if self.epochs != 0:  # what only measures makes no update
            check_positive_int(epochs=self.epochs)
        if self.clip is not None and not self.clip > 0:
            raise UsageError(
                f"clip is the greatest norm of the gradients, above 0, or None; got {self.clip!r}"
            )

    @property
    def updates_per_epoch(self) -> int:
        """Batches in an epoch, a smaller last one included."""
        return math.ceil(self.examples / self.batch_size)

    @property
    def updates(self) -> int:
        """Updates in the whole training."""
        return self.epochs * self.updates_per_epoch

    def stack_key(self) -> tuple:
        """Runs with equal keys can be trained as one stack: equal shapes, options, schedule, loss and constants.

        A stack runs the first network's code with every network's parameters, so that whatever else a module keeps,
        such as a dropout rate, has to be equal too. What runs on the CPU only shares a stack with nothing.
        """
        if self.cpu_only:
            return (self.key,)
        shapes = tuple((name, tuple(t.shape)) for name, t in self.model.state_dict().items())
        kinds = tuple((type(module).__name__, plain_attributes(module)) for module in self.model.modules())
        shared = tuple(
            (name, str(t.dtype), tuple(t.shape), hashlib.sha256(tensor_bytes(t)).hexdigest())
            for name, t in sorted(self.constants.items())
        )
        loss = getattr(self.loss, "__qualname__", self.loss)
        cells = [cell.cell_contents for cell in getattr(self.loss, "__closure__", None) or ()]
        numbers = tuple(value for value in cells if isinstance(value, int | float | str))
        schedule = self.epochs, self.lr, self.clip, self.checks, self.optimizer, repr(self.schedule)
        return self.examples, self.batch_size, schedule, shapes, kinds, loss, numbers, shared


@dataclass
class Run:
    """What came of a training run."""

    key: str  #: the training run's.
    name: str  #: the training run's.
    finished: bool  #: trained to the end and evaluated (or diverged); False if it was stopped on the way.
    diverged: bool  #: its loss stopped being a number at the last update of its curve.
    metrics: dict[str, float]  #: what `evaluate` measured; empty if unfinished or diverged.
    curve: dict[str, list]  #: {"update", "loss", "score"}: every 10th update, later ones averaged in blocks.
    updates: int  #: updates done.
    seconds: float  #: training and evaluation time; in a stack, this run's share.
    #: the trained network, on the CPU and in evaluation mode, so that it draws no noise; `train`, if it is
    #: given that network again, puts it back into training mode.
    model: nn.Module
    #: what `evaluate` measured on the way and at the end, each with its "epoch".
    checks: list[dict] = field(default_factory=list)
    device: torch.device = CPU  #: where it was trained and measured.
    precision: str = "fp32"  #: in which; see `devices.use_precision`.
    device_name: str = ""  #: what `devices.describe` calls the device, where that is another machine's.
