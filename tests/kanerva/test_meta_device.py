"""Off the CPU without a GPU: the memory and what it imagines. Updates of all networks: see `test_gpu_ready.py`."""

import pytest
import torch
from other_device import OTHER, OtherDevice

from kanerva.test_addressing import randn
from kanerva.whole import make, pictures
from mini_lib.kanerva import generation
from mini_lib.kanerva.product_memory import ProductMemory
from mini_lib.seeding import torch_rng


@pytest.mark.parametrize("form", ["full", "mixture"])
def test_noise_that_is_not_passed_is_drawn_where_the_images_lie(form):
    network = make(form).train()
    with OtherDevice():
        assert network.to(OTHER)(pictures()[0].to(OTHER)).device == OTHER


def test_images_are_imagined_elsewhere_as_on_the_cpu():
    network = make("full")
    drawn = generation.draw_noise(network, 2, 3, torch_rng(0, "imagination"), draw=True)
    noise = {name: each.double() for name, each in drawn.items()}
    expected = generation.imagine(network, network.empty(2), noise, draw=True)
    with OtherDevice():
        network.to(OTHER)
        there = {name: each.to(OTHER) for name, each in noise.items()}
        found = generation.imagine(network, network.empty(2), there, draw=True)
        assert found.images.device == OTHER
        torch.testing.assert_close(found.logits.cpu(), expected.logits)


def test_a_memory_elsewhere_does_what_it_does_on_the_cpu():
    memory = ProductMemory(dim=4, machines=2, columns=3, dtype=torch.float64)
    codes = randn(5, 4, seed=1)

    def use(codes):
        memory.reset()
        return [
            memory.write(codes),
            *memory.read(codes),
            memory.log_likelihood(codes),
        ]

    expected = use(codes)
    with OtherDevice():
        memory.to(OTHER)
        found = use(codes.to(OTHER))
        assert {each.device for each in found} == {OTHER}
        found = [each.cpu() for each in found]
    torch.testing.assert_close(found, expected)
