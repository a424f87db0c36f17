"""The stand-in for a GPU refuses what a GPU refuses, and computes what the CPU does."""

import pytest
import torch
from other_device import OTHER, OtherDevice, There
from torch import nn

MATRIX = torch.arange(6.0).view(2, 3)


def test_it_computes_what_the_cpu_does_and_gives_it_back():
    layer = nn.Linear(3, 2)
    layer(MATRIX).square().sum().backward()
    expected = layer.weight.grad
    layer.zero_grad()
    with OtherDevice():
        there = layer.to(OTHER)
        loss = there(MATRIX.to(OTHER)).square().sum()
        loss.backward()
        assert isinstance(there.weight, There)
        assert loss.device == OTHER
        torch.testing.assert_close(there.weight.grad.cpu(), expected)
        assert torch.tensor([1.0, 2.0], device=OTHER).cpu().tolist() == [1, 2]
        assert there.weight.new_tensor([1, 2]).cpu().equal(torch.tensor([1.0, 2.0]))
        assert (MATRIX.to(OTHER).sum() * torch.tensor(2.0)).item() == 30


@pytest.mark.parametrize(
    "mixed",
    [
        lambda x: x + torch.ones(3),
        lambda x: x[torch.tensor([0])],
        lambda x: torch.cat([x, torch.ones(1, 3)]),
        lambda x: nn.functional.linear(x, torch.ones(2, 3)),
    ],
)
def test_tensors_of_two_devices_do_not_mix(mixed):
    with OtherDevice(), pytest.raises(RuntimeError, match="same device"):
        mixed(MATRIX.to(OTHER))


WAITING = {
    "item": lambda x: x.sum().item(),
    "truth": lambda x: bool(x.sum() > 0),
    "cpu": lambda x: x.cpu(),
    "copy": lambda x: torch.zeros(2, 3).copy_(x),
    "a number": lambda x: torch.zeros(()).copy_(x.sum()),
    "allclose": lambda x: torch.allclose(x, x),
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.mT + torch.eye(2, device=OTHER)),
    "solve": lambda x: torch.linalg.solve(x @ x.mT, x),
    "eigh": lambda x: torch.linalg.eigh(x @ x.mT),
    "isfinite": lambda x: bool(x.isfinite().all()),
    "mask": lambda x: x[x > 1],
    "nonzero": lambda x: x.nonzero(),
    "unique": lambda x: x.unique(),
    "to the device": lambda x: torch.ones(3).to(OTHER),
    "a list": lambda x: torch.tensor([1, 2], device=OTHER),
}


@pytest.mark.parametrize("name", WAITING)
def test_what_makes_the_cpu_wait_is_refused_on_demand(name):
    with OtherDevice():
        there = MATRIX.to(OTHER)
        WAITING[name](there)
    with OtherDevice(waits=False), pytest.raises(RuntimeError, match="would have to wait"):
        WAITING[name](there)


def test_what_no_gpu_is_waited_for_stays_allowed():
    with OtherDevice():
        there = MATRIX.to(OTHER)
    with OtherDevice(waits=False):
        there.clone()[there > 1] = 0.0
        torch.arange(3, device=OTHER) + there.where(there > 1, 0.0)
        torch.tensor(1.0, device=OTHER) * there
        assert there[:, torch.arange(2, device=OTHER)].shape == (2, 2)


def test_numpy_is_refused_as_on_a_gpu():
    with OtherDevice(), pytest.raises((RuntimeError, TypeError)):
        MATRIX.to(OTHER).numpy()
