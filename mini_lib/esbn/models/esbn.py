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

from mini_lib.errors import UsageError, check_positive_int
from mini_lib.layers import LSTMCell, check_sequences, linear


class ESBNTrace(NamedTuple):
    """What the network did at each of its T + 1 steps; step T has a zero embedding and only lets it think."""

    logits: Tensor  #: the answer, read from the controller at step T. [B, C]
    keys_written: Tensor  #: k_w. [B, T+1, K]
    #: k_r, gated, the confidence last where there is one; zero at step 0. [B, T+1, K(+1)]
    keys_retrieved: Tensor
    gates: Tensor  #: the gate g. [B, T+1]
    #: w, row t over the entries written before t (and the default entry first, if any). [B, T+1, N]
    weights: Tensor
    confidences: Tensor  #: c, laid out as `weights`; zeros in the variants without confidence. [B, T+1, N]
    step_logits: Tensor  #: what the output layer would have answered at each step. [B, T+1, C]


class ESBN(nn.Module):
    """An LSTM that sees only keys, bound in memory to embeddings that it never sees (Algorithm 1).

    At each step the embedding z_t is compared with the values in memory; the keys bound to similar values, with a
    confidence, are what the controller gets at the next step; it answers with a new key for z_t. `algorithm_1` is
    the paper's loop, line by line; `forward` computes the same faster.

    Without `confidence` none is appended to retrieved keys (the ablation of Table 19). With `default_memory`, which
    goes with confidence=False as in the paper, each problem starts with one learned key and value (Table 20).

    Any embeddings will do, in sequences of any length. Here it tells which of two equal problems is reversed:

    >>> from torch import nn
    >>> _ = torch.manual_seed(0)
    >>> z, answers = torch.randn(16, 5, 8), torch.arange(16) % 2
    >>> z[8:] = z[:8].flip(1)
    >>> network = ESBN(features=8, classes=2, hidden=32, key_size=16)
    >>> optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    >>> for update in range(5):
    ...     loss = nn.functional.cross_entropy(network(z), answers)
    ...     optimizer.zero_grad()
    ...     loss.backward()
    ...     optimizer.step()
    >>> network(z).shape, network.trace(z).keys_written.shape
    (torch.Size([16, 2]), torch.Size([16, 6, 16]))
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
        super().__init__()
        check_positive_int(features=features, classes=classes, hidden=hidden, key_size=key_size)
        if confidence and default_memory:
            raise UsageError("default_memory replaces the confidence value: pass confidence=False with it")
        self.features, self.confidence, self.default_memory = features, confidence, default_memory
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

    def algorithm_1(
        self,
        z: Float[Tensor, "B T D"],
        edit: Callable[[int, list[Tensor]], list[Tensor]] = lambda t, keys: keys,
    ) -> Float[Tensor, "B C"]:
        """The answers, as logits, by the paper's Algorithm 1, line by line.

        `edit` changes the keys in memory. Given the step t, from 0 to T, and the keys, [B, K] each (the default one
        first, if it is there), it returns as many keys, which memory holds from then on.
        """
        # Algorithm 1
        check_sequences(z, None, self)
        batch = len(z)
        read = z.new_zeros(batch, self.controller.weight_ih.shape[1])  # line 1, k_r: [B, K + 1]
        state = self.controller.initial_state(z)  # line 2, h and the LSTM's cell: [B, H] each
        keys, values = [], []  # lines 3-4, M_k and M_v: [B, K] and [B, D] an entry
        if self.default_memory:
            keys, values = [self.default_key.expand(batch, -1)], [self.default_value.expand(batch, -1)]
        embeddings = [*z.unbind(dim=1), torch.zeros_like(z[:, 0])]  # the last step has no image (A.3.3)
        for t, z_t in enumerate(embeddings):  # lines 5-6, z_t: [B, D]
            keys = edit(t, keys)
            if len(keys) != len(values):
                raise UsageError(f"step {t}: memory holds {len(values)} keys, the edit returned {len(keys)}")
            state = self.controller(read, state)  # line 7
            key = torch.relu(self.key(state[0]))  # k_w: [B, K]
            gate = torch.sigmoid(self.gate(state[0]))  # g: [B, 1]
            if t > 0:  # lines 8-9: at the first step nothing is read
                similarity = (torch.stack(values, dim=1) @ z_t[:, :, None])[:, :, 0]  # M_v z_t: [B, N]
                weights = similarity.softmax(dim=1)  # line 10, w: [B, N]
                entries = torch.stack(keys, dim=1)  # M_k: [B, N, K]
                if self.confidence:  # line 11, c: [B, N]
                    confidences = torch.sigmoid(self.confidence_gain * similarity + self.confidence_bias)
                    entries = torch.cat([entries, confidences[:, :, None]], dim=2)  # [B, N, K + 1]
                read = gate * (weights[:, :, None] * entries).sum(dim=1)  # line 12, k_r: [B, K + 1]
            keys, values = [*keys, key], [*values, z_t]  # lines 13-14
        return self.answer(state[0])  # line 15, y: [B, C]

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        return self.answer(self._run(z))

    def match(self, z: Float[Tensor, "B T D"]) -> tuple[Float[Tensor, "B S N"], Float[Tensor, "B S N"]]:
        """Weights w = softmax(M_v z_t) and confidences c = sigma(gamma M_v z_t + beta) of all S = T + 1 steps.

        Row t has weight only on entries that memory holds at step t. Step 0 reads nothing; its row is zero.
        """
        # Algorithm 1, lines 10 and 11, which do not depend on the controller
        check_sequences(z, None, self)
        queries = torch.cat([z, torch.zeros_like(z[:, :1])], dim=1)  # [B, T + 1, D]
        values = z
        if self.default_memory:
            values = torch.cat([self.default_value.expand(z.shape[0], 1, -1), z], dim=1)
        similarity = queries @ values.transpose(1, 2)  # [B, T + 1, N]
        steps, entries = similarity.shape[1:]
        held = torch.ones(steps, entries, dtype=torch.bool, device=z.device).tril(-1 + self.default_memory)
        held[0] = False
        # A finite floor, not -inf: the empty row of step 0 would otherwise turn into NaN.
        weights = similarity.masked_fill(~held, -1e30).softmax(dim=-1) * held
        if not self.confidence:
            return weights, torch.zeros_like(weights)
        confidences = torch.sigmoid(self.confidence_gain * similarity + self.confidence_bias)
        return weights, confidences * held

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T _"]:
        """What comes back from memory at each step, all that the controller knows of it; see `ESBNTrace`."""
        return self.trace(z).keys_retrieved[:, :-1]

    def trace(self, z: Float[Tensor, "B T D"]) -> ESBNTrace:
        """Run the network and keep what it wrote, read and weighed at every step."""
        steps = []
        last = self._run(z, steps)
        hidden, keys, reads, gates = (torch.stack(part, dim=1) for part in zip(*steps, strict=True))
        weights, confidences = self.match(z)
        return ESBNTrace(
            logits=self.answer(last),
            keys_written=keys,
            keys_retrieved=reads,
            gates=gates[..., 0],
            weights=weights,
            confidences=confidences,
            step_logits=self.answer(hidden),
        )

    def _run(
        self, z: Float[Tensor, "B T D"], steps: list[list[Tensor]] | None = None
    ) -> Float[Tensor, "B H"]:
        """The controller's last state, by Algorithm 1 with two savings; `steps` gets h, k_w, k_r and g of each step.

        All comparisons are made before the loop. Step 1 is the first to read, so that steps 0 and 1 are the same for
        all problems: they run on a batch of one.
        """
        # Algorithm 1, faster
        batch = z.shape[0]
        weights, confidences = self.match(z)
        expected = (weights * confidences).sum(dim=-1, keepdim=True)  # the confidence read: [B, T + 1, 1]
        state = self.controller.initial_state(z[:1])
        read = z.new_zeros(1, self.controller.weight_ih.shape[1])
        memory = [self.default_key.expand(batch, -1)] if self.default_memory else []  # M_k
        for t in range(z.shape[1] + 1):
            state = self.controller(read, state)
            key, gate = torch.relu(self.key(state[0])), torch.sigmoid(self.gate(state[0]))
            if t > 0:
                read = (weights[:, t, None, : len(memory)] @ torch.stack(memory, dim=1))[:, 0]
                if self.confidence:
                    read = torch.cat([read, expected[:, t]], dim=-1)
                read = gate * read
            memory.append(key.expand(batch, -1))
            if steps is not None:
                steps.append([part.expand(batch, -1) for part in (state[0], key, read, gate)])
        return state[0].expand(batch, -1)
