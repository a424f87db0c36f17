"""README fits a screen, its Python runs, and it says what the records say."""

import re
from pathlib import Path

from mini_lib.reproduction import Records, compare
from mini_lib.reproduction.cells import select

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_it_is_short_and_its_links_and_pictures_are_there():
    assert len(README.splitlines()) <= 70
    targets = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert any(target.endswith(".gif") for target in targets)
    assert not [target for target in targets if not (ROOT / target).exists()]
    assert (ROOT / "book" / "_static" / "game.gif").stat().st_size < 1e6


def test_its_example_prints_what_it_says(capsys):
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names = {}
    exec(compile(snippet, "README.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()[0]
    assert f"# {printed}\n" in snippet
    assert names["seen"].attention.shape == (7, 6)


def test_what_comes_out_is_what_the_records_say():
    def mean(entry):
        (each,) = compare(select(entry), Records())
        return each.ours.mean

    assert mean("esbn.table11/ESBN + TCN/m=95") > 99
    assert 30 < mean("esbn.table11/LSTM + TCN/m=95") < 36
    relational, plain = (
        mean(f"functions.table1/{row}/lin/tutorial") for row in ("relational transformer", "1d transformer")
    )
    assert relational < plain
