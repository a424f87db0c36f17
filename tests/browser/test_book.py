"""Every page of the built book, read as a reader reads it: from the disk, with no network."""

import re
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = pytest.mark.browser

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 780}
ONE_OF_EACH_KIND = [
    "book/intro.html",
    "book/api/esbn.html",
    "book/glossary.html",
    "book/generated/gallery.html",
    "book/generated/replication_scan.html",
    "notebooks/scan/3_attention.html",
    "notebooks/functions/2_differences.html",
]
CHAPTER = "notebooks/scan/3_attention.html"
REPLICATION = "book/generated/replication_esbn.html"
VERDICTS = ("reproduced", "not-reproduced", "unclear", "not-run")


@pytest.fixture(scope="module")
def window(open_page):
    """The one window in which all pages are read: the scripts that they share are compiled once."""
    return open_page("book/intro.html")


def test_a_page_has_no_fault_on_a_desk_in_the_dark_and_on_a_phone(window, book, page_name):
    """Errors and requests to the network are noted as well, by `open_page`."""
    window.set_viewport_size(DESK)
    window.goto((book / page_name).as_uri())
    window.wait_for_function(SETTLED)
    faults = window.evaluate(FAULTS)
    faults["a link to nowhere"] = [link for link in faults.pop("links") if not leads_somewhere(book, link)]
    faults["faint in the light"] = window.evaluate(FAINT, ["light", TEXT])
    faults["faint in the dark"] = window.evaluate(FAINT, ["dark", TEXT])
    figures = window.locator("[data-live]").count()
    if page_name in ONE_OF_EACH_KIND:
        faults |= barriers(window, "light") | barriers(window, "dark")
    window.set_viewport_size(PHONE)
    window.evaluate(TWO_FRAMES)  # the page's own scripts hear of the new size, and it is laid out again
    faults["wider than a phone"] = window.evaluate(WIDER)
    if figures:
        faults |= barriers(window, "dark", "[data-live]") | barriers(window, "light", "[data-live]")
        faults["beyond its figure"] = window.evaluate(BEYOND)
        window.emulate_media(media="print")
        faults["a control on paper"] = window.evaluate(CONTROLS)
        window.emulate_media(media="screen")
    assert not {what: found for what, found in faults.items() if found}


def leads_somewhere(book, link: str) -> bool:
    """Whether there is such a file of the book, and such a place in it."""
    name, _, place = urlsplit(link)._replace(query="").geturl().removeprefix(book.as_uri()).partition("#")
    file = book / unquote(name).lstrip("/")
    return file.exists() and (not place or f'id="{unquote(place)}"' in text_of(file))


@cache
def text_of(path) -> str:
    return path.read_text(encoding="utf-8")


def barriers(page, theme: str, where: str = "body") -> dict[str, list[str]]:
    """What axe-core calls serious or critical, folded parts included: elements by the rule that they break."""
    page.evaluate(SHOW_ALL, theme)
    page.wait_for_timeout(400)  # colors change slowly
    # From the disk, style sheets cannot be read again, which axe-core would try.
    options = {"resultTypes": ["violations"], "preload": False}
    if theme == "dark":  # nothing but colors differs
        options["runOnly"] = ["color-contrast"]
    found = Axe().run(page, context=where, options=options).response["violations"]
    return {
        f"{each['id']} ({theme})": [node["html"][:200] for node in each["nodes"]]
        for each in found
        if where != "body" or each["impact"] in ("serious", "critical")
    }


def test_the_sidebar_shows_which_page_is_open(open_page):
    page = open_page(CHAPTER)
    for _ in range(2):
        page.locator("a.right-next").click()
        page.wait_for_load_state("load")
        entry = page.locator(".bd-sidebar-primary li.current.active")
        assert page.locator("article h1").inner_text().removesuffix("#").strip() == entry.inner_text().strip()
        place = entry.bounding_box()
        assert 0 <= place["y"] <= DESK["height"] - place["height"]


def test_a_guess_opens_by_keyboard_by_a_link_to_its_figure_and_on_paper(open_page, book):
    path, figure = next(
        (path, place)
        for path in sorted(book.glob("notebooks/*/*.html"))
        for fold in re.findall(r'<details class="reveal">.*?</details>', text_of(path), re.DOTALL)
        for place in re.findall(r'id="(figure-\w+)"', fold)
    )
    page = open_page(f"{path}#{figure}")
    page.wait_for_selector(f"details.reveal[open] #{figure}")
    reveal = page.locator("details.reveal:not([open])").last
    reveal.locator("> summary").press("Enter")
    assert page.locator("details.reveal").last.locator("> :not(summary)").last.is_visible()
    page.evaluate("document.querySelectorAll('details.reveal').forEach((fold) => { fold.open = false; })")
    page.emulate_media(media="print")
    page.wait_for_function("[...document.querySelectorAll('details.reveal')].every((fold) => fold.open)")


def test_the_cards_of_the_cover_lead_to_figures_in_sight(open_page):
    page = open_page("book/intro.html")
    links = page.eval_on_selector_all(".paper .shot", "all => all.map(a => a.href)")
    assert len(links) == 4
    for link in links:
        page.goto(link)
        page.wait_for_function("id => document.getElementById(id).dataset.ready", arg=link.split("#")[1])
        page.wait_for_timeout(300)
        figure = page.locator(f"#{link.split('#')[1]}")
        assert -50 < figure.bounding_box()["y"] < DESK["height"] - 100


def test_figures_follow_the_theme(open_page):
    page = open_page("notebooks/esbn/1_tasks.html")
    turned = "invert(1) hue-rotate(180deg)"
    for theme, filters in (("light", {"": "none", "light": "none"}), ("dark", {"": turned, "dark": "none"})):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        seen = page.eval_on_selector_all(
            "figure.mini-figure img",
            """all => all.map((i) => [i.className, getComputedStyle(i)]).filter(([, s]) => s.display !== "none")
              .map(([name, s]) => [name, s.filter, s.backgroundColor, s.padding])""",
        )
        assert {theme} <= {name for name, *_ in seen} <= filters.keys()
        for name, *look in seen:  # padding would wrap panels that fit on a light page
            assert look == [filters[name], "rgba(0, 0, 0, 0)", "0px"]


def test_the_book_is_searched_from_the_disk(open_page):
    page = open_page("search.html?q=relational+attention")
    page.wait_for_selector("#search-results li a[href*='2_differences']")
    page.complaints.clear()  # summaries of what is found may not be fetched from a disk


# ------------------------------------------------------------------------- a replication page


@pytest.fixture(scope="module")
def replication(open_page):
    page = open_page(REPLICATION, has_touch=True)
    page.locator("details.more summary").click()
    return page


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
    assert len(set(looks)) == len(VERDICTS)
    words = ".square, .glance-legend li, table.glance th, table.verdicts :is(th, b, small)"
    assert not replication.evaluate(FAINT, [theme, words])


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("paper", ["esbn", "functions", "kanerva"])
def test_no_column_is_clipped_and_no_word_is_broken(window, book, paper, width):
    """What is wider than the text scrolls in a box of its own."""
    window.set_viewport_size({"width": width, "height": 900})
    window.goto((book / REPLICATION.replace("esbn", paper)).as_uri())
    window.locator("details.more summary").click()
    assert not window.evaluate(CLIPPED)
    assert not window.evaluate(WIDER)
    if paper == "esbn":  # a narrow screen says that its tables scroll
        assert window.locator("p.scrolls").is_visible() == (width == 400)


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


def test_a_picture_of_the_gallery_is_enlarged_by_a_click(open_page):
    page = open_page("book/generated/gallery.html")
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


# ------------------------------------------------------------------------- what the page is asked

# Formulas are typeset, pictures are there, and live figures answer.
SETTLED = """() => [...document.querySelectorAll('article .math')].every((e) => e.querySelector('mjx-container'))
  && [...document.querySelectorAll('article img')].every((picture) => picture.complete)
  && [...document.querySelectorAll('[data-live]')].every((e) => e.dataset.ready && !e.ariaBusy)"""

TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

# Elements by the fault that they have, and all local links.
FAULTS = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const named = (some) => some.map((e) => (e.outerHTML ?? String(e)).slice(0, 200));
  const levels = all('main :is(h1, h2, h3, h4, h5)').filter((h) => h.offsetParent).map((h) => Number(h.tagName[1]));
  const reveals = all('details.reveal').map((fold) => [fold, [...fold.children].filter((e) => e.tagName !== 'SUMMARY')]);
  const seen = (some) => some.filter((e) => e.checkVisibility()).length;
  const links = all('article a[href]').map((a) => new URL(a.getAttribute('href'), document.baseURI).href);
  const faults = {
    'a picture without a description': all(':is(article, .bd-article) img:not(.panels img ~ img)').filter((i) => !i.alt.trim()),
    'a picture that is not there': all('article img').filter((i) => i.complete && !i.naturalWidth),
    'a formula with an error': all('article mjx-merror'),
    'a heading that skips a level': levels.filter((level, i) => level > (i ? levels[i - 1] + 1 : 1)),
    'a second main heading': levels.filter((level, i) => i && level === 1),
    'a figure that nobody sees': all('article figure img:not(.dark)')
      .filter((i) => !i.checkVisibility() && !i.closest('details.reveal, .tag_solution')),
    'an assertion in code that is shown': all('article .cell:not(.tag_solution) > .cell_input')
      .filter((c) => /^\\s*assert\\b/m.test(c.innerText)),
    'an answer before the guess': reveals.flatMap(([, parts]) => parts.filter((e) => e.checkVisibility())),
    'an answer to no question': reveals.map(([fold]) => fold).filter((fold) => {
      const before = fold.previousElementSibling;
      return !before.innerText.startsWith('Your guess.') || !fold.querySelector('p');
    }),
  };
  for (const [fold] of reveals) fold.open = true;
  faults['hidden by an open fold'] = reveals.flatMap(([, parts]) => parts.filter((e) => !e.checkVisibility()));
  for (const key in faults) faults[key] = named(faults[key]);
  return { ...faults, links: [...new Set(links.filter((link) => link.startsWith('file:')))] };
}"""

# What has a contrast below 4.5 to 1, which WCAG asks for, in a theme.
TEXT = "article :is(figcaption, p)"
FAINT = """([theme, selector]) => {
  document.documentElement.dataset.theme = theme;
  const numbers = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = c.slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = numbers(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0.5) return c;
    }
    return [255, 255, 255];
  };
  const contrast = (e) => {
    const [a, b] = [light(numbers(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  return [...document.querySelectorAll(selector)].filter((e) => e.offsetParent && e.textContent.trim() && contrast(e) < 4.5)
    .map((e) => e.outerHTML.slice(0, 200));
}"""

SHOW_ALL = """(theme) => {
  document.documentElement.dataset.theme = theme;
  for (const fold of document.querySelectorAll('article details')) fold.open = true;
}"""

WIDER = """() => {
  const page = document.documentElement;
  if (page.scrollWidth <= page.clientWidth) return [];
  return [...document.querySelectorAll('article *')].filter((e) => e.getBoundingClientRect().right > page.clientWidth + 1)
    .slice(0, 5).map((e) => e.tagName + '.' + e.className).concat(page.scrollWidth + ' px');
}"""

# What is wider than its live figure, but for what scrolls by itself.
BEYOND = """() => [...document.querySelectorAll('[data-live]')].flatMap((box) => {
  const right = (e) => e.getBoundingClientRect().right;
  return [...box.querySelectorAll('*')].filter((e) => !e.closest('.live-scroll *') && right(e) > right(box) + 1)
    .map((e) => e.outerHTML.slice(0, 200));
})"""

CONTROLS = """() => [...document.querySelectorAll('[data-live] :is(input, select)')]
  .filter((e) => e.checkVisibility()).map((e) => e.outerHTML.slice(0, 200))"""

# Tables and drawings that reach beyond the text, unless a box around them scrolls; and words that break anywhere.
CLIPPED = """() => {
  const edge = document.querySelector('article').getBoundingClientRect().right + 1;
  const scrolls = (e) => {
    for (e = e.parentElement; e && e.tagName !== 'ARTICLE'; e = e.parentElement) {
      if (['auto', 'scroll'].includes(getComputedStyle(e).overflowX)) return e.getBoundingClientRect().right <= edge;
    }
    return false;
  };
  const broken = [...document.querySelectorAll('table.verdicts :is(th, td)')]
    .filter((e) => getComputedStyle(e).overflowWrap === 'anywhere');
  return [...document.querySelectorAll('article :is(td, th, svg)')]
    .filter((e) => e.getBoundingClientRect().right > edge && !scrolls(e))
    .concat(broken).slice(0, 5).map((e) => e.tagName + ' ' + e.textContent.slice(0, 60));
}"""
