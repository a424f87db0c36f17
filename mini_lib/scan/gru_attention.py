"""Gated recurrent units with attention, with and without the last action as input (Bastings et al. 2018)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import check_positive_int
from mini_lib.layers import check_dropout, dropout_masks, rnn_uniform_
from mini_lib.module import Module, Noise, noise_or_draw
from mini_lib.scan import tasks
from mini_lib.scan.recurrent import both_directions
from mini_lib.scan.tasks import NO_ACTION, Actions, Lengths, Logits, Words, apply_mask, check_batch

Encoded = tuple[Tensor, Tensor, Tensor]  # m_j [B, W, 2H] and W_m m_j [B, W, H] of W = T - 1, which are words


class GRUCell(nn.Module):
    """One step of a gated recurrent unit (Cho et al. 2014), as matrix products.

    r, z = sigma(W x + b + U h + d), n = tanh(W_n x + b_n + r (U_n h + d_n)), h' = (1 - z) n + z h.

    Rows and first weights are those of `torch.nn.GRUCell`; `side=(2,)` makes two of them, side by side.
    """

    def __init__(self, inputs: int, hidden: int, side: tuple[int, ...] = ()):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.empty(*side, 3 * hidden, inputs))
        self.weight_hh = nn.Parameter(torch.empty(*side, 3 * hidden, hidden))
        self.bias_ih = nn.Parameter(torch.empty(*side, 1, 3 * hidden))
        self.bias_hh = nn.Parameter(torch.empty(*side, 1, 3 * hidden))
        rnn_uniform_(self, hidden)

    def forward(self, x: Float[Tensor, "*B I"], h: Float[Tensor, "*B H"]) -> Float[Tensor, "*B H"]:
        """Advance h by the input x."""
        return self.step(x @ self.weight_ih.mT + self.bias_ih, h)

    def step(self, gates: Float[Tensor, "*B G"], h: Float[Tensor, "*B H"]) -> Float[Tensor, "*B H"]:
        """Advance h, given W x + b."""
        reset, update, new = gates.chunk(3, dim=-1)
        from_reset, from_update, from_new = (h @ self.weight_hh.mT + self.bias_hh).chunk(3, dim=-1)
        update = torch.sigmoid(update + from_update)
        new = torch.tanh(new + torch.sigmoid(reset + from_reset) * from_new)
        return new + update * (h - new)


class GRUAttention(Module):
    """A bidirectional GRU encodes, a GRU with additive attention decodes; called like `SyntacticAttention`.

    The encoder makes m_j of the words without <SOS>; h_0 = tanh(W [last forward state; last backward state] + b).
    Step i attends with the state before it: e_ij = v . tanh(W_q h_{i-1} + W_m m_j), alpha_i = softmax_j e_ij,
    c_i = sum_j alpha_ij m_j, h_i = GRU([y_{i-1}; c_i], h_{i-1}), logits_i = V U dropout([y_{i-1}; h_i; c_i]).

    `embedding` is E, the features of a word and of y, the embedding of an action; `hidden` is H.
    `dependency=False` is "- dep": no y anywhere, so the decoder sees contexts only.

    >>> from mini_lib.scan.tasks import encode
    >>> GRUAttention(hidden=12)(*encode(["jump twice", "walk"]).tensors).shape  # teacher forcing
    torch.Size([2, 3, 8])
    """

    def __init__(
        self,
        words: int = tasks.WORD_COUNT,
        actions: int = tasks.ACTION_COUNT,
        embedding: int = 64,
        hidden: int = 256,
        dropout: float = 0.2,
        dependency: bool = True,
    ):
        super().__init__()
        check_positive_int(words=words, actions=actions, embedding=embedding, hidden=hidden)
        self.vocabulary, self.hidden, self.dropout = (words, actions), int(hidden), check_dropout(dropout)
        given = embedding if dependency else 0
        self.word = nn.Embedding(words, embedding)
        self.action = nn.Embedding(actions, embedding) if dependency else None
        self.encoder = GRUCell(embedding, hidden, side=(2,))
        self.bridge = nn.Linear(2 * hidden, hidden)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(2 * hidden, hidden, bias=False)
        self.energy = nn.Linear(hidden, 1, bias=False)
        self.decoder = GRUCell(given + 2 * hidden, hidden)
        self.before_logits = nn.Linear(given + 3 * hidden, hidden, bias=False)
        self.logits = nn.Linear(hidden, actions, bias=False)

    def forward(self, words: Words, lengths: Lengths, actions: Actions, noise: Noise | None = None) -> Logits:
        """Logits, with the right last actions as input, but not in "- dep"."""
        check_batch(self, words, lengths, actions)
        noise = noise_or_draw(self, noise, words.device, *words.shape, actions.shape[1])
        encoded, state = self.encode(words, lengths, noise)  # h_0 [B, H]
        features = []
        for last in self._last_actions(actions).unbind(dim=1):  # y_{i-1} [B, E]
            state, context = self.step(encoded, last, state)  # h_i [B, H] and c_i [B, 2H]
            features.append(torch.cat([last, state, context], dim=-1))
        return self.logits(self.before_logits(apply_mask(torch.stack(features, dim=1), noise, "output")))

    @torch.no_grad()
    def predict(self, words: Words, lengths: Lengths, steps: int) -> Actions:
        """The most probable actions, with the network's own last ones as input, but not in "- dep"."""
        check_batch(self, words, lengths, steps=steps)
        encoded, state = self.encode(words, lengths, {})
        last, predicted = self._last_actions(words[:, :1])[:, 0], []
        for _ in range(steps):
            state, context = self.step(encoded, last, state)
            features = self.before_logits(torch.cat([last, state, context], dim=-1))
            predicted.append(self.logits(features).argmax(dim=-1))
            last = last if self.action is None else self.action(predicted[-1])
        return torch.stack(predicted, dim=1)

    def encode(self, words: Words, lengths: Lengths, noise: Noise) -> tuple[Encoded, Float[Tensor, "B H"]]:
        """What the decoder attends to, and its first state."""
        x = apply_mask(self.word(words), noise, "words")[:, 1:]  # without <SOS>
        inside = torch.arange(x.shape[1], device=x.device) < lengths[:, None] - 1
        cell, start = self.encoder, (x.new_zeros(2, len(x), self.hidden),)
        memory, (last,) = both_directions(
            x, inside, cell.weight_ih, cell.bias_ih, lambda gates, h: (cell.step(gates, h),), start
        )
        return (memory, self.key(memory), inside), torch.tanh(self.bridge(last))

    def _last_actions(self, actions: Actions) -> Float[Tensor, "B L E"]:
        """y_{i-1} of each step: zeros, then the embeddings of all actions but the last. E is 0 in "- dep"."""
        if self.action is None:
            return self.logits.weight.new_zeros(*actions.shape, 0)
        return F.pad(self.action(actions[:, :-1]), (0, 0, 1, 0))

    def step(
        self, encoded: Encoded, last: Float[Tensor, "B E"], state: Float[Tensor, "B H"]
    ) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B K"]]:
        """The next state of the decoder, and the context that led to it."""
        memory, keys, inside = encoded
        energies = self.energy(torch.tanh(self.query(state)[:, None] + keys))[..., 0]  # e_ij [B, W]
        attention = energies.masked_fill(~inside, -torch.inf).softmax(dim=-1)  # alpha_ij [B, W]
        context = (attention[:, None] @ memory.to(attention.dtype))[:, 0]  # c_i [B, 2H]
        return self.decoder(torch.cat([last, context], dim=-1), state), context

    def draw_noise(self, batch: int, words: int, steps: int, generator: torch.Generator | None) -> Noise:
        """Dropout masks of the words' embeddings, and of the features of the logits."""
        embedding, features = self.word.embedding_dim, self.before_logits.in_features
        sizes = {"words": (batch, words, embedding), "output": (batch, steps, features)}
        return dropout_masks(sizes, self.dropout, generator)


def loss(logits: Logits, actions: Actions) -> Float[Tensor, ""]:
    """Cross-entropy, summed over a command's actions and averaged over commands.

    As in the released code, actions after the network's own first <EOS> do not count.
    """
    ends = logits.argmax(dim=-1) == tasks.END
    counted = (actions != NO_ACTION) & (ends.cumsum(dim=1) - ends.long() == 0)
    each = F.cross_entropy(logits.mT, actions, reduction="none")
    return (each * counted).sum() / len(actions)
