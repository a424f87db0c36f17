"""Analysis of a trained ESBN: its keys, and what can be decoded from them (A.6)."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from sklearn.decomposition import PCA
from torch import Tensor, nn
from torch.nn.functional import one_hot

from mini_lib.errors import UsageError
from mini_lib.esbn.esbn import ESBN
from mini_lib.esbn.network import Network
from mini_lib.esbn.tasks import Problems

CHUNK = 500  # problems that are run at once


class Keys(NamedTuple):
    """The keys of every problem at every step."""

    written: Float[Tensor, "N S K"]  #: k_w, at steps 1..T+1 of the paper; the last is the extra one.
    retrieved: Float[Tensor, "N T K"]  #: k_r without its confidence, gated, at steps 1..T; zero at the first.
    confidence: Float[Tensor, "N T"]  #: the gated confidence in k_r; zeros where the variant has none.


@torch.no_grad()
def collect_keys(network: Network | ESBN, images: Tensor, problems: Problems | None = None) -> Keys:
    """Keys, on the CPU, that an ESBN, in a `Network` or bare, writes and retrieves on problems of any task.

    `images` are the images, or for a bare ESBN the embeddings, of all problems, [N, T, ...]; or with `problems` a
    pool, [P, ...], that their ids refer to.

    >>> collect_keys(ESBN(features=8, key_size=16), torch.randn(20, 5, 8)).written.shape
    torch.Size([20, 6, 16])
    """
    core = network.core if isinstance(network, Network) else network
    if not isinstance(core, ESBN):
        raise UsageError(f"only an ESBN has keys, this network is a {type(core).__name__}")
    if not isinstance(problems, Problems | None):
        raise UsageError(f"problems are Problems, such as `data.train`, got {type(problems).__name__}")
    device, traces = next(network.parameters()).device, []
    whole = network if isinstance(network, Network) else Network(nn.Identity(), nn.Identity(), core)
    pool = () if problems is None else (images.to(device),)
    for part in (images if problems is None else problems.ids).split(CHUNK):
        trace = core.trace(whole.embed(*pool, part.to(device)))
        reads, size = trace.keys_retrieved[:, :-1], trace.keys_written.shape[-1]
        confidence = reads[..., size] if core.confidence else torch.zeros_like(reads[..., 0])
        traces.append((trace.keys_written, reads[..., :size], confidence))
    dtype = torch.promote_types(traces[0][0].dtype, torch.float32)  # NumPy has no bfloat16
    return Keys(*(torch.cat(parts).to("cpu", dtype) for parts in zip(*traces, strict=True)))


def fit_plane(*keys: Keys, retrieved: bool = False) -> PCA:
    """The first two principal components of the keys written at steps 1..T (Figure 9).

    The authors' code fits written keys only; with `retrieved` those are added, as in the paper's text.
    """
    if not keys or not all(isinstance(each, Keys) for each in keys):
        raise UsageError("a plane is fitted to Keys, as `collect_keys` returns them")
    sets = [k.written[:, :-1] for k in keys] + ([k.retrieved for k in keys] if retrieved else [])
    return PCA(n_components=2).fit(torch.cat([part.detach().flatten(0, 1).cpu() for part in sets]).numpy())


def project(plane: PCA, keys: Float[Tensor, "*N K"]) -> Float[np.ndarray, "*N 2"]:
    """Points of the plane for keys."""
    points = plane.transform(keys.detach().reshape(-1, keys.shape[-1]).cpu().numpy())
    return points.reshape(*keys.shape[:-1], 2)


def decode_steps(
    train: Float[Tensor, "N S K"], test: Float[Tensor, "M S K"]
) -> tuple[Float[np.ndarray, "S"], Float[np.ndarray, "S S"]]:
    """Nearest-centroid decoding of a key's step: accuracy at each step, and confusion matrix (rows: true step)."""
    if train.shape[1:] != test.shape[1:]:
        raise UsageError(f"keys of the same steps are compared, got {[*train.shape]} and {[*test.shape]}")
    centroids = train.mean(dim=0).expand(len(test), -1, -1)
    decoded = torch.cdist(test, centroids).argmin(dim=-1)
    confusion = one_hot(decoded, train.shape[1]).double().mean(dim=0).cpu().numpy()
    return confusion.diagonal(), confusion
