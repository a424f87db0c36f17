"""What live figures are given; how they answer is tested in a browser (`tests/browser/test_live_*.py`)."""

import base64
import json
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from mini_lib.errors import UsageError
from mini_lib.reproduction import live

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", live.PARCELS)
def test_a_parcel_is_a_script_with_its_tensors_and_facts(name):
    parcel = live.parcel(name)
    script = parcel.script(name)
    called, given = re.fullmatch(r'Live\.deliver\("(\w+)", (.*)\);\n', script, re.DOTALL).groups()
    assert called == name
    sent = json.loads(given)
    tensors = load(base64.b64decode(sent["tensors"]))
    assert tensors.keys() == parcel.tensors.keys()
    assert all(torch.equal(tensors[key], value) for key, value in parcel.tensors.items())
    assert {value.dtype for value in tensors.values()} <= {torch.float16, torch.float32, torch.uint8}
    assert sent["facts"] == json.loads(json.dumps(parcel.facts))
    assert len(script) < 11e6, "a page stays below 12 MB"


def test_the_book_shows_each_figure_once_it_is_there_and_has_its_scripts():
    pages = [*(ROOT / "notebooks").rglob("*.ipynb"), *(ROOT / "book").rglob("*.md")]
    shown = {name for page in pages for name in re.findall(r'data-live=\\?"([\w-]+)\\?"', page.read_text())}
    assert shown == {*live.FIGURES}
    scripts = ROOT / "book" / "_static" / "live"
    assert all((scripts / f"{script}.js").is_file() for script in live.scripts_of([*live.FIGURES]))


def test_figures_of_one_paper_share_its_network():
    assert live.scripts_of(["esbn_keys", "game", "scan_streams"])[2:] == [
        *("esbn", "esbn_parts", "scan", "scan_parts"),
        *("esbn_keys_figure", "game_figure", "scan_streams_figure"),
    ]
    assert not live.scripts_of([])


def test_a_page_with_a_figure_that_does_not_exist_is_refused():
    assert live.figures_of('<div data-live="game"></div><div data-live="game"></div>') == ["game"]
    with pytest.raises(UsageError, match="no live figure 'scam'"):
        live.figures_of('<div data-live="scam"></div>')
