"""The harness on a toy problem: it does what PyTorch's own parts do, alone, stacked, and stopped on the way."""

import math
import operator
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
from torch import nn
from torch.nn import functional as F

from mini_lib import training
from mini_lib.errors import CorruptFileError, UsageError
from mini_lib.seeding import seeded, torch_rng
from mini_lib.training import TrainingRun, TrainingStack, train

CPU = torch.device("cpu")
UPDATES, LOGGED = 18, [1, 11, 18]  # of the toy: 6 epochs of 8, 8 and 4 examples


class Line(nn.Module):
    """With a single number to be learned, a parameter that is not trained, and a buffer."""

    def __init__(self, hidden=5):
        super().__init__()
        self.hidden, self.out = nn.Linear(3, hidden), nn.Linear(hidden, 1)
        self.gain = nn.Parameter(torch.tensor(0.5))
        self.fixed = nn.Parameter(torch.ones(3), requires_grad=False)
        self.register_buffer("offset", torch.rand(1))

    def forward(self, x):
        return self.gain * self.out(torch.tanh(self.hidden(x * self.fixed)))[..., 0] + self.offset

    def shifted(self, x, by):
        return self(x) + by


def fit(model, batch):
    error = F.mse_loss(model(batch["x"]) * batch["scale"], batch["y"])
    return error, 100 - error


def noisy_fit(model, batch):
    return fit(model, batch | {"x": batch["x"] + batch["noise"]["shift"]})


def use_its_methods(model, batch):
    penalty = sum(p.square().sum() for p in model.parameters()) / model.hidden.out_features
    parts = model.out(model.hidden(batch["x"])).square().mean()
    return model.shifted(batch["x"], by=1.0).square().mean() + parts + penalty, batch["y"].mean()


def toy(seed, *, bad_epoch=None, hidden=5, scale=1.0, **changes):
    with seeded(seed, "weights"):
        model = Line(hidden)

    def epoch(e):
        x = torch.randn(20, 3, generator=torch_rng(seed, "x", e))
        return {"x": x, "y": x.sum(dim=1) * (math.nan if e == bad_epoch else 1.0)}

    def evaluate(net):
        x = torch.randn(50, 3, generator=torch_rng(seed, "test"))
        return {"mse": np.float32(F.mse_loss(net(x), x.sum(dim=1)).item())}

    own = {"model": model, "epoch": epoch, "examples": 20, "batch_size": np.int64(8), "epochs": 6}
    own |= {"lr": np.float64(1e-2)}  # numbers of NumPy, which checkpoints cannot hold
    own |= {"loss": fit, "evaluate": evaluate, "constants": {"scale": torch.tensor(scale)}}
    own |= {"key": f"toy-{seed}", "name": f"toy {seed}", "stack": ("toy", scale)}
    return TrainingRun(**own | changes)


def noisy(seed):
    def noise(update, batch):
        rng = torch_rng(seed, "noise", update)
        return {"shift": torch.randn(len(batch["x"]), 3, generator=rng)}

    return toy(seed, loss=noisy_fit, noise=noise)


def momentum(parameters, lr):
    return torch.optim.SGD(parameters, lr=lr, momentum=0.9, nesterov=True)


def falling(update):
    return 0.8**update


HOW = {
    "Adam": toy,
    "noise": noisy,
    "methods of the network": partial(toy, loss=use_its_methods),
    "an optimizer that counts": partial(toy, optimizer=torch.optim.NAdam),
    "clipped": partial(toy, optimizer=torch.optim.SGD, clip=2.0),
    "momentum, schedule": partial(toy, optimizer=momentum, schedule=falling, clip=2.0),
}


def weights(run):
    return torch.cat([value.flatten() for value in run.model.state_dict().values()])


def check_close(ours, theirs):
    torch.testing.assert_close(weights(ours), weights(theirs), rtol=1e-4, atol=1e-5)


def by_hand(run):
    """The training written out with PyTorch's own parts: losses, scores, and norms before clipping."""
    optimizer = run.optimizer([p for p in run.model.parameters() if p.requires_grad], lr=1.0)
    told = []
    for update in range(UPDATES):
        epoch, place = divmod(update, 3)
        data = {name: value[8 * place :][:8] for name, value in run.epoch(epoch).items()}
        if run.noise:
            data["noise"] = run.noise(update, data)
        loss, score = run.loss(run.model, data | run.constants)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(run.model.parameters(), run.clip or math.inf)
        optimizer.param_groups[0]["lr"] = run.lr * (run.schedule(update) if run.schedule else 1)
        optimizer.step()
        told.append((loss.item(), score.item(), norm.item()))
    return zip(*told, strict=True)


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("how", HOW)
def test_a_network_learns_as_with_pytorchs_own_parts_alone_and_stacked(how, stacked):
    for run, seed in zip(train([HOW[how](seed) for seed in (1, 2)], stacked=stacked), (1, 2), strict=True):
        losses, scores, norms = by_hand(expected := HOW[how](seed))
        check_close(run, expected)
        assert (run.finished, run.diverged, run.updates, run.device) == (True, False, UPDATES, CPU)
        assert run.curve["update"] == LOGGED
        assert run.curve["loss"] == pytest.approx([losses[i - 1] for i in LOGGED], rel=1e-3)
        assert run.curve["score"] == pytest.approx([scores[i - 1] for i in LOGGED], rel=1e-3, abs=1e-5)
        assert run.metrics["mse"] == pytest.approx(expected.evaluate(expected.model)["mse"], rel=1e-3)
        assert run.model.fixed.equal(torch.ones(3))
        if expected.clip:
            assert min(norms) < 2.0 < max(norms)


@pytest.mark.parametrize("stacked", [False, True])
def test_a_loss_that_is_no_number_stops_its_run_and_no_other(stacked):
    def make(seed, **changes):
        return toy(seed, batch_size=4, checks=(1, 5), **changes)

    good, bad = train([make(1), make(2, bad_epoch=4)], stacked=stacked)
    assert (good.finished, good.diverged, bad.finished, bad.diverged) == (True, False, True, True)
    assert [[check["epoch"] for check in run.checks] for run in (good, bad)] == [[1, 5, 6], [1]]
    assert bad.metrics == {}
    assert (bad.updates, bad.curve["update"], good.updates) == (21, [1, 11, 21], 30)
    assert math.isnan(bad.curve["loss"][-1])
    check_close(good, train([make(1)])[0])


@pytest.mark.parametrize(
    "other",
    [
        *({"hidden": 4}, {"scale": 2.0}, {"epochs": 7}, {"clip": 1.0}, {"lr": 0.5}, {"checks": (1,)}),
        *({"optimizer": momentum}, {"stack": None}, {"schedule": falling}, {"loss": use_its_methods}),
        *({"optimizer": partial(momentum, lr=2.0)}, {"cpu_only": True}),
    ],
)
def test_runs_that_differ_in_more_than_their_seed_are_trained_alone(other):
    assert toy(1).stack_key() == toy(3).stack_key() != toy(2, **other).stack_key()
    stacked, alone = (train([toy(1), toy(2, **other)], stacked=how) for how in (True, False))
    assert [weights(run).tolist() for run in stacked] == [weights(run).tolist() for run in alone]


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("how", HOW)
def test_a_training_that_was_stopped_goes_on_as_if_it_was_not(how, stacked, tmp_path):
    measured = []

    def watch(run, network):
        measured.append(run.key)
        return run.evaluate(network)

    def report(checks):
        return {"last": checks[-1]["mse"], "epochs": sum(check["epoch"] for check in checks)}

    def runs():
        change = {"checks": (6, 5, 2, np.int64(3), 2), "report": report}
        return [replace(run, **change, evaluate=partial(watch, run)) for run in map(HOW[how], (1, 2))]

    whole = train(runs(), stacked=stacked)
    measured.clear()
    for end in (11, 14, UPDATES):  # a logged update, one between two, and the last
        stop = partial(operator.le, end)
        halted = train(runs(), stacked=stacked, checkpoints=str(tmp_path), stop=stop)
        assert [(run.finished, run.updates, run.metrics) for run in halted] == 2 * [(False, end, {})]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["toy-1.pt", "toy-2.pt"]
    resumed = train(runs(), stacked=stacked, checkpoints=tmp_path)
    assert not list(tmp_path.iterdir())
    assert sorted(measured) == 4 * ["toy-1"] + 4 * ["toy-2"]
    for one, other in zip(whole, resumed, strict=True):
        assert weights(one).equal(weights(other))
        assert (one.curve, one.checks, one.metrics) == (other.curve, other.checks, other.metrics)
        assert [check["epoch"] for check in other.checks] == [2, 3, 5, 6]
        assert other.metrics == {"last": other.checks[-1]["mse"], "epochs": 2 + 3 + 5 + 6}


def test_runs_of_a_stack_go_on_alone_or_in_another_and_count_only_new_updates(tmp_path):
    train([toy(1), toy(2)], stacked=True, checkpoints=tmp_path, stop=lambda update: update == 11)
    told, told_alone = [], []
    others = train([toy(2), toy(3)], stacked=True, checkpoints=tmp_path, progress=told.append)
    alone = train([toy(1)], checkpoints=tmp_path, progress=told_alone.append)
    assert sum(told) == (UPDATES - 11) + UPDATES  # seed 2 goes on, seed 3 begins
    assert sum(told_alone) == UPDATES - 11
    for one, other in zip(train([toy(s) for s in (1, 2, 3)]), alone + others, strict=True):
        check_close(one, other)


class Late(Line):
    """With running means, and a layer that gets gradients late: Adam counts its steps from then on."""

    def __init__(self):
        super().__init__()
        self.norm, self.late = nn.BatchNorm1d(3), nn.Linear(3, 1)

    def forward(self, x):
        return super().forward(self.norm(x)) + (self.late(x)[..., 0] if x.mean() > 0 else 0.0)


def test_running_means_and_steps_survive_checks_and_stops_and_a_network_in_evaluation_mode(tmp_path):
    def late(**changes):
        with seeded(3, "late"):
            return replace(toy(3, model=Late()), **changes)

    (whole,), (checked,) = train([late()]), train([late(checks=(1, 2, 5))])
    (again,) = train([late(model=late().model.eval())])
    for end in (5, 14):
        (halted,) = train([late()], checkpoints=tmp_path, stop=partial(operator.le, end))
    (resumed,) = train([late()], checkpoints=tmp_path)
    for run in (checked, again, resumed):
        assert weights(run).equal(weights(whole))
    assert not any(module.training for run in (whole, halted) for module in run.model.modules())


def killed_in_its_test(model):
    raise RuntimeError("killed in its test")


@pytest.mark.parametrize("stacked", [False, True])
def test_a_run_that_is_killed_in_its_test_needs_no_update_again(stacked, tmp_path, monkeypatch):
    with pytest.raises(RuntimeError, match="killed in its test"):
        train([toy(1, evaluate=killed_in_its_test), toy(2)], stacked=stacked, checkpoints=tmp_path)
    (whole,) = train([toy(1)])
    monkeypatch.setattr(TrainingStack, "step", None)
    (again,) = train([toy(1)], checkpoints=tmp_path, keep_finished=True)
    assert (again.finished, again.updates) == (True, whole.updates)
    assert again.metrics == pytest.approx(whole.metrics)
    assert (tmp_path / "toy-1.pt").exists()  # for the caller to delete


def test_a_run_whose_last_checkpoint_cannot_be_written_gives_its_results(tmp_path, monkeypatch):
    def full(path, write):
        raise OSError("no space")

    monkeypatch.setattr(training, "write_atomically", full)
    assert train([toy(1)], checkpoints=tmp_path)[0].metrics == train([toy(1)])[0].metrics


def test_no_training_goes_on_under_other_settings_or_from_what_is_no_checkpoint(tmp_path):
    train([toy(1)], checkpoints=tmp_path, stop=lambda update: update == 4)
    for change in ({"lr": 1e-9}, {"epochs": 7}, {"optimizer": momentum}, {"clip": 1.0}, {"hidden": 4}):
        with pytest.raises(CorruptFileError, match=r"toy-1\.pt is of a run with another .*delete it"):
            train([toy(1, **change)], checkpoints=tmp_path)
    for state, said in (([1, 2], "damaged"), ({"plan": {}}, "not of toy 1")):
        torch.save(state, tmp_path / "toy-1.pt")
        with pytest.raises(CorruptFileError, match=rf"toy-1\.pt is {said}; delete it"):
            train([toy(1)], checkpoints=tmp_path)


def test_a_network_is_trained_once_or_resumed(tmp_path):
    run = toy(1)
    train([run], checkpoints=tmp_path, stop=lambda update: update == 5)
    assert weights(train([run], checkpoints=tmp_path)[0]).equal(weights(train([toy(1)])[0]))
    for runs, said in (([run], "trained before"), ([run, replace(run, key="other")], "the same network")):
        with pytest.raises(UsageError, match=said):
            train(runs)


def test_a_run_of_a_stack_leaves_its_own_weights_and_its_share_of_the_time(tmp_path):
    stack, again = (TrainingStack([toy(1), toy(2)], CPU, stacked=True) for _ in range(2))
    stack.step(stack.batch(0))
    stack.seconds = 10.0
    stack.save(tmp_path)
    states = [torch.load(tmp_path / f"toy-{seed}.pt") for seed in (1, 2)]
    assert [stack.result(i, finished=False).seconds for i in range(2)] == [5.0, 5.0]
    for state in states:  # and not the whole stack
        own = [*state["tensors"].values(), *state["optimizer"].values()]
        assert all(value.untyped_storage().nbytes() == value.nbytes for value in own)
    states[0]["seconds"] += 4.0  # as if it had gone on alone
    again.load(states)
    assert again.seconds == (5.0 + 4.0) + 5.0


def interrupt(update, times):
    for _ in range(times if update == 7 else 0):
        signal.raise_signal(signal.SIGINT)
    return False


def test_ctrl_c_ends_the_update_and_keeps_it_and_a_second_one_interrupts_at_once(tmp_path):
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # which background jobs ignore
    try:
        with pytest.raises(KeyboardInterrupt):
            train([toy(1)], checkpoints=tmp_path, stop=partial(interrupt, times=2))
        assert not list(tmp_path.iterdir())
        with pytest.raises(KeyboardInterrupt):
            train([toy(1)], checkpoints=tmp_path, stop=partial(interrupt, times=1))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, usual)
    assert torch.load(tmp_path / "toy-1.pt")["update"] in (7, 8)
    with ThreadPoolExecutor(1) as pool:  # where no signals can be handled
        (resumed,) = pool.submit(train, [toy(1)], checkpoints=tmp_path).result()
    assert weights(resumed).equal(weights(train([toy(1)])[0]))


@pytest.mark.parametrize(("device", "compacted"), [("cpu", 1), ("meta", 0)])
def test_a_batch_is_compacted_on_a_cpu_only(device, compacted):
    seen = []
    run = replace(toy(1), dedupe_batch=lambda batch: seen.append(1) or batch)
    trainee = TrainingStack([run], torch.device(device), stacked=False)
    losses, _ = trainee.losses(trainee.batch(0))
    assert losses.device.type == device
    assert len(seen) == compacted


def test_what_runs_on_the_cpu_only_is_trained_there_and_alone_whatever_is_asked(monkeypatch):
    monkeypatch.setattr(training, "pick_device", torch.device)  # "meta" for a GPU
    assert toy(1, cpu_only=True).stack_key() != toy(2, cpu_only=True).stack_key()
    (timed,) = train([toy(1, cpu_only=True, epochs=0)], device="meta", stacked=True)  # which only measures
    assert (timed.device, timed.updates, timed.metrics) == (CPU, 0, toy(1).evaluate(toy(1).model))


@pytest.fixture
def drawers(monkeypatch):
    """Of stacks that draw ahead, as on a GPU: by a weak reference to a stack its drawer."""
    made = {}

    class Ahead(TrainingStack):
        def __init__(self, *how, **more):
            super().__init__(*how, **more)
            made[weakref.ref(self)] = self.prefetcher = ThreadPoolExecutor(1)

    monkeypatch.setattr(training, "TrainingStack", Ahead)
    return made


def test_each_epoch_is_drawn_once_by_another_thread_and_none_after_the_training(drawers):
    drawn, plain = [], toy(1)

    def epoch(e):
        drawn.append((e, threading.current_thread() is threading.main_thread()))
        return plain.epoch(e)

    (run,) = train([replace(plain, epoch=epoch)])
    (drawer,) = drawers.values()
    with pytest.raises(RuntimeError, match="after shutdown"):
        drawer.submit(int)
    assert drawn == [(e, e == 0) for e in range(6)]
    assert run.curve == train([toy(1)])[0].curve


@pytest.mark.parametrize("stacked", [False, True])
def test_a_stack_that_fails_while_the_next_epoch_is_drawn_is_free_at_once(stacked, drawers):
    begun, go_on = threading.Event(), threading.Event()

    def slow_epoch(run, e):
        if e == 1:
            begun.set()
            assert go_on.wait(60)
        return run.epoch(e)

    def full(model, batch):
        assert begun.wait(60)
        raise torch.OutOfMemoryError("CUDA out of memory")

    runs = [replace(run, epoch=partial(slow_epoch, run), loss=full) for run in (toy(1), toy(2))]
    try:
        with suppress(torch.OutOfMemoryError):  # pytest.raises would hold the error, and so the stack
            train(runs[: 1 + stacked], stacked=stacked)
        assert [stack() for stack in drawers] == [None]
    finally:
        go_on.set()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"batch_size": -8}, "batch_size has to be a positive integer"),
        ({"checks": (7,)}, "checks has to be a tuple of epochs from 1 to 6"),
        ({"key": "../evil"}, "key names a file"),
        ({"evaluate": 3}, "evaluate has to be a function"),
        ({"epoch": lambda e: {"x": torch.zeros(32, 3)}}, r"epoch 0 of toy 1 gives 'x' of shape \[32, 3\]"),
        ({"epoch": lambda e: {"x": torch.zeros(64, 3).numpy()}}, "gives 'x' as ndarray, not as a tensor"),
        ({"loss": lambda model, batch: (batch["y"], batch["y"])}, r"has to return \(loss, score\)"),
        ({"evaluate": lambda model: {"e": torch.ones(2)}}, "has to return numbers by name"),
        ({"key": "toy-2"}, "the same key"),
    ],
)
def test_what_cannot_be_trained_is_answered(change, said):
    with pytest.raises(UsageError, match=said):
        train([toy(1, **change), toy(2)])
