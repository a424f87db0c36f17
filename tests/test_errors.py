import numpy as np
import pytest

from mini_lib.errors import UsageError, check_names, check_positive, check_positive_int

MANY = [f"esbn.table{i}" for i in range(40)]


@pytest.mark.parametrize(
    ("name", "known", "message"),
    [
        ("LSMT", ["ESBN", "lstm"], r"unknown model 'LSMT'; did you mean 'lstm'\? known: ESBN, lstm$"),
        ("NOPE", ["ESBN", "loop"], "unknown model 'NOPE'; known: ESBN, loop$"),  # half of its letters only
        ("z", ["loss", "loss, training"], "unknown model 'z'; known: loss; loss, training$"),
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
