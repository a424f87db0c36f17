"""`mini-lib doctor`: a line for each thing that works, and one for what does not."""

import torch

from mini_lib.reproduction import doctor
from mini_lib.reproduction.cells import paper_module

CPU = torch.device("cpu")


def lost(settings, seed):
    """A run whose network has a weight that is no number."""
    run = paper_module("esbn").build(settings, seed)
    with torch.no_grad():
        next(run.model.parameters()).fill_(torch.nan)
    return run


def test_what_works_is_ok_and_what_fails_is_named_and_the_rest_is_examined(capsys, monkeypatch):
    few = ("esbn lstm", "scan gru_attention")
    monkeypatch.setattr(doctor, "TINY", {name: doctor.TINY[name] for name in few})
    found = [("mnist/a", "missing", ""), ("mnist/b", "missing", ""), ("scan/c", "ok", "")]
    monkeypatch.setattr(doctor.datasets, "verify", lambda: found)
    builds = {paper: paper_module(paper).build for paper in ("esbn", "scan")}
    assert doctor.examine(builds, CPU)
    device, data, *steps = capsys.readouterr().out.splitlines()
    assert device.startswith("ok   device")
    assert data.split(maxsplit=2) == ["ok", "data", "not here: mnist; nothing needs them to start"]
    assert [line.split()[:5] for line in steps] == [["ok", "step", "of", *name.split()] for name in few]

    found.append(("mnist/images", "damaged", "half of it"))
    assert not doctor.examine(builds | {"esbn": lost}, CPU)
    _, data, step, other = capsys.readouterr().out.splitlines()
    assert data.split() == ["FAIL", "data", "mnist/images", "(half", "of", "it)"]
    assert step.startswith("FAIL step of esbn lstm")
    assert step.endswith("is not finite")
    assert other.startswith("ok   step of scan gru_attention")
