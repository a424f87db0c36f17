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
from mini_lib.reproduction.esbn.figures import diagram, problems
from mini_lib.reproduction.esbn.figures.keys import keys_at_reappearance, reappearances
from mini_lib.reproduction.plotting import RULE
from mini_lib.training import Run


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


def a_run(test, scores=(25.0, 80.0), finished=True):
    metrics = {} if test is None else {"test_accuracy": test}
    curve = {"update": [1, 11], "loss": [1.0, 0.5], "score": list(scores)}
    return Run("key", "run", finished, False, metrics, curve, 11, 1.0, torch.nn.Identity())


def texts(ax):
    return [text.get_text() for text in ax.texts]


IMAGES = glyphs()
MADE = {task: make_problems(task, 50, seed=1, train_size=30, test_size=1).train for task in TASKS}
THREE = MADE["distribution_of_three"]


def traced(model="esbn"):
    made = randomized(model)
    with torch.no_grad():
        return made.core.trace(made.embed(IMAGES, THREE.ids))


def collected():
    return analysis.collect_keys(randomized(), IMAGES, THREE)


RUNS = {"ESBN": [a_run(99.0), a_run(98.0)], "LSTM": a_run(30.0)}
CURVES = {
    "task": {"ESBN": [record([20, 90]), record([40, 100])], "LSTM": [record([1], diverged=True)], "RN": []}
}
SHARE, CONFUSION = np.array([1.0, 0.25]), np.array([[1.0, 0.0], [0.75, 0.25]])
FIGURES = {
    "learning_curves": lambda: figures.learning_curves(CURVES, logarithmic=True),
    "live_curves": lambda: figures.live_curves(RUNS, chance=25.0),
    "decoding": lambda: figures.decoding({"one": SHARE, "two": SHARE / 2}, CONFUSION, of="one"),
    "key_plane": lambda: figures.key_plane(collected(), collected(), THREE, THREE),
    "gallery": lambda: figures.gallery(IMAGES[:7], marked=[2, 5]),
    "chosen": lambda: figures.chosen("distribution_of_three", IMAGES, {"a problem": (THREE, 1, 2)}),
    "memory": lambda: figures.memory(IMAGES[THREE.ids[0]], traced(), 9),
    "problem": lambda: figures.problem("rmts", IMAGES, MADE["rmts"], 3, answer=False),
    "tasks": lambda: figures.tasks(IMAGES, {task: (made, 3) for task, made in MADE.items()}),
    "two_streams": figures.two_streams,
}


@pytest.mark.parametrize("name", figures.__all__)
def test_every_figure_is_drawn(name):
    fig = FIGURES[name]()
    fig.savefig(BytesIO())
    drawn = [ax for ax in fig.axes if ax.axison]
    assert all(ax.get_xlabel() or ax.get_xticklabels()[0].get_text() for ax in drawn)
    assert not drawn or drawn[0].get_ylabel()


@pytest.mark.parametrize(
    "draw",
    [
        lambda: figures.learning_curves({}),
        lambda: figures.live_curves({"ESBN": a_run(None, finished=False)}),
        lambda: figures.problem("distribution_of_three", IMAGES, MADE["rmts"], 0),
        lambda: figures.memory(IMAGES[:9], traced(), 10),
        lambda: figures.memory(IMAGES[:9], traced("esbn_default_memory"), 1),
    ],
)
def test_what_cannot_be_drawn_is_named(draw):
    with pytest.raises(ValueError):  # noqa: PT011
        draw()


def test_learning_curves_draw_the_mean_in_its_band():
    ax = figures.learning_curves(CURVES).axes[0]
    (line,) = ax.lines
    assert line.get_ydata().tolist() == [30, 95]
    band = ax.collections[0].get_paths()[0].vertices
    assert band[band[:, 0] == 1][:, 1].max() == pytest.approx(40)  # SEM of 20 and 40 is 10
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ESBN (n=2)"]
    assert texts(ax) == ["not run: LSTM, RN"]


def test_learning_curves_of_runs_that_were_logged_at_other_updates_meet_where_all_were():
    sparse, dense = record((20, 90)), record((40, 60, 100))
    sparse["curve"]["update"], dense["curve"]["update"] = [1, 21], [1, 11, 21]
    (line,) = figures.learning_curves({"one": {"ESBN": [sparse, dense]}}).axes[0].lines
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([1, 21], [30, 95])


def test_several_panels_of_learning_curves_share_a_legend_with_every_network_once():
    one, other = (
        {"ESBN": [record((20, 90)), record((40, 100))]},
        {"ESBN": [record((20, 90))], "RN": [record((1, 2))]},
    )
    fig = figures.learning_curves({"one": one, "other": other})
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["ESBN", "RN"]
    assert all(ax.get_legend() is None for ax in fig.axes)


def test_live_curves_put_the_test_beside_training():
    left, right = FIGURES["live_curves"]().axes
    assert [line.get_ydata()[-1] for line in left.lines] == [80, 80, 80, 25]
    assert [line.get_ydata().tolist() for line in right.lines[:2]] == [[99, 98], [30]]


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
    right = int(THREE.answers[3])
    examples = {"asked": (THREE, 3, -1), "solved": (THREE, 3, right), "missed": (THREE, 3, (right + 1) % 4)}
    axes = figures.chosen("distribution_of_three", IMAGES, examples).axes
    assert [ax.get_title() for ax in axes] == list(examples)
    frames = [[patch.get_linestyle() for patch in ax.patches if patch.get_linewidth() == 2] for ax in axes]
    assert frames == [["-"], ["-"] * 2, ["-"] * 2 + ["--"]]


def test_memory_prints_weights_and_confidences_of_the_step():
    trace = traced()
    ax = figures.memory(IMAGES[THREE.ids[0]], trace, 4).axes[0]
    for entry in range(4):
        assert f"{trace.weights[0, 4, entry]:.2f}" in texts(ax)
        assert f"{trace.confidences[0, 4, entry]:.2f}" in texts(ax)
    assert any(text.startswith(f"gate {trace.gates[0, 4]:.2f},  confidence read") for text in texts(ax))


def touches(point, centre, width, _):
    return abs(point[0] - centre[0]) <= width / 2 + 0.01 and abs(point[1] - centre[1]) <= 0.45


def test_the_streams_meet_only_in_memory():
    ax = diagram.two_streams().axes[0]
    assert set(diagram.BOXES) <= set(texts(ax))
    shades = {name: shade for name, (_, _, shade) in diagram.BOXES.items()}
    for start, end, _, shade in diagram.ARROWS.values():
        touched = {name for name, box in diagram.BOXES.items() if touches(start, *box) or touches(end, *box)}
        assert len(touched) == 2
        if {shades[name] for name in touched} == {diagram.KEYS, diagram.VALUES}:
            assert touched == {"values $M_v$", "keys $M_k$"}
            assert shade == RULE


def test_figure_9_draws_the_three_clouds_it_promises():
    keys = collected()
    whole, first, again = figures.key_plane(keys, keys, THREE, THREE).axes
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


def test_decoding_is_drawn_in_percent_with_its_confusion():
    left, right = FIGURES["decoding"]().axes
    assert left.lines[1].get_ydata().tolist() == [50, 12.5]
    assert left.lines[2].get_ydata()[0] == 50  # chance
    assert texts(right) == ["100", "75", "25"]
