import numpy as np
import pytest
import torch

from mini_lib.seeding import numpy_rng, seeded, stream_seed, torch_rng


def test_streams_differ_by_seed_and_purpose_and_repeat():
    assert stream_seed(1, "data") == stream_seed(1, "data")
    names = [(1, "data"), (2, "data"), (1, "weights"), (1, "data", 0), (1, "data", "0")]
    assert len({stream_seed(*name) for name in names}) == len(names)
    assert stream_seed(np.int64(3), "data", np.uint8(2)) == stream_seed(3, "data", 2)
    assert numpy_rng(1, "a").random() == numpy_rng(1, "a").random() != numpy_rng(1, "b").random()
    assert torch.rand(3, generator=torch_rng(1, "a")).equal(torch.rand(3, generator=torch_rng(1, "a")))


def test_seeded_leaves_the_global_generator_as_it_was():
    before = torch.get_rng_state()
    with seeded(1, "weights"):
        first = torch.rand(3)
    assert torch.get_rng_state().equal(before)
    with seeded(1, "weights"):
        assert torch.rand(3).equal(first)


def test_seeded_leaves_the_generators_of_gpus_alone(monkeypatch):
    seeds = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    with seeded(1, "weights"):
        torch.rand(3)
    assert seeds == []
    torch.manual_seed(1)  # which is how PyTorch seeds GPUs
    assert seeds == [1]


@pytest.mark.parametrize("seed", [-1, True, np.int64(-1)])
def test_a_seed_is_an_integer_from_zero(seed):
    with pytest.raises(ValueError, match="a seed is an integer from 0"):
        stream_seed(seed, "data")
