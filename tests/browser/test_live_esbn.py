"""The ESBN in the page: its numbers next to PyTorch's, and its figures driven as readers drive them."""

import re
from collections import Counter

import pytest
import torch

from mini_lib.datasets import glyphs
from mini_lib.esbn.tasks import make_problems
from mini_lib.files import trained
from mini_lib.reproduction.esbn.live import FOLLOWED

pytestmark = pytest.mark.browser
CLOSE = {"rtol": 1e-3, "atol": 1e-3}
PROBLEMS = make_problems("distribution_of_three", m=95, seed=1)
SOME = torch.cat([PROBLEMS.test.ids[:6], PROBLEMS.train.ids[:2]])
LABORATORY = """async (names) => {
  const [pictures, ...parcels] = await Promise.all(["esbn_pictures", "esbn", "esbn_lstm"].map(Live.load));
  Object.assign(window, { parcel: parcels[0], lab: ESBN.laboratory(ESBN.album(pictures), ...parcels) });
}"""


@pytest.fixture(scope="module")
def open_figure(live):
    """Open a figure in a page that can ask the networks itself."""

    def open_page(name: str, width: int = 1280, **options):
        page = live(name, width, **options)
        page.evaluate(LABORATORY)
        return page.locator(f"[data-live='{name}']")

    return open_page


@pytest.fixture(scope="module")
def memory(open_figure):
    return open_figure("esbn_memory")


@pytest.fixture(scope="module")
def keys(open_figure):
    return open_figure("esbn_keys")


@pytest.fixture(scope="module")
def plane(open_figure):
    return open_figure("esbn_plane")


def told(box) -> str:
    return box.get_by_role("status").first.inner_text()


def chances(box) -> list[float]:
    """How probable the ESBN finds each choice, in percent."""
    return [float(n) for n in re.findall(r"(\d+) %", box.locator(".live-problem tr").last.inner_text())]


# -------------------------------------------------------------------------------------------- numbers


@torch.no_grad()
def test_esbn_trace_is_that_of_pytorch(memory):
    answers = memory.page.evaluate(
        """all => all.map((ids) => {
          const { steps, logits } = lab.esbn(ids), list = (name) => steps.map((step) => [...step[name]]);
          return {
            logits: [...logits], gates: steps.map(({ g }) => g), written: list("k_w"), read: list("k_r"),
            step_logits: list("logits"), weights: list("w"), confidences: list("c"),
          };
        })""",
        SOME.tolist(),
    )
    network = trained("esbn")
    trace = network.core.trace(network.embed(glyphs(), SOME))
    for n, answer in enumerate(answers):
        for name, theirs in (
            ("logits", trace.logits),
            ("gates", trace.gates),
            ("written", trace.keys_written),
            ("read", trace.keys_retrieved),
            ("step_logits", network.core.answer(trace.hidden)),
        ):
            torch.testing.assert_close(torch.tensor(answer[name]), theirs[n], **CLOSE)
        for t in range(10):
            for name, theirs in (("weights", trace.weights), ("confidences", trace.confidences)):
                torch.testing.assert_close(torch.tensor(answer[name][t]).float(), theirs[n, t, :t], **CLOSE)


@torch.no_grad()
def test_lstm_logits_are_those_of_pytorch(memory):
    logits = memory.page.evaluate("all => all.map((ids) => [...lab.lstm(ids)])", SOME.tolist())
    network = trained("esbn_lstm")
    torch.testing.assert_close(torch.tensor(logits), network(glyphs(), SOME), **CLOSE)


def written(t, keys):
    return keys


def row_1_zeros(t, keys):
    return [0 * keys[0]] * 3 if t == 3 else keys


def row_2_key_1(t, keys):
    return [*keys[:3], keys[0], keys[0]] if t == 5 else keys


def row_1_swapped(t, keys):
    return [keys[2], keys[1], keys[0]] if t == 3 else keys


def row_1_as_4(t, keys):
    return [keys[3]] * 3 + keys[3:] if t == 5 else keys


@torch.no_grad()
@pytest.mark.parametrize(
    ("held", "edit"),
    [
        ([0, 1, 2, 3, 4], written),
        ([None, None, None, 3, 4], row_1_zeros),
        ([0, 1, 2, 0, 0], row_2_key_1),
        ([2, 1, 0, 3, 4], row_1_swapped),
        ([3, 3, 3, 3, 4], row_1_as_4),
    ],
)
def test_edits_of_memory_are_those_of_pytorch(keys, held, edit):
    logits = keys.page.evaluate(
        "([all, held]) => all.map((ids) => [...lab.esbn(ids, ESBNKeys.editing(held)).logits])",
        [SOME.tolist(), held],
    )
    network = trained("esbn")
    z = network.embed(glyphs(), SOME)
    torch.testing.assert_close(torch.tensor(logits), network.core.trace(z, edit=edit).logits, **CLOSE)


@torch.no_grad()
def test_moved_keys_are_those_of_pytorch(plane):
    logits = plane.page.evaluate(
        """all => all.map((ids) =>
          [...lab.esbn(ids, ESBNPlane.editing({ 3: new Float32Array(256).fill(0.5) })).logits])""",
        SOME.tolist(),
    )
    network = trained("esbn")
    z = network.embed(glyphs(), SOME)
    trace = network.core.trace(z, edit=lambda t, keys: [*keys[:3], keys[3] + 0.5] if t == 4 else keys)
    torch.testing.assert_close(torch.tensor(logits), trace.logits, **CLOSE)


def test_points_of_training_are_where_the_page_puts_their_keys(plane):
    far = plane.page.evaluate(
        """() => {
          const { centre, axes, cloud } = Live.network(parcel, "plane");
          const plane = { centre: centre.data, axes: Arithmetic.rows(axes) }, all = Arithmetic.rows(cloud);
          const apart = (ids, n) => lab.esbn(ids).steps.slice(0, 9).flatMap(({ k_w }, t) =>
            ESBN.project(plane, k_w).map((v, i) => Math.abs(v - all[9 * n + t][i])));
          return Math.max(...parcel.facts.training.slice(0, 8).flatMap(apart));
        }"""
    )
    assert far < 0.05, "the keys are up to 60 long"


def test_the_right_answer_is_the_librarys(memory):
    sample = PROBLEMS.test.ids[:500].tolist()
    solved = memory.page.evaluate("all => all.map((ids) => ESBN.solve(ids).answer)", sample)
    assert solved == PROBLEMS.test.answers[:500].tolist()


@pytest.mark.parametrize(
    ("ids", "error"),
    [
        ([1, 2, 3, 4, 1, 1, 2, 3, 4], "Row 2 shows an object"),
        ([1, 2, 3, 1, 1, 1, 2, 3, 4], "Row 2 shows an object"),
        ([1, 2, 3, 1, 2, 1, 2, 5, 4], "not among the choices"),
        ([1, 2, 3, 1, 2, 1, 3, 3, 4], "more than once"),
    ],
)
def test_a_problem_without_a_right_answer_is_told(memory, ids, error):
    assert error in memory.page.evaluate("ids => ESBN.solve(ids).error", ids)


# ----------------------------------------------------------------------------------------- the figures


def test_memory_starts_empty_and_fills_by_keyboard(memory):
    page, step, shown = memory.page, memory.get_by_label("Step", exact=True), memory.locator(".live-memory")
    assert step.input_value() == "1"
    assert "Memory is empty" in shown.inner_text()
    memory.get_by_role("button", name="Next step").press("Enter")
    assert shown.locator("tbody tr").count() == 1
    step.focus()
    page.keyboard.press("ArrowRight")
    assert shown.locator("tbody tr").count() == 2
    for term in ("picture", "confidence", "received", "key"):
        assert memory.locator(".live-account b").get_by_text(term).count() == 1
    assert "Correct" not in told(memory)
    page.keyboard.press("End")
    assert "No picture is left" in memory.locator(".live-account").inner_text()
    assert re.fullmatch(r"The ESBN chooses \d\. Correct: \d\.", told(memory))
    assert sum(chances(memory)) == pytest.approx(100, abs=2)
    memory.get_by_role("button", name="Another problem").click()
    assert step.input_value() == "1"
    assert "Correct" not in told(memory)
    assert not page.complaints


def test_memory_begins_with_the_problem_of_the_chapter_and_keeps_its_height(open_figure):
    for width in (1280, 400):
        box = open_figure("esbn_memory", width)
        pictures = box.page.evaluate("Live.load('esbn_pictures').then(({ facts }) => facts)")
        assert pictures["followed"] == PROBLEMS.test.ids[FOLLOWED].tolist()
        names = box.locator(".live-problem td[title]").evaluate_all("all => all.map((e) => e.title)")
        assert names == [pictures["names"][number] for number in pictures["followed"]]
        heights = [box.evaluate("e => e.offsetHeight")]
        for _ in range(9):
            box.get_by_role("button", name="Next step").click()
            heights.append(box.evaluate("e => e.offsetHeight"))
        assert max(heights) - min(heights) <= 2


def test_the_answer_is_hidden_until_the_reader_chooses(memory):
    memory.get_by_role("button", name="Another problem").click()
    assert memory.locator(".live-problem tr").count() == 3
    assert not memory.locator(".live-right").count()
    memory.get_by_role("button", name="choice 2").press("Enter")
    assert told(memory).startswith("You chose 2. The ESBN chooses ")
    assert memory.locator(".live-right").count() == 1
    memory.get_by_role("button", name="choice 3").click()
    assert told(memory).startswith("You chose 2."), "once is enough"


def ask(keys) -> dict[str, int]:
    keys.get_by_role("button", name="Ask 100").click()
    keys.get_by_text("Correct, of the same 100").wait_for(timeout=60_000)
    lines = keys.locator(".live-tally tr").all_inner_texts()
    return {name: int(re.match(r"\d+", count)[0]) for name, _, count in (each.split("\t") for each in lines)}


def test_edits_apply_to_the_keys_as_written(keys):
    held = lambda: keys.locator("select").evaluate_all("all => all.map((e) => e.value)")  # noqa: E731
    first = chances(keys)
    keys.get_by_role("button", name="row 1: zeros").press("Enter")
    assert held() == ["null"] * 3 + ["3", "4"]
    assert told(keys).startswith("Row 1: zeros. The ESBN chooses")
    keys.get_by_role("button", name="row 2: key 1 for both").press("Enter")
    assert held() == ["0", "1", "2", "0", "0"], "key 1 as the network wrote it, and not zeros"
    assert chances(keys) != first
    keys.get_by_label("entry 1").select_option("zeros")
    assert told(keys).startswith("Entry 1: zeros, entry 4: key 1, entry 5: key 1.")
    keys.get_by_role("button", name="put all back").press("Enter")
    assert chances(keys) == first
    assert not keys.page.complaints


def test_a_hundred_problems_are_asked_and_results_say_to_which_keys_they_belong(keys):
    bold = lambda: keys.locator(".live-tally .live-found").all_inner_texts()  # noqa: E731
    keys.get_by_role("button", name="put all back").click()
    assert ask(keys)["keys as written"] > 95
    keys.get_by_role("button", name="row 2: key 1 for both").click()
    assert not bold(), "the result belongs to other keys"
    right = ask(keys)
    assert right["row 2: key 1 for both"] < 60
    assert bold()[0].startswith("row 2: key 1 for both")


def test_keys_move_by_keyboard(plane):
    before = chances(plane)
    point = plane.get_by_role("button", name="Key of step 4")
    at = lambda: [float(n) for n in re.findall(r"-?\d+\.\d", point.get_attribute("aria-label"))]  # noqa: E731
    start = at()
    point.focus()
    plane.page.keyboard.press("ArrowLeft")
    assert at()[0] < start[0]
    assert at()[1] == start[1]
    assert told(plane).startswith("Moved: key 4. ")
    plane.page.keyboard.press("Escape")
    assert at() == start
    assert chances(plane) == before
    for group, count in (("row 1", 3), ("the rows", 5)):
        plane.get_by_label("Show the keys of").select_option(group)
        assert plane.locator(".live-point:visible").count() == count


def test_keys_4_and_5_dragged_onto_key_3_change_the_answer(plane):
    mouse, before = plane.page.mouse, told(plane)
    plane.locator(".live-plane").evaluate("e => e.scrollIntoView({ block: 'center' })")

    def centre(step, part="path"):
        at = plane.get_by_role("button", name=f"Key of step {step} ").locator(part).bounding_box()
        return at["x"] + at["width"] / 2, at["y"] + at["height"] / 2

    for step in (4, 5):
        mouse.move(*centre(step))
        mouse.down()
        mouse.move(*centre(3), steps=5)
        mouse.up()
        assert centre(step) == pytest.approx(centre(3, "circle"), abs=2), "dropped on a number: onto its key"
    assert told(plane).startswith("Moved: keys 4 and 5. ")
    assert told(plane).removeprefix("Moved: keys 4 and 5. ") != before
    plane.get_by_role("button", name="Put all keys back").click()
    assert told(plane) == before
    assert not plane.page.complaints


def test_a_finger_drags_a_key_and_does_not_scroll(open_figure):
    box = open_figure("esbn_plane", 400)
    page = box.page
    box.locator(".live-plane").evaluate("e => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
    point = box.get_by_role("button", name="Key of step 5 ").locator("path")
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    start, scrolled = point.bounding_box(), page.evaluate("scrollY")

    def touch(kind: str, *far: int) -> None:
        places = [{"x": start["x"] + 10 - part, "y": start["y"] + 10 - part} for part in far]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    touch("touchStart", 0)
    for far in range(10, 70, 10):
        touch("touchMove", far)
    touch("touchEnd")
    end = point.bounding_box()
    assert (start["x"] - end["x"], start["y"] - end["y"]) == pytest.approx((60, 60), abs=2)
    assert page.evaluate("scrollY") == scrolled
    assert not page.complaints


# ------------------------------------------------------------------------------------ shuffled choices


@pytest.fixture
def shuffle(open_figure):
    return open_figure("esbn_shuffle")


def at_places(box) -> list[str]:
    """The names of the choices, from left to right."""
    labels = box.locator(".game-choice button").evaluate_all("all => all.map(e => e.ariaLabel)")
    return [label.split(": ")[1] for label in labels]


def picked(box) -> dict[str, tuple[int, str]]:
    """What each network chooses, and its mark."""
    places = [each.locator(".game-by").all_inner_texts() for each in box.locator(".game-choice").all()]
    return {
        text.split()[0]: (place, text.split()[1])
        for place, all_here in enumerate(places)
        for text in all_here
    }


def tally(box) -> list[list[int]]:
    """For the ESBN and the LSTM: right, of the orders tried."""
    texts = box.locator(".game-score > div").all_inner_texts()
    return [[int(n) for n in re.findall(r"\d+", text)] for text in texts]


@torch.no_grad()
def test_networks_choose_as_in_pytorch_in_every_order(shuffle):
    names = shuffle.page.evaluate("Live.load('esbn_pictures').then(({ facts }) => facts.names)")
    shown = shuffle.locator(".game-rows canvas").evaluate_all("all => all.map(e => e.ariaLabel)")
    rows, networks = (
        [names.index(name) for name in shown],
        {"ESBN": trained("esbn"), "LSTM": trained("esbn_lstm")},
    )
    assert {mark for _, mark in picked(shuffle).values()} == {"✓"}, "both have learned this problem"
    assert tally(shuffle) == [[1, 1], [1, 1]]
    for _ in range(6):
        shuffle.get_by_role("button", name="Shuffle").click()
        ids = torch.tensor([rows + [names.index(name) for name in at_places(shuffle)]])
        missing = next(
            place for place in range(4) if ids[0, 5 + place].item() in set(rows[:3]) - set(rows[3:])
        )
        for name, network in networks.items():
            place = network(glyphs(), ids).argmax().item()
            assert picked(shuffle)[name] == (place, "✓" if place == missing else "✗")
    (esbn, tried), (lstm, _) = tally(shuffle)
    assert esbn == tried == 7, "no order twice"
    assert lstm < 7
    shuffle.get_by_role("button", name="Try all 24 orders").click()
    assert tally(shuffle)[0] == [24, 24]
    assert tally(shuffle)[1][0] < 24
    assert not shuffle.page.complaints


def test_choices_change_places_by_mouse_by_presses_and_by_keys(shuffle):
    first = at_places(shuffle)
    button = lambda place: shuffle.locator(".game-choice button").nth(place)  # noqa: E731
    button(0).drag_to(button(2))
    dragged = [first[2], first[1], first[0], first[3]]
    assert at_places(shuffle) == dragged
    button(3).click()
    assert button(3).get_attribute("aria-pressed") == "true"
    button(3).click()
    assert button(3).get_attribute("aria-pressed") == "false"
    button(3).click()
    button(1).click()
    assert at_places(shuffle) == [dragged[0], dragged[3], dragged[2], dragged[1]]
    shuffle.page.keyboard.press("ArrowLeft")
    assert at_places(shuffle) == [dragged[3], dragged[0], dragged[2], dragged[1]]
    assert button(0).evaluate("e => e === document.activeElement"), "the focus goes with the choice"
    shuffle.page.keyboard.press("ArrowLeft")
    shuffle.get_by_role("button", name="Order of training").click()
    assert at_places(shuffle) == first
    assert told(shuffle) == "The order of training. Both networks are right."
    shuffle.get_by_role("button", name="Another problem").click()
    assert tally(shuffle) == [[1, 1], [1, 1]]
    assert not shuffle.page.complaints


def test_what_it_says_of_the_lstm_is_true(shuffle):
    old = picked(shuffle)["LSTM"][0]
    for _ in range(23):
        shuffle.get_by_role("button", name="Shuffle").click()
        (place, mark), text = picked(shuffle)["LSTM"], told(shuffle)
        assert (f"The LSTM chooses {place + 1}, which is wrong." in text) == (mark == "✗")
        assert (f"In training, place {old + 1} was right." in text) == (mark == "✗" and place == old)
        assert ("both networks are right" in text) == (mark == "✓")


def test_a_finger_taps_one_choice_and_then_another(open_figure):
    box = open_figure("esbn_shuffle", 400, has_touch=True)
    first, buttons = at_places(box), box.locator(".game-choice button")
    buttons.nth(3).tap()
    buttons.nth(0).tap()
    assert at_places(box) == [first[3], first[1], first[2], first[0]]


# ----------------------------------------------------------------------------- the four tasks, to solve

KINDS = {
    "same_different": "same/different",
    "rmts": "relational match-to-sample",
    "distribution_of_three": "distribution-of-three",
    "identity_rules": "identity rules",
}


@pytest.fixture
def puzzles(live):
    """Open the figure in a fresh page, since its problems go on."""

    def open_puzzles(width: int = 1280, **options):
        return live("esbn_tasks", width, **options).locator("[data-live='esbn_tasks']")

    return open_puzzles


def pattern(ids: list[int]) -> tuple[int, ...]:
    """Which pictures of a problem are equal: each by the number of the place where it is first."""
    return tuple(ids.index(each) for each in ids)


def test_the_drawn_problems_are_those_of_the_tasks_and_as_often(puzzles):
    drawn = puzzles().page.evaluate(
        """() => {
          const pool = [...Array(100).keys()], some = [...Array(2000).keys()];
          const drawn = ([name, task]) => [name, some.map((n) => task.draw(Arithmetic.uniform(n), pool))];
          return Object.fromEntries(Object.entries(ESBNTasks.TASKS).map(drawn));
        }"""
    )
    assert drawn.keys() == KINDS.keys()
    for task, given in drawn.items():
        part = make_problems(task, m=50, seed=1, test_size=6000).test
        ours, theirs = Counter(), Counter()
        for problem in given:
            ours[pattern(problem["ids"]), problem["answer"]] += 1 / len(given)
        for ids, answer in zip(part.ids.tolist(), part.answers.tolist(), strict=True):
            theirs[pattern(ids), answer] += 1 / len(part)
        assert ours.keys() == theirs.keys(), task
        assert all(abs(ours[each] - theirs[each]) < 0.06 for each in theirs), task


def test_each_task_is_solved_by_key_and_the_reason_is_true(puzzles):
    box = puzzles()
    for kind in KINDS.values():
        box.get_by_role("button", name=kind).click()
        asked = told(box)
        choices = box.locator(".game-choice button")
        box.page.keyboard.press("1")
        right = box.locator(".game-choice:has(.game-right) kbd").inner_text()
        assert told(box).startswith("Right. " if right == "1" else "Wrong. ")
        if kind == "same/different":
            first, second = box.locator(".game-rows .live-picture").evaluate_all(
                "all => all.map((e) => e.ariaLabel)"
            )
            assert told(box).endswith("equal." if first == second else "differ.")
            assert right == ("1" if first == second else "2")
        else:
            assert re.search(rf"(choice|pair) {right}\b", told(box))
        assert choices.nth(0).get_attribute("aria-pressed") == "true"
        box.page.keyboard.press("2")  # a second thought comes too late
        assert choices.nth(0).get_attribute("aria-pressed") == "true"
        box.page.keyboard.press("Enter")
        assert told(box) == asked
    assert re.search(r"From pictures: \d of 4 right\.", box.inner_text())
    assert not box.page.complaints


@pytest.mark.parametrize(
    ("width", "options"), [(1280, {}), (400, {"has_touch": True, "color_scheme": "dark"})]
)
def test_the_table_takes_the_place_of_the_pictures_and_says_which_are_equal(puzzles, width, options):
    box = puzzles(width, **options)
    pictures = lambda: box.locator(".live-solve .live-picture:visible").count()  # noqa: E731
    assert pictures() == 9
    assert not box.locator(".live-pairs").is_visible()
    names = box.locator(".live-picture").evaluate_all("all => all.map((e) => e.ariaLabel)")
    box.get_by_label("see what is equal").check()
    assert not pictures()
    marks = box.locator(".live-pairs tbody tr").evaluate_all(
        """rows => rows.map((row) =>
          [...row.querySelectorAll('td:not(.live-none)')].map((cell) => cell.textContent === '='))"""
    )
    assert marks == [[names[s] == names[t] for s in range(t)] for t in range(1, 9)]
    row_1, row_2 = slice(0, 3), slice(3, 5)
    missing = [any(row[row_1]) and not any(row[row_2]) for row in marks[4:]].index(
        True
    )  # as the chapter says
    box.get_by_role("button", name=f"{missing + 1}: hidden").click()
    assert told(box).startswith("Right. ")
    assert "From the table: 1 of 1 right." in box.inner_text()
    assert not box.page.complaints
