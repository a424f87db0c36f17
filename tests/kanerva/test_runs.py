"""Settings, episodes, real runs by the harness, and the trained networks that come along."""

import pytest
import torch

from mini_lib import trained
from mini_lib.hashing import run_key
from mini_lib.kanerva import runs
from mini_lib.kanerva.digits import SIZES
from mini_lib.kanerva.evaluation import evaluate
from mini_lib.kanerva.objective import KL_TERMS, temperature
from mini_lib.kanerva.runs import PAPERS, Settings, build, draw, paper_settings, tutorial_settings
from mini_lib.kanerva.tasks import evaluation, sample
from mini_lib.seeding import seeded, torch_rng

TINY = {"items": 4, "dim": 5, "encoder": "mlp", "decoder": "mlp", "batch_size": 2, "epochs": 1, "lr": 1e-2}
GIVEN = {"options": {"assignment": "given"}, "kl": {"assignment": 0.0, "assignment_read": 0.0}}
every_kind = pytest.mark.parametrize("kind", PAPERS)


def small(kind="digits", machines=2, **changes):
    """Few columns, items and episodes, a small network."""
    own = {"size": 14, "test_episodes": 20, "items": 8} if kind == "sprites" else {"source": "digits"}
    own = TINY | {"total": 6, "test_episodes": 3, "checks": ()} | own
    return paper_settings(kind, machines, **own | changes)


def test_the_paper_settings_are_the_papers():
    """Sections 3.2 to 3.4, A.1.1 and A.5; learning rates lie in the paper's range, 5e-5 to 1e-3."""
    digits = {"task": "digits", "model": "product", "experiment": "mean addresses", "total": 30, "items": 45}
    digits |= {"dim": 50, "encoder": "valid", "decoder": "conv", "source": "mnist", "test_episodes": 100}
    digits |= {"epochs": 200_000 // runs.UPDATES, "batch_size": 24, "lr": 1e-4, "clip": 10}
    digits |= {"kl_weight": 1, "ae_weight": 0, "balance": 0, "kl": {}}
    sprites = {"task": "dsprites", "experiment": "full", "total": 20, "items": 15, "encoder": "residual"}
    expected = {
        "digits": digits,
        "mixture": digits | {"model": "mixture", "experiment": "mixture"},
        "binding": digits | {"task": "rgb", "total": 60, "dim": 100, "lr": 1e-3},
        "sprites": digits | sprites | {"size": 28, "test_episodes": 200, "epochs": 250_000 // runs.UPDATES},
    }
    for name, fields in expected.items():
        large, little = paper_settings(name, 2), tutorial_settings(name, 2)
        assert {field: getattr(large, field) for field in fields} == fields
        for field in ("task", "model", "experiment", "total", "items", "dim", "options"):
            assert getattr(little, field) == getattr(large, field)
        assert little.ae_weight == (name == "binding")  # without it is a variant
        side = little.size if name == "sprites" else SIZES[little.source]
        assert little.kl_weight == pytest.approx((side / 28) ** 2, abs=1e-4)
    assert expected.keys() == PAPERS.keys()


@pytest.mark.parametrize("kind", ["digits", "binding", "sprites"])
def test_episodes_are_of_the_seed_and_the_epoch_and_kept_as_bytes(kind):
    settings = small(kind)
    one, three = (build(small(kind, k), 3) for k in (1, 3))
    batch = one.epoch(1)
    assert batch.keys() == {"images", "kl_weight"}
    assert batch["images"].dtype == torch.uint8
    assert batch["images"].equal(three.epoch(1)["images"])
    assert one.examples == 2 * runs.UPDATES
    stream = torch_rng(3, "episodes", 1)
    drawn = sample(settings.task, one.examples, settings.items, stream, **settings.episode_options)
    assert batch["images"].float().equal(drawn.images)
    assert settings.loss().hide_green == (kind == "binding")


def test_a_temperature_falls_over_the_first_half_of_all_updates():
    s = small("mixture", epochs=4)
    tau = torch.cat([draw(s, 1, epoch)["tau"] for epoch in range(4)])
    assert tau.tolist() == pytest.approx([max(1 - 0.5 * u / 20, 0.5) for u in range(40) for _ in range(2)])
    assert temperature(torch.tensor([50]), 10, last=0.8).item() == pytest.approx(0.8)


def test_balance_fades_by_update_or_stays():
    fading = small("binding", balance=5.0, balance_until=8, batch_size=3)
    factors = torch.cat([draw(fading, 1, epoch)["balance"] for epoch in (0, 1)])
    assert factors.tolist() == pytest.approx([max(1 - u / 8, 0) for u in range(20) for _ in range(3)])
    assert draw(small(balance=5.0), 1, 4)["balance"].eq(1).all()
    assert fading.loss().balance == 5.0


def test_noise_is_of_the_seed_and_the_update_and_machines_are_given_by_the_red_digits():
    run = build(small("binding", **GIVEN), 2)
    batch = {name: each[:2] for name, each in run.epoch(0).items()}
    noise = run.noise(5, batch)
    red = (batch["labels"][..., 0] >= 5).long()
    for name in ("given", "given_read"):
        assert noise.pop(name).equal(torch.nn.functional.one_hot(red, 2).float())
    assert {"history", "history_read"} == noise.keys()
    drawn = run.model.draw_noise(2, 4, torch_rng(2, "noise", 5))
    assert all(each.equal(drawn[name]) for name, each in noise.items())


@every_kind
def test_the_test_is_of_test_digits_and_the_loss_on_training_digits_of_fresh_ones(kind):
    settings = small(kind, test_episodes=20 if kind == "sprites" else 3)
    run, options = build(settings, 1), settings.episode_options
    found = run.evaluate(run.model)
    test = evaluation(settings.task, settings.test_episodes, settings.items, **options)
    expected = evaluate(run.model, test)
    if kind != "sprites":
        known = torch_rng(0, "training episodes", settings.task, "digits")
        training = sample(settings.task, 3, 4, known, **options, split="train")
        expected["nll_training"] = evaluate(run.model, training)["nll"]
        assert expected["nll_training"] != expected["nll"]
    assert found == pytest.approx(expected, rel=1e-5)


def test_a_run_is_what_the_settings_and_the_seed_say():
    s = small(lr=0.03, clip=2.0, epochs=4, checks=(2,), ae_weight=0.5, kl={"memory": 0.0})
    before = torch.get_rng_state()
    run = build(s, 5)
    assert torch.get_rng_state().equal(before)
    with seeded(5, "weights", "product", 2):
        network = s.network()
    for ours, theirs in zip(run.model.parameters(), network.parameters(), strict=True):
        assert ours.equal(theirs)
    assert (run.lr, run.clip, run.epochs, run.checks) == (0.03, 2.0, 4, (2,))
    assert run.updates == 4 * runs.UPDATES
    assert run.key == run_key(s.to_dict(), 5)
    assert run.loss.ae_weight == 0.5
    assert run.loss.weights.keys() == set(KL_TERMS) - {"memory", "address"}
    assert (run.model.machines, run.model.columns, run.model.dim) == (2, 3, 5)
    assert [each.model.sample for each in (run, build(small("sprites"), 1))] == ["mean", "full"]


def test_only_runs_of_one_network_and_loss_are_stacked():
    changes = [{}, {"machines": 3}, {"ae_weight": 1.0}, {"clip": 1.0}, {"balance": 1.0}, {"balance": 2.0}]
    changes += [{"options": {"assignment": each}} for each in ("unit prior", "even")]
    assert len({build(small(**each), 1).stack_key() for each in changes}) == len(changes)
    assert build(small(), 1).stack_key() == build(small(), 2).stack_key()


SMALL = [f"small_{seed}" for seed in range(1, 6)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits", "binding", "mixture", "binding_balanced", *SMALL])
def test_trained_networks_do_what_their_files_say(name):
    network = trained(f"kanerva_{name}")
    s = Settings.from_dict(network.about["settings"])
    metrics = evaluate(network, evaluation(s.task, s.test_episodes, s.items, **s.episode_options))
    for metric in ("nll", "nll_empty", "largest"):
        assert metrics[metric] == pytest.approx(network.about["metrics"][metric], rel=0.02)
