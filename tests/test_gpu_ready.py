"""Every network learns on another device than the CPU, alone and stacked, and nothing waits for that device.

What else is done there is tested in each package's folder.
"""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from other_device import OTHER, OtherDevice
from scan.networks import FORMS as SCAN_FORMS
from scan.runs import small

from mini_lib.esbn.network import ENCODERS
from mini_lib.esbn.runs import MODELS as ESBN
from mini_lib.functions.transformer import MODELS as FUNCTIONS
from mini_lib.grid.networks import MODELS as GRID
from mini_lib.kanerva.network import MODELS as KANERVA
from mini_lib.reproduction.cells import paper_module
from mini_lib.reproduction.doctor import TINY
from mini_lib.scan import runs as scan_runs, tasks
from mini_lib.scan.runs import MODELS as SCAN
from mini_lib.training import TrainingRun, TrainingStack

CPU = torch.device("cpu")
LSTM, PRODUCT = TINY["esbn lstm"], TINY["kanerva product"]
OWN = (
    "abstractor",
    "abstractor tied, open",
    "corelnet learned, open",
    "differences, open",
    "pointer",
    "kanerva",
)
GRID_CURVES = {
    "paper": "grid",
    "task": "curves",
    "model": "differences",
    "lr": 1e-3,
    "updates": 1,
    "batch_size": 4,
}
FORMS = TINY | {
    **{f"esbn {encoder}": LSTM | {"encoder": encoder} for encoder in ENCODERS if encoder != "conv"},
    "esbn raw embeddings": LSTM | {"tcn": False},
    "esbn trn of the paper": TINY["esbn trn"] | {"options": {"paper_form": True}},
    # Every branch that the default form of Syntactic Attention does not take:
    "scan everything": small(options=SCAN_FORMS["everything"]).to_dict(),
    "scan - dep": small("gru_attention", options={"dependency": False}).to_dict(),
    **{
        f"functions {model}, {name}": TINY[f"functions {model}"] | reading
        for model in FUNCTIONS
        for name, reading in {
            "every prefix": {"prefixes": True},
            "strict": {"options": {"dim": 8, "layers": 1, "heads": 2, "mask": "strict"}},
            "no mask": {"options": {"dim": 8, "layers": 1, "heads": 2, "mask": "none"}},
        }.items()
    },
    "kanerva residual encoder": PRODUCT | {"encoder": "residual"},
    "kanerva images from their own codes": PRODUCT | {"ae_weight": 1.0},
    "kanerva no gradient to r": PRODUCT | {"options": {"stop_grad_r": True}},
    "kanerva binding": PRODUCT | {"task": "rgb"},
    "kanerva even weights": PRODUCT | {"options": {"assignment": "even"}},
    "kanerva unit prior, balanced": PRODUCT
    | {"options": {"assignment": "unit prior"}, "balance": 2.0, "balance_until": 5},
    "kanerva mixture, balanced": TINY["kanerva mixture"] | {"balance": 2.0},
    **{
        f"grid {model}": {"paper": "grid", "task": "match", "lr": 1e-3, "updates": 1, "batch_size": 4}
        | {"model": model}
        for model in GRID
        if model in OWN
    },
    "grid curves": GRID_CURVES,
    "grid curves as they are": GRID_CURVES | {"normalised": False},
    "grid commands": {"paper": "grid", "task": "commands", "lr": 1e-3, "updates": 1, "batch_size": 4}
    | {"model": "abstractor learned"},
    "kanerva given": PRODUCT  # what is given has no divergence
    | {"task": "rgb", "kl": {"assignment": 0.0, "assignment_read": 0.0}, "options": {"assignment": "given"}},
}


@pytest.fixture(autouse=True)
def short_commands(monkeypatch):
    """Commands of SCAN with two actions at most, since the other device computes one operation after another."""
    commands = [f"{verb}{end}" for verb in ("walk", "look", "run", "jump") for end in ("", " twice", " left")]
    monkeypatch.setattr(scan_runs, "get_split", lambda name: tasks.Split(commands, commands[:5]))
    monkeypatch.setattr(tasks, "MAX_ACTIONS", 3)


def test_every_network_is_here():
    models = {"esbn": ESBN, "scan": SCAN, "functions": FUNCTIONS, "kanerva": KANERVA}
    tried = {(settings["paper"], settings["model"]) for settings in TINY.values()}
    # The study's own two; its others are those of the papers.
    of_the_study = {("grid", "abstractor learned"), ("grid", "corelnet fixed")}
    assert tried == {(package, model) for package, known in models.items() for model in known} | of_the_study


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_a_network_learns_as_on_the_cpu_alone_and_stacked_and_waits_for_nothing(name):
    built = [paper_module(FORMS[name]["paper"]).build(FORMS[name], seed) for seed in (1, 2)]

    def runs() -> list[TrainingRun]:
        """The two runs, with fresh weights."""
        return [replace(run, model=deepcopy(run.model)) for run in built]

    here = [TrainingStack([run], CPU, stacked=False) for run in runs()]
    expected, gradients = zip(*(step(each, each.batch(0)) for each in here), strict=True)
    with OtherDevice():
        loss, own = step_elsewhere(TrainingStack(runs()[:1], OTHER, stacked=False))
        losses, owns = step_elsewhere(TrainingStack(runs(), OTHER, stacked=True))
    torch.testing.assert_close(loss, expected[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(losses, torch.cat(expected), rtol=1e-4, atol=1e-5)
    for gradient, right in zip((own, *owns[:, None]), (gradients[0], *gradients), strict=True):
        assert (gradient - right).norm() < 1e-3 * right.norm()


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
