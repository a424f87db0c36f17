"""Every page of the built book, read as a reader reads it: from the disk, with no network."""

from itertools import pairwise

import pytest

pytestmark = pytest.mark.browser

# CellTable twice by sphinx-thebe on every page; harmless, and not ours to mend.
KNOWN = "Identifier 'THEBE_JS_URL' has already been declared"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}


@pytest.mark.usefixtures("carries_its_scripts")
def test_formulas_are_typeset(reader):
    formulas = reader.page.locator("article .math").count()
    typeset = reader.page.locator("article .math mjx-container").count()
    assert typeset == formulas
    assert not reader.page.locator("article mjx-merror").count()


def test_every_picture_has_a_description(reader):
    silent = reader.page.eval_on_selector_all(
        "article img, .bd-article img",
        "all => all.filter(i => !(i.alt || '').trim()).map(i => i.src.slice(0, 90))",
    )
    assert not silent


def test_every_picture_is_there(reader):
    broken = reader.page.eval_on_selector_all(
        "article img", "all => all.filter(i => i.complete && !i.naturalWidth).map(i => i.src.slice(0, 90))"
    )
    assert not broken


def test_one_main_heading_and_no_level_skipped(reader):
    levels = reader.page.eval_on_selector_all(
        "main h1, main h2, main h3, main h4, main h5",
        "all => all.filter(h => h.offsetParent).map(h => +h.tagName[1])",
    )
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_local_links_lead_somewhere(reader, book):
    links = reader.page.eval_on_selector_all("article a[href]", "all => all.map(a => a.href)")
    here = {link.split("#")[0].split("?")[0] for link in links if link.startswith("file:")}
    broken = [link for link in here if not (book / link.removeprefix(book.as_uri()).lstrip("/")).exists()]
    assert not broken


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_captions_are_legible(reader, theme):
    """Contrast of the caption's colour with the page's ground, at least 4.5 to 1 as WCAG asks."""
    reader.page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
    low = reader.page.eval_on_selector_all("article figcaption, article p", CONTRAST)
    reader.page.evaluate("() => document.documentElement.dataset.theme = 'light'")
    assert all(ratio >= 4.5 for ratio in low), min(low)


def test_no_sideways_scrolling_on_a_phone(reader):
    reader.page.set_viewport_size(PHONE)
    reader.page.evaluate(TWO_FRAMES)  # the page's own scripts hear of the new size, and it is laid out again
    assert reader.page.evaluate("() => innerWidth") == PHONE["width"]
    wide = reader.page.evaluate(WIDER_THAN_THE_PAGE)
    reader.page.set_viewport_size(DESK)
    assert not wide


SLIDER = "article .cell_output:has([role='slider']):has(img)"  # a box of `interact` moves with a kernel alone


def test_some_page_has_a_slider(book):
    assert any(stores_sliders(book, path.relative_to(book)) for path in book.glob("notebooks/**/*.html"))


def stores_sliders(book, name) -> bool:
    """Whether a page holds the state of a slider, drawn or not."""
    return '"IntSliderModel"' in (book / name).read_text(encoding="utf-8")


@pytest.mark.usefixtures("carries_its_scripts")
def test_sliders_move_their_pictures(reader, book, page_name):
    sliders = reader.page.locator(f"{SLIDER}:not(:has(.widget-interact))").all()
    assert bool(sliders) == stores_sliders(book, page_name), "a slider is stored but not drawn"
    for slider in sliders:
        handle = slider.locator("[role='slider']").first
        assert handle.get_attribute("aria-label"), "a slider without a name"
        before = slider.evaluate(PIXELS)
        handle.focus()
        step(handle)
        reader.page.wait_for_function(MOVED, arg=[slider.element_handle(), before], timeout=5_000)


def step(handle) -> None:
    """Move a slider by one, away from the end it may stand at."""
    at_end = handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax")
    handle.press("ArrowLeft" if at_end else "ArrowRight")


# After all others of its page, whatever they touched on it.


@pytest.mark.usefixtures("carries_its_scripts")
def test_no_error_in_the_console(reader):
    assert not [complaint for complaint in reader.complaints if KNOWN not in complaint]


@pytest.mark.usefixtures("carries_its_scripts")
def test_nothing_is_asked_of_the_network(reader):
    assert not reader.asked


TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"

# The pixels of the one picture that the reader sees in a widget.
PIXELS = """widget => {
  const seen = [...widget.querySelectorAll('img')].filter(picture => picture.checkVisibility());
  if (seen.length !== 1) throw new Error(`${seen.length} pictures are visible at once`);
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [seen[0].naturalWidth, seen[0].naturalHeight];
  canvas.getContext('2d').drawImage(seen[0], 0, 0);
  return canvas.toDataURL();
}"""
MOVED = f"""([widget, before]) => {{
  const seen = [...widget.querySelectorAll('img')].filter(picture => picture.checkVisibility());
  return seen.length === 1 && seen[0].complete && ({PIXELS})(widget) !== before;
}}"""

WIDER_THAN_THE_PAGE = """() => {
  const page = document.documentElement;
  if (page.scrollWidth <= page.clientWidth) return [];
  return [...document.querySelectorAll('article *')]
    .filter(e => e.getBoundingClientRect().right > page.clientWidth + 1)
    .slice(0, 5).map(e => e.tagName + '.' + e.className).concat(page.scrollWidth + ' px');
}"""

CONTRAST = """all => {
  const numbers = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = c => {
    const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = c.slice(0, 3).map(v => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = numbers(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0.5) return c;
    }
    return [255, 255, 255];
  };
  return all.filter(e => e.offsetParent && e.textContent.trim()).map(e => {
    const [a, b] = [light(numbers(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  });
}"""
