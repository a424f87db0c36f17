"""How updates are recorded and replayed, without a GPU: its parts are stood in for, and a replay computes anew."""

import gc
import warnings
import weakref
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from mini_lib import cuda_graphs
from mini_lib.cuda_graphs import WARM_UP, Recording
from mini_lib.reproduction.cells import paper_module
from mini_lib.reproduction.doctor import TINY
from mini_lib.training import TrainingStack

CPU = torch.device("cpu")
WAITS = "called a synchronizing CUDA operation"


class Stream:
    def wait_stream(self, other):
        """Nothing runs beside it."""


class Graph:
    """Replays by computing the recorded batch once more, into the places of the first results."""

    recording = compute = None
    replays = 0

    def replay(self):
        Graph.replays += 1
        recording = Graph.recording
        for parameter in recording.parameters:
            parameter.grad = None
        results = Graph.compute(recording.batch)
        for place, value in zip(recording.results, results, strict=True):
            place.copy_(value)
        for place, parameter in zip(recording.gradients, recording.parameters, strict=True):
            place.copy_(parameter.grad)


@pytest.fixture
def stand_ins(monkeypatch):
    mode = ["default"]
    Graph.replays = 0
    parts = {
        "Stream": lambda device: Stream(),
        "current_stream": Stream,
        "set_stream": lambda stream: None,
        "stream": lambda stream: nullcontext(),
        "device": lambda device: nullcontext(),
        "graph": lambda graph, **how: nullcontext(),
        "CUDAGraph": Graph,
        "get_sync_debug_mode": lambda: mode[0],
        "set_sync_debug_mode": lambda new: mode.__setitem__(0, new),
    }
    for name, part in parts.items():
        monkeypatch.setattr(torch.cuda, name, part)
    cuda_graphs.side_stream.cache_clear()
    yield mode
    cuda_graphs.side_stream.cache_clear()


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([0.5, 2.0]))


def recording_of(line):
    """A recording of a loss of `line`, and the batches that were computed and not replayed."""
    computed = []

    def compute(batch):
        computed.append(len(batch["x"]))
        error = (batch["x"] @ line.slope - batch["noise"]["y"]).square().mean()
        error.backward()
        return error.detach()[None], error.detach()[None]

    recording = Recording([*line.parameters()], CPU)
    Graph.recording, Graph.compute = recording, compute
    return recording, compute, computed


def batch_of(size, seed):
    draw = torch.Generator().manual_seed(seed)
    return {"x": torch.randn(size, 2, generator=draw), "noise": {"y": torch.randn(size, generator=draw)}}


def right_gradient(line, batch):
    x, y = batch["x"], batch["noise"]["y"]
    return 2 * x.T @ (x @ line.slope.detach() - y) / len(x)


@pytest.mark.parametrize("sizes", [[4] * 6, [4, 4, 4, 3, 4, 4, 3, 4], [3, 4, 4, 4, 4, 3, 4]], ids=str)
def test_every_batch_has_its_own_loss_and_gradient(stand_ins, sizes):
    line = Line()
    recording, compute, _ = recording_of(line)
    for seed, size in enumerate(sizes):
        batch = batch_of(size, seed)
        loss, _ = recording(compute, batch)
        torch.testing.assert_close(line.slope.grad, right_gradient(line, batch))
        assert loss.item() == pytest.approx(
            (batch["x"] @ line.slope.detach() - batch["noise"]["y"]).square().mean().item()
        )
    replayed = sizes.count(4) - WARM_UP
    assert Graph.replays == replayed > 0
    assert recording.signature == cuda_graphs._signature(batch_of(4, 0))


def test_the_losses_of_one_replay_are_not_those_of_the_next(stand_ins):
    recording, compute, _ = recording_of(Line())
    losses = [recording(compute, batch_of(4, seed))[0] for seed in range(WARM_UP + 2)]
    assert losses[-1].item() != losses[-2].item()


def test_batches_with_other_names_are_of_another_signature():
    batch = batch_of(4, 0)
    turned = {"noise": {"y": batch["noise"]["y"]}, "x": batch["x"]}
    renamed = {"z": batch["x"], "noise": batch["noise"]}
    assert cuda_graphs._signature(batch) == cuda_graphs._signature(batch_of(4, 1))
    assert cuda_graphs._signature(batch) != cuda_graphs._signature(turned)
    assert cuda_graphs._signature(batch) != cuda_graphs._signature(renamed)


def test_what_waits_is_never_recorded_and_learns_all_the_same(stand_ins, monkeypatch):
    line = Line()
    recording, compute, computed = recording_of(line)

    def waits(batch):
        if stand_ins[0] == "error":
            raise RuntimeError(WAITS)
        return compute(batch)

    monkeypatch.setattr(recording, "_record", lambda *args: pytest.fail("it was recorded"))
    with pytest.warns(RuntimeWarning, match=f"trained without a CUDA graph: {WAITS}"):
        [recording(waits, batch_of(4, seed)) for seed in range(WARM_UP)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(WARM_UP, WARM_UP + 3):
            recording(waits, batch := batch_of(4, seed))
    torch.testing.assert_close(line.slope.grad, right_gradient(line, batch))
    assert (stand_ins[0], len(computed)) == ("default", WARM_UP + 3)


def test_what_cannot_be_recorded_learns_all_the_same(stand_ins, monkeypatch):
    def fails(graph, **how):
        raise RuntimeError("operation not permitted")

    monkeypatch.setattr(torch.cuda, "graph", fails)
    line = Line()
    recording, compute, computed = recording_of(line)
    with pytest.warns(RuntimeWarning, match="not permitted"):
        [recording(compute, batch_of(4, seed)) for seed in range(WARM_UP + 2)]
    torch.testing.assert_close(line.slope.grad, right_gradient(line, batch_of(4, WARM_UP + 1)))
    assert len(computed) == WARM_UP + 2
    assert gc.isenabled()


@pytest.mark.parametrize("stacked", [False, True])
def test_a_stack_with_a_recording_is_free_once_nobody_needs_it(stand_ins, stacked):
    settings = TINY["esbn lstm"]
    runs = [paper_module("esbn").build(settings, seed) for seed in (1, 2)][: 1 + stacked]
    stack = TrainingStack(runs, CPU, stacked)
    stack.recording = Recording([*stack.params.values()], CPU)
    stack.step(stack.batch(0))
    gone = weakref.ref(stack)
    gc.disable()
    try:
        del stack
        assert gone() is None
    finally:
        gc.enable()
