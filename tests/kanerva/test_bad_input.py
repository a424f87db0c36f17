"""Whatever cannot be done is answered by one clear error that says what can."""

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
from mini_lib.kanerva.evaluation import forget, imagine_after
from mini_lib.kanerva.generation import draw_noise, imagine, imagine_episode
from mini_lib.kanerva.images import ConvEncoder, MLPDecoder, MLPEncoder
from mini_lib.kanerva.memory import Prior, address, columns_of, episode_kl, write_episode
from mini_lib.kanerva.network import ProductKanerva
from mini_lib.kanerva.objective import Loss
from mini_lib.kanerva.product_memory import ProductMemory
from mini_lib.kanerva.runs import Settings, build as build_run, paper_settings, tutorial_settings
from mini_lib.kanerva.tasks import digits, evaluation, rgb, sample
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


MEMORY = [
    *(
        (lambda ridge=ridge: address(CASE.state.R, CASE.codes[:, 0], ridge=ridge), "has to be above 0")
        for ridge in (0.0, math.nan, math.inf)
    ),
    (lambda: columns_of(0, 1), "total has to be a positive integer"),
    (lambda: columns_of(30, True), "machines has to be a positive integer"),
    (
        lambda: write_episode(CASE.state, CASE.codes, CASE.weights, coupling="products"),
        "unknown coupling 'products'; did you mean 'product'",
    ),
    (
        lambda: episode_kl(CASE.write(), Prior(CASE.state.R[0], CASE.state.R[0, :, 0, 0]), "last"),
        "unknown kl_memory",
    ),
    (memory(columns=None, total=9), "2 machines cannot share 9 columns evenly; 1, 3, 9 machines can"),
    (memory(total=10), "either columns"),
    (memory(columns=None), "either columns"),
    (memory(dim=0), "dim has to be a positive integer, got 0"),
    (memory(episodes=0), "episodes has to be a positive integer"),
    (memory(coupling="prodct"), "unknown coupling 'prodct'; did you mean 'product'"),
    (memory(ridge=0.0), "ridge has to be a number above 0"),
    (memory(psi=math.nan), "psi has to be a number above 0"),
    (memory(dtype=torch.float16), "dtype has to be torch.float32 or torch.float64, got torch.float16"),
    (memory(device="gpu"), "unknown device 'gpu'; use auto, cpu or cuda"),
    (memory(means=torch.zeros(2, 5, 4)), r"\[K, D, M\] = \[2, 4, 5\], got \[2, 5, 4\]"),
    (memory(means=torch.full((2, 4, 5), torch.nan)), "means have to be finite"),
    (memory(means=[["a"]]), "means has to be an array of numbers"),
    (lambda: memory()().read(torch.zeros(1, 4)), "the memory is empty: write codes before reading"),
    (lambda: memory(coupling="mixture")().write(torch.zeros(1, 4)), "a mixture needs gamma"),
    (
        lambda: memory(coupling="mixture")().write(torch.zeros(1, 4), gamma=[0.5, 0.5]),
        "gamma of a mixture is the choice of one machine",
    ),
    (lambda: memory(episodes=3)().write(torch.zeros(6, 4)), r"be \[B, T, D\] with B = 3 .* got \[6, 4\]"),
    (lambda: memory(episodes=3)().write(torch.zeros(2, 6, 4)), r"be \[B, T, D\] with B = 3"),
]
NETWORKS = [
    (network(assignment="givn"), "unknown assignment 'givn'; did you mean 'given'"),
    (network("mixture", assignment="given"), "unknown assignment 'given'; known: learned"),
    (network(sample="none"), "known: mean, full"),
    (
        lambda: NETWORK(IMAGES, noise={n: x for n, x in NOISE.items() if n != "history"}),
        "noise lacks 'history'",
    ),
    (
        lambda: NETWORK(IMAGES, QUERIES, NOISE | {"assignment": NOISE["assignment"][:, :3]}),
        r"noise 'assignment' has to be \[2, 4, 2\], got \[2, 3, 2\]",
    ),
    (lambda: NETWORK.write(torch.zeros(2, 3, 4).double()), r"codes have to be .* D = 3, got \[2, 3, 4\]"),
    (lambda: NETWORK(IMAGES, tau=1.0), "tau, the temperature of a choice, is for a MixtureKanerva only"),
    (lambda: ProductKanerva(MLPEncoder(1, 2, 4), NETWORK.decoder, 3, 2, 2), "codes of 4 features, not 3"),
    (lambda: make("mixture")(IMAGES, tau=0.0), r"tau, a temperature, has to be a number above 0, got 0\.0"),
    (lambda: make("mixture")(IMAGES, noise=NOISE), "noise lacks 'gumbel'"),
    (lambda: ConvEncoder(1, 20, 5), "'valid' needs images of 21 pixels a side, got 20; 'mlp' takes"),
    (lambda: ConvEncoder(1, 28, 5, "vlid"), "unknown padding 'vlid'; did you mean 'valid'"),
    (lambda: MLPEncoder(0, 8, 5), "channels has to be a positive integer, got 0"),
    (lambda: MLPDecoder(1, -8, 5), "size has to be a positive integer, got -8"),
    (lambda: NETWORK.encoder(IMAGES[..., 0]), r"this MLPEncoder reads \[..., 1, 2, 2\]; got \[2, 4, 1, 2\]"),
    (lambda: NETWORK.decoder(torch.zeros(4, 2).double()), r"this MLPDecoder reads \[..., 3\]; got \[4, 2\]"),
    *(
        (
            lambda form=form, o=o: imagine(make(form, **o), NETWORK.empty(2), {}),
            "cannot imagine; use a Product",
        )
        for form, o in (("mixture", {}), ("default", {"assignment": "given"}))
    ),
    (lambda: draw_noise(NETWORK, 2, 3, settle=-1), "settle has to be an integer from 0, got -1"),
    (lambda: draw_noise(NETWORK, 2, 0), "images has to be a positive integer"),
    (imagined(settle=5), r"noise 'settle' has to be \[2, 3, 5, 2\], got \[2, 3, 12, 2\]"),
    (imagined(draw=True), "noise lacks 'machines'"),
    (lambda: imagine_episode(NETWORK, {}), "noise lacks 'address'"),
    (lambda: imagine_after(make("mixture"), IMAGES), "cannot imagine"),
    *((lambda i=i: forget(NETWORK, NETWORK.empty(1), i), "machines 0 to 1") for i in (-1, 2)),
    (lambda: Loss("ful"), "unknown experiment 'ful'; did you mean 'full'"),
    (lambda: Loss(ae_weight=-1.0), "the weight of ae_weight has to be at least 0"),
    (lambda: Loss(changed=(("memry", 1.0),)), "unknown divergence 'memry'; did you mean 'memory'"),
    (lambda: Loss(changed=(("memory", math.nan),)), "the weight of memory has to be at least 0"),
    (lambda: Loss("full")(make("mixture"), {"images": IMAGES}), "no divergence 'assignment'; a mixture is"),
    (lambda: class_means(torch.ones(0, 1), torch.zeros(0, 1).long()), "0 items and labels of 0"),
    (lambda: class_means(torch.ones(2, 1), torch.tensor([[-1], [10]])), "from 0 to 9"),
]
EPISODES = [
    (episodes("digit"), "unknown task 'digit'; did you mean 'digits'.* known: digits, rgb, dsprites"),
    (episodes("rgb", size=28), "unknown option of rgb 'size'.* known: source, split"),
    (episodes("dsprites", size=29), "sprites are drawn with 64, 28, 14 pixels a side, got size=29"),
    (episodes(source="minst"), "unknown source of digits 'minst'; did you mean 'mnist'"),
    (episodes(split="testing"), "unknown split 'testing'; did you mean 'test'.* known: train, test"),
    (episodes(split="valid", source="distorted"), "unknown split 'valid'; known: train, test"),
    (episodes(count=0), "count has to be a positive integer, got 0"),
    (lambda: evaluation("digits", 2, 3, split="train"), "unknown option of digits 'split'.* known: source"),
    (lambda: evaluation("digits", 2, 0), "items has to be a positive integer"),
    (lambda: digits.pool("distorted"), "unknown source of whole pools 'distorted'"),
    (lambda: rgb.sample(2, 3, torch_rng(0), source="distorter"), "did you mean 'distorted'"),
    (lambda: draw(ZERO + 3, ZERO, ZERO, MIDDLE), "shape is a number from 0 to 2, got 3"),
    (lambda: draw(ZERO, ZERO, ZERO, MIDDLE + 23), r"position is a number from 0 to 31, got \[32, 32\]"),
]
RUNS = [
    (run(task="digit"), "unknown task 'digit'; did you mean 'digits'"),
    (run(model="produkt"), "unknown model 'produkt'; did you mean 'product'"),
    (run(experiment="mean address"), "unknown experiment 'mean address'; did you mean 'mean addresses'"),
    (run(source="mnst"), "unknown source of digits 'mnst'; did you mean 'mnist'"),
    (run(encoder="resid"), "unknown encoder 'resid'; did you mean 'residual'"),
    (run(decoder="cnv"), "unknown decoder 'cnv'; did you mean 'conv'"),
    (run(machines=4), "4 machines cannot share 30 columns evenly; 1, 2, 3, 5"),
    (run(items=0), "items has to be a positive integer"),
    (run(options={"assignment": "given"}), "machines can be given on the task 'rgb' only"),
    (run(task="dsprites", test_episodes=1), "test_episodes from 2"),
    (run(task="dsprites", size=20), "sprites have 64, 28, 14 pixels a side"),
    (run(kl_weight=-1.0), "kl_weight has to be above 0"),
    (run(ae_weight=-0.1), "weight of ae_weight has to be at least 0"),
    (run(balance=1.0, balance_until=-1), "balance_until has to be an integer from 0"),
    (run(balance_until=10), "balance_until needs balance"),
    *(
        (run(**{"balance": 1.0} | changes), "2 or more machines that learn their weights")
        for changes in (
            {"machines": 1},
            {"options": {"assignment": "even"}},
            {"options": {"stop_grad_r": True}},
        )
    ),
    (run(kl={"memory": "1"}), "weights in kl have to be finite numbers"),
    (run(kl={"memory": -1}), "the weight of memory has to be at least 0, got -1.0"),
    (run(kl={"memry": 1.0}), "unknown divergence 'memry'; did you mean 'memory'"),
    (run(model="mixture"), "a mixture, and only it, has experiment='mixture'"),
    (run(options={"sample": "full"}), "unknown option of product 'sample'"),
    (run(checks=(2, 6), epochs=5), "checks are epochs from 1 to 5, got 6"),
    (
        lambda: build_run(paper_settings("digits", 3, source="digits", encoder="valid"), 1),
        "needs images of 21 pixels a side, got 8",
    ),
    (
        lambda: Settings.from_dict({"task": "digits", "machine": 3}),
        "unknown setting 'machine'; did you mean 'machines'",
    ),
    (lambda: paper_settings("bindng", 2), "unknown memory 'bindng'; did you mean 'binding'"),
    (lambda: tutorial_settings("bindng", 2), "unknown memory 'bindng'; did you mean 'binding'"),
]


@pytest.mark.parametrize(("call", "message"), MEMORY + NETWORKS + EPISODES + RUNS)
def test_bad_input_is_told(call, message):
    with pytest.raises(UsageError, match=message):
        call()


# Values of a wrong type, which the tests' own type checks would refuse first.
UNTYPED = """
import numpy as np, torch
from mini_lib import MixtureKanerva, ProductKanerva, ProductMemory, UsageError, sample_episodes
from mini_lib.kanerva import MLPDecoder, MLPEncoder
one, two = np.int64(1), np.int64(2)
made = ProductMemory(np.int64(4), two, np.int32(5))
made.write(np.zeros((3, 4)))
parts = MLPEncoder(one, two, np.int64(3)), MLPDecoder(one, two, np.int64(3))
network, mixture = (kind(*parts, np.int64(3), two, two) for kind in (ProductKanerva, MixtureKanerva))
images = torch.ones(2, 3, 1, 2, 2)
network(images), sample_episodes("digits", two, two, torch.Generator())
for number, (call, wanted) in enumerate([
    (lambda: ProductMemory(4, ridge="a", columns=3), "ridge has to be a number above 0, got 'a'"),
    (lambda: ProductMemory(4, columns=2.0), "columns has to be a positive integer, got 2.0"),
    (lambda: made.write(np.zeros((3, 4)), eta=torch.ones(9, 1)), "[K] = [2] or [T, K] = [3, 2], got [9, 1]"),
    (lambda: ProductKanerva(None, parts[1], 3, 2, 2), "encoder has to be a torch.nn.Module, got None"),
    (lambda: network(images.int()), "images has to be a tensor of floats"),
    (lambda: network(images.to(torch.uint8)), "images has to be a tensor of floats"),
    (lambda: network(images.double()), "images is torch.float64, the network computes in float32"),
    (lambda: network(255 * images), "images have to be from 0 to 1, got values from 255 to 255"),
    (lambda: network(images, 255 * images), "queries have to be from 0 to 1"),
    (lambda: network(images[0]), "images have to be [B, T, C, H, W] with T > 0, got [3, 1, 2, 2]"),
    (lambda: network(images[:, :0]), "images have to be [B, T, C, H, W] with T > 0"),
    (lambda: network(images, images[:1]), "queries [1, 3, 1, 2, 2] have to be of the shape of images"),
    (lambda: mixture(images, tau="x"), "tau, a temperature, has to be a number above 0, got 'x'"),
    (lambda: sample_episodes("digits", 2, 3, 4), "generator has to be a torch.Generator on the CPU, got 4"),
    (lambda: sample_episodes("digits", 2, 3, None), "generator has to be a torch.Generator on the CPU"),
    (lambda: sample_episodes(["digits"], 2, 3, torch.Generator()), "unknown task"),
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


CODES = [
    (torch.zeros(6, 3), "codes have 3 features; this memory holds codes of 4"),
    (torch.zeros(0, 4), r"be \[T, D\] and T > 0, got \[0, 4\]"),
    (torch.zeros(4), r"codes have to be \[T, D\] .* got \[4\]; one code is codes\[None\]"),
    (torch.full((6, 4), torch.nan), "finite numbers; there is NaN"),
    ([["a"]], "codes has to be an array of numbers"),
    (torch.zeros(6, 4, dtype=torch.complex64), "codes has to be an array of numbers; complex"),
]
WEIGHTS = [
    ({"eta": [1.0, -1.0]}, "eta, a standard deviation, has to be above 0"),
    ({"eta": math.nan}, "eta has to be finite numbers|eta, a standard"),
    ({"eta": [1.0, 1.0, 1.0]}, r"eta has to be a number, \[K\] = \[2\] or \[T, K\] = \[6, 2\], got \[3\]"),
    ({"gamma": [0.5, 0.6]}, "gamma has to be from 0 to 1, with a sum of 1"),
    ({"gamma": [1.5, -0.5]}, "gamma has to be from 0 to 1, with a sum of 1"),
    ({"gamma": [[0.5, 0.5]] * 5}, r"gamma has to be .* got \[5, 2\]"),
]


@pytest.mark.parametrize("use", ["write", "read", "log_likelihood"])
@pytest.mark.parametrize(
    ("codes", "given", "message"),
    [(codes, {}, message) for codes, message in CODES]
    + [(torch.zeros(6, 4), given, message) for given, message in WEIGHTS],
)
def test_a_memory_stays_as_it_was(use, codes, given, message):
    made = memory()()
    made.write(randn(6, 4, seed=1))
    before = made.state
    with pytest.raises(
        UsageError, match=message.replace("codes ha", "queries ha" if use == "read" else "codes ha")
    ):
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
