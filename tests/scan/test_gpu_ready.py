"""Off the CPU without a GPU: steps of forms that `tests/test_gpu_ready.py` leaves out, and networks alone."""

import pytest
import torch
from other_device import OTHER, OtherDevice
from steps_elsewhere import check_a_step_elsewhere

from mini_lib.scan import runs, tasks
from mini_lib.scan.grammar import derive
from mini_lib.scan.meta_tasks import training_episode
from mini_lib.scan.models.meta_seq2seq import MetaSeq2Seq, loss
from mini_lib.scan.tasks import encode, get_split
from scan.networks import COMMANDS, FORMS, NETWORKS
from scan.runs import small

STEPS = {
    "everything": small(options=FORMS["everything"]),  # every branch that the default form does not take
    "- dep": small("gru_attention", options={"dependency": False}),
    "gold": small("li", options={"decoder_input": "gold"}),
}


@pytest.fixture
def short(monkeypatch):
    """Commands of four actions at most, since the other device is slow."""
    commands = [command for command in get_split("size_1").train if len(derive(command)) <= 4]
    monkeypatch.setattr(runs, "get_split", lambda name: tasks.Split(commands, commands[:5]))
    monkeypatch.setattr(tasks, "MOST_ACTIONS", 5)


@pytest.mark.parametrize("form", STEPS)
def test_a_form_learns_as_on_the_cpu_alone_and_stacked_and_waits_for_nothing(form, short):
    check_a_step_elsewhere(STEPS[form].to_dict())


@pytest.mark.parametrize("name", NETWORKS)
def test_noise_of_its_own_is_drawn_where_the_network_lies(name):
    with OtherDevice():
        network, examples = NETWORKS[name]().to(OTHER), encode(COMMANDS).to(OTHER)
        assert network(*examples).device == OTHER
        assert network.predict(examples.words, examples.lengths, 3).device == OTHER


def test_an_episode_of_meta_seq2seq_stays_on_its_device():
    with OtherDevice():
        network = MetaSeq2Seq(size=6).to(OTHER)
        support, query = training_episode(1, 0, shown=3, asked=2).to(OTHER)
        drawn = network.noise(3, 5, tasks.MOST_WORDS, tasks.MOST_ACTIONS, torch.Generator())
        noise = {name: each.to(OTHER) for name, each in drawn.items()}
    with OtherDevice(waits=False):
        loss(network(support, query, noise), query.actions).backward()
    with OtherDevice():
        assert {each.grad.device for each in network.parameters()} == {OTHER}
