"""Meta sequence-to-sequence learning with an external memory (Lake 2019), for the episodes of `meta_tasks`.

This network is trained on another task than the others of this wing, and its call differs: it answers queries in the
light of a support set.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.layers import LSTMCell, check_dropout, dropout_masks
from mini_lib.scan.models.calls import Noise, masked, noise_of
from mini_lib.scan.models.recurrent import BiLSTM
from mini_lib.scan.tasks import ACTION_COUNT, NO_ACTION, WORD_COUNT, Examples

LAYERS = 2


class Encoder(nn.Module):
    """Embedding and two bidirectional LSTMs; the directions of the second are summed."""

    def __init__(self, symbols: int, size: int):
        super().__init__()
        self.symbol = nn.Embedding(symbols, size)
        self.lower, self.upper = BiLSTM(size, size), BiLSTM(2 * size, size)

    def forward(
        self, symbols: Int[Tensor, "B T"], lengths: Int[Tensor, "B"], noise: Noise, name: str
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "B H"]]:
        """The states at each symbol, and the sum of both directions' last ones; `name` is that of the masks."""
        x = masked(self.symbol(symbols), noise, name)
        forwards, backwards, _ = self.lower(x, x, lengths)
        x = masked(torch.cat([forwards, backwards], dim=-1), noise, f"{name}_between")
        forwards, backwards, last = self.upper(x, x, lengths)
        return forwards + backwards, last.unflatten(-1, (2, -1)).sum(dim=1)


class MetaSeq2Seq(nn.Module):
    """Queries look up, word by word, what the support set does with such commands.

    Keys k_j are the last states of an encoder over the support commands, values v_j those of another encoder over
    their actions. A query's states s_t, of the first encoder, attend to them:
    c_t = tanh(W [s_t; sum_j alpha_tj v_j] + b), alpha_t = softmax_j s_t . k_j / sqrt(H). The decoder's two LSTMs
    start with h = c = c_T of the query's last word and read the action before (<SOS> first). The upper one's states
    h_i attend to c_t in the same way, and logits_i = V tanh(U [h_i; what is found] + d) + e.

    Dropout on embeddings and between LSTM layers. Inferred: words lose their <SOS> and keep <EOS>, as do the actions
    of the support set; initial weights are PyTorch's own. The released decoder attends to padding, too; ours does
    not, since a query's answer would depend on its batch.

    `size` is H, of all embeddings and states.

    Example:
        >>> from mini_lib.scan.meta_tasks import training_episode
        >>> from mini_lib.scan.models.calls import cross_entropy
        >>> network = MetaSeq2Seq(size=8)
        >>> support, query = training_episode(seed=1, number=0, shown=3, asked=2)
        >>> cross_entropy(network(support, query), query.actions).backward()
        >>> network.eval().predict(support, query.words, query.lengths, steps=9).shape
        torch.Size([5, 9])
    """

    def __init__(
        self, size: int = 200, dropout: float = 0.5, words: int = WORD_COUNT, actions: int = ACTION_COUNT
    ):
        super().__init__()
        self.size, self.dropout = size, check_dropout(dropout)
        self.commands, self.answers = Encoder(words, size), Encoder(actions, size)
        self.context = nn.Linear(2 * size, size)
        self.action = nn.Embedding(actions, size)
        self.decoder = nn.ModuleList(LSTMCell(size, size, init="uniform") for _ in range(LAYERS))
        self.joined = nn.Linear(2 * size, size)
        self.logits = nn.Linear(size, actions)

    def forward(
        self, support: Examples, query: Examples, noise: Noise | None = None
    ) -> Float[Tensor, "Q L A"]:
        """The logits of each query's actions, given the right actions before them."""
        steps = query.actions.shape[1]
        words = max(support.words.shape[1], query.words.shape[1])
        sizes = len(support.lengths), len(query.lengths), words, max(support.actions.shape[1], steps)
        noise = noise_of(self, noise, query.words.device, *sizes)
        contexts, inside, state = self.read(support, query.words, query.lengths, noise)
        last = F.pad(query.actions[:, :-1], (1, 0), value=NO_ACTION)  # the same number as <SOS>
        x = masked(self.action(last), noise, "actions")  # [Q, L, H]
        states, hidden = [state] * LAYERS, []
        for step in range(steps):
            mask = noise["actions_between"][:, step] if "actions_between" in noise else None
            states = self.step(x[:, step], states, mask)
            hidden.append(states[-1][0])  # h_i [Q, H]
        return self.answer(torch.stack(hidden, dim=1), contexts, inside)

    @torch.no_grad()
    def predict(
        self, support: Examples, words: Int[Tensor, "Q T"], lengths: Int[Tensor, "Q"], steps: int
    ) -> Int[Tensor, "Q L"]:
        """The most probable action of each of so many steps, given the network's own actions before it."""
        contexts, inside, state = self.read(support, words, lengths, {})
        states, actions = [state] * LAYERS, [torch.full_like(words[:, 0], NO_ACTION)]
        for _ in range(steps):
            states = self.step(self.action(actions[-1]), states)
            actions.append(self.answer(states[-1][0][:, None], contexts, inside)[:, 0].argmax(dim=-1))
        return torch.stack(actions[1:], dim=1)

    def read(
        self, support: Examples, words: Int[Tensor, "Q T"], lengths: Int[Tensor, "Q"], noise: Noise
    ) -> tuple[Float[Tensor, "Q W H"], Tensor, tuple[Tensor, Tensor]]:
        """The queries' contexts c_t, which of them belong to words, and the decoder's first state."""
        shown = support.words[:, 1:], support.lengths - 1
        _, keys = self.commands(*shown, noise, "support_words")  # k_j [S, H]
        counts = (support.actions != NO_ACTION).sum(dim=1)
        _, values = self.answers(support.actions, counts, noise, "support_actions")  # v_j [S, H]
        states, _ = self.commands(words[:, 1:], lengths - 1, noise, "query_words")  # s_t [Q, W, H]
        looked_up = (states @ keys.mT / math.sqrt(self.size)).softmax(dim=-1) @ values
        contexts = torch.tanh(self.context(torch.cat([states, looked_up], dim=-1)))  # c_t [Q, W, H]
        end = (lengths - 2)[:, None, None].expand(-1, 1, self.size)
        last = contexts.gather(1, end)[:, 0]
        inside = torch.arange(contexts.shape[1], device=lengths.device) < lengths[:, None] - 1
        return contexts, inside, (last, last)

    def step(
        self, x: Float[Tensor, "Q H"], states: list[tuple[Tensor, Tensor]], mask: Tensor | None = None
    ) -> list[tuple[Tensor, Tensor]]:
        """(h, c) of both layers after one more action, with dropout between them if there is a mask [Q, H]."""
        lower, upper = self.decoder
        first = lower(x, states[0])
        return [first, upper(first[0] if mask is None else first[0] * mask, states[1])]

    def answer(
        self, hidden: Float[Tensor, "Q L H"], contexts: Float[Tensor, "Q W H"], inside: Tensor
    ) -> Float[Tensor, "Q L A"]:
        """Logits from states of the decoder."""
        scores = hidden @ contexts.mT / math.sqrt(self.size)
        attention = scores.masked_fill(~inside[:, None], -torch.inf).softmax(dim=-1)
        return self.logits(torch.tanh(self.joined(torch.cat([hidden, attention @ contexts], dim=-1))))

    def noise(self, support: int, query: int, words: int, steps: int, generator: torch.Generator) -> Noise:
        """Dropout masks, 0 or 1 / (1 - p), for so many commands of so many words (<SOS> included) and actions."""
        size = self.size
        sizes = {
            "support_words": (support, words - 1, size),
            "support_words_between": (support, words - 1, 2 * size),
            "support_actions": (support, steps, size),
            "support_actions_between": (support, steps, 2 * size),
            "query_words": (query, words - 1, size),
            "query_words_between": (query, words - 1, 2 * size),
            "actions": (query, steps, size),
            "actions_between": (query, steps, size),
        }
        return dropout_masks(sizes, self.dropout, generator)
