import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from mini_lib.datasets import glyphs
from mini_lib.esbn import analysis
from mini_lib.esbn.models import build_network
from mini_lib.esbn.tasks import TASKS, Problems, make_problems
from mini_lib.reproduction import Cell, Comparison, Measured, Printed
from mini_lib.reproduction.esbn.figures import diagram, keys, learning, problems
from mini_lib.reproduction.plotting import COLOURS, OKABE_ITO, RULE
from mini_lib.seeding import seeded
from mini_lib.training import Run


@pytest.fixture(autouse=True)
def headless():
    """Draw without a screen, and leave no figure open."""
    mpl.use("agg")
    yield
    plt.close("all")


def comparison(row="ESBN + TCN", m=95, values=(99.0, 98.0), paper=99.7, model="esbn", **more):
    cell = Cell("esbn.table11", row, f"m={m}", {"model": model, "m": m}, 10, "esbn.table11", **more)
    printed = None if paper is None else Printed(paper, 0.1, "SEM", 10, "%")
    return Comparison(cell, printed, Measured(tuple(values)))


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


# ------------------------------------------------------------------------------------------------ Figure 3


def test_every_seed_is_a_dot_and_the_paper_a_diamond():
    fig = learning.accuracy_by_regime([comparison(values=(99.0, 98.0, 97.0))])
    dots, paper = fig.axes[0].lines
    assert dots.get_ydata().tolist() == [99, 98, 97]
    assert dots.get_color() == COLOURS["esbn"]
    assert (paper.get_ydata()[0], paper.get_marker(), paper.get_fillstyle()) == (99.7, "D", "none")
    assert fig.axes[0].collections[-1].get_segments()[0][0, 1] == 98


def test_cells_without_runs_say_so_on_the_figure():
    fig = learning.accuracy_by_regime([
        comparison(m=0, values=()), comparison(), comparison("RN + TCN", 0, (), None, "rn")
    ])  # fmt: skip
    assert texts(fig.axes[0]) == ["not run", "not run"]
    assert [tick.get_text() for tick in fig.axes[0].get_xticklabels()] == ["m=0", "m=95"]


def test_rows_of_one_network_share_its_colour_and_differ_in_marker():
    rows = [
        comparison("ESBN (conv)"),
        comparison("ESBN (MLP)"),
        comparison("Transformer (conv)", model="transformer"),
    ]
    legend = learning.accuracy_by_regime(rows).legends[0]
    looks = {line.get_label(): (line.get_color(), line.get_marker()) for line in legend.legend_handles}
    assert looks["ESBN (conv)"] == (COLOURS["esbn"], "o")
    assert looks["ESBN (MLP)"] == (COLOURS["esbn"], "s")
    assert looks["Transformer (conv)"] == (COLOURS["transformer"], "o")


def test_variants_are_left_out_and_nothing_left_is_an_error():
    variant = comparison(variant="released images")
    fig = learning.accuracy_by_regime([comparison(), variant], {"esbn.table11": 25.0})
    assert len(fig.axes[0].lines) == 3  # dots, the paper, the guess
    with pytest.raises(ValueError, match="nothing to draw"):
        learning.accuracy_by_regime([variant])


# ------------------------------------------------------------------------------------------------ curves


def test_learning_curves_draw_the_mean_in_its_band():
    fig = learning.learning_curves({"task": {"ESBN": [record([20, 90]), record([40, 100])], "RN": []}})
    ax = fig.axes[0]
    assert ax.lines[0].get_ydata().tolist() == [30, 95]
    band = ax.collections[0].get_paths()[0].vertices
    assert band[band[:, 0] == 1][:, 1].max() == pytest.approx(40)  # SEM of 20 and 40 is 10
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ESBN (n=2)"]
    assert texts(ax) == ["not run: RN"]


def test_a_single_run_has_no_band_and_diverged_runs_no_curve():
    fig = learning.learning_curves(
        {"a": {"LSTM": [record([1, 2])]}, "b": {"LSTM": [record([1], diverged=True)]}}
    )
    assert not fig.axes[0].collections
    assert not fig.axes[1].lines
    assert texts(fig.axes[1]) == ["not run: LSTM"]
    with pytest.raises(ValueError, match="at least one panel"):
        learning.learning_curves({})


def test_live_curves_put_the_test_beside_training():
    fig = learning.live_curves({"ESBN": [a_run(99.0), a_run(98.0)], "LSTM": a_run(30.0)}, chance=25.0)
    left, right = fig.axes
    assert [line.get_ydata()[-1] for line in left.lines] == [80, 80, 80, 25]
    assert [line.get_ydata().tolist() for line in right.lines[:2]] == [[99, 98], [30]]
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["ESBN", "LSTM"]


def test_live_curves_refuse_untested_runs():
    with pytest.raises(ValueError, match="'ESBN' has no test accuracy"):
        learning.live_curves({"ESBN": a_run(None, finished=False)})
    with pytest.raises(ValueError, match="at least one run"):
        learning.live_curves({})


# ------------------------------------------------------------------------------------------------ problems


@pytest.mark.parametrize("task", TASKS)
def test_a_problem_shows_its_images_in_order_and_frames_the_answer(task):
    images = glyphs()
    made = make_problems(task, 50, seed=1, train_size=10, test_size=1).train
    ax = problems.problem(task, images, made, 3).axes[0]
    assert len(ax.images) == TASKS[task].length
    for shown, image in zip(ax.images, images[made.ids[3]], strict=True):
        assert np.array_equal(shown.get_array(), image)
    frames = [
        patch for patch in ax.patches if mpl.colors.to_hex(patch.get_edgecolor()) == problems.RIGHT.lower()
    ]
    hidden = problems.problem(task, images, made, 3, answer=False).axes[0]
    assert len(ax.patches) - len(hidden.patches) == len(frames) == (task != "same_different")
    if frames:
        first = {"rmts": 2 + 2 * made.answers[3]}.get(task, 5 + made.answers[3])
        assert frames[0].get_x() == pytest.approx(ax.images[first].get_extent()[0], abs=0.05)


def test_a_problem_of_another_task_is_refused():
    wrong = Problems(torch.zeros(1, 6, dtype=torch.long), torch.zeros(1, dtype=torch.long))
    with pytest.raises(ValueError, match="distribution-of-three has 9 images, this one has 6"):
        problems.problem("distribution_of_three", glyphs(), wrong, 0)


def test_gallery_frames_the_marked_images():
    ax = problems.gallery(glyphs()[:7], marked=[2, 5], columns=4).axes[0]
    framed = [
        patch for patch in ax.patches if mpl.colors.to_hex(patch.get_edgecolor()) == OKABE_ITO[1].lower()
    ]
    assert len(ax.images) == 7
    assert [(round(patch.get_x()), round(patch.get_y())) for patch in framed] == [(2, 0), (1, 1)]


# ------------------------------------------------------------------------------------------------ memory


@pytest.fixture(scope="module")
def traced():
    made = make_problems("distribution_of_three", 50, seed=1, train_size=3, test_size=1).train
    torch.manual_seed(0)
    network = build_network("esbn", classes=4, windows=(9,), width=0.125)
    with torch.no_grad():
        return glyphs(), made, network.core.trace(network.embed(glyphs(), made.ids))


def test_memory_prints_weights_and_confidences_of_the_step(traced):
    images, made, trace = traced
    ax = problems.memory(images[made.ids[0]], trace, 4).axes[0]
    for entry in range(4):
        assert f"{trace.weights[0, 4, entry]:.2f}" in texts(ax)
        assert f"{trace.confidences[0, 4, entry]:.2f}" in texts(ax)
    assert any(text.startswith(f"gate {trace.gates[0, 4]:.2f},  confidence read") for text in texts(ax))


def test_the_entry_that_is_read_stands_out(traced):
    images, made, trace = traced
    weights = trace.weights.clone()
    weights[0, 4, :4] = torch.tensor([0.0, 0.9, 0.1, 0.0])
    ax = problems.memory(images[made.ids[0]], trace._replace(weights=weights), 4).axes[0]
    orange = [p for p in ax.patches if mpl.colors.to_hex(p.get_facecolor()) == OKABE_ITO[1].lower()]
    assert {round(patch.get_y()) for patch in orange} == {1}
    assert orange[0].get_width() == pytest.approx(0.9 * 2.6)


def test_memory_refuses_steps_and_networks_that_it_cannot_draw(traced):
    images, made, trace = traced
    with pytest.raises(ValueError, match="step 10 is not there"):
        problems.memory(images[made.ids[0]], trace, 10)
    other = build_network("esbn_default_memory", classes=4, windows=(9,), width=0.125)
    with torch.no_grad():
        defaulted = other.core.trace(other.embed(images, made.ids))
    with pytest.raises(ValueError, match="default entry"):
        problems.memory(images[made.ids[0]], defaulted, 1)


# ------------------------------------------------------------------------------------------------ Figure 2


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


# ------------------------------------------------------------------------------------------------ keys


def test_figure_9_draws_the_three_clouds_it_promises():
    part = make_problems("distribution_of_three", 50, 1, train_size=300, test_size=40).train
    with seeded(0, "test"):
        network = build_network("esbn", classes=4, windows=(9,), width=0.125)
    analysis.randomise(network.core, seed=0)
    collected = analysis.collect_keys(network, glyphs(), part)
    whole, first, again = keys.key_plane(collected, collected, part, part).axes
    assert first.get_xlim() == again.get_xlim()
    assert first.get_ylim() == again.get_ylim()
    plane = analysis.fit_plane(collected, collected)
    drawn = [cloud.get_offsets().data for cloud in whole.collections]  # the last step first
    np.testing.assert_allclose(
        np.stack(drawn[::-1], axis=1), analysis.project(plane, collected.written[:, :-1])
    )
    reads = analysis.project(plane, analysis.keys_at_reappearance(collected, part))
    for ax, points in ((first, analysis.project(plane, collected.written[:, :3])), (again, reads)):
        test, train = ax.collections[:3], ax.collections[3:]
        for step, clouds in enumerate(zip(test, train, strict=True)):
            for cloud in clouds:
                np.testing.assert_allclose(cloud.get_offsets().data, points[:, step])


def test_decoding_is_drawn_in_percent_with_its_confusion():
    share, confusion = np.array([1.0, 0.25]), np.array([[1.0, 0.0], [0.75, 0.25]])
    left, right = keys.decoding({"one": share, "two": share / 2}, confusion, of="one").axes
    assert left.lines[1].get_ydata().tolist() == [50, 12.5]
    assert left.lines[2].get_ydata()[0] == 50  # chance
    assert texts(right) == ["100", "75", "25"]
