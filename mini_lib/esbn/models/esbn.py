"""The Emergent Symbol Binding Network: Algorithm 1 of Webb, Sinha and Cohen (2021), and its two ablations."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.layers import LSTMCell, linear, scaled


class ESBNTrace(NamedTuple):
    """What the network did at each of its T + 1 steps; step T has a zero embedding and only lets it think.

    Attributes:
        logits: the answer, read from the controller at step T. [B, C]
        keys_written: k_w. [B, T+1, Q]
        keys_retrieved: k_r, gated, the confidence last where there is one; zero at step 0. [B, T+1, Q(+1)]
        gates: g. [B, T+1]
        weights: w, row t over the entries written before t (and the default entry first, if any). [B, T+1, N]
        confidences: c, laid out as `weights`; zeros in the variants without confidence. [B, T+1, N]
        step_logits: what the output layer would have said at each step. [B, T+1, C]
    """

    logits: Tensor
    keys_written: Tensor
    keys_retrieved: Tensor
    gates: Tensor
    weights: Tensor
    confidences: Tensor
    step_logits: Tensor


class ESBN(nn.Module):
    """An LSTM that sees only keys, bound in memory to embeddings that it never sees (Algorithm 1).

    At each step the embedding z_t is compared with the values in memory; the keys bound to similar values,
    with a confidence, are what the controller gets at the next step; it answers with a new key for z_t.
    The embeddings meet nothing but each other, so all comparisons are made before the loop.

    Args:
        features: D, size of an embedding.
        classes: C, number of answers.
        length: T; unused, every network takes it.
        width: scales the hidden layers; 1 is the paper's size.
        confidence: append the confidence value to retrieved keys; False is the ablation of Table 19.
        default_memory: start each problem with one learned key and value in memory (Table 20). It goes with
            confidence=False, as in the paper.

    Paper symbols: f_s `controller`, k_w `keys_written`, k_r `keys_retrieved`, M_k and M_v the keys written and
    z, w_k `weights`, c_k `confidences`, g `gates`, gamma and beta `confidence_gain` and `confidence_bias`.
    """

    def __init__(
        self,
        features: int = 128,
        classes: int = 4,
        length: int = 9,
        width: float = 1.0,
        confidence: bool = True,
        default_memory: bool = False,
    ):
        super().__init__()
        if confidence and default_memory:
            raise ValueError("default_memory replaces the confidence value: pass confidence=False with it")
        hidden, key_size = scaled(512, width), scaled(256, width)
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

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        return self.answer(self._run(z)[0])

    def match(self, z: Float[Tensor, "B T D"]) -> tuple[Float[Tensor, "B S N"], Float[Tensor, "B S N"]]:
        """Weights w = softmax(M_v z_t) and confidences c = sigma(gamma M_v z_t + beta) of every step.

        Row t has weight only on entries that memory holds at step t. Step 0 reads nothing; its row is zero.
        """
        # Algorithm 1, the two lines that do not depend on the controller
        queries = torch.cat([z, torch.zeros_like(z[:, :1])], dim=1)
        values = z
        if self.default_memory:
            values = torch.cat([self.default_value.expand(z.shape[0], 1, -1), z], dim=1)
        similarity = queries @ values.transpose(1, 2)
        steps, entries = similarity.shape[1:]
        held = torch.ones(steps, entries, dtype=torch.bool, device=z.device).tril(-1 + self.default_memory)
        held[0] = False
        # A finite floor, not -inf: the empty row of step 0 would otherwise turn into NaN.
        weights = similarity.masked_fill(~held, -1e30).softmax(dim=-1) * held
        if not self.confidence:
            return weights, torch.zeros_like(weights)
        confidences = torch.sigmoid(self.confidence_gain * similarity + self.confidence_bias)
        return weights, confidences * held

    def trace(self, z: Float[Tensor, "B T D"]) -> ESBNTrace:
        """Run the network and keep what it wrote, read and weighed at every step."""
        last, hidden, written, retrieved, gates = self._run(z)
        weights, confidences = self.match(z)
        return ESBNTrace(
            logits=self.answer(last),
            keys_written=torch.stack(written, dim=1),
            keys_retrieved=torch.stack(retrieved, dim=1),
            gates=torch.stack(gates, dim=1)[..., 0],
            weights=weights,
            confidences=confidences,
            step_logits=self.answer(torch.stack(hidden, dim=1)),
        )

    def _run(self, z: Float[Tensor, "B T D"]):  # Algorithm 1
        weights, confidences = self.match(z)
        expected = (weights * confidences).sum(dim=-1, keepdim=True)
        batch = z.shape[0]
        # Step 1 is the first to read, so steps 0 and 1 are the same for all problems: they run on a batch of one.
        state = self.controller.initial_state(z[:1])
        read = z.new_zeros(1, self.controller.weight_ih.shape[1])
        memory = [self.default_key.expand(batch, -1)] if self.default_memory else []
        kept = []
        for t in range(z.shape[1] + 1):
            state = self.controller(read, state)
            key, gate = torch.relu(self.key(state[0])), torch.sigmoid(self.gate(state[0]))
            if t > 0:
                read = (weights[:, t, None, : len(memory)] @ torch.stack(memory, dim=1))[:, 0]
                if self.confidence:
                    read = torch.cat([read, expected[:, t]], dim=-1)
                read = gate * read
            memory.append(key.expand(batch, -1))
            kept.append([part.expand(batch, -1) for part in (state[0], key, read, gate)])
        hidden, *others = zip(*kept, strict=True)
        return hidden[-1], hidden, *others
