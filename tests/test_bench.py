import re

import torch

from mini_lib import bench
from mini_lib.esbn.experiments import AUTHORS_MS, MODELS


def test_bench_prints_a_line_per_network_and_regime(monkeypatch, capsys):
    monkeypatch.setattr(bench, "WARM_UP", 1)
    monkeypatch.setattr(bench, "TIMED", 3)
    monkeypatch.setattr(bench, "STACKED", 2)
    try:
        bench.run(["transformer rand"], torch.device("cpu"))
    finally:
        torch.set_flush_denormal(False)  # bench sets it for the process
    reference, head, *lines = capsys.readouterr().out.splitlines()
    here = float(re.search(r"nn\.LSTM ([\d.]+) ms here, 83 ms there", reference).group(1))
    assert head.split()[:4] == ["ms", "per", "update", "m"]
    assert [line.split()[2] for line in lines] == ["0", "95"]
    for line in lines:
        alone, theirs, faster, stacked = map(float, line.split()[3:])
        assert theirs == round(10 * here / 83, 1) or abs(theirs - 10 * here / 83) < 0.06
        assert abs(faster - theirs / alone) < 0.1 * faster + 0.05
        assert stacked > 0


def test_every_network_has_a_figure_to_beat():
    assert set(MODELS) <= set(AUTHORS_MS)
