"""Meta sequence-to-sequence learning with an external memory (Lake 2019).

In each episode the network answers query commands by means of a support set, whose verbs may have new meanings.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_positive_int
from mini_lib.layers import LSTMCell, attention, check_dropout
from mini_lib.module import Module
from mini_lib.scan.recurrent import BiLSTM
from mini_lib.scan.tasks import ACTION_COUNT, NO_ACTION, WORD_COUNT, Examples, check_batch

States = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]  # (h, c) of both layers of the decoder


class Encoder(nn.Module):
    """Embedding and two bidirectional LSTMs; the directions of the second are summed."""

    def __init__(self, symbols: int, size: int, dropout: float):
        super().__init__()
        self.symbol, self.dropout = nn.Embedding(symbols, size), nn.Dropout(dropout)
        self.lower, self.upper = BiLSTM(size, size), BiLSTM(2 * size, size)

    def forward(
        self, symbols: Int[Tensor, "B T"], lengths: Int[Tensor, "B"]
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "B H"]]:
        """The states at each symbol, and the sum of both directions' last ones."""
        x = self.dropout(self.symbol(symbols))
        forwards, backwards, _ = self.lower(x, x, lengths)
        x = self.dropout(torch.cat([forwards, backwards], dim=-1))
        forwards, backwards, last = self.upper(x, x, lengths)
        return forwards + backwards, last.unflatten(-1, (2, -1)).sum(dim=1)


class MetaSeq2Seq(Module):
    """Each word of a query attends to the support set, and finds what the actions of such commands are.

    Keys k_j are the last states of an encoder over the support commands, values v_j those of another encoder over
    their actions. A query's states s_t, of the first encoder, attend to them:
    c_t = tanh(W [s_t; sum_j alpha_tj v_j] + b), alpha_t = softmax_j s_t . k_j / sqrt(H). The decoder's two LSTMs
    start with h = c = c_T of the query's last word and read the action before (<SOS> first). The upper one's states
    h_i attend to c_t in the same way, and logits_i = V tanh(U [h_i; the result] + d) + e.

    `size` is H, of all embeddings and states; dropout is on embeddings and between LSTM layers.

    Example:
        >>> from mini_lib.scan import MetaSeq2Seq, encode
        >>> support, query = encode(["walk", "jump"]), encode(["jump left", "walk"])
        >>> MetaSeq2Seq(size=8)(support, query).shape  # logits of each query's actions
        torch.Size([2, 3, 8])
    """

    def __init__(
        self, size: int = 200, dropout: float = 0.5, words: int = WORD_COUNT, actions: int = ACTION_COUNT
    ):
        super().__init__()
        check_positive_int(size=size, words=words, actions=actions)
        self.vocabulary, self.dropout = (words, actions), nn.Dropout(check_dropout(dropout))
        self.commands, self.answers = Encoder(words, size, dropout), Encoder(actions, size, dropout)
        self.context = nn.Linear(2 * size, size)
        self.action = nn.Embedding(actions, size)
        self.decoder = nn.ModuleList(LSTMCell(size, size, init="uniform") for _ in range(2))
        self.joined = nn.Linear(2 * size, size)
        self.logits = nn.Linear(size, actions)

    def forward(self, support: Examples, query: Examples) -> Float[Tensor, "Q L A"]:
        """The logits of each query's actions, with the right actions before them as input."""
        check_batch(self, *support.tensors)
        check_batch(self, *query.tensors)
        contexts, bias, states = self.encode(support, query)
        logits = []
        for before in F.pad(query.actions[:, :-1], (1, 0), value=NO_ACTION).unbind(dim=1):  # also <SOS>'s id
            now, states = self.step(before, states, contexts, bias)
            logits.append(now)
        return torch.stack(logits, dim=1)

    @torch.no_grad()
    def predict(self, support: Examples, query: Examples, steps: int) -> Int[Tensor, "Q L"]:
        """The most probable actions, with the network's own actions before them as input."""
        check_batch(self, *support.tensors)
        check_batch(self, query.words, query.lengths, steps=steps)
        if self.training:
            raise UsageError("predict without dropout: call network.eval() first")
        contexts, bias, states = self.encode(support, query)
        actions = [torch.full_like(query.lengths, NO_ACTION)]
        for _ in range(steps):
            logits, states = self.step(actions[-1], states, contexts, bias)
            actions.append(logits.argmax(dim=-1))
        return torch.stack(actions[1:], dim=1)

    def encode(
        self, support: Examples, query: Examples
    ) -> tuple[Float[Tensor, "Q W H"], Float[Tensor, "Q 1 W"], States]:
        """The queries' contexts c_t, -inf where they belong to padding, and the decoder's first states."""
        _, keys = self.commands(support.words[:, 1:], support.lengths - 1)  # k_j [S, H]
        _, values = self.answers(support.actions, (support.actions != NO_ACTION).sum(dim=1))  # v_j [S, H]
        states, _ = self.commands(query.words[:, 1:], query.lengths - 1)  # s_t [Q, W, H]
        retrieved = attention(states.flatten(0, 1), keys, values)[0].view_as(states)
        contexts = torch.tanh(self.context(torch.cat([states, retrieved], dim=-1)))  # c_t [Q, W, H]
        last = contexts.gather(1, (query.lengths - 2)[:, None, None].expand(-1, 1, contexts.shape[2]))[:, 0]
        padding = torch.arange(contexts.shape[1], device=last.device) >= query.lengths[:, None] - 1
        bias = contexts.new_zeros(padding.shape).masked_fill(padding, -torch.inf)
        return contexts, bias[:, None], ((last, last), (last, last))

    def step(
        self, before: Int[Tensor, "Q"], states: States, contexts: Tensor, bias: Tensor
    ) -> tuple[Float[Tensor, "Q A"], States]:
        """The logits after the action before, and the (h, c) of both layers."""
        lower = self.decoder[0](self.dropout(self.action(before)), states[0])
        upper = self.decoder[1](self.dropout(lower[0]), states[1])  # h_i, c [Q, H]
        retrieved, _ = attention(upper[0][:, None], contexts, contexts, bias)
        joined = torch.tanh(self.joined(torch.cat([upper[0], retrieved[:, 0]], dim=-1)))
        return self.logits(joined), (lower, upper)
