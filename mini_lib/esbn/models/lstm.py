"""The LSTM baseline (A.3.4): the embeddings go straight into the controller."""

from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.layers import LSTMCell, linear, scaled


class LSTM(nn.Module):
    """An LSTM over the T embeddings; the answer is read from its last hidden state.

    Args as for every sequence model of this package: see `ESBN`.
    """

    def __init__(self, features: int = 128, classes: int = 4, length: int = 9, width: float = 1.0):
        super().__init__()
        hidden = scaled(512, width)
        self.lstm = LSTMCell(features, hidden)
        self.answer = linear(hidden, classes, "xavier")

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        state = self.lstm.initial_state(z)
        for projected in self.lstm.project(z).unbind(dim=1):
            state = self.lstm.step(projected, state)
        return self.answer(state[0])
