"""Four networks and a Gaussian process that go on with a curve in the page: their numbers, and a reader's moves."""

import math

import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Kernel,
    Product,
    Sum,
    WhiteKernel,
)

from mini_lib.files import trained
from mini_lib.functions.bounds import gaussian_process, optimal_spread
from mini_lib.functions.extrapolation import CONTEXTS, extrapolate
from mini_lib.functions.tasks import NOISE, STEPS, covariance, evaluation_curves
from mini_lib.functions.transformer import MODELS

pytestmark = pytest.mark.browser
CLOSE = {"rtol": 1e-3, "atol": 1e-3}
EXACT = {"rtol": 1e-6, "atol": 1e-6}
PAGE = "notebooks/functions/1_function_learning.html"
CURVES = evaluation_curves(6, 16).y.tolist()
STEEP = [0.5 * x - 2 for x in range(12)]


@pytest.fixture(scope="module")
def functions_page(live):
    return live(PAGE)


@pytest.fixture
def box(functions_page):
    """The figure, with a curve of the reader's own, neither lifted nor stretched."""
    found = functions_page.locator("[data-live='functions']")
    type_in(found, STEEP)
    return answered(found)


def type_in(box, values) -> None:
    box.get_by_label("Or type values").fill(" ".join(map(str, values)))
    box.page.keyboard.press("Enter")


def next_frame(box) -> None:
    """By then what was done is drawn, and old answers are marked as such."""
    box.page.evaluate("() => new Promise(requestAnimationFrame)")


def answered(box):
    """The figure once all networks have answered."""
    next_frame(box)
    box.locator(".live-numbers[aria-busy='false']").wait_for()
    return box


def note(box) -> str:
    return answered(box).locator(".live-note").last.inner_text()


def status(box) -> str:
    return answered(box).locator(".live-status").inner_text()


def row(box, name: str) -> list[str]:
    return [text.replace("−", "-") for text in box.locator(f"[data-row='{name}'] td").all_inner_texts()]


def values(box) -> list[float]:
    """The points, once they are drawn."""
    next_frame(box)
    return [
        float(dot.get_attribute("aria-valuenow")) for dot in box.locator("svg").get_by_role("slider").all()
    ]


def middle(dot) -> tuple[float, float]:
    seen = dot.bounding_box()
    return seen["x"] + seen["width"] / 2, seen["y"] + seen["height"] / 2


# ------------------------------------------------------------------------------------------------- the numbers


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", MODELS)
def test_networks_go_on_as_in_pytorch(functions_page, name, context):
    curves = [curve[:n] for curve, n in zip(CURVES, (12, 12, 12, 2, 5, 16), strict=True)]
    answers = functions_page.evaluate(
        """async ([name, curves, context]) => {
          const parcel = await Live.load("functions");
          const shape = parcel.facts.networks.find((each) => each.name === name);
          const model = Extrapolation.build(Live.network(parcel, name), shape);
          return curves.map((y) => [...Extrapolation.goOn(model, y, parcel.facts.steps, context)].filter(Boolean));
        }""",
        [name, curves, context],
    )
    model = trained(name)
    for y, answer in zip(curves, answers, strict=True):
        forecast = extrapolate(model, torch.tensor([y]), STEPS, context)
        for key in ("point", "spread"):
            ours = torch.tensor([float(step[key]) for step in answer])
            torch.testing.assert_close(ours, getattr(forecast, key)[0], **CLOSE)
        for step, estimates in zip(answer, forecast.estimates, strict=True):
            torch.testing.assert_close(torch.tensor(step["estimates"]), estimates[0], **CLOSE)


def parts(kernel: Kernel) -> list[dict]:
    """A fitted kernel, as the page writes it; its noise is a part too."""
    if isinstance(kernel, Sum):
        return parts(kernel.k1) + parts(kernel.k2)
    if isinstance(kernel, WhiteKernel):
        return [{"kind": "noise", "variance": kernel.noise_level}]
    assert isinstance(kernel, Product)
    names = {
        "RBF": ("rbf", {"length": "length_scale"}),
        "DotProduct": ("linear", {"start": "sigma_0"}),
        "ExpSineSquared": ("periodic", {"length": "length_scale", "period": "periodicity"}),
    }
    kind, theirs = names[type(kernel.k2).__name__]
    own = {ours: float(getattr(kernel.k2, name)) for ours, name in theirs.items()}
    return [{"kind": kind, "variance": kernel.k1.constant_value, **own}]


PROCESS = "([y, parts, noise]) => Extrapolation.gaussianProcess(y, 10, parts, noise)"
SMOOTH = ConstantKernel(0.8) * RBF(2.5)
LINEAR = ConstantKernel(0.02) * DotProduct(1.5)
PERIODIC = ConstantKernel(1.2) * ExpSineSquared(1.5, 5.0)


@pytest.mark.parametrize(
    "kernel", [SMOOTH, LINEAR, PERIODIC, SMOOTH + LINEAR, SMOOTH + PERIODIC, LINEAR + PERIODIC]
)
def test_the_gaussian_process_is_that_of_scikit_learn(functions_page, kernel):
    y = evaluation_curves(3, 12).y[2]
    x = [[float(place)] for place in range(1, 13)]
    process = GaussianProcessRegressor(kernel + WhiteKernel(NOISE**2), optimizer=None, alpha=1e-8)
    fitted = process.fit(x, y.double().numpy())
    told = parts(fitted.kernel_)
    noise = sum(part["variance"] for part in told if part["kind"] == "noise") + fitted.alpha
    given = [y.double().tolist(), [part for part in told if part["kind"] != "noise"], noise]
    ours = functions_page.evaluate(PROCESS, given)
    point, spread = fitted.predict([[float(x)] for x in range(13, 23)], return_std=True)
    torch.testing.assert_close(torch.tensor(ours["point"]).double(), torch.tensor(point), **EXACT)
    torch.testing.assert_close(torch.tensor(ours["spread"]).double(), torch.tensor(spread), **EXACT)
    assert ours["evidence"] == pytest.approx(fitted.log_marginal_likelihood_value_, abs=1e-5)


def test_the_process_of_smooth_curves_is_the_best_predictor_of_them(functions_page):
    y = evaluation_curves(3, 12).y[1]
    ask = """async ([y, more]) => {
      const { noise, kinds } = FunctionsFigure.processes((await Live.load("functions")).facts.curves);
      return Extrapolation.gaussianProcess(y, 10, [...kinds.random[0].parts, ...more], noise);
    }"""
    ours = functions_page.evaluate(ask, [y.double().tolist(), []])
    torch.testing.assert_close(torch.tensor(ours["point"]).double(), gaussian_process(y[None])[0], **EXACT)
    torch.testing.assert_close(torch.tensor(ours["spread"]).double(), optimal_spread(12), **EXACT)
    level = [{"kind": "constant", "variance": 1e4}]
    ours = functions_page.evaluate(ask, [y.double().tolist(), level])
    best = gaussian_process(y[None], sees_offset=False)[0]
    torch.testing.assert_close(torch.tensor(ours["point"]).double(), best, **CLOSE)


@pytest.mark.parametrize(
    ("y", "title"),
    [
        ([0.08 * x for x in range(1, 13)], "a line through 0"),
        ([math.sin(2 * math.pi * x / 7) for x in range(1, 13)], "a curve that comes again after 7"),
        ([0.1, 0.5, 1.0, 1.1, 0.8, 0.2, -0.1, 0, 0.2, 0.9, 1.8, 2.1], "a smooth curve of length 3 (RBF)"),
    ],
)
def test_the_likeliest_process_is_chosen(functions_page, y, title):
    chosen = functions_page.evaluate(
        """async (y) => {
          const { noise, kinds } = FunctionsFigure.processes((await Live.load("functions")).facts.curves);
          return Extrapolation.likeliest(y, 10, kinds.likeliest, noise).title;
        }""",
        y,
    )
    assert chosen == title


def test_ready_curves_are_as_in_training(functions_page):
    drawn = functions_page.evaluate(
        "() => Array.from({ length: 3000 }, (_, seed) => Extrapolation.curve('random', 12, 0.1, seed, 3))"
    )
    truth, y = (torch.tensor([each[key] for each in drawn]).double() for key in ("truth", "y"))
    assert (truth.T @ truth / len(truth) - covariance(12)).abs().max() < 0.15
    off = y - truth
    assert off.abs().max() <= NOISE * math.sqrt(3)
    assert off.std().item() == pytest.approx(NOISE, rel=0.02)


# -------------------------------------------------------------------------------------------------- the reader


def test_the_table_says_what_the_networks_say(box):
    answered(box)
    for name in MODELS:
        forecast = extrapolate(trained(name), torch.tensor([STEEP]))
        shown = row(box, name)
        assert float(shown[0]) == pytest.approx(forecast.point[0, 0].item(), abs=0.006)
        assert float(shown[1]) == pytest.approx(forecast.point[0, -1].item(), abs=0.006)
        if name.startswith("relational"):
            assert float(shown[2]) == pytest.approx(forecast.spread[0, -1].item(), abs=0.006)
        else:
            assert shown[2] == "none"


def test_arrow_keys_move_a_point_and_everybody_answers_anew(box):
    before = values(box)
    told, old = status(box), row(box, "one_d")
    dot = box.get_by_role("slider", name="point at x = 12", exact=True)
    dot.focus()
    for key in ("ArrowDown", "PageDown", "ArrowUp", "ArrowUp"):
        box.page.keyboard.press(key)
    after = values(box)
    assert after[:11] == pytest.approx(before[:11])
    assert after[11] < before[11]
    assert dot.evaluate("dot => dot === document.activeElement")
    assert status(box) != told
    assert row(box, "one_d") != old
    top = float(dot.get_attribute("aria-valuemax"))
    box.page.keyboard.press("End")
    assert values(box)[11] == top


def test_a_mouse_moves_a_point_and_draws_a_curve(box):
    box.get_by_label("Curve", exact=True).select_option("flat")
    answered(box).locator(".live-plot").scroll_into_view_if_needed()
    mouse, dots, before = box.page.mouse, box.locator("svg").get_by_role("slider"), values(box)
    mouse.move(*middle(dots.nth(4)))
    mouse.down()
    x, y = middle(dots.nth(4))
    mouse.move(x + 60, y - 50, steps=5)
    mouse.up()
    after = values(box)
    assert after[4] > before[4] + 0.5
    assert after[:4] + after[5:] == pytest.approx(before[:4] + before[5:])
    # Beside a point: through all that the mouse comes past, however fast.
    x, y = middle(dots.first)
    right, _ = middle(dots.last)
    mouse.move(x, y + 60)
    mouse.down()
    mouse.move(right, y - 60, steps=2)
    mouse.up()
    drawn = values(box)
    assert drawn == sorted(drawn)
    assert box.get_by_label("Curve", exact=True).input_value() == "own"
    assert "22" in status(box)


def test_relational_networks_move_with_a_lifted_curve(box):
    box.get_by_label("Curve", exact=True).select_option("sine")
    lift = box.get_by_label("Lift")
    lift.focus()
    for _ in range(5):
        box.page.keyboard.press("ArrowRight")
    said = status(box)
    assert said.startswith("You moved the curve up by 0.50.")
    assert said.endswith("Exactly with the curve at every step: relational; relational, window.")
    assert row(box, "relational")[3] == row(box, "relational_window")[3] == "0.50"
    assert "to" in row(box, "one_d")[3]
    box.page.keyboard.press("Home")
    assert "down by 2.00" in status(box)


def test_an_old_answer_is_never_shown_as_new(box):
    answered(box)
    late = box.evaluate(
        """async (box) => {
          const label = [...box.querySelectorAll("label")].find((each) => each.textContent.startsWith("Stretch"));
          const input = label.nextSibling;
          input.value = 2.9;
          input.dispatchEvent(new Event("input"));
          await new Promise(requestAnimationFrame);
          const cells = [...box.querySelectorAll("[data-row='relational'] td")].map((cell) => cell.textContent);
          return [cells, box.querySelectorAll(".live-late").length, box.querySelector(".live-status").textContent];
        }"""
    )
    assert late[0] == ["…"] * 3
    assert late[1] == 4
    assert late[2] == "The networks go on …"
    assert not answered(box).locator(".live-late").count()


def test_a_reader_chooses_who_is_shown_and_what(box):
    box.get_by_label("Curve", exact=True).select_option("line")
    box.get_by_label("show the curve behind it").check()
    assert float(row(answered(box), "process")[3]) < 0.05
    estimates = box.locator("[data-network='relational'] .live-estimate")
    assert estimates.count() == 12
    box.get_by_label("show all estimates").uncheck()
    assert not estimates.count()
    box.get_by_label("show the curve behind it").uncheck()
    grows = row(box, "relational")
    box.get_by_label("Context").select_option("sliding")
    assert row(answered(box), "relational") != grows
    box.get_by_label("Context").select_option("growing")
    assert row(answered(box), "relational") == grows
    for checkbox in box.locator(".live-numbers input").all():
        checkbox.uncheck()
    assert status(box) == "No network is shown. Choose one in the table."
    box.get_by_label("Gaussian process").select_option("none")
    assert not answered(box).locator("[data-row='process']").is_visible()
    box.get_by_label("Gaussian process").select_option("random")
    assert "smooth curve of length 3" in note(box)
    box.get_by_label("the process knows the level").uncheck()
    assert "any" in note(box)
    for checkbox in box.locator(".live-numbers input").all():
        checkbox.check()
    assert status(box).startswith("10 steps on")


def test_no_network_climbs_with_the_parabola_and_the_estimates_do_not_warn(box):
    box.get_by_label("Curve", exact=True).select_option("parabola")
    box.get_by_label("show the curve behind it").check()
    answered(box)
    for name in MODELS:
        _, last, spread, error = row(box, name)
        assert float(last) < 1.5
        assert float(error) > 10, "the chapter says so"
        assert spread == "none" or float(spread) < 0.3
    box.get_by_label("show the curve behind it").uncheck()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("0.1 0.2 up", "“up” is no number."),
        ("0.1", "at least 2 points"),
        ("", "at least 2 points"),
        (" ".join(["1"] * 17), "17 points"),
        ("1 2e9 3", "too large"),
        ("1 Infinity", "no number"),
    ],
)
def test_values_that_are_no_curve_change_nothing(box, typed, said):
    before = values(box)
    box.get_by_label("Or type values").fill(typed)
    box.page.keyboard.press("Enter")
    assert said in status(box)
    assert values(box) == before


def test_a_curve_of_another_length_is_told(box):
    type_in(box, [1, 2, 3, 4, 5])
    assert "at x = 15" in status(box)
    assert "You gave 5 points" in note(box)
    type_in(box, [1000, 1e9])
    assert "at x = 12" in status(box)
    type_in(box, range(16))
    next_frame(box)  # the answers for two points cannot be drawn for sixteen
    assert not box.locator(".live-late, [d*='NaN']").count()
    assert "at x = 26" in status(box)


def test_it_fits_a_telephone_and_nothing_complains(live, functions_page):
    page = live(PAGE, width=360)
    answered(page.locator("[data-live='functions']"))
    edge = page.evaluate(
        """() => Math.max(...[...document.querySelectorAll(".live *:not(.live-scroll *, .live-plot *)")]
          .map((each) => each.getBoundingClientRect().right))"""
    )
    assert edge <= 360
    assert not page.complaints
    assert not functions_page.complaints
