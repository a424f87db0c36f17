"""The harness on a toy problem: stacked equals alone, resumed equals uninterrupted, NaN stops one run."""

import math
import signal
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from other_device import OTHER, OtherDevice
from torch import nn
from torch.nn import functional as F

from mini_lib import training
from mini_lib.errors import CorruptFileError, UsageError
from mini_lib.seeding import seeded, torch_rng
from mini_lib.training import TrainingRun, TrainingStack, train

CPU = torch.device("cpu")


class Line(nn.Module):
    def __init__(self, hidden=5):
        super().__init__()
        self.hidden, self.out = nn.Linear(3, hidden), nn.Linear(hidden, 1)
        self.register_buffer("offset", torch.rand(1))

    def forward(self, x, noise):
        return self.out(torch.tanh(self.hidden(x) + 0.1 * noise))[..., 0] + self.offset

    def shifted(self, x, noise, by):
        return self(x, noise) + by


def toy(seed, *, bad_epoch=None, epochs=6, hidden=5, scale=1.0, **more):
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

    own = {"model": model, "epoch": epoch, "examples": 20, "batch_size": 8, "epochs": epochs, "lr": 1e-2}
    own |= {"loss": loss, "evaluate": evaluate, "constants": {"scale": torch.tensor(scale)}}
    own |= {"stack": ("toy", scale)}
    return TrainingRun(key=f"toy-{seed}", name=f"toy {seed}", **own | more)


def noisy(seed, epochs=10, **more):
    """The toy, its loss taking part in random numbers of each update."""
    run = toy(seed, epochs=epochs)
    plain = run.loss

    def loss(apply, batch):
        shaken = batch | {"x": batch["x"] + batch["noise"]["shift"], "noise": batch["noise"]["inner"]}
        return plain(apply, shaken)

    def noise(update, batch):
        rng, size = torch_rng(seed, "noise", update), len(batch["x"])
        return {"shift": torch.randn(size, 3, generator=rng), "inner": torch.randn(size, 5, generator=rng)}

    return replace(run, loss=loss, noise=noise, **more)


def momentum(parameters, lr):
    return torch.optim.SGD(parameters, lr=lr, momentum=0.9, nesterov=True)


def descent(parameters, lr):
    return torch.optim.SGD(parameters, lr=lr)


def falling(update):
    return 0.8**update


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


@pytest.mark.parametrize("make", [toy, noisy])
def test_stacked_equals_alone(make):
    alone, stacked = (train([make(s) for s in (1, 2, 3)], stacked=stacked) for stacked in (False, True))
    for one, many in zip(alone, stacked, strict=True):
        assert one.name == many.name
        torch.testing.assert_close(weights(one), weights(many), rtol=1e-4, atol=1e-5)
        assert one.curve["update"] == many.curve["update"]
        assert one.curve["loss"] == pytest.approx(many.curve["loss"], rel=1e-4)
        assert one.metrics["mse"] == pytest.approx(many.metrics["mse"], rel=1e-4)
    assert not torch.allclose(weights(alone[0]), weights(alone[1]))


def test_what_was_stopped_in_one_stack_goes_on_alone_or_in_another(tmp_path):
    whole = train([toy(s, epochs=10) for s in (1, 2, 3)])
    train([toy(1, epochs=10), toy(2, epochs=10)], stacked=True, checkpoints=tmp_path, stop=lambda u: u >= 11)
    told, told_alone = [], []
    others = train(
        [toy(s, epochs=10) for s in (2, 3)], stacked=True, checkpoints=tmp_path, progress=told.append
    )
    alone = train([toy(1, epochs=10)], checkpoints=tmp_path, progress=told_alone.append)
    total = whole[0].updates
    assert sum(told) == (total - 11) + total  # seed 2 goes on, seed 3 begins
    assert sum(told_alone) == total - 11
    for one, other in zip(whole, alone + others, strict=True):
        torch.testing.assert_close(weights(one), weights(other), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stacked", [False, True])
def test_nan_stops_that_run_and_keeps_the_rest(stacked):
    runs = toy(1, epochs=10), toy(2, bad_epoch=4, epochs=10)
    good, bad = train([replace(run, checks=(1, 8)) for run in runs], stacked=stacked)
    assert (good.finished, good.diverged, bad.finished, bad.diverged) == (True, False, True, True)
    assert math.isfinite(good.metrics["mse"])
    assert bad.metrics == {}
    assert [[check["epoch"] for check in run.checks] for run in (good, bad)] == [[1, 8, 10], [1]]
    assert bad.updates == bad.curve["update"][-1] < good.updates == 30
    assert math.isnan(bad.curve["loss"][-1])
    torch.testing.assert_close(weights(good), weights(train([toy(1, epochs=10)])[0]))


@pytest.mark.parametrize(
    "other",
    [
        *({"hidden": 4}, {"scale": 2.0}, {"epochs": 7}, {"clip": 1.0}, {"lr": 0.5}, {"checks": (1,)}),
        *({"optimizer": momentum}, {"stack": None}, {"schedule": falling}),
        *({"loss": lambda model, batch: (model(batch["x"], batch["noise"]).sum(), batch["x"].sum())},),
        *({"optimizer": partial(descent)}, {"optimizer": partial(momentum, lr=2.0)}),
    ],
)
def test_runs_that_differ_in_more_than_their_seed_are_trained_alone(other):
    assert toy(1).stack_key() == toy(3).stack_key() != toy(2, **other).stack_key()
    stacked, alone = (train([toy(1), toy(2, **other)], stacked=how) for how in (True, False))
    for one, run in zip(stacked, alone, strict=True):
        assert weights(one).equal(weights(run))


def test_a_stack_asks_the_network_for_its_methods():
    def method(model, batch):
        plain = model(batch["x"], batch["noise"])
        assert model.hidden.out_features == 5
        off = (model.shifted(batch["x"], batch["noise"], by=1.0) - plain - 1).abs().max()
        return plain.square().mean(), off

    def parts(model, batch):
        return model.out(model.hidden(batch["x"])).square().mean(), batch["x"].sum()

    def penalty(model, batch):
        return sum(p.square().sum() for p in model.parameters()), model.hidden.weight.sum()

    for loss in (parts, penalty):
        alone, stacked = (train([toy(s, loss=loss) for s in (1, 2)], stacked=how) for how in (False, True))
        for one, many in zip(alone, stacked, strict=True):
            torch.testing.assert_close(weights(one), weights(many), rtol=1e-4, atol=1e-5)
    for run in train([toy(seed, loss=method) for seed in (1, 2)], stacked=True):
        assert max(run.curve["score"]) < 1e-5
        (alone,) = train([toy(int(run.key[-1]), loss=method)])
        torch.testing.assert_close(weights(run), weights(alone), rtol=1e-4, atol=1e-5)


# ------------------------------------------------------------------------------------------------ resuming


@pytest.mark.parametrize("end", [11, 14])  # a logged update, and one between two
@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        toy,
        noisy,
        partial(toy, clip=2.0, optimizer=momentum),
        partial(toy, optimizer=descent, schedule=falling),
    ],
    ids=["Adam", "noise", "momentum", "schedule"],
)
def test_killed_and_resumed_equals_uninterrupted(make, stacked, end, tmp_path):
    def runs():
        return [make(seed, epochs=10) for seed in (1, 2)]

    whole = train(runs(), stacked=stacked)
    folder = str(tmp_path)  # a path will do as well
    halted = train(runs(), stacked=stacked, checkpoints=folder, stop=lambda u: u >= end)
    assert [(run.finished, run.updates, run.metrics) for run in halted] == 2 * [(False, end, {})]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy-1.pt", "toy-2.pt"]
    resumed = train(runs(), stacked=stacked, checkpoints=tmp_path)
    for one, other in zip(whole, resumed, strict=True):
        assert weights(one).equal(weights(other))
        assert (one.curve, one.metrics, one.updates) == (other.curve, other.metrics, other.updates)


class Late(Line):
    """The toy with running means, and a layer that gets gradients late: Adam counts its own steps."""

    def __init__(self):
        super().__init__()
        self.norm, self.late = nn.BatchNorm1d(3), nn.Linear(3, 1)
        self.calls = 0

    def forward(self, x, noise):
        found = super().forward(self.norm(x), noise)
        return found + self.late(x)[..., 0] if noise.mean() > 0 else found


def test_running_means_and_each_parameters_steps_are_resumed(tmp_path):
    def late():
        with seeded(3, "late"):
            return toy(3, epochs=10, model=Late())

    (whole,) = train([late()])
    for end in (5, 14):
        train([late()], checkpoints=tmp_path, stop=lambda update, end=end: update == end)
    (resumed,) = train([late()], checkpoints=tmp_path)
    assert weights(whole).equal(weights(resumed))


def test_numbers_of_numpy_do_not_spoil_a_checkpoint(tmp_path):
    def run():
        numbers = {"lr": np.float64(0.01), "batch_size": np.int64(8), "checks": (np.int64(2),)}
        return toy(1, evaluate=lambda net: {"mse": np.mean([1.0, 2.0])}, **numbers)

    train([run()], checkpoints=tmp_path, stop=lambda update: update == 10)
    assert train([run()], checkpoints=tmp_path)[0].metrics == {"mse": 1.5}


def cannot_test(model):
    raise RuntimeError("killed in its test")


@pytest.mark.parametrize("stacked", [False, True])
def test_a_run_that_is_killed_in_its_test_needs_no_update_again(stacked, tmp_path, monkeypatch):
    with pytest.raises(RuntimeError, match="killed in its test"):
        train([toy(1, evaluate=cannot_test), toy(2)], stacked=stacked, checkpoints=tmp_path)
    whole = train([toy(1)])[0]
    monkeypatch.setattr(TrainingStack, "step", None)
    again = train([toy(1)], checkpoints=tmp_path)[0]
    assert (again.finished, again.updates) == (True, whole.updates)
    assert again.metrics == pytest.approx(whole.metrics)


@pytest.mark.parametrize("stacked", [False, True])
def test_the_checkpoint_of_a_finished_run_stays_only_where_the_caller_asks_for_it(stacked, tmp_path):
    train([toy(1), toy(2)], stacked=stacked, checkpoints=tmp_path, keep_finished=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy-1.pt", "toy-2.pt"]
    train([toy(1), toy(2)], stacked=stacked, checkpoints=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_run_whose_last_checkpoint_cannot_be_written_gives_its_results(tmp_path, monkeypatch):
    def full(path, write):
        raise OSError("no space")

    monkeypatch.setattr("mini_lib.training.write_atomically", full)
    assert train([toy(1)], checkpoints=tmp_path)[0].metrics == train([toy(1)])[0].metrics


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda state: state["plan"].update(key="toy-2"), "is of a run with another key; delete it"),
        (lambda state: state["plan"].pop("lr"), "is of a run with another lr; delete it"),
        (lambda state: state.pop("optimizer"), "is not of toy 1; delete it"),
        (lambda state: state.pop("plan"), "is not of toy 1; delete it"),
        (lambda state: [1, 2], "is damaged; delete it"),
        (lambda state: b"not a checkpoint", "is damaged; delete it"),
    ],
)
def test_a_checkpoint_that_is_not_the_runs_is_named(damage, message, tmp_path):
    path = tmp_path / "toy-1.pt"
    train([toy(1)], checkpoints=tmp_path, stop=lambda update: True)
    state = torch.load(path)
    other = damage(state)
    if isinstance(other, bytes):
        path.write_bytes(other)
    else:
        torch.save(other if isinstance(other, list) else state, path)
    with pytest.raises(CorruptFileError, match=rf"toy-1\.pt {message}"):
        train([toy(1)], checkpoints=tmp_path)
    with pytest.raises(CorruptFileError, match="toy-1"):
        train([toy(1, hidden=4)], checkpoints=tmp_path)


# ---------------------------------------------------- noise, checks, optimizer, schedule, clip and report


@pytest.mark.parametrize("stacked", [False, True])
def test_noise_is_a_function_of_the_update_and_as_long_as_the_batch(stacked):
    runs = [noisy(1), noisy(2)] if stacked else [noisy(1)]
    trainee = TrainingStack(runs, CPU, stacked)
    for update in (0, 1, 2, 5, 2):  # 20 examples, 8 together: the third batch has 4
        batch = trainee.batch(update)
        size = 4 if update % 3 == 2 else 8
        for i, run in enumerate(runs):
            expected = run.noise(update, {"x": torch.zeros(size, 1)})
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

    runs = [replace(toy(seed), loss=heard, noise=noise) for seed in (1, 2)]
    for run in train(runs, stacked=stacked):
        assert run.curve["update"] == [1, 11, 18]
        assert run.curve["score"] == [0, 10, 17]


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("stop", [11, 21, None])
def test_checks_happen_once_also_across_a_resume(stop, stacked, tmp_path):
    measured = []

    def runs():
        both = [toy(seed, epochs=10, checks=(2, 3, 7, 10)) for seed in (1, 2)]
        tests = [run.evaluate for run in both]
        told = [lambda net, i=i: measured.append(i + 1) or tests[i](net) for i in (0, 1)]
        return [replace(run, evaluate=evaluate) for run, evaluate in zip(both, told, strict=True)]

    if stop is not None:
        first = train(runs(), stacked=stacked, checkpoints=tmp_path, stop=lambda u: u >= stop)
        done = [2, 3] if stop == 11 else [2, 3, 7]
        assert [[check["epoch"] for check in run.checks] for run in first] == [done, done]
    measured_runs = train(runs(), stacked=stacked, checkpoints=tmp_path)
    assert sorted(measured) == [1] * 4 + [2] * 4
    for run, seed in zip(measured_runs, (1, 2), strict=True):
        assert [check["epoch"] for check in run.checks] == [2, 3, 7, 10]
        assert run.metrics == {"mse": run.checks[-1]["mse"]}
        (shorter,) = train([toy(seed, epochs=3)])
        assert run.checks[1]["mse"] == pytest.approx(shorter.metrics["mse"], rel=1e-4)


def watched_modes(seed, **more):
    """The toy, and a list that tells of every update whether its network was in training mode."""
    run, modes = toy(seed), []
    plain = run.loss

    def loss(apply, batch):
        modes.append(run.model.training)
        return plain(apply, batch)

    return replace(run, loss=loss, **more), modes


def test_a_check_leaves_the_training_as_it_is():
    run, modes = watched_modes(1, checks=(1, 2, 5))
    (plain,), (checked,) = train([toy(1)]), train([run])
    assert weights(plain).equal(weights(checked))
    assert modes == [True] * 18


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("how", ["to the end", "stopped", "diverged"])
def test_a_network_comes_back_in_evaluation_mode(stacked, how):
    runs = [toy(seed, bad_epoch=0 if how == "diverged" else None) for seed in (1, 2)]
    for run in train(runs, stacked=stacked, stop=lambda update: how == "stopped"):
        assert (run.finished, run.diverged) == (how != "stopped", how == "diverged")
        assert not any(module.training for module in run.model.modules())


def test_a_network_that_was_trained_before_is_trained_in_training_mode():
    watched, modes = watched_modes(1)
    (run,) = train([watched])
    train([replace(watched, model=run.model)])
    assert modes == [True] * 36
    assert len(train([replace(toy(1), model=run.model), toy(2)], stacked=True)) == 2


def test_a_run_is_trained_once_or_resumed(tmp_path):
    run = toy(1)
    train([run], checkpoints=tmp_path, stop=lambda update: update == 5)
    resumed = train([run], checkpoints=tmp_path)[0]
    assert weights(resumed).equal(weights(train([toy(1)])[0]))
    with pytest.raises(UsageError, match="the network of toy 1 has been trained before; build the run again"):
        train([run])
    fresh = toy(2)
    with pytest.raises(UsageError, match="tf32 is a precision of GPUs"):
        train([fresh], precision="tf32")  # which is no training
    with pytest.raises(UsageError, match="two of these runs have the same network"):
        train([fresh, replace(fresh, key="other", lr=1e-3)])
    assert train([fresh])[0].precision == "fp32"


def test_the_report_makes_the_metrics_from_all_checks():
    def report(checks):
        return {"epochs": float(sum(check["epoch"] for check in checks)), "last": checks[-1]["mse"]}

    (run,) = train([toy(1, epochs=6, checks=(1, 4), report=report)])
    assert run.metrics == {"epochs": 1 + 4 + 6, "last": run.checks[-1]["mse"]}


def by_hand(run):
    """The training written out with PyTorch's own parts; also the norms before clipping."""
    optimizer = run.optimizer(run.model.parameters(), lr=1.0)
    norms = []
    for update in range(run.updates):
        epoch, place = divmod(update, run.updates_per_epoch)
        data = {name: value[8 * place :][:8] for name, value in run.epoch(epoch).items()}
        loss, _ = run.loss(run.model, data | run.constants)
        optimizer.zero_grad()
        loss.backward()
        limit = math.inf if run.clip is None else run.clip
        norms.append(torch.nn.utils.clip_grad_norm_(run.model.parameters(), limit).item())
        factor = 1 if run.schedule is None else run.schedule(update)
        optimizer.param_groups[0]["lr"] = run.lr * factor
        optimizer.step()
    return torch.cat([value.flatten() for value in run.model.state_dict().values()]), norms


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize(
    "how",
    [{}, {"optimizer": descent, "clip": 2.0}, {"optimizer": momentum, "schedule": falling, "clip": 2.0}],
)
def test_optimizer_schedule_and_clip_do_what_pytorchs_own_do(how, stacked):
    runs = train([replace(toy(seed), **how) for seed in (1, 2)], stacked=stacked)
    for run, seed in zip(runs, (1, 2), strict=True):
        expected, norms = by_hand(replace(toy(seed), **how))
        torch.testing.assert_close(weights(run), expected, rtol=1e-4, atol=1e-5)
        if "clip" in how:
            assert min(norms) < how["clip"] < max(norms)


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


def test_single_numbers_are_clipped_in_a_stack_too_and_what_asks_for_no_gradient_stays_as_it_is():
    alone, stacked = (
        train([scaled_toy(s, clip=0.5) for s in (1, 2)], stacked=stacked) for stacked in (False, True)
    )
    for one, other in zip(alone, stacked, strict=True):
        torch.testing.assert_close(weights(one), weights(other), rtol=1e-4, atol=1e-5)
        assert one.model.fixed.equal(torch.ones(3))
        assert other.model.fixed.equal(torch.ones(3))


def test_progress_is_told_of_every_update_once_when_it_is_made(tmp_path):
    told = []
    train([toy(1)], progress=told.append)
    assert sum(told) == 18
    train([toy(1)], checkpoints=tmp_path, stop=lambda u: u >= 11)
    told.clear()
    train([toy(1)], checkpoints=tmp_path, progress=told.append)
    assert sum(told) == 18 - 11


# ------------------------------------------------------------------- devices, with PyTorch's "meta" for a GPU


@pytest.mark.parametrize(("device", "compacted"), [("cpu", 1), ("meta", 0)])
def test_a_batch_is_compacted_on_a_cpu_only(device, compacted):
    seen = []
    run = replace(toy(1), dedupe_batch=lambda batch: seen.append(1) or batch)
    trainee = TrainingStack([run], torch.device(device), stacked=False)
    losses, _ = trainee.losses(trainee.batch(0))
    assert losses.device.type == device
    assert len(seen) == compacted


def test_a_run_says_where_it_was_trained(monkeypatch):
    monkeypatch.setattr(training, "pick_device", torch.device)
    (here,) = train([toy(1)])
    (timed,) = train([replace(toy(1), cpu_only=True)], device="meta")
    assert here.device == timed.device == CPU
    assert here.metrics == timed.metrics
    run = toy(1)
    there = TrainingStack([run], torch.device("meta"), stacked=False)
    monkeypatch.setattr(run.model, "to", lambda device: run.model)  # weights of "meta" cannot be fetched
    assert there.result(0, finished=False).device == torch.device("meta")


@pytest.mark.parametrize(
    ("cpu_only", "how", "groups"),
    [
        ({1: True, 2: True}, {"stacked": True}, [["toy-1"], ["toy-2"]]),
        ({1: True, 2: True}, {"device": "cuda"}, [["toy-1"], ["toy-2"]]),
        ({1: False, 2: True, 3: False}, {"stacked": True}, [["toy-1", "toy-3"], ["toy-2"]]),
    ],
)
def test_what_runs_on_the_cpu_only_is_trained_alone_whatever_is_asked(cpu_only, how, groups, monkeypatch):
    monkeypatch.setattr(training, "pick_device", torch.device)
    made = []

    class Watched(TrainingStack):
        def __init__(self, runs, device, stacked):
            super().__init__(runs, device, stacked)
            made.append(([run.key for run in runs], self.device, stacked))

    monkeypatch.setattr(training, "TrainingStack", Watched)
    runs = train([toy(seed, cpu_only=only) for seed, only in cpu_only.items()], **how)
    assert made == [(group, CPU, len(group) > 1) for group in groups]
    for run, expected in zip(runs, train([toy(seed) for seed in cpu_only]), strict=True):
        torch.testing.assert_close(weights(run), weights(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("last", [17, 18])
def test_a_run_that_was_stopped_at_its_end_is_tested_when_it_goes_on(tmp_path, last):
    (whole,) = train([toy(1)])
    train([toy(1)], checkpoints=tmp_path, stop=lambda update: update >= last)
    (resumed,) = train([toy(1)], checkpoints=tmp_path)
    assert resumed.metrics == whole.metrics
    assert resumed.curve == whole.curve


# ------------------------------------------------------------------------------ what a GPU is spared


def test_noise_may_lie_on_the_device_of_the_batch_already():
    def noise(update, batch):
        return {"n": torch.ones(len(batch["x"]), device=batch["x"].device)}

    run = replace(toy(1), noise=noise)
    with OtherDevice():
        stack = TrainingStack([run], OTHER, stacked=False)
        stack.batch(0)
    with OtherDevice(waits=False):
        assert stack.batch(0)["noise"]["n"].device == OTHER


def test_the_next_epoch_is_drawn_ahead():
    drawn = []
    run = toy(1, epochs=3)
    examples = run.epoch
    plain = TrainingStack([run], CPU, stacked=False)
    ahead = TrainingStack([replace(run, epoch=lambda e: drawn.append(e) or examples(e))], CPU, stacked=False)
    ahead.prefetcher = ThreadPoolExecutor(1)
    for update in (0, 1, 3, 8, 0):  # in order, with a leap, and back
        batch = ahead.batch(update)
        ahead.prefetcher.submit(int).result()  # the drawing before it has ended
        assert all(value.equal(batch[name]) for name, value in plain.batch(update).items())
    assert drawn == [0, 1, 2, 0, 1]


@pytest.fixture
def drawing_ahead(monkeypatch):
    """Stacks that draw ahead, as on a GPU; weak references to them, and their drawers."""
    made = []

    class Ahead(TrainingStack):
        def __init__(self, *how, **more):
            super().__init__(*how, **more)
            self.prefetcher = ThreadPoolExecutor(1)
            made.append((weakref.ref(self), self.prefetcher))

    monkeypatch.setattr(training, "TrainingStack", Ahead)
    return made


@pytest.mark.parametrize("stacked", [False, True])
def test_a_stack_that_fails_while_the_next_epoch_is_drawn_is_free_at_once(stacked, drawing_ahead):
    begun, go_on = threading.Event(), threading.Event()

    def slow(seed):
        run = toy(seed)

        def epoch(e):
            if e == 1:
                begun.set()
                assert go_on.wait(60)
            return run.epoch(e)

        def full(apply, batch):
            assert begun.wait(60)
            raise torch.OutOfMemoryError("CUDA out of memory")

        return replace(run, epoch=epoch, loss=full)

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
        runs = [toy(s, hidden=500) for s in (1, 2, 3)]
        train(runs, stacked=stacked, checkpoints=tmp_path, stop=lambda u: True)
        sizes.append((tmp_path / "toy-1.pt").stat().st_size)
    assert sizes[1] == pytest.approx(sizes[0], rel=0.1)


def test_the_time_of_a_stack_is_shared_among_its_runs_and_added_up_again(tmp_path):
    """Two runs are trained together for 10 s, and then one of them alone for 4 s."""

    def stack(*seeds):
        return TrainingStack([noisy(seed) for seed in seeds], CPU, stacked=len(seeds) > 1)

    def states(*seeds):
        return [torch.load(tmp_path / f"toy-{seed}.pt") for seed in seeds]

    both = stack(0, 1)
    both.seconds = 10.0
    both.save(tmp_path)
    assert [state["seconds"] for state in states(0, 1)] == [5.0, 5.0]
    assert [both.result(i, finished=False).seconds for i in range(2)] == [5.0, 5.0]
    alone = stack(0)
    alone.load(states(0))
    assert alone.seconds == 5.0
    alone.seconds += 4.0
    alone.save(tmp_path)
    again = stack(0, 1)
    again.load(states(0, 1))
    assert again.seconds == 9.0 + 5.0


def test_a_stack_is_copied_once_for_all_checkpoints(tmp_path, monkeypatch):
    stack, copies = TrainingStack([toy(s) for s in (1, 2, 3)], CPU, stacked=True), []
    stack.step(stack.batch(0))
    copy = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda tensor: copies.append(tensor) or copy(tensor))
    stack.save(tmp_path)
    # Of each parameter its value, Adam's two means and its count of steps; and one buffer.
    assert len(copies) == 4 * len(stack.params) + 1
    assert len(list(tmp_path.iterdir())) == 3


def test_losses_are_read_back_only_where_they_are_logged(monkeypatch):
    stack, read = TrainingStack([toy(1, epochs=10)], CPU, stacked=False), []
    log = stack.log
    monkeypatch.setattr(stack, "log", lambda *values: read.append(stack.update) or log(*values))
    stack.run(None, lambda update: False, lambda update: None)
    assert read == [1, 11, 21, 30]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"epochs": -1}, "epochs has to be a positive integer"),
        ({"examples": 0}, "examples has to be"),
        ({"batch_size": -8}, "batch_size has to be"),
        ({"clip": -1.0}, "clip has to be a finite number above 0"),
        ({"lr": math.inf}, "lr has to be a finite number above 0"),
        ({"checks": (7,)}, "checks has to be a tuple of epochs from 1 to 6"),
        ({"checks": ("a",)}, "checks has to be a tuple of epochs from 1 to 6"),
        ({"key": "../evil"}, "key names a file"),
        ({"key": ".."}, "key names a file"),
        ({"key": "k" * 300}, "key names a file"),
    ],
)
def test_what_cannot_be_trained_is_no_run(change, said):
    with pytest.raises(UsageError, match=said):
        replace(toy(1), **change)


@pytest.mark.parametrize(
    "name", ["model", "epoch", "loss", "evaluate", "noise", "optimizer", "schedule", "report"]
)
def test_what_is_no_function_or_no_network_is_refused_before_the_training(name):
    with pytest.raises(UsageError, match=f"{name} has to be a"):
        replace(toy(1), **{name: 3})


@pytest.mark.parametrize("rows", [32, 8])
def test_an_epoch_of_more_or_fewer_examples_than_the_run_says_is_refused(rows):
    with pytest.raises(
        UsageError, match=rf"epoch 0 of toy 1 gives 'x' of shape \[{rows}, 3\]; .* has 20 examples"
    ):
        train([toy(1, epoch=lambda e: {"x": torch.zeros(rows, 3)})])


@pytest.mark.parametrize("epoch", [lambda e: None, lambda e: [torch.zeros(20)], lambda e: {"x": [0.0] * 20}])
def test_an_epoch_is_a_dict_of_tensors(epoch):
    with pytest.raises(UsageError, match=r"has to give a dict of tensors|gives a list as .x., not a tensor"):
        train([toy(1, epoch=epoch)])


@pytest.mark.parametrize("result", [torch.ones(()), (torch.ones(2), torch.ones(2)), (1.0, 2.0), None])
def test_a_loss_is_two_scalars(result):
    with pytest.raises(UsageError, match=r"loss of toy 1 has to return \(loss, score\)"):
        train([toy(1, loss=lambda model, batch: result)])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"stop": True}, "stop has to be a function"),
        ({"checkpoints": ""}, "path"),
        ({"checkpoints": 3}, "path"),
    ],
)
def test_how_to_train_is_checked_first(how, said):
    with pytest.raises(UsageError, match=said):
        train([toy(1)], **how)


def test_no_training_goes_on_under_other_settings(tmp_path):
    train([toy(1)], checkpoints=tmp_path, stop=lambda update: update == 4)
    with pytest.raises(CorruptFileError, match=r"is of a run with another lr; delete it"):
        train([toy(1, lr=1e-9)], checkpoints=tmp_path)
    with pytest.raises(CorruptFileError, match=r"another epochs, optimizer"):
        train([toy(1, epochs=7, optimizer=momentum)], checkpoints=tmp_path)


@pytest.fixture
def terminal():
    """A shell starts background jobs with interrupts ignored, and so the handler of a terminal is set first."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


def interrupt(update, at=7, times=1):
    for _ in range(times if update == at else 0):
        signal.raise_signal(signal.SIGINT)
    return False


def test_a_second_ctrl_c_interrupts_at_once(terminal, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train([toy(1)], checkpoints=tmp_path, stop=partial(interrupt, times=2))
    assert not list(tmp_path.iterdir())
    with ThreadPoolExecutor(1) as pool:  # where no signals can be handled
        assert pool.submit(train, [toy(1)]).result()[0].finished


def test_ctrl_c_ends_the_update_and_keeps_it(terminal, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train([toy(1)], checkpoints=tmp_path, stop=interrupt)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert torch.load(tmp_path / "toy-1.pt")["update"] in (7, 8)
    assert weights(train([toy(1)], checkpoints=tmp_path)[0]).equal(weights(train([toy(1)])[0]))


def test_two_runs_of_one_key_are_refused():
    with pytest.raises(UsageError, match="the same key"):
        train([toy(1), toy(1)])


@pytest.mark.parametrize("given", [toy(1), [toy(1), "toy"], 3])
def test_what_is_no_list_of_training_runs_is_named(given):
    with pytest.raises(UsageError, match="train takes a list of TrainingRun"):
        train(given)


def test_what_cannot_be_stacked_says_what_to_do():
    def drops(model, batch):
        out = F.dropout(model(batch["x"], batch["noise"]), 0.5)
        return out.square().mean(), out.mean()

    with pytest.raises(RuntimeError) as raised:
        train([toy(seed, loss=drops) for seed in (1, 2)], stacked=True)
    assert "leave out `stack`" in raised.value.__notes__[0]


@pytest.mark.parametrize("metrics", [{"e": torch.ones(2)}, {"e": "good"}, 3.0])
def test_a_measurement_is_numbers_by_name(metrics):
    with pytest.raises(UsageError, match="has to return numbers by name"):
        train([toy(1, evaluate=lambda model: metrics)])
    assert train([toy(1, evaluate=lambda model: {"e": torch.tensor(2.0)})])[0].metrics == {"e": 2.0}
