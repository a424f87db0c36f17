"""Every figure is drawn; and what the figures work out by themselves: places of actions and shares."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from mini_lib.reproduction.plotting import CONTENT, RULE, STRUCTURE, png
from mini_lib.reproduction.scan import figures
from mini_lib.reproduction.scan.figures import diagram, squares
from mini_lib.scan.analysis import CommandAttention, Dictionary, source_positions
from mini_lib.scan.grammar import interpret

LONGEST = "jump around left thrice after walk around right thrice"
MARGIN = (1 - squares.SIDE) / 2


def texts(ax):
    """Every text on an axes, in the order drawn."""
    return [text.get_text() for text in ax.texts]


def drawn(ax, line: float | None = None, down: bool = False) -> list[str]:
    """The actions of the colored squares from left to right, or down; of one line if its y is given."""
    names = {mpl.colors.to_hex(shade).lower(): action for action, (shade, _) in squares.LOOKS.items()}
    size = round(squares.SIDE, 2)
    found = [p for p in ax.patches if (round(p.get_width(), 2), round(p.get_height(), 2)) == (size, size)]
    if line is not None:
        found = [patch for patch in found if abs(patch.get_y() - line - MARGIN) < 0.1]
    found = sorted(found, key=lambda patch: patch.get_y() if down else patch.get_x())
    return [names[mpl.colors.to_hex(patch.get_facecolor())] for patch in found]


def attended(command: str, wrong: dict[int, str] | None = None) -> CommandAttention:
    right = (*interpret(command), "<EOS>")
    predicted = tuple((wrong or {}).get(step, action) for step, action in enumerate(right))
    words = ("<SOS>", *command.split(), "<EOS>")
    generator = torch.Generator().manual_seed(0)
    attention = torch.rand(len(right), len(words), generator=generator).softmax(dim=1)
    return CommandAttention(
        command, words, right, predicted, attention, torch.tensor(source_positions(command))
    )


@pytest.fixture(autouse=True)
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


SPOKEN = Dictionary(("walk", "and"), ("WALK", "RUN"), torch.tensor([[0.9, 0.1], [0.4, 0.6]]))
FIGURES = {
    "commands": lambda: figures.commands(["jump", "turn left"]),
    "two_streams": figures.two_streams,
    "two_problems": lambda: figures.two_problems()[1],
    "attention_map": lambda: figures.attention_map(attended(LONGEST, {0: "WALK", 3: "<SOS>"})),
    "word_meanings": lambda: figures.word_meanings(SPOKEN),
}


@pytest.mark.parametrize("name", figures.__all__)
def test_every_figure_is_drawn(name):
    assert len(png(FIGURES[name]())) > 1_000


def test_commands_stand_over_their_actions():
    shown = ["jump", "turn left twice", "look opposite right after run"]
    ax = figures.commands(shown).axes[0]
    assert set(shown) <= set(texts(ax))
    for number, command in enumerate(shown):
        assert drawn(ax, 2.3 * number + 1) == interpret(command)


def test_syntax_reaches_semantics_through_attention_alone():
    """Every arrow goes from box to box, and one from the syntax stream's to the semantic stream's."""
    crossing = []
    for label, (*ends, _, shade) in diagram.ARROWS.items():
        touched = {
            box: box_shade
            for box, ((x, y), wide, box_shade) in diagram.BOXES.items()
            for end in ends
            if abs(end[0] - x) <= wide / 2 + 0.01 and abs(end[1] - y) <= 0.45
        }
        assert len(touched) == 2
        if set(touched.values()) == {STRUCTURE, CONTENT}:
            crossing.append(label)
            assert shade == RULE
    assert len(crossing) == 1
    assert crossing[0].startswith("attention")
    assert set(diagram.BOXES) <= set(texts(figures.two_streams().axes[0]))


def test_what_is_new_as_a_pair_was_seen_in_its_parts():
    whole, parts = (fig.axes[0] for fig in figures.two_problems())
    assert texts(whole).count("?") == len(diagram.FRAMES) - 1
    assert texts(whole).count("seen") == 3 * len(diagram.FRAMES) + 1
    assert set(diagram.FRAMES) <= set(texts(parts))
    assert drawn(parts, down=True) == ["WALK", "LOOK", "RUN", "JUMP"]


def test_a_map_shows_attention_rings_and_wrong_actions():
    found = attended("jump left and walk", {1: "RUN"})
    ax = figures.attention_map(found).axes[0]
    assert np.allclose(ax.images[0].get_array(), found.attention.T.numpy())
    tall = ax.images[0].get_extent()[2] / len(found.words)
    rings = ax.lines[0].get_xydata()
    assert np.allclose(rings[:, 0], np.arange(4) + 0.5)
    assert np.floor(rings[:, 1] / tall).astype(int).tolist() == found.source.tolist() == [2, 1, 4, 5]
    assert drawn(ax, -1.15) == list(found.right)
    assert drawn(ax, -2.2) == list(found.predicted)
    framed = [patch for patch in ax.patches if mpl.colors.to_hex(patch.get_edgecolor()) == "#000000"]
    assert [int(patch.get_x()) for patch in framed if patch.get_edgecolor()[3]] == [1]
    assert "its output" in texts(ax)
    assert "its output" not in texts(figures.attention_map(attended("jump")).axes[0])
