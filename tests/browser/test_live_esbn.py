"""The ESBN in the page: its numbers beside PyTorch's, and the figure driven as a reader drives it."""

import re

import pytest
import torch

from mini_lib.datasets import glyphs
from mini_lib.esbn.tasks import make_problems
from mini_lib.files import trained

pytestmark = pytest.mark.browser
CLOSE = {"rtol": 1e-3, "atol": 1e-3}
CHAPTER = "notebooks/esbn/2_algorithm.html"
PROBLEMS = make_problems("distribution_of_three", m=95, seed=1)
SOME = torch.cat([PROBLEMS.test.ids[:6], PROBLEMS.train.ids[:2]])
LABORATORY = """async () => {
  window.parcel = await Live.load("esbn");
  window.lab = ESBNFigure.laboratory(parcel);
}"""


@pytest.fixture(scope="module")
def esbn_page(live):
    page = live(CHAPTER)
    page.evaluate(LABORATORY)
    return page


@pytest.fixture
def figure(esbn_page):
    """The figure as a reader finds it."""
    box = esbn_page.locator("[data-live='esbn']")
    box.evaluate("box => { box.replaceChildren(); ESBNFigure.start(box, parcel); }")
    return box


def verdict(box) -> str:
    return box.get_by_role("status").nth(1).inner_text()


def said(box) -> list[float]:
    """How probable the ESBN finds each choice, in percent."""
    return [float(n) for n in re.findall(r"(\d+) %", box.locator(".live-problem tr").nth(3).inner_text())]


# -------------------------------------------------------------------------------------------- numbers


@torch.no_grad()
def test_esbn_trace_is_that_of_pytorch(esbn_page):
    answers = esbn_page.evaluate(
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
def test_lstm_logits_are_those_of_pytorch(esbn_page):
    logits = esbn_page.evaluate("all => all.map((ids) => [...lab.lstm(ids)])", SOME.tolist())
    network = trained("esbn_lstm")
    torch.testing.assert_close(torch.tensor(logits), network(glyphs(), SOME), **CLOSE)


EDITS = (
    lambda t, keys: [keys[2], keys[1], keys[0]] if t == 3 else keys,
    lambda t, keys: [keys[0]] * 3 if t == 3 else keys,
    lambda t, keys: [0 * keys[0]] * 3 if t == 3 else keys,
    lambda t, keys: [*keys[:3], keys[0], keys[0]] if t == 5 else keys,
    lambda t, keys: [*keys[:3], keys[3] + 0.5] if t == 4 else keys,  # moved, as by hand
)


@torch.no_grad()
def test_operations_on_memory_are_those_of_the_chapter(esbn_page):
    logits = esbn_page.evaluate(
        """all => [...ESBNFigure.OPERATIONS.map((each) => ({ moves: {}, operations: [each] })),
          { moves: { 3: new Float32Array(256).fill(0.5) }, operations: [] }]
          .map((edits) => all.map((ids) => [...lab.esbn(ids, ESBNFigure.editing(edits)).logits]))""",
        SOME.tolist(),
    )
    network = trained("esbn")
    z = network.embed(glyphs(), SOME)
    assert len(logits) == len(EDITS)
    for ours, edit in zip(logits, EDITS, strict=True):
        torch.testing.assert_close(torch.tensor(ours), network.core.trace(z, edit=edit).logits, **CLOSE)


@pytest.mark.parametrize("basis", ["written", "both"])
def test_points_of_training_lie_where_the_page_puts_their_keys(esbn_page, basis):
    far = esbn_page.evaluate(
        """(basis) => {
          const { centre, axes, cloud } = Live.network(parcel, basis);
          const plane = { centre: centre.data, axes: Arithmetic.rows(axes) }, all = Arithmetic.rows(cloud);
          const apart = (ids, n) => lab.esbn(ids).steps.slice(0, 9).flatMap(({ k_w }, t) =>
            ESBN.project(plane, k_w).map((v, i) => Math.abs(v - all[9 * n + t][i])));
          return Math.max(...parcel.facts.training.slice(0, 8).flatMap(apart));
        }""",
        basis,
    )
    assert far < 0.05, "the keys are up to 60 long"


def test_the_right_answer_is_the_librarys(esbn_page):
    sample = PROBLEMS.test.ids[:500].tolist()
    solved = esbn_page.evaluate("all => all.map((ids) => ESBN.solve(ids).answer)", sample)
    assert solved == PROBLEMS.test.answers[:500].tolist()


@pytest.mark.parametrize(
    ("kind", "images"),
    [
        ("new", PROBLEMS.test_images),
        ("seen", PROBLEMS.train_images),
        ("training", PROBLEMS.train_images),
    ],
)
def test_problems_are_those_of_the_task(esbn_page, kind, images):
    drawn = esbn_page.evaluate(
        """(kind) => {
          const random = Arithmetic.uniform(3);
          const drawn = Array.from({ length: 200 }, () => lab.draw[kind](random));
          return drawn.map((ids) => [ids, ESBN.solve(ids).answer]);
        }""",
        kind,
    )
    assert {answer for _, answer in drawn} == {0, 1, 2, 3}
    for ids, _ in drawn:
        first, second, choices = set(ids[:3]), set(ids[3:5]), set(ids[5:])
        assert len(first) == 3
        assert len(second) == 2
        assert len(choices) == 4
        assert second < first < choices
        assert choices <= set(images.tolist())


@pytest.mark.parametrize(
    ("ids", "error"),
    [
        ([1, 2, 3, 4, 1, 1, 2, 3, 4], "Row 2 shows an object"),
        ([1, 2, 3, 1, 1, 1, 2, 3, 4], "Row 2 shows an object"),
        ([1, 2, 3, 1, 2, 1, 2, 5, 4], "not among the choices"),
        ([1, 2, 3, 1, 2, 1, 3, 3, 4], "more than once"),
    ],
)
def test_a_problem_without_a_right_answer_is_told(esbn_page, ids, error):
    assert error in esbn_page.evaluate("ids => ESBN.solve(ids).error", ids)


# ----------------------------------------------------------------------------------------- the figure


def test_figure_by_keyboard_steps_through_memory(figure, esbn_page):
    step, memory = figure.get_by_label("Step", exact=True), figure.locator(".live-memory")
    assert memory.locator("tbody tr").count() == 5
    step.focus()
    esbn_page.keyboard.press("ArrowRight")
    assert memory.locator("tbody tr").count() == 6
    assert "Step 7 looks up" in memory.locator("caption").inner_text()
    esbn_page.keyboard.press("End")
    assert "no picture" in memory.locator("caption").inner_text()
    esbn_page.keyboard.press("Home")
    assert "Memory is empty" in memory.locator("caption").inner_text()
    figure.get_by_role("button", name="step 4, row 2, place 1").focus()
    esbn_page.keyboard.press("Enter")
    assert step.input_value() == "4"
    assert figure.get_by_role("button", name="step 4, row 2, place 1").evaluate(
        "e => e === document.activeElement"
    )


def test_figure_by_keyboard_changes_memory(figure, esbn_page):
    told = lambda: figure.get_by_text(re.compile("^(Changed|Memory is as)")).inner_text()  # noqa: E731
    assert told() == "Memory is as the network wrote it."
    before = said(figure)
    figure.get_by_role("button", name="row 1: swap keys 1 and 3").press("Enter")
    assert told() == "Changed: row 1: swap keys 1 and 3."
    assert figure.locator(".live-memory").get_by_text("key of").all_inner_texts() == ["key of 3", "key of 1"]
    assert said(figure) == pytest.approx(before, abs=2)
    figure.get_by_label("of step", exact=True).select_option("4")
    figure.get_by_label("and step").select_option("4")
    figure.get_by_role("button", name="Swap", exact=True).press("Enter")
    assert figure.get_by_text("Choose two different steps.").count() == 1
    figure.get_by_label("of step", exact=True).select_option("1")
    figure.get_by_role("button", name="Swap", exact=True).press("Enter")
    assert told().endswith("keys 1 and 4 swapped.")
    figure.get_by_role("button", name="Put all keys back").press("Enter")
    assert said(figure) == before
    figure.get_by_label("Swap the").select_option("objects")
    figure.get_by_label("of step", exact=True).select_option("6")
    figure.get_by_label("and step").select_option("7")
    figure.get_by_role("button", name="Swap", exact=True).press("Enter")
    assert sorted(said(figure)) == pytest.approx(sorted(before), abs=10)
    assert not esbn_page.complaints


def test_figure_by_keyboard_moves_a_key(figure, esbn_page):
    point, before = figure.get_by_role("button", name="Key of step 4"), said(figure)
    point.focus()
    at = lambda: [float(v) for v in re.findall(r"-?\d+\.\d", point.get_attribute("aria-label"))]  # noqa: E731
    start = at()
    esbn_page.keyboard.press("ArrowLeft")
    esbn_page.keyboard.press("ArrowUp")
    assert at()[0] < start[0]
    assert at()[1] > start[1]
    for _ in range(4):
        esbn_page.keyboard.press("Shift+ArrowLeft")
    assert figure.get_by_text("Changed: key 4 moved.").count() == 1
    assert said(figure) != before
    esbn_page.keyboard.press("Escape")
    assert at() == start
    assert said(figure) == before
    esbn_page.keyboard.press("Enter")
    assert figure.get_by_label("Step", exact=True).input_value() == "4"


def test_figure_by_keyboard_puts_in_another_object_and_a_drawn_one(figure, esbn_page):
    figure.get_by_text("Choose other objects").click()
    shelf, names = (
        figure.locator(".live-shelf button"),
        figure.locator(".live-problem button img").evaluate_all,
    )
    shown = lambda: names("all => all.map((e) => e.alt)")  # noqa: E731
    first = shown()
    shelf.first.focus()
    for key in ("ArrowUp", "ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        esbn_page.keyboard.press(key)
    name = shelf.nth(12).get_attribute("aria-label")
    assert shown() == [name if each == first[5] else each for each in first]
    assert verdict(figure).startswith("Right is choice")
    use, pad = figure.get_by_role("button", name="Use this drawing"), figure.get_by_label("Drawing pad")
    figure.get_by_role("button", name="Clear").click()
    use.click()
    assert figure.get_by_text("The pad is empty").count() == 1
    pad.focus()
    esbn_page.keyboard.press("Space")
    for key in ["ArrowRight"] * 8 + ["ArrowDown"] * 9:
        esbn_page.keyboard.press(key)
    esbn_page.keyboard.press("Space")
    assert figure.get_by_text("The pen is up.").count() == 1
    use.click()
    assert "your drawing 1" in shown()
    figure.get_by_label("wherever the old one stands").uncheck()
    figure.get_by_label("Step", exact=True).fill("1")
    shelf.nth(40).click()
    assert "no choice is right" in verdict(figure), "row 2 still shows the old object"
    figure.get_by_label("Step", exact=True).fill("10")
    shelf.nth(41).click()
    assert figure.get_by_text("Choose another step first.").count() == 1
    use.click()
    assert shelf.count() == 101, "the same drawing is the same object"


def test_figure_by_mouse_draws_drags_and_points(figure, esbn_page):
    mouse = esbn_page.mouse
    figure.get_by_text("Choose other objects").click()
    pad = figure.get_by_label("Drawing pad")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    mouse.move(box["x"] + 20, box["y"] + 20)
    mouse.down()
    mouse.move(box["x"] + 120, box["y"] + 140, steps=4)
    mouse.up()
    figure.get_by_role("button", name="Use this drawing").click()
    assert figure.locator(".live-problem").get_by_alt_text("your drawing 1").count() == 1
    plane = figure.locator(".live-plane")
    plane.evaluate("e => e.scrollIntoView({ block: 'center' })")

    def centre(step):
        at = figure.get_by_role("button", name=f"Key of step {step} ").bounding_box()
        return at["x"] + at["width"] / 2, at["y"] + at["height"] / 2

    before = said(figure)
    for step in (4, 5):
        mouse.move(*centre(step))
        mouse.down()
        mouse.move(*centre(3), steps=5)
        mouse.up()
        assert centre(step) == pytest.approx(centre(3), abs=2)
    assert figure.get_by_text("Changed: key 4 moved; key 5 moved.").count() == 1
    assert said(figure) != before

    training = figure.get_by_label("Training problem")
    training.fill("40")
    box = plane.bounding_box()
    mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.3 * box["height"])
    for part in range(20):
        mouse.move(
            box["x"] + (0.3 + 0.03 * part) * box["width"], box["y"] + (0.1 + 0.02 * part) * box["height"]
        )
    assert training.input_value() != "40"
    assert not esbn_page.complaints


def test_a_finger_drags_a_key_and_does_not_scroll(live):
    page = live(CHAPTER, 360)
    box = page.locator("[data-live='esbn']")
    box.locator(".live-plane").evaluate("e => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
    point, session = box.get_by_role("button", name="Key of step 5 "), page.context.new_cdp_session(page)
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


@pytest.mark.parametrize("basis", ["written", "both"])
def test_figure_shows_some_steps_in_either_plane(figure, basis):
    figure.get_by_label("Plane of", exact=True).select_option(basis)
    points = figure.locator(".live-point:visible")
    for group, count in (("row 1", 3), ("choices", 4), ("step 7", 1), ("all nine steps", 9)):
        figure.get_by_label("Show", exact=True).select_option(label=group)
        assert points.count() == count


def test_many_problems_are_asked_with_memory_as_it_is(figure, esbn_page):
    def ask() -> list[int]:
        figure.get_by_role("button", name="Ask 100").click()
        tally = figure.get_by_role("status").first
        handle = tally.element_handle()
        esbn_page.wait_for_function("e => e.textContent.startsWith('Of 100')", arg=handle, timeout=60_000)
        return [int(n) for n in re.findall(r" on (\d+)", tally.inner_text())]

    esbn, lstm = ask()
    assert esbn > 95
    assert lstm < 60
    figure.get_by_label("Problems").select_option("training")
    assert ask() == [100, 100]
    figure.get_by_label("Problems").select_option("seen")
    figure.get_by_role("button", name="row 2: key 1 for both").click()
    esbn, lstm = ask()
    assert max(esbn, lstm) < 75
    assert not esbn_page.complaints


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_page(live, width):
    page = live(CHAPTER, width)
    page.locator("[data-live='esbn'] details").evaluate("e => { e.open = true; }")
    wide = page.evaluate(
        """() => {
          const box = document.querySelector("[data-live='esbn']"), right = (e) => e.getBoundingClientRect().right;
          const free = [...box.querySelectorAll("*")].filter((e) => !e.closest(".live-scroll *"));
          return free.filter((e) => right(e) > right(box) + 1).map((e) => e.outerHTML.slice(0, 80));
        }"""
    )
    assert not wide
    assert not page.complaints
