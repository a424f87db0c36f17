"""Networks and the memory compile as one graph, in a process of its own, as the tests' checks of types do not."""

import subprocess
import sys

import pytest

COMPILED = """
import numpy as np, torch
from mini_lib.kanerva import MixtureKanerva, MLPDecoder, MLPEncoder, ProductKanerva, ProductMemory
from mini_lib.scan import CNN, GRUAttention, LiNetwork, SyntacticAttention, encode

def answers(codes):
    memory.reset()
    memory.write(codes, eta=0.5)
    return memory.read(codes).codes

examples, two, eight = encode(["jump", "walk left"]), np.int64(2), np.int32(8)  # which are no integers to Python
images, codes, memory = torch.rand(2, 4, 1, 2, 2).round(), torch.randn(6, 4), ProductMemory(4, 2, 5)
parts = MLPEncoder(1, 2, 3), MLPDecoder(1, 2, 3), 3, 2, 2
gru, cnn = GRUAttention(embedding=two, hidden=eight), CNN(dim=eight, kernel=two, layers=np.int64(1))
attention = SyntacticAttention(syntax=two, semantics=eight, words=np.int64(17))
li = LiNetwork(primitive=two, function=two, units=eight)
calls = [(answers, codes)]
memories = ProductKanerva(*parts, sample="full"), MixtureKanerva(*parts)
calls += [(each, images, None, each.draw_noise(2, 4)) for each in memories]
calls += [(network, *examples.tensors) for network in (attention, li, gru, cnn)]
calls += [(network.predict, examples.words, examples.lengths, 2) for network in (gru, cnn)]
for call, *given in calls:
    found = []
    for each in (call, torch.compile(call, fullgraph=True, backend="eager")):
        torch.manual_seed(1)
        found.append(each(*given))
    torch.testing.assert_close(*found)
"""


@pytest.mark.slow
def test_networks_and_the_memory_compile_as_one_graph_and_take_numpys_integers():
    subprocess.run([sys.executable, "-W", "ignore", "-c", COMPILED], check=True)
