import matplotlib as mpl
import numpy as np
import pytest
import torch

from mini_lib.errors import UsageError
from mini_lib.reproduction.plotting import DPI, FRAME_BYTES, RULE, png
from mini_lib.reproduction.scan import figures
from mini_lib.reproduction.scan.figures import diagram, squares
from mini_lib.scan.analysis import Attended, Dictionary, Share, Table
from mini_lib.scan.analysis.attention import own_places
from mini_lib.scan.grammar import derive, interpret
from mini_lib.scan.tasks import ACTION_IDS, Split
from scan.drawn import texts

pytestmark = pytest.mark.usefixtures("headless")
LONGEST = "jump around left thrice after walk around right thrice"
PAGE = 9.8 * DPI  # the widest figure, in pixels


def ticks(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def drawn(ax, line: float | None = None) -> list[str]:
    """The actions of the coloured squares from left to right; of one line if its y is given."""
    names = {mpl.colors.to_hex(shade).lower(): action for action, (shade, _) in squares.LOOKS.items()}
    found = [patch for patch in ax.patches if round(patch.get_width(), 2) == squares.SIDE]
    if line is not None:
        found = [patch for patch in found if abs(patch.get_y() - line) < 0.1]
    return [names[mpl.colors.to_hex(p.get_facecolor())] for p in sorted(found, key=lambda p: p.get_x())]


def attended(command: str, wrong: dict[int, str] | None = None) -> Attended:
    right = (*interpret(command), "<EOS>")
    predicted = tuple((wrong or {}).get(step, action) for step, action in enumerate(right))
    words = ("<SOS>", *command.split(), "<EOS>")
    generator = torch.Generator().manual_seed(0)
    attention = torch.rand(len(right), len(words), generator=generator).softmax(dim=1)
    return Attended(command, words, right, predicted, attention, torch.tensor(own_places(command)))


# ------------------------------------------------------------------------------------------ problems


def test_every_action_has_a_look_of_its_own():
    assert set(squares.LOOKS) == set(ACTION_IDS)
    for part in zip(*squares.LOOKS.values(), strict=True):
        assert len(set(part)) == len(ACTION_IDS)
    assert (squares.ink("#ffffff"), squares.ink("#0072B2")) == ("#000000", "#ffffff")


def test_commands_stand_over_their_actions():
    shown = ["jump", "turn left twice", "look opposite right after run"]
    ax = figures.commands(shown).axes[0]
    assert texts(ax)[0] == "jump"
    assert set(shown) <= set(texts(ax))
    margin = (1 - squares.SIDE) / 2
    for number, command in enumerate(shown):
        assert drawn(ax, 2.3 * number + 1 + margin) == interpret(command)
    key = drawn(ax, 2.3 * len(shown) + 0.4 + margin)
    assert sorted(key) == sorted({action for command in shown for action in interpret(command)})
    with pytest.raises(UsageError, match="no command to draw"):
        figures.commands([])


@pytest.mark.parametrize("command", ["jump", "turn opposite left after run twice", LONGEST])
def test_a_derivation_ties_every_action_to_its_word(command):
    ax = figures.derivation(command).axes[0]
    assert drawn(ax) == interpret(command)
    places = {text.get_text(): [] for text in ax.texts}
    for text in ax.texts:
        places[text.get_text()].append(text.get_position()[0])
    assert len(ax.lines) == len(derive(command))
    for line, step in zip(ax.lines, derive(command), strict=True):
        word = command.split()[step.word]
        assert any(abs(line.get_xdata()[0] - place) < 1e-6 for place in places[word])
        assert mpl.colors.to_hex(line.get_color()) == squares.LOOKS[step.action][0].lower()


@pytest.mark.parametrize(
    "draw",
    [
        lambda: figures.commands(["jump", LONGEST]),
        lambda: figures.derivation(LONGEST),
        lambda: figures.attention_map(attended(LONGEST)),
        lambda: figures.two_streams(),
        lambda: figures.two_problems(),
    ],
)
def test_figures_fit_the_page(draw):
    width, height = draw().get_size_inches() * DPI
    assert 2 * DPI < width < PAGE
    assert height < PAGE


def test_the_four_splits_fit_the_page(small_splits):
    assert max(figures.splits(["length"] * 4).get_size_inches()) * DPI < PAGE


@pytest.fixture
def small_splits(monkeypatch):
    """Splits of a few commands, since those of SCAN take long to count."""
    small = {
        "length": Split(("walk", "turn left", "run twice"), ("jump thrice", "walk around left thrice")),
        "add_turn_left": Split(("turn left", "walk", "turn left", "turn left", "look"), ("turn left twice",)),
    }
    monkeypatch.setattr("mini_lib.reproduction.scan.figures.problems.get_split", small.__getitem__)
    return small


def heights(ax):
    """Bars of training and of the test, by number of actions from 1 on."""
    return np.array([patch.get_height() for patch in ax.patches]).reshape(2, -1)


def test_splits_count_the_commands_of_both_parts(small_splits):
    ax, turn = figures.splits(("length", "add_turn_left")).axes
    bars = heights(ax)
    assert [(place + 1, count) for place, count in enumerate(bars[0]) if count] == [(1, 2), (2, 1)]
    assert [(place + 1, count) for place, count in enumerate(bars[1]) if count] == [(3, 1), (24, 1)]
    assert [patch.get_y() for patch in turn.patches][len(bars[0]) + 1] == 0
    assert [patch.get_y() for patch in turn.patches][len(bars[0])] == 3  # the test stands on training
    assert heights(turn)[0, 0] == 3  # each command counted once
    words = [text.get_text() for text in turn.get_legend().get_texts()]
    assert words == ["training: 3", "test: 1"]
    assert ax.get_legend().get_title().get_text() == ""
    assert turn.get_legend().get_title().get_text() == "“turn left” is shown 3 times"
    assert ax.get_ylim()[1] > bars.sum(axis=0).max()


def test_an_odd_number_of_splits_leaves_a_place_blank(small_splits):
    fig = figures.splits(("length", "add_turn_left", "length"))
    titles = [ax.get_title() for ax in fig.axes[:3]]
    assert titles == ["length: long ones held out", "add turn left: shown only alone", titles[0]]
    assert not fig.axes[3].axison


def test_a_split_that_is_not_there():
    with pytest.raises(UsageError, match="unknown split"):
        figures.splits(("lenght",))


@pytest.mark.slow
def test_the_length_split_is_cut_at_22_actions():
    ax = figures.splits(("length",)).axes[0]
    bars = heights(ax)
    assert bars.sum(axis=1).tolist() == [16_990, 3_920]
    assert bars[0, 22:].sum() == bars[1, :22].sum() == 0


# ------------------------------------------------------------------------------------------ diagrams


def touches(point, centre, width, _):
    return abs(point[0] - centre[0]) <= width / 2 + 0.01 and abs(point[1] - centre[1]) <= 0.45


def test_syntax_reaches_semantics_through_attention_alone():
    ax = figures.two_streams().axes[0]
    assert set(diagram.BOXES) <= set(texts(ax))
    shades = {name: shade for name, (_, _, shade) in diagram.BOXES.items()}
    crossing = []
    for label, (start, end, _, shade) in diagram.ARROWS.items():
        touched = {name for name, box in diagram.BOXES.items() if touches(start, *box) or touches(end, *box)}
        assert len(touched) == 2
        if {shades[name] for name in touched} == {diagram.SYNTAX, diagram.SEMANTICS}:
            crossing.append(label)
            assert shade == RULE
    assert len(crossing) == 1
    assert crossing[0].startswith("attention")


def test_what_is_new_as_a_pair_was_seen_in_its_parts():
    ax = figures.two_problems().axes[0]
    assert texts(ax).count("?") == len(diagram.FRAMES) - 1
    assert texts(ax).count("seen") == 3 * len(diagram.FRAMES) + 1
    assert drawn_verbs(ax) == ["WALK", "LOOK", "RUN", "JUMP"]


def drawn_verbs(ax):
    """The squares from top to bottom."""
    found = [p for p in ax.patches if round(p.get_width(), 2) == round(p.get_height(), 2) == squares.SIDE]
    names = {shade.lower(): action for action, (shade, _) in squares.LOOKS.items()}
    return [names[mpl.colors.to_hex(p.get_facecolor())] for p in sorted(found, key=lambda p: p.get_y())]


# ------------------------------------------------------------------------------------------ attention


def test_a_map_shows_attention_rings_and_wrong_actions():
    found = attended("jump left and walk", {1: "RUN"})
    ax = figures.attention_map(found).axes[0]
    assert np.allclose(ax.images[0].get_array(), found.attention.T.numpy())
    tall = ax.images[0].get_extent()[2] / len(found.words)
    rings = ax.lines[0].get_xydata()
    assert np.allclose(rings[:, 0], np.arange(4) + 0.5)
    assert np.floor(rings[:, 1] / tall).astype(int).tolist() == found.own.tolist() == [2, 1, 4, 5]
    margin = (1 - squares.SIDE) / 2
    assert drawn(ax, -1.15 + margin) == list(found.right)
    assert drawn(ax, -2.2 + margin) == ["RUN"]
    assert texts(ax)[-1] == "said instead"
    framed = [patch for patch in ax.patches if mpl.colors.to_hex(patch.get_edgecolor()) == "#000000"]
    assert [int(patch.get_x()) for patch in framed if patch.get_edgecolor()[3]] == [1]
    assert "said instead" not in texts(figures.attention_map(attended("jump")).axes[0])


def test_frames_have_one_size_and_go_into_a_slider():
    found = [attended("jump"), attended(LONGEST, {0: "WALK", 3: "<SOS>"}), attended("walk left twice")]
    frames, labels = figures.attention_frames(found)
    assert labels == ["jump: right", f"{LONGEST}: wrong at 2 of 49 steps", "walk left twice: right"]
    assert len({tuple(frame.get_size_inches()) for frame in frames}) == 1
    assert len({frame.axes[0].get_xlim() for frame in frames}) == 1
    assert len({frame.axes[0].get_ylim() for frame in frames}) == 1
    assert max(len(png(frame)) for frame in frames) < FRAME_BYTES
    with pytest.raises(UsageError, match="no command to draw"):
        figures.attention_frames([])


# ------------------------------------------------------------------------------------------ tables


def test_tables_are_in_percent_of_rows_without_what_is_empty():
    counts = np.array([[1, 3, 0], [0, 0, 0], [0, 1500, 0]])
    ax = figures.table(Table(("WALK", "RUN", "JUMP"), ("a", "b", "c"), counts), "word").axes[0]
    assert np.array_equal(ax.images[0].get_array(), [[25, 75], [0, 100]])
    assert ticks(ax.yaxis) == ["WALK (4)", "JUMP (1,500)"]
    assert ticks(ax.xaxis) == ["a", "b"]
    assert texts(ax) == ["25", "75", "100"]


def test_word_meanings_are_the_dictionary():
    found = Dictionary(("walk", "and"), ("WALK", "RUN"), torch.tensor([[0.999, 0.001], [0.4, 0.6]]))
    ax = figures.word_meanings(found).axes[0]
    assert texts(ax) == ["100", "40", "60"]
    assert (ticks(ax.yaxis), ticks(ax.xaxis)) == (["walk", "and"], ["WALK", "RUN"])


def test_errors_are_sorted_with_the_worst_on_top():
    forms = {"U": Share(9, 10), "U around D": Share(0, 1200), "U twice": Share(5, 10)}
    ax = figures.errors_by_form(forms).axes[0]
    assert ticks(ax.yaxis)[::-1] == ["U around D", "U twice", "U"]  # upwards is later
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([10, 50, 100])
    assert texts(ax) == ["1 of 10", "5 of 10", "1,200 of 1,200"]
    with pytest.raises(UsageError, match="no form to draw"):
        figures.errors_by_form({})


def test_roles_have_a_row_a_construction():
    ax = figures.roles({"U": {"walk": 0.9, "run": 0.8}, "U D": {"walk": 0.7, "run": 0.6}}).axes[0]
    assert ticks(ax.yaxis) == ["U", "U D"]
    assert [list(line.get_xdata()) for line in ax.lines] == [[0.9, 0.7], [0.8, 0.6]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["walk", "run"]


def test_runs_are_dots_with_or_without_names():
    runs = [{"own word": 70.0, "accuracy": 20.0}, {"own word": 99.0, "accuracy": 95.0}]
    ax = figures.own_word_and_accuracy(runs).axes[0]
    assert ax.lines[0].get_xydata().tolist() == [[70, 20], [99, 95]]
    assert texts(ax) == []
    named = figures.own_word_and_accuracy({"seed 1": runs[0], "seed 2": runs[1]}).axes[0]
    assert texts(named) == ["seed 1", "seed 2"]
    with pytest.raises(UsageError, match="no run to draw"):
        figures.own_word_and_accuracy([])
