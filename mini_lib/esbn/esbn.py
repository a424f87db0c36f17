"""The Emergent Symbol Binding Network: Algorithm 1 of Webb, Sinha and Cohen (2021), and its two ablations.

The paper's symbols and our names: f_s `controller`, with the layers `key`, `gate` and `answer`; h_t `state`; k_w
`key`; k_r `read`; g `gate`; M_k and M_v `keys` and `values`; w `weights`; c `confidences`; gamma and beta
`confidence_gain` and `confidence_bias`. In shapes B are problems, T steps, D features, H hidden units, K numbers of
a key, N entries in memory, C classes.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.esbn.network import Lengths, SequenceNetwork, check_integers
from mini_lib.layers import LSTMCell, check_sequences, linear

Edit = Callable[[int, list[Tensor]], list[Tensor]]


class ESBNTrace(NamedTuple):
    """Record of all T + 1 steps; step T, or `lengths`, is the extra step without an image (A.3.3)."""

    logits: Tensor  #: y. [B, C]
    hidden: Tensor  #: h, from which keys, gates and logits are computed. [B, T+1, H]
    keys_written: Tensor  #: k_w. [B, T+1, K]
    keys_retrieved: Tensor  #: k_r, gated; last its confidence, if any; zero at step 0. [B, T+1, K(+1)]
    gates: Tensor  #: the gate g, from 0 to 1, by which what is retrieved is multiplied. [B, T+1]
    #: w, row t over the entries written before t (and the default entry first, if any), else 0. [B, T+1, N]
    weights: Tensor
    confidences: Tensor  #: c, laid out as `weights`; zeros in the variants without confidence. [B, T+1, N]


class ESBN(SequenceNetwork):
    """An LSTM that receives only keys, bound in memory to embeddings that it never receives (Algorithm 1).

    At each step the embedding z_t is compared with the values in memory; the keys bound to similar values, with a
    confidence, are the controller's input at the next step; it outputs a new key for z_t.

    Without `confidence` none is appended to retrieved keys (the ablation of Table 19). With `default_memory`, which
    goes with confidence=False as in the paper, each problem starts with one learned key and value (Table 20).

    Any embeddings will do, in sequences of any length:

    >>> network, z, answers = ESBN(features=8, classes=2), torch.randn(16, 5, 8), torch.arange(16) % 2
    >>> F.cross_entropy(network(z, lengths=torch.randint(1, 6, (16,))), answers).backward()
    >>> network(z).shape, network.trace(z).keys_written.shape
    (torch.Size([16, 2]), torch.Size([16, 6, 256]))
    """

    def __init__(
        self,
        features: int = 128,
        classes: int = 4,
        hidden: int = 512,
        key_size: int = 256,
        confidence: bool = True,
        default_memory: bool = False,
    ):
        super().__init__(features, classes=classes, hidden=hidden, key_size=key_size)
        if (confidence, default_memory) not in ((True, False), (False, False), (False, True)):
            raise UsageError("confidence and default_memory are True or False, and not both are True")
        self.confidence, self.default_memory = confidence, default_memory
        self.controller = LSTMCell(key_size + confidence, hidden)
        self.key = linear(hidden, key_size, "kaiming")
        self.gate = linear(hidden, 1, "xavier")
        self.answer = linear(hidden, classes, "xavier")
        if confidence:
            self.confidence_gain = nn.Parameter(torch.ones(1))
            self.confidence_bias = nn.Parameter(torch.zeros(1))
        if default_memory:
            self.default_key = nn.Parameter(torch.zeros(key_size))
            self.default_value = nn.Parameter(torch.zeros(features))

    def forward(self, z: Float[Tensor, "B T D"], lengths: Lengths = None) -> Float[Tensor, "B C"]:
        """Logits of each problem, of which only the first `lengths` steps count, if given."""
        return self.trace(z, lengths).logits

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T _"]:
        """k_r of each step, the controller's only input."""
        return self.trace(z).keys_retrieved[:, :-1]

    def trace(
        self, z: Float[Tensor, "B T D"], lengths: Lengths = None, edit: Edit | None = None
    ) -> ESBNTrace:
        """Algorithm 1, line by line: what the network computes, and all that happens inside.

        `edit` changes the keys in memory. Given the step t, from 0 to T, and the keys, [B, K] each (the default one
        first, if it is there), it returns as many keys, which are in memory from then on.
        """
        # Algorithm 1
        check_sequences(z, None, self)
        if lengths is not None:
            check_integers("lengths", lengths, (len(z),), 1, z.shape[1])
            ended = torch.arange(z.shape[1], device=z.device) >= lengths[:, None]
            z = z.masked_fill(ended[..., None], 0)  # so that the extra step follows a sequence's own end
        batch, entries, steps = len(z), z.shape[1] + self.default_memory, []
        # Steps 0 and 1 are the same for all problems: they run on a batch of one, until something is read.
        read = z.new_zeros(1, self.controller.weight_ih.shape[1])  # line 1, k_r: [B, K + 1]
        state = self.controller.initial_state(z[:1])  # line 2, h and the LSTM's cell: [B, H] each
        keys, values = [], []  # lines 3-4, M_k and M_v: [B, K] and [B, D] an entry
        if self.default_memory:
            keys, values = [self.default_key.expand(batch, -1)], [self.default_value.expand(batch, -1)]
        for t, z_t in enumerate([*z.unbind(dim=1), torch.zeros_like(z[:, 0])]):  # lines 5-6, z_t: [B, D]
            keys = keys if edit is None else _edited(edit, t, keys)
            state = self.controller(read, state)  # line 7
            key = torch.relu(self.key(state[0])).expand(batch, -1)  # k_w: [B, K]
            gate = torch.sigmoid(self.gate(state[0])).expand(batch, -1)  # g: [B, 1]
            weights = confidences = z.new_zeros(batch, 0)
            if t > 0:  # lines 8-9: at the first step nothing is read
                similarity = (torch.stack(values, dim=1) @ z_t[:, :, None])[:, :, 0]  # M_v z_t: [B, N]
                weights = similarity.softmax(dim=1)  # line 10, w: [B, N]
                read = (weights[:, None] @ torch.stack(keys, dim=1))[:, 0]  # w M_k: [B, K]
                if self.confidence:  # line 11, c: [B, N]
                    confidences = torch.sigmoid(self.confidence_gain * similarity + self.confidence_bias)
                    read = torch.cat([read, (weights * confidences).sum(dim=1, keepdim=True)], dim=1)
                read = gate * read  # line 12, k_r: [B, K + 1]
            keys, values = [*keys, key], [*values, z_t]  # lines 13-14
            w, c = (F.pad(each, (0, entries - each.shape[1])) for each in (weights, confidences))
            steps.append((state[0].expand(batch, -1), key, read.expand(batch, -1), gate[:, 0], w, c))
        hidden, *record = (torch.stack(part, dim=1) for part in zip(*steps, strict=True))
        last = hidden[:, -1] if lengths is None else hidden[torch.arange(batch, device=z.device), lengths]
        return ESBNTrace(self.answer(last), hidden, *record)  # line 15, y: [B, C]


def _edited(edit: Edit, t: int, keys: list[Tensor]) -> list[Tensor]:
    """Keys as edited; UsageError unless they are as many, of the same shape."""
    new = edit(t, keys)
    shapes = [getattr(key, "shape", None) for key in new] if isinstance(new, list | tuple) else type(new)
    if shapes != [key.shape for key in keys]:
        raise UsageError(f"step {t}: an edit returns a list of {len(keys)} keys, each [B, K]; got {shapes}")
    return list(new)
