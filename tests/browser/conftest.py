"""A browser with no network, and the built book to read in it."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mini_lib.reproduction.live import pages_of

BOOK = Path(__file__).parents[2] / "_build" / "html"
MATHJAX = BOOK / "_static" / "vendor" / "mathjax" / "tex-mml-chtml.js"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NOT_LOCAL = re.compile("^(?!file:|data:|blob:)")
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage"]


def pages() -> list[str]:
    """Every page of the book, relative to its root, but the index, which redirects to the first."""
    found = [p.relative_to(BOOK).as_posix() for p in BOOK.rglob("*.html") if "_static" not in p.parts]
    return sorted(set(found) - {"index.html"})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", pages() or ["(no page: build the book first)"], scope="module")


def missing(reason: str) -> None:
    """Skip on a reader's machine; fail where the browser is a part of the test."""
    if os.environ.get("MINI_LIB_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def book() -> Path:
    if not pages():
        pytest.fail(f"no built book in {BOOK}; run `make book` first")
    return BOOK


@pytest.fixture(scope="session")
def browser(book: Path) -> Iterator:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        missing(f"the book was NOT read by a browser: none of {', '.join(NAMES)} is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def window(browser):
    """The one window in which all pages are read: the scripts that they share are compiled once."""
    return browser.new_page(viewport={"width": 1280, "height": 900})


class Reader:
    """One page, with everything it complained about or asked the network for."""

    def __init__(self, window, name: str):
        self.page = window
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.route(NOT_LOCAL, self.refuse)
        self.page.on("console", self.hear)
        self.page.on("pageerror", self.hear_error)
        self.page.goto((BOOK / name).as_uri(), wait_until="load")
        if MATHJAX.exists():
            self.settle()

    def close(self) -> None:
        """Leave the window to the next page, which has complaints of its own."""
        self.page.remove_listener("console", self.hear)
        self.page.remove_listener("pageerror", self.hear_error)
        self.page.unroute(NOT_LOCAL, self.refuse)

    def hear(self, message) -> None:
        """Note what stands in the console as an error."""
        if message.type == "error":
            self.complaints.append(message.text)

    def hear_error(self, error) -> None:
        """Note what a script raised."""
        self.complaints.append(str(error))

    def refuse(self, route) -> None:
        """Nothing comes from the network; what was asked for is noted."""
        self.asked.append(route.request.url)
        route.abort()

    def settle(self) -> None:
        """Wait until formulas are typeset and pictures are there, or for ten seconds."""
        self.wait(TYPESET)
        self.wait(DRAWN)

    def wait(self, condition: str) -> None:
        """Wait until a condition of the page holds; if it never does, that is a complaint."""
        from playwright.sync_api import TimeoutError as TooLong

        try:
            self.page.wait_for_function(condition, timeout=10_000)
        except TooLong:
            self.complaints.append(f"never came true: {condition}")


TYPESET = (
    """() => [...document.querySelectorAll('article .math')].every(e => e.querySelector('mjx-container'))"""
)
DRAWN = "() => [...document.querySelectorAll('article img')].every(picture => picture.complete)"


@pytest.fixture
def carries_its_scripts() -> None:
    """For what needs MathJax: a book built without npm asks a CDN for it."""
    if not MATHJAX.exists():
        missing("formulas were NOT tested: the book was built without npm and loads MathJax from a CDN")


@pytest.fixture(scope="module")
def reader(window, page_name: str) -> Iterator[Reader]:
    opened = Reader(window, page_name)
    yield opened
    opened.close()


def page_of(book: Path, figure: str) -> Path:
    """The first page that holds a live figure."""
    return pages_of(book, figure)[0]


@pytest.fixture(scope="module")
def live(browser, book):
    """Opens the page with a live figure, and waits until that answers; what went wrong is in `page.complaints`."""
    opened = []

    def open_page(name: str, width: int = 1280, wait: bool = True, **options):
        page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        opened.append(page)
        page.complaints = []
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda r: r.url.startswith("http") and page.complaints.append(r.url))
        page.goto(page_of(book, name).as_uri())
        page.evaluate("document.querySelectorAll('details.reveal').forEach((fold) => { fold.open = true; })")
        if wait:
            page.wait_for_selector(f"[data-live='{name}'][data-ready]")
        return page

    yield open_page
    for page in opened:
        page.close()
