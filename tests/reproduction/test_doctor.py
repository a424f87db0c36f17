"""`mini-lib doctor`: a line for each thing that works, and one for what does not."""

from importlib import import_module

import pytest
import torch

from mini_lib.reproduction import doctor

BUILDS = {
    paper: import_module(f"mini_lib.reproduction.{paper}.cells").build
    for paper in dict.fromkeys(settings["paper"] for settings in doctor.TINY.values())
}
CPU = torch.device("cpu")


@pytest.mark.slow
def test_it_says_ok_of_everything_that_works(capsys):
    assert doctor.examine(BUILDS, CPU)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok ") for line in lines)
    for name in ("device", "data", *(f"step of {name}" for name in doctor.TINY)):
        assert any(line.split(maxsplit=1)[1].startswith(name) for line in lines), name


def test_what_fails_is_named_and_the_rest_is_examined(capsys, monkeypatch):
    def lost(settings, seed):
        run = BUILDS["esbn"](settings, seed)
        with torch.no_grad():
            next(run.model.parameters()).fill_(torch.nan)
        return run

    few = ("esbn lstm", "scan gru_attention")
    monkeypatch.setattr(doctor, "TINY", {name: doctor.TINY[name] for name in few})
    monkeypatch.setattr(doctor.datasets, "verify", lambda: [("mnist/images", "damaged", "half of it")])
    assert not doctor.examine(BUILDS | {"esbn": lost}, CPU)
    _, data, step, other = capsys.readouterr().out.splitlines()
    assert data.split() == ["FAIL", "data", "mnist/images", "(half", "of", "it)"]
    assert step.startswith("FAIL step of esbn lstm")
    assert step.endswith("is not finite")
    assert other.startswith("ok   step of scan gru_attention")


def test_missing_data_are_named_and_no_failure(monkeypatch):
    found = [("mnist/a", "missing", ""), ("mnist/b", "missing", ""), ("scan/c", "ok", "")]
    monkeypatch.setattr(doctor.datasets, "verify", lambda: found)
    assert doctor._data() == "not here: mnist; nothing needs them to start"
