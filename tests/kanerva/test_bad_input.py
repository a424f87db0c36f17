"""Whatever cannot be done gets one clear error that names what is wrong; a row for each public function."""

import math

import jaxtyping
import numpy as np
import pytest
import torch

from kanerva.cases import Case
from kanerva.whole import SIZES, build, make, noise_of, pictures
from mini_lib.errors import UsageError
from mini_lib.kanerva.analysis import class_means
from mini_lib.kanerva.dsprites import draw
from mini_lib.kanerva.evaluation import forget
from mini_lib.kanerva.generation import draw_noise, imagine
from mini_lib.kanerva.images import ConvEncoder, MLPDecoder, MLPEncoder
from mini_lib.kanerva.memory import columns_of, initial_means, write_episode
from mini_lib.kanerva.network import ProductKanerva
from mini_lib.kanerva.objective import Loss
from mini_lib.kanerva.product_memory import ProductMemory
from mini_lib.kanerva.runs import Settings, paper_settings, tutorial_settings
from mini_lib.kanerva.tasks import digits, evaluation, sample
from mini_lib.seeding import torch_rng

IMAGES, QUERIES = pictures()
NETWORK = make()
NOISE = noise_of(NETWORK)
CASE, ZERO = Case(), torch.tensor(0)


def memory(**options):
    return lambda: ProductMemory(**{"dim": 4, "machines": 2, "columns": 5} | options)


def run(**settings):
    return lambda: Settings(**{"task": "digits", "machines": 3} | settings)


# A word of the message, and the call.
CALLS = [
    (r"4 machines cannot share 30 columns.*1, 2, 3, 5, 6, 10, 15, 30", lambda: columns_of(30, 4)),
    ("columns", lambda: initial_means(2, 4, 0)),
    ("coupling", lambda: write_episode(CASE.state, CASE.codes, CASE.weights, coupling="products")),
    ("either columns", memory(total=10)),
    ("ridge", memory(ridge="a")),
    ("dtype", memory(dtype=torch.float16)),
    ("means", memory(means=torch.zeros(2, 5, 4))),
    ("a mixture needs gamma", lambda: memory(coupling="mixture")().write(torch.zeros(1, 4))),
    ("the choice of one", lambda: memory(coupling="mixture")().write(torch.zeros(1, 4), gamma=[0.5, 0.5])),
    (r"\[3, 2\], got \[9, 1\]", lambda: memory()().read(np.zeros((3, 4)), torch.ones(9, 1), empty=True)),
    ("3, T, 4", lambda: memory(episodes=3)().log_likelihood(torch.zeros(2, 6, 4))),
    ("assignment", lambda: build("mixture", **{"machines": 2, "total": 4} | SIZES, assignment="given")),
    ("encoder", lambda: ProductKanerva(MLPEncoder(1, 2, 4), NETWORK.decoder, 3, 2, 2)),
    ("'history'", lambda: NETWORK(IMAGES, noise={n: x for n, x in NOISE.items() if n != "history"})),
    ("'assignment'", lambda: NETWORK(IMAGES, QUERIES, NOISE | {"assignment": NOISE["assignment"][:, :3]})),
    ("images has to be", lambda: NETWORK(IMAGES.int())),
    ("divide bytes by 255", lambda: NETWORK.trace(255 * IMAGES)),
    ("queries", lambda: NETWORK(IMAGES, QUERIES[:1])),
    ("codes", lambda: NETWORK.write(torch.zeros(2, 3, 4).double())),
    ("codes", lambda: NETWORK.read(NETWORK.empty(2), torch.zeros(2, 0, 3).double())),
    ("tau", lambda: NETWORK(IMAGES, tau=1.0)),
    ("tau", lambda: make("mixture")(IMAGES, tau=torch.zeros(2))),
    ("20 pixels", lambda: ConvEncoder(1, 20, 5)),
    ("size", lambda: MLPDecoder(1, -8, 5)),
    ("reads", lambda: NETWORK.encoder(IMAGES[..., 0])),
    ("cannot imagine", lambda: imagine(make("mixture"), NETWORK.empty(2), {})),
    ("images", lambda: draw_noise(NETWORK, 2, 0)),
    ("machines 0 to 1", lambda: forget(NETWORK, NETWORK.empty(1), 2)),
    ("memory", lambda: Loss(changed=(("memory", math.nan),))),
    ("divergence", lambda: Loss("full")(make("mixture"), {"images": IMAGES})),
    ("labels", lambda: class_means(torch.ones(2, 1), torch.tensor([[-1], [10]]))),
    ("option of digits", lambda: sample("digits", 2, 3, torch_rng(0), size=28)),
    ("generator", lambda: sample("digits", 2, 3, None)),
    ("items", lambda: evaluation("digits", 2, 0)),
    ("source", lambda: digits.pool("distorted")),
    ("position", lambda: draw(ZERO, ZERO, ZERO, torch.tensor([32, 9]))),
    ("task", run(task="digit")),
    ("1, 2, 3, 5", run(machines=4)),
    ("given", run(options={"assignment": "given"})),
    ("test_episodes", run(task="dsprites", test_episodes=1)),
    ("ae_weight", run(ae_weight=-0.1)),
    ("balance_until", run(balance_until=10)),
    ("2 machines", run(balance=1.0, options={"stop_grad_r": True})),
    ("2 machines", run(balance=1.0, machines=1)),
    ("divergence", run(kl={"memry": 1.0})),
    ("mixture", run(model="mixture")),
    ("sample", run(options={"sample": "full"})),
    ("memory", lambda: paper_settings("bindng", 2)),
    ("memory", lambda: tutorial_settings("bindng", 2)),
]


@pytest.mark.parametrize(("word", "call"), CALLS)
def test_bad_input_is_told(word, call, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # the tests' own checks would be first
    with pytest.raises(UsageError, match=word):
        call()


def test_integers_may_be_numpys(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    one, two, three = map(np.int64, (1, 2, 3))
    ProductMemory(three, two, np.int32(5)).write(np.zeros((3, 3)))
    network = ProductKanerva(MLPEncoder(one, two, three), MLPDecoder(one, two, three), three, two, two)
    assert network(torch.ones(2, 3, 1, 2, 2)).shape == (2, 3, 1, 2, 2)
    assert sample("digits", two, three, torch.Generator()).images.shape == (2, 3, 1, 8, 8)
