"""What is measured inside a trained ESBN (A.6), and across its runs (Figures 4, 5, 7, 8; A.5.4)."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestCentroid
from torch import Tensor

from mini_lib.esbn.models import ESBN, Network
from mini_lib.esbn.tasks import Problems

ROW1 = 3  # objects of the first row, whose keys the later ones are matched with


class Keys(NamedTuple):
    """The keys of every problem at every step.

    Attributes:
        written: k_w, at steps 1..T+1 of the paper (the last is the extra one). [N, T+1, K]
        retrieved: k_r without its confidence, gated, at steps 1..T; zero at the first. [N, T, K]
        confidence: the gated confidence that came with it; zeros where the variant has none. [N, T]
    """

    written: Float[Tensor, "N S K"]
    retrieved: Float[Tensor, "N T K"]
    confidence: Float[Tensor, "N T"]


@torch.no_grad()
def collect_keys(model: Network, images: Float[Tensor, "P 32 32"], problems: Problems) -> Keys:
    """Run the network over problems and keep the keys it writes and retrieves.

    Raises:
        TypeError: if the network's sequence model is not an ESBN.
    """
    core = model.core
    if not isinstance(core, ESBN):
        raise TypeError(f"only an ESBN has keys, this network has a {type(core).__name__}")
    written, retrieved, confidence = [], [], []
    for ids in problems.ids.split(500):
        trace = core.trace(model.embed(images, ids))
        size = trace.keys_written.shape[-1]
        reads = trace.keys_retrieved[:, :-1]
        written.append(trace.keys_written)
        retrieved.append(reads[..., :size])
        confidence.append(reads[..., size] if core.confidence else torch.zeros_like(reads[..., 0]))
    return Keys(torch.cat(written), torch.cat(retrieved), torch.cat(confidence))


def fit_plane(*keys: Keys, retrieved: bool = False) -> PCA:
    """The first two principal components of the keys written at steps 1..T (Figure 9).

    The authors' code fits them on written keys only; the paper's text says written and retrieved, which
    `retrieved` does. Give the keys of the training and of the test problems.
    """
    sets = [k.written[:, :-1] for k in keys] + ([k.retrieved for k in keys] if retrieved else [])
    return PCA(n_components=2).fit(np.concatenate([part.flatten(0, 1).numpy() for part in sets]))


def project(plane: PCA, keys: Float[Tensor, "*N K"]) -> Float[np.ndarray, "*N 2"]:
    """Keys as points of the plane."""
    return plane.transform(keys.reshape(-1, keys.shape[-1]).numpy()).reshape(*keys.shape[:-1], 2)


def reappearances(problems: Problems) -> Int[Tensor, "N 3"]:
    """The step (from 0) at which each object of row 1 is first seen again, in row 2 or among the choices.

    Raises:
        ValueError: if an object of row 1 never comes back, as in identity rules.
    """
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
    """How well the step at which a key was written is told from the key alone.

    The centroids of the training problems' keys, one a step, label each key of the test problems, whose images
    the network has never seen.

    Returns:
        The share of test keys of each step that are told right, and the confusion matrix (rows: true step).
    """
    steps = train.shape[1]
    labels = np.tile(np.arange(steps), len(train))
    centroids = NearestCentroid().fit(train.flatten(0, 1).numpy(), labels)
    told = centroids.predict(test.flatten(0, 1).numpy()).reshape(len(test), steps)
    confusion = np.stack([np.bincount(column, minlength=steps) / len(test) for column in told.T])
    return confusion.diagonal(), confusion


class Curve(NamedTuple):
    """Mean learning curve over runs, with the standard error of the mean; `runs` is how many."""

    update: np.ndarray
    mean: np.ndarray
    sem: np.ndarray
    runs: int


def mean_curve(records: list[dict]) -> Curve:
    """Average the training accuracy of runs of equal settings at every logged update (Figures 4, 5, 7, 8).

    Raises:
        ValueError: without records.
    """
    whole = [record["curve"] for record in records if not record["diverged"]]
    if not whole:
        raise ValueError("no finished runs of these settings on record; `mini-lib reproduce` makes them")
    scores = np.array([curve["score"] for curve in whole])
    sem = stats.sem(scores, axis=0) if len(scores) > 1 else np.zeros(scores.shape[1])
    return Curve(np.array(whole[0]["update"]), scores.mean(axis=0), sem, len(scores))


def updates_to(record: dict, level: float = 95.0, window: int = 5) -> int | None:
    """The update at which the training accuracy, averaged over `window` logged batches, first reaches `level` %."""
    score = np.array(record["curve"]["score"])
    if len(score) < window:
        return None
    smooth = np.convolve(score, np.ones(window) / window, mode="valid")
    reached = np.flatnonzero(smooth >= level)
    return int(record["curve"]["update"][reached[0] + window - 1]) if len(reached) else None


def paired_t_test(first: list[float], second: list[float]) -> tuple[float, float, int]:
    """Paired t-test over conditions, as A.5.4 does over mean accuracies: t, two-sided p and degrees of freedom.

    A positive t says that `first` is the larger.

    Raises:
        ValueError: if the lists differ in length or hold fewer than two conditions.
    """
    if len(first) != len(second) or len(first) < 2:
        raise ValueError(
            f"a paired test needs two equally long lists of 2 or more, got {len(first)} and {len(second)}"
        )
    result = stats.ttest_rel(first, second)
    return float(result.statistic), float(result.pvalue), len(first) - 1
