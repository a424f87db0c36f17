"""Meta sequence-to-sequence learning with an external memory (Lake 2019).

It is trained on another task than the other networks, and called differently: in each episode it answers query
commands by means of a support set, in which the verbs may mean each other's actions.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import check_positive_int
from mini_lib.layers import LSTMCell, attention, check_dropout, dropout_masks
from mini_lib.module import Module, Noise, noise_or_draw
from mini_lib.scan.recurrent import BiLSTM
from mini_lib.scan.tasks import ACTION_COUNT, NO_ACTION, WORD_COUNT, Examples, apply_mask, check_batch

State = tuple[Tensor, Tensor]


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
        x = apply_mask(self.symbol(symbols), noise, name)
        forwards, backwards, _ = self.lower(x, x, lengths)
        x = apply_mask(torch.cat([forwards, backwards], dim=-1), noise, f"{name}_between")
        forwards, backwards, last = self.upper(x, x, lengths)
        return forwards + backwards, last.unflatten(-1, (2, -1)).sum(dim=1)


class MetaSeq2Seq(Module):
    """Each word of a query attends to the support set, and finds what the actions of such commands are.

    Keys k_j are the last states of an encoder over the support commands, values v_j those of another encoder over
    their actions. A query's states s_t, of the first encoder, attend to them:
    c_t = tanh(W [s_t; sum_j alpha_tj v_j] + b), alpha_t = softmax_j s_t . k_j / sqrt(H). The decoder's two LSTMs
    start with h = c = c_T of the query's last word and read the action before (<SOS> first). The upper one's states
    h_i attend to c_t in the same way, and logits_i = V tanh(U [h_i; the result] + d) + e.

    Dropout is on embeddings and between LSTM layers. `size` is H, of all embeddings and states. Words lose their
    <SOS>. Padding gets no attention, unlike in the released decoder.

    Example:
        >>> from mini_lib.scan import MetaSeq2Seq, cnn, encode
        >>> network, query = MetaSeq2Seq(size=8), encode(["jump left", "walk"])
        >>> swapped = encode(["walk", "jump"])  # what "jump" and "walk" mean in this episode
        >>> support = Examples(swapped.words.flip(0), swapped.lengths, swapped.actions)
        >>> cnn.loss(network(support, query), query.actions).backward()
        >>> network.eval().predict(support, query, steps=9).shape
        torch.Size([2, 9])
    """

    def __init__(
        self, size: int = 200, dropout: float = 0.5, words: int = WORD_COUNT, actions: int = ACTION_COUNT
    ):
        super().__init__()
        check_positive_int(size=size, words=words, actions=actions)
        self.vocabulary, self.size, self.dropout = (words, actions), size, check_dropout(dropout)
        self.commands, self.answers = Encoder(words, size), Encoder(actions, size)
        self.context = nn.Linear(2 * size, size)
        self.action = nn.Embedding(actions, size)
        self.decoder = nn.ModuleList(LSTMCell(size, size, init="uniform") for _ in range(2))
        self.joined = nn.Linear(2 * size, size)
        self.logits = nn.Linear(size, actions)

    def forward(
        self, support: Examples, query: Examples, noise: Noise | None = None
    ) -> Float[Tensor, "Q L A"]:
        """The logits of each query's actions, with the right actions before them as input."""
        check_batch(self, *support.tensors)
        check_batch(self, *query.tensors)
        steps = query.actions.shape[1]
        words = max(support.words.shape[1], query.words.shape[1])
        sizes = len(support), len(query), words, max(support.actions.shape[1], steps)
        noise = noise_or_draw(self, noise, query.words.device, *sizes)
        contexts, padding, state = self.encode(support, query, noise)
        last = F.pad(query.actions[:, :-1], (1, 0), value=NO_ACTION)  # the same id as <SOS>
        x = apply_mask(self.action(last), noise, "actions")  # [Q, L, H]
        states, hidden = (state, state), []
        for step in range(steps):
            mask = noise["actions_between"][:, step].to(x.dtype) if "actions_between" in noise else 1.0
            states = self._advance(x[:, step], states, mask)
            hidden.append(states[1][0])  # h_i [Q, H]
        return self._answer(torch.stack(hidden, dim=1), contexts, padding)

    @torch.no_grad()
    def predict(self, support: Examples, query: Examples, steps: int) -> Int[Tensor, "Q L"]:
        """The most probable actions, with the network's own actions before them as input."""
        check_batch(self, *support.tensors)
        check_batch(self, query.words, query.lengths, steps=steps)
        contexts, padding, state = self.encode(support, query, {})
        states, actions = (state, state), [torch.full_like(query.lengths, NO_ACTION)]
        for _ in range(steps):
            states = self._advance(self.action(actions[-1]), states, 1.0)
            logits = self._answer(states[1][0][:, None], contexts, padding)
            actions.append(logits[:, 0].argmax(dim=-1))
        return torch.stack(actions[1:], dim=1)

    def encode(
        self, support: Examples, query: Examples, noise: Noise
    ) -> tuple[Float[Tensor, "Q W H"], Float[Tensor, "Q 1 W"], State]:
        """The queries' contexts c_t, -inf where they belong to padding, and the decoder's first state."""
        _, keys = self.commands(
            support.words[:, 1:], support.lengths - 1, noise, "support_words"
        )  # k_j [S, H]
        counts = (support.actions != NO_ACTION).sum(dim=1)
        _, values = self.answers(support.actions, counts, noise, "support_actions")  # v_j [S, H]
        states, _ = self.commands(
            query.words[:, 1:], query.lengths - 1, noise, "query_words"
        )  # s_t [Q, W, H]
        retrieved = attention(states.flatten(0, 1), keys, values)[0].view_as(states)
        contexts = torch.tanh(self.context(torch.cat([states, retrieved], dim=-1)))  # c_t [Q, W, H]
        last = contexts.gather(1, (query.lengths - 2)[:, None, None].expand(-1, 1, self.size))[:, 0]
        padding = torch.arange(contexts.shape[1], device=last.device) >= query.lengths[:, None] - 1
        bias = contexts.new_zeros(padding.shape).masked_fill(padding, -torch.inf)
        return contexts, bias[:, None], (last, last)

    def _advance(self, x: Tensor, states: tuple[State, State], mask: Tensor | float) -> tuple[State, State]:
        """(h, c) of both layers after one more action, with a dropout mask [Q, H] between them."""
        lower, upper = self.decoder
        first = lower(x, states[0])
        return first, upper(first[0] * mask, states[1])

    def _answer(self, hidden: Float[Tensor, "Q L H"], contexts: Tensor, bias: Tensor) -> Tensor:
        retrieved, _ = attention(hidden, contexts, contexts, bias)
        return self.logits(torch.tanh(self.joined(torch.cat([hidden, retrieved], dim=-1))))

    def draw_noise(
        self, support: int, query: int, words: int, steps: int, generator: torch.Generator
    ) -> Noise:
        """Dropout masks, 0 or 1 / (1 - p), for commands of `words` words (<SOS> included) and `steps` actions."""
        size, sizes = self.size, {}
        encoded = {
            "support_words": (support, words - 1),
            "support_actions": (support, steps),
            "query_words": (query, words - 1),
        }
        for name, shape in encoded.items():
            sizes |= {name: (*shape, size), f"{name}_between": (*shape, 2 * size)}
        sizes |= {"actions": (query, steps, size), "actions_between": (query, steps, size)}
        return dropout_masks(sizes, self.dropout, generator)
