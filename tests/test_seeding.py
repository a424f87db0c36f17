import numpy as np
import pytest
import torch

from mini_lib.seeding import numpy_rng, seeded, stream_seed, torch_rng

STREAM = 9081114421506490416  # of seed 1 for "data"; stored runs depend on it


def test_streams_differ_by_seed_and_purpose_and_stay_as_they_are():
    names = [(1, "data"), (2, "data"), (1, "weights"), (1, "data", 0), (1, "data", "0")]
    assert len({stream_seed(*name) for name in names}) == len(names)
    assert stream_seed(np.int64(3), "data", np.uint8(2)) == stream_seed(3, "data", 2)
    assert stream_seed(1, "data") == STREAM
    assert torch_rng(1, "data").initial_seed() == STREAM
    assert numpy_rng(1, "data").random() == np.random.default_rng(STREAM).random()


def test_seeded_leaves_the_users_generators_as_they_were(monkeypatch):
    seeds = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    before = torch.get_rng_state()
    with seeded(1, "data"):
        drawn = torch.rand(3)
    assert drawn.equal(torch.rand(3, generator=torch_rng(1, "data")))
    assert torch.get_rng_state().equal(before)
    assert seeds == []


@pytest.mark.parametrize("seed", [-1, True, 1.0])
def test_a_seed_is_an_integer_from_zero(seed):
    with pytest.raises(ValueError, match="a seed is an integer from 0"):
        stream_seed(seed, "data")
