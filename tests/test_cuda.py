"""On a GPU: a stack learns as each network alone, the GPU as the CPU, and what was stopped goes on as it was."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch.nn.utils import parameters_to_vector

from mini_lib.cuda_graphs import WARM_UP
from mini_lib.devices import use_precision
from mini_lib.layers import dropout_masks
from mini_lib.reproduction.cells import paper_module
from mini_lib.reproduction.doctor import TINY
from mini_lib.seeding import torch_rng
from mini_lib.training import Batch, TrainingRun, TrainingStack, train

pytestmark = pytest.mark.cuda

CPU, GPU = torch.device("cpu"), torch.device("cuda")
ONE_A_WING = ("esbn esbn", "scan syntactic_attention", "functions relational_window", "kanerva product")


def build(name: str, seed: int = 1) -> TrainingRun:
    return paper_module(TINY[name]["paper"]).build(TINY[name], seed)


def step_numbers(run: TrainingRun, device: torch.device) -> list[float]:
    """The loss of a first update, the norm of its gradient, and the loss of the same batch after it.

    The batch and its noise are drawn on the CPU, so that every device computes with the same numbers.
    """
    batch = TrainingStack([run], torch.device("cpu"), stacked=False).batch(0)
    stack = TrainingStack([run], device, stacked=False)
    with use_precision("fp32", device):
        batch = to_device(batch, stack)
        before, _ = stack.gradients(batch)
        gradients = [p.grad.flatten() for p in stack.params.values() if p.grad is not None]
        norm = torch.cat(gradients).norm()  # now, since some optimizers write into gradients
        stack.optimizer_step()
        after, _ = stack.losses(batch)
    return [before.item(), norm.item(), after.item()]


def to_device(batch: Batch, stack: TrainingStack) -> Batch:
    """A batch where the stack is, the noise in it included."""
    return {
        name: to_device(value, stack) if isinstance(value, dict) else stack.move(value)
        for name, value in batch.items()
    }


@pytest.mark.parametrize("name", TINY)
def test_a_gpu_learns_as_the_cpu(name):
    before, gradient, after = step_numbers(build(name), CPU)
    assert step_numbers(build(name), GPU) == [
        pytest.approx(before, rel=1e-4),
        pytest.approx(gradient, rel=1e-3),
        pytest.approx(after, rel=1e-3),
    ]


@pytest.mark.parametrize("name", TINY)
def test_a_stack_learns_as_each_alone(name):
    with use_precision("fp32", GPU):
        stack = TrainingStack([build(name, seed) for seed in (1, 2)], GPU, stacked=True)
        examples = TrainingStack([build(name, seed) for seed in (1, 2)], CPU, stacked=True).batch(0)
        losses, _ = stack.step(to_device(examples, stack))
        for i, seed in enumerate((1, 2)):
            alone = TrainingStack([build(name, seed)], GPU, stacked=False)
            own = TrainingStack([build(name, seed)], CPU, stacked=False).batch(0)
            loss, _ = alone.step(to_device(own, alone))
            torch.testing.assert_close(losses[i], loss[0], rtol=1e-4, atol=1e-5)
            for key, parameter in alone.params.items():
                if parameter.grad is not None:
                    off = (stack.params[key].grad[i] - parameter.grad).norm()
                    assert off <= 1e-3 * parameter.grad.norm() + 1e-6, key


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_an_update_waits_for_nothing(name, record):
    stack = TrainingStack([build(name, seed) for seed in (1, 2)], GPU, stacked=True, record=record)
    batch = stack.batch(0)
    for _ in range(WARM_UP + 1):  # what is made once, such as tables, and the recording
        stack.step(batch)
    assert record == (stack.recording is not None and stack.recording.graph is not None)
    torch.cuda.set_sync_debug_mode("error")
    try:
        stack.step(batch)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def recorded_and_plain(build_runs: Callable[[], list[TrainingRun]]) -> tuple[TrainingStack, TrainingStack]:
    """Two stacks of equal runs; the first has recorded its update, the second has its weights and records none."""
    recorded, plain = (
        TrainingStack(runs := build_runs(), GPU, stacked=len(runs) > 1, record=each) for each in (True, False)
    )
    with use_precision("fp32", GPU):
        for update in range(WARM_UP + 1):
            recorded.step(recorded.batch(update % recorded.first.updates))
    assert recorded.recording.graph is not None
    with torch.no_grad():
        for name, value in plain.params.items():
            value.copy_(recorded.params[name])
    return recorded, plain


def check_same(recorded: TrainingStack, plain: TrainingStack, batch: dict) -> None:
    """Losses and gradients of a batch."""
    with use_precision("fp32", GPU):
        losses, _ = recorded.gradients(batch)
        right, _ = plain.gradients(batch)
    torch.testing.assert_close(losses, right, rtol=1e-4, atol=1e-5)
    for name, parameter in plain.params.items():
        ours, theirs = recorded.params[name].grad, parameter.grad
        assert (ours is None) == (theirs is None), name
        if ours is not None:
            assert (ours - theirs).norm() <= 1e-3 * theirs.norm() + 1e-6, name


@pytest.mark.parametrize("networks", [1, 2])
@pytest.mark.parametrize("name", TINY)
def test_a_replay_gives_the_gradients_of_its_batch(name, networks):
    recorded, plain = recorded_and_plain(lambda: [build(name, seed) for seed in range(1, networks + 1)])
    for update in (1, 2, 0):
        check_same(recorded, plain, recorded.batch(update % recorded.first.updates))


def test_a_batch_of_another_size_is_computed_as_it_is():
    recorded, plain = recorded_and_plain(lambda: [build("esbn lstm")])
    whole = recorded.batch(0)
    smaller = whole | {name: whole[name][:3] for name in ("where", "answer")}
    for batch in (smaller, whole, smaller):
        check_same(recorded, plain, batch)


def test_what_cannot_be_recorded_is_trained_all_the_same():
    run = build("esbn lstm")

    def loss(apply, batch):
        value, score = run.loss(apply, batch)
        return value * float(value.item() > 0), score  # waits for the GPU

    recorded = TrainingStack([replace(run, loss=loss)], GPU, stacked=False)
    plain = TrainingStack([build("esbn lstm")], GPU, stacked=False, record=False)
    with pytest.warns(RuntimeWarning, match="trained without a CUDA graph"), use_precision("fp32", GPU):
        found = [recorded.step(recorded.batch(update))[0].item() for update in range(WARM_UP + 3)]
    with use_precision("fp32", GPU):
        right = [plain.step(plain.batch(update))[0].item() for update in range(WARM_UP + 3)]
    assert found == pytest.approx(right, rel=1e-3)
    assert recorded.recording.failed
    torch.cuda.empty_cache()  # PyTorch's memory is in order, and the next one can be recorded:
    recorded_and_plain(lambda: [build("esbn lstm")])


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("name", ONE_A_WING)
def test_what_was_stopped_goes_on_as_if_it_was_not(name, stacked, tmp_path):
    """Curve and weights. A GPU may add in another order each time, and an optimizer that divides by the size of a
    gradient makes much of that where there is hardly one: so weights may differ by a hundredth of the way they went.
    """

    def short(seed: int) -> TrainingRun:
        run = build(name, seed)
        return replace(
            run, epochs=4, examples=3 * run.batch_size, evaluate=lambda model: {"test_accuracy": 0.0}
        )

    def train_both(**how) -> list:
        return train([short(1), short(2)], device=GPU, stacked=stacked, **how)

    def weights(model: torch.nn.Module) -> torch.Tensor:
        return parameters_to_vector(model.parameters()).detach().cpu().double()

    whole = train_both()
    train_both(checkpoints=tmp_path, stop=lambda update: update >= 7)
    resumed = train_both(checkpoints=tmp_path)
    for seed, one, other in zip((1, 2), whole, resumed, strict=True):
        assert one.device.type == "cuda"
        assert one.updates == other.updates == 12
        assert other.curve["loss"] == pytest.approx(one.curve["loss"], rel=1e-2)
        way = weights(one.model) - weights(short(seed).model)
        assert (weights(other.model) - weights(one.model)).norm() < 1e-2 * way.norm()


def test_a_stream_of_the_gpu_gives_tensors_there():
    masks = dropout_masks({"words": (2, 3)}, 0.5, torch_rng(1, "noise", device=GPU))
    assert masks["words"].device.type == "cuda"
