from mini_lib.errors import unknown_name_error


def test_offers_the_nearest_name_whatever_the_case():
    error = unknown_name_error("model", "LSMT", ["esbn", "lstm", "transformer"])
    assert isinstance(error, ValueError)
    assert str(error) == "unknown model 'LSMT'; did you mean 'lstm'? known: esbn, lstm, transformer"


def test_offers_nothing_where_nothing_is_near():
    assert (
        str(unknown_name_error("model", "zzzz", ["esbn", "lstm"]))
        == "unknown model 'zzzz'; known: esbn, lstm"
    )


def test_names_with_commas_are_told_apart():
    assert str(unknown_name_error("column", "z", ["loss", "loss, training"])).endswith(
        "known: loss; loss, training"
    )


def test_cuts_long_lists_to_what_looks_most_alike():
    names = [f"{paper}.table{i}" for paper in ("esbn", "kanerva") for i in range(19)]
    text = str(unknown_name_error("table", "kanerva.table99", names))
    assert "did you mean 'kanerva.table9'?" in text
    assert text.endswith(", and 18 more")
    assert text.split("known: ")[1].count("kanerva.table") == 19


def test_says_so_when_there_is_nothing_to_choose_from():
    assert str(unknown_name_error("table", "esbn.table11", [])) == "unknown table 'esbn.table11'; known: none"


def test_offers_no_name_that_shares_half_of_its_letters_only():
    assert "did you mean" not in str(unknown_name_error("row", "NOPE", ["ESBN", "loop"]))
