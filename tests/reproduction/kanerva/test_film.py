"""The film of specialisation: the stored one is of the cells' settings, and a training makes it again."""

import numpy as np
import pytest

from mini_lib.reproduction import Records, compare
from mini_lib.reproduction.kanerva import film
from mini_lib.reproduction.kanerva.cells import CELLS

FILMS = film.stored()


@pytest.mark.parametrize("name", film.VARIANTS)
def test_stored_films_have_every_frame(name):
    each = FILMS[name]
    frames, items = len(film.UPDATES), film.settings_of(name).items
    assert tuple(each.updates) == film.UPDATES
    assert each.gamma.shape == (frames, items, 2)
    assert each.alone.shape == (frames, 2, film.SHOWN, 3, 8, 8)
    assert each.together.shape == (frames, film.SHOWN, 3, 8, 8)
    np.testing.assert_allclose(each.gamma.sum(-1), 1, atol=1e-5)


def test_films_differ_in_the_balance_alone():
    printed, balanced = (film.settings_of(name).to_dict() for name in film.VARIANTS)
    assert printed.pop("balance", 0) == 0 < balanced.pop("balance")
    assert printed.pop("balance_until", 0) == 0 < balanced.pop("balance_until")
    assert printed == balanced


@pytest.mark.slow
@pytest.mark.parametrize("name", film.VARIANTS)
def test_training_again_gives_the_stored_frames(name):
    again, kept = film.take(film.settings_of(name), (0, 50)), FILMS[name]
    np.testing.assert_allclose(again.gamma, kept.gamma[:2], atol=0.02)
    np.testing.assert_allclose(again.nll, kept.nll[:2], rtol=0.01)
    difference = np.abs(again.together.astype(int) - kept.together[:2].astype(int))
    assert difference.mean() < 1


def test_the_printed_film_ends_where_the_record_of_its_seed_does():
    compared = compare(CELLS, Records(), tables=["kanerva.fig2a"], columns=["largest gamma"])
    [found] = [each for each in compared if each.cell.variant == film.VARIANTS["as printed"]]
    [record] = [each for each in found.records if each["seed"] == film.SEED]
    assert FILMS["as printed"].largest[-1] == pytest.approx(record["metrics"]["largest"], abs=0.02)
    assert FILMS["as printed"].nll[-1] == pytest.approx(record["metrics"]["nll"], rel=0.03)


def test_films_are_stored_and_read_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(film, "STORED", tmp_path / "films.npz")
    film.store(FILMS)
    for name, each in film.stored().items():
        for field, part in each._asdict().items():
            np.testing.assert_array_equal(part, getattr(FILMS[name], field))
