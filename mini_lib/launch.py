"""Run many trainings: over the cores of a CPU, or stacked on a GPU, inside a time budget."""

import multiprocessing
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import torch
from tqdm.auto import tqdm

from mini_lib.results.cells import settings_hash
from mini_lib.training import Replica, Run, set_precision, train

Build = Callable[[dict, int], Replica]
STACK = 40  # replicas in one stack at most
WINDOW = 80  # jobs whose replicas are built, and so held in memory, at a time


@dataclass(frozen=True)
class Job:
    """One run to make: a wing's `build`, the settings, the seed, and the run's key (names its checkpoint)."""

    build: Build
    settings: dict
    seed: int
    key: str


def default_workers() -> int:
    """One process a core."""
    return multiprocessing.cpu_count()


def launch(
    jobs: Iterable[Job],
    *,
    device: torch.device,
    checkpoints: Path,
    deadline: float | None = None,
    workers: int | None = None,
    precision: str = "fp32",
    progress: bool = True,
) -> Iterator[tuple[Job, Run]]:
    """Train the jobs and yield each as it ends, finished or stopped by the deadline.

    Args:
        jobs: in order of urgency.
        device: on a CPU every job is trained alone, one process a core; on a GPU equal shapes are stacked.
        checkpoints: folder for unfinished runs; a run that finishes deletes its own.
        deadline: time.time() after which nothing goes on training; what runs is checkpointed and yielded
            unfinished, what has not begun is left out.
        workers: processes on a CPU, one a core unless given.
        precision: see `training.set_precision`.
        progress: show a bar over updates.
    """
    jobs = list(jobs)
    if device.type == "cpu":
        yield from _over_cores(jobs, checkpoints, deadline, workers or default_workers(), progress)
    else:
        set_precision(precision)
        yield from _in_stacks(jobs, device, checkpoints, deadline, progress)


# ------------------------------------------------------------------------------------------------ CPU

_counter = None


def _start_worker(counter) -> None:
    global _counter
    _counter = counter
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def _count(updates: int) -> None:
    with _counter.get_lock():
        _counter.value += updates


def _work(job: Job, path: Path, deadline: float | None) -> Run:
    if deadline is not None and time.time() > deadline:
        raise TimeoutError
    replica = job.build(job.settings, job.seed)
    return train([replica], checkpoint=path, stop=_after(deadline), progress=_count)[0]


def _after(deadline: float | None) -> Callable[[int], bool]:
    return lambda update: deadline is not None and time.time() > deadline


def _over_cores(jobs, checkpoints, deadline, workers, progress) -> Iterator[tuple[Job, Run]]:
    spawn = multiprocessing.get_context("spawn")
    counter = spawn.Value("q", 0)
    pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_start_worker, initargs=(counter,))
    waiting = {pool.submit(_work, job, checkpoints / f"{job.key}.pt", deadline): job for job in jobs}
    bar = tqdm(total=None, unit=" updates", disable=not progress, desc=f"0 of {len(jobs)} runs")
    ended = 0
    try:
        while waiting:
            done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            bar.update(counter.value - bar.n)
            for future in done:
                job = waiting.pop(future)
                try:
                    run = future.result()
                except TimeoutError:
                    continue
                ended += run.finished
                bar.set_description(f"{ended} of {len(jobs)} runs")
                if run.finished:
                    (checkpoints / f"{job.key}.pt").unlink(missing_ok=True)
                yield job, run
    finally:
        bar.close()
        pool.shutdown(wait=True, cancel_futures=True)


# ------------------------------------------------------------------------------------------------ GPU


def _in_stacks(jobs, device, checkpoints, deadline, progress) -> Iterator[tuple[Job, Run]]:
    for start in range(0, len(jobs), WINDOW):
        for stack in stacks(jobs[start : start + WINDOW]):
            if deadline is not None and time.time() > deadline:
                return
            path = checkpoints / f"{settings_hash({'stack': [job.key for job, _ in stack]})}.pt"
            replicas = [replica for _, replica in stack]
            runs = train(
                replicas,
                device=device,
                stacked=True,
                checkpoint=path,
                stop=_after(deadline),
                progress=progress,
            )
            if all(run.finished for run in runs):
                path.unlink(missing_ok=True)
            yield from ((job, run) for (job, _), run in zip(stack, runs, strict=True))


def stacks(jobs: Iterable[Job], most: int = STACK) -> list[list[tuple[Job, Replica]]]:
    """Build the replicas and group those of equal shape, in order of first appearance, `most` to a group."""
    groups = defaultdict(list)
    for job in jobs:
        replica = job.build(job.settings, job.seed)
        groups[replica.stack_key()].append((job, replica))
    return [group[i : i + most] for group in groups.values() for i in range(0, len(group), most)]
