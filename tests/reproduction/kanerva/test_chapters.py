"""What chapters draw, and tell of runs that are on no record: stored results, and networks that come along."""

import numpy as np
import pytest
import torch

from mini_lib import trained
from mini_lib.kanerva.runs import Settings, build
from mini_lib.reproduction.kanerva import dropouts, live, marked
from mini_lib.seeding import torch_rng
from mini_lib.training import train


def test_counts_are_of_every_run_at_every_tenth_update():
    counts = dropouts.stored()
    assert tuple(counts) == dropouts.RUNS
    assert {len(each) for each in counts.values()} == {dropouts.UPDATES // dropouts.EVERY}
    assert all(0 <= n <= 450 / machines for (machines, _), each in counts.items() for n in each)
    assert dropouts.counts([{"least_used": 0.1}, {"least_used": 0.0022}]) == [45, 1]


@pytest.mark.slow
def test_counts_are_made_by_the_settings():
    machines, seed = dropouts.RUNS[0]
    run = build(dropouts.settings(machines), seed)
    found = dropouts.counts(train([run], stop=lambda update: update >= dropouts.EVERY)[0].checks)
    assert found == pytest.approx(dropouts.stored()[machines, seed][:1], abs=20)


def test_every_second_picture_of_a_marked_run_has_a_mark_in_its_blue_digit_alone():
    settings = Settings.from_dict(trained("kanerva_small_1").about["settings"])
    plain = build(settings, 1).epoch(0)["images"]
    for mark, rows in (("line", slice(None)), ("pixel", 0)):
        expected = plain.clone()
        for b, t in np.ndindex(len(plain), settings.items):
            if t % 2 == 0:
                expected[b, t, 2, rows, 0] = 1
        assert marked.build_marked(settings, 1, mark).epoch(0)["images"].equal(expected)
        assert not plain.equal(expected)


def test_the_network_with_a_line_sorts_as_its_file_says():
    network, plain = trained("kanerva_small_marked"), trained("kanerva_small_1")
    about = network.about
    found = marked.sorting(network, Settings.from_dict(about["settings"]), "line")
    assert found == pytest.approx(about["metrics"], abs=5e-3)
    stored = {(each["mark"], each["seed"]): each for each in marked.stored()}
    assert about["metrics"].items() <= stored["line", about["seed"]].items()
    assert marked.sorting(plain, Settings.from_dict(plain.about["settings"]), "line")["by_mark"] < 0.5


def test_a_live_figure_has_the_digits_means_and_noise_of_its_chapter():
    parcel, pixels = live.memory(), live.digits.pool().images.flatten(1).double()
    assert parcel.facts["mean"] == pytest.approx(pixels.mean(0).tolist())
    assert parcel.facts["scale"] == pytest.approx((pixels - pixels.mean(0)).std().item())
    chosen = torch.randperm(360, generator=torch_rng(0, "chapter"))[:45]
    shown = live.digits.pool(split="test").images[chosen].flatten(1)
    assert parcel.tensors["digits/8"].equal(shown.byte())
    assert [parcel.tensors[f"means/{columns}"].shape[-1] for columns in (5, 15, 30)] == [5, 15, 30]
    noise = live.choice().tensors["gumbel"].double()
    assert noise.shape == (400, 3)
    assert noise.mean().item() == pytest.approx(np.euler_gamma, abs=0.15)
