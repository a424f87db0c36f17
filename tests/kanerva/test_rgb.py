"""The binding task: independent digits in three channels, queries without the green one, fixed test episodes."""

import pytest
import torch

from mini_lib.kanerva.digits import COLORS, RGBEpisodes, pool, routes, sample_rgb
from mini_lib.seeding import torch_rng


def draw(count=4, items=6, seed=0, **options):
    return sample_rgb(count, items, torch_rng(seed, "test"), **options)


def test_each_channel_is_a_digit_with_its_label():
    assert COLORS == ("red", "green", "blue")
    for split in ("train", "test"):
        episodes, all_of_it = draw(split=split), pool("digits", split)
        assert isinstance(episodes, RGBEpisodes)
        assert episodes.images.shape == episodes.queries.shape == (4, 6, 3, 8, 8)
        assert episodes.labels.shape == (4, 6, 3)
        for image, label in zip(
            episodes.images.flatten(0, 2), episodes.labels.flatten().tolist(), strict=True
        ):
            same = (all_of_it.images == image.bool()).flatten(1).all(1)
            assert same.any()
            assert label in all_of_it.labels[same]


def test_queries_lack_the_green_channel_alone():
    episodes = draw()
    assert episodes.queries[:, :, 0].equal(episodes.images[:, :, 0])
    assert episodes.queries[:, :, 2].equal(episodes.images[:, :, 2])
    assert not episodes.queries[:, :, 1].any()
    assert episodes.images[:, :, 1].any(dim=-1).any(dim=-1).all()  # as the images' own is not


@pytest.mark.parametrize(
    ("machines", "expected"), [(2, [0] * 5 + [1] * 5), (3, [0, 0, 0, 0, 1, 1, 1, 2, 2, 2])]
)
def test_a_route_follows_the_red_digit_alone(machines, expected):
    labels = torch.stack([torch.arange(10), torch.arange(10).flip(0), torch.full((10,), 3)], dim=1)
    chosen = routes(labels, machines)["given_read"]
    assert chosen.argmax(1).tolist() == expected
    assert (chosen.sum(1) == 1).all()
    assert set(chosen.unique().tolist()) == {0.0, 1.0}
