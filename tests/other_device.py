"""A second device without a GPU: who mixes its tensors with those of the CPU is refused, as on a GPU.

with OtherDevice():
    network.to(OTHER)
    measure(network)
"""

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

OTHER = torch.device("meta")  # what its tensors call their device; unlike a true meta tensor they hold values
LOOKS_INTO = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)  # go from device to device


class There(Tensor):
    """A tensor on the other device."""

    def __new__(cls, values: Tensor):
        """Keep the values out of reach: only operations of `OtherDevice` see them."""
        size = {"strides": values.stride(), "dtype": values.dtype, "requires_grad": values.requires_grad}
        tensor = torch.Tensor._make_wrapper_subclass(cls, values.shape, device=OTHER, **size)
        tensor.values_there = values
        return tensor

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        """Without the mode there is nothing to compute with."""
        raise RuntimeError(f"{operation} outside of `with OtherDevice()`")


class OtherDevice(TorchDispatchMode):
    """While it is entered, `.to(OTHER)` and `device=OTHER` make tensors there, and operations keep to one device.

    A number without axes may come from the CPU, and an index may not, which is stricter than a GPU.
    """

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Compute with the values; the result lies where the arguments do, or where it is asked for."""
        kwargs = dict(kwargs or {})
        given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        there = [each for each in given if isinstance(each, There)]
        here = [each for each in given if not isinstance(each, There) and each.dim() > 0]
        if there and here and operation not in LOOKS_INTO:
            raise RuntimeError(f"{operation}: expected all tensors to be on the same device")
        asked = kwargs.get("device")
        if asked is not None:
            kwargs["device"] = torch.device("cpu")
        args, kwargs = tree_map_only(There, lambda each: each.values_there, (args, kwargs))
        result = operation(*args, **kwargs)
        if there if asked is None else torch.device(asked) == OTHER:
            return tree_map_only(Tensor, There, result)
        return result
