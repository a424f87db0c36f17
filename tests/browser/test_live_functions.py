"""Networks that continue a curve in the page: their numbers beside PyTorch's, and a reader's moves."""

import math
import re
from statistics import fmean

import pytest
import torch

from mini_lib.files import trained
from mini_lib.functions.baselines import PREDICTORS
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.tasks import STEPS, evaluation_curves
from mini_lib.reproduction.functions.cells import ROWS
from mini_lib.reproduction.functions.live import parcel

pytestmark = pytest.mark.browser
CLOSE = {"rtol": 1e-3, "atol": 1e-3}
CURVES = [
    curve[:n].tolist() for curve, n in zip(evaluation_curves(6, 16).y, (12, 12, 12, 2, 5, 16), strict=True)
]
STEEP = [0.5 * x - 2 for x in range(12)]
WINDOWS = [name for name in ROWS if name.endswith("window")]
BUILD = """const parcel = await Live.load("functions"), shape = { ...parcel.facts.networks[name], ...more };
  const model = Extrapolation.build(Live.network(parcel, name), shape, length);"""


@pytest.fixture(scope="module")
def pages(live):
    """Each figure's page, opened once."""
    return {part: live(f"functions_{part}") for part in ("lift", "window", "ensemble")}


def box_of(page):
    return page.locator("[data-live^='functions']")


def answered(box) -> str:
    """What the figure says once its networks have answered."""
    box.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box.page.wait_for_selector("[data-live^='functions']:not([aria-busy])")
    return box.locator(".live-status").inner_text().replace("−", "-")


def type_in(box, values) -> str:
    box.locator("details").evaluate("details => { details.open = true; }")
    box.get_by_label("Values", exact=True).fill(" ".join(map(str, values)))
    box.page.keyboard.press("Enter")
    return answered(box)


def values(box) -> list[float]:
    return [float(dot.get_attribute("aria-valuenow")) for dot in box.locator(".live-point").all()]


def middle(dot) -> tuple[float, float]:
    seen = dot.bounding_box()
    return seen["x"] + seen["width"] / 2, seen["y"] + seen["height"] / 2


def with_length(name: str, length: float):
    """A trained network whose window has another length."""
    model = trained(name)
    model.window.log_b.data.fill_(math.log(length / model.window.a.item()) / model.window.rate.item())
    return model


# ------------------------------------------------------------------------------------------------- the numbers


@pytest.mark.parametrize("mask", ["strict", "causal"])
@pytest.mark.parametrize("name", ROWS)
def test_networks_continue_as_in_pytorch(pages, name, mask):
    answers = pages["lift"].evaluate(
        f"""async ([name, curves, more]) => {{
          const length = undefined;
          {BUILD}
          return curves.map((y) => [...Extrapolation.goOn(model, y, parcel.facts.steps)].filter(Boolean));
        }}""",
        [name, CURVES, {"strict": mask == "strict"}],
    )
    model = trained(name)
    model.mask = mask
    for y, answer in zip(CURVES, answers, strict=True):
        forecast = extrapolate(model, torch.tensor([y]), STEPS)
        for key in ("point", "spread"):
            ours = torch.tensor([float(step[key]) for step in answer])
            torch.testing.assert_close(ours, getattr(forecast, key)[0], **CLOSE)
        for step, estimates in zip(answer, forecast.estimates, strict=True):
            torch.testing.assert_close(torch.tensor(step["estimates"]), estimates[0], **CLOSE)


@pytest.mark.parametrize("length", [1, 20])
@pytest.mark.parametrize("name", WINDOWS)
def test_another_window_attends_and_continues_as_in_pytorch(pages, name, length):
    found = pages["window"].evaluate(
        f"""async ([name, y, length]) => {{
          const more = {{}};
          {BUILD}
          const steps = [...Extrapolation.goOn(model, y, parcel.facts.steps)].filter(Boolean);
          const points = steps.map(({{ point }}) => point);
          return {{ points, attention: [...Extrapolation.attentionTo(model, y)] }};
        }}""",
        [name, CURVES[4], length],
    )
    model, y = with_length(name, length), torch.tensor([CURVES[4]])
    torch.testing.assert_close(torch.tensor(found["points"]), extrapolate(model, y, STEPS).point[0], **CLOSE)
    with torch.no_grad():
        trace = model.trace(y)
    weights = trace.attention.mean(dim=(0, 1, 2))[trace.tokens.query].mean(dim=0)  # a mean over queries
    later = trace.tokens.places[:, -1].long() - 1
    ours = torch.zeros(y.shape[1] + 1).index_add(0, later, weights)
    torch.testing.assert_close(torch.tensor(found["attention"]), ours, **CLOSE)


# -------------------------------------------------------------------------------------------------- the reader


def test_the_relational_network_moves_with_a_lifted_curve(pages):
    box = box_of(pages["lift"])
    box.get_by_role("button", name="a line", exact=True).click()
    assert answered(box).endswith("Now lift the curve.")
    box.get_by_role("button", name="Lift by 5").click()
    said = answered(box)
    assert said.startswith("You moved the curve by 5.00.")
    assert "The relational network moved by exactly 5.00 at every step." in said
    least, most = map(
        float, re.search(r"The plain network moved by (-?\d\.\d\d) to (-?\d\.\d\d)\.", said).groups()
    )
    assert least < most < 4
    assert box.locator(".live-ghost").count() == 2
    box.get_by_label("Lift", exact=True).focus()
    box.page.keyboard.press("Home")
    assert answered(box).startswith("You moved the curve by -5.00.")
    box.get_by_role("button", name="a step").click()
    assert answered(box).startswith("Ten steps on: plain")
    assert values(box) == [-0.5] * 6 + [0.5] * 6


def test_an_untrained_relational_network_moves_with_the_curve_too(pages):
    box = box_of(pages["lift"])
    box.get_by_role("button", name="a line", exact=True).click()
    before = answered(box)
    box.get_by_label("untrained networks").check()
    assert answered(box) != before
    box.get_by_role("button", name="Lift by 5").click()
    said = answered(box)
    assert "The relational network moved by exactly 5.00 at every step." in said
    assert "The plain network moved by exactly 5.00" not in said
    box.get_by_label("untrained networks").uncheck()
    box.get_by_role("button", name="a line", exact=True).click()
    assert answered(box) == before


def test_typed_values_are_continued_and_wrong_ones_are_explained(pages):
    box = box_of(pages["lift"])
    said = type_in(box, STEEP)
    for name, title in (("one_d", "plain"), ("relational", "relational")):
        last = extrapolate(trained(name), torch.tensor([STEEP])).point[0, -1].item()
        assert float(re.search(rf"{title} (-?\d+\.\d\d)", said)[1]) == pytest.approx(last, abs=0.006)
    box.get_by_label("also the two networks with a window").check()
    answered(box)
    assert box.locator("tr[data-row]").count() == 4
    box.get_by_label("also the two networks with a window").uncheck()
    for wrong, told in (
        ("1 2 x", "“x” is not a number"),
        ("1", "Type 2 to 16 numbers"),
        ("1 1e99", "“1e99”"),
    ):
        type_in(box, wrong.split())
        assert told in box.locator("details .live-note").inner_text()
        assert values(box) == STEEP


def test_points_are_moved_by_keys_and_by_mouse_and_drawn(pages):
    box = box_of(pages["ensemble"])
    box.get_by_role("button", name="a line", exact=True).click()
    told, before, mouse = answered(box), values(box), box.page.mouse
    dots = box.locator(".live-point")
    dots.nth(11).focus()
    for key in ("ArrowDown", "PageDown", "ArrowUp", "ArrowUp"):
        box.page.keyboard.press(key)
    assert answered(box) != told
    after = values(box)
    assert after[:11] == pytest.approx(before[:11], abs=1e-3)
    assert after[11] < before[11]
    assert dots.nth(11).evaluate("dot => dot === document.activeElement")
    dots.nth(4).scroll_into_view_if_needed()
    x, y = middle(dots.nth(4))
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 60, y - 50, steps=5)
    mouse.up()
    answered(box)
    assert values(box)[4] > after[4] + 0.4
    # Beside a point: through all that the mouse passes, however fast.
    (x, y), (right, _) = middle(dots.first), middle(dots.last)
    mouse.move(x, y + 40)
    mouse.down()
    mouse.move(right, y - 60, steps=2)
    mouse.up()
    answered(box)
    assert values(box) == sorted(values(box))
    assert "Nobody knows" in answered(box)


def draw_by_finger(page, box, top: float, rise: float) -> float:
    """Draw a rising line over the sheet from `top` of its height on; returns where the page was scrolled to."""
    sheet, touch = box.locator(".live-sheet"), page.context.new_cdp_session(page)
    sheet.scroll_into_view_if_needed()
    seen, scrolled = sheet.bounding_box(), page.evaluate("scrollY")
    for k in range(11):
        at = {
            "x": seen["x"] + 5 + 0.09 * k * seen["width"],
            "y": seen["y"] + (top - rise * k) * seen["height"],
        }
        touch.send(
            "Input.dispatchTouchEvent", {"type": "touchMove" if k else "touchStart", "touchPoints": [at]}
        )
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    return scrolled


def test_a_finger_draws_and_the_page_does_not_scroll(live):
    page = live("functions_ensemble", 400, has_touch=True, is_mobile=True)
    box = box_of(page)
    answered(box)
    scrolled = draw_by_finger(page, box, 0.8, 0.06)
    answered(box)
    assert values(box) == sorted(values(box))
    assert page.evaluate("scrollY") == scrolled


def test_the_spread_is_told_and_a_point_lights_up_its_estimates(pages):
    box = box_of(pages["ensemble"])
    box.get_by_role("button", name="a parabola").click()
    said = answered(box)
    y = torch.tensor([[((x - 5) / 6) ** 2 - 0.5 for x in range(1, 13)]])
    forecast = extrapolate(trained("relational"), y)
    spread = forecast.spread[0]
    told = [float(each) for each in re.findall(r"(\d+\.\d\d) (?:for the next|ten steps)", said)]
    assert told == pytest.approx([spread[0].item(), spread[-1].item()], abs=0.006)
    truth = torch.tensor([((x - 5) / 6) ** 2 - 0.5 for x in range(13, 13 + STEPS)])
    error, times = re.search(r"the error is (\d+\.\d\d), (\d+\.\d) times", said).groups()
    off = (forecast.point[0] - truth).square().mean().sqrt().item()
    assert float(error) == pytest.approx(off, abs=0.006)
    assert float(times) == pytest.approx(off / spread.square().mean().sqrt().item(), rel=0.01)
    assert said.endswith("the estimates agree, and they are wrong.")
    assert box.locator(".live-estimate").count() == 12
    box.locator(".live-point").nth(3).focus()
    assert box.locator(".live-lit").count() == 1


def test_a_shorter_window_attends_to_the_last_points(pages):
    box = box_of(pages["window"])
    shares = []
    for network in ("plain", "relational"):
        box.get_by_label("Network").select_option(label=network)
        assert "(as trained)" in answered(box)
        for key in ("Home", "End"):
            box.get_by_label("Window length").focus()
            box.page.keyboard.press(key)
            shares.append(int(re.search(r"(\d+)\s% of the attention", answered(box))[1]))
    assert shares[0] > shares[1]
    assert shares[2] > shares[3]
    assert "(trained with" in answered(box)
    box.get_by_role("button", name="As trained").click()
    assert "(as trained)" in answered(box)


def test_the_page_stays_quick_and_never_shows_an_old_answer_as_new(pages):
    box = box_of(pages["ensemble"])
    answered(box)
    late, slices = box.evaluate(
        """async (box) => {
          [...box.querySelectorAll("button")].find((each) => each.textContent === "a sine").click();
          await new Promise(requestAnimationFrame);
          const late = box.querySelectorAll(".live-late").length, slices = [];
          while (box.hasAttribute("aria-busy")) {
            const begun = performance.now();
            await new Promise((done) => setTimeout(done));
            slices.push(performance.now() - begun);
          }
          return [late, slices];
        }"""
    )
    assert late == 14, "twelve estimates, their band and their median"
    assert fmean(slices) < 200
    assert not any(page.complaints for page in pages.values())


# ---------------------------------------------------------------------------------------- the reader's own curve


def test_rules_and_a_sliding_network_continue_as_in_python(live):
    page = live("functions_draw")
    facts = parcel().facts
    seen = [each["y"] for each in facts["problems"]]
    found = page.evaluate(
        """async (curves) => {
          const parcel = await Live.load("functions"), steps = parcel.facts.steps;
          const { fittedLine, twoWeights, slide } = Continuation;
          const model = Extrapolation.build(Live.network(parcel, "one_d"), parcel.facts.networks.one_d);
          const last = (job) => { let step; do step = job.next(); while (!step.done); return step.value; };
          return curves.map((y) => [fittedLine(y, steps), twoWeights(y, steps), last(slide(model, y, steps))]);
        }""",
        seen,
    )
    line, weights, network = (torch.tensor(each) for each in zip(*found, strict=True))
    y = torch.tensor(seen)
    exact = {"rtol": 1e-6, "atol": 1e-6, "check_dtype": False}
    torch.testing.assert_close(line, PREDICTORS["OLS line"](y, STEPS), **exact)
    torch.testing.assert_close(weights, PREDICTORS["ridge AR(2)"](y, STEPS), **exact)
    torch.testing.assert_close(network, extrapolate(trained("one_d"), y, context="sliding").point, **CLOSE)


def test_a_reader_draws_the_rest_by_mouse_and_by_keys_and_is_compared(live):
    page = live("functions_draw")
    box, problems = box_of(page), parcel().facts["problems"]
    assert values(box) == [0] * STEPS
    assert box.locator(".live-known").count() == 12
    sheet, dots = box.locator(".live-sheet"), box.locator(".live-point")
    sheet.scroll_into_view_if_needed()
    seen = sheet.bounding_box()
    page.mouse.move(seen["x"] + 4, seen["y"] + 0.3 * seen["height"])
    page.mouse.down()
    page.mouse.move(seen["x"] + seen["width"] - 4, seen["y"] + 0.1 * seen["height"], steps=3)
    page.mouse.up()
    drawn = values(box)
    assert 0 < drawn[0] < drawn[-1]
    assert drawn == sorted(drawn)
    dots.nth(4).focus()
    page.keyboard.press("ArrowDown")
    assert values(box)[4] < drawn[4]
    drawn = values(box)
    box.get_by_role("button", name="Show").click()
    said = answered(box)
    assert said.startswith("It was a line.")
    told = {
        row.get_attribute("data-row"): [float(cell) for cell in row.locator("td").all_inner_texts()]
        for row in box.locator("tr[data-row]").all()
    }
    truth = torch.tensor(problems[0]["truth"][12:])
    assert told["you"][0] == pytest.approx((torch.tensor(drawn) - truth).square().mean().item(), abs=0.006)
    best = min(told, key=lambda name: told[name][0])
    assert {name: count for name, (_, count) in told.items()} == {name: name == best for name in told}
    dots.nth(4).focus()
    page.keyboard.press("ArrowUp")
    assert values(box) == drawn, "after the end is shown nothing can be changed"
    box.get_by_role("button", name="New curve").click()
    assert values(box) == [0] * STEPS
    assert sum(int(count) for count in box.locator("tr[data-row] td:last-child").all_inner_texts()) == 1
    for _ in problems:
        box.get_by_role("button", name="Show").click()
        assert answered(box).startswith("It was a")
        box.get_by_role("button", name="New curve").click()
    assert answered(box).startswith("Curve 2:")
    assert not page.complaints


def test_a_finger_draws_the_rest(live):
    page = live("functions_draw", 400, has_touch=True, is_mobile=True)
    box = box_of(page)
    scrolled = draw_by_finger(page, box, 0.4, 0.03)
    assert values(box) == sorted(values(box))
    assert values(box)[0] > 0
    assert page.evaluate("scrollY") == scrolled


# --------------------------------------------------------------------------------------------------- the tune

HEARD = """() => {
  window.heard = [];
  const begin = OscillatorNode.prototype.start;
  OscillatorNode.prototype.start = function (when) { heard.push(this.frequency.value); begin.call(this, when); };
}"""


def test_a_tune_is_played_at_two_heights_and_a_mark_follows_it(live):
    page = live("functions_tune")
    page.evaluate(HEARD)
    mark = page.locator(".tune-mark")
    assert mark.get_attribute("visibility") == "hidden"
    places = []
    for name in ("The tune", "A fifth higher"):
        page.get_by_role("button", name=name).click()
        page.wait_for_function(
            "() => document.querySelector('.tune-mark').getAttribute('visibility') === 'visible'"
        )
        for _ in range(2):
            places.append(tuple(float(mark.get_attribute(key)) for key in ("cx", "cy")))
            page.wait_for_timeout(600)
    assert places[0][0] < places[1][0] < places[2][0] < places[3][0]
    heard = torch.tensor(page.evaluate("() => heard"))
    assert len(heard) == 8
    torch.testing.assert_close(heard[4:] / heard[:4], torch.full((4,), 2 ** (7 / 12)))
    page.wait_for_function(
        "() => document.querySelector('.tune-mark').getAttribute('visibility') === 'hidden'"
    )
    assert not page.complaints


def test_without_sound_the_tune_says_so(live):
    page = live("functions_tune")
    page.add_init_script("delete window.AudioContext; delete window.webkitAudioContext;")
    page.reload()
    page.get_by_role("button", name="The tune").click()
    assert page.get_by_text("This browser cannot play sounds.").is_visible()
    assert not page.complaints
