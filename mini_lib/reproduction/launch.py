"""Run many trainings: over the cores of a CPU, or stacked on a GPU, inside a time budget."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, takewhile
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path

import torch
from joblib import cpu_count  # by the affinity of this process and the quota of its container

from mini_lib.progress import open_bar
from mini_lib.training import Run, TrainingRun, train

Build = Callable[[dict, int], TrainingRun]
Outcome = tuple["Job", Run | str]  # what came of a job, or why nothing did
STACK = 40  # networks in one stack at most
WINDOW = 80  # jobs whose runs are built, and so held in memory, at a time
DIED = "its worker process died; if memory is short, the same command with fewer --workers goes on"
GRACE = 10.0  # seconds that an interrupted worker has to end its update and write a checkpoint


@dataclass(frozen=True)
class Job:
    """One run to make: a paper's `build`, the settings, the seed, and the run's key (names its checkpoint)."""

    build: Build
    settings: dict
    seed: int
    key: str


class JobsFailed(RuntimeError):
    """Some jobs ended in an error, or were lost with their worker process; what else ended is kept."""


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

    Their order is kept. On a CPU each is trained alone, by `workers` processes (one a core); on a GPU neighbors of
    equal shape share stacks. The folder of `checkpoints` has unfinished runs, and finished ones until the next is
    asked for. After the `deadline`, a time.time(), what runs ends its update, or a test that it has begun, is
    checkpointed and yielded unfinished; what has not begun is left out.

    JobsFailed, after the last run, if some jobs, or all of a stack, ended in an error, or a worker process died.
    """
    jobs, checkpoints = list(jobs), Path(checkpoints)
    if device.type == "cpu":
        outcomes = _over_cores(jobs, checkpoints, deadline, workers or cpu_count(), progress)
    else:
        outcomes = in_stacks(jobs, device, checkpoints, deadline, precision, progress)
    yield from what_ended(outcomes, len(jobs), checkpoints)


def what_ended(outcomes: Iterable[Outcome], total: int, folder: Path) -> Iterator[tuple[Job, Run]]:
    """Hand the runs on; JobsFailed after the last, with a line about each job that failed.

    The checkpoint of a finished run goes once the caller asks for the next. A kill between the record and that
    leaves a checkpoint behind: `reproduce` deletes those of runs on record.
    """
    failed = []
    for job, run in outcomes:
        if isinstance(run, str):
            failed.append(f"{job.settings}, seed {job.seed}: {run}")
            continue
        yield job, run
        if run.finished:
            (folder / f"{run.key}.pt").unlink(missing_ok=True)
    if failed:
        raise JobsFailed("\n".join([f"{len(failed)} of {total} runs failed:", *failed]))


def reason(error: BaseException) -> str:
    """Why something failed; an error without words is named by its type."""
    return str(error) or type(error).__name__


def past(deadline: float | None) -> bool:
    """Whether there is a deadline, and it is over."""
    return deadline is not None and time.time() > deadline


# ------------------------------------------------------------------------------------------------ CPU


def _over_cores(jobs, checkpoints, deadline, workers, progress) -> Iterator[Outcome]:
    """Train jobs in processes; each stops, with a checkpoint, when our end of its pipe is closed or gone."""
    waiting, ended = deque(jobs), 0
    spawn, processes = multiprocessing.get_context("spawn"), []
    busy: dict[Connection, Job] = {}

    def hand_out(pipe: Connection) -> None:
        if not waiting or past(deadline):
            busy.pop(pipe, None)
            pipe.close()
            return
        busy[pipe] = waiting.popleft()
        with suppress(OSError):  # a worker that died is found out when its pipe is read
            pipe.send(busy[pipe])

    bar = open_bar(f"0 of {len(jobs)} runs", None, " updates", leave=True, shown=progress)
    try:
        resource_tracker.ensure_running()  # else it would lift the mask
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which workers inherit
        try:
            for _ in range(0 if past(deadline) else min(workers, len(jobs))):
                ours, theirs = spawn.Pipe()
                process = spawn.Process(target=_work, args=(theirs, checkpoints, deadline), daemon=True)
                process.start()
                theirs.close()
                processes.append(process)
                hand_out(ours)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        while busy:
            for pipe in wait(list(busy), timeout=0.5):
                job = busy[pipe]
                try:
                    found = pipe.recv()
                except (EOFError, OSError):
                    del busy[pipe]
                    yield job, DIED
                    continue
                if isinstance(found, int):
                    bar.update(found)
                    continue
                hand_out(pipe)
                ended += isinstance(found, Run) and found.finished
                bar.set_description_str(f"{ended} of {len(jobs)} runs", refresh=False)
                yield job, found
            bar.update(0)
        if waiting and not past(deadline):
            yield waiting[0], f"no worker process is left for it, and for {len(waiting) - 1} runs after it"
    finally:
        bar.close()
        for pipe in busy:
            pipe.close()
        try:
            until = time.monotonic() + GRACE
            for process in processes:
                process.join(max(0.0, until - time.monotonic()))
        finally:
            for process in processes:
                process.kill()
                process.join()


def _work(pipe: Connection, checkpoints: Path, deadline: float | None) -> None:
    """Train jobs as they come; send numbers of updates, and of each job the run, or what is wrong.

    A pipe that has something to read during a training is closed. A scheduler sends SIGTERM to workers, too.
    """
    ending: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: ending.append(number))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)

    def stop(update: int) -> bool:
        return bool(ending) or past(deadline) or pipe.poll()

    def send(updates: int) -> None:
        with suppress(OSError):  # the checkpoint comes after it
            pipe.send(updates)

    with suppress(EOFError, OSError):
        while not ending:
            if not pipe.poll(0.5):
                continue
            job = pipe.recv()
            try:
                made = [job.build(job.settings, job.seed)]
                pipe.send(*train(made, checkpoints=checkpoints, keep_finished=True, stop=stop, progress=send))
            except Exception as error:  # whatever is wrong with one job, the others are trained
                pipe.send(reason(error))


def _end_with_parent() -> None:
    """End a worker soon after its parent, even in the middle of a long test."""
    multiprocessing.parent_process().join()
    time.sleep(GRACE)
    os._exit(1)


# ------------------------------------------------------------------------------------------------ GPU


def in_stacks(jobs, device, checkpoints, deadline, precision, progress) -> Iterator[Outcome]:
    """Train the jobs in this process, neighbors of equal shape as one stack, halved where that is too large."""
    fitting: dict[tuple, int] = {}  # networks of a shape that fit into memory together, where `STACK` do not
    for start in range(0, len(jobs), WINDOW):
        failed: list[Outcome] = []
        in_time = takewhile(lambda job: not past(deadline), jobs[start : start + WINDOW])
        waiting = deque(stacks(in_time, failed))
        while waiting and not past(deadline):
            stack = waiting.popleft()
            shape = stack[0][1].stack_key()
            if len(stack) > (most := fitting.get(shape, STACK)):
                waiting.extendleft([stack[most:], stack[:most]])
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
                fitting[shape] = len(stack) // 2
                print(f"out of memory: {fitting[shape]} networks at a time from here on", file=sys.stderr)
                # What was trained is in checkpoints; these networks may be half way, and are made afresh.
                waiting.extendleft(stacks([job for job, _ in stack], failed))
            else:
                why = f"out of memory on {device}" if out_of_memory else reason(error)
                failed += [(job, why) for job, _ in stack]
        yield from failed


def _attempt(training_runs: list[TrainingRun], **how) -> tuple[list[Run], Exception | None]:
    """What `train` returns, and why it failed, if it did; then the memory it took is free again."""
    try:
        return train(training_runs, **how), None
    except Exception as error:  # whatever is wrong with one stack, the others are trained
        failure = error.with_traceback(None)  # the traceback holds the stack
    if isinstance(failure, torch.OutOfMemoryError):  # after other errors a GPU may answer to nothing
        torch.cuda.empty_cache()
    return [], failure


def stacks(jobs: Iterable[Job], failed: list[Outcome]) -> list[list[tuple[Job, TrainingRun]]]:
    """Build the runs and group neighbors of equal shape, at most `STACK`; what a plan puts first stays first.

    A job that cannot be built is left out, and goes to `failed`.
    """
    built = []
    for job in jobs:
        try:
            built.append((job, job.build(job.settings, job.seed)))
        except Exception as error:
            failed.append((job, reason(error)))
    alike = [list(group) for _, group in groupby(built, key=lambda each: each[1].stack_key())]
    return [group[i : i + STACK] for group in alike for i in range(0, len(group), STACK)]
