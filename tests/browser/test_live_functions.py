"""Networks that continue a curve in the page: their numbers next to PyTorch's, and a reader's moves."""

import math

import pytest
import torch

from mini_lib.files import trained
from mini_lib.functions.baselines import PREDICTORS
from mini_lib.functions.extrapolation import extrapolate
from mini_lib.functions.tasks import STEPS, evaluation_curves
from mini_lib.reproduction.functions.cells import ROWS
from mini_lib.reproduction.functions.live import parcel

from .reader import calculate, choose, close, drag, numbers, press, said

pytestmark = pytest.mark.browser
CURVES = [curve[:n].tolist() for curve, n in zip(evaluation_curves(3, 12).y, (12, 2, 7), strict=True)]
STEEP = [0.5 * x - 2 for x in range(12)]


def answered(box, button: str | None = None) -> str:
    """What the figure says once its networks have answered, to the press of a button if one is named."""
    if button:
        press(box, button)
    box.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box.page.wait_for_selector("[data-live^='functions']:not([aria-busy])")
    return said(box)


def values(box) -> list[float]:
    return [float(dot.get_attribute("aria-valuenow")) for dot in box.locator(".live-point").all()]


def draw(box, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw a line over the sheet; (0, 0) is its lower left corner, (1, 1) its upper right one."""
    box.locator(".live-sheet").scroll_into_view_if_needed()
    seen, mouse = box.locator(".live-sheet").bounding_box(), box.page.mouse
    for x, y in (start, end):
        mouse.move(seen["x"] + x * seen["width"], seen["y"] + (1 - y) * seen["height"], steps=2)
        mouse.down()
    mouse.up()


def test_networks_continue_and_attend_as_in_pytorch(live):
    """With both masks, or with windows of two other lengths."""
    cases = [(name, True, None) for name in ROWS]
    cases += [(name, False, None) for name in ROWS if not name.endswith("window")]
    cases += [(name, True, length) for name in ROWS if name.endswith("window") for length in (1, 20)]
    script = """async (cases, curves) => {
      const parcel = await Live.load("functions"), { networks, steps } = parcel.facts;
      return cases.map(([name, strict, length]) => {
        const shape = { ...networks[name], strict };
        const model = Extrapolation.build(Live.network(parcel, name), shape, length ?? undefined);
        return curves.map((y) => ({
          steps: [...Extrapolation.goOn(model, y, steps)].filter(Boolean),
          attention: Extrapolation.attentionTo(model, y),
        }));
      });
    }"""
    answers = calculate(live("functions_window"), script, cases, CURVES)
    for (name, strict, length), found in zip(cases, answers, strict=True):
        model = trained(name)
        model.mask = "strict" if strict else "causal"
        if length:
            window = model.window
            window.log_b.data.fill_(math.log(length / window.a.item()) / window.rate.item())
        for y, answer in zip(CURVES, found, strict=True):
            forecast = extrapolate(model, torch.tensor([y]), STEPS)
            close([step["point"] for step in answer["steps"]], forecast.point[0])
            close([step["spread"] for step in answer["steps"]], forecast.spread[0])
            for step, estimates in zip(answer["steps"], forecast.estimates, strict=True):
                close(step["estimates"], estimates[0])
            with torch.no_grad():
                trace = model.trace(torch.tensor([y]))
            weights = trace.attention.mean(dim=(0, 1, 2))[trace.tokens.query].mean(dim=0)  # over queries
            later = trace.tokens.places[:, -1].long() - 1
            close(answer["attention"], torch.zeros(len(y) + 1).index_add(0, later, weights.nan_to_num()))


def test_rules_and_a_sliding_network_continue_as_in_python(live):
    seen = [each["y"] for each in parcel().facts["problems"]]
    script = """async (curves) => {
      const parcel = await Live.load("functions"), steps = parcel.facts.steps;
      const { fittedLine, twoWeights, slide } = Continuation;
      const model = Extrapolation.build(Live.network(parcel, "one_d"), parcel.facts.networks.one_d);
      const last = (job) => { let step; do step = job.next(); while (!step.done); return step.value; };
      return curves.map((y) => [fittedLine(y, steps), twoWeights(y, steps), last(slide(model, y, steps))]);
    }"""
    found = calculate(live("functions_draw"), script, seen)
    line, weights, network = zip(*found, strict=True)
    y = torch.tensor(seen)
    close(line, PREDICTORS["OLS line"](y, STEPS), 1e-6)
    close(weights, PREDICTORS["ridge AR(2)"](y, STEPS), 1e-6)
    close(network, extrapolate(trained("one_d"), y, context="sliding").point)


def test_the_relational_network_moves_with_a_lifted_curve_trained_or_not(live):
    box = live("functions_lift")
    first = answered(box, "a line")
    exactly = "The relational network moved by exactly 5.00 at every step."
    lifted = answered(box, "Lift by 5")
    assert exactly in lifted
    assert numbers(r"plain network moved by \S+ to (\S+)\. ", lifted + " ")[0] < 4
    assert box.locator(".live-ghost").count() == 2
    box.get_by_label("untrained networks").check()
    untrained = answered(box)
    assert exactly in untrained != lifted
    box.get_by_label("Lift", exact=True).press("Home")
    assert answered(box).startswith("You moved the curve by -5.00.")
    box.get_by_label("untrained networks").uncheck()
    assert answered(box, "a line") == first


def test_typed_values_are_continued_and_wrong_ones_are_explained(live):
    box = live("functions_lift")
    box.locator("summary").press("Enter")
    for text, error in ((" ".join(map(str, STEEP)), ""), ("1 2 x", "“x”"), ("1 1e99", "“1e99”")):
        box.get_by_label("Values", exact=True).fill(text)
        box.page.keyboard.press("Enter")
        told = answered(box)
        assert error in box.locator("details .live-note").inner_text()
        assert values(box) == STEEP
    forecasts = [extrapolate(trained(name), torch.tensor([STEEP])) for name in ("one_d", "relational")]
    ours = [forecast.point[0, -1].item() for forecast in forecasts]
    assert numbers(r"(?:plain|relational) (-?\d+\.\d\d)", told) == pytest.approx(ours, abs=0.006)


def test_points_are_moved_by_keys_and_by_mouse_and_drawn_and_the_answer_follows(live):
    box = live("functions_ensemble")
    told, before, dots = answered(box, "a line"), values(box), box.locator(".live-point")
    for key in ("ArrowDown", "PageDown", "ArrowUp", "ArrowUp"):
        dots.nth(11).press(key)
    assert answered(box) != told
    after = values(box)
    assert after[:11] == pytest.approx(before[:11], abs=1e-3)
    assert after[11] < before[11]
    drag(box, dots.nth(4), (60, -50))
    moved = values(box)
    assert moved[4] > after[4] + 0.4
    assert moved[:4] + moved[5:] == after[:4] + after[5:]
    draw(box, (0.01, 0.2), (0.99, 0.9))  # through all that the mouse passes, however fast
    assert "Nobody knows" in answered(box)
    assert values(box) == sorted(values(box))
    late = box.evaluate(
        """async (box) => {
          [...box.querySelectorAll("button")].find((each) => each.textContent === "a sine").click();
          await new Promise(requestAnimationFrame);
          return box.querySelectorAll(".live-late").length;
        }"""
    )
    assert late == 14, "an old answer is not shown as new: twelve estimates, their band and their median"


def test_the_spread_is_told_and_a_point_lights_up_its_estimates(live):
    box = live("functions_ensemble")
    told = answered(box, "a parabola")
    curve = torch.tensor([((x - 5) / 6) ** 2 - 0.5 for x in range(1, 13 + STEPS)])
    forecast = extrapolate(trained("relational"), curve[None, :12])
    spread = forecast.spread[0]
    off, size = ((each**2).mean().sqrt().item() for each in (forecast.point[0] - curve[12:], spread))
    shown = numbers(r"(\d+\.\d\d) (?:for the next|ten steps)", told)
    assert shown == pytest.approx(spread[[0, -1]].tolist(), abs=0.006)
    assert numbers(r"error is (\d+\.\d\d)", told) == pytest.approx([off], abs=0.006)
    assert numbers(r"(\d+\.\d) times", told) == pytest.approx([off / size], rel=0.01)
    assert told.endswith("the estimates agree, and they are wrong.")
    box.locator(".live-point").nth(3).focus()
    assert box.locator(".live-estimate").count() == 12
    assert box.locator(".live-lit").count() == 1


def test_a_shorter_window_attends_to_the_last_points(live):
    box = live("functions_window")
    for network in ("one_d_window", "relational_window"):
        choose(box, "Network", network)
        assert "(as trained)" in answered(box)
        shares = []
        for key in ("Home", "End"):
            box.get_by_label("Window length").press(key)
            shares += numbers(r"(\d+)\s% of the attention", answered(box))
        assert shares[0] > shares[1]
    assert "(as trained)" in answered(box, "As trained")


def test_a_reader_draws_the_rest_by_mouse_and_by_keys_and_is_compared(live):
    box, dots = live("functions_draw"), live("functions_draw").locator(".live-point")
    draw(box, (0.02, 0.7), (0.98, 0.9))
    drawn = values(box)
    assert 0 < drawn[0] < drawn[-1]
    assert drawn == sorted(drawn)
    dots.nth(4).press("ArrowDown")
    assert values(box)[4] < drawn[4]
    drawn = values(box)
    assert answered(box, "Show").startswith("It was a line.")
    rows = {row.get_attribute("data-row"): row for row in box.locator("tr[data-row]").all()}
    told = {name: [float(cell) for cell in row.locator("td").all_inner_texts()] for name, row in rows.items()}
    truth = torch.tensor(parcel().facts["problems"][0]["truth"][12:])
    assert told["you"][0] == pytest.approx((torch.tensor(drawn) - truth).square().mean().item(), abs=0.006)
    best = min(told, key=lambda name: told[name][0])
    assert {name: count for name, (_, count) in told.items()} == {name: name == best for name in told}
    dots.nth(4).press("ArrowUp")
    assert values(box) == drawn, "after the end is shown nothing can be changed"
    press(box, "New curve")
    assert values(box) == [0] * STEPS


def test_a_finger_draws_the_rest_and_the_page_does_not_scroll(live):
    box = live("functions_draw", 400, has_touch=True, is_mobile=True)
    box.locator(".live-sheet").scroll_into_view_if_needed()
    seen, scrolled = box.locator(".live-sheet").bounding_box(), box.page.evaluate("scrollY")
    finger = box.page.context.new_cdp_session(box.page)
    for k in range(11):
        x, y = seen["x"] + 5 + 0.09 * k * seen["width"], seen["y"] + (0.4 - 0.03 * k) * seen["height"]
        touch = {"type": "touchMove" if k else "touchStart", "touchPoints": [{"x": x, "y": y}]}
        finger.send("Input.dispatchTouchEvent", touch)
    assert 0 < values(box)[0] < values(box)[-1]
    assert values(box) == sorted(values(box))
    assert box.page.evaluate("scrollY") == scrolled


def test_a_tune_is_played_at_two_heights_and_a_mark_follows_it(live):
    box = live("functions_tune")
    box.page.evaluate(
        """() => {
          const begin = OscillatorNode.prototype.start, mark = document.querySelector(".tune-mark");
          Object.assign(window, { heard: [], places: [] });
          OscillatorNode.prototype.start = function (when) {
            heard.push(this.frequency.value);
            begin.call(this, when);
          };
          new MutationObserver(() => places.push(mark.cx.baseVal.value)).observe(mark, { attributes: true });
        }"""
    )
    for name in ("▶ The tune", "▶ A fifth higher"):
        press(box, name)
        box.page.wait_for_selector(".tune-mark[visibility='hidden']", state="attached")
    heard, places = box.page.evaluate("[heard, places]")
    assert heard[4:] == pytest.approx([2 ** (7 / 12) * pitch for pitch in heard[:4]])
    assert places == sorted(places)
    assert places[-1] > places[0]
