"""The ESBN in the page: its numbers next to PyTorch's, and its figures driven as readers drive them."""

import re
from collections import Counter

import pytest
import torch

from mini_lib.datasets import glyphs
from mini_lib.esbn.tasks import make_problems
from mini_lib.files import trained
from mini_lib.reproduction.esbn.live import FOLLOWED

from .reader import calculate, choose, close, drag, picked, press, scores

pytestmark = pytest.mark.browser
PROBLEMS = make_problems("distribution_of_three", m=95, seed=1)
SOME = torch.cat([PROBLEMS.test.ids[:3], PROBLEMS.train.ids[:1]])
LABORATORY = """async () => {
  const [pictures, ...parcels] = await Promise.all(["esbn_pictures", "esbn", "esbn_lstm"].map(Live.load));
  Object.assign(window, { parcel: parcels[0], album: ESBN.album(pictures), names: pictures.facts.names });
  window.lab = ESBN.laboratory(album, ...parcels);
}"""


def figure(live, name: str, width: int = 1280):
    """A live figure, in a page that can ask the networks itself."""
    box = live(f"esbn_{name}", width)
    box.page.evaluate(LABORATORY)
    return box


def told(box) -> str:
    return box.get_by_role("status").first.inner_text()


@torch.no_grad()
def test_both_networks_compute_what_they_compute_in_pytorch(live):
    script = "(all) => all.map((ids) => ({ ...lab.esbn(ids), lstm: lab.lstm(ids) }))"
    answers = calculate(figure(live, "memory"), script, SOME.tolist())
    network = trained("esbn")
    trace = network.core.trace(network.embed(glyphs(), SOME))
    close([answer["lstm"] for answer in answers], trained("esbn_lstm")(glyphs(), SOME))
    close([answer["logits"] for answer in answers], trace.logits)
    for name, theirs in (
        ("g", trace.gates),
        ("k_w", trace.keys_written),
        ("k_r", trace.keys_retrieved),
        ("logits", network.core.answer(trace.hidden)),
    ):
        close([[step[name] for step in answer["steps"]] for answer in answers], theirs)
    for n, answer in enumerate(answers):
        for t, step in enumerate(answer["steps"]):
            close(step["w"], trace.weights[n, t, :t])
            close(step["c"], trace.confidences[n, t, :t])


# Which key the page puts into each entry (none: zeros), and the same edit in Python.
EDITS = [
    ([0, 1, 2, 3, 4], lambda t, keys: keys),
    ([None, None, None, 3, 4], lambda t, keys: [0 * keys[0]] * 3 if t == 3 else keys),
    ([0, 1, 2, 0, 0], lambda t, keys: [*keys[:3], keys[0], keys[0]] if t == 5 else keys),
    ([2, 1, 0, 3, 4], lambda t, keys: [keys[2], keys[1], keys[0]] if t == 3 else keys),
    ([3, 3, 3, 3, 4], lambda t, keys: [keys[3]] * 3 + keys[3:] if t == 5 else keys),
]


@torch.no_grad()
def test_edited_and_moved_keys_have_the_effect_that_they_have_in_pytorch(live):
    network = trained("esbn")
    z = network.embed(glyphs(), SOME)
    script = "(all, edits) => edits.map((e) => all.map((ids) => lab.esbn(ids, ESBNKeys.editing(e)).logits))"
    found = calculate(figure(live, "keys"), script, SOME.tolist(), [held for held, _ in EDITS])
    for logits, (_, edit) in zip(found, EDITS, strict=True):
        close(logits, network.core.trace(z, edit=edit).logits)
    script = """(all) => {
      const { centre, axes, cloud } = Live.network(parcel, "plane"), { training } = parcel.facts;
      const plane = { centre: centre.data, axes: Arithmetic.rows(axes) }, moves = { 3: Array(256).fill(0.5) };
      const points = (ids) => lab.esbn(ids).steps.slice(0, 9).map(({ k_w }) => ESBN.project(plane, k_w));
      return [all.map((ids) => lab.esbn(ids, ESBNPlane.editing(moves)).logits),
        training.slice(0, 3).flatMap(points), Arithmetic.rows(cloud).slice(0, 27)];
    }"""
    logits, keys, cloud = calculate(figure(live, "plane"), script, SOME.tolist())
    edit = lambda t, keys: [*keys[:3], keys[3] + 0.5] if t == 4 else keys  # noqa: E731
    close(logits, network.core.trace(z, edit=edit).logits)
    close(keys, torch.tensor(cloud), 0.05)  # points of training are where the page would put their keys


def test_memory_begins_with_the_problem_of_the_chapter_and_fills_by_keyboard(live):
    box = figure(live, "memory", 400)
    step, rows = box.get_by_label("Step", exact=True), box.locator(".live-memory tbody tr")
    pictures = "all => all.map((e) => names.indexOf(e.title))"
    seen = box.locator(".live-problem td[title]").evaluate_all(pictures)
    assert seen == PROBLEMS.test.ids[FOLLOWED].tolist()
    heights = []
    for t in range(10):
        assert rows.count() == t
        assert ("Correct" in told(box)) == (t == 9)
        heights.append(box.evaluate("e => e.offsetHeight"))
        step.press("ArrowRight")
    assert max(heights) - min(heights) <= 2, "nothing below the figure moves from step to step"
    press(box, "Another problem")
    assert not rows.count()
    assert not box.locator(".live-right").count(), "the answer is hidden until the reader chooses"
    box.get_by_role("button", name="choice 2").press("Enter")
    box.get_by_role("button", name="choice 3").press("Enter")
    assert told(box).startswith("You chose 2. The ESBN chooses "), "once is enough"
    assert box.locator(".live-right").count() == 1


@torch.no_grad()
def test_edits_apply_to_keys_as_written_and_a_hundred_problems_show_their_effect(live):
    box = figure(live, "keys")
    held, tally = box.locator(".live-entries select"), box.locator(".live-tally .live-found")
    for preset, keys in (
        ("row 1: zeros", ["null"] * 3 + ["3", "4"]),
        ("row 2: key 1 for both", list("01200")),
    ):
        press(box, preset)
        assert held.evaluate_all("all => all.map((e) => e.value)") == keys
    press(box, "Ask 100 problems")
    problems = "() => Array.from({ length: 100 }, (_, i) => album.problem(1001 + i))"
    ids = torch.tensor(calculate(box, problems))
    network, edit = trained("esbn"), EDITS[2][1]
    chosen = network.core.trace(network.embed(glyphs(), ids), edit=edit).logits.argmax(dim=1)
    lacking = [(set(row[:3]) - set(row[3:5])).pop() for row in ids.tolist()]
    right = sum(row[5 + i] == one for row, i, one in zip(ids.tolist(), chosen, lacking, strict=True))
    tally.wait_for(timeout=60_000)
    assert tally.inner_text().split() == f"row 2: key 1 for both {right} of 100".split()
    choose(box, "entry 1", "null")
    assert told(box).startswith("Entry 1: zeros, entry 4: key 1, entry 5: key 1.")
    assert not tally.count(), "the result belongs to other keys"


def test_keys_move_by_keyboard_and_dropped_onto_key_3_they_change_the_answer(live):
    box = figure(live, "plane")
    before, point = told(box), lambda step: box.get_by_role("button", name=f"Key of step {step} ")
    place = point(4).get_attribute("aria-label")
    point(4).press("ArrowLeft")
    assert point(4).get_attribute("aria-label") != place
    assert told(box).startswith("Moved: key 4. ")
    point(4).press("Escape")
    assert (point(4).get_attribute("aria-label"), told(box)) == (place, before)
    middle = "e => (({ x, y, width, height }) => [x + width / 2, y + height / 2])(e.getBoundingClientRect())"
    for step in (4, 5):
        x, y = point(step).locator("path").evaluate(middle)
        right, down = point(3).locator("path").evaluate(middle)
        drag(box, point(step).locator("path"), (right - x, down - y), steps=3)
        key = point(3).locator("circle").evaluate(middle)
        assert point(step).locator("path").evaluate(middle) == pytest.approx(key, abs=2), "onto its key"
    assert told(box).removeprefix("Moved: keys 4 and 5. ") not in (told(box), before)
    press(box, "Put all keys back")
    assert told(box) == before


def at_places(box) -> list[str]:
    """The names of the choices, from left to right."""
    labels = box.locator(".game-choice button").evaluate_all("all => all.map(e => e.ariaLabel)")
    return [label.split(": ")[1] for label in labels]


@torch.no_grad()
def test_in_every_order_networks_choose_as_in_pytorch_and_what_is_said_of_it_is_true(live):
    box = figure(live, "shuffle", 1200)  # a page of its own: no order was tried
    names = box.page.evaluate("names")
    shown = box.locator(".game-rows canvas").evaluate_all("all => all.map(e => e.ariaLabel)")
    rows = [names.index(name) for name in shown]
    (missing,) = set(rows[:3]) - set(rows[3:])
    networks = {"ESBN": trained("esbn"), "LSTM": trained("esbn_lstm")}
    learned, first, right = picked(box)["LSTM"][0], at_places(box), {"ESBN": 1, "LSTM": 1}
    for n in range(2, 8):
        press(box, "Shuffle")
        choices = [names.index(name) for name in at_places(box)]
        for name, network in networks.items():
            place = network(glyphs(), torch.tensor([rows + choices])).argmax().item()
            assert picked(box)[name] == (place, "✓" if choices[place] == missing else "✗")
            right[name] += choices[place] == missing
        assert scores(box) == {name: [right[name], n] for name in networks}, "no order twice"
        (place, mark), text = picked(box)["LSTM"], told(box)
        assert (f"The LSTM chooses {place + 1}, which is wrong." in text) == (mark == "✗")
        assert (f"In training, place {learned + 1} was right." in text) == (mark == "✗" and place == learned)
    press(box, "Try all 24 orders")
    assert [count for _, count in scores(box).values()] == [24, 24]
    press(box, "Order of training")
    assert at_places(box) == first
    assert told(box) == "The order of training. Both networks are right."


def test_choices_change_places_by_mouse_by_presses_and_by_keys(live):
    box = figure(live, "shuffle")
    press(box, "Another problem")
    assert scores(box) == {"ESBN": [1, 1], "LSTM": [1, 1]}
    a, b, c, d = at_places(box)
    buttons = box.locator(".game-choice button")
    buttons.nth(0).drag_to(buttons.nth(2))
    assert at_places(box) == [c, b, a, d]
    buttons.nth(3).click()
    buttons.nth(1).click()
    assert at_places(box) == [c, d, a, b]
    box.page.keyboard.press("ArrowLeft")  # the focus went with the choice
    assert at_places(box) == [d, c, a, b]


KINDS = {
    "same_different": "same/different",
    "rmts": "relational match-to-sample",
    "distribution_of_three": "distribution-of-three",
    "identity_rules": "identity rules",
}


def test_the_drawn_problems_are_those_of_the_tasks_and_as_often(live):
    script = """() => {
      const pool = [...Array(100).keys()], some = [...Array(2000).keys()];
      const drawn = ([name, task]) => [name, some.map((n) => task.draw(Arithmetic.uniform(n), pool))];
      return Object.fromEntries(Object.entries(ESBNTasks.TASKS).map(drawn));
    }"""
    drawn = calculate(live("esbn_tasks"), script)
    assert drawn.keys() == KINDS.keys()
    for task, given in drawn.items():
        # Which pictures are equal: each by the place where it is first.
        pattern = lambda ids, answer: (*(ids.index(each) for each in ids), answer)  # noqa: E731
        part = make_problems(task, m=50, seed=1, test_size=6000).test
        ours = Counter(pattern(each["ids"], each["answer"]) for each in given)
        theirs = Counter(map(pattern, part.ids.tolist(), part.answers.tolist()))
        assert ours.keys() == theirs.keys(), task
        shares = [(ours[each] / len(given), theirs[each] / len(part)) for each in theirs]
        assert all(abs(one - other) < 0.06 for one, other in shares), task


def test_each_task_is_solved_by_key_and_the_reason_is_true(live):
    box = live("esbn_tasks")
    for kind in KINDS.values():
        press(box, kind)
        asked = told(box)
        box.page.keyboard.press("1")
        box.page.keyboard.press("2")  # a second thought comes too late
        right = box.locator(".game-choice:has(.game-right) kbd").inner_text()
        assert told(box).startswith("Right. " if right == "1" else "Wrong. ")
        if kind == "same/different":
            names = box.locator(".game-rows canvas").evaluate_all("all => all.map((e) => e.ariaLabel)")
            assert right == ("1" if names[0] == names[1] else "2")
            assert told(box).endswith("equal." if right == "1" else "differ.")
        else:
            assert re.search(rf"(choice|pair) {right}\b", told(box))
        box.page.keyboard.press("Enter")
        assert told(box) == asked
    assert re.search(r"From pictures: \d of 4 right\.", box.inner_text())


def test_the_table_takes_the_place_of_the_pictures_and_says_which_are_equal(live):
    box = live("esbn_tasks", 400)
    names = box.locator(".live-picture").evaluate_all("all => all.map((e) => e.ariaLabel)")
    box.get_by_label("see what is equal").check()
    assert not box.locator(".live-solve .live-picture:visible").count()
    marks = box.locator(".live-pairs tbody tr").evaluate_all(
        """rows => rows.map((row) =>
          [...row.querySelectorAll('td:not(.live-none)')].map((cell) => cell.textContent === '='))"""
    )
    assert marks == [[names[s] == names[t] for s in range(t)] for t in range(1, 9)]
    fits = [any(row[:3]) and not any(row[3:5]) for row in marks[4:]]  # as the chapter says
    press(box, f"{fits.index(True) + 1}: hidden")
    assert told(box).startswith("Right. ")
