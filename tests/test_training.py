"""The harness on a toy problem: stacked equals alone, resumed equals uninterrupted, NaN stops one replica."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mini_lib.seeding import seeded, torch_rng
from mini_lib.storage import write_atomically
from mini_lib.training import Replica, pick_device, set_precision, thin, train


class Line(nn.Module):
    def __init__(self, hidden=5):
        super().__init__()
        self.hidden, self.out = nn.Linear(3, hidden), nn.Linear(hidden, 1)
        self.register_buffer("offset", torch.rand(1))

    def forward(self, x, noise):
        return self.out(torch.tanh(self.hidden(x) + 0.1 * noise))[..., 0] + self.offset


def toy(seed, *, bad_epoch=None, epochs=6, hidden=5, name="toy"):
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
        name=f"{name} {seed}",
        model=model,
        epoch=epoch,
        examples=20,
        batch_size=8,
        epochs=epochs,
        lr=1e-2,
        loss=loss,
        evaluate=evaluate,
        constants={"scale": torch.ones(())},
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
    seeds = (1, 2) if stacked else (1,)
    whole = train([toy(s, epochs=10) for s in seeds], stacked=stacked)
    path = tmp_path / "run.pt"
    halted = train(
        [toy(s, epochs=10) for s in seeds], stacked=stacked, checkpoint=path, stop=lambda u: u >= 11
    )
    assert [run.finished for run in halted] == [False] * len(seeds)
    assert halted[0].updates == 11
    assert halted[0].metrics == {}
    resumed = train([toy(s, epochs=10) for s in seeds], stacked=stacked, checkpoint=path)
    for one, other in zip(whole, resumed, strict=True):
        assert weights(one).equal(weights(other))
        assert (one.curve, one.metrics, one.updates) == (other.curve, other.metrics, other.updates)


def test_each_replica_trained_in_turn_has_its_own_checkpoint(tmp_path):
    train([toy(1), toy(2)], stacked=False, checkpoint=tmp_path / "run.pt", stop=lambda u: True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.0.pt", "run.1.pt"]


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


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "run.pt"
    train([toy(1)], checkpoint=path, stop=lambda u: True)
    with pytest.raises(ValueError, match=r"is of \['toy 1'\], not of \['toy 2'\]; delete it"):
        train([toy(2)], checkpoint=path)


def test_a_damaged_checkpoint_is_named(tmp_path):
    path = tmp_path / "run.pt"
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(ValueError, match=r"run\.pt is damaged; delete it"):
        train([toy(1)], checkpoint=path)


def test_unequal_replicas_are_not_stacked():
    with pytest.raises(ValueError, match="differ in shape or schedule and cannot be stacked"):
        train([toy(1), toy(2, hidden=4)], stacked=True)
    assert len(train([toy(1, epochs=1), toy(2, hidden=4, epochs=1)], stacked=False)) == 2


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
    path = tmp_path / "run.pt"
    train([toy(1)], checkpoint=path, stop=lambda u: u >= 11)
    told.clear()
    train([toy(1)], checkpoint=path, progress=told.append)
    assert (told[0], sum(told)) == (11, 18)


def test_thinning_keeps_the_head_and_averages_the_rest():
    curve = thin([(i, 2.0 * i, 50.0) for i in range(350)])
    assert curve["update"][:100] == list(range(100))
    assert len(curve["update"]) == 100 + 84
    assert curve["update"][100] == 101
    assert curve["loss"][100] == pytest.approx(2 * (100 + 101 + 102) / 3)
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
        set_precision("tf32")
        assert torch.backends.cuda.matmul.allow_tf32
        assert torch.backends.cudnn.allow_tf32
    finally:
        set_precision("fp32")
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32
    with pytest.raises(ValueError, match="unknown precision 'bf16'"):
        set_precision("bf16")
