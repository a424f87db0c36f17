"""Whatever cannot be done gets one clear error that names what is wrong; a row for each public function."""

import math

import jaxtyping
import numpy as np
import pytest
import torch

from kanerva.whole import SIZES, build, make, pictures
from mini_lib.errors import UsageError
from mini_lib.kanerva.analysis import class_means
from mini_lib.kanerva.dsprites import draw
from mini_lib.kanerva.evaluation import forget
from mini_lib.kanerva.generation import imagine
from mini_lib.kanerva.images import ConvEncoder, MLPEncoder
from mini_lib.kanerva.memory import columns_of
from mini_lib.kanerva.network import ProductKanerva
from mini_lib.kanerva.objective import Loss
from mini_lib.kanerva.product_memory import ProductMemory
from mini_lib.kanerva.runs import Settings, paper_settings
from mini_lib.kanerva.tasks import digits, evaluation, sample
from mini_lib.seeding import torch_rng

IMAGES, QUERIES = pictures()
NETWORK = make()
ZERO = torch.tensor(0)
MEMORY, CHOICE = (ProductMemory(4, 2, 5, coupling=coupling) for coupling in ("product", "mixture"))


# A word of the message, and the call.
CALLS = [
    (r"4 machines cannot share 30 columns.*1, 2, 3, 5, 6, 10, 15, 30", lambda: columns_of(30, 4)),
    ("the choice of one", lambda: CHOICE.write(torch.zeros(1, 4), gamma=[0.5, 0.5])),
    (r"\[3, 2\], got \[9, 1\]", lambda: MEMORY.read(np.zeros((3, 4)), torch.ones(9, 1), empty=True)),
    ("assignment", lambda: build("mixture", **{"machines": 2, "total": 4} | SIZES, assignment="given")),
    ("encoder", lambda: ProductKanerva(MLPEncoder(1, 2, 4), NETWORK.decoder, 3, 2, 2)),
    ("images has to be", lambda: NETWORK(IMAGES.int())),
    ("codes", lambda: NETWORK.write(torch.zeros(2, 3, 4).double())),
    ("tau", lambda: make("mixture")(IMAGES, tau=torch.zeros(2))),
    ("20 pixels", lambda: ConvEncoder(1, 20, 5)),
    ("reads", lambda: NETWORK.encoder(IMAGES[..., 0])),
    ("cannot imagine", lambda: imagine(make("mixture"), NETWORK.empty(2), {})),
    ("machines 0 to 1", lambda: forget(NETWORK, NETWORK.empty(1), 2)),
    ("memory", lambda: Loss(changed=(("memory", math.nan),))),
    ("divergence", lambda: Loss("full")(make("mixture"), {"images": IMAGES})),
    ("labels", lambda: class_means(torch.ones(2, 1), torch.tensor([[-1], [10]]))),
    ("option of digits", lambda: sample("digits", 2, 3, torch_rng(0), size=28)),
    ("items", lambda: evaluation("digits", 2, 0)),
    ("source", lambda: digits.pool("distorted")),
    ("position", lambda: draw(ZERO, ZERO, ZERO, torch.tensor([32, 9]))),
    ("2 machines", lambda: Settings("digits", 3, balance=1.0, options={"stop_grad_r": True})),
    ("divergence", lambda: Settings("digits", 3, kl={"memry": 1.0})),
    ("memory", lambda: paper_settings("bindng", 2)),
]


@pytest.mark.parametrize(("word", "call"), CALLS)
def test_bad_input_is_told(word, call, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # the tests' own checks would be first
    with pytest.raises(UsageError, match=word):
        call()
