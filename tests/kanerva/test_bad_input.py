"""Whatever cannot be done is answered by one clear error that names what is wrong."""

import math
import subprocess
import sys

import pytest
import torch

from kanerva.test_addressing import randn
from kanerva.test_writing import Case
from kanerva.whole import SIZES, build, make, noise_of, pictures
from mini_lib.errors import UsageError
from mini_lib.kanerva.analysis import class_means
from mini_lib.kanerva.dsprites import draw
from mini_lib.kanerva.evaluation import forget
from mini_lib.kanerva.generation import draw_noise, imagine
from mini_lib.kanerva.images import ConvEncoder, MLPDecoder, MLPEncoder
from mini_lib.kanerva.memory import columns_of, write_episode
from mini_lib.kanerva.network import ProductKanerva
from mini_lib.kanerva.objective import Loss
from mini_lib.kanerva.product_memory import ProductMemory
from mini_lib.kanerva.runs import Settings, paper_settings
from mini_lib.kanerva.tasks import digits, evaluation, sample
from mini_lib.seeding import torch_rng

IMAGES, QUERIES = pictures()
NETWORK = make()
NOISE = noise_of(NETWORK)
CASE = Case()
ZERO, MIDDLE = torch.tensor(0), torch.tensor([9, 9])


def memory(**options):
    return lambda: ProductMemory(**{"dim": 4, "machines": 2, "columns": 5} | options)


def network(name="product", **options):
    return lambda: build(name, **{"machines": 2, "total": 4} | SIZES | options)


def imagined(**options):
    noise = draw_noise(NETWORK, 2, 3, torch_rng(0))
    return lambda: imagine(NETWORK, NETWORK.empty(2), noise, **options)


def episodes(task="digits", **options):
    return lambda: sample(**{"task": task, "count": 2, "items": 3, "generator": torch_rng(0)} | options)


def run(**settings):
    return lambda: Settings(**{"task": "digits", "machines": 3} | settings)


# A word of the message, and the call: one or two of every public function and constructor.
CALLS = [
    ("machines", lambda: columns_of(30, True)),
    ("coupling", lambda: write_episode(CASE.state, CASE.codes, CASE.weights, coupling="products")),
    ("1, 3, 9 machines can", memory(columns=None, total=9)),
    ("either columns", memory(total=10)),
    ("ridge", memory(ridge=0.0)),
    ("dtype", memory(dtype=torch.float16)),
    ("means", memory(means=torch.zeros(2, 5, 4))),
    ("empty", lambda: memory()().read(torch.zeros(1, 4))),
    ("gamma", lambda: memory(coupling="mixture")().write(torch.zeros(1, 4))),
    ("gamma", lambda: memory(coupling="mixture")().write(torch.zeros(1, 4), gamma=[0.5, 0.5])),
    ("3, T, 4", lambda: memory(episodes=3)().write(torch.zeros(2, 6, 4))),
    ("assignment", network("mixture", assignment="given")),
    ("'history'", lambda: NETWORK(IMAGES, noise={n: x for n, x in NOISE.items() if n != "history"})),
    ("'assignment'", lambda: NETWORK(IMAGES, QUERIES, NOISE | {"assignment": NOISE["assignment"][:, :3]})),
    ("codes", lambda: NETWORK.write(torch.zeros(2, 3, 4).double())),
    ("encoder", lambda: ProductKanerva(MLPEncoder(1, 2, 4), NETWORK.decoder, 3, 2, 2)),
    ("tau", lambda: NETWORK(IMAGES, tau=1.0)),
    ("tau", lambda: make("mixture")(IMAGES, tau=0.0)),
    ("20 pixels", lambda: ConvEncoder(1, 20, 5)),
    ("padding", lambda: ConvEncoder(1, 28, 5, "vlid")),
    ("size", lambda: MLPDecoder(1, -8, 5)),
    ("reads", lambda: NETWORK.encoder(IMAGES[..., 0])),
    ("cannot imagine", lambda: imagine(make("mixture"), NETWORK.empty(2), {})),
    ("images", lambda: draw_noise(NETWORK, 2, 0)),
    ("'machines'", imagined(draw=True)),
    ("machines 0 to 1", lambda: forget(NETWORK, NETWORK.empty(1), 2)),
    ("memory", lambda: Loss(changed=(("memory", math.nan),))),
    ("divergence", lambda: Loss("full")(make("mixture"), {"images": IMAGES})),
    ("labels", lambda: class_means(torch.ones(2, 1), torch.tensor([[-1], [10]]))),
    ("task", episodes("digit")),
    ("option of digits", episodes(size=28)),
    ("option of dsprites", lambda: evaluation("dsprites", 2, 3, split="train")),
    ("size", episodes("dsprites", size=29)),
    ("source", episodes(source="minst")),
    ("split", episodes(split="valid", source="distorted")),
    ("items", lambda: evaluation("digits", 2, 0)),
    ("source", lambda: digits.pool("distorted")),
    ("position", lambda: draw(ZERO, ZERO, ZERO, MIDDLE + 23)),
    ("1, 2, 3, 5", run(machines=4)),
    ("given", run(options={"assignment": "given"})),
    ("test_episodes", run(task="dsprites", test_episodes=1)),
    ("ae_weight", run(ae_weight=-0.1)),
    ("balance_until", run(balance_until=10)),
    ("2 machines", run(balance=1.0, options={"stop_grad_r": True})),
    ("memory", run(kl={"memory": -1.0})),
    ("divergence", run(kl={"memry": 1.0})),
    ("mixture", run(model="mixture")),
    ("sample", run(options={"sample": "full"})),
    ("setting", lambda: Settings.from_dict({"task": "digits", "machine": 3})),
    ("memory", lambda: paper_settings("bindng", 2)),
]


@pytest.mark.parametrize(("word", "call"), CALLS)
def test_bad_input_is_told(word, call):
    with pytest.raises(UsageError, match=word):
        call()


# Values of a wrong type, which the tests' own type checks would refuse first.
UNTYPED = """
import numpy as np, torch
from mini_lib import MixtureKanerva, ProductKanerva, ProductMemory, UsageError, sample_episodes
from mini_lib.kanerva import Loss, MLPDecoder, MLPEncoder
one, two = np.int64(1), np.int64(2)
made = ProductMemory(np.int64(4), two, np.int32(5))
made.write(np.zeros((3, 4)))
parts = MLPEncoder(one, two, np.int64(3)), MLPDecoder(one, two, np.int64(3))
network, mixture = (kind(*parts, np.int64(3), two, two) for kind in (ProductKanerva, MixtureKanerva))
images = torch.ones(2, 3, 1, 2, 2)
network(images), sample_episodes("digits", two, two, torch.Generator())
for number, (wanted, call) in enumerate([
    ("ridge", lambda: ProductMemory(4, ridge="a", columns=3)),
    ("columns", lambda: ProductMemory(4, columns=2.0)),
    ("[3, 2], got [9, 1]", lambda: made.write(np.zeros((3, 4)), eta=torch.ones(9, 1))),
    ("encoder", lambda: ProductKanerva(None, parts[1], 3, 2, 2)),
    ("images has to be", lambda: network(images.int())),
    ("images is torch.float64", lambda: network(images.double())),
    ("divide bytes by 255", lambda: network(255 * images)),
    ("queries", lambda: network(images, 255 * images)),
    ("images", lambda: network(images[0])),
    ("images", lambda: network(images[:, :0])),
    ("queries", lambda: network(images, images[:1])),
    ("tau", lambda: mixture(images, tau="x")),
    ("tau", lambda: mixture(images, tau=torch.zeros(2))),
    ("tau", lambda: network(images, tau=1.0)),
    ("generator", lambda: sample_episodes("digits", 2, 3, None)),
    ("task", lambda: sample_episodes(["digits"], 2, 3, torch.Generator())),
    ("weight of memory", lambda: Loss(changed=(("memory", "1"),))),
]):
    try:
        call()
    except UsageError as error:
        assert wanted in str(error), (number, str(error))
    else:
        raise AssertionError(f"{number}: no error, wanted {wanted}")
"""


def test_values_of_a_wrong_type_are_told_and_numpy_integers_are_right():
    done = subprocess.run([sys.executable, "-c", UNTYPED], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


CODES = [torch.zeros(6, 3), torch.zeros(0, 4), torch.zeros(4), torch.full((6, 4), torch.nan), [["a"]]]
WEIGHTS = [
    *({"eta": eta} for eta in ([1.0, -1.0], math.nan, [1.0, 1.0, 1.0])),
    *({"gamma": gamma} for gamma in ([0.5, 0.6], [1.5, -0.5], [[0.5, 0.5]] * 5)),
]


@pytest.mark.parametrize("use", ["write", "read", "log_likelihood"])
@pytest.mark.parametrize(
    ("codes", "given"), [*((codes, {}) for codes in CODES), *((torch.zeros(6, 4), each) for each in WEIGHTS)]
)
def test_a_memory_stays_as_it_was(use, codes, given):
    made = memory()()
    made.write(randn(6, 4, seed=1))
    before = made.state
    with pytest.raises(UsageError, match=next(iter(given), "queries" if use == "read" else "codes")):
        getattr(made, use)(codes, **given)
    assert all(now is then for now, then in zip(made.state, before, strict=True))
    assert made.items == 6


def test_codes_too_large_for_the_numbers_leave_the_memory_as_it_was():
    made = memory()()
    made.write(torch.ones(1, 4))
    before = made.state
    with pytest.raises(UsageError, match="overflow the memory"):
        made.write(torch.full((3, 4), 3e38))
    assert all(now is then for now, then in zip(made.state, before, strict=True))
    assert made.items == 1
