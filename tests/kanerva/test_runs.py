"""Settings, episodes, real runs by the harness, and the trained networks that come along."""

import pytest
import torch

from mini_lib import trained
from mini_lib.hashing import run_key
from mini_lib.kanerva import runs
from mini_lib.kanerva.evaluation import evaluate
from mini_lib.kanerva.objective import KL_TERMS
from mini_lib.kanerva.runs import (
    PAPERS,
    Settings,
    build,
    draw,
    paper_settings,
    tutorial_settings,
)
from mini_lib.kanerva.tasks import evaluation, sample
from mini_lib.seeding import torch_rng
from mini_lib.training import TrainingStack, train

CPU = torch.device("cpu")
TINY = {"items": 4, "dim": 5, "encoder": "mlp", "decoder": "mlp", "batch_size": 2, "epochs": 1, "lr": 1e-2}
every_kind = pytest.mark.parametrize("kind", PAPERS)


@pytest.fixture
def short(monkeypatch):
    """Epochs of three updates."""
    monkeypatch.setattr(runs, "UPDATES", 3)


def small(kind="digits", machines=2, **changes):
    """Few columns, items and episodes, a small network."""
    own = {"size": 14, "test_episodes": 20, "items": 8} if kind == "sprites" else {"source": "digits"}
    return paper_settings(
        kind, machines, **TINY | {"total": 6, "test_episodes": 3, "checks": ()} | own | changes
    )


# ------------------------------------------------------------------------------------------------ settings


def test_the_memories_of_the_paper_by_name():
    digits = {"paper": "kanerva", "task": "digits", "machines": 3}
    assert paper_settings("digits", 3).to_dict() == digits
    assert paper_settings("mixture", 3).to_dict() == digits | {"model": "mixture", "experiment": "mixture"}
    binding = {"task": "rgb", "total": 60, "dim": 100, "lr": 1e-3, "options": {"stop_grad_r": True}}
    assert paper_settings("binding", 3, options={"stop_grad_r": True}).to_dict() == digits | binding
    assert paper_settings("sprites", 4, checks=(5, 3, 5)).to_dict()["checks"] == [3, 5]
    assert tutorial_settings("mixture", 2, lr=1e-2).lr == 1e-2


# ------------------------------------------------------------------------------------------------ data


@pytest.mark.parametrize("kind", ["digits", "binding", "sprites"])
def test_episodes_depend_on_seed_and_epoch_and_not_on_the_network(kind):
    """They are kept as bytes, a fourth of what numbers take, and without what the loss works out itself."""
    one, three = (build(small(kind, k), 3) for k in (1, 3))
    images = one.epoch(1)["images"]
    assert images.equal(three.epoch(1)["images"])
    assert not images.equal(one.epoch(0)["images"])
    assert not images.equal(build(small(kind), 4).epoch(1)["images"])
    settings, generator = small(kind), torch_rng(3, "episodes", 1)
    assert one.examples == 2 * runs.UPDATES
    assert images.dtype == torch.uint8
    drawn = sample(settings.task, one.examples, settings.items, generator, **settings.episode_options)
    assert images.float().equal(drawn.images)
    assert one.epoch(0).keys() == {"images", "kl_weight"}
    assert settings.loss().hide_green == (kind == "binding")


def test_a_mixture_learns_from_the_same_episodes_with_a_temperature_that_falls_over_the_first_half():
    mixture, product = (build(small(kind), 3).epoch(1) for kind in ("mixture", "digits"))
    assert mixture["images"].equal(product["images"])
    assert "tau" not in product
    s = small("mixture", epochs=4, batch_size=2)
    tau = torch.cat([draw(s, 1, epoch)["tau"] for epoch in range(4)])
    assert tau.tolist() == pytest.approx([max(1 - 0.5 * u / 20, 0.5) for u in range(40) for _ in range(2)])


def test_balance_fades_by_update_or_stays():
    fading = small("binding", balance=5.0, balance_until=8, batch_size=3)
    factors = [draw(fading, 1, epoch)["balance"].tolist() for epoch in (0, 1)]
    expected = [max(1 - update / 8, 0) for update in range(20) for _ in range(3)]
    assert factors[0] + factors[1] == pytest.approx(expected)
    assert draw(small(balance=5.0), 1, 4)["balance"].eq(1).all()
    assert fading.loss().balance == 5.0
    told = fading.to_dict()
    assert (told["balance"], told["balance_until"]) == (5.0, 8)
    assert not {"balance", "balance_until"} & small().to_dict().keys()


def test_noise_belongs_to_seed_and_update():
    one, other = (build(small("sprites"), seed) for seed in (1, 2))
    batch = {"images": one.epoch(0)["images"][:2]}
    noise = one.noise(5, batch)
    assert {name: tuple(each.shape) for name, each in noise.items()} == one.model.noise_shapes(2, 8)
    assert all(each.equal(one.noise(5, batch)[name]) for name, each in noise.items())
    for changed in (one.noise(6, batch), other.noise(5, batch)):
        assert not any(each.equal(changed[name]) for name, each in noise.items())


def test_the_test_is_the_same_for_every_seed_and_not_what_was_trained_on(monkeypatch):
    tested = []
    monkeypatch.setattr(runs, "evaluate", lambda model, episodes: tested.append(episodes.images) or {})
    made = [build(small(machines=k), seed) for k, seed in ((2, 1), (2, 2), (3, 1))]
    for run in made:
        run.evaluate(run.model)
    assert len(tested[0]) == 3
    assert all(images.equal(tested[0]) for images in tested)
    seen = {tuple(image) for image in made[0].epoch(0)["images"].flatten(0, 1).flatten(1).tolist()}
    assert not seen & {tuple(image) for image in tested[0].flatten(0, 1).flatten(1).tolist()}


@pytest.mark.parametrize("kind", ["digits", "binding"])
def test_the_loss_on_training_digits_is_that_of_fresh_episodes_of_them(kind):
    run, task = build(small(kind), 1), small(kind).task
    known = sample(
        task, 3, 4, torch_rng(0, "training episodes", task, "digits"), source="digits", split="train"
    )
    found = run.evaluate(run.model)
    assert found["nll_training"] == pytest.approx(evaluate(run.model, known)["nll"], rel=1e-5)
    assert found["nll_training"] != found["nll"]


def test_a_run_is_what_the_settings_and_the_seed_say():
    s = small(lr=0.03, clip=2.0, epochs=4, checks=(2,), ae_weight=0.5, kl={"memory": 0.0})
    before = torch.get_rng_state()
    run, again, other = build(s, 5), build(s, 5), build(s, 6)
    assert torch.get_rng_state().equal(before)
    weights = [each.model.encoder.hidden.weight for each in (run, again, other)]
    assert weights[0].equal(weights[1])
    assert not weights[0].equal(weights[2])
    assert (run.lr, run.clip, run.epochs, run.checks) == (0.03, 2.0, 4, (2,))
    assert run.updates == 4 * runs.UPDATES
    assert run.key == run_key(s.to_dict(), 5)
    assert run.name.endswith(", seed 5")
    assert run.loss.ae_weight == 0.5
    assert run.loss.weights.keys() == set(KL_TERMS) - {"memory", "address"}
    assert [run.model.sample, build(small("sprites"), 1).model.sample] == ["mean", "full"]
    assert (run.model.machines, run.model.columns, run.model.dim) == (2, 3, 5)


# ------------------------------------------------------------------------------------------------ runs


@pytest.mark.slow
@every_kind
def test_a_stack_trains_as_each_network_alone(kind, short):
    settings = small(kind, balance=3.0, balance_until=4)
    made = [build(settings, seed) for seed in (1, 2)]
    assert made[0].stack_key() == made[1].stack_key()
    stack = TrainingStack(made, CPU, stacked=True)
    together = [stack.step(stack.batch(update)) for update in range(2)]
    for i, seed in enumerate((1, 2)):
        alone = TrainingStack([build(settings, seed)], CPU, stacked=False)
        for update, (losses, scores) in enumerate(together):
            loss, score = alone.step(alone.batch(update))
            assert torch.allclose(loss[0], losses[i], rtol=1e-4)
            assert torch.allclose(score[0], scores[i], rtol=1e-4)
    assert not torch.allclose(together[0][0][0], together[0][0][1], rtol=1e-4)


def test_other_settings_are_not_stacked():
    changes = [{}, {"machines": 3}, {"ae_weight": 1.0}, {"clip": 1.0}]
    changes += [{"balance": 1.0}, {"balance": 2.0}]
    changes += [{"options": {"assignment": each}} for each in ("unit prior", "even")]
    assert len({build(small(**each), 1).stack_key() for each in changes}) == len(changes)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mixture", "binding"])
def test_resumed_equals_uninterrupted(kind, tmp_path, short):
    settings = small(kind, epochs=4, checks=(2,))
    (whole,) = train([build(settings, 1)])
    (stopped,) = train([build(settings, 1)], checkpoints=tmp_path, stop=lambda update: update > 7)
    assert (stopped.finished, stopped.updates) == (False, 8)
    (resumed,) = train([build(settings, 1)], checkpoints=tmp_path)
    assert resumed.metrics == whole.metrics
    assert resumed.checks == whole.checks
    assert [check["epoch"] for check in whole.checks] == [2, 4]
    assert whole.checks[0]["nll"] != whole.checks[1]["nll"]


@pytest.mark.slow
@every_kind
def test_training_lowers_the_loss(kind, monkeypatch):
    monkeypatch.setattr(runs, "UPDATES", 60)
    (run,) = train([build(small(kind, batch_size=4, kl_weight=0.01), 1)])
    scores = run.curve["score"]
    assert scores[-1] < 0.8 * scores[0]
    assert not run.diverged


def test_machines_are_given_by_the_red_digits_of_a_batch(short):
    kl = {"assignment": 0.0, "assignment_read": 0.0}
    made = build(small("binding", options={"assignment": "given"}, kl=kl), 1)
    batch = {name: each[:2] for name, each in made.epoch(0).items()}
    noise = made.noise(3, batch)
    assert (noise["given"].argmax(-1) == 1).equal(batch["labels"][..., 0] >= 5)
    assert noise["given_read"].equal(noise["given"])
    (run,) = train([made])
    assert run.finished


# ------------------------------------------------------------------------------------------------ trained

MACHINES = {"digits": 3, "binding": 2, "sprites": 4, "mixture": 3}


EVERY_1000 = tuple(range(100, 1000, 100))  # updates; an epoch has ten
KINDS = {
    name: (name, {}) for name in MACHINES
} | {  # and additions of ours: the network that is changed, and how
    "binding_balanced": ("binding", {"balance": 15.0, "balance_until": 2000, "checks": EVERY_1000}),
    "sprites_even": ("sprites", {"options": {"assignment": "even"}}),
}


@pytest.mark.parametrize("name", KINDS)
def test_they_are_the_first_seed_of_the_small_scale(name):
    network, (plain, changes) = trained(f"kanerva_{name}"), KINDS[name]
    assert network.about["settings"] == tutorial_settings(plain, MACHINES[plain], **changes).to_dict()
    assert network.about["seed"] == 1
    assert not network.training


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in KINDS if "sprites" not in name])  # they take a minute
def test_they_do_what_their_files_say(name):
    network = trained(f"kanerva_{name}")
    about = network.about
    s = Settings.from_dict(about["settings"])
    metrics = evaluate(network, evaluation(s.task, s.test_episodes, s.items, **s.episode_options))
    for metric in ("nll", "nll_empty", "largest"):
        assert metrics[metric] == pytest.approx(about["metrics"][metric], rel=0.02)
