"""Every network learns on another device than the CPU, alone and stacked, and nothing waits for that device."""

from copy import deepcopy
from dataclasses import replace
from importlib import import_module

import pytest
import torch
from other_device import OTHER, OtherDevice

from mini_lib.esbn.network import ENCODERS
from mini_lib.grid import tasks as grid_tasks
from mini_lib.reproduction.cells import PAPERS, paper_module
from mini_lib.reproduction.doctor import TINY
from mini_lib.scan import runs as scan_runs, tasks
from mini_lib.training import TrainingRun, TrainingStack

CPU = torch.device("cpu")
# The other device computes one operation after another: so few of them.
FEW = {"esbn": {"task": "same_different", "tcn": False}, "kanerva": {"items": 2}}


def changed(name: str, options: dict | None = None, **changes) -> dict:
    settings = TINY[name] | FEW.get(TINY[name]["paper"], {}) | changes
    return settings | {"options": settings.get("options", {}) | options} if options else settings


def grid(**settings) -> dict:
    return {"paper": "grid", "lr": 1e-3, "updates": 1, "batch_size": 4} | settings


EVERY_BRANCH = {"sequential_semantics": True, "syntax_action": True, "nonlinear_semantics": True}
EVERY_BRANCH |= {"one_hot": True, "surrounding": "top", "ends": "zero"}
GIVEN = {"kl": {"assignment": 0.0, "assignment_read": 0.0}}  # what is given has no divergence
NO_GRADIENT = {"stop_grad_r": True}
MATCHING = ("abstractor tied, open", "corelnet learned, open", "pointer", "kanerva")
PRODUCT, MIXTURE = "kanerva product", "kanerva mixture"
FORMS = {name: changed(name) for name in TINY} | {
    **{f"esbn {encoder}": changed("esbn lstm", encoder=encoder) for encoder in ENCODERS if encoder != "conv"},
    "esbn windows": TINY["esbn lstm"],
    "esbn trn of the paper": changed("esbn trn", {"paper_form": True}),
    "scan every branch": changed("scan syntactic_attention", EVERY_BRANCH),
    "scan no dependency": changed("scan gru_attention", {"dependency": False}),
    "functions every prefix": changed("functions relational_window", prefixes=True),
    "functions strict": changed("functions one_d", {"mask": "strict"}),
    "functions no mask": changed("functions one_d", {"mask": "none"}),
    "kanerva every branch": changed(PRODUCT, NO_GRADIENT, encoder="residual", ae_weight=1.0, task="rgb"),
    "kanerva even weights": changed(PRODUCT, options={"assignment": "even"}),
    "kanerva unit prior": changed(PRODUCT, {"assignment": "unit prior"}, balance=2.0, balance_until=5),
    "kanerva given": changed(PRODUCT, options={"assignment": "given"}, task="rgb", **GIVEN),
    MIXTURE: changed(MIXTURE, balance=2.0),
    **{f"grid {model}": grid(task="match", model=model) for model in MATCHING},
    "grid curves": grid(task="curves", model="differences"),
    "grid curves as they are": grid(task="curves", model="differences, open", normalised=False),
    "grid commands": grid(task="commands", model="abstractor learned"),
}


@pytest.fixture(autouse=True)
def short_commands(monkeypatch):
    commands = [f"{verb}{end}" for verb in ("walk", "look", "run", "jump") for end in ("", " twice", " left")]
    monkeypatch.setattr(scan_runs, "get_split", lambda name: tasks.Split(commands, commands[:5]))
    monkeypatch.setattr(grid_tasks, "get_split", lambda name: tasks.Split(commands, ["jump", "dax"]))
    monkeypatch.setattr(tasks, "MAX_ACTIONS", 3)


def test_every_network_is_here():
    for paper in PAPERS:
        tried = {settings["model"] for settings in TINY.values() if settings["paper"] == paper}
        assert tried == {*import_module(f"mini_lib.{paper}.runs").MODELS}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_a_network_learns_as_on_the_cpu_alone_and_stacked_and_waits_for_nothing(name):
    built = [paper_module(FORMS[name]["paper"]).build(FORMS[name], seed) for seed in (1, 2)]

    def runs() -> list[TrainingRun]:
        return [replace(run, model=deepcopy(run.model)) for run in built]

    here = [TrainingStack([run], CPU, stacked=False) for run in runs()]
    expected, gradients = zip(*(step(each, each.batch(0)) for each in here), strict=True)
    with OtherDevice():
        loss, own = step_elsewhere(TrainingStack(runs()[:1], OTHER, stacked=False))
        losses, owns = step_elsewhere(TrainingStack(runs(), OTHER, stacked=True))
    torch.testing.assert_close(loss, expected[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(losses, torch.cat(expected), rtol=1e-4, atol=1e-5)
    for gradient, right in zip((own, *owns[:, None]), (gradients[0], *gradients), strict=True):
        assert (gradient - right).norm() <= 1e-3 * right.norm()


def step(stack: TrainingStack, batch: dict) -> tuple[torch.Tensor, torch.Tensor]:
    """Losses [R] and all gradients [R, n] of an update; zeros where a parameter has none."""
    losses, _ = stack.step(batch)
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in stack.params.values()]
    return losses, torch.cat([each.reshape(len(losses), -1) for each in gradients], dim=1)


def step_elsewhere(stack: TrainingStack) -> tuple[torch.Tensor, torch.Tensor]:
    """`step` where nothing may wait for the device, once its own tables are made."""
    batch = stack.batch(0)
    with torch.no_grad():
        stack.losses(batch)
    with OtherDevice(waits=False):
        losses, gradients = step(stack, batch)
    return losses.cpu(), gradients.cpu()


@pytest.mark.parametrize(
    ("operation", "refused"),
    [
        *((lambda x: x + torch.ones(3), "same device"), (lambda x: x[torch.tensor([0])], "same device")),
        *((lambda x: x.sum().item(), "wait"), (lambda x: x.cpu(), "wait"), (lambda x: x[x > 1], "wait")),
        *((lambda x: torch.ones(3).to(OTHER), "wait"), (lambda x: torch.tensor([1], device=OTHER), "wait")),
        (lambda x: torch.linalg.cholesky(x @ x.mT + torch.eye(2, device=OTHER)), "wait"),
    ],
)
def test_the_other_device_refuses_what_a_gpu_refuses_or_waits_for(operation, refused):
    with OtherDevice():
        x = torch.arange(6.0).view(2, 3).to(OTHER)
    with OtherDevice(waits=False):
        x.clone()[x > 1] = 0.0  # allowed: nothing is read back
        with pytest.raises(RuntimeError, match=refused):
            operation(x)
