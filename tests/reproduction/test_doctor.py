"""`mini-lib doctor`: a line for each thing that works, and exit status 1 if one does not."""

import json
import subprocess
import sys

import pytest
import torch

from mini_lib.reproduction import cli, doctor

BUILD = {paper: cli.package(paper).build for paper in cli.PAPERS}
CPU = torch.device("cpu")
FEW = {name: doctor.TINY[name] for name in ("esbn lstm", "scan gru_attention")}


@pytest.fixture
def few(monkeypatch, tmp_path):
    """Two networks are enough, and the numbers of this machine are kept elsewhere."""
    monkeypatch.setattr(doctor, "TINY", FEW)
    stored = {name: json.loads(doctor.STORED.read_text())[name] for name in FEW}
    monkeypatch.setattr(doctor, "STORED", tmp_path / "doctor.json")
    doctor.STORED.write_text(json.dumps(stored))
    return doctor.STORED


def test_numbers_of_every_network_are_stored():
    assert json.loads(doctor.STORED.read_text()).keys() == doctor.TINY.keys()


@pytest.mark.slow
def test_every_network_makes_the_step_that_is_stored():
    stored = json.loads(doctor.STORED.read_text())
    for name, settings in doctor.TINY.items():
        numbers = doctor.step_numbers(cli.package(settings["paper"]).build(settings, 1), CPU)
        assert numbers == pytest.approx(stored[name], rel=doctor.TOLERANCE["cpu"]), name


@pytest.mark.slow
def test_it_says_ok_of_everything_that_works(few, capsys):
    assert doctor.run(BUILD, {"esbn, small": FEW["esbn lstm"]}, CPU)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok ") for line in lines)
    for name in ("python", "torch", "device", "precision", "data", *(f"step of {name}" for name in FEW)):
        assert any(line.split(maxsplit=1)[1].startswith(name) for line in lines), name
    assert "ms an update alone" in lines[-1]
    assert "in a stack of 4" in lines[-1]


def test_what_fails_is_named_and_the_rest_is_examined(few, capsys, monkeypatch):
    numbers = json.loads(few.read_text())
    few.write_text(json.dumps(numbers | {"esbn lstm": [1.0, 2.0, 3.0]}))
    monkeypatch.setattr(doctor.datasets, "verify", lambda: [("mnist/images", "damaged", "half of it")])
    assert not doctor.run(BUILD, {}, CPU)
    lines = {line.split(maxsplit=1)[1]: line for line in capsys.readouterr().out.splitlines()}
    failed = [text for text, line in lines.items() if line.startswith("FAIL")]
    assert len(failed) == 2
    assert failed[0].startswith("data")
    assert "mnist/images (half of it)" in failed[0]
    assert failed[1].startswith("step of esbn lstm")
    assert any(text.startswith("step of scan") and line.startswith("ok") for text, line in lines.items())


def test_a_product_in_less_than_full_precision_fails(few, capsys, monkeypatch):
    exact = torch.Tensor.__matmul__

    def product(a, b):
        coarse = a.dtype == torch.float32
        return exact(a.bfloat16(), b.bfloat16()).to(a.dtype) if coarse else exact(a, b)

    monkeypatch.setattr(torch.Tensor, "__matmul__", product)
    assert not doctor.run({}, {}, CPU)
    assert "FAIL precision" in capsys.readouterr().out


def test_numbers_are_stored_on_demand(few):
    few.unlink()
    assert doctor.run(BUILD, {}, CPU, store=True)
    stored = json.loads(few.read_text())
    assert stored.keys() == FEW.keys()
    assert all(len(numbers) == 3 for numbers in stored.values())


@pytest.mark.parametrize("works", [True, False])
def test_the_command_ends_with_1_if_something_fails(works, monkeypatch):
    asked = []
    monkeypatch.setattr(doctor, "run", lambda *given: asked.append(given) or works)
    monkeypatch.setattr("sys.argv", ["mini-lib", "doctor", "--device", "cpu"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == (0 if works else 1)
    builds, full_size, device, store = asked[0]
    assert {settings["paper"] for settings in full_size.values()} == set(cli.PAPERS)
    assert {settings["paper"] for settings in doctor.TINY.values()} == set(builds)
    assert (device, store) == (CPU, False) or torch.cuda.is_available()


@pytest.mark.slow
def test_it_needs_none_of_the_developers_tools():
    tools = "pytest hypothesis beartype yaml nbformat nbclient nbval playwright jupyter".split()
    code = f"import sys; sys.modules.update(dict.fromkeys({tools}))\nfrom mini_lib.reproduction import cli, doctor"
    subprocess.run([sys.executable, "-c", code], check=True)
