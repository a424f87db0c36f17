"""The film of specialization: the stored one is of the cells' settings, and ends where their record does."""

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


def test_films_differ_where_the_balance_acts():
    printed, balanced = (each.least_used[film.UPDATES.index(1000)] for each in FILMS.values())
    assert printed < 0.1 < 0.3 < balanced


def test_the_balanced_film_ends_divided():
    assert FILMS["balanced at first"].largest[-1] > 0.95
    assert FILMS["balanced at first"].least_used[-1] > 0.4


def test_the_printed_film_ends_where_the_record_of_its_seed_does():
    compared = compare(CELLS, Records(), tables=["kanerva.fig2a"], columns=["largest gamma"])
    [found] = [each for each in compared if each.cell.variant == film.VARIANTS["as printed"]]
    [record] = [each for each in found.records if each["seed"] == film.SEED]
    for name in ("largest", "least_used", "nll"):
        assert getattr(FILMS["as printed"], name)[-1] == pytest.approx(record["metrics"][name], rel=1e-3)
