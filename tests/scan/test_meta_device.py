"""Training steps on PyTorch's meta device, whose tensors have no values: who reads one back, or leaves a tensor on
the CPU, is refused. So nothing here would wait for a GPU, or mix devices, as long as it trains.
"""

from functools import partial

import pytest
import torch
from torch.func import functional_call, stack_module_state

from mini_lib.scan import recipes
from mini_lib.scan.meta_tasks import training_episode
from mini_lib.scan.models import meta_seq2seq
from mini_lib.scan.runs import Settings, build
from mini_lib.scan.tasks import encode
from scan.runs import FORMS, small
from scan.small import COMMANDS, NETWORKS

META = torch.device("meta")
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


def on_meta(tensors):
    return {
        name: on_meta(each) if isinstance(each, dict) else each.to(META) for name, each in tensors.items()
    }


def first_batch(run):
    """The examples of the first update and their noise, which is drawn without a look at what lies on the device."""
    batch = on_meta({name: each[: run.batch_size] for name, each in run.epoch(0).items()})
    return batch | {"noise": on_meta(run.noise(0, batch))}


def check_gradients(parameters):
    learned = [each for each in parameters if each.requires_grad]
    assert learned
    assert all(each.grad.device == META for each in learned)


@pytest.mark.parametrize("name", RUNS)
def test_a_training_step_stays_on_its_device(name, few, monkeypatch):
    monkeypatch.setattr(recipes, "LINES", 60)
    run = build(RUNS[name], 1)
    network = run.model.to(META)
    loss, score = run.loss(network, first_batch(run) | on_meta(run.constants))
    loss.backward()
    assert loss.device == score.device == META
    check_gradients(network.parameters())


@pytest.mark.parametrize("name", RUNS)
def test_a_stack_of_training_steps_stays_on_its_device(name, few, monkeypatch):
    monkeypatch.setattr(recipes, "LINES", 60)
    runs = [build(RUNS[name], seed) for seed in (1, 2)]
    batches, constants = [first_batch(run) for run in runs], on_meta(runs[0].constants)
    parameters, buffers = stack_module_state([run.model.to(META) for run in runs])
    stacked = {key: torch.stack([each[key] for each in batches]) for key in batches[0] if key != "noise"}
    noise = {key: torch.stack([each["noise"][key] for each in batches]) for key in batches[0]["noise"]}

    def alone(parameters, buffers, batch):
        apply = partial(functional_call, runs[0].model, (parameters, buffers))
        return runs[0].loss(lambda *a, **k: apply(a, k), batch | constants)

    losses, scores = torch.vmap(alone)(parameters, buffers, stacked | {"noise": noise})
    losses.sum().backward()
    assert losses.device == scores.device == META
    check_gradients(parameters.values())


@pytest.mark.parametrize("name", NETWORKS)
def test_noise_of_its_own_is_drawn_where_the_network_lies(name):
    network, examples = NETWORKS[name]().to(META), encode(COMMANDS).to(META)
    assert network(*examples).device == META
    assert network.predict(examples.words, examples.lengths, 3).device == META


def test_an_episode_of_meta_seq2seq_stays_on_its_device():
    network = meta_seq2seq.MetaSeq2Seq(size=6).to(META)
    support, query = training_episode(1, 0, shown=3, asked=2).to(META)
    meta_seq2seq.loss(network(support, query), query.actions).backward()
    check_gradients(network.parameters())
