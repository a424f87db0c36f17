"""A Ray cluster trains the same runs; a worker that is killed costs nothing that was finished."""

import importlib
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from socket import socket
from types import ModuleType, SimpleNamespace

import pytest
import torch

from mini_lib import training
from mini_lib.errors import UsageError
from mini_lib.esbn.runs import paper_settings
from mini_lib.hashing import run_key
from mini_lib.reproduction import cluster as clusters
from mini_lib.reproduction.cluster import PACKAGE, Cluster, connected, over_cluster, tasks, work
from mini_lib.reproduction.esbn import cells as esbn
from mini_lib.reproduction.launch import Job, JobsFailed

SMALL = paper_settings(
    "same_different", 98, "rn", epochs=3, options={"hidden": 32, "relation_size": 32}, test_size=32
).to_dict()
CPU, GPU = torch.device("cpu"), torch.device("cuda")


def job(seed, **changes):
    settings = SMALL | changes
    return Job(esbn.build, settings, seed, run_key(settings, seed))


# ------------------------------------------------------------------------------------------ without Ray


def test_a_task_is_a_run_on_a_cpu_and_a_stack_of_equal_settings_on_a_gpu(monkeypatch):
    monkeypatch.setattr(clusters, "STACK", 2)
    jobs = [job(1), job(1, m=95), job(2), job(3)]
    assert tasks(jobs, CPU) == [[each] for each in jobs]
    assert tasks(jobs, GPU) == [[jobs[0], jobs[2]], [jobs[3]], [jobs[1]]]


def test_devices_are_those_of_the_cluster():
    """The machine that asks need not have a GPU."""
    with_gpus, without = Cluster(64, 8), Cluster(64, 0)
    assert [with_gpus.device(name).type for name in ("auto", "cuda", "cpu")] == ["cuda", "cuda", "cpu"]
    assert without.device("auto") == CPU
    assert (with_gpus.workers(GPU), with_gpus.workers(CPU)) == (8, 64)
    for name, message in (("cuda", "this cluster has no GPU"), ("tpu9", "unknown device 'tpu9'")):
        with pytest.raises(UsageError, match=message):
            without.device(name)


def test_without_ray_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"pip install -e '\.\[cluster\]' in a checkout"), connected():
        pass


@pytest.fixture
def asked(monkeypatch):
    """What stands for Ray is asked for, and a cluster at "nowhere" is not there."""
    found = {}

    def init(**how):
        found.update(how)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as Ray takes it
        if how["address"] == "nowhere":
            raise ConnectionError("Could not find any running Ray instance.\nand more")

    fake = ModuleType("ray")
    fake.init, fake.cluster_resources = init, lambda: {"CPU": 3.0, "memory": 1.0}
    fake.shutdown = lambda: found.update(shut=True)
    names = {"node": SimpleNamespace(Node=object), "services": SimpleNamespace(get_node=None)}
    fake._private = SimpleNamespace(**names)
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(clusters.socket, "create_connection", lambda *given, **named: socket())
    return found


def test_an_address_is_sent_this_package_and_no_address_starts_a_cluster_here(asked):
    before = signal.getsignal(signal.SIGTERM)
    with connected("10.0.0.5:6379") as there:
        assert there == Cluster(3, 0)
        assert signal.getsignal(signal.SIGTERM) == before
        assert "shut" not in asked
    assert asked.pop("shut")
    assert asked["runtime_env"] == {"py_modules": [str(PACKAGE)]}
    asked.clear()
    with connected(workers=5):
        assert (asked["address"], asked["num_cpus"], asked["include_dashboard"]) == ("local", 5, False)
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


@pytest.mark.parametrize(
    ("address", "workers", "message"),
    [
        (
            "nowhere",
            None,
            r"no Ray cluster at nowhere: Could not find any running Ray instance\.\. `ray start",
        ),
        ("10.0.0.5:6379", 2, "has its own workers; leave out --workers"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_told_in_a_line(asked, address, workers, message):
    with pytest.raises(UsageError, match=message), connected(address, workers):
        pass


def test_an_address_where_nothing_listens_is_told_at_once():
    with socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(UsageError, match=f"no Ray cluster at {address}: .*refused"), connected(address):
            pass


class FakeRay(ModuleType):
    """Has so many machines: their tasks begin at once, end when Ray is asked again, and are deaf to cancelling."""

    class RayError(Exception):
        pass

    class TaskCancelledError(RayError):
        pass

    def __init__(self, machines, lost=()):
        super().__init__("ray")
        self.exceptions, self.machines, self.lost = self, machines, lost
        self.tasks, self.cancelled, self.asked = [], set(), 0

    def remote(self, **resources):
        def start(jobs, *rest):
            self.tasks += jobs
            return len(self.tasks) - 1

        return lambda function: SimpleNamespace(remote=start)

    def wait(self, waiting, timeout):
        self.asked += 1
        ended = [
            task for task in waiting if task in self.cancelled or (self.asked > 1 and task < self.machines)
        ]
        assert ended or self.asked == 1, "it waits for what never begins"
        return ended, [task for task in waiting if task not in ended]

    def get(self, task):
        if task in self.cancelled:
            raise self.TaskCancelledError
        if self.tasks[task].seed in self.lost:
            raise self.RayError("its machine is gone")
        return [SimpleNamespace(key=self.tasks[task].key, finished=False)], []

    def cancel(self, task):
        if task >= self.machines:
            self.cancelled.add(task)


def seeds_of(ray, monkeypatch, folder, deadline=None):
    """Three runs over a fake Ray; the seed of each that comes back."""
    monkeypatch.setitem(sys.modules, "ray", ray)
    jobs = [job(seed) for seed in (1, 2, 3)]
    runs = over_cluster(jobs, device=CPU, checkpoints=folder, deadline=deadline, progress=False)
    yield from (made.seed for made, _ in runs)


def test_what_has_not_begun_at_the_deadline_is_cancelled_and_what_runs_is_waited_for(tmp_path, monkeypatch):
    ray = FakeRay(machines=1)
    assert list(seeds_of(ray, monkeypatch, tmp_path, deadline=time.time() - 1)) == [1]
    assert ray.cancelled == {1, 2}


def test_before_the_deadline_nothing_is_cancelled(tmp_path, monkeypatch):
    ray = FakeRay(machines=3)
    assert list(seeds_of(ray, monkeypatch, tmp_path, deadline=time.time() + 99)) == [1, 2, 3]
    assert not ray.cancelled


def test_a_run_whose_machine_is_gone_is_named_and_the_others_are_kept(tmp_path, monkeypatch):
    kept = []
    with pytest.raises(JobsFailed, match=r"1 of 3 runs failed:\n.*seed 2: its machine is gone$"):
        kept.extend(seeds_of(FakeRay(3, lost=[2]), monkeypatch, tmp_path))
    assert kept == [1, 3]


@pytest.fixture
def interrupts_heard_again():
    """A worker is deaf to interrupts; this process is not, once the test is over."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_worker_gives_back_runs_without_weights_and_names_what_failed(tmp_path, interrupts_heard_again):
    def broken(settings, seed):
        raise ValueError("no such data")

    runs, failed = work([job(1), Job(broken, {"a": 1}, 7, "b")], "cpu", tmp_path, None, "fp32")
    assert [(run.key, run.finished, list(run.model.parameters())) for run in runs] == [(job(1).key, True, [])]
    assert runs[0].device_name.startswith("cpu: ")
    assert failed == ["{'a': 1}, seed 7: no such data"]
    signal.raise_signal(signal.SIGINT)  # Ray's cancelling


# ------------------------------------------------------------------------------------------ with Ray


def living(parents):
    """The processes that these have started, and all that those have."""
    found = set()
    for parent in parents:
        with suppress(FileNotFoundError):
            found |= set(Path(f"/proc/{parent}/task/{parent}/children").read_text().split())
    return found | (living(found) if found else set())


@pytest.fixture
def slow_start(tmp_path, monkeypatch):
    """Make the part of Ray that a node waits for start so many seconds late."""
    services = importlib.import_module("ray._private.services")

    def by(seconds):
        late = tmp_path / "raylet"
        late.write_text(f'#!/bin/sh\nsleep {seconds}\nexec {services.RAYLET_EXECUTABLE} "$@"\n')
        late.chmod(0o755)
        monkeypatch.setattr(services, "RAYLET_EXECUTABLE", str(late))

    return by


@pytest.mark.slow
def test_a_cluster_that_takes_longer_to_start_than_ray_would_wait_is_there(slow_start):
    slow_start(35)  # Ray's own limit is 30
    before = living([os.getpid()])
    with connected(workers=1) as there:
        assert there == Cluster(1, 0)
    assert living([os.getpid()]) <= before


@pytest.mark.slow
def test_a_cluster_that_does_not_start_is_told_in_a_line_and_leaves_no_process(slow_start, monkeypatch):
    slow_start(1000)
    monkeypatch.setattr(clusters, "STARTING", 2.0)
    before = living([os.getpid()])
    with pytest.raises(UsageError) as stop, connected(workers=1):
        pass
    said = "no Ray cluster could be started here: it did not start in 2 s; is the machine busy?"
    assert str(stop.value) == said
    assert living([os.getpid()]) <= before


def killed_once(folder):
    """A `build` whose run of seed 2 kills its process before its last epoch, the first time it comes there.

    It is a function in a function, so that Ray sends it as it is.
    """

    def build(settings, seed):
        run = esbn.runs.build(esbn.Settings.from_dict(settings), seed)
        if seed != 2:
            return run
        training.CHECKPOINT_SECONDS = 0.0
        usual = run.epoch

        def epoch(number):
            with (folder / "epochs").open("a") as file:
                file.write(f"{number} ")
            if number == 2 and not (folder / "killed").exists():
                (folder / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return usual(number)

        run.epoch = epoch
        return run

    return build


@pytest.mark.slow
def test_a_worker_is_killed_and_all_runs_finish_with_nothing_lost_or_doubled(tmp_path):
    jobs = [replace(job(seed), build=killed_once(tmp_path)) for seed in range(1, 5)]
    with connected(workers=2) as there:
        assert str(there) == "a Ray cluster with 2 CPUs and 0 GPUs"
        runs = over_cluster(jobs, device=CPU, checkpoints=tmp_path / "checkpoints", progress=False)
        ended = [(made.seed, run.finished) for made, run in runs]
    assert sorted(ended) == [(seed, True) for seed in range(1, 5)]
    assert (tmp_path / "epochs").read_text().split() == ["0", "1", "2", "2"]  # from its checkpoint
    assert list((tmp_path / "checkpoints").iterdir()) == []


@pytest.mark.slow
def test_runs_are_trained_on_two_nodes(tmp_path, monkeypatch):
    """Each node is a machine's: its own raylet, its own workers."""
    ray = clusters.load_ray()
    utils = importlib.import_module("ray.cluster_utils")

    def where(folder):
        def build(settings, seed):
            (folder / f"{seed}").write_text(ray.get_runtime_context().get_node_id())
            return esbn.runs.build(esbn.Settings.from_dict(settings), seed)

        return build

    jobs = [replace(job(seed, epochs=30), build=where(tmp_path)) for seed in range(1, 7)]
    size = {"num_cpus": 1, "object_store_memory": clusters.OBJECT_STORE, "include_dashboard": False}
    nodes = utils.Cluster(initialize_head=True, head_node_args=size)
    try:
        nodes.add_node(num_cpus=1, object_store_memory=clusters.OBJECT_STORE)
        with connected(nodes.address) as there:
            assert there == Cluster(2, 0)
            runs = over_cluster(jobs, device=CPU, checkpoints=tmp_path / "checkpoints", progress=False)
            ended = sorted((made.seed, run.finished, run.updates > 0) for made, run in runs)
    finally:
        nodes.shutdown()
    assert ended == [(seed, True, True) for seed in range(1, 7)]
    assert len({(tmp_path / f"{seed}").read_text() for seed in range(1, 7)}) == 2
