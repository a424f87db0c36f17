"""The harness on a toy problem: stacked equals alone, resumed equals uninterrupted, NaN stops one run."""

import math
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from other_device import OTHER, OtherDevice
from torch import nn
from torch.nn import functional as F

from mini_lib import training
from mini_lib.devices import check_precision, pick_device, use_precision
from mini_lib.errors import CorruptFileError, UsageError
from mini_lib.progress import thin
from mini_lib.seeding import seeded, torch_rng
from mini_lib.storage import check_target, write_atomically
from mini_lib.training import TrainingRun, TrainingStack, train

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

    return TrainingRun(
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


@pytest.mark.parametrize("end", [11, 14])  # a logged update, and one between two
@pytest.mark.parametrize("stacked", [False, True])
def test_killed_and_resumed_equals_uninterrupted(stacked, end, tmp_path):
    def both():
        return [toy(s, epochs=10) for s in (1, 2)]

    whole = train(both(), stacked=stacked)
    halted = train(both(), stacked=stacked, checkpoints=tmp_path, stop=lambda u: u >= end)
    assert [run.finished for run in halted] == [False, False]
    assert [run.updates for run in halted] == [end, end]
    assert [run.metrics for run in halted] == [{}, {}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy-1.pt", "toy-2.pt"]
    resumed = train(both(), stacked=stacked, checkpoints=tmp_path)
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
def test_nan_stops_that_run_and_keeps_the_rest(stacked):
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
    with pytest.raises(CorruptFileError, match=r"toy-1\.pt is (damaged|not of toy 1); delete it"):
        train([toy(1)], checkpoints=tmp_path)


@pytest.mark.parametrize("odd", [{"hidden": 4}, {"scale": 2.0}, {"epochs": 7}])
def test_runs_that_differ_in_more_than_their_seed_are_not_stacked(odd):
    with pytest.raises(ValueError, match="differ in shape, schedule, loss or constants"):
        train([toy(1), toy(2, **odd)], stacked=True)
    assert len(train([toy(1), toy(2, **odd)], stacked=False, stop=lambda u: True)) == 2


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.bool, torch.int64])
def test_constants_of_any_type_on_any_device_decide_what_is_stacked(kind):
    def key(values, device=CPU):
        return replace(toy(1), constants={"c": torch.tensor(values, dtype=kind).to(device)}).stack_key()

    assert key([1, 0, 0]) == key([1, 0, 0]) != key([1, 1, 0])
    assert key(1) == key(1) != key([1])
    with OtherDevice():
        assert key([1, 0, 0], OTHER) == key([1, 0, 0])


def test_constants_of_equal_bytes_and_other_types_are_not_stacked():
    whole = replace(toy(1), constants={"c": torch.zeros(2, dtype=torch.int32)})
    assert whole.stack_key() != replace(whole, constants={"c": torch.zeros(2)}).stack_key()


# ---------------------------------------------------- noise, checks, optimiser, schedule, clip and report


def noisy(seed, **more):
    """The toy, its loss taking part in random numbers of each update."""
    training_run = toy(seed, epochs=10)
    plain = training_run.loss

    def loss(apply, batch):
        shaken = batch | {"x": batch["x"] + batch["noise"]["shift"], "noise": batch["noise"]["inner"]}
        return plain(apply, shaken)

    def noise(update, batch):
        rng, size = torch_rng(seed, "noise", update), len(batch["x"])
        return {"shift": torch.randn(size, 3, generator=rng), "inner": torch.randn(size, 5, generator=rng)}

    return replace(training_run, loss=loss, noise=noise, **more)


@pytest.mark.parametrize("stacked", [False, True])
def test_noise_is_a_function_of_the_update_and_as_long_as_the_batch(stacked):
    training_runs = [noisy(1), noisy(2)] if stacked else [noisy(1)]
    trainee = TrainingStack(training_runs, CPU, stacked)
    for update in (0, 1, 2, 5, 2):  # 20 examples, 8 together: the third batch has 4
        batch = trainee.batch(update)
        size = 4 if update % 3 == 2 else 8
        for i, training_run in enumerate(training_runs):
            expected = training_run.noise(update, {"x": torch.zeros(size, 1)})
            for name, value in batch["noise"].items():
                assert (value[i] if stacked else value).equal(expected[name])
    trainee.update = 7  # how far it has trained does not matter
    assert trainee.batch(2)["noise"]["shift"].equal(batch["noise"]["shift"])
    assert not trainee.batch(5)["noise"]["shift"].equal(batch["noise"]["shift"])


@pytest.mark.parametrize("stacked", [False, True])
def test_noise_reaches_the_loss(stacked):
    def heard(apply, batch):
        score = batch["noise"]["n"].mean()
        return apply(batch["x"], torch.zeros(5)).square().mean(), score

    def noise(update, batch):
        return {"n": torch.full((len(batch["x"]),), float(update))}

    training_runs = [replace(toy(seed), loss=heard, noise=noise) for seed in (1, 2)]
    for run in train(training_runs, stacked=stacked):
        assert run.curve["update"] == [1, 11, 18]
        assert run.curve["score"] == [0, 10, 17]


@pytest.mark.parametrize("stacked", [False, True])
def test_a_noisy_run_resumes_and_stacks(stacked, tmp_path):
    whole = train([noisy(1), noisy(2)])
    train([noisy(1), noisy(2)], stacked=stacked, checkpoints=tmp_path, stop=lambda u: u >= 11)
    resumed = train([noisy(1), noisy(2)], stacked=stacked, checkpoints=tmp_path)
    for one, other in zip(whole, resumed, strict=True):
        if stacked:
            torch.testing.assert_close(weights(one), weights(other), rtol=1e-4, atol=1e-5)
        else:
            assert weights(one).equal(weights(other))


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("stop", [11, 21, None])
def test_checks_happen_once_also_across_a_resume(stop, stacked, tmp_path):
    measured = []

    def both():
        def measuring(seed):
            one = toy(seed, epochs=10)
            return replace(
                one, checks=(2, 3, 7, 10), evaluate=lambda net: measured.append(seed) or one.evaluate(net)
            )

        return [measuring(1), measuring(2)]

    if stop is not None:
        first = train(both(), stacked=stacked, checkpoints=tmp_path, stop=lambda u: u >= stop)
        assert [[check["epoch"] for check in run.checks] for run in first] == 2 * [
            [2, 3] if stop == 11 else [2, 3, 7]
        ]
    runs = train(both(), stacked=stacked, checkpoints=tmp_path)
    assert sorted(measured) == [1] * 4 + [2] * 4
    for run, seed in zip(runs, (1, 2), strict=True):
        assert [check["epoch"] for check in run.checks] == [2, 3, 7, 10]
        assert run.metrics == {"mse": run.checks[-1]["mse"]}
        (shorter,) = train([toy(seed, epochs=3)])
        assert run.checks[1]["mse"] == pytest.approx(shorter.metrics["mse"], rel=1e-4)


def watched_modes(seed, **more):
    """The toy, and a list that tells of every update whether its network was in training mode."""
    training_run, modes = toy(seed), []
    plain = training_run.loss

    def loss(apply, batch):
        modes.append(training_run.model.training)
        return plain(apply, batch)

    return replace(training_run, loss=loss, **more), modes


def test_a_check_leaves_the_training_as_it_is():
    training_run, modes = watched_modes(1, checks=(1, 2, 5))
    (plain,), (checked,) = train([toy(1)]), train([training_run])
    assert weights(plain).equal(weights(checked))
    assert modes == [True] * 18


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("how", ["to the end", "stopped", "diverged"])
def test_a_network_comes_back_in_evaluation_mode(stacked, how):
    training_runs = [toy(seed, bad_epoch=0 if how == "diverged" else None) for seed in (1, 2)]
    for run in train(training_runs, stacked=stacked, stop=lambda update: how == "stopped"):
        assert (run.finished, run.diverged) == (how != "stopped", how == "diverged")
        assert not any(module.training for module in run.model.modules())


def test_a_network_that_was_trained_before_is_trained_in_training_mode():
    training_run, modes = watched_modes(1)
    (run,) = train([training_run])
    train([training_run])
    assert modes == [True] * 36
    assert len(train([replace(toy(1), model=run.model), toy(2)], stacked=True)) == 2


def test_the_report_makes_the_metrics_from_all_checks():
    def report(checks):
        return {
            "best": min(check["mse"] for check in checks),
            "epochs": sum(check["epoch"] for check in checks),
        }

    (run,) = train([replace(toy(1, epochs=6), checks=(1, 4), report=report)])
    assert run.metrics == {"best": min(check["mse"] for check in run.checks), "epochs": 1 + 4 + 6}


@pytest.mark.parametrize("stacked", [False, True])
def test_a_diverged_run_is_checked_no_more_and_reports_nothing(stacked):
    good, bad = (replace(each, checks=(1, 8)) for each in (toy(1, epochs=10), toy(2, bad_epoch=4, epochs=10)))
    good, bad = train([good, bad], stacked=stacked)
    assert [check["epoch"] for check in good.checks] == [1, 8, 10]
    assert [check["epoch"] for check in bad.checks] == [1]
    assert bad.metrics == {}


def momentum(parameters, lr):
    return torch.optim.SGD(parameters, lr=lr, momentum=0.9, nesterov=True)


def plain_descent(parameters, lr):
    return torch.optim.SGD(parameters, lr=lr)


def falling(update):
    return 0.8**update


def by_hand(training_run):
    """The training written out with PyTorch's own parts; also the norms before clipping."""
    optimiser = training_run.optimiser(training_run.model.parameters(), lr=1.0)
    norms = []
    for update in range(training_run.updates):
        epoch, place = divmod(update, training_run.updates_per_epoch)
        data = {name: value[8 * place :][:8] for name, value in training_run.epoch(epoch).items()}
        loss, _ = training_run.loss(training_run.model, data | training_run.constants)
        optimiser.zero_grad()
        loss.backward()
        limit = math.inf if training_run.clip is None else training_run.clip
        norms.append(torch.nn.utils.clip_grad_norm_(training_run.model.parameters(), limit).item())
        factor = 1 if training_run.schedule is None else training_run.schedule(update)
        optimiser.param_groups[0]["lr"] = training_run.lr * factor
        optimiser.step()
    return torch.cat([value.flatten() for value in training_run.model.state_dict().values()]), norms


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"schedule": falling},
        {"optimiser": plain_descent, "clip": 2.0},
        {"optimiser": momentum},
        {"optimiser": momentum, "schedule": falling, "clip": 2.0},
    ],
)
def test_optimiser_schedule_and_clip_do_what_pytorchs_own_do(how, stacked):
    runs = train([replace(toy(seed), **how) for seed in (1, 2)], stacked=stacked)
    for run, seed in zip(runs, (1, 2), strict=True):
        expected, norms = by_hand(replace(toy(seed), **how))
        torch.testing.assert_close(weights(run), expected, rtol=1e-4, atol=1e-5)
        if "clip" in how:
            assert min(norms) < how["clip"] < max(norms)


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("how", [{"optimiser": momentum}, {"optimiser": plain_descent, "schedule": falling}])
def test_other_optimisers_and_schedules_resume_exactly(how, stacked, tmp_path):
    def both():
        return [replace(toy(seed, epochs=10), clip=2.0, **how) for seed in (1, 2)]

    whole = train(both(), stacked=stacked)
    train(both(), stacked=stacked, checkpoints=tmp_path, stop=lambda u: u >= 11)
    resumed = train(both(), stacked=stacked, checkpoints=tmp_path)
    for one, other in zip(whole, resumed, strict=True):
        assert weights(one).equal(weights(other))
        assert one.curve == other.curve


@pytest.mark.parametrize(
    "odd", [{"clip": 1.0}, {"schedule": falling}, {"checks": (1,)}, {"optimiser": momentum}, {"lr": 0.5}]
)
def test_runs_that_are_trained_otherwise_are_not_stacked(odd):
    with pytest.raises(ValueError, match="differ in shape, schedule, loss or constants"):
        train([toy(1), replace(toy(2), **odd)], stacked=True)


class Scaled(Line):
    """The toy with a parameter that is a single number, and one that is not trained."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(0.5))
        self.fixed = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x, noise):
        return self.gain * super().forward(x * self.fixed, noise)


def scaled_toy(seed, **more):
    with seeded(seed, "scaled"):
        return replace(toy(seed), model=Scaled(), **more)


def test_single_numbers_are_clipped_in_a_stack_too():
    alone, stacked = (
        train([scaled_toy(s, clip=0.5) for s in (1, 2)], stacked=stacked) for stacked in (False, True)
    )
    for one, other in zip(alone, stacked, strict=True):
        torch.testing.assert_close(weights(one), weights(other), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stacked", [False, True])
def test_what_asks_for_no_gradient_stays_as_it_is(stacked):
    for run in train([scaled_toy(1), scaled_toy(2)], stacked=stacked):
        assert run.model.fixed.equal(torch.ones(3))


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


def precisions():
    """PyTorch's settings, newer and older ones."""
    backends = torch.backends
    newer = [part.fp32_precision for part in (backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn)]
    return newer, backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32


@pytest.fixture(params=[False, True])
def own_choice(request):
    """The user's own precision for convolutions, both ways."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = request.param
    yield precisions()
    torch.backends.cudnn.allow_tf32 = before


def test_training_on_a_cpu_leaves_the_users_precision_alone(own_choice):
    during = []
    training_run = toy(1)
    measured = training_run.evaluate
    train([replace(training_run, evaluate=lambda net: during.append(precisions()) or measured(net))])
    assert during == [own_choice]
    assert precisions() == own_choice


@pytest.mark.parametrize(("precision", "setting"), [("fp32", "ieee"), ("tf32", "tf32")])
def test_a_gpu_computes_in_the_precision_asked_for_and_then_in_the_users(precision, setting, own_choice):
    def fail():
        with use_precision(precision, torch.device("cuda")):
            backends = torch.backends
            for part in (backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn):
                assert part.fp32_precision == setting
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert precisions() == own_choice


def test_unknown_precisions_and_tf32_on_a_cpu_are_refused():
    with pytest.raises(UsageError, match="unknown precision 'bf16'"):
        check_precision("bf16", CPU)
    with pytest.raises(UsageError, match="tf32 is a precision of GPUs"):
        train([toy(1)], precision="tf32")


# ------------------------------------------------------------------- devices, with PyTorch's "meta" for a GPU


@pytest.mark.parametrize(("device", "compacted"), [("cpu", 1), ("meta", 0)])
def test_a_batch_is_compacted_on_a_cpu_only(device, compacted):
    seen = []
    training_run = replace(toy(1), dedupe_batch=lambda batch: seen.append(1) or batch)
    trainee = TrainingStack([training_run], torch.device(device), stacked=False)
    losses, _ = trainee.losses(trainee.batch(0))
    assert losses.device.type == device
    assert len(seen) == compacted


def test_a_run_says_where_it_was_trained(monkeypatch):
    monkeypatch.setattr(training, "pick_device", torch.device)
    (here,) = train([toy(1)])
    (timed,) = train([replace(toy(1), cpu_only=True)], device="meta")
    assert here.device == timed.device == CPU
    assert here.metrics == timed.metrics
    there = TrainingStack([toy(1)], torch.device("meta"), stacked=False)
    monkeypatch.setattr(
        there.base, "to", lambda device: there.base
    )  # the weights of "meta" cannot be fetched
    assert there.result(0, finished=False).device == torch.device("meta")


@pytest.mark.parametrize("how", [{"stacked": True}, {"device": "cuda"}])
def test_what_runs_on_the_cpu_only_is_trained_alone_whatever_is_asked(how, monkeypatch):
    monkeypatch.setattr(training, "pick_device", torch.device)
    made = []

    class Watched(TrainingStack):
        def __init__(self, training_runs, device, stacked):
            super().__init__(training_runs, device, stacked)
            made.append((len(training_runs), self.device, stacked))

    monkeypatch.setattr(training, "TrainingStack", Watched)
    runs = train([replace(toy(seed), cpu_only=True) for seed in (1, 2)], **how)
    assert made == [(1, CPU, False)] * 2
    for run, expected in zip(runs, train([toy(1), toy(2)]), strict=True):
        assert weights(run).equal(weights(expected))


def test_beside_what_runs_on_the_cpu_only_the_others_are_stacked(monkeypatch):
    groups = []
    made = training.TrainingStack
    monkeypatch.setattr(
        training,
        "TrainingStack",
        lambda group, *how, **more: groups.append([run.key for run in group]) or made(group, *how, **more),
    )
    train([toy(1), replace(toy(2), cpu_only=True), toy(3)], stacked=True)
    assert groups == [["toy-1", "toy-3"], ["toy-2"]]


def test_checkpoints_may_lie_in_a_folder_named_by_a_string(tmp_path):
    train([toy(1)], checkpoints=str(tmp_path), stop=lambda update: update == 4)
    (run,) = train([toy(1)], checkpoints=str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["toy-1.pt"]
    assert weights(run).equal(weights(train([toy(1)])[0]))


def test_a_checkpoint_of_an_older_version_is_named(tmp_path):
    train([toy(1)], checkpoints=tmp_path, stop=lambda update: True)
    (path,) = tmp_path.glob("*.pt")
    state = torch.load(path)
    del state["optimiser"]
    torch.save(state, path)
    with pytest.raises(CorruptFileError, match="is not of toy 1; delete it"):
        train([toy(1)], checkpoints=tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("update", 10**6),
        ("update", 18),
        ("update", -1),
        ("update", "11"),
        ("params", [1.0]),
        ("optimiser", {}),
        ("curve", None),
        ("alive", 1),
    ],
)
def test_a_checkpoint_with_another_value_is_no_finished_run(tmp_path, name, value):
    train([toy(1)], checkpoints=tmp_path, stop=lambda update: True)
    (path,) = tmp_path.glob("*.pt")
    torch.save(torch.load(path) | {name: value}, path)
    with pytest.raises(CorruptFileError, match="is not of toy 1; delete it"):
        train([toy(1)], checkpoints=tmp_path)


def test_a_checkpoint_that_is_a_list_is_named(tmp_path):
    torch.save([1, 2], tmp_path / f"{toy(1).key}.pt")
    with pytest.raises(CorruptFileError, match="is not one of a training; delete it"):
        train([toy(1)], checkpoints=tmp_path)


@pytest.mark.parametrize("last", [17, 18])
def test_a_run_that_was_stopped_at_its_end_is_tested_when_it_goes_on(tmp_path, last):
    (whole,) = train([toy(1)])
    train([toy(1)], checkpoints=tmp_path, stop=lambda update: update >= last)
    (resumed,) = train([toy(1)], checkpoints=tmp_path)
    assert resumed.metrics == whole.metrics
    assert resumed.curve == whole.curve


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder", "../" + tmp_path.name):
        for attempt in (check_target, lambda path: write_atomically(path, Path.touch)):
            with pytest.raises(OSError, match=r"could not write .*is no file .*Name another place"):
                attempt(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "link", "pipe"]


def test_a_target_is_tried_before_it_is_needed(tmp_path):
    (tmp_path / "file").touch()
    check_target(tmp_path / "new" / "file")
    assert list((tmp_path / "new").iterdir()) == []
    for path in (tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        with pytest.raises(OSError, match=r"could not write .*Name another place"):
            check_target(path)


# ------------------------------------------------------------------------------ what a GPU is spared


def test_noise_may_lie_on_the_device_of_the_batch_already():
    def noise(update, batch):
        return {"n": torch.ones(len(batch["x"]), device=batch["x"].device)}

    training_run = replace(toy(1), noise=noise)
    with OtherDevice():
        stack = TrainingStack([training_run], OTHER, stacked=False)
        stack.batch(0)
    with OtherDevice(waits=False):
        assert stack.batch(0)["noise"]["n"].device == OTHER


def test_the_next_epoch_is_drawn_ahead():
    drawn = []
    training_run = toy(1, epochs=3)
    examples = training_run.epoch
    plain = TrainingStack([training_run], CPU, stacked=False)
    ahead = TrainingStack(
        [replace(training_run, epoch=lambda e: drawn.append(e) or examples(e))], CPU, stacked=False
    )
    ahead.drawer = ThreadPoolExecutor(1)
    for update in (0, 1, 3, 8, 0):  # in order, with a leap, and back
        batch = ahead.batch(update)
        ahead.drawer.submit(int).result()  # the drawing before it has ended
        assert all(value.equal(batch[name]) for name, value in plain.batch(update).items())
    assert drawn == [0, 1, 2, 0, 1]


@pytest.fixture
def drawing_ahead(monkeypatch):
    """Stacks that draw ahead, as on a GPU; weak references to them, and their drawers."""
    made = []

    class Ahead(TrainingStack):
        def __init__(self, *how, **more):
            super().__init__(*how, **more)
            self.drawer = ThreadPoolExecutor(1)
            made.append((weakref.ref(self), self.drawer))

    monkeypatch.setattr(training, "TrainingStack", Ahead)
    return made


@pytest.mark.parametrize("stacked", [False, True])
def test_a_stack_that_fails_while_the_next_epoch_is_drawn_is_free_at_once(stacked, drawing_ahead):
    begun, go_on = threading.Event(), threading.Event()

    def slow(seed):
        training_run = toy(seed)

        def epoch(e):
            if e == 1:
                begun.set()
                assert go_on.wait(60)
            return training_run.epoch(e)

        def full(apply, batch):
            assert begun.wait(60)
            raise torch.OutOfMemoryError("CUDA out of memory")

        return replace(training_run, epoch=epoch, loss=full)

    try:
        with suppress(torch.OutOfMemoryError):  # pytest.raises would hold the error, and so the stack
            train([slow(1), slow(2)][: 1 + stacked], stacked=stacked)
        ((stack, drawer),) = drawing_ahead
        assert stack() is None
        with pytest.raises(RuntimeError, match="after shutdown"):
            drawer.submit(int)
    finally:
        go_on.set()


@pytest.mark.parametrize("stop", [4, 99])
def test_no_epoch_is_drawn_after_the_training(stop, drawing_ahead):
    (run,) = train([toy(1)], stop=lambda update: update == stop)
    assert run.curve == train([toy(1)], stop=lambda update: update == stop)[0].curve
    for _, drawer in drawing_ahead:
        with pytest.raises(RuntimeError, match="after shutdown"):
            drawer.submit(int)


def test_a_checkpoint_of_a_stack_holds_one_network(tmp_path):
    sizes = []
    for stacked in (False, True):
        train(
            [toy(s, hidden=500) for s in (1, 2, 3)],
            stacked=stacked,
            checkpoints=tmp_path,
            stop=lambda u: True,
        )
        sizes.append((tmp_path / "toy-1.pt").stat().st_size)
    assert sizes[1] == pytest.approx(sizes[0], rel=0.1)


def test_a_stack_is_copied_once_for_all_checkpoints(tmp_path, monkeypatch):
    stack, copies = TrainingStack([toy(s) for s in (1, 2, 3)], CPU, stacked=True), []
    stack.step(stack.batch(0))
    copy = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda tensor: copies.append(tensor) or copy(tensor))
    stack.save(tmp_path)
    assert len(copies) == 3 * len(stack.params)  # a parameter, and Adam's two means
    assert len(list(tmp_path.iterdir())) == 3


def test_losses_are_read_back_only_where_they_are_logged(monkeypatch):
    stack, read = TrainingStack([toy(1, epochs=10)], CPU, stacked=False), []
    log = stack.log
    monkeypatch.setattr(stack, "log", lambda *values: read.append(stack.update) or log(*values))
    stack.run(None, lambda update: False, lambda update: None)
    assert read == [1, 11, 21, 30]
