"""What training minimises: the sums of section 5 of the specification, its options, and the harness."""

import numpy as np
import pytest
import torch

from kanerva import whole
from kanerva.whole import make, noise_of, pictures
from mini_lib.kanerva.objective import (
    KL_TERMS,
    WEIGHTS,
    Loss,
    fade,
    nats,
    temperature,
    terms,
    usage_kl,
)

TIGHT = {"rtol": 1e-9, "atol": 1e-11}
COUNTED = {  # what each experiment adds to the reconstruction
    "mean addresses": {"memory", "address_read", "assignment", "assignment_read", "history", "history_read"},
    "full": {"memory", "address", "address_read", "assignment", "assignment_read", "history", "history_read"},
    "mixture": {"address_read"},
}
FORM = {"mean addresses": "default", "full": "full", "mixture": "mixture"}
every_experiment = pytest.mark.parametrize("experiment", WEIGHTS)


def batch_of(network, **more):
    images, queries = pictures()
    return {"images": images, "queries": queries, "noise": noise_of(network)} | more


def slow(network, form, batch, counted, warm=(1.0, 1.0)):
    """Loss and score from the numpy forward pass."""
    losses, scores = [], []
    for b, factor in enumerate(warm):
        own = {name: each[b].numpy() for name, each in batch["noise"].items()}
        images = batch["images"][b].numpy()
        found = whole.forward(network, form, images, batch["queries"][b].numpy(), own)
        on = 1 / (1 + np.exp(-found["logits"]))
        scores.append(-np.sum(np.log(np.where(images == 1, on, 1 - on))) / len(images))
        cost = sum(np.sum(found["kl"][name]) for name in counted) / len(images)
        losses.append(scores[-1] + factor * cost)
    return np.mean(losses), np.mean(scores)


@every_experiment
def test_equals_numpy(experiment):
    network = make(FORM[experiment])
    batch = batch_of(network)
    ours = Loss(experiment)(network, batch)
    theirs = slow(network, FORM[experiment], batch, COUNTED[experiment])
    np.testing.assert_allclose([each.item() for each in ours], theirs, rtol=1e-9)


@every_experiment
def test_kl_weight_scales_divergences_and_not_the_score(experiment):
    network = make(FORM[experiment])
    batch = batch_of(network, kl_weight=torch.tensor([0.25, 0.5]).double())
    ours = Loss(experiment)(network, batch)
    theirs = slow(network, FORM[experiment], batch, COUNTED[experiment], (0.25, 0.5))
    np.testing.assert_allclose([each.item() for each in ours], theirs, rtol=1e-9)
    none = Loss(experiment)(network, batch | {"kl_weight": torch.tensor(0.0).double()})
    torch.testing.assert_close(*none, **TIGHT)


def test_weights_may_be_changed_one_by_one():
    network = make("full")
    batch = batch_of(network)
    found = {
        name: each.mean() for name, each in terms(network.trace(**forward(batch)), batch["images"]).items()
    }
    assert found.keys() == {"reconstruction", *KL_TERMS}
    whole_loss, score = Loss("full")(network, batch)
    torch.testing.assert_close(whole_loss, sum(found.values()), **TIGHT)
    torch.testing.assert_close(score, found["reconstruction"], **TIGHT)
    for name in KL_TERMS:
        less, _ = Loss("full", changed=((name, 0.25),))(network, batch)
        torch.testing.assert_close(whole_loss - less, 0.75 * found[name], rtol=1e-7, atol=1e-9)


def forward(batch):
    return {name: batch[name] for name in ("images", "queries", "noise")}


def test_the_autoencoder_adds_its_own_reconstruction():
    network = make()
    batch = batch_of(network)
    plain, score = Loss()(network, batch)
    more, same = Loss(ae_weight=0.5)(network, batch)
    expected = nats(network.decoder(network.encoder(batch["images"])), batch["images"]).mean()
    torch.testing.assert_close(more - plain, 0.5 * expected, rtol=1e-8, atol=1e-10)
    assert score.equal(same)


@every_experiment
def test_balance_adds_the_usage_kl_of_all_items_written_and_asked_for(experiment):
    """Against numpy; the factors of a batch's episodes count by their mean, and the score stays."""
    network = make(FORM[experiment])
    batch = batch_of(network, balance=torch.tensor([0.2, 0.6]).double())
    shares = []
    for b in range(2):
        own = {name: each[b].numpy() for name, each in batch["noise"].items()}
        images, queries = (batch[name][b].numpy() for name in ("images", "queries"))
        shares += whole.forward(network, FORM[experiment], images, queries, own)["shares"]
    assert np.shape(shares) == (16, 2)
    expected = sum(each * np.log(2 * each) for each in np.mean(shares, axis=0))
    plain, score = Loss(experiment)(network, batch)
    even, same = Loss(experiment, balance=3.0)(network, batch)
    np.testing.assert_allclose((even - plain).item(), 3.0 * 0.4 * expected, rtol=1e-7)
    assert score.equal(same)
    constant, _ = Loss(experiment, balance=3.0)(network, batch_of(network))
    np.testing.assert_allclose((constant - plain).item(), 3.0 * expected, rtol=1e-7)


def test_usage_kl_is_of_the_mean_share():
    """0 where machines are used equally, whether each item is shared or not; ln K where one does everything."""
    alone = torch.eye(3, dtype=torch.float64).reshape(1, 3, 3)
    torch.testing.assert_close(usage_kl(alone), torch.tensor(0.0).double(), **TIGHT)
    torch.testing.assert_close(usage_kl(torch.full_like(alone, 1 / 3)), torch.tensor(0.0).double(), **TIGHT)
    takes_over = alone[:, :1].clone().requires_grad_()
    found = usage_kl(takes_over)
    torch.testing.assert_close(found, torch.tensor(3.0).double().log(), **TIGHT)
    (slope,) = torch.autograd.grad(found, takes_over)
    assert slope.isfinite().all()
    assert slope[0, 0, 0] > slope[0, 0, 1]
    assert usage_kl(torch.ones(2, 5, 1)).item() == 0


def test_nats_are_of_all_pixels_and_channels():
    logits, images = torch.zeros(2, 3, 3, 4, 4), torch.ones(2, 3, 3, 4, 4)
    torch.testing.assert_close(nats(logits, images), torch.full((2, 3), 48 * np.log(2.0)).float())


def test_tau_comes_with_the_batch():
    found = []
    for more in ({}, {"tau": torch.tensor(1.0).double()}, {"tau": torch.tensor([1.0, 3.0]).double()}):
        network = make("mixture")
        Loss("mixture")(network, batch_of(network, **more))[0].backward()
        found.append(network.assignment.logits.weight.grad)
    torch.testing.assert_close(found[0], found[1], **TIGHT)
    assert not torch.allclose(found[0], found[2])


def test_schedules():
    update = torch.tensor([0, 1, 4, 5, 100])
    torch.testing.assert_close(fade(update, 5), torch.tensor([1.0, 0.8, 0.2, 0.0, 0.0]))
    assert fade(update, 0).equal(torch.ones(5))
    torch.testing.assert_close(temperature(update, 10), torch.tensor([1.0, 0.9, 0.6, 0.5, 0.5]))
    torch.testing.assert_close(temperature(update, 10, last=0.8)[-1], torch.tensor(0.8))


def test_bytes_are_made_numbers_and_queries_on_the_device():
    """The batch of the binding task holds its images as bytes; green is hidden by the loss."""
    network = make("default", channels=3)
    images, _ = pictures(channels=3)
    queries = images.clone()
    queries[:, :, 1] = 0
    noise = noise_of(network)
    wanted = Loss()(network, {"images": images, "queries": queries, "noise": noise})
    single = network.float()
    noise = {name: each.float() for name, each in noise.items()}
    found = Loss(hide_green=True)(single, {"images": images.byte(), "noise": noise})
    torch.testing.assert_close([each.double() for each in found], list(wanted), rtol=1e-4, atol=1e-4)
