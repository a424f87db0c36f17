"""Run many trainings: over the cores of a CPU, or stacked on a GPU, inside a time budget."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby, takewhile
from pathlib import Path

import torch

from mini_lib.progress import open_bar
from mini_lib.training import Run, TrainingRun, train

Build = Callable[[dict, int], TrainingRun]
STACK = 40  # networks in one stack at most; fewer, where they do not fit into a GPU's memory together
WINDOW = 80  # jobs whose runs are built, and so held in memory, at a time


@dataclass(frozen=True)
class Job:
    """One run to make: a paper's `build`, the settings, the seed, and the run's key (names its checkpoint)."""

    build: Build
    settings: dict
    seed: int
    key: str


class JobsFailed(RuntimeError):
    """Some jobs ended in an error; the others are done, unless a worker process died."""


def default_workers() -> int:
    """One process for each core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else multiprocessing.cpu_count()


def launch(
    jobs: Iterable[Job],
    *,
    device: torch.device,
    checkpoints: Path | str,
    deadline: float | None = None,
    workers: int | None = None,
    precision: str = "fp32",
    progress: bool = True,
) -> Iterator[tuple[Job, Run]]:
    """Train the jobs and yield each as it ends, finished or stopped by the deadline.

    Args:
        jobs: in order of urgency, which is kept.
        device: on a CPU every job is trained alone, one process a core; on a GPU neighbours of equal shape are
            stacked, as many together as its memory holds: a stack that is too large is halved and goes on from its
            checkpoints.
        checkpoints: folder for unfinished runs, and for finished ones until the caller asks for the next: those that
            an error or an interrupt of the caller's leaves behind need no more than their test again.
        deadline: time.time() after which nothing goes on training; what runs ends its update, or its test if it has
            begun one, is checkpointed and yielded unfinished; what has not begun is left out.
        workers: processes on a CPU, one a core unless given.
        precision: see `devices.use_precision`.
        progress: show a bar over updates.

    Raises:
        JobsFailed: after the last run, if some jobs ended in an error; it names them, on a GPU all those of a stack
            that ended in one. Or if a worker process died, since no more can be trained then.
    """
    jobs, checkpoints = list(jobs), Path(checkpoints)
    if device.type == "cpu":
        runs = _over_cores(jobs, checkpoints, deadline, workers or default_workers(), progress)
    else:
        runs = _in_stacks(jobs, device, checkpoints, deadline, precision, progress)
    yield from forget_checkpoints(runs, checkpoints)


def forget_checkpoints(runs: Iterable[tuple[Job, Run]], folder: Path) -> Iterator[tuple[Job, Run]]:
    """Hand the runs on, and delete the checkpoint of a finished one once the caller asks for the next.

    A kill between the record and that leaves a checkpoint behind: `reproduce` deletes those of runs on record.
    """
    for job, run in runs:
        yield job, run
        if run.finished:
            (folder / f"{run.key}.pt").unlink(missing_ok=True)


# ------------------------------------------------------------------------------------------------ CPU

_counter = None
_halt = None
_working = False
_ending = False


def _start_worker(counter, halt) -> None:
    """Set a worker up: one thread; interrupts are the parent's to handle; no life after the parent's."""
    global _counter, _halt
    _counter, _halt = counter, halt
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end_soon)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def _end_with_parent() -> None:
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _end_soon(number, frame) -> None:
    """Keep the checkpoint first: a scheduler ends the workers along with their parent."""
    global _ending
    _ending = True
    if not _working:
        os._exit(1)


def _count(updates: int) -> None:
    with _counter.get_lock():
        _counter.value += updates


def _work(job: Job, checkpoints: Path, deadline: float | None) -> Run | None:
    global _working

    def stop(update: int) -> bool:
        return bool(_halt.value) or _ending or past(deadline)

    if stop(0):
        return None
    _working = True
    try:
        training_run = job.build(job.settings, job.seed)
        (run,) = train(
            [training_run], checkpoints=checkpoints, keep_finished=True, stop=stop, progress=_count
        )
        return run
    finally:
        _working = False
        if _ending:  # in a second, when the parent has the run
            leave = threading.Timer(1.0, os._exit, (1,))
            leave.daemon = True
            leave.start()


def past(deadline: float | None) -> bool:
    """Whether there is a deadline, and it is over."""
    return deadline is not None and time.time() > deadline


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold interrupts back until the end. A process started meanwhile never hears SIGINT, not even while it imports.

    It takes a mask, which processes inherit, and handlers, since another thread may hear what this one does not.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    heard = []
    usual = {
        number: signal.signal(number, lambda number, frame: heard.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in usual.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    if heard:
        signal.raise_signal(heard[0])


def _shut(pool: ProcessPoolExecutor) -> None:
    """End the workers. Another interrupt has to wait: the workers of a pool that is left while it ends never end."""
    with _interrupts_held():
        pool.shutdown(wait=True, cancel_futures=True)


def _over_cores(jobs, checkpoints, deadline, workers, progress) -> Iterator[tuple[Job, Run]]:
    if past(deadline):
        return
    spawn = multiprocessing.get_context("spawn")
    # A flag without a lock, and a counter that is read without its own: a worker that is killed while it holds one
    # would keep this process waiting.
    counter, halt = spawn.Value("q", 0), spawn.RawValue("b", 0)
    workers = max(1, min(workers, len(jobs)))
    ended, failed, lost = 0, [], 0
    with ExitStack() as ending:  # the flag first, then the bar, then the workers
        with _interrupts_held():
            pool = ProcessPoolExecutor(
                workers, mp_context=spawn, initializer=_start_worker, initargs=(counter, halt)
            )
            ending.callback(_shut, pool)
            bar = ending.enter_context(
                open_bar(f"0 of {len(jobs)} runs", None, " updates", leave=True, shown=progress)
            )
            ending.callback(setattr, halt, "value", 1)
            waiting = {pool.submit(_work, job, checkpoints, deadline): job for job in jobs}
        while waiting:
            done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            bar.update(counter.get_obj().value - bar.n)
            for future in done:
                job = waiting.pop(future)
                if isinstance(error := future.exception(), BrokenProcessPool):
                    lost += 1
                elif error is not None:
                    failed.append(failure_line(job, error))
                elif (run := future.result()) is not None:
                    ended += run.finished
                    bar.set_description_str(f"{ended} of {len(jobs)} runs", refresh=False)
                    yield job, run
    raise_failures(failed, len(jobs), lost)


def failure_line(job: Job, error: BaseException | str) -> str:
    """A line that names a job and says why it failed; an error without words is named by its type."""
    return f"{job.settings}, seed {job.seed}: {str(error) or type(error).__name__}"


def raise_failures(failed: list[str], total: int, lost: int = 0) -> None:
    """JobsFailed, if some of so many jobs failed or were lost with their worker process."""
    messages = []
    if failed:
        messages += [f"{len(failed)} of {total} runs failed:", *failed]
    if lost:
        messages += [
            f"a worker process died, perhaps for want of memory; {lost} of {total} runs are not done.",
            "Finished runs are kept; the same command goes on, with fewer --workers if memory is short.",
        ]
    if messages:
        raise JobsFailed("\n".join(messages))


# ------------------------------------------------------------------------------------------------ GPU


Stack = list[tuple[Job, TrainingRun]]


def _in_stacks(jobs, device, checkpoints, deadline, precision, progress) -> Iterator[tuple[Job, Run]]:
    failed = []
    yield from train_stacks(jobs, device, checkpoints, deadline, precision, progress, failed)
    raise_failures(failed, len(jobs))


def train_stacks(
    jobs: list[Job],
    device: torch.device,
    checkpoints: Path,
    deadline: float | None,
    precision: str,
    progress: bool,
    failed: list[str],
) -> Iterator[tuple[Job, Run]]:
    """Train the jobs in this process, neighbours of equal shape as one stack.

    `failed` gets a line about each that cannot be trained.
    """
    most: dict[tuple, int] = {}  # networks of a shape that fit into memory together, where STACK do not
    for start in range(0, len(jobs), WINDOW):
        in_time = takewhile(lambda job: not past(deadline), jobs[start : start + WINDOW])
        waiting = deque(stacks(in_time, failed))
        while waiting and not past(deadline):
            stack = waiting.popleft()
            shape = stack[0][1].stack_key()
            if len(stack) > (fitting := most.get(shape, STACK)):
                waiting.extendleft([stack[fitting:], stack[:fitting]])
                continue
            runs, error = _attempt(
                [training_run for _, training_run in stack],
                device=device,
                stacked=len(stack) > 1,
                checkpoints=checkpoints,
                keep_finished=True,
                stop=lambda update: past(deadline),
                progress=progress,
                precision=precision,
            )
            out_of_memory = isinstance(error, torch.OutOfMemoryError)
            if error is None:
                yield from ((job, run) for (job, _), run in zip(stack, runs, strict=True))
            elif out_of_memory and len(stack) > 1:
                most[shape] = len(stack) // 2
                print(f"out of memory: {most[shape]} networks at a time from here on", file=sys.stderr)
                # What was trained is in checkpoints; these networks may be half way, and are made afresh.
                waiting.extendleft(reversed(stacks([job for job, _ in stack], failed)))
            else:
                why = f"out of memory on {device}" if out_of_memory else error
                failed += [failure_line(job, why) for job, _ in stack]


def _attempt(training_runs: list[TrainingRun], **how) -> tuple[list[Run], Exception | None]:
    """What `train` returns, and why it failed, if it did; then the memory it took is free again."""
    try:
        return train(training_runs, **how), None
    except Exception as error:  # whatever is wrong with one stack, the others are trained
        failure = error.with_traceback(None)  # the traceback holds the stack
    if isinstance(failure, torch.OutOfMemoryError):  # after other errors a GPU may answer to nothing
        torch.cuda.empty_cache()
    return [], failure


def stacks(jobs: Iterable[Job], failed: list[str]) -> list[Stack]:
    """Build the runs and group neighbours of equal shape, so that what a plan puts first stays first.

    A job that cannot be built is left out, and `failed` gets a line about it.
    """
    built = []
    for job in jobs:
        try:
            built.append((job, job.build(job.settings, job.seed)))
        except Exception as error:
            failed.append(failure_line(job, error))
    return [list(group) for _, group in groupby(built, key=lambda each: each[1].stack_key())]
