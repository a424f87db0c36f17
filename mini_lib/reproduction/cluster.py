"""Send trainings to a Ray cluster: one task a run on CPUs, one a stack on GPUs.

The process that connects alone keeps what comes back, so that each record is written once. A task whose worker is
lost is begun again elsewhere: from its last checkpoint, a minute old at most, where the machines share their folder.
"""

import logging
import os
import signal
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from inspect import unwrap
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import torch
from joblib import cpu_count
from torch import nn

from mini_lib.devices import describe, pick_device
from mini_lib.errors import UsageError
from mini_lib.hashing import settings_hash
from mini_lib.progress import open_bar
from mini_lib.reproduction.launch import STACK, Job, Outcome, in_stacks, past, reason, what_ended
from mini_lib.training import Run

RETRIES = 3  # of a task whose worker was lost
STARTING = 180.0  # seconds that a node may take to start
OBJECT_STORE = 100 * 2**20  # bytes of a local cluster's; what comes back holds no weights
PACKAGE = Path(__file__).parents[1]


class Cluster(NamedTuple):
    """How many cores and GPUs a cluster has, as Ray counts them."""

    cpus: int
    gpus: int

    def device(self, name: str) -> torch.device:
        """The device of that name ("auto" takes GPUs if there are some); UsageError if no machine has one."""
        if name in ("auto", "cuda") and self.gpus:
            return torch.device("cuda")
        if name == "cuda":
            raise UsageError("this cluster has no GPU; use --device cpu or auto")
        return pick_device("cpu" if name == "auto" else name)

    def workers(self, device: torch.device) -> int:
        """How many tasks it trains at a time on such devices."""
        return self.gpus if device.type == "cuda" else self.cpus

    def __str__(self) -> str:
        return f"a Ray cluster with {self.cpus} CPUs and {self.gpus} GPUs"


def load_ray() -> ModuleType:
    """The library; UsageError that says how to install it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise UsageError("--ray needs Ray: pip install -e '.[cluster]' in a checkout of the book") from None
    return ray


@contextmanager
def connected(address: str, workers: int | None = None) -> Iterator[Cluster]:
    """Connect to the cluster at an address, or start a "local" one, with n `workers` (one a core).

    This package is sent to the machines of an address; what it depends on has to be installed there.
    """
    ray = load_ray()
    how = {"address": address, "log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        how |= {"num_cpus": workers or cpu_count(), "include_dashboard": False}
        how |= {"object_store_memory": OBJECT_STORE}
    elif workers is None:
        how |= {"runtime_env": {"py_modules": [str(PACKAGE)]}}
    else:
        raise UsageError(f"the cluster at {address} has its own workers; leave out --workers")
    sigterm = signal.getsignal(signal.SIGTERM)
    try:
        try:
            host, _, port = address.removeprefix("ray://").rpartition(":")
            if host:  # where nothing listens Ray itself waits without end
                socket.create_connection((host, int(port)), timeout=10).close()
            be_patient(ray)
            ray.init(**how)
        except Exception as error:  # a bare one of Ray's among them
            why = str(error).strip().partition("\n")[0]
            if address == "local":
                raise UsageError(f"no Ray cluster could be started here: {why}") from error
            raise UsageError(
                f"no Ray cluster at {address}: {why}. `ray start --head` starts one and prints its address; all "
                "machines need its token (`ray get-auth-token`). --ray without an address starts a local one"
            ) from error
        finally:
            if threading.current_thread() is threading.main_thread():  # Ray takes it for itself
                signal.signal(signal.SIGTERM, sigterm)
        resources = ray.cluster_resources()
        yield Cluster(int(resources.get("CPU", 0)), int(resources.get("GPU", 0)))
    finally:
        ray.shutdown()


def be_patient(ray: ModuleType) -> None:
    """Let a node take `STARTING` seconds to register; Ray gives it 30, which no setting changes."""
    services = ray._private.services
    get_node = unwrap(services.get_node)  # Ray's own, where this was called before

    @wraps(get_node)
    def wait_for_node(*given: object) -> dict:
        end = time.monotonic() + STARTING
        while True:
            try:
                return get_node(*given)
            except RuntimeError:  # it is not registered yet
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)

    services.get_node = wait_for_node


def over_cluster(
    jobs: Iterable[Job],
    *,
    device: torch.device,
    checkpoints: Path | str,
    deadline: float | None = None,
    precision: str = "fp32",
    progress: bool = True,
) -> Iterator[tuple[Job, Run]]:
    """Train the jobs on the cluster that is connected, and yield each as it ends, without its weights.

    Arguments and errors are those of `launch.launch`. `checkpoints` is a folder by its absolute path on every
    machine, and clocks have to agree where there is a `deadline`: after it what has not begun is canceled, also
    what waits for a machine that is gone. An interrupt ends the tasks at once, a minute behind their checkpoints.
    """
    jobs, folder = list(jobs), Path(checkpoints).absolute()
    yield from what_ended(
        _over_cluster(jobs, device, folder, deadline, precision, progress), len(jobs), folder
    )


def _over_cluster(jobs, device, folder, deadline, precision, progress) -> Iterator[Outcome]:
    ray = load_ray()
    train = ray.remote(num_cpus=1, num_gpus=int(device.type == "cuda"), max_retries=RETRIES)(work)
    how = device.type, folder, deadline, precision
    waiting = {train.remote(group, *how): group for group in tasks(jobs, device)}
    canceled = False
    with open_bar("on the cluster", len(jobs), " runs", leave=True, shown=progress) as bar:
        while waiting:
            done, _ = ray.wait(list(waiting), timeout=0.5)
            bar.update(0)
            if not canceled and past(deadline):
                canceled = True
                for reference in waiting.keys() - done:
                    ray.cancel(reference)  # a task that runs ignores it, see `work`
            for reference in done:
                group = waiting.pop(reference)
                try:
                    found = ray.get(reference)
                except ray.exceptions.TaskCancelledError:
                    continue  # it had not begun
                except ray.exceptions.RayError as error:
                    why = reason(getattr(error, "cause", None) or error)
                    found = [(job.key, why) for job in group]
                by_key = {job.key: job for job in group}
                for key, run in found:
                    bar.update(isinstance(run, Run) and run.finished)
                    yield by_key[key], run


def tasks(jobs: list[Job], device: torch.device) -> list[list[Job]]:
    """The jobs of each task, in order: on a CPU one, on a GPU those of equal settings, as one stack.

    A stack takes hardly longer for more seeds, so later steps of a plan are trained along with the first.
    """
    if device.type == "cpu":
        return [[job] for job in jobs]
    alike = defaultdict(list)
    for job in jobs:
        alike[settings_hash(job.settings)].append(job)
    return [group[i : i + STACK] for group in alike.values() for i in range(0, len(group), STACK)]


def work(jobs, kind, checkpoints, deadline, precision) -> list[tuple[str, Run | str]]:
    """What a worker does: train the jobs of a task on its device; returns what came of each, by its key.

    The runs come back without weights: Ray hands small results to the driver at once, and a machine that is lost
    later takes none of them along. A task that runs ignores Ray's canceling: it ends by itself at the deadline.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    found = []
    for job, run in in_stacks(jobs, torch.device(kind), checkpoints, deadline, precision, False):
        if isinstance(run, Run):
            run = replace(run, model=nn.Identity(), device_name=describe(run.device))
        found.append((job.key, run))
    return found
