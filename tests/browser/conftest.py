"""A browser with no network, and the built book to read in it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "_build" / "html"
PLAYER = BOOK / "_static" / "vendor" / "embed.js"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
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


class Reader:
    """One page, with everything it complained about or asked the network for."""

    def __init__(self, browser, name: str):
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.context.route("**/*", self.only_local)
        self.page = self.context.new_page()
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.on("console", lambda m: m.type == "error" and self.complaints.append(m.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto((BOOK / name).as_uri(), wait_until="load")
        self.settle()

    def only_local(self, route) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            self.asked.append(route.request.url)
            route.abort()

    def settle(self) -> None:
        """Wait until formulas are typeset and widgets are drawn, or for ten seconds."""
        self.page.wait_for_timeout(200)
        if not PLAYER.exists():
            return
        if self.page.locator("article .math").count():
            self.wait("() => document.querySelector('article .math mjx-container')")
        if self.page.locator("script[type='application/vnd.jupyter.widget-view+json']").count():
            self.wait("() => document.querySelector('article .jupyter-widgets')")

    def wait(self, condition: str) -> None:
        from playwright.sync_api import TimeoutError as TooLong

        try:
            self.page.wait_for_function(condition, timeout=10_000)
            self.page.wait_for_timeout(300)
        except TooLong:
            self.complaints.append(f"never came true: {condition}")


@pytest.fixture
def carries_its_scripts() -> None:
    """For what needs MathJax and the widget player: a book built without npm asks a CDN for them."""
    if not PLAYER.exists():
        missing(
            "formulas and sliders were NOT tested: the book was built without npm and loads them from a CDN"
        )


@pytest.fixture(scope="module")
def open_page(browser) -> Iterator[Callable[[str], Reader]]:
    opened: list[Reader] = []

    def open_one(name: str) -> Reader:
        opened.append(Reader(browser, name))
        return opened[-1]

    yield open_one
    for each in opened:
        each.context.close()


@pytest.fixture(scope="module")
def reader(browser, page_name: str) -> Iterator[Reader]:
    opened = Reader(browser, page_name)
    yield opened
    opened.context.close()
