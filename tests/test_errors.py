import numpy as np
import pytest

from mini_lib.errors import UsageError, check_positive_int, unknown_name_error

TABLES = [f"{paper}.table{i}" for paper in ("esbn", "kanerva") for i in range(19)]


@pytest.mark.parametrize(
    ("name", "known", "message"),
    [
        (
            "LSMT",  # whatever the case
            ["esbn", "lstm", "transformer"],
            "unknown model 'LSMT'; did you mean 'lstm'? known: esbn, lstm, transformer",
        ),
        ("zzzz", ["esbn", "lstm"], "unknown model 'zzzz'; known: esbn, lstm"),
        ("NOPE", ["ESBN", "loop"], "unknown model 'NOPE'; known: ESBN, loop"),  # half of its letters only
        ("z", ["loss", "loss, training"], "unknown model 'z'; known: loss; loss, training"),
        ("table", [], "unknown model 'table'; known: none"),
    ],
)
def test_offers_the_nearest_name_if_there_is_one(name, known, message):
    assert str(unknown_name_error("model", name, known)) == message


def test_cuts_long_lists_to_what_looks_most_alike():
    text = str(unknown_name_error("table", "kanerva.table99", TABLES))
    assert "did you mean 'kanerva.table9'?" in text
    assert text.endswith(", and 32 more")
    assert text.split("known: ")[1].count("kanerva.table") == 6


@pytest.mark.parametrize("number", [0, -1, True, 2.0, "3", None])
def test_a_count_is_a_positive_integer_of_python_or_numpy(number):
    check_positive_int(count=1, other=np.int64(2))
    with pytest.raises(UsageError, match="count has to be a positive integer"):
        check_positive_int(count=number)
