"""Train any network, alone or stacked with others: checkpoint, resume, evaluate.

Nothing here knows of papers. A `TrainingRun` goes in, a `Run` comes out. On a CPU networks are trained one after the
other; on a GPU, networks of equal shape are stacked and trained as one program with `torch.func`.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from mini_lib.cuda_graphs import Recording
from mini_lib.devices import pick_device, use_precision
from mini_lib.errors import CorruptFileError, UsageError
from mini_lib.progress import counted, thin
from mini_lib.storage import read_checkpoint, write_atomically
from mini_lib.training_run import CPU, Batch, Run, TrainingRun, adam

LOG_EVERY = 10  # updates; in between, nothing is read back from a GPU
CHECKPOINT_SECONDS = 60.0
# What a checkpoint keeps:
KEPT = {"key": str, "params": dict, "optimizer": dict, "update": int, "seconds": float}
KEPT |= {"alive": bool, "curve": list, "checks": list}

__all__ = ["Batch", "Run", "TrainingRun", "TrainingStack", "adam", "train"]


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

    A network of one's own, on data of one's own:

    >>> import torch
    >>> from mini_lib import TrainingRun, train
    >>> from mini_lib.seeding import seeded, torch_rng
    >>> def examples(epoch):  # 32 pairs of numbers and their sums, others in every epoch
    ...     x = torch.rand(32, 2, generator=torch_rng(1, "examples", epoch))
    ...     return {"x": x, "y": x.sum(dim=1, keepdim=True)}
    >>> def loss(model, batch):
    ...     error = (model(batch["x"]) - batch["y"]).square().mean()
    ...     return error, error.sqrt()  # what is minimised, and a score for the learning curve
    >>> def evaluate(model):
    ...     return {"error": (model(torch.ones(1, 2)) - 2).abs().item()}
    >>> with seeded(1, "weights"):
    ...     model = torch.nn.Linear(2, 1)
    >>> sums = TrainingRun("sums", "sums", model, examples, 32, 8, 50, 0.1, loss, evaluate)
    >>> [run] = train([sums])
    >>> run.updates, run.metrics["error"] < 0.05
    (200, True)

    Args:
        runs: one or more; to be stacked they need equal `stack_key`.
        device: where to train; a run that is `cpu_only` is trained on the CPU, and alone, all the same. On a GPU an
            update is recorded once and replayed; see `TrainingRun.loss`.
        stacked: as one program, or in turn; by default stacked on a GPU.
        checkpoints: a folder. Every minute, on stopping and before its test each run leaves `<key>.pt` there, and
            resumes from it, alone or in any stack; those that stopped at different updates form stacks of their own.
            It is gone once all of these runs have ended.
        keep_finished: leave the checkpoints of finished runs for the caller to delete, once their results are safe.
        stop: asked after every update, with the number of updates done; True stops and checkpoints.
        progress: True for a bar over updates, or a function that is told how many were made since it was
            last told. Those that a resumed training has behind it are not told, nor do they count for a bar's speed.
        precision: see `devices.use_precision`.

    Returns:
        A `Run` for each, in order. One whose loss is not finite is stopped, the others go on.
    """
    if not isinstance(runs, Sequence) or not all(isinstance(run, TrainingRun) for run in runs):
        raise UsageError("train takes a list of TrainingRun, as the `build` of a paper's `runs` makes them")
    runs, device = list(runs), pick_device(str(device))
    checkpoints = None if checkpoints is None else Path(checkpoints)
    stacked = device.type == "cuda" if stacked is None else stacked
    if len({run.key for run in runs}) < len(runs):
        raise UsageError(
            "two of these runs have the same key; a key names one run of one seed, and its checkpoint"
        )
    together = {run.key for run in runs if stacked and not run.cpu_only}
    if len({run.stack_key() for run in runs if run.key in together}) > 1:
        raise ValueError(
            "these runs differ in shape, schedule, loss or constants and cannot be stacked; train them in turn"
        )
    states = {run.key: _checkpoint(run, checkpoints) for run in runs}
    groups = defaultdict(list)
    for run in runs:
        state = states[run.key]
        update = state["update"] if state else 0
        groups[update if run.key in together else run.key].append(run)
    results = {}
    with use_precision(precision, device):
        for group in groups.values():
            stack = TrainingStack(group, device, stacked=group[0].key in together)
            if states[group[0].key]:
                stack.load([states[run.key] for run in group])
            label = group[0].name if len(group) == 1 else f"{len(group)} networks"
            with counted(label, group[0].updates, progress, begun=stack.update) as report:
                results |= {result.key: result for result in stack.run(checkpoints, stop, report)}
    for result in results.values():
        if checkpoints is not None and result.finished and not keep_finished:
            (checkpoints / f"{result.key}.pt").unlink(missing_ok=True)
        result.precision = precision if result.device == device else "fp32"
    return [results[run.key] for run in runs]


def _checkpoint(run: TrainingRun, folder: Path | None) -> dict | None:
    """What the run left in the folder, or None."""
    path = folder / f"{run.key}.pt" if folder is not None else None
    if path is None or not path.exists():
        return None
    state = read_checkpoint(path)
    if not _fits(state, run):
        raise CorruptFileError(f"checkpoint {path} is not of {run.name}; delete it, and the run starts again")
    return state


def _fits(state: dict, run: TrainingRun) -> bool:
    """Whether a checkpoint is the run's, has its network's tensors, and an update that its curve reaches."""
    if any(type(state.get(name)) is not kind for name, kind in KEPT.items()) or state["key"] != run.key:
        return False
    shapes = {name: value.shape for name, value in run.model.named_parameters()}
    last = state["curve"][-1][0] if state["curve"] else 0
    return (
        shapes == {name: getattr(value, "shape", None) for name, value in state["params"].items()}
        and shapes.keys() == state["optimizer"].keys()
        and last <= state["update"] <= run.updates
        and (not state["alive"] or state["update"] - last < LOG_EVERY)
    )


def draw(epochs: Sequence[Callable[[int], Batch]], epoch: int, stacked: bool) -> Batch:
    """The examples of one epoch, on the CPU, of `TrainingRun.epoch` of every run.

    A thread that draws holds no more than these functions: the memory of a stack that failed is free meanwhile.
    """
    return join([examples(epoch) for examples in epochs], stacked)


def join(parts: list[Batch], stacked: bool) -> Batch:
    """One dict of tensors [R, ...] for a stack of R; alone, the only one."""
    if not stacked:
        return parts[0]
    return {name: torch.stack([part[name] for part in parts]) for name in parts[0]}


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
        self.epochs = [run.epoch for run in runs]
        self.epoch, self.data = -1, {}
        # While a GPU computes, another thread draws the next epoch:
        self.ahead = {}
        self.drawer = ThreadPoolExecutor(1) if device.type == "cuda" else None
        self.update, self.seconds = 0, 0.0
        self.alive = [True] * len(runs)
        self.curves = [[] for _ in runs]
        self.checks = [[] for _ in runs]
        if stacked:
            self.base = self.first.model
            self.params, self.buffers = stack_module_state([run.model for run in runs])
            self.params = {
                k: v.detach().to(device).requires_grad_(v.requires_grad) for k, v in self.params.items()
            }
            self.buffers = {k: v.to(device) for k, v in self.buffers.items()}
        else:
            self.base = self.first.model.to(device)
            self.params = dict(self.base.named_parameters())
        self.optimizer = self.first.optimizer(self.params.values(), lr=self.first.lr)
        self.recording = None
        if record and device.type == "cuda":
            learned = [value for value in self.params.values() if value.requires_grad]
            self.recording = Recording(learned, device)

    def run(
        self, folder: Path | None, stop: Callable[[int], bool], report: Callable[[int], None]
    ) -> list[Run]:
        """Train to the end or until `stop` says so; `report` gets the number of updates done in all."""
        try:
            started, saved, total = time.perf_counter(), time.perf_counter(), self.first.updates
            before, halted, kept = self.seconds, False, self.update
            while self.update < total and any(self.alive) and not halted:
                losses, scores = self.step(self.batch(self.update))
                self.update += 1
                if self.update % self.first.updates_per_epoch == 0 and self.update < total:
                    self.check(self.update // self.first.updates_per_epoch)
                if (self.update - 1) % LOG_EVERY == 0 or self.update == total:
                    self.log(losses, scores)
                    report(self.update)
                self.seconds = before + time.perf_counter() - started
                halted = stop(self.update)
                if folder is not None and (halted or time.perf_counter() - saved > CHECKPOINT_SECONDS):
                    self.save(folder)
                    saved, kept = time.perf_counter(), self.update
            if halted:
                report(self.update)
                return [self.result(i, finished=False) for i in range(len(self.runs))]
            if folder is not None and kept < self.update:
                with suppress(OSError):  # on a full disk the results may still get through
                    self.save(folder)  # whatever becomes of them on their way to a record
            results = [self.result(i, finished=True) for i in range(len(self.runs))]
            self.seconds = before + time.perf_counter() - started
            for result in results:
                result.seconds = self.share
            return results
        finally:
            if self.drawer is not None:  # nobody waits for an epoch that nobody needs
                self.drawer.shutdown(wait=False, cancel_futures=True)
                self.drawer, self.ahead = None, {}

    @property
    def share(self) -> float:
        """The seconds that count for each run."""
        return self.seconds / len(self.runs)

    def batch(self, update: int) -> Batch:
        """The examples of one update: [B, ...], or [R, B, ...] for a stack."""
        epoch, place = divmod(update, self.first.updates_per_epoch)
        if epoch != self.epoch:
            known = epoch in self.ahead
            drawn = self.ahead.pop(epoch).result() if known else draw(self.epochs, epoch, self.stacked)
            self.data = {name: self.move(value) for name, value in drawn.items()}
            self.epoch = epoch
            if self.drawer and epoch + 1 < self.first.epochs:
                self.ahead = {epoch + 1: self.drawer.submit(draw, self.epochs, epoch + 1, self.stacked)}
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
        return {"noise": {name: self.move(value) for name, value in join(drawn, self.stacked).items()}}

    def step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """One update of all runs; their losses and scores, each [R]."""
        losses, scores = self.gradients(batch)
        self.descend()
        return losses, scores

    def descend(self) -> None:
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

    def check(self, epoch: int) -> None:
        """Measure on the way, if this is an epoch to do so."""
        if epoch in self.first.checks:
            for i in range(len(self.runs)):
                if self.alive[i]:
                    self.measure(i, epoch)

    def measure(self, i: int, epoch: int) -> None:
        """Evaluate run i as it is now."""
        run = self.runs[i]
        with torch.no_grad():
            metrics = run.evaluate(self.model(i).to(self.device).eval())
        run.model.train()
        self.checks[i].append({"epoch": epoch} | metrics)

    def model(self, i: int) -> nn.Module:
        """Run i's network with its present weights."""
        model = self.runs[i].model
        if self.stacked:
            stack = self.params | self.buffers
            model.load_state_dict({name: stack[name][i] for name in model.state_dict()})
        return model

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Losses and scores of all runs, each [R]."""
        loss = self.first.loss
        if not self.stacked:
            whole = batch | self.constants
            if self.first.dedupe_batch is not None and self.device.type == "cpu":
                whole = self.first.dedupe_batch(whole)
            one, score = loss(self.base, whole)
            return one[None], score[None]

        def alone(params, buffers, examples):
            return loss(
                lambda *a, **k: functional_call(self.base, (params, buffers), a, k), examples | self.constants
            )

        return torch.vmap(alone)(self.params, self.buffers, batch)

    def log(self, losses: Tensor, scores: Tensor) -> None:
        """Add a point to every curve; a run whose loss is not finite is out."""
        for i, (loss, score) in enumerate(zip(losses.tolist(), scores.tolist(), strict=True)):
            if self.alive[i]:
                self.curves[i].append((self.update, loss, score))
                self.alive[i] = math.isfinite(loss)

    def result(self, i: int, finished: bool) -> Run:
        """What came of run i, tested if it has finished."""
        run, model = self.runs[i], self.model(i)
        metrics = {}
        if finished and self.alive[i]:
            self.measure(i, run.epochs)
            metrics = run.report(self.checks[i])
        model.to("cpu").eval()
        curve = thin(self.curves[i])
        updates = self.update if self.alive[i] else self.curves[i][-1][0]
        return Run(
            run.key,
            run.name,
            finished,
            not self.alive[i],
            metrics,
            curve,
            updates,
            self.share,
            model,
            self.checks[i],
            self.device,
        )

    def save(self, folder: Path) -> None:
        """Write a checkpoint for each run; what a GPU holds is copied once for all of them."""
        params = {name: value.detach().cpu() for name, value in self.params.items()}
        optimizer = {name: self.remembered(value) for name, value in self.params.items()}
        for i, run in enumerate(self.runs):
            state = {
                "key": run.key,
                "params": self.of_one(i, params),
                "optimizer": {name: self.of_one(i, values) for name, values in optimizer.items()},
                "update": self.update,
                "seconds": self.share,
                "alive": self.alive[i],
                "curve": self.curves[i],
                "checks": self.checks[i],
            }
            write_atomically(folder / f"{run.key}.pt", partial(torch.save, state))

    def of_one(self, i: int, values: Batch) -> Batch:
        """What is run i's of these tensors; of a stack a copy, since a file would hold the whole stack."""
        return {name: value[i].clone() for name, value in values.items()} if self.stacked else values

    def remembered(self, parameter: Tensor) -> Batch:
        """What the optimizer remembers of a parameter, on the CPU; its count of steps is `update`."""
        state = self.optimizer.state.get(parameter, {})
        return {name: value.cpu() for name, value in state.items() if name != "step" and value is not None}

    def load(self, states: list[dict]) -> None:
        """Go on from the runs' checkpoints, all of the same update."""
        step = torch.tensor(float(states[0]["update"]), device=self.device)
        params = join([state["params"] for state in states], self.stacked)
        for name, value in self.params.items():
            with torch.no_grad():
                value.copy_(params[name])
            remembered = join([state["optimizer"][name] for state in states], self.stacked)
            if remembered:
                moved = {k: v.to(self.device) for k, v in remembered.items()}
                self.optimizer.state[value] = {"step": step.clone()} | moved
        self.update, self.seconds = states[0]["update"], sum(state["seconds"] for state in states)
        self.alive = [state["alive"] for state in states]
        self.curves = [list(map(tuple, state["curve"])) for state in states]
        self.checks = [list(state["checks"]) for state in states]
