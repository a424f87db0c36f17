"""How long one training update takes, network by network, on this machine."""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count

import torch

from mini_lib import cuda_graphs
from mini_lib.devices import use_precision
from mini_lib.errors import unknown_name_error
from mini_lib.reproduction.cells import BenchCase
from mini_lib.training import TrainingRun, TrainingStack

WARM_UP, TIMED = cuda_graphs.WARM_UP + 1, 20  # a GPU records an update before it counts
STACKED = 10
HOW_MEASURED = """times faster: an update of the authors' code over one of ours in CPU time, on one CPU thread.
Both were timed once, side by side; this column is not measured again here."""


def median_ms(
    work: Callable[[], object],
    device: torch.device,
    calls: int = TIMED,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Median milliseconds of so many calls, after 4 that do not count."""
    times = []
    for _ in range(WARM_UP + calls):
        started = clock()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(1000 * (clock() - started))
    return statistics.median(times[WARM_UP:])


def update_ms(
    runs: list[TrainingRun], device: torch.device, stacked: bool, updates: int = TIMED, **how
) -> float:
    """Milliseconds of one update of a stack, or of one network alone: data, forward, backward and optimizer."""
    stack, numbers = TrainingStack(runs, device, stacked), count()
    return median_ms(lambda: stack.step(stack.batch(next(numbers))), device, updates, **how)


def run(cases: list[tuple[Callable, BenchCase]], models: list[str] | None, device: torch.device) -> None:
    """Print the table, a line for each case with the `build` of its paper, on one CPU thread or on a GPU.

    With `models`, only these networks; UsageError for one that is not among the cases.
    """
    known = dict.fromkeys(case.network for _, case in cases)
    for model in models or ():
        if model not in known:
            raise unknown_name_error("model", model, known)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    print(HOW_MEASURED)
    head = "ms per update", "on", "alone", f"in a stack of {STACKED}", "times faster"
    print("{:22}{:>14}{:>9}{:>18}{:>14}".format(*head))
    with use_precision("fp32", device):
        for build, case in cases:
            if not models or case.network in models:
                print(line(build, case, device), flush=True)


def alone(cases: Iterable[BenchCase], build: Callable) -> Iterator[tuple[dict, float]]:
    """The settings of each case, and the milliseconds of CPU time that an update of its network takes alone."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    for case in cases:
        run = build(case.settings, 1)
        ms = update_ms([run], torch.device("cpu"), False, case.updates, clock=time.process_time)
        yield case.settings, ms


def line(build: Callable, case: BenchCase, device: torch.device) -> str:
    """One line of the table."""

    def ms(networks: int) -> float:
        runs = [build(case.settings, seed) for seed in range(1, networks + 1)]
        return update_ms(runs, device, networks > 1, case.updates) / networks

    alone = ms(1) if case.work is None else median_ms(case.work(device), device, case.updates)
    in_stack = case.work is None and (case.stacked_on_cpu or device.type != "cpu")
    each = f"{ms(STACKED):.1f}" if in_stack else "-"
    faster = "-" if case.times_faster is None else f"{case.times_faster:.1f}"
    return f"{case.network:22}{case.setting:>14}{alone:9.1f}{each:>18}{faster:>14}"
