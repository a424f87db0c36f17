"""What all else stands on: errors that help, random streams, devices and precision, progress."""

import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from mini_lib.devices import describe, pick_device, use_precision
from mini_lib.errors import UsageError, check_names, check_positive, check_positive_int
from mini_lib.progress import CURVE_HEAD, CURVE_TAIL, counted, open_bar, thin
from mini_lib.seeding import numpy_rng, seeded, stream_seed, torch_rng

CPU, GPU = torch.device("cpu"), torch.device("cuda")
BACKENDS = torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn
MANY = [f"esbn.table{i}" for i in range(40)]
STREAM = 9081114421506490416  # of seed 1 for "data"; stored runs depend on it


@pytest.mark.parametrize(
    ("name", "known", "message"),
    [
        ("LSMT", ["ESBN", "lstm"], r"unknown model 'LSMT'; did you mean 'lstm'\? known: ESBN, lstm$"),
        ("NOPE", ["loop", "loss, training"], "unknown model 'NOPE'; known: loop; loss, training$"),
        ("esbn.table399", MANY, r"did you mean 'esbn.table39'\? known: (esbn.table\d+, ){6}and 34 more"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest_ones(name, known, message):
    with pytest.raises(UsageError, match=message):
        check_names("model", [*known, name, "later"], known)


@pytest.mark.parametrize("number", [0, -1, True, np.inf, np.nan, "3", None])
def test_counts_and_sizes_are_numbers_above_zero_of_python_or_numpy(number):
    check_positive_int(count=1, other=np.int64(2))
    check_positive(count=0.5, other=np.float32(0.5))
    for check, wrong in ((check_positive_int, number), (check_positive_int, 2.0), (check_positive, number)):
        with pytest.raises(UsageError, match="count has to be a"):
            check(count=wrong)


def test_streams_differ_by_seed_and_purpose_and_stay_as_they_are():
    names = [(1, "data"), (2, "data"), (1, "weights"), (1, "data", 0), (1, "data", "0")]
    assert len({stream_seed(*name) for name in names}) == len(names)
    assert stream_seed(np.int64(3), "data", np.uint8(2)) == stream_seed(3, "data", 2)
    assert stream_seed(1, "data") == torch_rng(1, "data").initial_seed() == STREAM
    assert numpy_rng(1, "data").random() == np.random.default_rng(STREAM).random()
    for seed in (-1, True, 1.0):
        with pytest.raises(ValueError, match="a seed is an integer from 0"):
            stream_seed(seed, "data")


def test_seeded_leaves_the_users_generators_as_they_were(monkeypatch):
    seeds = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    before = torch.get_rng_state()
    with seeded(1, "data"):
        drawn = torch.rand(3)
    assert drawn.equal(torch.rand(3, generator=torch_rng(1, "data")))
    assert torch.get_rng_state().equal(before)
    assert seeds == []


def test_a_device_is_there_and_has_a_name(monkeypatch):
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    processor = "processor : 0\nmodel name\t: Xeon: 7\nmodel name : 8"
    monkeypatch.setattr(Path, "read_text", lambda path: processor)
    assert describe(pick_device("cpu")) == "cpu: Xeon: 7"
    for name in ("gpu", "cuda:99", "meta"):
        with pytest.raises(UsageError, match=rf"device '{name}'.*; use"):
            pick_device(name)
    for precision in ("tf32", "bf16"):
        with pytest.raises(UsageError, match=precision), use_precision(precision, CPU):
            pass


@pytest.mark.parametrize("own_choice", [False, True])
@pytest.mark.parametrize(
    ("precision", "device", "setting"), [("fp32", CPU, None), ("fp32", GPU, "ieee"), ("tf32", GPU, "tf32")]
)
def test_a_gpu_computes_as_asked_and_then_as_before(precision, device, setting, own_choice, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", own_choice)
    before = [part.fp32_precision for part in BACKENDS]
    with suppress(KeyboardInterrupt), use_precision(precision, device):
        assert [part.fp32_precision for part in BACKENDS] == ([setting] * 3 if setting else before)
        raise KeyboardInterrupt
    assert [part.fp32_precision for part in BACKENDS] == before
    assert torch.backends.cudnn.allow_tf32 == own_choice


def test_in_a_file_there_are_lines_at_the_start_each_minute_and_at_the_end(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    with counted("a network", 1000, True, begun=200) as tell:
        for update in range(200, 1001, 10):
            now[0] += 1.3  # 105.3 s in all
            tell(update)
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("a network: ") and "\r" not in line for line in lines)
    for line, done in zip(lines, (200, 660, 1000), strict=True):
        assert f"{done}/1000" in line
    assert " 7.60update/s" in lines[-1]  # what had been done earlier does not count for the speed


@pytest.mark.parametrize("shown", [True, False])
def test_on_a_terminal_a_bar_moves_unless_it_is_not_shown(shown, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with open_bar("runs", 3, "run", leave=True, shown=shown, begun=1) as bar:
        bar.update(2)
    said = capsys.readouterr().err
    assert ("\rruns:" in said and "3/3" in said) if shown else said == ""


@given(st.integers(0, 1500))
def test_a_curve_keeps_its_head_and_averages_the_rest_in_equal_blocks(length):
    curve = thin([(10 * i + 1, 2.0 * i, 50.0) for i in range(length)])
    head, rest = range(min(length, CURVE_HEAD)), range(CURVE_HEAD, length)
    assert curve["update"][:CURVE_HEAD] == [10 * i + 1 for i in head]
    assert curve["loss"][:CURVE_HEAD] == [2.0 * i for i in head]
    assert len(curve["update"]) <= CURVE_HEAD + CURVE_TAIL
    block = -(-len(rest) // CURVE_TAIL) or 1
    blocks = [rest[i : i + block] for i in range(0, len(rest), block)]
    assert curve["loss"][CURVE_HEAD:] == pytest.approx([2 * sum(b) / len(b) for b in blocks], rel=1e-4)
    assert curve["score"] == [50.0] * len(curve["update"])
