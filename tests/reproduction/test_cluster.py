"""A Ray cluster trains the same runs; a worker that is killed costs nothing that was finished."""

import importlib
import os
import signal
import socket
import sys
import time
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest
import torch

from mini_lib import training
from mini_lib.errors import UsageError
from mini_lib.reproduction import cluster as clusters
from mini_lib.reproduction.cluster import PACKAGE, Cluster, connected, over_cluster, tasks, work
from mini_lib.reproduction.esbn import cells as esbn
from mini_lib.reproduction.launch import Job, JobsFailed
from mini_lib.training import train
from reproduction.samples import job

CPU, GPU = torch.device("cpu"), torch.device("cuda")


# ------------------------------------------------------------------------------------------ without Ray


def test_a_task_is_a_run_on_a_cpu_and_a_stack_of_equal_settings_on_a_gpu(monkeypatch):
    monkeypatch.setattr(clusters, "STACK", 2)
    jobs = [job(1), job(1, tcn=False), job(2), job(3)]
    assert tasks(jobs, CPU) == [[each] for each in jobs]
    assert tasks(jobs, GPU) == [[jobs[0], jobs[2]], [jobs[3]], [jobs[1]]]


def test_devices_are_those_of_the_cluster():
    """The machine that asks need not have a GPU."""
    with_gpus, without = Cluster(64, 8), Cluster(64, 0)
    assert [with_gpus.device(name).type for name in ("auto", "cuda", "cpu")] == ["cuda", "cuda", "cpu"]
    assert without.device("auto") == CPU
    assert (with_gpus.workers(GPU), with_gpus.workers(CPU)) == (8, 64)
    with pytest.raises(UsageError, match="this cluster has no GPU"):
        without.device("cuda")


def test_without_ray_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"pip install -e '\.\[cluster\]' in a checkout"), connected("auto"):
        pass


@pytest.fixture
def asked(monkeypatch):
    """What stands for Ray is asked for: its node is there at the third question, and "auto" finds none."""
    found, late = {}, [RuntimeError("it is not registered yet")] * 2

    def get_node():
        if late:
            raise late.pop()

    def init(**how):
        found.update(how)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as Ray takes it
        if how["address"] == "auto":
            raise ConnectionError("Could not find any running instance.\nand more")
        fake._private.services.get_node()

    fake = ModuleType("ray")
    fake.init, fake.cluster_resources = init, lambda: {"CPU": 3.0, "memory": 1.0}
    fake.shutdown = lambda: found.update(shut=True)
    fake._private = SimpleNamespace(services=SimpleNamespace(get_node=get_node))
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(clusters.time, "sleep", lambda seconds: None)
    return found


def test_an_address_is_sent_this_package_and_no_address_starts_a_cluster_here(asked):
    before = signal.getsignal(signal.SIGTERM)
    server = socket.create_server(("127.0.0.1", 0))
    with server, connected(f"127.0.0.1:{server.getsockname()[1]}") as there:
        assert (there, str(there)) == (Cluster(3, 0), "a Ray cluster with 3 CPUs and 0 GPUs")
        assert signal.getsignal(signal.SIGTERM) == before
        assert "shut" not in asked
    assert asked.pop("shut")
    assert asked["runtime_env"] == {"py_modules": [str(PACKAGE)]}
    asked.clear()
    with connected("local", 5):
        assert (asked["address"], asked["num_cpus"], asked["include_dashboard"]) == ("local", 5, False)
    patient = sys.modules["ray"]._private.services.get_node
    assert not hasattr(patient.__wrapped__, "__wrapped__"), "it waits twice"
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


@pytest.mark.parametrize(
    ("address", "workers", "message"),
    [
        ("auto", None, r"no Ray cluster at auto: Could not find any running instance\.\. `ray start"),
        ("ray://127.0.0.1:1", None, r"no Ray cluster at ray://127.0.0.1:1: .*refused"),
        ("local", None, r"no Ray cluster could be started here: it is not registered yet$"),
        ("10.0.0.5:6379", 2, "has its own workers; leave out --workers"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_named_in_a_line(asked, monkeypatch, address, workers, message):
    monkeypatch.setattr(clusters, "STARTING", -1.0)
    with pytest.raises(UsageError, match=message), connected(address, workers):
        pass


class FakeRay(ModuleType):
    """Has n machines: their tasks begin at once, end when Ray is asked again, and ignore canceling."""

    RayError = type("RayError", (Exception,), {})
    TaskCancelledError = type("TaskCancelledError", (RayError,), {})

    def __init__(self, machines, lost=None):
        super().__init__("ray")
        self.exceptions, self.machines, self.lost = self, machines, lost
        self.tasks, self.canceled, self.ending = [], set(), set()

    def remote(self, **resources):
        def start(jobs, *rest):
            self.tasks += jobs
            return len(self.tasks) - 1

        return lambda function: SimpleNamespace(remote=start)

    def wait(self, waiting, timeout):
        ended = [task for task in waiting if task in self.canceled | self.ending]
        assert ended or not self.ending, "it waits for what never begins"
        self.ending = set(range(self.machines))
        return ended, []

    def get(self, task):
        if task in self.canceled:
            raise self.TaskCancelledError
        if self.tasks[task].seed == self.lost:
            raise self.RayError("its machine is gone")
        return [(self.tasks[task].key, SimpleNamespace(key=self.tasks[task].key, finished=False))]

    def cancel(self, task):
        if task >= self.machines:
            self.canceled.add(task)


def seeds_of(ray, monkeypatch, folder, deadline):
    """Three runs over a fake Ray; the seed of each that comes back."""
    monkeypatch.setitem(sys.modules, "ray", ray)
    jobs = [job(seed) for seed in (1, 2, 3)]
    runs = over_cluster(jobs, device=CPU, checkpoints=folder, deadline=deadline, progress=False)
    yield from (made.seed for made, _ in runs)


def test_what_has_not_begun_at_the_deadline_is_canceled_and_what_runs_is_waited_for(tmp_path, monkeypatch):
    ray = FakeRay(machines=1)
    assert list(seeds_of(ray, monkeypatch, tmp_path, time.time() - 1)) == [1]
    assert ray.canceled == {1, 2}


def test_a_run_whose_machine_is_gone_is_named_and_the_others_are_kept(tmp_path, monkeypatch):
    ray, kept = FakeRay(machines=3, lost=2), []
    with pytest.raises(JobsFailed, match=r"1 of 3 runs failed:\n.*seed 2: its machine is gone$"):
        kept.extend(seeds_of(ray, monkeypatch, tmp_path, time.time() + 99))
    assert (kept, ray.canceled) == ([1, 3], set())


def test_a_worker_gives_back_runs_without_weights_and_names_what_failed(tmp_path):
    def broken(settings, seed):
        raise ValueError("no such data")

    before = signal.getsignal(signal.SIGINT)
    try:
        (_, run), failed = work([job(1), Job(broken, {"a": 1}, 7, "b")], "cpu", tmp_path, None, "fp32")
        signal.raise_signal(signal.SIGINT)  # Ray's canceling, which it ignores
    finally:
        signal.signal(signal.SIGINT, before)
    (alone,) = train([job(1).build(job(1).settings, 1)])
    assert (run.key, run.finished, run.metrics) == (job(1).key, True, alone.metrics)
    assert not list(run.model.parameters())
    assert run.device_name.startswith("cpu: ")
    assert failed == ("b", "no such data")


# ------------------------------------------------------------------------------------------ with Ray


def on_two_nodes(ray, folder):
    """A `build` whose runs, of seeds 1 and 2, wait for each other; 2 kills its process once, before its last epoch.

    It is a function in a function, so that Ray sends it as it is.
    """

    def build(settings, seed):
        importlib.import_module("sent_along")
        node, end = folder / f"node of {seed}", time.monotonic() + 120
        if not node.exists():
            node.write_text(ray.get_runtime_context().get_node_id())
        while not (folder / f"node of {3 - seed}").exists() and time.monotonic() < end:
            time.sleep(0.1)
        training.CHECKPOINT_SECONDS = 0.0
        run = esbn.runs.build(esbn.Settings.from_dict(settings), seed)
        usual, begun = run.epoch, folder / f"epochs of {seed}"

        def epoch(number):
            before = begun.read_text() if begun.exists() else ""
            begun.write_text(f"{before}{number} ")
            if (seed, number) == (2, 2) and "2" not in before:
                os.kill(os.getpid(), signal.SIGKILL)
            return usual(number)

        run.epoch = epoch
        return run

    return build


@pytest.mark.slow
def test_two_nodes_train_at_once_and_a_killed_worker_loses_and_doubles_nothing(tmp_path, monkeypatch):
    """Each node is a machine's: its own raylet and worker. What watches them is left out, as it starts slowly."""
    ray = clusters.load_ray()
    utils = importlib.import_module("ray.cluster_utils")
    monkeypatch.setattr(ray._private.node.Node, "start_api_server", lambda *given, **named: None)
    monkeypatch.setattr(clusters, "PACKAGE", tmp_path / "sent_along")  # smaller than this one
    (tmp_path / "sent_along").mkdir()
    (tmp_path / "sent_along" / "__init__.py").touch()
    size = {"num_cpus": 1, "object_store_memory": clusters.OBJECT_STORE, "include_log_monitor": False}
    jobs = [replace(job(seed), build=on_two_nodes(ray, tmp_path)) for seed in (1, 2)]
    clusters.be_patient(ray)
    nodes = utils.Cluster(initialize_head=True, head_node_args=size | {"no_monitor": True})
    nodes.add_node(**size)
    try:
        with connected(nodes.address) as there:
            assert there == Cluster(2, 0)
            runs = over_cluster(jobs, device=CPU, checkpoints=tmp_path / "checkpoints", progress=False)
            ended = {made.seed: run for made, run in runs}
    finally:
        nodes.shutdown()
    assert (tmp_path / "node of 1").read_text() != (tmp_path / "node of 2").read_text()
    assert (tmp_path / "epochs of 2").read_text().split() == ["0", "1", "2", "2"]  # from its checkpoint
    assert sorted(ended) == [1, 2]
    for seed, run in ended.items():
        (alone,) = train([job(seed).build(job(seed).settings, seed)])
        assert (run.finished, run.metrics) == (True, pytest.approx(alone.metrics, rel=1e-3))
    assert list((tmp_path / "checkpoints").iterdir()) == []
