from itertools import pairwise

import pytest
import torch

from mini_lib.esbn import runs as esbn_runs
from mini_lib.functions import transformer as functions_models
from mini_lib.reproduction import bench
from mini_lib.reproduction.esbn import cells as esbn
from mini_lib.reproduction.functions import cells as functions
from mini_lib.reproduction.kanerva import cells as kanerva
from mini_lib.reproduction.scan import cells as scan
from mini_lib.scan import runs as scan_models


def test_bench_prints_a_line_per_network_and_regime(monkeypatch, capsys):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    monkeypatch.setattr(bench, "STACKED", 2)
    cases = [(esbn.build, case._replace(updates=2)) for case in esbn.bench_cases()]
    bench.run(cases, ["transformer rand"], torch.device("cpu"))
    *_, head, first, second = capsys.readouterr().out.splitlines()
    assert head.split()[:5] == ["ms", "per", "update", "on", "alone"]
    assert [line.split()[2] for line in (first, second)] == ["m=0", "m=95"]
    for line in (first, second):
        *_, alone, stacked, faster = line.split()
        assert float(alone) > 0
        assert float(stacked) > 0
        assert faster == "-"  # this one was not timed beside the authors' code


RATIOS = {
    (name, m): ratio
    for name, both in esbn.TIMES_FASTER.items()
    for m, ratio in zip(("m=0", "m=95"), both, strict=True)
}
RATIOS |= {(name, "B=1"): ratio for name, ratio in scan.TIMES_FASTER.items()}
HEADINGS = ("on", "alone", f"in a stack of {bench.STACKED}", "times faster")


def printed_lines(text: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """What stands below each heading of the table: (network, setting) -> (alone, in a stack, times faster)."""
    head, *lines = text.removeprefix(bench.HOW_MEASURED).strip("\n").split("\n")
    ends = [head.index(each) + len(each) for each in HEADINGS]  # numbers end where their heading does
    rows = {}
    for line in lines:
        network, setting = line[: ends[0]].rsplit(maxsplit=1)
        columns = pairwise(ends)
        rows[network.strip(), setting] = tuple(line[start:end].strip() for start, end in columns)
    return rows


@pytest.mark.parametrize("busy", [1, 7])
def test_every_number_stands_in_its_row_and_column(busy, monkeypatch, capsys):
    """The times are this machine's, as busy as it is; the ratio is the one measured side by side."""
    cases = [*esbn.bench_cases(), *scan.bench_cases()]
    alone = {(case.network, case.setting): busy * number for number, case in enumerate(cases, start=10)}

    def update_ms(runs, device, stacked, updates):
        assert len(runs) == (bench.STACKED if stacked else 1)
        return len(runs) * alone[runs[0]] / (2 if stacked else 1)  # a stack takes half the time for each

    monkeypatch.setattr(bench, "update_ms", update_ms)
    builds = [(lambda settings, seed, case=case: (case.network, case.setting), case) for case in cases]
    bench.run(builds, None, torch.device("cpu"))
    rows = printed_lines(capsys.readouterr().out)
    assert list(rows) == [(case.network, case.setting) for case in cases]
    assert RATIOS.keys() <= rows.keys()
    for case in cases:
        row = case.network, case.setting
        time, in_stack, faster = rows[row]
        assert float(time) == alone[row], row
        assert in_stack == (f"{alone[row] / 2:.1f}" if case.stacked_on_cpu else "-"), row
        assert faster == str(RATIOS.get(row) or "-"), row


def test_bench_says_that_the_ratios_were_measured_once_side_by_side(capsys):
    bench.run([], None, torch.device("cpu"))
    note = " ".join(capsys.readouterr().out.split())
    assert "times faster: an update of the authors' code over one of ours in CPU time" in note
    assert "Both were timed once, side by side; this column is not measured again here." in note


def test_every_network_is_timed():
    timed = {package: [case.network for case in package.bench_cases()] for package in (esbn, scan, functions)}
    for package, models in {esbn: esbn_runs, scan: scan_models, functions: functions_models}.items():
        assert set(models.MODELS) <= set(timed[package])
    cases = {case.network: case for case in scan.bench_cases()}
    assert cases["syntactic_attention"].settings["batch_size"] == 1
    assert [name for name, case in cases.items() if case.times_faster] == ["syntactic_attention"]
    trained = [case for case in kanerva.bench_cases() if case.settings]
    assert {case.network.split()[1] for case in trained} == {"digits", "binding", "sprites"}
    assert len({(case.network, case.setting) for case in kanerva.bench_cases()}) == len(kanerva.bench_cases())


@pytest.mark.parametrize(
    ("package", "network", "setting", "small"),
    [
        (scan, "syntax-action", "B=1", {}),
        (
            functions,
            "relational_window",
            "N=20",
            {"observed": 4, "options": {"dim": 8, "layers": 1, "heads": 2}},
        ),
        (kanerva, "memory loop", "k=20, m=600", {}),
        (kanerva, "memory batched", "k=20, m=600", {}),
        (kanerva, "memory write", "k=15, m=30", {}),
        (kanerva, "memory read", "k=15, m=30", {}),
    ],
)
def test_what_has_no_figure_to_beat_is_timed_all_the_same(package, network, setting, small, monkeypatch):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    (case,) = (each for each in package.bench_cases() if (each.network, each.setting) == (network, setting))
    case = case._replace(updates=1, settings=case.settings | small)
    words = bench.line(package.build, case, torch.device("cpu")).removeprefix(network).split()
    assert " ".join(words[:-3]) == setting
    assert float(words[-3]) > 0
    assert words[-2:] == ["-", "-"]  # no stack on a CPU, and no figure to beat


def test_training_steps_of_memories_are_timed(monkeypatch):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    case = next(case for case in kanerva.bench_cases() if case.settings)
    small = case.settings | {"items": 3, "batch_size": 2, "total": 2, "dim": 4}
    words = bench.line(kanerva.build, case._replace(settings=small, updates=1), torch.device("cpu")).split()
    assert float(words[4]) > 0
