"""Whatever cannot be done is answered by one clear error that says what can."""

import math

import pytest
import torch

from kanerva.test_addressing import randn
from kanerva.test_writing import Case
from kanerva.whole import SIZES, make, noise_of, pictures
from mini_lib.errors import UsageError
from mini_lib.kanerva.analysis import class_means
from mini_lib.kanerva.dsprites import draw
from mini_lib.kanerva.evaluation import forget, imagine_after
from mini_lib.kanerva.generation import imagine, imagine_episode, noise_shapes
from mini_lib.kanerva.memory import Prior, address, columns_of, episode_kl, write_episode
from mini_lib.kanerva.network import MODELS
from mini_lib.kanerva.objective import Loss
from mini_lib.kanerva.product_memory import ProductMemory
from mini_lib.kanerva.runs import Settings, build, paper_settings, tutorial_settings
from mini_lib.kanerva.tasks import digits, evaluation, rgb, sample
from mini_lib.kanerva.XXX import build_decoder, build_encoder, build_network
from mini_lib.seeding import torch_rng

IMAGES, QUERIES = pictures()
NETWORK = make()
NOISE = noise_of(NETWORK)
CASE = Case()
ZERO, MIDDLE = torch.tensor(0), torch.tensor([9, 9])


def without(name):
    return {other: each for other, each in NOISE.items() if other != name}


def memory(**options):
    return lambda: ProductMemory(**{"dim": 4, "machines": 2, "columns": 5} | options)


def network(name="product", **options):
    return lambda: build_network(name, **{"machines": 2, "total": 4} | SIZES | options)


def imagined(**options):
    shapes = noise_shapes(NETWORK, 2, 3)
    noise = {name: torch.zeros(shape).double() for name, shape in shapes.items()}
    return lambda: imagine(NETWORK, NETWORK.empty(2), noise, **options)


def episodes(task="digits", **options):
    return lambda: sample(**{"task": task, "count": 2, "items": 3, "generator": torch_rng(0)} | options)


def run(**settings):
    return lambda: Settings(**{"task": "digits", "machines": 3} | settings)


def built(**settings):
    return lambda: build(paper_settings("digits", 3, source="digits", **settings), 1)


MEMORY = [
    (
        lambda: address(CASE.state.R, CASE.codes[:, 0], "rigde"),
        "unknown solver 'rigde'; did you mean 'ridge'",
    ),
    *(
        (lambda ridge=ridge: address(CASE.state.R, CASE.codes[:, 0], ridge=ridge), "has to be above 0")
        for ridge in (0.0, -1.0, math.nan, math.inf)
    ),
    (lambda: columns_of(0, 1), "total has to be a positive integer"),
    (lambda: columns_of(30, True), "machines has to be a positive integer"),
    (
        lambda: write_episode(CASE.state, CASE.codes, CASE.weights, coupling="products"),
        "unknown coupling 'products'; did you mean 'product'",
    ),
    (lambda: write_episode(CASE.state, CASE.codes[:, :0], CASE.weights), "at least one item"),
    (
        lambda: episode_kl(CASE.write(), Prior(CASE.state.R[0], CASE.state.R[0, :, 0, 0]), "last"),
        "unknown kl_memory",
    ),
    (memory(columns=None, total=9), "2 machines cannot share 9 columns evenly.*can: 1, 3, 9"),
    (memory(total=10), "either columns"),
    (memory(columns=None), "either columns"),
    (memory(dim=0), "dim has to be a positive integer, got 0"),
    (memory(machines=0), "machines has to be a positive integer"),
    (memory(columns=0), "columns has to be a positive integer"),
    (memory(episodes=0), "episodes has to be a positive integer"),
    (memory(coupling="prodct"), "unknown coupling 'prodct'; did you mean 'product'"),
    (memory(solver="dkn"), "unknown solver 'dkn'; did you mean 'dkm'"),
    (memory(ridge=0.0), "ridge has to be above 0"),
    (memory(dtype=torch.float16), "dtype has to be torch.float32 or torch.float64, got torch.float16"),
    (memory(psi=-1.0), "psi has to be above 0"),
    (memory(psi=math.nan), "psi has to be above 0"),
    (memory(means=torch.zeros(2, 5, 4)), r"\[K, D, M\] = \[2, 4, 5\], got \[2, 5, 4\]"),
    (memory(means=torch.full((2, 4, 5), torch.nan)), "means have to be finite"),
    (memory(means=[["a"]]), r"means \[K, D, M\] = \[2, 4, 5\] have to be an array of numbers; can"),
    (
        memory(means=torch.zeros(2, 4, 5, dtype=torch.complex64)),
        "have to be an array of numbers; complex",
    ),
    (lambda: memory()().sample(0), "count has to be a positive integer"),
    (lambda: memory()().sample(1, settle=-1), "settle has to be a whole number from 0"),
    (
        lambda: memory()().read(torch.zeros(1, 4)),
        "the memory is empty: write codes before reading, or say empty=True",
    ),
    (lambda: memory(coupling="mixture")().write(torch.zeros(1, 4)), "a mixture needs gamma"),
    *(
        (
            lambda shape=shape: memory(episodes=3)().write(torch.zeros(shape)),
            r"be \[B, T, D\], got .* with B = 3",
        )
        for shape in ((6, 4), (2, 6, 4))
    ),
]
NETWORKS = [
    (network(assignment="givn"), "unknown assignment 'givn'; did you mean 'given'"),
    (network("mixture", assignment="given"), "unknown option of mixture 'assignment'; known: stop_"),
    (network(sample="none"), "known: mean, full"),
    (network(ridge=0.0), "above 0"),
    (network(machines=3), "evenly"),
    (network(colour=1), "unknown option of product"),
    (network("produkt"), "unknown model 'produkt'; did you mean 'product'"),
    (lambda: NETWORK(IMAGES, QUERIES[:, :2]), "queries .* images' shape"),
    (lambda: NETWORK(IMAGES, QUERIES, without("history")), "noise lacks 'history'"),
    (
        lambda: NETWORK(IMAGES, QUERIES, NOISE | {"assignment": NOISE["assignment"][:, :3]}),
        r"noise 'assignment' has to be \[2, 4, 2\], got \[2, 3, 2\]",
    ),
    (lambda: NETWORK(IMAGES[:, :0]), "items has to be a positive integer"),
    (
        lambda: MODELS["product"](build_encoder("mlp", 1, 2, 4), NETWORK.decoder, 3, 2, 2),
        "MLPEncoder has codes of 4 features, not 3",
    ),
    (lambda: make("mixture")(IMAGES, tau=0.0), r"tau, a temperature, has to be above 0, got 0\.0"),
    (lambda: make("mixture")(IMAGES, noise=NOISE), "noise lacks 'gumbel'"),
    (lambda: build_encoder("vlid", 1, 28, 5), "unknown encoder 'vlid'; did you mean 'valid'.* residual, mlp"),
    (lambda: build_decoder("valid", 1, 28, 5), "unknown decoder 'valid'; known: conv, mlp"),
    (
        lambda: build_encoder("valid", 1, 20, 5),
        "'valid' encoder needs images of 21 x 21 .*got 20 x 20; 'mlp' takes",
    ),
    (lambda: build_encoder("stride2", 1, 7, 5), "'stride2' encoder needs images of 8 x 8 .*got 7 x 7"),
    (lambda: build_encoder("mlp", 0, 8, 5), "channels has to be a positive integer, got 0"),
    (lambda: build_encoder("valid", 1, -8, 5), "size has to be a positive integer, got -8"),
    (lambda: build_decoder("conv", 1, 28, 0), "dim has to be a positive integer, got 0"),
    (lambda: NETWORK.encoder(IMAGES[..., 0]), r"this MLPEncoder reads \[..., 1, 2, 2\]; got \[2, 4, 1, 2\]"),
    (lambda: NETWORK.decoder(torch.zeros(4, 2).double()), r"this MLPDecoder reads \[..., 3\]; got \[4, 2\]"),
    (
        lambda: imagine(make("mixture"), NETWORK.empty(2), {}),
        "a mixture learns no prior.* whose assignment is learned, has a unit prior, or is even",
    ),
    (lambda: imagine(make(assignment="given"), NETWORK.empty(2), {}), "machines that are given have none"),
    (lambda: noise_shapes(NETWORK, 2, 3, settle=-1), "settle has to be a whole number from 0, got -1"),
    (lambda: noise_shapes(NETWORK, 2, 0), "images has to be a positive integer"),
    (imagined(settle=5), r"noise 'settle' has to be \[2, 3, 5, 2\], got \[2, 3, 12, 2\]"),
    (imagined(draw=True), "noise lacks 'machines'"),
    (lambda: imagine(NETWORK, NETWORK.empty(2), {}), "noise lacks 'address'"),
    (lambda: imagine_episode(NETWORK, {}), "noise lacks 'address'"),
    (lambda: imagine_after(make("mixture"), IMAGES), "a mixture learns no prior"),
    *((lambda i=i: forget(NETWORK, NETWORK.empty(1), i), "machines 0 to 1") for i in (-1, 2)),
    (lambda: Loss("ful"), "unknown experiment 'ful'; did you mean 'full'"),
    (lambda: Loss(ae_weight=-1.0), "the weight of ae_weight has to be at least 0"),
    (lambda: Loss(balance=math.nan), "the weight of balance has to be at least 0"),
    (lambda: Loss(changed=(("memry", 1.0),)), "unknown divergence 'memry'; did you mean 'memory'"),
    (lambda: Loss(changed=(("memory", math.nan),)), "the weight of memory has to be at least 0"),
    (
        lambda: Loss("full")(make("mixture"), {"images": IMAGES}),
        "no divergence 'assignment'; a mixture is trained",
    ),
    (lambda: class_means(torch.ones(0, 1), torch.zeros(0, 1).long()), "0 items and labels of 0"),
    (lambda: class_means(torch.ones(2, 1), torch.tensor([[0], [10]])), "from 0 to 9"),
    (lambda: class_means(torch.ones(2, 1), torch.tensor([[-1], [3]])), "from 0 to 9"),
]
EPISODES = [
    (episodes("digit"), "unknown task 'digit'; did you mean 'digits'.* known: digits, rgb, dsprites"),
    (episodes("rgb", size=28), "unknown option of rgb 'size'.* known: source, split"),
    (episodes("dsprites", source="digits"), "unknown option of dsprites 'source'.* known: size"),
    (episodes("dsprites", size=29), "sprites are drawn with 64, 28, 14 pixels a side, got size=29"),
    (episodes(source="minst"), "unknown source of digits 'minst'; did you mean 'mnist'"),
    (episodes("rgb", source="emnist"), "unknown source of digits 'emnist'; did you mean 'mnist'"),
    (episodes(split="testing"), "unknown split 'testing'; did you mean 'test'.* known: train, test"),
    (episodes(split="valid", source="distorted"), "unknown split 'valid'; known: train, test"),
    (episodes(count=0), "count has to be a positive integer, got 0"),
    (episodes(items=0), "items has to be a positive integer, got 0"),
    (lambda: evaluation("digits", 2, 3, split="train"), "unknown option of digits 'split'.* known: source"),
    (lambda: evaluation("digits", 2, 0), "items has to be a positive integer"),
    (lambda: digits.pool("distorted"), "unknown source of whole pools 'distorted'"),
    (lambda: rgb.sample(2, 3, torch_rng(0), source="distorter"), "did you mean 'distorted'"),
    (lambda: draw(ZERO + 3, ZERO, ZERO, MIDDLE), "shape is a number from 0 to 2, got 3"),
    (lambda: draw(ZERO, ZERO - 1, ZERO, MIDDLE), "scale is a number from 0 to 5, got -1"),
    (lambda: draw(ZERO, ZERO, ZERO + 40, MIDDLE), "orientation is a number from 0 to 39, got 40"),
    (lambda: draw(ZERO, ZERO, ZERO, MIDDLE + 23), r"position is a number from 0 to 31, got \[32, 32\]"),
]
RUNS = [
    (run(task="digit"), "unknown task 'digit'; did you mean 'digits'"),
    (run(model="produkt"), "unknown model 'produkt'; did you mean 'product'"),
    (run(experiment="mean address"), "unknown experiment 'mean address'; did you mean 'mean addresses'"),
    (run(source="mnst"), "unknown source of digits 'mnst'; did you mean 'mnist'"),
    (run(encoder="resid"), "unknown encoder 'resid'; did you mean 'residual'"),
    (run(decoder="cnv"), "unknown decoder 'cnv'; did you mean 'conv'"),
    (run(machines=0), "machines has to be a positive integer, got 0"),
    (run(machines=4), "4 machines cannot share 30 columns evenly; numbers of machines that can: 1, 2, 3, 5"),
    (run(items=0), "items has to be a positive integer"),
    (run(dim=-1), "dim has to be a positive integer"),
    (run(batch_size=True), "batch_size has to be a whole number, as an int, got True"),
    (run(test_episodes=0), "test_episodes has to be a positive integer"),
    (run(options={"assignment": "given"}), "can be given by the red digit on the task 'rgb' only"),
    (run(task="dsprites", test_episodes=1), "test_episodes has to be 2 or more"),
    (run(task="dsprites", size=20), "sprites are drawn with 64, 28, 14 pixels a side, got size=20"),
    (run(epochs=0), "epochs has to be a positive integer"),
    (run(lr=0.0), "lr has to be above 0"),
    (run(clip=math.nan), "clip has to be a finite number"),
    (run(kl_weight=-1.0), "kl_weight has to be above 0"),
    (run(warm_up=-1), "warm_up is a whole number of updates from 0, got -1"),
    (run(ae_weight=-0.1), "weight of ae_weight has to be at least 0"),
    (run(balance=-1.0), "weight of balance has to be at least 0"),
    (run(balance=math.inf), "balance has to be a finite number"),
    (run(balance=1.0, balance_until=-1), "balance_until is a whole number of updates from 0, got -1"),
    (run(balance_until=10), "balance_until says when the balance has faded; give its weight"),
    (run(machines=1, balance=1.0), "balance is for two or more machines whose weights are learned"),
    *(
        (run(balance=1.0, options=options), "two or more machines whose weights are learned")
        for options in ({"assignment": "even"}, {"stop_grad_r": True})
    ),
    (run(kl={"memory": "1"}), "the weight of memory has to be a finite number, got '1'"),
    (run(kl={"memory": -1}), "the weight of memory has to be at least 0, got -1.0"),
    (run(kl={"memry": 1.0}), "unknown divergence 'memry'; did you mean 'memory'"),
    (run(model="mixture"), "a mixture, and only a mixture, is trained with experiment='mixture'"),
    (run(experiment="mixture"), "got model='product' and experiment='mixture'"),
    (run(options={"sample": "full"}), "leave 'sample' out of the options"),
    *(
        (
            lambda name=name: paper_settings(
                name, 2, model="mixture", experiment="mixture", options={"assignment": "given"}
            ),
            "unknown option of mixture 'assignment'; known: stop_grad_r, ridge",
        )
        for name in ("digits", "binding")
    ),
    (run(options={"rigde": 0.1}), "unknown option of product 'rigde'; did you mean 'ridge'"),
    (run(checks=(2, 6), epochs=5), "checks are epochs from 1 to 5, got 6"),
    (built(encoder="mlp", options={"ridge": -1.0}), "has to be above 0"),
    (built(encoder="valid"), "needs images of 21 x 21 pixels or more, got 8 x 8"),
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


CODES = [
    (torch.zeros(6, 3), "codes have 3 features; this memory holds codes of 4"),
    (torch.zeros(0, 4), "there are no codes"),
    (torch.zeros(4), r"codes have to be \[T, D\], got \[4\]"),
    (torch.zeros(2, 6, 4), r"got \[2, 6, 4\]; one code alone is codes\[None\], and several episodes"),
    (torch.full((6, 4), torch.nan), "finite numbers; there is NaN"),
    (torch.full((6, 4), torch.inf), "finite numbers"),
    ([["a"]], "codes have to be an array of numbers"),
    ([[1.0, 2.0], [3.0]], "codes have to be an array of numbers"),
    (torch.zeros(6, 4, dtype=torch.complex64), "codes have to be an array of numbers; complex"),
]
WEIGHTS = [
    ({"eta": 0.0}, "eta, a standard deviation, has to be above 0"),
    ({"eta": [1.0, -1.0]}, "eta, a standard deviation, has to be above 0"),
    ({"eta": math.nan}, "eta has to be finite numbers"),
    ({"eta": [1.0, 1.0, 1.0]}, r"one number, \[K\] or \[T, K\], here T = 6 and K = 2"),
    ({"gamma": [0.5, 0.6]}, "gamma has to be from 0 to 1, with a sum of 1"),
    ({"gamma": [1.5, -0.5]}, "gamma has to be from 0 to 1, with a sum of 1"),
    ({"gamma": [[0.5, 0.5]] * 5}, r"gamma has to be \[K\] or \[T, K\], here T = 6 and K = 2"),
    ({"gamma": [["a", "b"]]}, r"gamma has to be \[K\] or \[T, K\], here T = 6 and K = 2"),
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
    message = (
        message.replace("codes have", "queries have").replace("no codes", "no que")
        if use == "read"
        else message
    )
    with pytest.raises(UsageError, match=message):
        getattr(made, use)(codes, **given)
    assert made.state is before
    assert made.items == 6


def test_codes_too_large_for_the_numbers_leave_the_memory_as_it_was():
    made = memory()()
    made.write(torch.ones(1, 4))
    before = made.state
    with pytest.raises(UsageError, match="too large"):
        made.write(torch.full((3, 4), 3e38))
    assert made.state is before
    assert made.items == 1
