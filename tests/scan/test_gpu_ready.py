"""Off the CPU without a GPU: networks alone. Updates of all networks: see `tests/test_gpu_ready.py`."""

import pytest
import torch
from other_device import OTHER, OtherDevice

from mini_lib.scan import tasks
from mini_lib.scan.meta_tasks import training_episode
from mini_lib.scan.models.calls import cross_entropy
from mini_lib.scan.models.meta_seq2seq import MetaSeq2Seq
from mini_lib.scan.tasks import encode
from scan.networks import COMMANDS, NETWORKS


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
        cross_entropy(network(support, query, noise), query.actions).backward()
    with OtherDevice():
        assert {each.grad.device for each in network.parameters()} == {OTHER}
