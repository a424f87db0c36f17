"""The game on the cover, played as readers play it."""

import re
from pathlib import Path

import pytest
import torch

from mini_lib.datasets import glyphs
from mini_lib.esbn.tasks import make_problems
from mini_lib.files import trained

pytestmark = pytest.mark.browser
PROBLEMS = """async (count) => {
  const album = ESBN.album(await Live.load("esbn_pictures"));
  return Array.from({ length: count }, (_, n) => album.problem(n + 1));
}"""


@pytest.fixture
def game(live):
    """Open the cover and return its game."""

    def open_game(width: int = 1280, **options):
        return live("game", width, **options).locator("[data-live='game']")

    return open_game


def choice(box, number: int):
    return box.get_by_role("button", name=f"{number}: ")


def chosen(box) -> dict[str, str]:
    """What each player chose, and its mark."""
    found = {}
    for number in range(1, 5):
        for text in choice(box, number).locator("..").locator(".game-by").all_inner_texts():
            player, mark = text.split()
            found[player] = (number - 1, mark)
    return found


def score(box) -> dict[str, list[int]]:
    lines = [line.inner_text() for line in box.locator(".game-score > div").all()]
    return {line.split()[0]: [int(n) for n in re.findall(r"\d+", line)] for line in lines}


@torch.no_grad()
def test_the_networks_answer_as_in_pytorch_and_the_score_is_kept(game):
    box, count = game(), 8
    ids = torch.tensor(box.page.evaluate(PROBLEMS, count))
    picks = {"ESBN": trained("esbn"), "LSTM": trained("esbn_lstm")}
    picks = {name: network(glyphs(), ids).argmax(dim=1) for name, network in picks.items()}
    won = dict.fromkeys(("You", "ESBN", "LSTM"), 0)
    for n in range(count):
        assert not chosen(box)
        assert box.get_by_role("status").inner_text() == "Which picture completes the second row?"
        box.page.keyboard.press("2")
        box.get_by_role("button", name="Next problem").wait_for()
        seen = chosen(box)
        assert {name: place for name, (place, _) in seen.items()} == {
            "You": 1,
            "ESBN": picks["ESBN"][n],
            "LSTM": picks["LSTM"][n],
        }
        for name, (_, mark) in seen.items():
            won[name] += mark == "✓"
        who = [{"You": "you"}.get(name, f"the {name}") for name, (_, mark) in seen.items() if mark == "✓"]
        who = " and ".join([", ".join(who[:-1]), who[-1]][len(who) == 1 :])
        assert f" {who[0].upper()}{who[1:]} found it." in box.get_by_role("status").inner_text()
        assert score(box) == {name: [times, n + 1] for name, times in won.items()}
        box.page.keyboard.press("Enter")
    assert won["ESBN"] == count > won["LSTM"]
    assert not box.page.complaints


def test_after_ten_problems_it_says_what_they_showed_and_starts_anew(game):
    box = game()
    for n in range(10):
        assert "Guessing" not in box.inner_text()
        choice(box, n % 4 + 1).click()
        following = box.get_by_role("button", name="Play ten more" if n == 9 else "Next problem")
        following.wait_for()
        if n < 9:
            following.click()
    found = {name: wins for name, (wins, _) in score(box).items()}
    assert found["ESBN"] == 10
    told = f"In ten problems you found {found['You']}, the ESBN 10 and the LSTM {found['LSTM']}."
    assert told in box.inner_text()
    assert ("no shame" in box.inner_text()) == (found["You"] < 7)
    links = box.get_by_role("link").evaluate_all("all => all.map(a => a.href)")
    assert [link.split("/")[-1] for link in links] == ["start_here.html", "esbn.html"]
    assert all(Path(link.removeprefix("file://")).exists() for link in links)
    box.page.keyboard.press("Enter")  # the focus is on the button
    assert score(box) == {name: [0, 0] for name in found}
    assert "Guessing" not in box.inner_text()
    assert not box.page.complaints


def test_problems_are_those_of_the_task_with_new_pictures(game):
    given = game().page.evaluate(PROBLEMS, 300)
    new = set(make_problems("distribution_of_three", m=95, seed=1).test_images.tolist())
    for ids in given:
        first, second, choices = set(ids[:3]), set(ids[3:5]), set(ids[5:])
        assert [len(first), len(second), len(choices)] == [3, 2, 4]
        assert second < first < choices <= new


def test_the_problem_is_there_before_the_networks(game):
    held = []
    box = game(wait=False)
    box.page.route(re.compile(r"parcel-esbn(_lstm)?\.js"), lambda route: held.append(route))
    box.page.reload(wait_until="commit")
    choice(box, 4).click()
    assert box.locator(".game-rows canvas").count() == 5
    assert "loading" in box.get_by_role("status").inner_text()
    assert len(held) == 2
    for route in held:
        route.continue_()
    box.get_by_role("button", name="Next problem").wait_for()
    assert chosen(box).keys() == {"You", "ESBN", "LSTM"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_finger_plays_on_a_phone_and_sees_all_of_it(game, theme):
    box = game(400, has_touch=True, color_scheme=theme)
    for n in range(1, 4):
        choice(box, n).tap()
        box.page.keyboard.press("4")  # a second thought comes too late
        assert chosen(box)["You"][0] == n - 1
        box.get_by_role("button", name="Next problem").tap()
    assert box.bounding_box()["height"] < 660
    assert score(box)["You"][1] == 3
    assert not box.page.complaints


def test_the_mouse_and_the_tab_key_play_too(game):
    box = game()
    choice(box, 3).click()
    assert box.get_by_role("button", name="Next problem").evaluate("e => e === document.activeElement")
    for key in ("Enter", "Tab", "Tab", "Enter"):
        box.page.keyboard.press(key)
    assert chosen(box)["You"][0] == 1
    assert box.get_by_role("status").inner_text().startswith("Choice ")
