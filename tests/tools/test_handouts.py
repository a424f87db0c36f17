"""What a class gets: no answer, and all that the cells need."""

from pathlib import Path

import handouts

ROOT = Path(__file__).parents[2]


def cell(kind: str, source: str, *tags: str) -> dict:
    more = {"outputs": ["an answer"], "execution_count": 1} if kind == "code" else {}
    lines = source.splitlines(keepends=True)
    return {"cell_type": kind, "source": lines, "metadata": {"tags": [*tags]}} | more


def test_answers_are_left_out_and_what_other_cells_need_stays():
    cells = [
        cell("markdown", "# Title\n\n**Your guess.** How many?"),
        cell("code", "first = run()\nseen = last(first)\nother = 3\nassert seen == 5", "tests"),
        cell("code", "plot(seen)"),
        cell("markdown", "Five.\n\n---\n\nNow the next."),
        cell("markdown", "**Your guess.** And now?\n\nSix.\n\n## Take home"),
        cell("code", "def f(): ...", "exercise"),
        cell("code", "def f(): return 6", "solution"),
    ]
    made = handouts.handout({"cells": cells, "nbformat": 4})
    assert [each["source"] for each in made["cells"]] == [
        "# Title\n\n**Your guess.** How many?",
        "first = run()\nseen = last(first)",
        "plot(seen)",
        "Now the next.",
        "**Your guess.** And now?\n\n## Take home",
        "def f(): ...",
    ]
    assert not any(each.get("outputs") for each in made["cells"])


def test_every_chapter_has_a_handout(tmp_path: Path):
    handouts.main(tmp_path)
    chapters = [path for path in (ROOT / "notebooks").rglob("*.ipynb") if path.stem != "more_figures"]
    assert {path.name for path in tmp_path.rglob("*.ipynb")} == {path.name for path in chapters}
