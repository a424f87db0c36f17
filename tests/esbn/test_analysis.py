import numpy as np
import pytest
import torch
from other_device import OTHER, OtherDevice

from esbn.networks import busy
from mini_lib.errors import UsageError
from mini_lib.esbn import analysis
from mini_lib.esbn.analysis import Keys
from mini_lib.esbn.esbn import ESBN
from mini_lib.esbn.network import Network, TemporalContextNorm
from mini_lib.esbn.runs import MODELS
from mini_lib.esbn.tasks import Problems, make_problems
from mini_lib.seeding import torch_rng

IMAGES = torch.rand(100, 32, 32, generator=torch_rng(0, "images"))
RMTS = make_problems("rmts", 95, 1, test_size=50).test
THREE = Problems(*make_problems("distribution_of_three", 50, 1, train_size=40).train[:40])
every_esbn = pytest.mark.parametrize("model", [model for model in MODELS if model.startswith("esbn")])


@every_esbn
def test_collected_keys_are_those_of_the_trace(model, monkeypatch):
    monkeypatch.setattr(analysis, "CHUNK", 16)  # of 40 problems
    network = busy(model).float()
    keys = analysis.collect_keys(network, IMAGES, THREE)
    with torch.no_grad():
        trace = network.core.trace(network.embed(IMAGES, THREE.ids))
    size = network.core.key.out_features
    torch.testing.assert_close(keys.written, trace.keys_written)
    torch.testing.assert_close(keys.retrieved, trace.keys_retrieved[:, :-1, :size])
    expected = trace.gates * (trace.weights * trace.confidences).sum(dim=-1)
    torch.testing.assert_close(keys.confidence, expected[:, :-1])
    assert keys.confidence.any() == (model == "esbn")


def test_keys_and_networks_elsewhere_are_measured_as_on_the_cpu():
    network, few, lengths = busy("esbn").float(), Problems(*THREE[:3]), torch.tensor([9, 1, 4])
    keys = analysis.collect_keys(network, IMAGES, few)
    with OtherDevice(), torch.no_grad():
        z = network.embed(IMAGES, few.ids)
        cut_short = network.core(z, lengths)
        moved = Keys(*(part.to(OTHER) for part in keys))
        plane, other = (analysis.fit_plane(each, retrieved=True) for each in (keys, moved))
        np.testing.assert_allclose(other.components_, plane.components_, atol=1e-5)
        analysis.project(plane, moved.written)
        analysis.decode_steps(moved.written, moved.written)
        network.to(OTHER)
        torch.testing.assert_close(network.core(z.to(OTHER), lengths.to(OTHER)).cpu(), cut_short)
        for ours, right in zip(analysis.collect_keys(network, IMAGES, few), keys, strict=True):
            assert ours.device.type == "cpu"
            torch.testing.assert_close(ours, right)


def test_one_s_own_network_on_any_task_has_keys_and_a_plane():
    """An ESBN behind an encoder of one's own, with images of any kind, and bare, on embeddings."""
    pool = torch.randn(100, 3, 10)
    encoder = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(30, 16))
    own = Network(encoder, TemporalContextNorm(16, (2, 2, 2)), ESBN(16, 2, hidden=20, key_size=12))
    keys = analysis.collect_keys(own, pool, RMTS)
    bare = analysis.collect_keys(own.core, own.embed(pool, RMTS.ids))
    whole = analysis.collect_keys(own, pool[RMTS.ids])
    for name, part in keys._asdict().items():
        torch.testing.assert_close(part, getattr(bare, name))
        torch.testing.assert_close(part, getattr(whole, name))
    with pytest.raises(UsageError):
        analysis.collect_keys(busy("lstm").float(), IMAGES, RMTS)


@pytest.mark.parametrize("retrieved", [False, True])
def test_the_plane_is_that_of_the_singular_vectors(retrieved: bool):
    generator = torch.Generator().manual_seed(0)
    scale = torch.tensor([5.0, 3.0, 1.0, 0.5])
    sets = [torch.randn(n, 4, 4, generator=generator) * scale for n in (20, 30)]
    reads = [torch.randn(n, 3, 4, generator=generator) * scale.flip(0) for n in (20, 30)]
    keys = [Keys(written, read, read[..., 0]) for written, read in zip(sets, reads, strict=True)]
    plane = analysis.fit_plane(*keys, retrieved=retrieved)
    rows = [part[:, :-1].flatten(0, 1).numpy() for part in sets]  # the extra step is left out
    rows = np.concatenate(rows + [part.flatten(0, 1).numpy() for part in reads] * retrieved)
    _, values, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(plane.components_.T @ plane.components_, axes[:2].T @ axes[:2], atol=1e-5)
    np.testing.assert_allclose(
        plane.explained_variance_ratio_, values[:2] ** 2 / (values**2).sum(), rtol=1e-5
    )
    points = analysis.project(plane, sets[0])
    expected = (sets[0].numpy() - rows.mean(axis=0)) @ plane.components_.T
    np.testing.assert_allclose(points, expected, atol=1e-5)


def test_steps_are_decoded_by_the_nearest_training_mean():
    centres = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    offsets = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    train = centres + offsets[:, None]
    test = centres.expand(4, -1, -1).clone()
    test[0, 1] = torch.tensor([4.9, 0.0])  # nearer to the first centre
    test[1:3, 2] = torch.tensor([9.0, 2.0])  # nearer to the second
    share, confusion = analysis.decode_steps(train, test)
    np.testing.assert_allclose(share, [1.0, 0.75, 0.5])
    np.testing.assert_allclose(confusion, [[1, 0, 0], [0.25, 0.75, 0], [0, 0.5, 0.5]])
    _, far = analysis.decode_steps(train, test + 100)  # nearest to the means of training all the same
    assert far[:, 0].max() == 0
