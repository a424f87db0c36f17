"""How updates are recorded and replayed, without a GPU: its parts are stood in for, and a replay computes anew."""

import gc
import weakref
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given, strategies as st
from torch import nn

from mini_lib import cuda_graphs
from mini_lib.cuda_graphs import WARM_UP, Recording


class Stream(nullcontext):
    def wait_stream(self, other):
        """Nothing runs beside it."""


class Graph:
    """Replays by computing the recorded batch once more, into the places of the first results."""

    line, replays = None, 0

    def replay(self):
        Graph.replays += 1
        recording, slope = self.line.recording, self.line.slope
        slope.grad = None
        for place, value in zip(recording.results, self.line.compute(recording.batch), strict=True):
            place.copy_(value)
        recording.gradients[0].copy_(slope.grad)


@pytest.fixture(autouse=True, scope="module")
def sync_mode():
    """Stand-ins for PyTorch's parts; the mode in which what waits for the GPU is an error."""
    mode = ["default"]
    names = ("Stream", "current_stream", "set_stream", "stream", "device", "graph")
    parts = dict.fromkeys(names, lambda *given, **how: Stream())
    parts |= {"CUDAGraph": Graph, "get_sync_debug_mode": lambda: mode[0]}
    parts |= {"set_sync_debug_mode": lambda new: mode.__setitem__(0, new)}
    with pytest.MonkeyPatch.context() as patch:
        for name, part in parts.items():
            patch.setattr(torch.cuda, name, part)
        patch.setattr(gc, "collect", lambda: 0)  # which takes longer than all the rest
        cuda_graphs.side_stream.cache_clear()
        yield mode
        cuda_graphs.side_stream.cache_clear()


class Line(nn.Module):
    """A model with its loss, and what records it."""

    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([0.5, 2.0]))
        self.recording = Recording([self.slope], torch.device("cpu"))
        Graph.line, Graph.replays = self, 0

    def compute(self, batch):
        error = (batch["x"] @ self.slope - batch["noise"]["y"]).square().mean()
        error.backward()
        return error.detach()[None], -error.detach()[None]

    def check(self, batch, compute):
        """Loss, score and gradient are those of this batch."""
        loss, score = self.recording(compute, batch)
        x, y = batch["x"], batch["noise"]["y"]
        error = x @ self.slope.detach() - y
        torch.testing.assert_close(self.slope.grad, 2 * x.T @ error / len(x))
        torch.testing.assert_close(loss, error.square().mean()[None])
        torch.testing.assert_close(score, -loss)
        return loss


def batch_of(size, seed):
    draw = torch.Generator().manual_seed(seed)
    return {"x": torch.randn(size, 2, generator=draw), "noise": {"y": torch.randn(size, generator=draw)}}


@given(st.lists(st.sampled_from([4, 4, 4, 3]), max_size=12))
def test_every_batch_has_its_own_loss_and_gradient_recorded_or_not(sizes):
    line = Line()
    losses = [line.check(batch_of(size, seed), line.compute) for seed, size in enumerate(sizes)]
    assert len({loss.item() for loss in losses}) == len(sizes)  # no replay overwrites an earlier loss
    recorded = next((size for i, size in enumerate(sizes) if sizes[:i].count(size) == WARM_UP), None)
    assert Graph.replays == max(0, sizes.count(recorded) - WARM_UP)


@pytest.mark.parametrize("waits", [True, False])
def test_what_waits_or_cannot_be_recorded_learns_all_the_same(waits, sync_mode, monkeypatch):
    line = Line()

    def compute(batch):
        if waits and sync_mode[0] == "error":
            raise RuntimeError("not permitted")
        return line.compute(batch)

    def fails(graph, **how):
        raise AssertionError("it was recorded") if waits else RuntimeError("not permitted")

    monkeypatch.setattr(torch.cuda, "graph", fails)
    for seed in range(2 * WARM_UP):
        failing = seed == WARM_UP - waits  # the last that is computed before a recording, or the recording
        with pytest.warns(RuntimeWarning, match="CUDA graph: not permitted") if failing else nullcontext():
            line.check(batch_of(4, seed), compute)
    assert (sync_mode[0], Graph.replays, gc.isenabled()) == ("default", 0, True)


def test_a_recording_holds_no_network_that_nobody_needs():
    line = Line()
    for seed in range(WARM_UP + 2):
        line.check(batch_of(4, seed), line.compute)
    gone, Graph.line = weakref.ref(line), None
    gc.disable()
    try:
        del line
        assert gone() is None
    finally:
        gc.enable()
