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


def test_its_example_prints_what_it_says(capsys):
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names = {}
    exec(compile(snippet, "README.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()[0]
    assert f"# {printed}\n" in snippet
    assert names["seen"].attention.shape == (7, 6)


def test_what_comes_out_is_what_the_records_say():
    names = [f"esbn.table11/{row}/m=95" for row in ("ESBN + TCN", "LSTM + TCN")]
    names += [f"functions.table1/{row}/lin/tutorial" for row in ("relational transformer", "1d transformer")]
    compared = compare([cell for name in names for cell in select(name)], Records())
    esbn, lstm, relational, plain = (each.ours.mean for each in compared)
    assert esbn > 99
    assert 30 < lstm < 36
    assert relational < plain
