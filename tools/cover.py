"""Take the pictures of the cover and of README from the built book: `python tools/cover.py`.

Four live figures as small pictures, and the cover's game as an animation: a problem, the answers, the next problem.
"""

import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from mini_lib.reproduction.live import pages_of

BOOK, STATIC = Path("_build/html"), Path("book/_static")
CARDS = {  # the figure, and the part of it that a card shows: left, top, right, bottom
    "esbn": ("esbn_plane", (8, 88, 338, 330)),
    "scan": ("scan_attention", (8, 158, 380, 372)),
    "functions": ("functions_lift", (8, 88, 680, 420)),
    "kanerva": ("kanerva_stroke", (8, 236, 680, 466)),
}
WIDTH, SECONDS = 480, (2.0, 2.5)  # of the animation, and how long a question and an answer stay


def opened(page: Page, figure: str) -> object:
    """The figure, once its networks answer."""
    page.goto(pages_of(BOOK, figure)[0].absolute().as_uri())
    page.evaluate("() => document.querySelectorAll('details').forEach(fold => fold.open = true)")
    found = page.locator(f"[data-live='{figure}']")
    found.scroll_into_view_if_needed()
    page.locator(f"[data-live='{figure}'][data-ready='true']").wait_for()
    page.wait_for_timeout(500)
    return found


def main() -> None:
    """Write book/_static/cards/*.png and book/_static/game.gif."""
    (STATIC / "cards").mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        for name, (figure, part) in CARDS.items():
            picture = Image.open(io.BytesIO(opened(page, figure).screenshot())).convert("RGB").crop(part)
            picture.quantize(64).save(STATIC / "cards" / f"{name}.png", optimize=True)
        game, frames = opened(page, "game"), []
        for choice in "43":  # both are correct
            frames.append(game.screenshot())
            page.keyboard.press(choice)
            page.wait_for_timeout(800)
            frames.append(game.screenshot())
            page.keyboard.press("Enter")
            page.wait_for_timeout(300)
        browser.close()
    first, *others = (shrunk(frame) for frame in frames)
    durations = [1000 * SECONDS[number % 2] for number in range(len(frames))]
    options = {"save_all": True, "append_images": others, "duration": durations, "loop": 0, "optimize": True}
    first.save(STATIC / "game.gif", **options)


def shrunk(frame: bytes) -> Image.Image:
    """A screenshot at the animation's size, with few colors."""
    picture = Image.open(io.BytesIO(frame)).convert("RGB")
    return picture.resize((WIDTH, round(picture.height * WIDTH / picture.width))).quantize(64)


if __name__ == "__main__":
    main()
