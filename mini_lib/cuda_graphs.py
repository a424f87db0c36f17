"""An update's many small kernels, recorded once and started together: a GPU waits less for Python.

An update of one of these networks starts a thousand kernels and more, and most take the GPU less time than Python.
A CUDA graph keeps their order and their places in memory; replayed, it computes with what lies there then.
"""

import gc
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

# Private, as PyTorch has no public way to see each operation, nor to walk through dicts of dicts of tensors.
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map

WARM_UP = 3  # updates of a kind before one is recorded: libraries set themselves up, and tables are made

Compute = Callable[[dict], tuple[Tensor, Tensor]]


@cache
def side_stream(device: torch.device) -> torch.cuda.Stream:
    """The stream on which updates are recorded; one for all, since memory does not pass from one to another."""
    return torch.cuda.Stream(device)


class _Borrowed(TorchDispatchMode):
    """Collects the tensors that operations read and that were there before: a graph needs them as it goes on."""

    def __init__(self):
        super().__init__()
        self.made: set[int] = set()  # places in memory of what was made meanwhile
        self.tensors: dict[int, Tensor] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for tensor in _tensors((args, kwargs)):
            place = tensor.untyped_storage().data_ptr()
            if place not in self.made:
                self.tensors.setdefault(place, tensor.detach())
        made = func(*args, **kwargs)
        self.made |= {each.untyped_storage().data_ptr() for each in _tensors(made)} - self.tensors.keys()
        return made


def _tensors(values: Any) -> list[Tensor]:
    return [each for each in tree_leaves(values) if isinstance(each, Tensor)]


def _kind(batch: dict) -> tuple:
    """The names, shapes and types of a batch's tensors; batches of one kind can be computed by one recording."""
    tensors, names = tree_flatten(batch)
    return names, [(each.shape, each.dtype) for each in tensors]


class Recording:
    """Computes loss, score and gradients of batches: the first few as they are, then by replaying a recording.

    Recorded is the first kind of batch of which there were `WARM_UP`. A batch of another kind, such as a smaller
    last one, is computed as it is. So are all batches if they cannot be recorded, as where the loss reads a number
    back from the GPU; a RuntimeWarning says so.

    Args:
        parameters: whose gradients are set.
        device: the GPU where they lie.
    """

    def __init__(self, parameters: Sequence[Tensor], device: torch.device):
        self.parameters, self.device = list(parameters), device
        self.seen: list[tuple] = []  # the kinds of the batches that were computed as they are
        self.failed = False
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, compute: Compute, batch: dict) -> tuple[Tensor, Tensor]:
        """Losses and scores of a batch; the gradients are the parameters' afterwards.

        After a replay these are the same tensors each time, and the next call overwrites them.

        `compute` takes a batch, sets the gradients of the parameters, which have none before, and returns losses and
        scores. It has to start the same kernels for the same kind of batch, and wait for nothing.
        """
        with torch.cuda.device(self.device):
            kind = _kind(batch)
            if self.graph is None and not self.failed and self.seen.count(kind) == WARM_UP:
                self._record(compute, batch, kind)
            if self.graph is None or kind != self.kind:
                return self._as_it_is(compute, batch, kind)
            for place, value in zip(tree_leaves(self.batch), tree_leaves(batch), strict=True):
                place.copy_(value)
            self.graph.replay()
            for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
                parameter.grad = gradient
            return self.results[0].clone(), self.results[1].clone()

    def _as_it_is(self, compute: Compute, batch: dict, kind: tuple) -> tuple[Tensor, Tensor]:
        """On the stream on which it will be recorded, as PyTorch asks for.

        The last one before a recording must not wait for the GPU: to see that in a recording is too late, since one
        that fails may leave PyTorch's memory as if it went on.
        """
        results, stream = None, side_stream(self.device)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            if self.graph is None and not self.failed:
                self.seen.append(kind)
                if self.seen.count(kind) == WARM_UP:
                    results = self._without_waiting(compute, batch)
            if results is None:
                self._forget_gradients()
                results = compute(batch)
        torch.cuda.current_stream().wait_stream(stream)
        return results

    def _without_waiting(self, compute: Compute, batch: dict) -> tuple[Tensor, Tensor] | None:
        """Compute a batch where nothing may wait for the GPU; None, and no recording, where something does."""
        before = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")
        try:
            self._forget_gradients()
            return compute(batch)
        except RuntimeError as error:
            self._give_up(error)
            return None
        finally:
            torch.cuda.set_sync_debug_mode(before)

    def _record(self, compute: Compute, batch: dict, kind: tuple) -> None:
        """Record the computation, which computes nothing yet."""
        self._forget_gradients()
        own, graph, borrowed = tree_map(torch.clone, batch), torch.cuda.CUDAGraph(), _Borrowed()
        current, collects = torch.cuda.current_stream(), gc.isenabled()
        gc.collect()  # another stack's graph, if it ended meanwhile, would spoil this one
        gc.disable()
        # Other threads, such as the one that draws an epoch, may go on meanwhile: thread_local.
        how = {"stream": side_stream(self.device), "capture_error_mode": "thread_local"}
        try:
            with torch.cuda.graph(graph, **how), borrowed:
                results = compute(own)
        except RuntimeError as error:
            self._give_up(error)
        else:
            self.graph, self.kind, self.batch, self.results = graph, kind, own, results
            self.gradients, self.borrowed = [each.grad for each in self.parameters], borrowed.tensors
        finally:
            torch.cuda.set_stream(current)  # where a recording fails, PyTorch stays on the other one
            if collects:
                gc.enable()

    def _give_up(self, error: RuntimeError) -> None:
        self.failed = True
        warnings.warn(f"this network is trained without a CUDA graph: {error}", RuntimeWarning, stacklevel=2)

    def _forget_gradients(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None
