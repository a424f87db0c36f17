"""A second device without a GPU: its tensors hold values, and do not mix with those of the CPU.

with OtherDevice():
    network.to(OTHER)
    measure(network)

With `OtherDevice(waits=False)` an operation that makes a CPU wait for a GPU is refused too: `.item()`, `.cpu()`,
`bool()`, results whose shape depends on values, and copies of arrays from the CPU.
"""

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

CPU = torch.device("cpu")
OTHER = torch.device("meta:1")  # what its tensors call it; unlike those of "meta" itself they hold values
COPIES = {"_to_copy", "copy_"}  # go from device to device
# Values are read back: by those that ask, by a decomposition that checks itself, or to know a result's shape.
# (`repeat_interleave` would not need it where its length is passed.)
READS = {"_local_scalar_dense", "equal", "is_nonzero", "allclose"}
READS |= {"_linalg_check_errors", "_linalg_eigh", "_linalg_eigvals", "linalg_eig", "_linalg_svd"}
READS |= {"linalg_lstsq", "nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive"}
READS |= {"bincount", "repeat_interleave"}
INDEXES = {"index", "index_put", "index_put_", "_index_put_impl_"}


class There(Tensor):
    """A tensor on the other device. Like a GPU's, it has no `.numpy()`."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch.DisableTorchFunctionSubclass():
            return function(*args, **kwargs or {})

    @staticmethod
    def __new__(cls, values: Tensor):
        layout = {"strides": values.stride(), "storage_offset": values.storage_offset()}
        kind = {"dtype": values.dtype, "requires_grad": values.requires_grad}
        tensor = Tensor._make_wrapper_subclass(cls, values.shape, device=OTHER, **layout, **kind)
        tensor.values_there = values
        return tensor

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        raise RuntimeError(f"{operation} outside of `with OtherDevice()`")


class Lists(TorchFunctionMode):
    """Makes tensors of lists on the CPU first, as a GPU does; of `OTHER` itself PyTorch would keep no values."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is Tensor.new_tensor and args[0].device == OTHER:
            kwargs = {"dtype": args[0].dtype, "device": OTHER} | kwargs
            function, args = torch.tensor, args[1:]
        if function in (torch.tensor, torch.as_tensor) and kwargs.get("device") is not None:
            where = torch.device(kwargs.pop("device"))
            return function(*args, **kwargs).to(where)
        return function(*args, **kwargs)


class OtherDevice(TorchDispatchMode):
    """While it is entered, `.to(OTHER)` and `device=OTHER` make tensors there, and operations keep to one device.

    A number without axes may come from the CPU, and an index may not, which is stricter than a GPU.
    """

    def __init__(self, waits: bool = True):
        super().__init__()
        self.waits, self.lists = waits, Lists()

    def __enter__(self):
        self.lists.__enter__()
        return super().__enter__()

    def __exit__(self, *exc):
        super().__exit__(*exc)
        self.lists.__exit__(*exc)

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs, name = dict(kwargs or {}), operation.overloadpacket.__name__
        given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        there = [each for each in given if isinstance(each, There)]
        here = [each for each in given if not isinstance(each, There) and each.dim() > 0]
        if there and here and name not in COPIES:
            raise RuntimeError(f"{operation}: expected all tensors to be on the same device")
        asked = None if kwargs.get("device") is None else torch.device(kwargs["device"])
        if not self.waits and _waits(name, args, there, here, asked):
            raise RuntimeError(f"{operation}: the CPU would have to wait for the other device")
        if asked is not None:
            kwargs["device"] = CPU
        args, kwargs = tree_map_only(There, lambda each: each.values_there, (args, kwargs))
        result = operation(*args, **kwargs)
        if there if asked is None else asked == OTHER:
            return tree_map_only(Tensor, There, result)
        return result


def _waits(name: str, args: tuple, there: list, here: list, asked: torch.device | None) -> bool:
    """Whether an operation reads values back, or copies an array between devices."""
    if name == "copy_":
        from_there, to_there = isinstance(args[1], There), isinstance(args[0], There)
        return (from_there and not to_there) or (to_there and bool(here))
    if name == "_to_copy":
        return bool(there and asked == CPU) or bool(here and asked == OTHER)
    if there and name in INDEXES:
        masks = [each for each in args[1] if each is not None and each.dtype in (torch.bool, torch.uint8)]
        one_value = name != "index" and args[2].numel() == 1  # then it is a masked fill
        return bool(masks) and not one_value
    return bool(there) and name in READS
