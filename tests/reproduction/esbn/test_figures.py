"""Every figure is drawn on tiny input; what is worked out inside one is worked out again."""

from io import BytesIO

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from esbn.networks import randomized

from mini_lib.datasets import glyphs
from mini_lib.esbn import analysis
from mini_lib.esbn.tasks import TASKS, make_problems
from mini_lib.reproduction.esbn import figures
from mini_lib.reproduction.esbn.figures import diagram, learning, problems
from mini_lib.reproduction.esbn.figures.keys import keys_at_reappearance, reappearances
from mini_lib.reproduction.plotting import CONTENT, RULE, STRUCTURE


@pytest.fixture(autouse=True)
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


def record(scores, diverged=False):
    update = list(range(1, 10 * len(scores), 10))
    return {
        "curve": {"update": update, "loss": [0.0] * len(scores), "score": list(scores)},
        "diverged": diverged,
    }


def texts(ax):
    return [text.get_text() for text in ax.texts]


IMAGES = glyphs()
MADE = {task: make_problems(task, 50, seed=1, train_size=30, test_size=1).train for task in TASKS}
THREE = MADE["distribution_of_three"]


def collected():
    return analysis.collect_keys(randomized(), IMAGES, THREE)


CURVES = {
    "task": {"ESBN": [record([20, 90]), record([40, 100])], "LSTM": [record([1], diverged=True)], "RN": []}
}
FIGURES = {
    "learning_curves": lambda: figures.learning_curves(CURVES),
    "key_plane": lambda: figures.key_plane(collected(), collected(), THREE, THREE),
    "gallery": lambda: figures.gallery(IMAGES[:7], marked=[2, 5]),
    "problem": lambda: figures.problem("rmts", IMAGES, MADE["rmts"], 3, answer=False),
    "two_streams": figures.two_streams,
}


@pytest.mark.parametrize("name", figures.__all__)
def test_every_figure_is_drawn(name):
    drawn = FIGURES[name]()
    for fig in drawn if isinstance(drawn, list | tuple) else [drawn]:
        fig.savefig(BytesIO())
        assert fig.get_figwidth() <= 4.6
        assert all(ax.get_xlabel() and ax.get_ylabel() for ax in fig.axes if ax.axison)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: figures.learning_curves({}),
        lambda: figures.problem("distribution_of_three", IMAGES, MADE["rmts"], 0),
    ],
)
def test_what_cannot_be_drawn_is_named(draw):
    with pytest.raises(ValueError):  # noqa: PT011
        draw()


def test_learning_curves_draw_means_and_say_what_was_not_run():
    (ax,) = figures.learning_curves(CURVES)[0].axes
    (line,) = ax.lines
    assert line.get_ydata().tolist() == [30, 95]
    assert texts(ax) == ["ESBN", "not run: LSTM, RN"]


def test_learning_curves_of_runs_that_were_logged_at_other_updates_meet_where_all_were():
    sparse, dense = record((20, 90)), record((40, 60, 100))
    sparse["curve"]["update"], dense["curve"]["update"] = [1, 21], [1, 11, 21]
    (line,) = figures.learning_curves({"one": {"ESBN": [sparse, dense]}})[0].axes[0].lines
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([1, 21], [30, 95])


def test_smoothed_learning_curves_keep_their_places_and_networks_without_a_name_are_grey():
    panels = {"one": {"ESBN": [record((0, 30, 60, 90))], "RN": [record((1, 2, 3, 4))]}}
    (ax,) = figures.learning_curves(panels, named={"one": ("ESBN",)}, blur=3)[0].axes
    grey, line = ax.lines
    assert (line.get_xdata().tolist(), line.get_ydata().round(6).tolist()) == ([11, 21], [30, 60])
    assert (texts(ax), grey.get_color()) == (["ESBN"], learning.OTHERS)


@pytest.mark.parametrize("task", TASKS)
def test_a_problem_shows_its_images_in_order_and_frames_the_answer(task):
    made = MADE[task]
    ax = figures.problem(task, IMAGES, made, 3).axes[0]
    for shown, image in zip(ax.images, IMAGES[made.ids[3]], strict=True):
        assert np.array_equal(shown.get_array(), image)
    green = problems.RIGHT.lower()
    frames = [patch for patch in ax.patches if mpl.colors.to_hex(patch.get_edgecolor()) == green]
    hidden = figures.problem(task, IMAGES, made, 3, answer=False).axes[0]
    assert len(ax.patches) - len(hidden.patches) == len(frames) == (task != "same_different")
    if frames:
        first = {"rmts": 2 + 2 * made.answers[3]}.get(task, 5 + made.answers[3])
        assert frames[0].get_x() == pytest.approx(ax.images[first].get_extent()[0], abs=0.05)


def test_a_wrong_choice_gets_a_frame_of_its_own():
    right, frames = int(THREE.answers[3]), []
    for look in ({"answer": False}, {"choice": right}, {"choice": (right + 1) % 4}):
        (ax,) = figures.problem("distribution_of_three", IMAGES, THREE, 3, title="mine", **look).axes
        assert ax.get_title() == "mine"
        frames.append([patch.get_linestyle() for patch in ax.patches if patch.get_linewidth() == 2])
    assert frames == [["-"], ["-"] * 2, ["-"] * 2 + ["--"]]


def touches(point, centre, width, _):
    return abs(point[0] - centre[0]) <= width / 2 + 0.01 and abs(point[1] - centre[1]) <= 0.45


def test_the_streams_meet_only_in_memory():
    ax = diagram.two_streams().axes[0]
    assert set(diagram.BOXES) <= set(texts(ax))
    shades = {name: shade for name, (_, _, shade) in diagram.BOXES.items()}
    for start, end, _, shade in diagram.ARROWS.values():
        touched = {name for name, box in diagram.BOXES.items() if touches(start, *box) or touches(end, *box)}
        assert len(touched) == 2
        if {shades[name] for name in touched} == {STRUCTURE, CONTENT}:
            assert touched == {"values", "keys"}
            assert shade == RULE


def test_figure_9_draws_the_three_clouds_it_promises():
    keys = collected()
    whole, first, again = (fig.axes[0] for fig in figures.key_plane(keys, keys, THREE, THREE))
    assert first.get_xlim() == again.get_xlim()
    assert first.get_ylim() == again.get_ylim()
    plane = analysis.fit_plane(keys, keys)
    drawn = [cloud.get_offsets().data for cloud in whole.collections]  # the last step first
    np.testing.assert_allclose(np.stack(drawn[::-1], axis=1), analysis.project(plane, keys.written[:, :-1]))
    reads = analysis.project(plane, keys_at_reappearance(keys, THREE))
    for ax, points in ((first, analysis.project(plane, keys.written[:, :3])), (again, reads)):
        test, train = ax.collections[:3], ax.collections[3:]
        for step, clouds in enumerate(zip(test, train, strict=True)):
            for cloud in clouds:
                np.testing.assert_allclose(cloud.get_offsets().data, points[:, step])


@pytest.mark.parametrize("m", [0, 95])
def test_reappearances_are_those_found_by_walking_through_each_problem(m: int):
    problems = make_problems("distribution_of_three", m, 2, train_size=400, test_size=400)
    for part in (problems.train, problems.test):
        expected = [[row.index(image, 3) for image in row[:3]] for row in part.ids.tolist()]
        assert reappearances(part).tolist() == expected


def test_keys_at_reappearance_are_read_at_those_steps():
    steps = torch.arange(9.0)
    retrieved = steps[None, :, None].expand(len(THREE.ids), -1, 2).clone()
    retrieved[..., 1] += 100 * torch.arange(len(THREE.ids))[:, None]
    keys = analysis.Keys(torch.zeros(len(THREE.ids), 10, 2), retrieved, torch.zeros(retrieved.shape[:2]))
    found = keys_at_reappearance(keys, THREE)
    assert found[..., 0].tolist() == reappearances(THREE).tolist()
    assert ((found[..., 1] - found[..., 0]) == 100 * torch.arange(len(THREE.ids))[:, None]).all()
