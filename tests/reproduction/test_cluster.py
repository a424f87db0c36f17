"""A Ray cluster trains the same runs; a worker that is killed costs nothing that was finished."""

import os
import re
import signal
import sys
import time
from socket import socket
from types import ModuleType, SimpleNamespace

import pytest
import torch

from mini_lib import training
from mini_lib.errors import UsageError
from mini_lib.esbn.runs import paper_settings
from mini_lib.hashing import run_key
from mini_lib.reproduction import Cell, Records, cli, cluster as clusters
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
def test_a_worker_is_killed_and_all_runs_finish_with_nothing_lost_or_doubled(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cell = Cell("esbn.table9", "ESBN + TCN", "m=98", SMALL, 4, file="esbn.table9")
    monkeypatch.setattr(esbn, "CELLS", [cell])
    monkeypatch.setattr(esbn, "build", killed_once(tmp_path))
    where = ("--records", "records", "--checkpoints", "checkpoints")
    words = ["mini-lib", "reproduce", "esbn.table9", "--launcher", "ray", "--workers", "2", "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", [*words, *where])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    out, err = capsys.readouterr()
    assert stop.value.code == 0, err
    assert out.startswith("4 runs to make on a Ray cluster with 2 CPUs and 0 GPUs; records go to records\n")
    assert "4 runs finished, 0 left" in out
    lines = (tmp_path / "records" / "esbn.table9.jsonl").read_text().splitlines()
    assert len(lines) == 4
    assert sorted(record["seed"] for record in Records("records")) == [1, 2, 3, 4]
    assert (tmp_path / "killed").exists()
    assert (tmp_path / "epochs").read_text().split() == ["0", "1", "2", "2"]  # from its checkpoint
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_nothing_is_connected_where_nothing_is_to_be_made(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(esbn, "CELLS", [Cell("esbn.table9", "A", "m=98", SMALL, 0, file="esbn.table9")])
    monkeypatch.setattr(clusters, "connected", lambda *given: pytest.fail("it connected"))
    words = ["mini-lib", "reproduce", "esbn.table9", "--launcher", "ray", "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", [*words, "--records", str(tmp_path / "records")])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("nothing to train")


def test_a_dry_run_starts_no_cluster_here_and_plans_for_the_one_that_would_be_started(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(esbn, "CELLS", [Cell("esbn.table9", "A", "m=98", SMALL, 3, file="esbn.table9")])
    monkeypatch.setattr(clusters, "connected", lambda *given: pytest.fail("it connected"))
    words = ["mini-lib", "reproduce", "esbn.table9", "--launcher", "ray", "--device", "cpu", "--dry-run"]
    monkeypatch.setattr(sys, "argv", [*words, "--workers", "3", "--records", str(tmp_path / "records")])
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith("3 runs to make on a Ray cluster with 3 CPUs and ")
    assert re.search(r"in all 3 runs, .* on 3 cores", out)
