"""Every page of the built book, read as a reader reads it: from the disk, with no network."""

from functools import cache
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT

pytestmark = pytest.mark.browser

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 780}
ONE_OF_EACH_KIND = [
    "book/intro.html",
    "book/api/esbn.html",
    "book/glossary.html",
    "book/generated/gallery.html",
    "book/generated/replication_scan.html",
    CHAPTER := "notebooks/scan/3_attention.html",
    GUESSES := "notebooks/functions/2_differences.html",
]


@pytest.fixture(scope="module")
def window(open_page):
    """The one window in which all pages are read."""
    return open_page("book/intro.html")


def test_a_page_has_no_fault_on_a_desk_in_the_dark_and_on_a_phone(window, book, page_name):
    window.set_viewport_size(DESK)
    window.goto((book / page_name).as_uri())
    window.wait_for_function(SETTLED)
    faults = window.evaluate(FAULTS)
    faults["a link to nowhere"] = [link for link in faults.pop("links") if not leads_somewhere(book, link)]
    faults["an error"] = [*window.complaints]  # also a request that leaves the disk
    window.complaints.clear()
    window.evaluate(SHOW_ALL, "light")
    faults["beyond its box"] = window.evaluate(BEYOND)
    figures = window.locator("[data-live]").count()
    window.evaluate(READY_FOR_AXE)
    window.evaluate(AXE_SCRIPT)
    if page_name in ONE_OF_EACH_KIND:
        faults |= barriers(window, "body") | barriers(window, "body", dark=True)
    else:
        faults |= barriers(window, "main", colors=False)
    window.set_viewport_size(PHONE)
    window.evaluate(TWO_FRAMES)  # the page's own scripts hear of the new size, and it is laid out again
    faults["beyond its box on a phone"] = window.evaluate(BEYOND)
    faults["wider than a phone"] = window.evaluate(WIDER)
    if figures:
        faults |= barriers(window, "[data-live]") | barriers(window, "[data-live]", dark=True)
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


def barriers(page, where: str, dark: bool = False, colors: bool = True) -> dict[str, list[str]]:
    """What axe-core calls serious or critical, folded parts included: elements by the rule that they break."""
    page.evaluate(SHOW_ALL, "dark" if dark else "light")
    # From the disk, style sheets cannot be read again, which axe-core would try.
    rules = {"color-contrast": {"enabled": colors}}
    options = {"resultTypes": ["violations"], "preload": False, "rules": rules}
    if dark:  # nothing but colors differs
        options["runOnly"] = ["color-contrast"]
    elif not colors:  # and no advice on landmarks, which takes as long as all else
        options["runOnly"] = ["wcag2a", "wcag2aa"]
        rules["link-in-text-block"] = {"enabled": False}
    run = "async (given) => (await axe.run(...given)).violations"
    return {
        f"{each['id']} ({'dark' if dark else 'light'})": [node["html"][:200] for node in each["nodes"]]
        for each in page.evaluate(run, [where, options])
        if where == "[data-live]" or each["impact"] in ("serious", "critical")
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


def test_a_guess_opens_by_an_answer_by_keyboard_by_a_link_to_its_figure_and_on_paper(open_page):
    page = open_page(GUESSES)
    reveal = page.locator("details.reveal:has([id^='figure-'])").first
    reveal.locator("> summary").press("Enter")
    figure = reveal.locator("[id^='figure-']").first
    assert figure.is_visible()
    page.goto(f"{page.url}#{figure.get_attribute('id')}")
    page.reload()
    figure.wait_for(state="visible")
    page.evaluate("document.querySelectorAll('details.reveal').forEach((fold) => { fold.open = false; })")
    page.locator("button.guess").nth(1).press("Enter")
    chosen = "button.guess[aria-pressed=false] + button.guess[aria-pressed=true]"
    page.locator(f"p:has({chosen}) + details.reveal[open]").wait_for()
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
    page.wait_for_selector("#search-results li a[href='book/glossary.html']")
    page.close()
    # Summaries of what is found may not be fetched from a disk.
    page.complaints[:] = [each for each in page.complaints if each.startswith("http")]


def test_squares_of_a_replication_page_are_told_apart_and_show_their_runs(open_page):
    page = open_page("book/generated/replication_esbn.html", has_touch=True)
    page.locator("details.more summary").click()
    looks = page.locator(".glance-legend [class*='mark-']").evaluate_all(
        "all => all.map(getComputedStyle).map((s) => s.backgroundColor + s.borderStyle + s.borderColor)"
    )
    assert len(set(looks)) == len(looks) > 3
    square, card = page.locator("button.square.mark-unclear").last, page.locator(".entry-card")
    for press in (square.click, square.tap, lambda: square.press("Enter")):
        press()
        card.locator("svg").wait_for()
        place, own = card.bounding_box(), square.bounding_box()
        assert own["y"] + own["height"] <= place["y"] < place["y"] + place["height"] <= DESK["height"]
        assert card.locator("p").inner_text() == square.get_attribute("aria-label")
        runs = "e => e.nextElementSibling.content.querySelectorAll('circle').length"
        assert card.locator("circle").count() == square.evaluate(runs)
        page.keyboard.press("Escape")
        assert not card.is_visible()


def test_a_picture_of_the_gallery_is_enlarged_by_keyboard(open_page):
    page = open_page("book/generated/gallery.html")
    entries, large = page.locator(".gallery-entry"), page.locator("dialog.enlarged img")
    entries.first.locator("button").press("Enter")
    page.keyboard.press("ArrowRight")
    assert large.is_visible()
    assert large.get_attribute("src") == entries.nth(1).locator("img").evaluate("e => e.src")
    chapter = page.get_by_role("link", name="See it in its chapter")
    assert chapter.evaluate("e => e.href") == entries.nth(1).locator("a").evaluate("e => e.href")
    page.keyboard.press("Escape")
    assert not large.is_visible()
    assert entries.nth(1).locator("button").evaluate("e => e === document.activeElement")


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
  const reveals = all('details.reveal'), parts = all('details.reveal > :not(summary)');
  const links = all('article a[href]').map((a) => new URL(a.getAttribute('href'), document.baseURI).href);
  const faults = {
    'a picture without a description': all('article img:not(.panels img ~ img)').filter((i) => !i.alt.trim()),
    'a picture that is not there': all('article img').filter((i) => i.complete && !i.naturalWidth),
    'a formula with an error': all('article mjx-merror'),
    'a heading that skips a level': levels.filter((level, i) => level > (i ? levels[i - 1] + 1 : 1)),
    'a second main heading': levels.filter((level, i) => i && level === 1),
    'a figure that nobody sees': all('article figure img:not(.dark)')
      .filter((i) => !i.checkVisibility() && !i.closest('details.reveal, .tag_solution')),
    'an assertion in code that is shown': all('article .cell:not(.tag_solution) > .cell_input')
      .filter((c) => /^\\s*assert\\b/m.test(c.innerText)),
    'an answer before the guess': parts.filter((e) => e.checkVisibility()),
    'an answer without a question': reveals
      .filter((e) => !e.previousElementSibling.innerText.startsWith('Your guess.')),
    'a fold without an answer': reveals.filter((e) => !e.querySelector('p')),
  };
  for (const fold of reveals) fold.open = true;
  faults['hidden by an open fold'] = parts.filter((e) => !e.checkVisibility());
  for (const key in faults) faults[key] = named(faults[key]);
  return { ...faults, links: [...new Set(links.filter((link) => link.startsWith('file:')))] };
}"""

SHOW_ALL = """(theme) => {
  document.documentElement.dataset.theme = theme;
  for (const fold of document.querySelectorAll('article details')) fold.open = true;
}"""

# Colors change and folds open at once, and of code one word of each color is left: axe-core looks at every element.
READY_FOR_AXE = """() => {
  const style = document.head.appendChild(document.createElement('style'));
  style.textContent = '* { animation: none !important; transition: none !important; }';
  const seen = new Set();
  for (const word of document.querySelectorAll('.highlight span')) {
    const color = [word.className, word.closest('.highlight').parentElement.className].join();
    if (seen.has(color)) word.replaceWith(...word.childNodes);
    seen.add(color);
  }
}"""

WIDER = "() => Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)"

# What reaches beyond the text or its live figure, unless a box around it scrolls; and words that break anywhere.
BEYOND = """() => [...document.querySelectorAll('article, [data-live]')].flatMap((box) => {
  const edge = box.getBoundingClientRect().right + 1;
  const beyond = (e) => e.getBoundingClientRect().right > edge;
  const scrolls = (e) => {
    for (e = e.parentElement; e !== box; e = e.parentElement) {
      if (['auto', 'scroll'].includes(getComputedStyle(e).overflowX)) return !beyond(e);
    }
    return false;
  };
  const broken = (e) => e.matches('.verdicts *') && getComputedStyle(e).overflowWrap === 'anywhere';
  return [...box.querySelectorAll('td, th, svg, canvas, button, input, select, label')]
    .filter((e) => (beyond(e) && !scrolls(e)) || broken(e)).map((e) => e.outerHTML.slice(0, 200));
})"""

CONTROLS = """() => [...document.querySelectorAll('[data-live] :is(input, select)')]
  .filter((e) => e.checkVisibility()).map((e) => e.outerHTML.slice(0, 200))"""
