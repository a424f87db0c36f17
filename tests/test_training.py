"""The harness on a toy problem: stacked equals alone, resumed equals uninterrupted, NaN stops one replica."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mini_lib.devices import pick_device, set_precision
from mini_lib.errors import Damaged, WrongUse
from mini_lib.progress import thin
from mini_lib.seeding import seeded, torch_rng
from mini_lib.storage import write_atomically
from mini_lib.training import Replica, train

CPU = torch.device("cpu")


class Line(nn.Module):
    def __init__(self, hidden=5):
        super().__init__()
        self.hidden, self.out = nn.Linear(3, hidden), nn.Linear(hidden, 1)
        self.register_buffer("offset", torch.rand(1))

    def forward(self, x, noise):
        return self.out(torch.tanh(self.hidden(x) + 0.1 * noise))[..., 0] + self.offset


def toy(seed, *, bad_epoch=None, epochs=6, hidden=5, scale=1.0):
    with seeded(seed, "weights"):
        model = Line(hidden)

    def epoch(e):
        x = torch.randn(20, 3, generator=torch_rng(seed, "x", e))
        y = x.sum(dim=1) * (math.nan if e == bad_epoch else 1.0)
        return {"x": x, "y": y, "noise": torch.randn(20, hidden, generator=torch_rng(seed, "noise", e))}

    def loss(apply, batch):
        error = F.mse_loss(apply(batch["x"], batch["noise"]) * batch["scale"], batch["y"])
        return error, 100 - error

    def evaluate(net):
        x = torch.randn(50, 3, generator=torch_rng(seed, "test"))
        return {"mse": F.mse_loss(net(x, torch.zeros(50, hidden)), x.sum(dim=1)).item()}

    return Replica(
        key=f"toy-{seed}",
        name=f"toy {seed}",
        model=model,
        epoch=epoch,
        examples=20,
        batch_size=8,
        epochs=epochs,
        lr=1e-2,
        loss=loss,
        evaluate=evaluate,
        constants={"scale": torch.tensor(scale)},
    )


def weights(run):
    return torch.cat([value.flatten() for value in run.model.state_dict().values()])


def test_training_reduces_the_loss_and_counts_updates():
    (run,) = train([toy(1, epochs=30)])
    assert run.finished
    assert not run.diverged
    assert run.updates == 90
    assert run.curve["update"][:3] == [1, 11, 21]
    assert run.curve["update"][-1] == 90
    assert run.curve["loss"][-1] < run.curve["loss"][0] / 2
    assert run.metrics["mse"] < 2


def test_stacked_equals_alone():
    alone = train([toy(s) for s in (1, 2, 3)], stacked=False)
    stacked = train([toy(s) for s in (1, 2, 3)], stacked=True)
    for one, many in zip(alone, stacked, strict=True):
        assert one.name == many.name
        torch.testing.assert_close(weights(one), weights(many))
        assert one.curve["update"] == many.curve["update"]
        assert one.curve["loss"] == pytest.approx(many.curve["loss"], rel=1e-4)
        assert one.metrics["mse"] == pytest.approx(many.metrics["mse"], rel=1e-4)
    assert not torch.allclose(weights(alone[0]), weights(alone[1]))


@pytest.mark.parametrize("stacked", [False, True])
def test_killed_and_resumed_equals_uninterrupted(stacked, tmp_path):
    def replicas():
        return [toy(s, epochs=10) for s in (1, 2)]

    whole = train(replicas(), stacked=stacked)
    halted = train(replicas(), stacked=stacked, checkpoints=tmp_path, stop=lambda u: u >= 11)
    assert [run.finished for run in halted] == [False, False]
    assert [run.updates for run in halted] == [11, 11]
    assert [run.metrics for run in halted] == [{}, {}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy-1.pt", "toy-2.pt"]
    resumed = train(replicas(), stacked=stacked, checkpoints=tmp_path)
    for one, other in zip(whole, resumed, strict=True):
        assert weights(one).equal(weights(other))
        assert (one.curve, one.metrics, one.updates) == (other.curve, other.metrics, other.updates)


def test_what_was_stopped_in_one_stack_goes_on_alone_or_in_another(tmp_path):
    whole = train([toy(s, epochs=10) for s in (1, 2, 3)])
    train([toy(1, epochs=10), toy(2, epochs=10)], stacked=True, checkpoints=tmp_path, stop=lambda u: u >= 11)
    told = []
    others = train(
        [toy(s, epochs=10) for s in (2, 3)], stacked=True, checkpoints=tmp_path, progress=told.append
    )
    alone = train([toy(1, epochs=10)], checkpoints=tmp_path)
    assert told[0] == 11
    for one, other in zip(whole, alone + others, strict=True):
        torch.testing.assert_close(weights(one), weights(other), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stacked", [False, True])
def test_nan_stops_that_replica_and_keeps_the_rest(stacked):
    good, bad = train([toy(1, epochs=10), toy(2, bad_epoch=4, epochs=10)], stacked=stacked)
    assert good.finished
    assert not good.diverged
    assert math.isfinite(good.metrics["mse"])
    assert bad.finished
    assert bad.diverged
    assert bad.metrics == {}
    assert bad.updates == bad.curve["update"][-1] < good.updates == 30
    assert math.isnan(bad.curve["loss"][-1])
    torch.testing.assert_close(weights(good), weights(train([toy(1, epochs=10)])[0]))


@pytest.mark.parametrize("damage", ["another run", "another network", "bytes", "something else"])
def test_a_checkpoint_that_is_not_this_runs_is_named(damage, tmp_path):
    path = tmp_path / "toy-1.pt"
    train([toy(2, hidden=4 if damage == "another network" else 5)], checkpoints=tmp_path, stop=lambda u: True)
    state = torch.load(tmp_path / "toy-2.pt")
    if damage == "another network":
        state["key"] = "toy-1"
    if damage == "something else":
        state = {"epoch": 3}
    torch.save(state, path)
    if damage == "bytes":
        path.write_bytes(b"not a checkpoint")
    with pytest.raises(Damaged, match=r"toy-1\.pt is (damaged|not of toy 1); delete it"):
        train([toy(1)], checkpoints=tmp_path)


@pytest.mark.parametrize("odd", [{"hidden": 4}, {"scale": 2.0}, {"epochs": 7}])
def test_replicas_that_differ_in_more_than_their_seed_are_not_stacked(odd):
    with pytest.raises(ValueError, match="differ in shape, schedule, loss or constants"):
        train([toy(1), toy(2, **odd)], stacked=True)
    assert len(train([toy(1), toy(2, **odd)], stacked=False, stop=lambda u: True)) == 2


def test_a_full_disk_is_reported_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "run.pt"
    path.write_text("old")

    def fails(temporary):
        temporary.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="Free some disk space and run the same command again"):
        write_atomically(path, fails)
    assert [p.name for p in tmp_path.iterdir()] == ["run.pt"]
    assert path.read_text() == "old"


def test_progress_is_told_of_every_update_once(tmp_path):
    told = []
    train([toy(1)], progress=told.append)
    assert sum(told) == 18
    train([toy(1)], checkpoints=tmp_path, stop=lambda u: u >= 11)
    told.clear()
    train([toy(1)], checkpoints=tmp_path, progress=told.append)
    assert (told[0], sum(told)) == (11, 18)


def test_thinning_keeps_the_head_and_averages_the_rest():
    curve = thin([(i, 2.0 * i, 50.0) for i in range(350)])
    assert curve["update"][:150] == list(range(150))
    assert len(curve["update"]) == 150 + 100
    assert curve["update"][150] == round(150.5)
    assert curve["loss"][150] == pytest.approx(150 + 151)
    assert thin([]) == {"update": [], "loss": [], "score": []}


def test_absent_and_unknown_devices_are_refused():
    assert pick_device("cpu").type == "cpu"
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(ValueError, match="unknown device 'gpu'; use auto, cpu or cuda"):
        pick_device("gpu")
    with pytest.raises(ValueError, match=r"device 'cuda:99' is not there: PyTorch sees \d+ GPUs"):
        pick_device("cuda:99")
    with pytest.raises(ValueError, match="device 'meta' is not supported"):
        pick_device("meta")


def test_precision_is_full_unless_asked():
    try:
        set_precision("tf32", torch.device("cuda"))
        assert torch.backends.cuda.matmul.allow_tf32
        assert torch.backends.cudnn.allow_tf32
    finally:
        set_precision("fp32", CPU)
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32
    with pytest.raises(ValueError, match="unknown precision 'bf16'"):
        set_precision("bf16", CPU)
    with pytest.raises(WrongUse, match="tf32 is a precision of GPUs"):
        train([toy(1)], precision="tf32")
