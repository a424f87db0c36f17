"""Layers that more than one paper needs, written so that they can be stacked with `torch.func.vmap`."""

import math
from collections.abc import Mapping, Sequence
from numbers import Real

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.module import check_floats


def linear(inputs: int, outputs: int, init: str = "kaiming", bias: bool = True) -> nn.Linear:
    """Make a linear layer with zero bias and the named weight initialization.

    "kaiming" is normal by fan in, for ReLU; "xavier" normal with gain 1; "xavier_tanh" the same with gain 5/3;
    "glorot" uniform up to sqrt(6 / (inputs + outputs)).

    >>> linear(3, 2, "xavier").bias.tolist()
    [0.0, 0.0]
    """
    layer = nn.Linear(inputs, outputs, bias=bias)
    initialize_(layer.weight, init)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def initialize_(weight: Tensor, init: str) -> None:
    """Fill `weight` in place; the names are those of `linear`."""
    if init == "kaiming":
        nn.init.kaiming_normal_(weight, nonlinearity="relu")
    elif init == "glorot":
        nn.init.xavier_uniform_(weight)
    else:
        nn.init.xavier_normal_(weight, gain={"xavier": 1.0, "xavier_tanh": 5 / 3}[init])


def rnn_uniform_(module: nn.Module, hidden: int) -> None:
    """Fill all parameters of a recurrent module with PyTorch's initial weights: uniform up to 1 / sqrt(hidden)."""
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -1 / math.sqrt(hidden), 1 / math.sqrt(hidden))


def lstm_step(
    gates: Float[Tensor, "*B G"], c: Float[Tensor, "*#B H"], forget_bias: float = 0.0
) -> tuple[Float[Tensor, "*B H"], Float[Tensor, "*B H"]]:
    """The new h and c of a long short-term memory, from the sums of its gates i, f, g, o.

    c' = sigma(f + forget_bias) c + sigma(i) tanh(g), h' = sigma(o) tanh(c').
    """
    i, f, g, o = gates.chunk(4, dim=-1)
    f = f + forget_bias if forget_bias else f
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def attention(
    q: Float[Tensor, "*B S E"],
    k: Float[Tensor, "*B T E"],
    v: Float[Tensor, "*B T F"],
    bias: Tensor | float = 0.0,
    factor: Tensor | float = 1.0,
) -> tuple[Float[Tensor, "*B S F"], Float[Tensor, "*B S T"]]:
    """Dot-product attention: what S queries retrieve from T keys and values, and the attention weights.

    weights = factor * softmax(q k^T / sqrt(E) + bias); `bias` and `factor` broadcast to [..., S, T], and a bias of
    -inf hides a key.
    """
    weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]) + bias, dim=-1) * factor
    return weights @ v, weights


def check_sequences(z: Tensor, length: int | None, network: nn.Module) -> None:
    """UsageError unless z is [B, T, D] in the network's type, B sequences of `length` vectors; None is any length.

    D is `network.features`.
    """
    check_floats(z, network, "a batch of sequences")
    features = network.features
    if z.dim() != 3 or z.shape[1] == 0 or z.shape[1] != (length or z.shape[1]) or z.shape[2] != features:
        raise UsageError(
            f"this network was built for sequences of {f'{length} ' if length else ''}vectors of {features} "
            f"features, [B, {length or 'T'}, {features}]; got {list(z.shape)}"
        )


class LSTMCell(nn.Module):
    """One step of a long short-term memory (Hochreiter and Schmidhuber 1997), as two matrix products.

    i, f, o = sigma(W x + U h + b), g = tanh(W_g x + U_g h + b_g), c' = f c + i g, h' = o tanh(c').

    Parameters have the names, shapes and gate order (i, f, g, o) of `torch.nn.LSTMCell`, so that weights
    carry over. Written out because `nn.LSTM` cannot be stacked and is slower when called step by step.
    `init` is "xavier" (see `reset_parameters`), or "uniform" up to 1 / sqrt(hidden), PyTorch's own.

    >>> cell = LSTMCell(inputs=3, hidden=5)
    >>> x = torch.rand(2, 7, 3)  # B sequences of T inputs
    >>> state = cell.initial_state(x)
    >>> for input in cell.project(x).unbind(dim=1):  # what inputs do to the gates, at once
    ...     state = cell.step(input, state)
    >>> state[0].shape
    torch.Size([2, 5])
    """

    def __init__(self, inputs: int, hidden: int, init: str = "xavier"):
        super().__init__()
        self.hidden, self.init = hidden, init
        self.weight_ih = nn.Parameter(torch.empty(4 * hidden, inputs))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden, hidden))
        self.bias_ih = nn.Parameter(torch.zeros(4 * hidden))
        self.bias_hh = nn.Parameter(torch.zeros(4 * hidden))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Xavier normal: rows i and f as one matrix, o alone, g with the gain 5/3 of tanh; biases zero."""
        if self.init == "uniform":
            rnn_uniform_(self, self.hidden)
            return
        for weight in (self.weight_ih, self.weight_hh):
            gates, cell, output = weight.data.split([2 * self.hidden, self.hidden, self.hidden])
            initialize_(gates, "xavier")
            initialize_(cell, "xavier_tanh")
            initialize_(output, "xavier")
        nn.init.zeros_(self.bias_ih)
        nn.init.zeros_(self.bias_hh)

    def initial_state(self, like: Float[Tensor, "B *rest"]) -> tuple[Tensor, Tensor]:
        """Zero hidden and cell state, each [B, H], on the device of `like`."""
        zeros = like.new_zeros(like.shape[0], self.hidden)
        return zeros, zeros

    def project(self, x: Float[Tensor, "*B I"]) -> Float[Tensor, "*B G"]:
        """The input's share of the gates; for a whole sequence at once where the input is known beforehand."""
        return F.linear(x, self.weight_ih, self.bias_ih + self.bias_hh)

    def step(
        self, projected: Float[Tensor, "B G"], state: tuple[Tensor, Tensor]
    ) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H"]]:
        """Advance (h, c), each [B, H], given an input that has gone through `project`."""
        h, c = state
        return lstm_step(projected + F.linear(h, self.weight_hh), c)

    def forward(
        self, x: Float[Tensor, "B I"], state: tuple[Tensor, Tensor]
    ) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H"]]:
        """Advance (h, c), each [B, H], by the input x [B, I]."""
        return self.step(self.project(x), state)


def sinusoidal_positions(length: int, features: int) -> Float[Tensor, "T D"]:
    """Positional code of Vaswani et al. (2017): sines at even features, cosines at odd, base 10,000.

    >>> sinusoidal_positions(length=9, features=4)[0]
    tensor([0., 1., 0., 1.])
    """
    position = torch.arange(length, dtype=torch.float32)[:, None]
    frequency = torch.exp(torch.arange(0, features, 2) * (-math.log(10_000.0) / features))
    angle = position * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :features]


def dropout_masks(
    sizes: Mapping[str, Sequence[int]], dropout: float, generator: torch.Generator | None
) -> dict[str, Float[Tensor, "..."]]:
    """A mask of each size by name, 0 with probability `dropout` and else 1 / (1 - dropout); none at all for 0.

    They lie on the generator's device; None is PyTorch's own on the CPU.

    >>> masks = dropout_masks({"words": (2, 3)}, dropout=0.5, generator=torch.Generator().manual_seed(1))
    >>> masks["words"].shape, masks["words"].unique()
    (torch.Size([2, 3]), tensor([0., 2.]))
    """
    if not dropout:
        return {}
    keep, device = 1 - dropout, generator.device if generator else None
    return {
        name: torch.empty(*size, device=device).bernoulli_(keep, generator=generator) / keep
        for name, size in sizes.items()
    }


def check_dropout(dropout: object) -> float:
    """The rate itself; UsageError unless it is at least 0 and below 1."""
    if not isinstance(dropout, Real) or not 0 <= dropout < 1:
        raise UsageError(f"a dropout rate is at least 0 and below 1, got {dropout!r}")
    return dropout
