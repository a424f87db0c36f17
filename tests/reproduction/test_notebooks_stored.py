"""What the notebooks store, read as plain JSON: the guard of the outputs that the book shows.

nbval passes vacuously on cells that were never executed, so their state is checked here, without running
anything.
"""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(p for p in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
CHAPTERS = [path for path in NOTEBOOKS if path.parent.name != "notebooks" and path.stem != "more_figures"]
MEGABYTES = 1.5
WORDS, ALL_WORDS = 1_600, 30_000  # at most, in the Markdown of a chapter, and of all notebooks
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


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: str(path.relative_to(ROOT)))
def notebook(request: pytest.FixtureRequest) -> dict:
    return json.loads(request.param.read_text(encoding="utf-8"))


def code_cells(notebook: dict) -> list[dict]:
    return [
        cell for cell in notebook["cells"] if cell["cell_type"] == "code" and "".join(cell["source"]).strip()
    ]


def outputs(notebook: dict) -> list[dict]:
    return [output for cell in code_cells(notebook) for output in cell["outputs"]]


def html(notebook: dict) -> str:
    return "\n".join("".join(output.get("data", {}).get("text/html", [])) for output in outputs(notebook))


def without_pictures(text: str) -> str:
    return re.sub(r"data:image/[^\"']+", "", text)


def test_there_are_notebooks():
    assert NOTEBOOKS


def test_every_cell_was_executed_once_and_in_order(notebook: dict):
    counts = [cell["execution_count"] for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))


def test_no_cell_failed_or_warned(notebook: dict):
    kinds = [(output["output_type"], output.get("name")) for output in outputs(notebook)]
    assert not [kind for kind in kinds if kind[0] == "error" or kind[1] == "stderr"]


def test_outputs_name_nothing_of_one_machine(notebook: dict):
    text = without_pictures(json.dumps(outputs(notebook)) + "".join(notebook["metadata"]))
    assert not LOCAL.findall(text)


def test_kernel_is_the_one_that_everyone_has(notebook: dict):
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"


def test_no_output_needs_a_widget(notebook: dict):
    assert "widgets" not in notebook["metadata"]
    assert not [kind for output in outputs(notebook) for kind in output.get("data", {}) if "widget" in kind]


def test_nothing_is_left_out_of_the_comparison_without_a_reason(notebook: dict):
    for cell in code_cells(notebook):
        tags, reason = set(cell["metadata"].get("tags", [])), cell["metadata"].get("uncompared", "")
        assert not tags & {"nbval-skip", "raises-exception", "skip-execution"}
        assert ("nbval-ignore-output" in tags) == (len(reason.split()) >= 3)


def test_nearly_all_cells_are_compared():
    notebooks = [json.loads(path.read_text(encoding="utf-8")) for path in NOTEBOOKS]
    assert sum("uncompared" in cell["metadata"] for each in notebooks for cell in code_cells(each)) <= 5


def test_a_tolerance_is_stated_with_its_reason(notebook: dict):
    """Only where something is shown: a cell that no longer shows a number that varies has none."""
    for cell in code_cells(notebook):
        tolerance = cell["metadata"].get("tolerance")
        if tolerance is not None:
            assert set(tolerance) == {"relative", "because"}
            assert 0 < tolerance["relative"] <= 0.5
            assert len(tolerance["because"].split()) >= 3
            assert re.search(r"\d", without_pictures(json.dumps(cell["outputs"])))


def test_every_picture_says_what_it_shows(notebook: dict):
    text = html(notebook)
    for figure in re.findall(r"<figure.*?</figure>", text, re.DOTALL):  # of several panels the first tells it
        assert len(re.search(r'<img [^>]*\balt="([^"]*)"', figure)[1].strip()) >= 15
    assert text.count("<figure") == len(re.findall(r"<figcaption[^>]*>\s*\S", text))
    for cell in code_cells(notebook):
        bare = [output for output in cell["outputs"] if "image/png" in output.get("data", {})]
        assert not bare or cell["metadata"].get("mystnb", {}).get("image", {}).get("alt"), "".join(
            cell["source"]
        )


def test_file_is_small_enough_for_a_page(notebook: dict, request: pytest.FixtureRequest):
    path = request.node.callspec.params["notebook"]
    assert path.stat().st_size < MEGABYTES * 1e6


def test_nothing_is_installed_or_fetched(notebook: dict):
    found = [line for cell in code_cells(notebook) for line in FETCH.findall("".join(cell["source"]))]
    assert not found


def test_opens_with_one_title(notebook: dict):
    text = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    prose = re.sub(r"^(```|~~~|:::).*?^\1", "", "\n\n".join(text), flags=re.MULTILINE | re.DOTALL)
    assert text[0].startswith("# ")
    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1


def markdown(notebook: dict) -> str:
    return "\n\n".join(
        "".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"
    )


@pytest.fixture(params=CHAPTERS, ids=lambda path: str(path.relative_to(ROOT)))
def chapter(request: pytest.FixtureRequest) -> dict:
    return json.loads(request.param.read_text(encoding="utf-8"))


def test_a_chapter_has_a_guess_a_take_home_and_exercises_and_can_be_read_at_one_sitting(chapter):
    text = markdown(chapter)
    tags = [cell["metadata"].get("tags", ()) for cell in chapter["cells"]]
    assert len(text.split()) <= WORDS
    assert "**Your guess.**" in text
    assert re.search(r"^## Take home\n+\*\*[^*]", text, re.MULTILINE)
    assert 3 <= sum("exercise" in each for each in tags) <= 4
    assert 4 <= html(chapter).count("<figure") + text.count('class="live"') <= 10


def test_all_of_it_can_be_read_in_a_day():
    texts = [markdown(json.loads(path.read_text(encoding="utf-8"))) for path in NOTEBOOKS]
    assert sum(len(text.split()) for text in texts) <= ALL_WORDS


def test_code_that_is_shown_checks_nothing_and_no_figure_is_hidden(notebook):
    for cell in code_cells(notebook):
        tags, source = set(cell["metadata"].get("tags", ())), "".join(cell["source"])
        assert "hide-output" not in tags
        if not tags & {"remove-cell", "solution"}:
            assert not re.search(r"^\s*assert\b", source, re.MULTILINE), source


def test_words_are_those_of_the_field(notebook):
    shown = markdown(notebook) + re.sub(r"<img[^>]*>", "", html(notebook))
    assert not DIALECT.findall(shown)
