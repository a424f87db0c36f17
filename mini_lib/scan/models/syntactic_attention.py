"""Syntactic Attention: one stream decides where to look, the other what to say (Russin et al. 2020, "Model").

`mini_lib.scan.models` says how it is called.

Symbols: x_j is word j of a command, m_j its meaning, h_j its role; s_i is the query of step i, alpha_ij how much
step i looks at word j, d_i the meaning that it finds there. B commands, T words, N steps, A actions, M features of
a meaning, K features of a role.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_names
from mini_lib.layers import LSTMCell, check_dropout, dropout_masks
from mini_lib.scan.models.calls import Actions, Lengths, Logits, Noise, Words, masked, noise_of
from mini_lib.scan.models.recurrent import Align, BiLSTM
from mini_lib.scan.tasks import ACTION_COUNT, NO_ACTION, WORD_COUNT


class StreamsTrace(NamedTuple):
    """What happens inside for a batch of commands, over N steps."""

    meanings: Tensor  #: m_j, of each word. [B, T, M]
    roles: Tensor  #: h_j, what the syntax stream makes of each word's place. [B, T, K]
    attention: Tensor  #: alpha_ij, of step i on word j; 0 on padding. [B, N, T]
    logits: Tensor  #: of each step's action. [B, N, A]

    @property
    def semantic(self) -> Float[Tensor, "B N M"]:
        """d_i = sum_j alpha_ij m_j."""
        return self.attention @ self.meanings


class SyntacticAttention(nn.Module):
    """Meaning is steered by syntax, and syntax reaches the actions through attention weights alone.

    Semantics: m_j = W_m x_j for each word by itself (equation 1). Syntax: a bidirectional LSTM gives every word the
    states of its neighbours (equation 2), a second one reads those and makes h_j; from h, a recurrent decoder makes
    the attention weights alpha_ij of each step (equations 4 to 6). Action i is a linear function of
    d_i = sum_j alpha_ij m_j (equation 3). The decoder never sees an action, neither a given one nor its own.

    By default this is the form of the authors' released code; the ledger says where the paper's text differs.

    Args:
        words, actions: sizes of the vocabularies.
        syntax: states per direction of h_j, 200 in the paper; K is twice that.
        semantics: M, features of a word's meaning.
        dropout: on both embeddings of a word.
        sequential_semantics: m_j comes from an LSTM over the whole command (Table 2).
        syntax_action: actions see the context c_i = sum_j alpha_ij h_j too (Table 2).
        nonlinear_semantics: rectified layers between d_i and the action (the authors' preprint).
        one_hot: the syntax stream reads one-hot words, without an embedding or dropout, as the text says.
        surrounding: "between" the two layers, as released, so that the second layer lets a word's own identity into
            its h_j; or "top", where h_j itself is equation 2 and the two directions do not meet below it.
        ends: what stands in equation 2 at the first and the last word: "learned" vectors, as released, or "zero", in
            place of both neighbours; or "neighbour", the one that is there, beside zeros for the missing one.

    Example:
        A plain loop over token numbers of your own; `lengths` counts each row without its padding.

        >>> import torch
        >>> from mini_lib import SyntacticAttention
        >>> network = SyntacticAttention(words=10, actions=5, syntax=8, semantics=6)
        >>> optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
        >>> words, lengths = torch.randint(10, (4, 7)), torch.tensor([7, 3, 5, 4])
        >>> actions = torch.randint(5, (4, 6))
        >>> for _ in range(2):
        ...     logits = network(words, lengths, actions)  # dropout is drawn, since the network is training
        ...     loss = torch.nn.functional.cross_entropy(logits.mT, actions)
        ...     optimizer.zero_grad()
        ...     loss.backward()
        ...     optimizer.step()
        >>> network.eval().predict(words, lengths, steps=6).shape
        torch.Size([4, 6])
        >>> network.trace(words, lengths, steps=6).attention.shape
        torch.Size([4, 6, 7])
    """

    def __init__(
        self,
        words: int = WORD_COUNT,
        actions: int = ACTION_COUNT,
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
        check_names("surrounding", [surrounding], ("between", "top"))
        check_names("ends", [ends], ("learned", "zero", "neighbour"))
        for name, size in (("syntax", syntax), ("semantics", semantics)):
            if size < 2 or size % 2:
                raise UsageError(
                    f"{name} is halved between two directions: an even number from 2, not {size}"
                )
        self.dropout, self.syntax_action = check_dropout(dropout), syntax_action
        self.top, self.ends_hear = surrounding == "top", ends == "neighbour"
        half, size = syntax // 2, 2 * syntax
        self.meaning = nn.Embedding(words, semantics)
        self.word = nn.Embedding(words, half)
        if one_hot:
            self.word.weight = nn.Parameter(torch.eye(words), requires_grad=False)
        self.neighbours = BiLSTM(self.word.weight.shape[1], half)
        self.roles = BiLSTM(half if self.top else 2 * half, syntax)
        width = size if self.top else 2 * half
        self.ends = nn.Parameter(torch.randn(2, width)) if ends == "learned" else None
        self.first_query = nn.Linear(size, size)
        self.steering = LSTMCell(size, size, init="uniform")
        self.sequence = BiLSTM(semantics, semantics // 2) if sequential_semantics else None
        self.hidden = nn.Linear(semantics, semantics) if nonlinear_semantics else None
        self.action = nn.Linear(semantics + (size if syntax_action else 0), actions)

    def forward(self, words: Words, lengths: Lengths, actions: Actions, noise: Noise | None = None) -> Logits:
        """Logits; of `actions` only the number of steps counts."""
        steps = actions.shape[1]
        noise = noise_of(self, noise, words.device, *words.shape, steps)
        return self.trace(words, lengths, steps, noise).logits

    @torch.no_grad()
    def predict(self, words: Words, lengths: Lengths, steps: int) -> Actions:
        """The most probable actions."""
        return self.trace(words, lengths, steps).logits.argmax(dim=-1)

    def trace(self, words: Words, lengths: Lengths, steps: int, noise: Noise | None = None) -> StreamsTrace:
        """Everything that happens inside on the way to so many actions; without noise unless it is passed."""
        noise = noise or {}
        meanings = masked(self.meaning(words), noise, "meaning")  # m_j [B, T, M]  # Eq. 1
        if self.sequence is not None:
            meanings = torch.cat(self.sequence(meanings, meanings, lengths)[:2], dim=-1)
        roles, query = self.roles_and_query(words, lengths, noise)  # h_j [B, T, K] and s_1 [B, K]
        attention = self.steer(roles, query, lengths, steps)  # alpha_ij [B, N, T]
        return StreamsTrace(meanings, roles, attention, self.say(attention, meanings, roles))

    def roles_and_query(
        self, words: Words, lengths: Lengths, noise: Noise | None = None
    ) -> tuple[Float[Tensor, "B T K"], Float[Tensor, "B K"]]:
        """What the syntax stream makes of the words: h_j, and the decoder's first query s_1."""
        x = masked(self.word(words), noise or {}, "word")
        before, after, _ = self.neighbours(x, x, lengths)
        if self.top:
            before, after, final = self.roles(before, after, lengths)
            roles = self.surround(before, after, lengths)
        else:
            context = self.surround(before, after, lengths)
            before, after, final = self.roles(context, context, lengths)
            roles = torch.cat([before, after], dim=-1)
        return roles, torch.relu(self.first_query(final))

    def surround(
        self, before: Float[Tensor, "B T H"], after: Float[Tensor, "B T H"], lengths: Lengths
    ) -> Float[Tensor, "B T H2"]:
        """[before_{j-1}; after_{j+1}]; at the first and the last word what `ends` says."""
        places = torch.arange(before.shape[1], device=lengths.device)[None, :, None]
        is_first, is_last = places == 0, places == lengths[:, None, None] - 1
        left, right = before.roll(1, dims=1), after.roll(-1, dims=1)
        if self.ends_hear:
            return torch.cat([left.masked_fill(is_first, 0), right.masked_fill(is_last, 0)], dim=-1)  # Eq. 2
        around = torch.cat([left, right], dim=-1)  # Eq. 2
        first, last = self.ends if self.ends is not None else (around.new_zeros(()),) * 2
        return torch.where(is_last, last, torch.where(is_first, first, around))

    def steer(
        self, roles: Float[Tensor, "B T K"], query: Float[Tensor, "B K"], lengths: Lengths, steps: int
    ) -> Float[Tensor, "B N T"]:
        """Where to look: the attention weights of every step, equations 4 to 6 (`recurrent.align`, made fast)."""
        padding = torch.arange(roles.shape[1], device=roles.device) >= lengths[:, None]
        mask = roles.new_zeros(padding.shape).masked_fill(padding, -torch.inf)
        cell = self.steering
        attention, *_ = Align.apply(roles, cell.project(roles), query, cell.weight_hh, mask, steps)
        return attention

    def say(
        self,
        attention: Float[Tensor, "*B N T"],
        meanings: Float[Tensor, "*B T M"],
        roles: Float[Tensor, "*B T K"] | None = None,
    ) -> Float[Tensor, "*B N A"]:
        """What to say: logits, from attention and the meanings under it; roles count with `syntax_action` alone."""
        d = attention @ meanings  # d_i [B, N, M]  # Eq. 3
        if self.hidden is not None:
            d = torch.relu(self.hidden(torch.relu(d)))
        if self.syntax_action:
            d = torch.cat([d, attention @ roles], dim=-1)
        return self.action(d)

    def noise(self, batch: int, words: int, steps: int, generator: torch.Generator) -> Noise:
        """Dropout masks of both embeddings of a word."""
        sizes = {"meaning": (batch, words, self.meaning.embedding_dim)}
        if self.word.weight.requires_grad:
            sizes["word"] = (batch, words, self.word.embedding_dim)
        return dropout_masks(sizes, self.dropout, generator)


def loss(logits: Logits, actions: Actions) -> Float[Tensor, ""]:
    """Cross-entropy, averaged over each command's actions and <EOS>, and then over commands.

    So a larger batch is what several batches of one are, the paper's: a long command does not outweigh a short one.
    """
    each = F.cross_entropy(logits.mT, actions, ignore_index=NO_ACTION, reduction="none").sum(dim=1)
    return (each / (actions != NO_ACTION).sum(dim=1)).mean()
