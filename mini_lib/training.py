"""One harness for every network: train it alone or stacked with others, checkpoint, resume, evaluate.

The harness knows nothing of papers. A wing hands it replicas; it returns a `Run` for each. On a CPU replicas are
trained one after the other (spread over cores by `launch.py`); on a GPU, replicas of equal shape are stacked and
trained as one program with `torch.func`.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state
from tqdm.auto import tqdm

from mini_lib.storage import read_checkpoint, write_atomically

LOG_EVERY = 10
CHECKPOINT_SECONDS = 60.0
CURVE_HEAD = 100  # logged points kept one by one; later ones are averaged in blocks
CURVE_TAIL = 100

Batch = dict[str, Tensor]


@dataclass
class Replica:
    """One network and all that its training needs, made by a wing from settings and a seed.

    Attributes:
        name: names the run in messages and checkpoints; unique.
        model: the network, freshly initialised.
        epoch: gives epoch e's examples, shuffled, as tensors [N, ...]; a function of e alone, so that a resumed
            run sees the same data.
        examples: N.
        batch_size: B; the last batch of an epoch may be smaller.
        epochs: passes over the data.
        lr: learning rate of Adam.
        loss: (apply, batch) -> (loss, score), both scalars; `apply` is called like the model. The score, such as
            the batch's accuracy in percent, goes into the learning curve. It must not depend on data for its
            shapes, nor draw random numbers: noise comes with the batch.
        evaluate: measures the trained model; returns metrics by name.
        constants: tensors that every batch gets besides its examples (such as the pool of images).
        compact: an exact saving with data-dependent shapes, used only where replicas are trained alone on a CPU.
    """

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
    compact: Callable[[Batch], Batch] | None = None

    @property
    def updates_per_epoch(self) -> int:
        """Batches in an epoch, a smaller last one included."""
        return math.ceil(self.examples / self.batch_size)

    @property
    def updates(self) -> int:
        """Updates in the whole training."""
        return self.epochs * self.updates_per_epoch

    def stack_key(self) -> tuple:
        """Replicas with equal keys can be trained as one stack."""
        shapes = tuple((name, tuple(t.shape)) for name, t in self.model.state_dict().items())
        kinds = tuple(type(module).__name__ for module in self.model.modules())
        return self.examples, self.batch_size, self.epochs, self.lr, shapes, kinds


@dataclass
class Run:
    """What came of a replica.

    Attributes:
        name: the replica's.
        finished: trained to the end and evaluated (or diverged); False if it was stopped on the way.
        diverged: its loss stopped being a number at the last update of its curve.
        metrics: what `evaluate` measured; empty if unfinished or diverged.
        curve: {"update", "loss", "score"}: every 10th update, later ones averaged in blocks.
        updates: updates done.
        seconds: training and evaluation time; in a stack, this replica's share.
        model: the trained network, on the CPU.
    """

    name: str
    finished: bool
    diverged: bool
    metrics: dict[str, float]
    curve: dict[str, list]
    updates: int
    seconds: float
    model: nn.Module


def pick_device(name: str = "auto") -> torch.device:
    """The device of that name ("auto" takes a GPU if there is one); ValueError if it is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"unknown device {name!r}; use auto, cpu or cuda") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(
            f"device {name!r} is not there: PyTorch sees {torch.cuda.device_count()} GPUs; use cpu or auto"
        )
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"device {name!r} is not supported; use auto, cpu or cuda")
    return device


def set_precision(precision: str = "fp32") -> None:
    """Choose "fp32" (full precision everywhere, the default) or "tf32" (faster matrix products on a GPU)."""
    if precision not in ("fp32", "tf32"):
        raise ValueError(f"unknown precision {precision!r}; use fp32 or tf32")
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


def train(
    replicas: Sequence[Replica],
    *,
    device: torch.device | str = "cpu",
    stacked: bool | None = None,
    checkpoint: Path | None = None,
    stop: Callable[[int], bool] = lambda update: False,
    progress: bool | Callable[[int], None] = False,
) -> list[Run]:
    """Train replicas of equal shape to the end, or until `stop` says so.

    Args:
        replicas: with equal `stack_key`.
        device: where to train.
        stacked: as one program, or in turn; by default stacked on a GPU.
        checkpoint: a file to write every minute and on stopping, and to resume from if it exists. In turn, each
            replica adds its place to the file's name.
        stop: asked after every logged update, with the number of updates done; True stops and checkpoints.
        progress: True for a bar over updates, or a function that is told of updates done since it was last told.

    Returns:
        A `Run` for each replica, in order. A replica whose loss is not finite is stopped, the others go on.

    Raises:
        ValueError: if the replicas cannot be stacked, or the checkpoint belongs to other replicas.
    """
    replicas, device = list(replicas), torch.device(device)
    if stacked is None:
        stacked = device.type == "cuda"
    groups = [replicas] if stacked else [[replica] for replica in replicas]
    if len({replica.stack_key() for replica in replicas}) > 1 and stacked:
        raise ValueError(
            "these replicas differ in shape or schedule and cannot be stacked; train them in turn"
        )
    runs = []
    for place, group in enumerate(groups):
        path = (
            checkpoint if len(groups) == 1 or checkpoint is None else checkpoint.with_suffix(f".{place}.pt")
        )
        with _Progress(group, progress) as tell:
            runs += Trainee(group, device, stacked).run(path, stop, tell)
    return runs


class Trainee:
    """One or more replicas as a single set of parameters with a single optimiser.

    `train` is the way to train; `batch` and `step` are there for timing and for watching single updates.
    """

    def __init__(self, replicas: list[Replica], device: torch.device, stacked: bool):
        self.replicas, self.device, self.stacked = replicas, device, stacked
        self.first = replicas[0]
        self.constants = {name: value.to(device) for name, value in self.first.constants.items()}
        self.epoch, self.data = -1, {}
        self.update, self.seconds = 0, 0.0
        self.alive = [True] * len(replicas)
        self.curves = [[] for _ in replicas]
        if stacked:
            self.base = self.first.model
            self.params, self.buffers = stack_module_state([r.model for r in replicas])
            self.params = {k: v.detach().to(device).requires_grad_() for k, v in self.params.items()}
            self.buffers = {k: v.to(device) for k, v in self.buffers.items()}
        else:
            self.base = self.first.model.to(device)
            self.params = dict(self.base.named_parameters())
        self.optimiser = torch.optim.Adam(self.params.values(), lr=self.first.lr, fused=True)

    def run(self, path: Path | None, stop, tell) -> list[Run]:
        """Train to the end or until told to stop, from the checkpoint if there is one."""
        if path is not None and path.exists():
            self.load(path)
        started, saved, total = time.perf_counter(), time.perf_counter(), self.first.updates
        before, halted = self.seconds, False
        tell(self.update)
        while self.update < total and any(self.alive) and not halted:
            losses, scores = self.step(self.batch(self.update))
            self.update += 1
            if (self.update - 1) % LOG_EVERY == 0 or self.update == total:
                self.log(losses, scores)
                self.seconds = before + time.perf_counter() - started
                tell(self.update)
                halted = stop(self.update)
                if path is not None and (halted or time.perf_counter() - saved > CHECKPOINT_SECONDS):
                    self.save(path)
                    saved = time.perf_counter()
        if halted:
            return [self.result(i, finished=False) for i in range(len(self.replicas))]
        runs = [self.result(i, finished=True) for i in range(len(self.replicas))]
        share = (before + time.perf_counter() - started) / len(runs)
        for run in runs:
            run.seconds = share
        return runs

    def batch(self, update: int) -> Batch:
        """The examples of one update: [B, ...], or [R, B, ...] for a stack."""
        epoch, place = divmod(update, self.first.updates_per_epoch)
        if epoch != self.epoch:
            parts = [replica.epoch(epoch) for replica in self.replicas]
            self.data = {
                k: torch.stack([p[k] for p in parts]) if self.stacked else parts[0][k] for k in parts[0]
            }
            self.data = {k: v.to(self.device) for k, v in self.data.items()}
            self.epoch = epoch
        span = slice(place * self.first.batch_size, (place + 1) * self.first.batch_size)
        return {k: v[:, span] if self.stacked else v[span] for k, v in self.data.items()}

    def step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """One update of all replicas; their losses and scores, each [R]."""
        self.optimiser.zero_grad(set_to_none=True)
        losses, scores = self.losses(batch)
        losses.sum().backward()
        self.optimiser.step()
        return losses.detach(), scores.detach()

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Losses and scores of all replicas, each [R]."""
        loss = self.first.loss
        if not self.stacked:
            whole = batch | self.constants
            if self.first.compact is not None and self.device.type == "cpu":
                whole = self.first.compact(whole)
            one, score = loss(self.base, whole)
            return one[None], score[None]

        def alone(params, buffers, examples):
            return loss(
                lambda *a, **k: functional_call(self.base, (params, buffers), a, k), examples | self.constants
            )

        return torch.vmap(alone)(self.params, self.buffers, batch)

    def log(self, losses: Tensor, scores: Tensor) -> None:
        """Add a point to every curve; a replica whose loss is not finite is out."""
        for i, (loss, score) in enumerate(zip(losses.tolist(), scores.tolist(), strict=True)):
            if self.alive[i]:
                self.curves[i].append((self.update, loss, score))
                self.alive[i] = math.isfinite(loss)

    def result(self, i: int, finished: bool) -> Run:
        """What came of replica i, tested if it has finished."""
        replica, model = self.replicas[i], self.replicas[i].model
        if self.stacked:
            stack = self.params | self.buffers
            model.load_state_dict({name: stack[name][i] for name in model.state_dict()})
        metrics = {}
        if finished and self.alive[i]:
            with torch.no_grad():
                metrics = replica.evaluate(model.to(self.device).eval())
        model.to("cpu").train()
        curve = thin(self.curves[i])
        updates = self.update if self.alive[i] else self.curves[i][-1][0]
        return Run(replica.name, finished, not self.alive[i], metrics, curve, updates, self.seconds, model)

    def save(self, path: Path) -> None:
        """Write a checkpoint."""
        state = {
            "names": [replica.name for replica in self.replicas],
            "params": {k: v.detach() for k, v in self.params.items()},
            "optimiser": self.optimiser.state_dict(),
            "update": self.update,
            "seconds": self.seconds,
            "alive": self.alive,
            "curves": self.curves,
        }
        write_atomically(path, lambda temporary: torch.save(state, temporary))

    def load(self, path: Path) -> None:
        """Go on from a checkpoint; ValueError if it is of other replicas."""
        state = read_checkpoint(path)
        names = [replica.name for replica in self.replicas]
        if state["names"] != names:
            raise ValueError(
                f"checkpoint {path} is of {state['names']}, not of {names}; delete it or name another file"
            )
        with torch.no_grad():
            for name, value in self.params.items():
                value.copy_(state["params"][name])
        self.optimiser.load_state_dict(state["optimiser"])
        self.update, self.seconds = state["update"], state["seconds"]
        self.alive, self.curves = state["alive"], state["curves"]


class _Progress:
    """A tqdm bar over updates, or the caller's own function told of the updates since the last call."""

    def __init__(self, group: list[Replica], progress: bool | Callable[[int], None]):
        self.done = 0
        self.progress = progress
        self.bar = None
        if progress is True:
            label = group[0].name if len(group) == 1 else f"{len(group)} networks"
            self.bar = tqdm(total=group[0].updates, desc=label, unit="update", leave=False)

    def __enter__(self) -> Callable[[int], None]:
        return self.tell

    def tell(self, update: int) -> None:
        new, self.done = update - self.done, update
        if self.bar is not None:
            self.bar.update(new)
        elif callable(self.progress):
            self.progress(new)

    def __exit__(self, *exc) -> None:
        if self.bar is not None:
            self.bar.close()


def thin(points: Sequence[tuple[int, float, float]]) -> dict[str, list]:
    """A learning curve of 200 points or so: the first 100 as they are, later ones averaged in equal blocks."""
    head, tail = points[:CURVE_HEAD], points[CURVE_HEAD:]
    block = max(1, math.ceil(len(tail) / CURVE_TAIL))
    blocks = [tail[i : i + block] for i in range(0, len(tail), block)]
    means = [tuple(sum(column) / len(part) for column in zip(*part, strict=True)) for part in blocks]
    updates, losses, scores = zip(*head, *means, strict=True) if points else ((), (), ())
    return {
        "update": [round(u) for u in updates],
        "loss": [float(f"{x:.5g}") for x in losses],
        "score": [float(f"{x:.5g}") for x in scores],
    }
