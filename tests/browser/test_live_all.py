"""What is asked of every live figure, whatever it shows."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from mini_lib.reproduction.live import FIGURES

pytestmark = pytest.mark.browser
# What is wider than its figure, but for what scrolls by itself.
WIDER = """name => {
  const box = document.querySelector(`[data-live="${name}"]`), right = (e) => e.getBoundingClientRect().right;
  const free = [...box.querySelectorAll("*")].filter((e) => !e.closest(".live-scroll *"));
  return free.filter((e) => right(e) > right(box) + 1).map((e) => e.outerHTML.slice(0, 80));
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", FIGURES)
def test_a_live_figure_fits_a_phone_and_has_no_barriers(live, name, theme):
    page = live(name, 400, color_scheme=theme)
    assert not page.evaluate(WIDER, name)
    page.wait_for_timeout(400)  # colors change slowly
    options = {"resultTypes": ["violations"], "preload": False}
    found = Axe().run(page, context=f"[data-live='{name}']", options=options).response["violations"]
    assert not {each["id"]: [node["html"][:200] for node in each["nodes"]] for each in found}
    assert not page.complaints, "an error, or a request to the network"


@pytest.mark.parametrize("name", FIGURES)
def test_a_live_figure_is_printed_without_its_controls(live, name):
    page = live(name)
    page.emulate_media(media="print")
    box = page.locator(f"[data-live='{name}']")
    assert box.bounding_box()["height"] > 60
    assert not box.locator(":is(input, select):visible").count()
