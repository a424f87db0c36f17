"""An update's thousand small kernels, recorded once as a CUDA graph and replayed: a GPU waits less for Python."""

import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import torch
from torch import Tensor

WARM_UP = 3  # updates of a signature before one is recorded, in which libraries set themselves up

Compute = Callable[[dict], tuple[Tensor, Tensor]]


@cache
def side_stream(device: torch.device) -> torch.cuda.Stream:
    """The stream on which updates are recorded; one for all, since memory does not pass from one to another."""
    return torch.cuda.Stream(device)


def _leaves(batch: dict) -> Iterator[Tensor]:
    """The tensors of a batch in order, those of dicts in it included."""
    for value in batch.values():
        yield from _leaves(value) if isinstance(value, dict) else (value,)


def _clone(batch: dict) -> dict:
    return {
        name: _clone(value) if isinstance(value, dict) else value.clone() for name, value in batch.items()
    }


def _signature(batch: dict) -> list[tuple]:
    """The names, shapes and types of a batch's tensors; one recording computes batches of one signature."""
    return [
        (name, _signature(value)) if isinstance(value, dict) else (name, value.shape, value.dtype)
        for name, value in batch.items()
    ]


class Recording:
    """Computes loss, score and gradients of batches: the first few eagerly, then by replaying a recording.

    Recorded is a batch of the first signature that has been seen `WARM_UP` times. A batch of another signature, such
    as a smaller last one, is computed eagerly. So are all batches if they cannot be recorded, as where the loss
    reads a number back from the GPU; a RuntimeWarning says so. What the loss reads besides parameters and batch has
    to stay where it is in memory.
    """

    def __init__(self, parameters: Sequence[Tensor], device: torch.device):
        self.parameters, self.device = list(parameters), device
        self.seen: list[list[tuple]] = []  # the signatures of the batches that were computed eagerly
        self.failed = False
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, compute: Compute, batch: dict) -> tuple[Tensor, Tensor]:
        """Losses and scores of a batch; the gradients are the parameters' afterwards, until the next call.

        `compute` takes a batch, sets the gradients of the parameters, which have none before, and returns losses and
        scores. It has to start the same kernels for the same signature, and wait for nothing.
        """
        with torch.cuda.device(self.device):
            signature = _signature(batch)
            if self.graph is None and not self.failed and self.seen.count(signature) == WARM_UP:
                self._record(compute, batch, signature)
            if self.graph is None or signature != self.signature:
                return self._run_eagerly(compute, batch, signature)
            for place, value in zip(_leaves(self.batch), _leaves(batch), strict=True):
                place.copy_(value)
            self.graph.replay()
            for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
                parameter.grad = gradient
            return self.results[0].clone(), self.results[1].clone()

    def _run_eagerly(self, compute: Compute, batch: dict, signature: list[tuple]) -> tuple[Tensor, Tensor]:
        """On the stream on which it will be recorded, as PyTorch asks for.

        The last one before a recording must not wait for the GPU: to see that in a recording is too late, since one
        that fails may leave PyTorch's memory as if it went on.
        """
        results, stream = None, side_stream(self.device)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            if self.graph is None and not self.failed:
                self.seen.append(signature)
                if self.seen.count(signature) == WARM_UP:
                    results = self._without_waiting(compute, batch)
            if results is None:
                self._zero_grad()
                results = compute(batch)
        torch.cuda.current_stream().wait_stream(stream)
        return results

    def _without_waiting(self, compute: Compute, batch: dict) -> tuple[Tensor, Tensor] | None:
        """Compute a batch where nothing may wait for the GPU; None, and no recording, where something does."""
        before = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")
        try:
            self._zero_grad()
            return compute(batch)
        except RuntimeError as error:
            self._disable(error)
            return None
        finally:
            torch.cuda.set_sync_debug_mode(before)

    def _record(self, compute: Compute, batch: dict, signature: list[tuple]) -> None:
        """Record the computation, which computes nothing yet."""
        self._zero_grad()
        own, graph = _clone(batch), torch.cuda.CUDAGraph()
        current, collects = torch.cuda.current_stream(), gc.isenabled()
        gc.collect()  # another stack's graph, if it ended meanwhile, would spoil this one
        gc.disable()
        # Other threads, such as the one that draws an epoch, may go on meanwhile: thread_local.
        how = {"stream": side_stream(self.device), "capture_error_mode": "thread_local"}
        try:
            with torch.cuda.graph(graph, **how):
                results = compute(own)
        except RuntimeError as error:
            self._disable(error)
        else:
            self.graph, self.signature, self.batch, self.results = graph, signature, own, results
            self.gradients = [each.grad for each in self.parameters]
        finally:
            torch.cuda.set_stream(current)  # where a recording fails, PyTorch stays on the other one
            if collects:
                gc.enable()

    def _disable(self, error: RuntimeError) -> None:
        self.failed = True
        warnings.warn(f"this network is trained without a CUDA graph: {error}", RuntimeWarning, stacklevel=2)

    def _zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None
