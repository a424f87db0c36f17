"""A second device without the hardware: its tensors keep their numbers on the CPU, but do not mix with the CPU's."""

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

SECOND = torch.device("meta")  # what the tensors say of themselves; any device but the CPU would do
TAKES_INDICES = {"index", "index_put", "index_put_"}  # of the CPU too, as on a GPU


class OnSecond(Tensor):
    """A tensor of the second device; `values` holds its numbers. Like a GPU's, it has no `.numpy()`."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, values: Tensor) -> "OnSecond":
        layout = {"strides": values.stride(), "storage_offset": values.storage_offset()}
        made = Tensor._make_wrapper_subclass(cls, values.shape, dtype=values.dtype, device=SECOND, **layout)
        made.values = values
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        with SecondDevice():
            return func(*args, **(kwargs or {}))


class SecondDevice(TorchDispatchMode):
    """Within it `.to(SECOND)` and `device=SECOND` make tensors of the second device; `.cpu()` brings them back.

    An operation on tensors of both devices raises, but for what a GPU takes: indices and CPU tensors of no axes.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, func.overloadpacket.__name__
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        on_second = any(isinstance(tensor, OnSecond) for tensor in tensors)
        strangers = any(not isinstance(tensor, OnSecond) and tensor.dim() > 0 for tensor in tensors)
        if on_second and strangers and name not in TAKES_INDICES:
            raise RuntimeError(f"{name}: expected all tensors to be on the same device")
        if kwargs.get("device") is not None:
            on_second = torch.device(kwargs["device"]) == SECOND
            kwargs = kwargs | {"device": torch.device("cpu")}
        plain_args, plain_kwargs = tree_map(_values, (args, kwargs))
        made = func(*plain_args, **plain_kwargs)
        if name.endswith("_"):
            return args[0]  # changed in place
        return tree_map(_wrapped, made) if on_second else made


def _values(leaf):
    return leaf.values if isinstance(leaf, OnSecond) else leaf


def _wrapped(leaf):
    return OnSecond(leaf) if isinstance(leaf, Tensor) else leaf
