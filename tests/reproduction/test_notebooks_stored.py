"""What the notebooks store, read as plain JSON: nbval passes cells that were never executed."""

import json
import re
from pathlib import Path

import pytest

from mini_lib.reproduction.exercises import RIGHT

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(p for p in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
MEGABYTES = 1.5  # of a page, at most
WORDS, ALL_WORDS = 1_600, 30_000  # at most, in the Markdown of a chapter, and of all notebooks
UNCOMPARED = 5  # cells of all notebooks, at most
# Of a dialect that was ours alone: each has a plain word, which the field uses.
DIALECT = re.compile(
    r"\bin print\b|\bhears?\b|\bwings?\b|\bledgers?\b|\bstoreys?\b|\bpractised\b|\bodd object\b|\bleft alone\b"
    r"|\ba guess has\b|\bmachine given\b|\bworked out\b",
    re.IGNORECASE,
)
# Of one machine or one run: temporary and home folders, addresses of objects.
LOCAL = re.compile(r"/tmp/|/home/|/root/|/Users/|\b0x[0-9a-f]{6,}\b")
FETCH = re.compile(
    r"^\s*[!%]\s*(pip|conda|wget|curl)\b|urlopen|urlretrieve|requests\.get|https?://", re.MULTILINE
)


class Stored:
    """A notebook as it is in the repository."""

    def __init__(self, path: Path):
        read = json.loads(path.read_text(encoding="utf-8"))
        self.path, self.metadata, self.cells = path, read["metadata"], read["cells"]
        code = [cell for cell in self.cells if cell["cell_type"] == "code"]
        self.code = [cell for cell in code if "".join(cell["source"]).strip()]
        self.text = ["".join(cell["source"]) for cell in self.cells if cell["cell_type"] == "markdown"]
        self.words = len(" ".join(self.text).split())
        self.outputs = [output for cell in self.code for output in cell["outputs"]]
        self.html = "\n".join("".join(each.get("data", {}).get("text/html", [])) for each in self.outputs)


ALL = [Stored(path) for path in NOTEBOOKS]
CHAPTERS = [each for each in ALL if each.path.parent.name != "notebooks" and each.path.stem != "more_figures"]
NAMES = {"ids": lambda stored: str(stored.path.relative_to(ROOT))}
each_notebook = pytest.mark.parametrize("notebook", ALL, **NAMES)
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, **NAMES)


def tags(cell: dict) -> set[str]:
    return set(cell["metadata"].get("tags", ()))


def without_pictures(text: str) -> str:
    return re.sub(r"data:image/[^\"']+", "", text)


@each_notebook
def test_every_cell_was_executed_once_in_order_and_neither_failed_nor_warned_in_25_seconds(notebook):
    counts = [cell["execution_count"] for cell in notebook.code]
    assert counts == list(range(1, len(counts) + 1))
    assert not {"error", "stderr"} & {each.get("name", each["output_type"]) for each in notebook.outputs}
    assert 0 < notebook.metadata["cpu_seconds"] <= 25  # of one core


@each_notebook
def test_it_opens_anywhere(notebook):
    """Outputs name nothing of one machine and need no widget, and nothing is installed or fetched."""
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert not LOCAL.findall(without_pictures(json.dumps(notebook.outputs) + json.dumps(notebook.metadata)))
    assert "widgets" not in notebook.metadata
    assert not [kind for output in notebook.outputs for kind in output.get("data", {}) if "widget" in kind]
    assert not FETCH.findall("\n".join("".join(cell["source"]) for cell in notebook.code))
    assert notebook.path.stat().st_size < MEGABYTES * 1e6


@each_notebook
def test_what_is_not_compared_or_varies_says_why(notebook):
    for cell in notebook.code:
        reason, tolerance = cell["metadata"].get("uncompared", ""), cell["metadata"].get("tolerance")
        assert not tags(cell) & {"nbval-skip", "raises-exception", "skip-execution"}
        assert ("nbval-ignore-output" in tags(cell)) == (len(reason.split()) >= 3)
        if tolerance is not None:
            assert set(tolerance) == {"relative", "because"}
            assert 0 < tolerance["relative"] <= 0.5
            assert len(tolerance["because"].split()) >= 3
            assert re.search(r"\d", without_pictures(json.dumps(cell["outputs"])))  # a number that can vary


@each_notebook
def test_every_picture_says_what_it_shows_none_is_hidden_and_shown_code_checks_nothing(notebook):
    for figure in re.findall(r"<figure.*?</figure>", notebook.html, re.DOTALL):
        assert len(re.search(r'<img [^>]*\balt="([^"]*)"', figure)[1].strip()) >= 15
        assert re.search(r"<figcaption[^>]*>\s*\S", figure)
    for cell in notebook.code:
        bare = [output for output in cell["outputs"] if "image/png" in output.get("data", {})]
        assert not bare or cell["metadata"].get("mystnb", {}).get("image", {}).get("alt"), cell["source"]
        assert "hide-output" not in tags(cell)
        asserts = re.search(r"^\s*assert\b", "".join(cell["source"]), re.MULTILINE)
        assert not asserts or tags(cell) & {"remove-cell", "solution"}, cell["source"]


@each_notebook
def test_its_text_has_one_title_and_the_words_of_the_field(notebook):
    prose = re.sub(r"^(```|~~~|:::).*?^\1", "", "\n\n".join(notebook.text), flags=re.MULTILINE | re.DOTALL)
    assert notebook.text[0].startswith("# ")
    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1
    assert not DIALECT.findall("\n".join(notebook.text) + re.sub(r"<img[^>]*>", "", notebook.html))


@each_chapter
def test_a_chapter_has_a_guess_and_a_take_home_and_can_be_read_at_one_sitting(chapter):
    text = "\n\n".join(chapter.text)
    assert chapter.words <= WORDS
    assert "**Your guess.**" in text
    assert re.search(r"^## Take home\n+\*\*[^*]", text, re.MULTILINE)
    assert 4 <= chapter.html.count("<figure") + text.count('class="live"') <= 10


@each_chapter
def test_an_exercise_is_a_question_its_cases_starter_code_and_a_solution(chapter):
    kinds = [tags(cell) & {"exercise", "cases", "solution"} for cell in chapter.cells]
    starts = [place for place, kind in enumerate(kinds) if kind == {"exercise"}]
    assert 3 <= len(starts) <= 4
    assert sum(map(bool, kinds)) == 3 * len(starts)
    for number, start in enumerate(starts, 1):
        question, cases, stub, solution = chapter.cells[start - 2 : start + 2]
        assert "".join(question["source"]).startswith(f"**{number}. ")
        assert tags(cases) == {"remove-cell", "cases"}
        assert tags(solution) >= {"hide-cell", "solution"}
        check = "".join(stub["source"]).splitlines()[-1]
        assert check in "".join(solution["source"]).splitlines()
        said = [cell["outputs"][0]["text"][0] for cell in (stub, solution)]
        assert said == ["○ Not written yet.\n", f"{RIGHT}\n"]


def test_all_of_it_can_be_read_in_a_day_and_nearly_all_is_compared():
    assert ALL
    assert sum(each.words for each in ALL) <= ALL_WORDS
    assert sum("uncompared" in cell["metadata"] for each in ALL for cell in each.code) <= UNCOMPARED
