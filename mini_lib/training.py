"""Train any network, alone or stacked with others: checkpoint, resume, evaluate.

Nothing here knows of papers. A `TrainingRun` goes in, a `Run` comes out. On a CPU networks are trained one after the
other; on a GPU, networks of equal shape are stacked and trained as one program with `torch.func`.
"""

import math
import re
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from mini_lib.cuda_graphs import Recording
from mini_lib.devices import pick_device, use_precision
from mini_lib.errors import CorruptFileError, UsageError, check_positive, check_positive_int, is_int
from mini_lib.files import read_checkpoint, write_atomically
from mini_lib.progress import counted, thin

CPU = torch.device("cpu")
LOG_EVERY = 10  # updates; in between, nothing is read back from a GPU
CHECKPOINT_SECONDS = 60.0
CHECKPOINT = {"plan", "tensors", "optimizer", "update", "seconds", "alive", "curve", "checks"}
OF_ALL = ("step", "mu_product")  # what an optimizer keeps of a parameter that is the same in a whole stack
Batch = dict[str, Any]  # tensors by name; "noise", if there is any, is such a dict itself


def adam(parameters, lr: float) -> torch.optim.Optimizer:
    """Adam (Kingma and Ba 2015), the default; as one kernel where PyTorch has one."""
    parameters = list(parameters)
    fused = all(parameter.device.type in ("cpu", "cuda") for parameter in parameters)
    return torch.optim.Adam(parameters, lr=lr, fused=fused)


def plain(value: Any) -> Any:
    """A number of NumPy, or a tensor without axes, as Python's; all else as it is."""
    return value.item() if isinstance(value, np.generic | Tensor) and value.ndim == 0 else value


def last_check(checks: list[dict]) -> dict[str, float]:
    """The metrics that were measured last."""
    return {name: value for name, value in checks[-1].items() if name != "epoch"}


def check_epochs(checks: object, epochs: int) -> tuple[int, ...]:
    """Epochs after which a run is measured, in order, each once; UsageError unless all are epochs of the run."""
    if not isinstance(checks, tuple | list) or not all(is_int(e) and 1 <= e <= epochs for e in checks):
        raise UsageError(f"checks has to be a tuple of epochs from 1 to {epochs}, got {checks!r}")
    return tuple(sorted(set(map(int, checks))))


@dataclass(kw_only=True)
class TrainingRun:
    """One network and all that its training needs. Each paper's `build` makes one of settings and a seed.

    Attributes:
        key: unique; names settings, seed and checkpoint. Letters, digits and ``_ . , + = -``.
        name: names the run in messages.
        model: the network, freshly initialized.
        epoch: gives epoch e's examples as tensors [N, ...], in the order in which they are used: shuffle them here.
            It is a function of e alone, so that a resumed run sees the same data. It may be called from another
            thread, and so draws from a generator of its own.
        examples, batch_size, epochs, lr: N; B, of which the last batch of an epoch may have fewer; passes over the
            data; learning rate.
        loss: (model, batch) -> (loss, score), both scalars; the score, such as the batch's accuracy in percent, goes
            into the curve. It must draw no random numbers (no `nn.Dropout`; see `noise`), or a resumed run differs;
            nor may its shapes depend on data, since a GPU records one update and replays it.
        evaluate: measures the trained model; returns numbers by name.
        constants: tensors that every batch gets besides its examples, such as the pool of images.
        noise: (update, batch) -> the random tensors of one update by name, each [B, ...], such as dropout masks,
            from a stream that the update's number names; the batch gets them as "noise".
        dedupe_batch: an exact saving with data-dependent shapes, used only where a run is trained alone on a CPU.
        optimizer: makes the optimizer from parameters and `lr`; it has to work element by element.
        schedule: the learning rate of an update, as a factor of `lr`.
        clip: the greatest norm of all gradients together.
        checks: epochs after which `evaluate` measures, besides the last.
        report: makes the run's metrics from all that was measured, each with its "epoch"; by default the last.
        cpu_only: train on the CPU, unstacked, even if another device is requested.
        stack: names what the run shares with others: runs with an equal `stack` differ in parameters, data and
            random numbers alone, and may be trained as one program. Without one a run is always trained alone.
    """

    key: str
    name: str
    model: nn.Module
    epoch: Callable[[int], Batch]
    examples: int
    batch_size: int
    epochs: int
    lr: float
    loss: Callable[[nn.Module, Batch], tuple[Tensor, Tensor]]
    evaluate: Callable[[nn.Module], dict[str, float]]
    constants: Batch = field(default_factory=dict)
    noise: Callable[[int, Batch], Batch] | None = None
    dedupe_batch: Callable[[Batch], Batch] | None = None
    optimizer: Callable[..., torch.optim.Optimizer] = adam
    schedule: Callable[[int], float] | None = None
    clip: float | None = None
    checks: tuple[int, ...] = ()
    report: Callable[[list[dict]], dict[str, float]] = last_check
    cpu_only: bool = False
    stack: Hashable | None = None

    def __post_init__(self) -> None:
        """UsageError for what cannot be trained."""
        if not re.fullmatch(r"[\w.,+=-]{1,200}", str(self.key)) or not str(self.key).strip("."):
            raise UsageError(f"key names a file: up to 200 letters, digits and _ . , + = -; got {self.key!r}")
        for name in ("examples", "batch_size", "epochs", "lr", "clip"):  # a checkpoint holds no NumPy
            setattr(self, name, plain(getattr(self, name)))
        check_positive_int(examples=self.examples, batch_size=self.batch_size)
        if self.epochs != 0:  # a run that only measures makes no update
            check_positive_int(epochs=self.epochs)
        check_positive(lr=self.lr, **({} if self.clip is None else {"clip": self.clip}))
        if not isinstance(self.model, nn.Module):
            raise UsageError(f"model has to be a torch.nn.Module, got {self.model!r}")
        for each in fields(self):
            value = getattr(self, each.name)
            if "Callable" in str(each.type) and not callable(value) and value is not each.default:
                raise UsageError(f"{each.name} has to be a function, got a {type(value).__name__}")
        self.checks = check_epochs(self.checks, self.epochs)

    @property
    def updates_per_epoch(self) -> int:
        """Batches in an epoch, a smaller last one included."""
        return math.ceil(self.examples / self.batch_size)

    @property
    def updates(self) -> int:
        """Updates in the whole training."""
        return self.epochs * self.updates_per_epoch

    def plan(self) -> dict:
        """What a checkpoint has to agree with, so that no training goes on under other settings."""
        names = ("key", "examples", "batch_size", "epochs", "lr", "clip", "checks")
        shapes = {name: tuple(value.shape) for name, value in self.model.state_dict().items()}
        optimizer = getattr(self.optimizer, "func", self.optimizer)
        options = repr([getattr(self.optimizer, name, ()) for name in ("args", "keywords")])
        own = {"network": shapes, "optimizer": getattr(optimizer, "__qualname__", "") + options}
        return {name: getattr(self, name) for name in names} | own

    def stack_key(self) -> tuple:
        """Runs with equal keys can be trained as one stack; a run without `stack` has a key of its own."""
        if self.cpu_only or self.stack is None:
            return (self.key,)
        code = tuple(map(_code, (self.loss, self.noise, self.schedule)))
        return self.stack, code, repr({**self.plan(), "key": ""})


def _code(function: object) -> object:
    """What a function computes, but for the values that it closes over: equal for the same line of code."""
    function = getattr(function, "func", function)  # of a partial
    return getattr(function, "__code__", function if isinstance(function, type) else type(function))


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
    model: nn.Module  #: the trained network, on the CPU and in evaluation mode.
    checks: list[dict] = field(default_factory=list)  #: what `evaluate` measured, each time with its "epoch".
    device: torch.device = CPU  #: where it was trained and measured.
    precision: str = "fp32"  #: in which; see `devices.use_precision`.
    device_name: str = ""  #: what `devices.describe` calls the device, where that is another machine's.


def train(
    runs: Sequence[TrainingRun],
    *,
    device: torch.device | str = "cpu",
    stacked: bool | None = None,
    checkpoints: Path | str | None = None,
    keep_finished: bool = False,
    stop: Callable[[int], bool] = lambda update: False,
    progress: bool | Callable[[int], None] = False,
    precision: str = "fp32",
) -> list[Run]:
    """Train networks to the end, or until `stop` says so.

    A network of one's own, on data of one's own, is a `TrainingRun`; `book/api/core.md` has an example.

    >>> from mini_lib.esbn import build, paper_settings
    >>> settings = paper_settings("same_different", 98, "esbn", epochs=1, test_size=100)
    >>> runs = train([build(settings, seed) for seed in (1, 2)])
    >>> [run.finished for run in runs]
    [True, True]

    Args:
        runs: one or more, each with a fresh network.
        device: where to train; a run that is `cpu_only` is trained on the CPU, and alone, all the same. On a GPU an
            update is recorded once and replayed; see `TrainingRun.loss`.
        stacked: train runs that differ in their seeds alone as one program, which is faster on a GPU and the default
            there; or all in turn.
        checkpoints: a folder. Every minute, on stopping or Ctrl-C, and before its test each run leaves `<key>.pt`
            there, and resumes from it, alone or in any stack; those that stopped at different updates form stacks of
            their own. It is gone once all of these runs have ended.
        keep_finished: leave the checkpoints of finished runs for the caller to delete, once their results are safe.
        stop: asked after every update, with the number of updates done; True stops and checkpoints.
        progress: True for a bar over updates, or a function that gets the number of updates made since its last
            call. Updates made before a resume are not counted.
        precision: "fp32", or on a GPU also "tf32", which is faster and rounds more.

    Returns:
        A `Run` for each, in order. One whose loss is not finite is stopped, the others go on.
    """
    if not isinstance(runs, Sequence) or not all(isinstance(run, TrainingRun) for run in runs):
        raise UsageError("train takes a list of TrainingRun, such as [run]")
    runs, device = list(runs), pick_device(str(device))
    checkpoints = None if checkpoints is None else Path(checkpoints)
    stacked = device.type == "cuda" if stacked is None else stacked
    if len({run.key for run in runs}) < len(runs):
        raise UsageError("two of these runs have the same key; a key names one run and its checkpoint")
    if len({id(run.model) for run in runs}) < len(runs):
        raise UsageError("two of these runs have the same network; build each run anew")
    states = {run.key: _checkpoint(run, checkpoints) for run in runs}
    groups = defaultdict(list)
    for run in runs:
        state = states[run.key]
        if state is None and getattr(run, "begun", False):
            raise UsageError(f"the network of {run.name} has been trained before; build the run again")
        groups[(state["update"] if state else 0, run.stack_key() if stacked else run.key)].append(run)
    results = {}
    with use_precision(precision, device), _interrupt_after_update() as interrupted:
        for group in groups.values():
            stack = TrainingStack(group, device, stacked=len(group) > 1)
            if states[group[0].key]:
                stack.load([states[run.key] for run in group])
            label = group[0].name if len(group) == 1 else f"{len(group)} networks"
            with counted(label, group[0].updates, progress, begun=stack.update) as report:
                done = stack.run(checkpoints, lambda update: bool(interrupted) or stop(update), report)
            if interrupted:
                raise KeyboardInterrupt
            results |= {result.key: result for result in done}
    for result in results.values():
        if checkpoints is not None and result.finished and not keep_finished:
            (checkpoints / f"{result.key}.pt").unlink(missing_ok=True)
        result.precision = precision if result.device == device else "fp32"
    return [results[run.key] for run in runs]


@contextmanager
def _interrupt_after_update() -> Iterator[list]:
    """A list that fills at Ctrl-C, so that a training can end its update; a second one interrupts at once."""
    interrupts: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupts
        return

    def on_interrupt(number: int, frame: object) -> None:
        if interrupts:
            raise KeyboardInterrupt
        interrupts.append(number)

    signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _checkpoint(run: TrainingRun, folder: Path | None) -> dict | None:
    """What the run left in the folder, or None; CorruptFileError if it is another run's."""
    path = folder / f"{run.key}.pt" if folder is not None else None
    if path is None or not path.exists():
        return None
    state = read_checkpoint(path)
    plan, other = run.plan(), state.get("plan")
    if not isinstance(other, dict) or state.keys() != CHECKPOINT:
        raise CorruptFileError(f"checkpoint {path} is not of {run.name}; delete it, and the run starts again")
    if changed := ", ".join(name for name, value in plan.items() if other.get(name) != value):
        raise CorruptFileError(
            f"checkpoint {path} is of a run with another {changed}; delete it, or give this run another key"
        )
    return state


def load_epoch(runs: Sequence[tuple[Callable[[int], Batch], int, str]], epoch: int, stacked: bool) -> Batch:
    """The examples of one epoch of every run, on the CPU; UsageError unless each run has its N of everything.

    The prefetch thread holds only functions of the runs, so the memory of a stack that failed can be freed.
    """
    batches = []
    for draw, examples, name in runs:
        batches.append(batch := draw(epoch))
        for key, value in batch.items():
            if not isinstance(value, Tensor):
                raise UsageError(f"epoch of {name} gives {key!r} as {type(value).__name__}, not as a tensor")
            if value.dim() == 0 or len(value) != examples:
                raise UsageError(
                    f"epoch {epoch} of {name} gives {key!r} of shape {list(value.shape)}; the run has {examples} "
                    f"examples, so its first axis has to be {examples}"
                )
    return stack_batches(batches, stacked)


def stack_batches(parts: list[Batch], stacked: bool) -> Batch:
    """One dict of tensors [R, ...] for a stack of R; alone, the only one."""
    if not stacked:
        return parts[0]
    return {name: torch.stack([part[name] for part in parts]) for name in parts[0]}


class _Loss(nn.Module):
    """A loss together with its network, as `functional_call` needs it."""

    def __init__(self, network: nn.Module, loss: Callable):
        super().__init__()
        self.network, self.loss = network, loss

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        return self.loss(self.network, batch)


class TrainingStack:
    """One or more runs as a single set of parameters with a single optimizer.

    `train` is the way to train; `batch` and `step` are there for timing and for watching single updates. On a GPU an
    update is recorded and replayed (`cuda_graphs`), unless `record` is False.
    """

    def __init__(self, runs: list[TrainingRun], device: torch.device, stacked: bool, record: bool = True):
        self.runs, self.stacked = runs, stacked
        self.first = runs[0]
        for run in runs:
            run.model.train()  # one that was trained before is in evaluation mode
        self.device = device = CPU if self.first.cpu_only else device
        self.constants = {name: value.to(device) for name, value in self.first.constants.items()}
        self.draws = [(run.epoch, run.examples, run.name) for run in runs]
        self.epoch, self.data = -1, {}
        # While a GPU computes, another thread draws the next epoch:
        self.prefetched = {}
        self.prefetcher = ThreadPoolExecutor(1) if device.type == "cuda" else None
        self.update, self.seconds = 0, 0.0
        self.alive = [True] * len(runs)
        self.curves = [[] for _ in runs]
        self.checks = [[] for _ in runs]
        if stacked:
            params, buffers = stack_module_state([run.model for run in runs])
            learned = {name: value.requires_grad for name, value in params.items()}
            self.params = {k: v.detach().to(device).requires_grad_(learned[k]) for k, v in params.items()}
            self.buffers = {k: v.to(device) for k, v in buffers.items()}
        else:
            self.params = dict(self.first.model.to(device).named_parameters())
            self.buffers = dict(self.first.model.named_buffers())
        self.optimizer = self.first.optimizer(self.params.values(), lr=self.first.lr)
        self.recording = None
        if record and device.type == "cuda":
            learned = [value for value in self.params.values() if value.requires_grad]
            self.recording = Recording(learned, device)

    def run(
        self, folder: Path | None, stop: Callable[[int], bool], report: Callable[[int], None]
    ) -> list[Run]:
        """Train to the end or until `stop` says so; `report` gets the number of updates done in all."""
        total, per_epoch = self.first.updates, self.first.updates_per_epoch
        saved, halted = time.perf_counter(), False
        started = saved - self.seconds
        try:
            while self.update < total and any(self.alive) and not halted:
                batch = self.batch(self.update)
                for run in self.runs:
                    run.begun = True
                losses, scores = self.step(batch)
                self.update += 1
                epoch, place = divmod(self.update, per_epoch)
                if place == 0 and self.update < total and epoch in self.first.checks:
                    self.measure(epoch)
                if (self.update - 1) % LOG_EVERY == 0 or self.update == total:
                    self.log(losses, scores)
                    report(self.update)
                self.seconds = time.perf_counter() - started
                halted = stop(self.update)
                if folder is not None and (halted or time.perf_counter() - saved > CHECKPOINT_SECONDS):
                    self.save(folder)
                    saved = time.perf_counter()
            if halted:
                report(self.update)
            else:
                if folder is not None:
                    with suppress(OSError):  # on a full disk the results may still get through
                        self.save(folder)  # whatever becomes of them on their way to a record
                self.measure(self.first.epochs)
                self.seconds = time.perf_counter() - started
            return [self.result(i, finished=not halted) for i in range(len(self.runs))]
        finally:
            if self.prefetcher is not None:  # nobody waits for an epoch that nobody needs
                self.prefetcher.shutdown(wait=False, cancel_futures=True)
                self.prefetcher, self.prefetched = None, {}

    def batch(self, update: int) -> Batch:
        """The examples of one update: [B, ...], or [R, B, ...] for a stack."""
        epoch, place = divmod(update, self.first.updates_per_epoch)
        if epoch != self.epoch:
            waiting = self.prefetched.pop(epoch, None)
            drawn = waiting.result() if waiting else load_epoch(self.draws, epoch, self.stacked)
            self.data = {name: self.move(value) for name, value in drawn.items()}
            self.epoch = epoch
            if self.prefetcher and epoch + 1 < self.first.epochs:
                drawing = self.prefetcher.submit(load_epoch, self.draws, epoch + 1, self.stacked)
                self.prefetched = {epoch + 1: drawing}
        span = slice(place * self.first.batch_size, (place + 1) * self.first.batch_size)
        batch = {k: v[:, span] if self.stacked else v[span] for k, v in self.data.items()}
        return batch | self.noise(update, batch)

    def move(self, value: Tensor) -> Tensor:
        """To the device; to a GPU from pinned memory, so that nobody waits for the copy."""
        if self.device.type == "cuda" and value.device.type == "cpu":
            return value.pin_memory().to(self.device, non_blocking=True)
        return value.to(self.device)

    def noise(self, update: int, batch: Batch) -> Batch:
        """The random tensors of one update, stacked as the examples are."""
        if self.first.noise is None:
            return {}
        own = [{k: v[i] for k, v in batch.items()} if self.stacked else batch for i in range(len(self.runs))]
        drawn = [run.noise(update, part) for run, part in zip(self.runs, own, strict=True)]
        noise = stack_batches(drawn, self.stacked)
        return {"noise": {name: self.move(value) for name, value in noise.items()}}

    def step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """One update of all runs; their losses and scores, each [R]."""
        losses, scores = self.gradients(batch)
        self.optimizer_step()
        return losses, scores

    def optimizer_step(self) -> None:
        """Change the parameters by their gradients, at the learning rate of this update."""
        if self.first.schedule is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = self.first.lr * self.first.schedule(self.update)
        self.optimizer.step()

    def gradients(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Losses and scores of all runs, each [R]; the parameters' gradients, clipped, are set to the batch's."""
        if self.recording is not None:
            return self.recording(self.compute, batch)
        self.optimizer.zero_grad(set_to_none=True)
        return self.compute(batch)

    def compute(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss, backward pass and clipping, where parameters have no gradients; what a GPU records."""
        losses, scores = self.losses(batch)
        losses.sum().backward()
        if self.first.clip is not None:
            self.clip(self.first.clip)
        return losses.detach(), scores.detach()

    def clip(self, norm: float) -> None:
        """Scale each run's gradients so that their common norm is `norm` at most."""
        grads = [p.grad if self.stacked else p.grad[None] for p in self.params.values() if p.grad is not None]
        total = sum(grad.reshape(len(grad), -1).square().sum(dim=1) for grad in grads).sqrt()
        factor = (norm / (total + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor.view(-1, *[1] * (grad.dim() - 1)))

    def measure(self, epoch: int) -> None:
        """Evaluate every network whose loss is still finite."""
        for i, run in enumerate(self.runs):
            if self.alive[i]:
                with torch.no_grad():
                    metrics = run.evaluate(self.model(i).to(self.device).eval())
                numbers = isinstance(metrics, dict) and {k: plain(value) for k, value in metrics.items()}
                if numbers is False or not all(isinstance(each, Real) for each in numbers.values()):
                    raise UsageError(f"evaluate of {run.name} has to return numbers by name, got {metrics!r}")
                run.model.train()
                self.checks[i].append({"epoch": epoch} | numbers)

    def model(self, i: int) -> nn.Module:
        """Run i's network with its present weights."""
        model = self.runs[i].model
        if self.stacked:
            stack = self.params | self.buffers
            model.load_state_dict({name: stack[name][i] for name in model.state_dict()})
        return model

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Losses and scores of all runs, each [R]."""
        if self.stacked:
            try:
                return torch.vmap(self._loss_with)(self.params | self.buffers, batch)
            except RuntimeError as error:
                error.add_note(
                    "This network cannot be stacked: leave out `stack`, or train with stacked=False."
                )
                raise
        whole = batch | self.constants
        if self.first.dedupe_batch is not None and self.device.type == "cpu":
            whole = self.first.dedupe_batch(whole)
        loss, score = self.loss(self.first.model, whole)
        return loss[None], score[None]

    def _loss_with(self, state: dict[str, Tensor], batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss and score of a network with these parameters and buffers."""
        network = _Loss(self.first.model, self.loss)
        own = {f"network.{name}": value for name, value in state.items()}
        return functional_call(network, own, (batch | self.constants,))

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss and score of one network; UsageError unless the loss returns two scalars."""
        both = self.first.loss(model, batch)
        if not isinstance(both, tuple) or [getattr(x, "shape", None) for x in both] != [(), ()]:
            name = self.first.name
            raise UsageError(f"loss of {name} has to return (loss, score), two tensors without axes")
        return both

    def log(self, losses: Tensor, scores: Tensor) -> None:
        """Add a point to every curve; a run whose loss is not finite is out."""
        for i, (loss, score) in enumerate(zip(losses.tolist(), scores.tolist(), strict=True)):
            if self.alive[i]:
                self.curves[i].append((self.update, loss, score))
                self.alive[i] = math.isfinite(loss)

    def result(self, i: int, finished: bool) -> Run:
        """What came of run i."""
        run, alive = self.runs[i], self.alive[i]
        return Run(
            key=run.key,
            name=run.name,
            finished=finished,
            diverged=not alive,
            metrics=run.report(self.checks[i]) if finished and alive else {},
            curve=thin(self.curves[i]),
            updates=self.update if alive else self.curves[i][-1][0],
            seconds=self.seconds / len(self.runs),
            model=self.model(i).to("cpu").eval(),
            checks=self.checks[i],
            device=self.device,
        )

    def save(self, folder: Path) -> None:
        """Write a checkpoint for each run; what a GPU holds is copied once for all of them."""
        tensors = {name: value.detach().cpu() for name, value in (self.params | self.buffers).items()}
        remembered = {}
        for name, value in self.params.items():
            kept = {k: v for k, v in self.optimizer.state.get(value, {}).items() if isinstance(v, Tensor)}
            remembered |= {(name, k): v.cpu() for k, v in kept.items()}
        for i, run in enumerate(self.runs):
            # Of a stack a copy of the run's own part, since a file would hold the whole stack.
            own, memory = (
                {k: v[i].clone() if self.stacked and k[-1] not in OF_ALL else v for k, v in part.items()}
                for part in (tensors, remembered)
            )
            state = {
                "plan": run.plan(),
                "tensors": own,
                "optimizer": memory,
                "update": self.update,
                "seconds": self.seconds / len(self.runs),
                "alive": self.alive[i],
                "curve": self.curves[i],
                "checks": self.checks[i],
            }
            write_atomically(folder / f"{run.key}.pt", partial(torch.save, state))

    def load(self, states: list[dict]) -> None:
        """Go on from the runs' checkpoints, all of the same update."""
        own = self.params | self.buffers
        for name, value in stack_batches([state["tensors"] for state in states], self.stacked).items():
            with torch.no_grad():
                own[name].copy_(value)
        for name, kind in states[0]["optimizer"]:
            parts = [state["optimizer"][name, kind] for state in states]
            value = torch.stack(parts) if self.stacked and kind not in OF_ALL else parts[0].clone()
            self.optimizer.state[self.params[name]][kind] = value.to(self.device)
        self.update, self.seconds = states[0]["update"], sum(state["seconds"] for state in states)
        self.alive = [state["alive"] for state in states]
        self.curves = [list(map(tuple, state["curve"])) for state in states]
        self.checks = [list(state["checks"]) for state in states]
