"""The game on the cover, played as readers play it."""

import re
from pathlib import Path

import pytest
import torch

from mini_lib.datasets import glyphs
from mini_lib.esbn.tasks import make_problems
from mini_lib.files import trained

from .reader import calculate, picked, scores

pytestmark = pytest.mark.browser
PLAYERS = ("You", "ESBN", "LSTM")
PROBLEMS = """async (count) => {
  const album = ESBN.album(await Live.load("esbn_pictures"));
  return Array.from({ length: count }, (_, n) => album.problem(n + 1));
}"""


def choice(box, number: int):
    return box.get_by_role("button", name=f"{number}: ")


@torch.no_grad()
def test_networks_answer_as_in_pytorch_and_ten_problems_are_scored_and_summed_up(live):
    """All of it by keyboard."""
    box = live("game")
    keys, told = box.page.keyboard, box.get_by_role("status")
    ids = torch.tensor(calculate(box, PROBLEMS, 10))
    networks = {"ESBN": trained("esbn"), "LSTM": trained("esbn_lstm")}
    picks = {name: network(glyphs(), ids).argmax(dim=1).tolist() for name, network in networks.items()}
    picks["You"] = [n % 4 for n in range(10)]
    new = make_problems("distribution_of_three", m=95, seed=1).test_images.tolist()
    assert set(ids.flatten().tolist()) <= set(new), "no picture was in training"
    won = dict.fromkeys(PLAYERS, 0)
    for n in range(10):
        assert not picked(box)
        assert "Guessing" not in box.inner_text()
        keys.press(str(n % 4 + 1))
        box.get_by_role("button", name="Play ten more" if n == 9 else "Next problem").wait_for()
        seen = picked(box)
        assert {name: place for name, (place, _) in seen.items()} == {name: picks[name][n] for name in picks}
        found = [name for name in PLAYERS if seen[name][1] == "✓"]
        for name in found:
            won[name] += 1
        last = told.inner_text().partition("completes the row. ")[2]
        assert [name for name in PLAYERS if name.lower() in last.lower()] == found
        assert scores(box) == {name: [times, n + 1] for name, times in won.items()}
        if n < 9:
            keys.press("Enter")
    assert won["ESBN"] == 10 > won["LSTM"]
    summary = f"In ten problems you found {won['You']}, the ESBN 10 and the LSTM {won['LSTM']}."
    assert summary in box.inner_text()
    assert ("no shame" in box.inner_text()) == (won["You"] < 7)
    links = box.get_by_role("link").evaluate_all("all => all.map(a => a.href)")
    assert [link.split("/")[-1] for link in links] == ["start_here.html", "esbn.html"]
    assert all(Path(link.removeprefix("file://")).exists() for link in links)
    keys.press("Enter")  # the focus is on the button
    assert scores(box) == {name: [0, 0] for name in PLAYERS}


def test_the_problem_is_there_before_the_networks(live):
    box, held = live("game", color_scheme="light"), []  # a page of its own
    box.page.route(re.compile(r"parcel-esbn(_lstm)?\.js"), lambda route: held.append(route))
    box.page.reload(wait_until="commit")
    choice(box, 4).click()
    assert box.locator(".game-rows canvas").count() == 5
    assert "loading" in box.get_by_role("status").inner_text()
    assert len(held) == 2
    for route in held:
        route.continue_()
    box.get_by_role("button", name="Next problem").wait_for()
    assert picked(box).keys() == set(PLAYERS)


def test_a_finger_plays_on_a_phone_in_the_dark_and_sees_all_of_it(live):
    box = live("game", 400, has_touch=True, color_scheme="dark")
    for n in range(1, 3):
        choice(box, n).tap()
        box.page.keyboard.press("4")  # a second thought comes too late
        assert picked(box)["You"][0] == n - 1
        box.get_by_role("button", name="Next problem").tap()
    assert box.bounding_box()["height"] < 660
    assert scores(box)["You"][1] == 2
