"""How long one training update takes, network by network, on this machine."""

import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from mini_lib.devices import set_precision
from mini_lib.errors import unknown
from mini_lib.esbn import experiments as esbn
from mini_lib.training import Replica, Trainee

WARM_UP, TIMED = 4, 20
STACKED = 10
REFERENCE_MS = 83.0  # what `reference` took where the authors' code was timed


def median_ms(work: Callable[[], object], device: torch.device) -> float:
    """Median milliseconds of 20 calls after 4 that do not count."""
    times = []
    for _ in range(WARM_UP + TIMED):
        started = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times[WARM_UP:])


def reference(device: torch.device) -> float:
    """Ten single steps of a 512-wide `nn.LSTM` on a batch of 32, forward and backward, in milliseconds.

    On the CPU it carries figures over from one machine to another: the authors' ESBN spends much of its time so.
    """
    lstm = nn.LSTM(257, 512, batch_first=True).to(device)
    x = torch.randn(32, 1, 257, device=device)

    def ten_steps():
        state, total = None, 0.0
        for _ in range(10):
            out, state = lstm(x, state)
            total = total + out.sum()
        total.backward()

    return median_ms(ten_steps, device)


def update_ms(replicas: list[Replica], device: torch.device, stacked: bool) -> float:
    """Milliseconds of one update of a stack, or of one network alone: data, forward, backward and Adam."""
    trainee = Trainee(replicas, device, stacked)
    updates = iter(range(10_000))
    return median_ms(lambda: trainee.step(trainee.batch(next(updates))), device)


def run(models: list[str] | None, device: torch.device) -> None:
    """Print the table: every network of the ESBN paper on distribution-of-three, batch 32, one CPU thread.

    The authors' figures are from a CPU, and so is the reference that scales them: on a GPU "times faster" compares a
    GPU with a CPU.
    """
    for model in models or ():
        if model not in esbn.AUTHORS_MS:
            raise unknown("model", model, esbn.AUTHORS_MS)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    set_precision("fp32", device)
    scale = reference(torch.device("cpu")) / REFERENCE_MS
    print(
        f"reference: ten steps of a 512-wide nn.LSTM {scale * REFERENCE_MS:.1f} ms here, {REFERENCE_MS:.0f} ms there"
    )
    head = "ms per update", "m", "alone", "authors, scaled", "times faster", f"in a stack of {STACKED}"
    print("{:22}{:>4}{:>9}{:>18}{:>14}{:>20}".format(*head))
    for model in models or esbn.AUTHORS_MS:
        for m, theirs in zip((0, 95), esbn.AUTHORS_MS[model], strict=True):
            name, _, encoder = model.partition(" ")
            settings = esbn.paper_settings(esbn.BENCH_TASK, m, name, encoder=encoder or "conv").to_dict()
            alone = update_ms([esbn.build(settings, 1)], device, stacked=False)
            stack = [esbn.build(settings, seed) for seed in range(1, STACKED + 1)]
            each = update_ms(stack, device, stacked=True) / STACKED
            scaled = theirs * scale
            print(f"{model:22}{m:4}{alone:9.1f}{scaled:18.1f}{scaled / alone:14.2f}{each:20.1f}", flush=True)
