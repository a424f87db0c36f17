"""Training steps on another device than the CPU, in every form: nothing mixes devices, waits for a GPU, or comes out
otherwise than on the CPU.
"""

import pytest
import torch
from other_device import OTHER, OtherDevice

from mini_lib.scan import recipes, runs, tasks
from mini_lib.scan.grammar import derive
from mini_lib.scan.meta_tasks import training_episode
from mini_lib.scan.models import meta_seq2seq
from mini_lib.scan.runs import Settings, build
from mini_lib.scan.tasks import encode, get_split
from mini_lib.training import TrainingStack
from scan.runs import CPU, FORMS, small
from scan.small import COMMANDS, NETWORKS

SIZES = {
    "gru_attention": {"embedding": 6, "hidden": 5},
    "cnn": {"dim": 6, "kernel": 3, "layers": 2},
    "li": {"primitive": 4, "function": 3, "units": 6},
}


def other(model, **options):
    sizes = {"lr": 0.1, "epochs": 1, "batch_size": 8 if model != "cnn" else 60, "validation": "none"}
    return Settings("size_1", model, **sizes, options=SIZES[model] | options)


RUNS = {str(options) if options else "syntactic_attention": small(options=options) for options in FORMS}
RUNS |= {model: other(model) for model in SIZES}
RUNS |= {"- dep": other("gru_attention", dependency=False), "gold": other("li", decoder_input="gold")}


def check_gradients(parameters):
    learned = [each for each in parameters if each.requires_grad]
    assert learned
    assert all(each.grad.device == OTHER for each in learned)


@pytest.fixture
def short(monkeypatch):
    """Commands of four actions at most, since the other device is slow."""
    commands = [command for command in get_split("size_1").train if len(derive(command)) <= 4]
    monkeypatch.setattr(runs, "get_split", lambda name: tasks.Split(commands, commands[:5]))
    monkeypatch.setattr(tasks, "MOST_ACTIONS", 5)
    monkeypatch.setattr(recipes, "LINES", 60)


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("name", RUNS)
def test_a_training_step_stays_on_its_device(name, stacked, short):
    seeds = (1, 2) if stacked else (1,)
    here = [TrainingStack([build(RUNS[name], seed)], CPU, stacked=False) for seed in seeds]
    with torch.no_grad():
        expected = torch.cat([torch.stack(each.losses(each.batch(0))) for each in here], dim=1)
    with OtherDevice():
        stack = TrainingStack([build(RUNS[name], seed) for seed in seeds], OTHER, stacked=stacked)
        batch = stack.batch(0)
    with OtherDevice(waits=False):
        losses, scores = stack.losses(batch)
        losses.sum().backward()
    with OtherDevice():
        assert losses.device == scores.device == OTHER
        check_gradients(stack.params.values())
        torch.testing.assert_close(
            torch.stack([losses, scores]).detach().cpu(), expected, rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("name", NETWORKS)
def test_noise_of_its_own_is_drawn_where_the_network_lies(name):
    with OtherDevice():
        network, examples = NETWORKS[name]().to(OTHER), encode(COMMANDS).to(OTHER)
        assert network(*examples).device == OTHER
        assert network.predict(examples.words, examples.lengths, 3).device == OTHER


def test_an_episode_of_meta_seq2seq_stays_on_its_device():
    with OtherDevice():
        network = meta_seq2seq.MetaSeq2Seq(size=6).to(OTHER)
        support, query = training_episode(1, 0, shown=3, asked=2).to(OTHER)
        drawn = network.noise(3, 5, tasks.MOST_WORDS, tasks.MOST_ACTIONS, torch.Generator())
        noise = {name: each.to(OTHER) for name, each in drawn.items()}
    with OtherDevice(waits=False):
        meta_seq2seq.loss(network(support, query, noise), query.actions).backward()
    with OtherDevice():
        check_gradients(network.parameters())
