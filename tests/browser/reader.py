"""What a reader does with a live figure, and how its numbers are compared."""

import json
import re

import torch


def press(box, name: str) -> None:
    """Press a button by keyboard."""
    box.get_by_role("button", name=name, exact=True).press("Enter")


def choose(box, label: str, value: str) -> None:
    """Choose from a list."""
    box.get_by_label(label, exact=True).select_option(value)


def said(box) -> str:
    """The sentence below a figure."""
    return box.locator(".live-status").first.inner_text().replace("−", "-")


def numbers(pattern: str, text: str) -> list[float]:
    """What a pattern finds in a text: the number in its group, for each place."""
    return [float(each) for each in re.findall(pattern, text)]


def drag(box, mark, *far: tuple[float, float], steps: int = 10) -> None:
    """Press in the middle of a mark and move the mouse so far from there to the right and down."""
    mark.scroll_into_view_if_needed()
    seen, mouse = mark.bounding_box(), box.page.mouse
    x, y = seen["x"] + seen["width"] / 2, seen["y"] + seen["height"] / 2
    mouse.move(x, y)
    mouse.down()
    for right, down in far:
        mouse.move(x + right, y + down, steps=steps)
    mouse.up()


def calculate(box, script: str, *given):
    """What the page calculates; its typed arrays become lists."""
    plain = "(_, x) => ArrayBuffer.isView(x) ? Array.from(x) : x"
    run = f"async (given) => JSON.stringify(await ({script})(...given), {plain})"
    return json.loads(box.page.evaluate(run, list(given)))


def close(found, ours: torch.Tensor, within: float = 1e-3) -> None:
    """Whether numbers of the page are those of a network, whose weights the page has in half precision."""
    torch.testing.assert_close(torch.tensor(found, dtype=ours.dtype), ours, rtol=within, atol=within)


def picked(box) -> dict[str, tuple[int, str]]:
    """What each player chooses, from 0, and its mark."""
    places = [each.locator(".game-by").all_inner_texts() for each in box.locator(".game-choice").all()]
    return {text.split()[0]: (n, text.split()[1]) for n, texts in enumerate(places) for text in texts}


def scores(box) -> dict[str, list[float]]:
    """How often each player was right, and of how many."""
    lines = box.locator(".game-score > div").all_inner_texts()
    return {line.split()[0]: numbers(r"(\d+)", line) for line in lines}
