"""Devices by name, and precision: what is asked for in a block, and afterwards what the user had."""

from dataclasses import replace

import pytest
import torch
from test_training import toy

from mini_lib.devices import check_precision, pick_device, use_precision
from mini_lib.errors import UsageError
from mini_lib.training import train


def test_a_device_is_there():
    assert pick_device("cpu").type == "cpu"
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pick_device("gpu"), "unknown device 'gpu'; use auto, cpu or cuda"),
        (lambda: pick_device("cuda:99"), r"device 'cuda:99' is not there: PyTorch sees \d+ GPUs"),
        (lambda: pick_device("meta"), "device 'meta' is not supported"),
        (lambda: check_precision("bf16", torch.device("cpu")), "unknown precision 'bf16'"),
        (lambda: train([toy(1)], precision="tf32"), "tf32 is a precision of GPUs"),
    ],
)
def test_what_is_absent_or_unknown_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def precisions():
    """PyTorch's settings, newer and older ones."""
    backends = torch.backends
    newer = [part.fp32_precision for part in (backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn)]
    return newer, backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32


@pytest.fixture(params=[False, True])
def own_choice(request):
    """The user's own precision for convolutions, both ways."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = request.param
    yield precisions()
    torch.backends.cudnn.allow_tf32 = before


def test_training_on_a_cpu_leaves_the_users_precision_alone(own_choice):
    during = []
    training_run = toy(1)
    measured = training_run.evaluate
    train([replace(training_run, evaluate=lambda net: during.append(precisions()) or measured(net))])
    assert during == [own_choice]
    assert precisions() == own_choice


@pytest.mark.parametrize(("precision", "setting"), [("fp32", "ieee"), ("tf32", "tf32")])
def test_a_gpu_computes_in_the_precision_asked_for_and_then_in_the_users(precision, setting, own_choice):
    def fail():
        with use_precision(precision, torch.device("cuda")):
            backends = torch.backends
            for part in (backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn):
                assert part.fp32_precision == setting
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert precisions() == own_choice
