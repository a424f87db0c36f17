"""Take the pictures of the cover and of README from the built book: `python tools/cover.py`.

Four live figures as small pictures, for light and for dark pages, and the cover's game as an animation: a problem,
the answers, the next problem.
"""

import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright

from mini_lib.reproduction.live import pages_of

BOOK, STATIC = Path("_build/html"), Path("book/_static")
CARDS = {  # the figure, the part of it that a card shows, and the button to press first
    "esbn": ("esbn_keys", ".live-entries", None),
    "scan": ("scan_attention", ".live-map", None),
    "functions": ("functions_lift", "svg", "Lift by 5"),
    "kanerva": ("kanerva_stroke", ".live-pads > div", None),
}
PHONE = {"width": 430, "height": 900}  # where labels are large for their figure
WIDTH, SECONDS = 480, (2.0, 2.5)  # of the animation, and how long a question and an answer stay


def opened(page: Page, figure: str) -> Locator:
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
        for theme in ("light", "dark"):
            page = browser.new_page(viewport=PHONE, device_scale_factor=2, color_scheme=theme)
            for name, (figure, part, press) in CARDS.items():
                found = opened(page, figure)
                if press:
                    found.get_by_role("button", name=press).click()
                    page.locator(f"[data-live='{figure}']:not([aria-busy])").wait_for()
                drawn = found.locator(part).first.screenshot()
                picture = Image.open(io.BytesIO(drawn)).convert("RGB").quantize(64)
                picture.save(STATIC / "cards" / f"{name}_{theme}.png", optimize=True)
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        game, frames = opened(page, "game"), []
        for _ in range(2):
            frames.append(game.screenshot())
            page.keyboard.press(right(game))
            page.wait_for_timeout(800)
            frames.append(game.screenshot())
            page.keyboard.press("Enter")
            page.wait_for_timeout(300)
        browser.close()
    first, *others = (shrunk(frame) for frame in frames)
    durations = [1000 * SECONDS[number % 2] for number in range(len(frames))]
    options = {"save_all": True, "append_images": others, "duration": durations, "loop": 0, "optimize": True}
    first.save(STATIC / "game.gif", **options)


def right(game: Locator) -> str:
    """The key of the right choice: the picture of the first row that the second lacks."""
    labels = "all => all.map(each => each.ariaLabel)"
    names = game.locator(".game-rows [role=img]").evaluate_all(labels)
    (missing,) = set(names[:3]) - set(names[3:5])
    return next(
        label[0] for label in game.locator(".game-choice button").evaluate_all(labels) if label[3:] == missing
    )


def shrunk(frame: bytes) -> Image.Image:
    """A screenshot at the animation's size, with few colors."""
    picture = Image.open(io.BytesIO(frame)).convert("RGB")
    return picture.resize((WIDTH, round(picture.height * WIDTH / picture.width))).quantize(64)


if __name__ == "__main__":
    main()
