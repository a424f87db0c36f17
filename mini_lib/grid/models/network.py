"""A mechanism with what stands before it: codes of glyphs, or values of a curve."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mini_lib.datasets import glyphs


class GlyphNetwork(nn.Module):
    """Codes of glyphs, several side by side in a step; normalisation over the steps, if any; the mechanism.

    The encoder is a convolutional one that is never trained, so that the mechanisms alone differ; its codes of the
    100 glyphs are worked out once, standardised over all of them, and kept as `codes`. With `trained` it learns with
    the rest, as in the ESBN paper.

    Args:
        encoder: of pictures [P, 32, 32] to codes [P, D].
        norm: of a problem's steps, such as `TemporalContextNorm`; `nn.Identity()` for none.
        core: the mechanism, [B, T, P D] to [B, C].
        trained: whether the encoder learns.

    >>> from mini_lib.esbn.recurrent_baselines import LSTM
    >>> from mini_lib.esbn.network import ConvEncoder
    >>> network = GlyphNetwork(ConvEncoder(8), nn.Identity(), LSTM(features=3 * 8, classes=2, hidden=5))
    >>> network(torch.randint(100, (4, 9, 3))).shape  # four problems of nine steps of three glyphs
    torch.Size([4, 2])
    """

    def __init__(self, encoder: nn.Module, norm: nn.Module, core: nn.Module, trained: bool = False):
        super().__init__()
        self.norm, self.core = norm, core
        self.encoder = encoder if trained else None
        self.register_buffer("images", glyphs("rendered") if trained else None, persistent=False)
        with torch.no_grad():
            codes = None if trained else with_hidden(standardised(encoder(glyphs("rendered"))))
        self.register_buffer("codes", codes)

    def embed(
        self, ids: Int[Tensor, "B T P"], shown: Int[Tensor, "S"] | None = None
    ) -> Float[Tensor, "B T PD"]:
        """What the mechanism is given. With `shown`, ids count these glyphs, so that each is encoded once."""
        if self.encoder is None:
            return self.norm(self.codes[ids].flatten(2))
        images = self.images if shown is None else self.images[shown]
        return self.norm(with_hidden(self.encoder(images))[ids].flatten(2))

    def forward(
        self, ids: Int[Tensor, "B T P"], shown: Int[Tensor, "S"] | None = None
    ) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits; the arguments are those of `embed`."""
        return self.core(self.embed(ids, shown))


class CurveNetwork(nn.Module):
    """Each value of a curve times one vector, plus another; then the mechanism, which answers with one number.

    The answer is the step from the last value to the next. So what is common to all values is the same in every
    vector, and differences of vectors are differences of values.

    Args:
        read: of a value [..., 1] to a vector [..., D].
        core: the mechanism, [B, N, D] to [B, 1].
        normalise: give the mechanism the curve less its mean over its standard deviation, and scale the answer back.

    >>> from mini_lib.esbn.recurrent_baselines import LSTM
    >>> network = CurveNetwork(nn.Linear(1, 8), LSTM(features=8, classes=1, hidden=5))
    >>> network(torch.randn(4, 12)).shape  # the next step of four curves
    torch.Size([4])
    """

    def __init__(self, read: nn.Module, core: nn.Module, normalise: bool = False):
        super().__init__()
        self.read, self.core, self.normalise = read, core, normalise

    def embed(self, y: Float[Tensor, "B N"]) -> Float[Tensor, "B N D"]:
        """What the mechanism is given."""
        if self.normalise:
            variance, mean = torch.var_mean(y, dim=1, keepdim=True)
            y = (y - mean) / (variance + 1e-8).sqrt()
        return self.read(y[..., None])

    def forward(self, y: Float[Tensor, "B N"]) -> Float[Tensor, "B"]:
        """y_{N+1} - y_N as predicted."""
        step = self.core(self.embed(y))[:, 0]
        return step * (y.var(dim=1) + 1e-8).sqrt() if self.normalise else step


def standardised(codes: Float[Tensor, "P D"]) -> Float[Tensor, "P D"]:
    """Codes with mean 0 and variance 1 in every feature that differs between glyphs at all."""
    variance, mean = torch.var_mean(codes, dim=0)
    return (codes - mean) / (variance + 1e-8).sqrt()


def with_hidden(codes: Float[Tensor, "P D"]) -> Float[Tensor, "Q D"]:
    """The codes, and one of zeros for the glyph that is not shown."""
    return torch.cat([codes, torch.zeros_like(codes[:1])])
