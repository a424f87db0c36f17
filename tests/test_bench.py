import re

import torch

from mini_lib import bench
from mini_lib.esbn import experiments as esbn
from mini_lib.functions import experiments as functions
from mini_lib.kanerva import experiments as kanerva
from mini_lib.scan import experiments as scan


def test_bench_prints_a_line_per_network_and_regime(monkeypatch, capsys):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    monkeypatch.setattr(bench, "STACKED", 2)
    cases = [(esbn.build, case) for case in esbn.bench_cases()]
    bench.run(cases, ["transformer rand"], torch.device("cpu"))
    reference, head, *lines = capsys.readouterr().out.splitlines()
    here = float(re.search(r"nn\.LSTM ([\d.]+) ms here, 83 ms there", reference).group(1))
    assert head.split()[:4] == ["ms", "per", "update", "on"]
    assert [line.split()[2] for line in lines] == ["m=0", "m=95"]
    for line in lines:
        alone, theirs, faster, stacked = map(float, line.split()[3:])
        assert theirs == round(10 * here / 83, 1) or abs(theirs - 10 * here / 83) < 0.06
        assert abs(faster - theirs / alone) < 0.1 * faster + 0.05
        assert stacked > 0


def test_every_network_has_a_figure_to_beat():
    assert set(esbn.MODELS) <= set(esbn.AUTHORS_MS)


def test_scan_networks_are_timed_too(capsys):
    cases = {case.network: case for case in scan.bench_cases()}
    assert set(scan.MODELS) <= set(cases)
    assert cases["syntactic_attention"].settings["batch_size"] == 1
    assert cases["syntactic_attention"].authors_ms == 54.8


def test_a_network_without_a_figure_to_beat_is_timed_all_the_same(monkeypatch):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    (case,) = (each for each in scan.bench_cases() if each.network == "syntax-action")
    words = bench.line(scan.build, case._replace(updates=2), 1.0, torch.device("cpu")).split()
    assert words[0] == "syntax-action"
    assert words[3:5] == ["-", "-"]
    assert float(words[2]) > 0
    assert words[5] == "-"  # no stack on a CPU


def test_function_networks_are_timed_too(monkeypatch):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    cases = {case.network: case for case in functions.bench_cases()}
    assert set(functions.MODELS) == set(cases)
    small = cases["relational_window"].settings | {
        "observed": 4,
        "options": {"dim": 8, "layers": 1, "heads": 2},
    }
    case = cases["relational_window"]._replace(settings=small, updates=2)
    words = bench.line(functions.build, case, 1.0, torch.device("cpu")).split()
    assert words[:2] == ["relational_window", "N=20"]
    assert float(words[2]) > 0
    assert words[3:] == ["-", "-", "-"]  # no code of the authors, no stack on a CPU


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
        words = bench.line(kanerva.build, case, 1.0, torch.device("cpu")).split()
        assert " ".join(words[:4]) == f"{network} {setting}"
        assert float(words[4]) > 0
        assert words[5:] == ["-", "-", "-"]


def test_training_steps_of_memories_are_timed(monkeypatch):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    trained = [case for case in kanerva.bench_cases() if case.settings]
    assert {case.network.split()[1] for case in trained} == {"digits", "binding", "sprites"}
    small = trained[0].settings | {"items": 3, "batch_size": 2, "total": 2, "dim": 4}
    case = trained[0]._replace(settings=small, updates=1)
    assert float(bench.line(kanerva.build, case, 1.0, torch.device("cpu")).split()[4]) > 0
