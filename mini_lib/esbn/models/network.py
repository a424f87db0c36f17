"""A whole network: encoder, temporal context normalisation and sequence model in a row (section 3)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class Network(nn.Module):
    """images -> encoder f_e -> normalisation over the problem's own steps -> sequence model f_s -> logits.

    Args:
        encoder: maps images [P, 32, 32] to embeddings [P, D].
        norm: maps embeddings [B, T, D] to the same shape; `nn.Identity()` leaves them raw.
        core: one of the sequence models, [B, T, D] to logits [B, C].

    Any modules of these shapes will do:

    >>> from mini_lib.esbn.models import ESBN, MLPEncoder, TemporalContextNorm
    >>> core = ESBN(features=16, classes=2, hidden=32, key_size=16)
    >>> network = Network(MLPEncoder(features=16), TemporalContextNorm(16, windows=(2,)), core)
    >>> pool, where = torch.rand(10, 32, 32), torch.randint(10, (5, 2))
    >>> network(pool, where).shape, network(pool[where]).shape
    (torch.Size([5, 2]), torch.Size([5, 2]))
    """

    def __init__(self, encoder: nn.Module, norm: nn.Module, core: nn.Module):
        super().__init__()
        self.encoder, self.norm, self.core = encoder, norm, core

    def embed(
        self, images: Float[Tensor, "... 32 32"], where: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T D"]:
        """Encode and normalise; the arguments are those of `forward`."""
        if where is None:
            z = self.encoder(images.flatten(0, 1)).unflatten(0, images.shape[:2])
        else:
            z = self.encoder(images)[where]
        return self.norm(z)

    def forward(
        self, images: Float[Tensor, "... 32 32"], where: Int[Tensor, "B T"] | None = None, aux: bool = False
    ):
        """Answer a batch of problems.

        Args:
            images: the problems as [B, T, 32, 32]; or, with `where`, a pool [P, 32, 32] of distinct images.
            where: which image of the pool stands at each step. The same function, but each image is encoded
                once instead of once per appearance.
            aux: also return the network's own extra loss, a scalar (zero for all but the MNM).

        Returns:
            Logits [B, C]; with `aux`, the pair (logits, extra loss).
        """
        z = self.embed(images, where)
        if not aux:
            return self.core(z)
        if hasattr(self.core, "forward_with_loss"):
            return self.core.forward_with_loss(z)
        return self.core(z), torch.zeros((), device=z.device)
