"""Syntactic Attention: one stream decides where to attend, the other what to output (Russin et al. 2020, "Model").

B commands, T words, N steps, A actions, M features of a word's meaning, K features of its role.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.layers import LSTMCell, check_dropout, dropout_masks
from mini_lib.module import Module, Noise, noise_or_draw
from mini_lib.scan import attention_fast as fast, tasks
from mini_lib.scan.recurrent import BiLSTM
from mini_lib.scan.tasks import NO_ACTION, Actions, Lengths, Logits, Words, apply_mask, check_batch


class StreamsTrace(NamedTuple):
    """What happens inside for a batch of commands, over N steps."""

    meanings: Tensor  #: m_j, of each word. [B, T, M]
    roles: Tensor  #: h_j, what the syntax stream makes of each word's position. [B, T, K]
    attention: Tensor  #: alpha_ij, of step i on word j; 0 on padding. [B, N, T]
    logits: Tensor  #: of each step's action. [B, N, A]


class SyntacticAttention(Module):
    """Two streams, which meet in attention weights alone: syntax places the attention, semantics is attended to.

    Semantics: m_j = W_m x_j for each word by itself (equation 1). Syntax: a bidirectional LSTM gives every word the
    states of its neighbors (equation 2), a second one reads those and makes h_j; from h, a recurrent decoder makes
    the attention weights alpha_ij of each step (equations 4 to 6). Action i is a linear function of
    d_i = sum_j alpha_ij m_j (equation 3). The decoder never receives an action as input.

    The defaults are the authors' released code. Networks of this package are called alike:
    `network(words, lengths, actions)` gives logits [B, L, A], `network.predict(words, lengths, steps)` actions, and
    a network in training draws its own dropout masks unless `noise` is passed.

    Args:
        words, actions: sizes of the vocabularies.
        syntax: states per direction of h_j, 200 in the paper; K is twice that.
        semantics: M, features of a word's meaning.
        dropout: on both embeddings of a word.
        sequential_semantics: m_j comes from an LSTM over the whole command (Table 2).
        syntax_action: actions receive the context c_i = sum_j alpha_ij h_j too (Table 2).
        nonlinear_semantics: rectified layers between d_i and the action (the authors' preprint).
        one_hot: the syntax stream reads one-hot words, without an embedding or dropout, as in the text.
        surrounding: "between" the two layers, so that a word's own identity reaches its h_j through the second; or
            "top", where h_j itself is equation 2 and the two directions do not meet below it.
        ends: equation 2 at the first and the last word: "learned" vectors or "zero" in place of both neighbors; or
            "neighbour", the one that exists, next to zeros for the missing one.

    Example:
        Training on ids of your own; `lengths` counts each row's words, and actions are padded with 0 (`NO_ACTION`).

        >>> import torch
        >>> from mini_lib import SyntacticAttention
        >>> network = SyntacticAttention(words=10, actions=5, syntax=8, semantics=6)
        >>> words, lengths = torch.randint(10, (4, 7)), torch.tensor([7, 3, 5, 4])
        >>> actions = torch.randint(5, (4, 6))
        >>> logits = network(words, lengths, actions)
        >>> torch.nn.functional.cross_entropy(logits.mT, actions, ignore_index=0).backward()
        >>> network.eval().predict(words, lengths, steps=6).shape
        torch.Size([4, 6])
        >>> network.trace(words, lengths, steps=6).attention.shape
        torch.Size([4, 6, 7])
    """

    def __init__(
        self,
        words: int = tasks.WORD_COUNT,
        actions: int = tasks.ACTION_COUNT,
        syntax: int = 200,
        semantics: int = 120,
        dropout: float = 0.5,
        sequential_semantics: bool = False,
        syntax_action: bool = False,
        nonlinear_semantics: bool = False,
        one_hot: bool = False,
        surrounding: str = "between",
        ends: str = "learned",
    ):
        super().__init__()
        check_positive_int(words=words, actions=actions, syntax=syntax, semantics=semantics)
        check_names("surrounding", [surrounding], ("between", "top"))
        check_names("ends", [ends], ("learned", "zero", "neighbour"))
        if syntax % 2 or semantics % 2:
            raise UsageError(f"syntax and semantics are halved: even numbers, not {syntax} and {semantics}")
        self.vocabulary = words, actions
        self.dropout, self.syntax_action = check_dropout(dropout), syntax_action
        self.top, self.at_ends = surrounding == "top", ends
        half, size = syntax // 2, 2 * syntax
        self.meaning = nn.Embedding(words, semantics)
        self.word = nn.Embedding(words, half)
        if one_hot:
            self.word.weight = nn.Parameter(torch.eye(words), requires_grad=False)
        self.neighbors = BiLSTM(self.word.weight.shape[1], half)
        self.roles = BiLSTM(half if self.top else syntax, syntax)
        self.ends = nn.Parameter(torch.randn(2, size if self.top else syntax)) if ends == "learned" else None
        self.first_query = nn.Linear(size, size)
        self.decoder = LSTMCell(size, size, init="uniform")
        self.sequence = BiLSTM(semantics, semantics // 2) if sequential_semantics else None
        self.hidden = nn.Linear(semantics, semantics) if nonlinear_semantics else None
        self.action = nn.Linear(semantics + (size if syntax_action else 0), actions)

    def forward(self, words: Words, lengths: Lengths, actions: Actions, noise: Noise | None = None) -> Logits:
        """Logits; of `actions` only the number of steps counts."""
        check_batch(self, words, lengths, actions)
        noise = noise_or_draw(self, noise, words.device, *words.shape, actions.shape[1])
        return self.trace(words, lengths, actions.shape[1], noise).logits

    @torch.no_grad()
    def predict(self, words: Words, lengths: Lengths, steps: int) -> Actions:
        """The most probable action of each of the steps, [B, steps]."""
        return self.trace(words, lengths, steps).logits.argmax(dim=-1)

    def trace(self, words: Words, lengths: Lengths, steps: int, noise: Noise | None = None) -> StreamsTrace:
        """Everything that happens inside; without dropout unless `noise` is passed."""
        check_batch(self, words, lengths, steps=steps)
        noise = noise or {}
        meanings = apply_mask(self.meaning(words), noise, "meaning")  # m_j = W_m x_j [B, T, M]       # Eq. 1
        if self.sequence is not None:
            meanings = torch.cat(self.sequence(meanings, meanings, lengths)[:2], dim=-1)
        roles, query = self.roles_and_query(words, lengths, noise)  # h_j [B, T, K], s_1 [B, K]
        attention = self.attend(roles, query, lengths, steps)  # alpha_ij [B, N, T]
        return StreamsTrace(meanings, roles, attention, self.logits(attention, meanings, roles))

    def roles_and_query(
        self, words: Words, lengths: Lengths, noise: Noise | None = None
    ) -> tuple[Float[Tensor, "B T K"], Float[Tensor, "B K"]]:
        """What the syntax stream makes of the words: h_j, and the decoder's first query s_1."""
        x = apply_mask(self.word(words), noise or {}, "word")
        before, after, _ = self.neighbors(x, x, lengths)
        if self.top:
            before, after, final = self.roles(before, after, lengths)
            roles = self.surround(before, after, lengths)
        else:
            around = self.surround(before, after, lengths)
            before, after, final = self.roles(around, around, lengths)
            roles = torch.cat([before, after], dim=-1)
        return roles, torch.relu(self.first_query(final))

    def surround(
        self, before: Float[Tensor, "B T H"], after: Float[Tensor, "B T H"], lengths: Lengths
    ) -> Float[Tensor, "B T H2"]:
        """[before_{j-1}; after_{j+1}] of each word j."""
        position = torch.arange(before.shape[1], device=lengths.device)[None, :, None]
        is_first, is_last = position == 0, position == lengths[:, None, None] - 1
        left = F.pad(before[:, :-1], (0, 0, 1, 0))  # zeros at the first word
        right = F.pad(after[:, 1:], (0, 0, 0, 1))
        if self.at_ends == "neighbour":
            return torch.cat([left, right.masked_fill(is_last, 0)], dim=-1)
        around = torch.cat([left, right], dim=-1)  # [B, T, 2H]  # Eq. 2
        if self.at_ends == "zero":
            return around.masked_fill(is_first | is_last, 0)
        return torch.where(is_first, self.ends[0], torch.where(is_last, self.ends[1], around))

    def attend(
        self, roles: Float[Tensor, "B T K"], query: Float[Tensor, "B K"], lengths: Lengths, steps: int
    ) -> Float[Tensor, "B N T"]:
        """Where to attend: alpha_ij of every step, from h_j and s_1."""
        padding = torch.arange(roles.shape[1], device=roles.device) >= lengths[:, None]  # [B, T]
        if steps > 1 and fast.applies(roles, query, self.decoder.weight_hh):
            return fast.attend(roles, query, self.decoder, padding, steps)
        s, state, alphas = query, self.decoder.initial_state(query), []
        for _ in range(steps):
            e = (roles @ s[..., None]).squeeze(-1)  # e_ij = s_i . h_j [B, T]                     # Eq. 5
            alpha = e.masked_fill(padding, -torch.inf).softmax(dim=-1)  # alpha_ij [B, T]         # Eq. 4
            context = (alpha[:, None] @ roles).squeeze(1)  # c_i = sum_j alpha_ij h_j [B, K]
            s, _ = state = self.decoder(context, state)  # s_{i+1} = g(s_i, c_i) [B, K]           # Eq. 6
            alphas.append(alpha)
        return torch.stack(alphas, dim=1)

    def logits(
        self,
        attention: Float[Tensor, "*B N T"],
        meanings: Float[Tensor, "*B T M"],
        roles: Float[Tensor, "*B T K"] | None = None,
    ) -> Float[Tensor, "*B N A"]:
        """What to output, from attention and the meanings under it; roles count with `syntax_action` alone."""
        d = attention @ meanings  # d_i = sum_j alpha_ij m_j [B, N, M]                            # Eq. 3
        if self.hidden is not None:
            d = torch.relu(self.hidden(torch.relu(d)))
        if self.syntax_action:
            d = torch.cat([d, attention @ roles], dim=-1)
        return self.action(d)

    def draw_noise(self, batch: int, words: int, steps: int, generator: torch.Generator | None) -> Noise:
        """Dropout masks of both embeddings of a word, 0 or 1 / (1 - p)."""
        sizes = {"meaning": (batch, words, self.meaning.embedding_dim)}
        if self.word.weight.requires_grad:
            sizes["word"] = (batch, words, self.word.embedding_dim)
        return dropout_masks(sizes, self.dropout, generator)


def loss(logits: Logits, actions: Actions) -> Float[Tensor, ""]:
    """Cross-entropy, averaged over each command's actions, then over commands: as the paper's batches of one."""
    each = F.cross_entropy(logits.mT, actions, ignore_index=NO_ACTION, reduction="none").sum(dim=1)
    return (each / (actions != NO_ACTION).sum(dim=1)).mean()
