"""Every page of the built book, read as a reader reads it: from the disk, with no network."""

import re
from functools import cache
from itertools import pairwise
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = pytest.mark.browser

PHONE = {"width": 360, "height": 780}
KINDS_OF_PAGES = [
    "book/intro.html",
    "book/api/esbn.html",
    "book/glossary.html",
    "book/generated/gallery.html",
    "book/generated/replication_scan.html",
    "notebooks/scan/3_attention.html",
    "notebooks/functions/2_differences.html",
]
GRAVE = ("serious", "critical")
DESK = {"width": 1280, "height": 900}


@pytest.mark.usefixtures("carries_its_scripts")
def test_formulas_are_typeset(reader):
    formulas = reader.page.locator("article .math").count()
    typeset = reader.page.locator("article .math mjx-container").count()
    assert typeset == formulas
    assert not reader.page.locator("article mjx-merror").count()


def test_every_picture_has_a_description(reader):
    silent = reader.page.eval_on_selector_all(
        "article img:not(.panels img ~ img), .bd-article img:not(.panels img ~ img)",
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
    links = reader.page.eval_on_selector_all(
        "article a[href]", "all => all.map(a => new URL(a.getAttribute('href'), document.baseURI).href)"
    )
    here = {urlsplit(link)._replace(query="").geturl() for link in links if link.startswith("file:")}
    broken = [
        link for link in here if not leads_somewhere(book, link.removeprefix(book.as_uri()).lstrip("/"))
    ]
    assert not broken


def leads_somewhere(book, link) -> bool:
    """Whether there is such a file of the book, and such a place in it."""
    name, _, place = link.partition("#")
    if not place:
        return (book / name).exists()
    return (book / name).exists() and f'id="{unquote(place)}"' in text_of(book / name)


@cache
def text_of(path) -> str:
    return path.read_text(encoding="utf-8")


def test_links_within_the_page_lead_somewhere(reader):
    broken = reader.page.eval_on_selector_all(
        "article a[href^='#']",
        "all => all.map(a => decodeURIComponent(a.getAttribute('href').slice(1)))"
        ".filter(id => id && !document.getElementById(id))",
    )
    assert not broken


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_captions_are_legible(reader, theme):
    """Contrast of the caption's color with the page's ground, at least 4.5 to 1 as WCAG asks."""
    reader.page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
    low = reader.page.eval_on_selector_all("article figcaption, article p", CONTRAST)
    reader.page.evaluate("() => document.documentElement.dataset.theme = 'light'")
    assert all(ratio >= 4.5 for ratio in low), min(low)


def test_no_barrier_for_readers_with_other_senses(reader):
    assert not barriers(reader.page, "light", {"rules": {"color-contrast": {"enabled": False}}})


# What axe-core takes longest to measure follows from the style sheets alone: one page of each kind.
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", KINDS_OF_PAGES)
def test_words_stand_out_from_their_ground(browser, book, name, theme):
    page = browser.new_page(viewport=DESK)
    page.goto((book / name).as_uri())
    found = barriers(page, theme, {"runOnly": ["color-contrast"]})
    page.close()
    assert not found


def test_a_link_to_a_figure_reveals_it(browser, book):
    found = next(
        (path, place)
        for path in sorted(book.glob("notebooks/*/*.html"))
        for fold in re.findall(r'<details class="reveal">.*?</details>', text_of(path), re.DOTALL)
        for place in re.findall(r'id="(figure-\w+)"', fold)
    )
    page = browser.new_page(viewport=DESK)
    page.goto(f"{found[0].as_uri()}#{found[1]}")
    page.wait_for_selector(f"details.reveal[open] #{found[1]}")
    page.close()


def barriers(page, theme, options) -> dict[str, str]:
    """What axe-core calls serious or critical, folded parts included: an element by the rule it breaks."""
    page.evaluate(SHOW_ALL, theme)
    page.wait_for_timeout(400)  # colors change slowly
    # From the disk, style sheets cannot be read again, which axe-core would try.
    always = {"resultTypes": ["violations"], "preload": False}
    found = Axe().run(page, options=always | options).response["violations"]
    page.evaluate(SHOW_LESS)
    return {each["id"]: each["nodes"][0]["html"] for each in found if each["impact"] in GRAVE}


def test_the_sidebar_shows_which_page_is_open(browser, book):
    context = browser.new_context(viewport=DESK)
    page = context.new_page()
    page.goto((book / "notebooks/scan/3_attention.html").as_uri(), wait_until="load")
    for _ in range(2):
        page.locator("a.right-next").click()
        page.wait_for_load_state("load")
        entry = page.locator(".bd-sidebar-primary li.current.active")
        assert page.locator("article h1").inner_text().removesuffix("#").strip() == entry.inner_text().strip()
        place = entry.bounding_box()
        assert 0 <= place["y"] <= DESK["height"] - place["height"]
    context.close()


def test_no_sideways_scrolling_on_a_phone(reader):
    reader.page.set_viewport_size(PHONE)
    reader.page.evaluate(TWO_FRAMES)  # the page's own scripts hear of the new size, and it is laid out again
    assert reader.page.evaluate("() => innerWidth") == PHONE["width"]
    wide = reader.page.evaluate(WIDER_THAN_THE_PAGE)
    reader.page.set_viewport_size(DESK)
    assert not wide


# After all others of its page, whatever they touched on it.


@pytest.mark.usefixtures("carries_its_scripts")
def test_no_error_in_the_console(reader):
    assert not reader.complaints


@pytest.mark.usefixtures("carries_its_scripts")
def test_nothing_is_asked_of_the_network(reader):
    assert not reader.asked


# ------------------------------------------------------------------------- guesses, figures and their code


def test_a_guess_opens_figure_and_answer_together(reader):
    for reveal in reader.page.locator("details.reveal").all():
        hidden = reveal.locator("> :not(summary)")
        assert not any(each.is_visible() for each in hidden.all())
        assert reveal.locator("xpath=preceding-sibling::p[1]").inner_text().startswith("Your guess.")
        reveal.locator("> summary").press("Enter")
        assert all(each.is_visible() for each in hidden.all())
        assert reveal.locator("p").count()
        reveal.evaluate("fold => fold.open = false")


def test_the_cards_of_the_cover_lead_to_figures_in_sight(browser, book):
    page = browser.new_page(viewport=DESK)
    page.goto((book / "book/intro.html").as_uri())
    links = page.eval_on_selector_all(".paper .shot", "all => all.map(a => a.href)")
    assert len(links) == 4
    for link in links:
        page.goto(link)
        figure = page.locator(f"#{link.split('#')[1]}")
        figure.wait_for(state="visible")
        page.wait_for_function("id => document.getElementById(id).dataset.ready", arg=link.split("#")[1])
        page.wait_for_timeout(300)
        assert -50 < figure.bounding_box()["y"] < DESK["height"] - 100
    page.close()


def test_a_link_to_the_glossary_lands_at_the_word(book):
    text = text_of(book / "notebooks/kanerva/6_learning_to_choose.html")
    assert 'glossary.html#term-logit"' in text


def test_every_chapter_has_a_guess(book):
    chapters = [path for path in book.glob("notebooks/*/*.html") if path.stem != "more_figures"]
    assert len(chapters) > 15
    assert not [path for path in chapters if 'class="reveal"' not in text_of(path)]


def test_no_figure_is_hidden_but_behind_a_guess(reader):
    hidden = reader.page.eval_on_selector_all(
        "article figure img:not(.dark)",
        "all => all.filter(i => !i.checkVisibility() && !i.closest('details.reveal, .tag_solution'))"
        ".map(i => i.alt)",
    )
    assert not hidden


def test_no_check_of_ours_and_no_import_is_in_code_that_is_shown(reader):
    code = reader.page.eval_on_selector_all(
        "article .cell:not(.tag_solution) > .cell_input", "all => all.map(c => c.innerText)"
    )
    assert not [each for each in code if re.search(r"^\s*assert\b", each, re.MULTILINE)]


def test_on_paper_everything_is_open(browser, book):
    page = browser.new_page(viewport=DESK)
    page.goto((book / "notebooks/scan/3_attention.html").as_uri())
    page.emulate_media(media="print")
    page.wait_for_function("() => [...document.querySelectorAll('details.reveal')].every(fold => fold.open)")
    assert page.locator("details.reveal").count() >= 2
    page.close()


def test_figures_follow_the_theme(browser, book):
    page = browser.new_page(viewport=DESK)
    page.goto((book / "notebooks/esbn/1_tasks.html").as_uri())
    looks = {}
    for theme in ("light", "dark"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        looks[theme] = page.eval_on_selector_all(
            "figure.mini-figure img",
            "all => all.map(i => [getComputedStyle(i).display != 'none', i.className,"
            " getComputedStyle(i).filter, getComputedStyle(i).backgroundColor,"
            " getComputedStyle(i).padding])",
        )
    page.close()
    turned = "invert(1) hue-rotate(180deg)"
    for theme, filters in (("light", {"": "none", "light": "none"}), ("dark", {"": turned, "dark": "none"})):
        seen = [each for each in looks[theme] if each[0]]
        assert {theme} <= {name for _, name, _, _, _ in seen} <= filters.keys()
        for _, name, way, ground, padding in seen:  # padding would wrap panels that fit on a light page
            assert (way, ground, padding) == (filters[name], "rgba(0, 0, 0, 0)", "0px")


# ------------------------------------------------------------------------- a replication page

REPLICATION = "book/generated/replication_esbn.html"
VERDICTS = ("reproduced", "not-reproduced", "unclear", "not-run")


@pytest.fixture(scope="module")
def replication(browser, book):
    page = browser.new_page(viewport=DESK, has_touch=True)
    page.goto((book / REPLICATION).as_uri())
    page.locator("details.more summary").click()
    yield page
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_squares_are_told_apart_and_their_signs_are_legible(replication, theme):
    replication.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
    looks = [
        replication.locator(f".glance-legend .mark-{verdict}").evaluate(
            "e => { const s = getComputedStyle(e);"
            " return [s.backgroundColor, s.borderStyle, s.borderColor, e.textContent].join(' ') }"
        )
        for verdict in VERDICTS
    ]
    signs = replication.eval_on_selector_all(".square", CONTRAST)
    words = replication.eval_on_selector_all(
        ".glance-legend li, table.glance th, table.verdicts :is(th, b, small)", CONTRAST
    )
    replication.evaluate("() => document.documentElement.dataset.theme = 'light'")
    assert len(set(looks)) == len(VERDICTS)
    assert min(signs) >= 4.5
    assert min(words) >= 4.5


@pytest.mark.parametrize("size", [DESK, {"width": 400, "height": 800}], ids=["wide", "narrow"])
@pytest.mark.parametrize("paper", ["esbn", "functions", "kanerva"])
def test_no_column_is_clipped_and_no_word_is_broken(browser, book, paper, size):
    """What is wider than the text scrolls in a box of its own."""
    page = browser.new_page(viewport=size)
    page.goto((book / REPLICATION.replace("esbn", paper)).as_uri())
    page.locator("details.more summary").click()
    assert not page.evaluate(CLIPPED)
    assert not page.evaluate(WIDER_THAN_THE_PAGE)
    wraps = page.eval_on_selector_all(
        "table.verdicts :is(th, td)", "all => all.map(e => getComputedStyle(e).overflowWrap)"
    )
    assert "anywhere" not in wraps
    if paper == "esbn":  # a narrow screen says that its tables scroll
        assert page.locator("p.scrolls").is_visible() == (size != DESK)
    page.close()


def test_the_runs_of_a_line_are_there_without_a_click(browser, book):
    page = browser.new_page(viewport=DESK)
    page.goto((book / REPLICATION).as_uri())
    dots = page.locator("table.verdicts tr:has(th:text-is('ESBN + TCN')) circle")
    assert dots.first.is_visible()
    assert dots.count() > 20  # runs of four tasks
    page.close()


@pytest.mark.parametrize("way", ["mouse", "touch", "keyboard"])
def test_a_square_shows_its_runs_in_place(replication, way):
    square = replication.locator("button.square.mark-unclear").last
    card = replication.locator(".entry-card")
    square.scroll_into_view_if_needed()
    {"mouse": square.click, "touch": square.tap, "keyboard": lambda: square.press("Enter")}[way]()
    card.locator("svg").wait_for()
    place, own = card.bounding_box(), square.bounding_box()
    assert 0 <= place["y"] - own["y"] - own["height"] < 20  # under the square
    assert place["y"] + place["height"] <= DESK["height"]  # and in sight
    assert card.locator("p").inner_text() == square.get_attribute("aria-label")
    assert card.locator("circle").count() == square.evaluate(
        "e => e.nextElementSibling.content.querySelectorAll('circle').length"
    )
    replication.keyboard.press("Escape")
    assert not card.is_visible()


def test_a_picture_of_the_gallery_is_enlarged_by_a_click(browser, book):
    page = browser.new_page(viewport=DESK)
    page.goto((book / "book/generated/gallery.html").as_uri())
    button = page.locator(".gallery-entry button").first
    button.click()
    large = page.locator("dialog.enlarged img")
    assert large.is_visible()
    assert large.get_attribute("src") == button.locator("img").evaluate("e => e.src")
    page.keyboard.press("ArrowRight")
    second = page.locator(".gallery-entry").nth(1)
    assert large.get_attribute("src") == second.locator("img").evaluate("e => e.src")
    chapter = page.get_by_role("link", name="See it in its chapter")
    assert chapter.evaluate("e => e.href") == second.locator("a").evaluate("e => e.href")
    page.keyboard.press("Escape")
    assert not large.is_visible()
    assert page.locator(".gallery-entry button").nth(1).evaluate("e => e === document.activeElement")
    page.close()


# Tables and drawings that reach beyond the text, unless a box around them scrolls.
CLIPPED = """() => {
  const edge = document.querySelector('article').getBoundingClientRect().right + 1;
  const scrolls = e => {
    for (e = e.parentElement; e && e.tagName !== 'ARTICLE'; e = e.parentElement) {
      if (['auto', 'scroll'].includes(getComputedStyle(e).overflowX)) {
        return e.getBoundingClientRect().right <= edge;
      }
    }
    return false;
  };
  return [...document.querySelectorAll('article :is(td, th, svg)')]
    .filter(e => e.getBoundingClientRect().right > edge && !scrolls(e))
    .slice(0, 5).map(e => e.tagName + ' ' + e.textContent.slice(0, 60));
}"""

TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"

SHOW_ALL = """theme => {
  document.documentElement.dataset.theme = theme;
  for (const fold of document.querySelectorAll('article details:not([open])')) {
    fold.open = true;
    fold.dataset.wasClosed = '';
  }
}"""
SHOW_LESS = """() => {
  document.documentElement.dataset.theme = 'light';
  for (const fold of document.querySelectorAll('[data-was-closed]')) {
    fold.open = false;
    delete fold.dataset.wasClosed;
  }
}"""

WIDER_THAN_THE_PAGE = """() => {
  const page = document.documentElement;
  if (page.scrollWidth <= page.clientWidth) return [];
  return [...document.querySelectorAll('article *')]
    .filter(e => e.getBoundingClientRect().right > page.clientWidth + 1)
    .slice(0, 5).map(e => e.tagName + '.' + e.className).concat(page.scrollWidth + ' px');
}"""

CONTRAST = """all => {
  const numbers = color => (color.match(/[\\d.]+/g) || []).map(Number);
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
