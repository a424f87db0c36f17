"""An update's many small kernels, recorded once and started together: a GPU waits less for Python.

An update of one of these networks starts a thousand kernels and more, and most take the GPU less time than they take
Python. A CUDA graph keeps their order and their places in memory; replayed, it computes with what lies there then.
"""

import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

WARM_UP = 3  # updates before one is recorded: libraries set themselves up, and tables are made

Batch = dict[str, Any]


def batch_tensors(batch: Batch) -> Iterator[Tensor]:
    """The tensors of a batch, those of the dicts in it too."""
    for value in batch.values():
        yield from batch_tensors(value) if isinstance(value, dict) else (value,)


def copy_batch(batch: Batch) -> Batch:
    """The same tensors at places of their own."""
    return {
        name: copy_batch(value) if isinstance(value, dict) else value.clone() for name, value in batch.items()
    }


class _Borrowed(TorchDispatchMode):
    """Collects the tensors that operations read and that were there before: a graph needs them as it goes on."""

    def __init__(self):
        super().__init__()
        self.own: set[int] = set()  # places in memory of what was made meanwhile
        self.tensors: dict[int, Tensor] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for tensor in _on_gpu((args, kwargs)):
            place = tensor.untyped_storage().data_ptr()
            if place not in self.own:
                self.tensors.setdefault(place, tensor.detach())
        made = func(*args, **kwargs)
        before = self.tensors.keys()
        self.own |= {each.untyped_storage().data_ptr() for each in _on_gpu(made)} - before
        return made


def _on_gpu(values: Any) -> list[Tensor]:
    return [each for each in tree_leaves(values) if isinstance(each, Tensor) and each.device.type == "cuda"]


class RecordedGradients:
    """Computes loss, score and gradients of batches: the first few as they are, the others by replaying a recording.

    A batch of another shape than the recorded one, such as a smaller last one, is computed as it is. So are all
    batches if recording fails, as it does where the loss reads a number back from the GPU; a RuntimeWarning says so.

    Args:
        compute: takes a batch; sets the gradients of `parameters`, which have none before, and returns the losses
            and the scores. It has to start the same kernels on the same shapes each time, and wait for nothing.
        parameters: whose gradients it sets.
        device: the GPU where they lie.
    """

    def __init__(
        self,
        compute: Callable[[Batch], tuple[Tensor, Tensor]],
        parameters: Sequence[Tensor],
        device: torch.device,
    ):
        self.compute, self.parameters, self.device = compute, list(parameters), device
        self.stream = torch.cuda.Stream(device)
        self.done, self.failed = 0, False
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Losses and scores of a batch; the gradients are the parameters' afterwards."""
        with torch.cuda.device(self.device):
            return self._compute(batch)

    def _compute(self, batch: Batch) -> tuple[Tensor, Tensor]:
        if self.graph is None and self.done >= WARM_UP and not self.failed:
            self._record(batch)
        if self.graph is None or not self._fits(batch):
            self.done += 1
            return self._as_it_is(batch)
        for place, value in zip(batch_tensors(self.batch), batch_tensors(batch), strict=True):
            place.copy_(value)
        self.graph.replay()
        for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
            parameter.grad = gradient
        return self.results[0].clone(), self.results[1].clone()

    def _fits(self, batch: Batch) -> bool:
        shapes = [(each.shape, each.dtype) for each in batch_tensors(batch)]
        return shapes == [(each.shape, each.dtype) for each in batch_tensors(self.batch)]

    def _as_it_is(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """On the stream on which it will be recorded, as PyTorch asks for."""
        self._forget_gradients()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            results = self.compute(batch)
        torch.cuda.current_stream().wait_stream(self.stream)
        return results

    def _record(self, batch: Batch) -> None:
        """Record the computation, which computes nothing yet."""
        self._forget_gradients()
        own, graph, borrowed = copy_batch(batch), torch.cuda.CUDAGraph(), _Borrowed()
        current, collects = torch.cuda.current_stream(), gc.isenabled()
        gc.collect()  # another stack's graph, if it ended meanwhile, would spoil this one
        gc.disable()
        try:
            with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"), borrowed:
                results = self.compute(own)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            self.failed = True
            warnings.warn(
                f"this network is trained without a CUDA graph: {error}", RuntimeWarning, stacklevel=2
            )
        else:
            self.graph, self.batch, self.results, self.borrowed = graph, own, results, borrowed.tensors
            self.gradients = [parameter.grad for parameter in self.parameters]
        finally:
            torch.cuda.set_stream(current)
            if collects:
                gc.enable()

    def _forget_gradients(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None
