"""What is measured inside a trained ESBN: its keys, and what can be read from them (A.6)."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.decomposition import PCA
from torch import Tensor, nn
from torch.nn.functional import one_hot

from mini_lib.esbn.models import ESBN, Network
from mini_lib.esbn.tasks import Problems
from mini_lib.seeding import numpy_rng, seeded

ROW1 = 3  # objects of the first row, whose keys the later ones are matched with


class Keys(NamedTuple):
    """The keys of every problem at every step."""

    #: k_w, at steps 1..T+1 of the paper (the last is the extra one). [N, T+1, K]
    written: Float[Tensor, "N S K"]
    retrieved: Float[Tensor, "N T K"]  #: k_r without its confidence, gated, at steps 1..T; zero at the first.
    #: the gated confidence that came with it; zeros where the variant has none.
    confidence: Float[Tensor, "N T"]


@torch.no_grad()
def collect_keys(model: Network, images: Float[Tensor, "P 32 32"], problems: Problems) -> Keys:
    """Run the network over problems, on its own device, and keep on the CPU the keys it writes and retrieves."""
    core = model.core
    if not isinstance(core, ESBN):
        raise TypeError(f"only an ESBN has keys, this network has a {type(core).__name__}")
    device = next(model.parameters()).device
    images = images.to(device)
    written, retrieved, confidence = [], [], []
    for ids in problems.ids.split(500):
        trace = core.trace(model.embed(images, ids.to(device)))
        size = trace.keys_written.shape[-1]
        reads = trace.keys_retrieved[:, :-1]
        written.append(trace.keys_written)
        retrieved.append(reads[..., :size])
        confidence.append(reads[..., size] if core.confidence else torch.zeros_like(reads[..., 0]))
    return Keys(*(torch.cat(parts).cpu() for parts in (written, retrieved, confidence)))


def fit_plane(*keys: Keys, retrieved: bool = False) -> PCA:
    """The first two principal components of the keys written at steps 1..T (Figure 9).

    The authors' code fits them on written keys only; the paper's text says written and retrieved, which
    `retrieved` does. Give the keys of the training and of the test problems.
    """
    sets = [k.written[:, :-1] for k in keys] + ([k.retrieved for k in keys] if retrieved else [])
    return PCA(n_components=2).fit(np.concatenate([part.flatten(0, 1).cpu().numpy() for part in sets]))


def project(plane: PCA, keys: Float[Tensor, "*N K"]) -> Float[np.ndarray, "*N 2"]:
    """Keys as points of the plane."""
    points = plane.transform(keys.reshape(-1, keys.shape[-1]).cpu().numpy())
    return points.reshape(*keys.shape[:-1], 2)


def reappearances(problems: Problems) -> Int[Tensor, "N 3"]:
    """The step (from 0) at which each object of row 1 is first seen again, in row 2 or among the choices."""
    first, later = problems.ids[:, :ROW1], problems.ids[:, ROW1:]
    again = later[:, None, :] == first[:, :, None]
    if not again.any(dim=-1).all():
        raise ValueError(
            "an object of the first row never comes back; this analysis is for distribution-of-three"
        )
    return ROW1 + again.int().argmax(dim=-1)


def keys_at_reappearance(keys: Keys, problems: Problems) -> Float[Tensor, "N 3 K"]:
    """The keys retrieved when each object of row 1 is first seen again (Figure 9c)."""
    steps = reappearances(problems)
    return keys.retrieved[torch.arange(len(steps))[:, None], steps]


def decode_steps(
    train: Float[Tensor, "N S K"], test: Float[Tensor, "M S K"]
) -> tuple[Float[np.ndarray, "S"], Float[np.ndarray, "S S"]]:
    """Nearest-centroid decoding of the step at which a key was written.

    Each key of the test problems gets the step whose mean key in the training problems is nearest. Give retrieved
    keys as `test` to ask at which step they were written. What comes back is the share of each step's test keys that
    are decoded right, and the confusion matrix (rows: true step).
    """
    centroids = train.mean(dim=0).expand(len(test), -1, -1)
    decoded = torch.cdist(test, centroids).argmin(dim=-1)
    confusion = one_hot(decoded, train.shape[1]).double().mean(dim=0).cpu().numpy()
    return confusion.diagonal(), confusion


def first_component_share(cloud: Float[Tensor, "N K"]) -> float:
    """Share of the variance that lies along the one best direction: 1 for points on a straight line."""
    values = torch.linalg.svdvals((cloud - cloud.mean(dim=0)).double()) ** 2
    return (values[0] / values.sum()).item()


def doubled_problems(pool: Int[Tensor, "P"], row: tuple[int, int, int], size: int, seed: int) -> Problems:
    """Distribution-of-three problems whose first row shows the objects `row`, such as (0, 0, 1) for A A B.

    The second row is the first in another order, its last object the answer; the choices are four distinct
    objects, A, B and C among them. A paper problem has (0, 1, 2); the others are outside the task.
    """
    if len(row) != ROW1 or not set(row) <= {0, 1, 2}:
        raise ValueError(f"row {row} is not three of the objects 0, 1 and 2, as (0, 0, 1) is for A A B")
    if len(pool) < 4:
        raise ValueError(f"a problem needs 4 images to choose from, the pool has {len(pool)}")
    rng = numpy_rng(seed, "doubled", *row)
    four = rng.permuted(np.tile(pool.cpu().numpy(), (size, 1)), axis=1)[:, :4]
    first = four[:, list(row)]
    second, choices = rng.permuted(first, axis=1), rng.permuted(four, axis=1)
    answers = (choices == second[:, 2:]).argmax(axis=1)
    return Problems(torch.from_numpy(np.hstack([first, second[:, :2], choices])), torch.from_numpy(answers))


def randomise(module: nn.Module, seed: int, std: float = 0.3) -> None:
    """Replace all parameters by normal noise, to ask what a network can do whatever its weights."""
    with torch.no_grad(), seeded(seed, "randomise"):
        for parameter in module.parameters():
            parameter.normal_(std=std)
