"""Off the CPU without a GPU: networks alone. Updates of all networks: see `tests/test_gpu_ready.py`."""

import pytest
from other_device import OTHER, OtherDevice

from mini_lib.scan import cnn
from mini_lib.scan.meta_seq2seq import MetaSeq2Seq
from mini_lib.scan.tasks import encode
from scan.networks import COMMANDS, NETWORKS


@pytest.mark.parametrize("name", NETWORKS)
def test_noise_of_its_own_is_drawn_where_the_network_lies(name):
    with OtherDevice():
        network, examples = NETWORKS[name]().to(OTHER), encode(COMMANDS).to(OTHER)
        assert network(*examples.tensors).device == OTHER
        assert network.predict(examples.words, examples.lengths, 3).device == OTHER


def test_an_episode_of_meta_seq2seq_stays_on_its_device():
    with OtherDevice():
        network = MetaSeq2Seq(size=6).to(OTHER)
        support, query = encode(COMMANDS[:3]).to(OTHER), encode(COMMANDS).to(OTHER)
    with OtherDevice(waits=False):
        cnn.loss(network(support, query), query.actions).backward()
    with OtherDevice():
        assert {each.grad.device for each in network.parameters()} == {OTHER}
