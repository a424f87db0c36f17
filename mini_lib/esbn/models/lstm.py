"""The LSTM baseline (A.3.4): the embeddings go straight into the controller."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import check_positive_int
from mini_lib.layers import LSTMCell, check_sequences, linear


class LSTM(nn.Module):
    """An LSTM over the T embeddings; the answer is read from its last hidden state.

    >>> from torch import nn
    >>> import torch
    >>> network, z = LSTM(features=8, classes=2, hidden=16), torch.randn(5, 9, 8)
    >>> nn.functional.cross_entropy(network(z), torch.arange(5) % 2).backward()
    >>> network(z).shape
    torch.Size([5, 2])
    """

    def __init__(self, features: int = 128, classes: int = 4, hidden: int = 512):
        super().__init__()
        check_positive_int(features=features, classes=classes, hidden=hidden)
        self.features = features
        self.lstm = LSTMCell(features, hidden)
        self.answer = linear(hidden, classes, "xavier")

    def _hidden(self, z: Float[Tensor, "B T D"]) -> list[Float[Tensor, "B H"]]:
        """The hidden state after each step."""
        check_sequences(z, None, self)
        state, hidden = self.lstm.initial_state(z), []
        for projected in self.lstm.project(z).unbind(dim=1):
            state = self.lstm.step(projected, state)
            hidden.append(state[0])
        return hidden

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T H"]:
        """The hidden state after each step."""
        return torch.stack(self._hidden(z), dim=1)

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        return self.answer(self._hidden(z)[-1])
