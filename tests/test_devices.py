"""Devices by name, and precision: what is asked for in a block, and afterwards what the user had."""

from contextlib import suppress
from pathlib import Path

import pytest
import torch

from mini_lib.devices import describe, pick_device, use_precision
from mini_lib.errors import UsageError

CPU, GPU = torch.device("cpu"), torch.device("cuda")
BACKENDS = torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn


def test_a_device_is_there_and_has_a_name(monkeypatch):
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    monkeypatch.setattr(
        Path, "read_text", lambda path: "processor : 0\nmodel name\t: Xeon: 7\nmodel name : 8"
    )
    assert describe(pick_device("cpu")) == "cpu: Xeon: 7"
    for name in ("gpu", "cuda:99", "meta"):
        with pytest.raises(UsageError, match=rf"device '{name}'.*; use"):
            pick_device(name)


@pytest.mark.parametrize("own_choice", [False, True])
@pytest.mark.parametrize(
    ("precision", "device", "setting"), [("fp32", CPU, None), ("fp32", GPU, "ieee"), ("tf32", GPU, "tf32")]
)
def test_a_gpu_computes_in_the_precision_asked_for_and_then_in_the_users(
    precision, device, setting, own_choice, monkeypatch
):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", own_choice)
    before = [part.fp32_precision for part in BACKENDS]
    with suppress(KeyboardInterrupt), use_precision(precision, device):
        assert [part.fp32_precision for part in BACKENDS] == ([setting] * 3 if setting else before)
        raise KeyboardInterrupt
    assert [part.fp32_precision for part in BACKENDS] == before
    assert torch.backends.cudnn.allow_tf32 == own_choice


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_a_precision_that_a_cpu_does_not_have_is_refused(precision):
    with pytest.raises(UsageError, match=precision), use_precision(precision, CPU):
        pass
