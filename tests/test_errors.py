from mini_lib.errors import unknown


def test_offers_the_nearest_name_whatever_the_case():
    error = unknown("model", "LSMT", ["esbn", "lstm", "transformer"])
    assert isinstance(error, ValueError)
    assert str(error) == "unknown model 'LSMT'; did you mean 'lstm'? known: esbn, lstm, transformer"


def test_offers_nothing_where_nothing_is_near():
    assert str(unknown("model", "zzzz", ["esbn", "lstm"])) == "unknown model 'zzzz'; known: esbn, lstm"


def test_cuts_long_lists_but_not_the_suggestion():
    text = str(unknown("cell", "cell-98x", (f"cell-{i}" for i in range(100))))
    assert "did you mean 'cell-98'?" in text
    assert text.endswith("cell-19, and 80 more")


def test_says_so_when_there_is_nothing_to_choose_from():
    assert str(unknown("table", "esbn.table11", [])) == "unknown table 'esbn.table11'; known: none"
