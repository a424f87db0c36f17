"""The settings of the small binding task."""

from mini_lib.reproduction.kanerva import film


def test_the_two_trainings_differ_in_the_balance_alone():
    printed, balanced = (film.settings_of(name).to_dict() for name in film.VARIANTS)
    assert printed.pop("balance", 0) == 0 < balanced.pop("balance")
    assert printed.pop("balance_until", 0) == 0 < balanced.pop("balance_until")
    assert printed == balanced
