"""A browser with no network, and the built book to read in it."""

import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mini_lib.reproduction.live import pages_of

BOOK = Path(__file__).parents[2] / "_build" / "html"
MATHJAX = BOOK / "_static" / "vendor" / "mathjax" / "tex-mml-chtml.js"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage"]
DESK, LOCAL = {"width": 1280, "height": 900}, ("file:", "data:", "blob:")


def pages() -> list[str]:
    """Every page of the book, relative to its root, but the index, which redirects to the first."""
    found = [p.relative_to(BOOK).as_posix() for p in BOOK.rglob("*.html") if "_static" not in p.parts]
    return sorted(set(found) - {"index.html"})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", pages() or ["(no page: build the book first)"])


@pytest.fixture(scope="session")
def book() -> Path:
    if not pages():
        pytest.fail(f"no built book in {BOOK}; run `make book` first")
    return BOOK


@pytest.fixture(scope="session")
def browser(book: Path) -> Iterator:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None or not MATHJAX.exists():
        lacking = "npm, which brings MathJax" if path else ", ".join(NAMES)
        reason = f"the book was NOT read by a browser, for want of {lacking}"
        (pytest.fail if os.environ.get("MINI_LIB_REQUIRE_BROWSER") else pytest.skip)(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def desk(browser):
    """Where pages are opened without options: the scripts that they share are compiled once."""
    return browser.new_context(viewport=DESK, offline=True)


@pytest.fixture(scope="module")
def open_page(browser, desk, book) -> Iterator:
    """Opens a page of the book; an error on it, or a request that leaves the disk, fails the module."""
    opened = []

    def open_page(name: str, **options):
        options = {"viewport": DESK} | options
        page = desk.new_page() if len(options) == 1 else browser.new_page(offline=True, **options)
        page.set_viewport_size(options["viewport"])
        page.complaints = []
        page.on("console", lambda message: message.type == "error" and page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda each: each.url.startswith(LOCAL) or page.complaints.append(each.url))
        opened.append(page)
        page.goto(f"{book.as_uri()}/{name}")
        return page

    yield open_page
    complaints = {page.url: page.complaints for page in opened if page.complaints}
    for page in opened:
        page.close()
    assert not complaints


@pytest.fixture(scope="module")
def live(open_page, book):
    """A live figure on its page, ready and not behind a guess: the same with the same options."""

    @cache
    def page_at(path: Path, width: int, options: tuple):
        viewport = {"width": width, "height": 900}
        page = open_page(path.relative_to(book).as_posix(), viewport=viewport, **dict(options))
        page.evaluate("document.querySelectorAll('details.reveal').forEach((fold) => { fold.open = true; })")
        return page

    def box_of(name: str, width: int = 1280, **options):
        page = page_at(pages_of(book, name)[0], width, tuple(options.items()))
        page.wait_for_selector(f"[data-live='{name}'][data-ready]")
        return page.locator(f"[data-live='{name}']")

    return box_of
