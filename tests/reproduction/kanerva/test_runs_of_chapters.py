"""What chapters tell of runs that are on no record: stored results, and networks that come with the library."""

import json

import pytest
import torch

from mini_lib import trained
from mini_lib.kanerva.evaluation import evaluate
from mini_lib.kanerva.runs import Settings, build
from mini_lib.kanerva.tasks import evaluation
from mini_lib.reproduction.kanerva import dropouts, marked
from mini_lib.training import train

SMALL = [f"kanerva_small_{seed}" for seed in range(1, 6)]


def test_counts_are_of_every_run_at_every_tenth_update():
    counts = dropouts.stored()
    assert tuple(counts) == dropouts.RUNS
    assert {len(each) for each in counts.values()} == {dropouts.UPDATES // dropouts.EVERY}
    assert all(0 <= n <= 450 / machines for (machines, _), each in counts.items() for n in each)


@pytest.mark.slow
def test_counts_are_made_by_the_settings():
    machines, seed = dropouts.RUNS[0]
    run = build(dropouts.settings(machines), seed)
    found = dropouts.counts(train([run], stop=lambda update: update >= dropouts.EVERY)[0].checks)
    assert found == pytest.approx(dropouts.stored()[machines, seed][:1], abs=20)


def test_every_second_picture_is_marked_and_its_blue_digit_alone():
    images = torch.zeros(2, 4, 3, 8, 8)
    for mark, pixels in (("line", 8), ("pixel", 1)):
        new = marked.marked(images, mark)
        assert new.sum(dim=(-1, -2))[0].tolist() == [[0, 0, pixels], [0, 0, 0]] * 2
        assert new[..., 0, 0].sum() == 4
    assert not images.any()


def test_the_network_with_a_line_sorts_as_its_file_says():
    network = trained("kanerva_small_marked")
    about = network.about
    found = marked.sorting(network, Settings.from_dict(about["settings"]), "line")
    assert found == pytest.approx(about["metrics"], abs=5e-3)
    stored = {(each["mark"], each["seed"]): each for each in marked.stored()}
    assert about["metrics"].items() <= stored["line", about["seed"]].items()
    plain = trained("kanerva_small_1")
    assert marked.sorting(plain, Settings.from_dict(plain.about["settings"]), "line")["by_mark"] < 0.5


def test_a_marked_run_has_the_episodes_of_the_plain_one():
    settings = Settings.from_dict(trained("kanerva_small_1").about["settings"])
    plain = build(settings, 1).epoch(0)["images"]
    assert torch.equal(
        marked.build_marked(settings, 1, "line").epoch(0)["images"], marked.marked(plain, "line")
    )


@pytest.mark.parametrize("name", SMALL)
def test_small_networks_evaluate_to_the_metrics_in_their_files(name):
    network = trained(name)
    about = network.about
    settings = Settings.from_dict(about["settings"])
    test = evaluation(settings.task, settings.test_episodes, settings.items, source=settings.source)
    found, told = evaluate(network, test), about["metrics"]
    assert found == pytest.approx({name: told[name] for name in found}, rel=0.02, abs=0.01)


def test_stored_results_are_numbers_on_one_line_each():
    text = marked.STORED.read_text()
    assert len(text.splitlines()) == len(json.loads(text))
