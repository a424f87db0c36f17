"""On a GPU: a stack learns as each network alone, the GPU as the CPU, and what was stopped goes on as it was."""

from dataclasses import replace

import pytest
import torch
from torch.nn.utils import parameters_to_vector

from mini_lib.cuda_graphs import WARM_UP
from mini_lib.devices import use_precision
from mini_lib.reproduction.cells import paper_module
from mini_lib.reproduction.doctor import TINY
from mini_lib.training import TrainingStack, train

pytestmark = pytest.mark.cuda

CPU, GPU = torch.device("cpu"), torch.device("cuda")
ONE_A_PAPER = ("esbn esbn", "scan syntactic_attention", "functions relational_window", "kanerva product")


def build(name, seed=1):
    return paper_module(TINY[name]["paper"]).build(TINY[name], seed)


def stack_of(name, networks=2, device=GPU, **how):
    """One network of a kind alone, or a stack of the first seeds."""
    return TrainingStack([build(name, seed + 1) for seed in range(networks)], device, networks > 1, **how)


def to_device(batch, stack):
    """A batch where the stack is, the noise in it included."""
    return {k: to_device(v, stack) if isinstance(v, dict) else stack.move(v) for k, v in batch.items()}


def gradients(stack):
    """Of each network of a stack, as rows [R, n], on the CPU."""
    grads = [value.grad for value in stack.params.values() if value.grad is not None]
    return torch.cat([grad.reshape(len(stack.runs), -1) for grad in grads], dim=1).cpu()


def check_same(ours, theirs):
    """Gradients differ by rounding alone."""
    assert ((ours - theirs).norm(dim=1) <= 1e-3 * theirs.norm(dim=1) + 1e-6).all()


def first_update(stack, batch):
    """Losses before and after an update of this batch [2, R], and the gradients [R, n]."""
    batch = to_device(batch, stack)
    with use_precision("fp32", stack.device):
        before, _ = stack.gradients(batch)
        found = gradients(stack)  # now, since some optimizers write into gradients
        stack.optimizer_step()
        return torch.stack([before, stack.losses(batch)[0]]).detach().cpu(), found


@pytest.mark.parametrize("networks", [1, 2])
@pytest.mark.parametrize("name", TINY)
def test_a_gpu_learns_as_the_cpu_alone_and_stacked(name, networks):
    """The batch and its noise are drawn on the CPU, so that both compute with the same numbers."""
    here = stack_of(name, networks, CPU)
    batch = here.batch(0)
    losses, right = first_update(here, batch)
    found, ours = first_update(stack_of(name, networks), batch)
    torch.testing.assert_close(found, losses, rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(found[0], losses[0], rtol=1e-4, atol=1e-5)
    check_same(ours, right)


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_an_update_waits_for_nothing(name, record):
    stack = stack_of(name, record=record)
    batch = stack.batch(0)
    for _ in range(WARM_UP + 1):  # what is made once, such as tables, and the recording
        stack.step(batch)
    assert record == (stack.recording is not None and stack.recording.graph is not None)
    torch.cuda.set_sync_debug_mode("error")
    try:
        stack.step(batch)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def check_replays(name, networks, updates=(0,)):
    """A stack that has recorded its update gives each of these batches the gradients of one that records none."""
    recorded, plain = (stack_of(name, networks, record=record) for record in (True, False))
    with use_precision("fp32", GPU):
        for update in range(WARM_UP + 1):
            recorded.step(recorded.batch(update % recorded.first.updates))
        assert recorded.recording.graph is not None
        with torch.no_grad():
            for key, value in plain.params.items():
                value.copy_(recorded.params[key])
        for update in updates:
            batch = recorded.batch(update % recorded.first.updates)
            losses, _ = recorded.gradients(batch)
            torch.testing.assert_close(losses, plain.gradients(batch)[0], rtol=1e-4, atol=1e-5)
            check_same(gradients(recorded), gradients(plain))


@pytest.mark.parametrize("networks", [1, 2])
@pytest.mark.parametrize("name", TINY)
def test_a_replay_gives_the_gradients_of_its_batch(name, networks):
    check_replays(name, networks, updates=(1, 2, 0))


def test_what_cannot_be_recorded_is_trained_all_the_same():
    run = build("esbn lstm")

    def loss(model, batch):
        value, score = run.loss(model, batch)
        return value * float(value.item() > 0), score  # waits for the GPU

    failing = TrainingStack([replace(run, loss=loss)], GPU, stacked=False)
    plain = stack_of("esbn lstm", 1, record=False)
    with use_precision("fp32", GPU):
        with pytest.warns(RuntimeWarning, match="trained without a CUDA graph"):
            found = [failing.step(failing.batch(update))[0].item() for update in range(WARM_UP + 3)]
        right = [plain.step(plain.batch(update))[0].item() for update in range(WARM_UP + 3)]
    assert found == pytest.approx(right, rel=1e-3)
    assert failing.recording.failed
    torch.cuda.empty_cache()  # PyTorch's memory is in order, and the next one can be recorded:
    check_replays("esbn lstm", 1)


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("name", ONE_A_PAPER)
def test_what_was_stopped_goes_on_as_if_it_was_not(name, stacked, tmp_path):
    """Curve and weights. A GPU may add in another order each time, and an optimizer that divides by the size of a
    gradient makes much of that where there is hardly one: so weights may differ by a hundredth of the way they went.
    """

    def short(seed):
        run = build(name, seed)
        return replace(run, epochs=4, examples=3 * run.batch_size, evaluate=lambda model: {})

    def train_both(**how):
        return train([short(1), short(2)], device=GPU, stacked=stacked, **how)

    def weights(run):
        return parameters_to_vector(run.model.parameters()).detach().cpu().double()

    whole = train_both()
    train_both(checkpoints=tmp_path, stop=lambda update: update >= 7)
    for seed, one, other in zip((1, 2), whole, train_both(checkpoints=tmp_path), strict=True):
        assert one.device.type == "cuda"
        assert one.updates == other.updates == 12
        assert other.curve["loss"] == pytest.approx(one.curve["loss"], rel=1e-2)
        way = weights(one) - weights(short(seed))
        assert (weights(other) - weights(one)).norm() < 1e-2 * way.norm()
