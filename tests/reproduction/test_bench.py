import torch

from mini_lib.esbn import models as esbn_models
from mini_lib.functions import models as functions_models
from mini_lib.reproduction import bench
from mini_lib.reproduction.esbn import cells as esbn
from mini_lib.reproduction.functions import cells as functions
from mini_lib.reproduction.kanerva import cells as kanerva
from mini_lib.reproduction.scan import cells as scan
from mini_lib.scan import models as scan_models


def test_bench_prints_a_line_per_network_and_regime(monkeypatch, capsys):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    monkeypatch.setattr(bench, "STACKED", 2)
    cases = [(esbn.build, case._replace(updates=2)) for case in esbn.bench_cases()]
    bench.run(cases, ["transformer rand"], torch.device("cpu"))
    *how, head, first, second = capsys.readouterr().out.splitlines()
    assert "not measured again here" in " ".join(how)
    assert head.split()[:5] == ["ms", "per", "update", "on", "alone"]
    assert [line.split()[2] for line in (first, second)] == ["m=0", "m=95"]
    for line in (first, second):
        *_, alone, stacked, faster = line.split()
        assert float(alone) > 0
        assert float(stacked) > 0
        assert faster == "-"  # this one was not timed beside the authors' code


def test_times_faster_is_the_ratio_measured_side_by_side_however_busy_this_machine_is(monkeypatch):
    case = next(case for case in esbn.bench_cases() if case.times_faster)
    lines = []
    for ms in (1.0, 1000.0):
        monkeypatch.setattr(bench, "median_ms", lambda work, device, calls, ms=ms: ms)
        lines.append(bench.line(esbn.build, case, torch.device("cpu")).split())
    assert [float(line[2]) for line in lines] == [1, 1000]
    assert [float(line[-1]) for line in lines] == [case.times_faster] * 2


def test_every_network_of_esbn_is_timed():
    assert set(esbn_models.MODELS) <= {case.network for case in esbn.bench_cases()}


def test_scan_networks_are_timed_too():
    cases = {case.network: case for case in scan.bench_cases()}
    assert set(scan_models.MODELS) <= set(cases)
    assert cases["syntactic_attention"].settings["batch_size"] == 1
    assert [name for name, case in cases.items() if case.times_faster] == ["syntactic_attention"]


def test_a_network_without_a_figure_to_beat_is_timed_all_the_same(monkeypatch):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    (case,) = (each for each in scan.bench_cases() if each.network == "syntax-action")
    words = bench.line(scan.build, case._replace(updates=2), torch.device("cpu")).split()
    assert words[0] == "syntax-action"
    assert float(words[2]) > 0
    assert words[3:] == ["-", "-"]  # no stack on a CPU, and no figure to beat


def test_function_networks_are_timed_too(monkeypatch):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    cases = {case.network: case for case in functions.bench_cases()}
    assert set(functions_models.MODELS) == set(cases)
    small = cases["relational_window"].settings | {
        "observed": 4,
        "options": {"dim": 8, "layers": 1, "heads": 2},
    }
    case = cases["relational_window"]._replace(settings=small, updates=2)
    words = bench.line(functions.build, case, torch.device("cpu")).split()
    assert words[:2] == ["relational_window", "N=20"]
    assert float(words[2]) > 0
    assert words[3:] == ["-", "-"]  # no stack on a CPU, no code of the authors


def test_passes_of_the_memory_are_timed(monkeypatch):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    cases = {(case.network, case.setting): case for case in kanerva.bench_cases()}
    assert len(cases) == len(kanerva.bench_cases())
    for network, setting in (
        ("memory loop", "k=20, m=600"),
        ("memory batched", "k=20, m=600"),
        ("memory write", "k=15, m=30"),
        ("memory read", "k=15, m=30"),
    ):
        case = cases[network, setting]._replace(updates=1)
        words = bench.line(kanerva.build, case, torch.device("cpu")).split()
        assert " ".join(words[:4]) == f"{network} {setting}"
        assert float(words[4]) > 0
        assert words[5:] == ["-", "-"]


def test_training_steps_of_memories_are_timed(monkeypatch):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    trained = [case for case in kanerva.bench_cases() if case.settings]
    assert {case.network.split()[1] for case in trained} == {"digits", "binding", "sprites"}
    small = trained[0].settings | {"items": 3, "batch_size": 2, "total": 2, "dim": 4}
    case = trained[0]._replace(settings=small, updates=1)
    assert float(bench.line(kanerva.build, case, torch.device("cpu")).split()[4]) > 0
