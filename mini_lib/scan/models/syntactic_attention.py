"""Syntactic Attention: one stream decides where to look, the other what to say (Russin et al. 2020, "Model").

`mini_lib.scan.models` says how it is called.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.layers import LSTMCell, check_dropout, dropout_masks
from mini_lib.scan.models.recurrent import Align, BiLSTM
from mini_lib.scan.tasks import ACTION_COUNT, WORD_COUNT

Noise = dict[str, Tensor]


class Trace(NamedTuple):
    """What happens inside for a batch of commands, over N steps.

    Attributes:
        meanings: m_j, of each word. [B, T, M]
        roles: h_j, what the syntax stream makes of each word's place. [B, T, K]
        attention: alpha_ij, of step i on word j; 0 on padding. [B, N, T]
        semantic: d_i = sum_j alpha_ij m_j. [B, N, M]
        logits: of each step's action. [B, N, A]
    """

    meanings: Tensor
    roles: Tensor
    attention: Tensor
    semantic: Tensor
    logits: Tensor


class SyntacticAttention(nn.Module):
    """Meaning is steered by syntax, and syntax reaches the actions through attention weights alone.

    Semantics: m_j = W_m x_j for each word by itself (equation 1). Syntax: a bidirectional LSTM gives every word the
    states of its neighbours (equation 2), a second one reads those and makes h_j; from h, a recurrent decoder makes
    the attention weights alpha_ij of each step (equations 4 to 6). Action i is a linear function of
    d_i = sum_j alpha_ij m_j (equation 3). The decoder never sees an action, neither a given one nor its own.

    By default this is the form of the authors' released code; the ledger says where the paper's text differs.

    Args:
        words: size of the input vocabulary.
        actions: size of the output vocabulary.
        syntax: states per direction of h_j, 200 in the paper; K is twice that.
        semantics: M, features of a word's meaning.
        dropout: on both embeddings of a word.
        sequential_semantics: m_j comes from an LSTM over the whole command (Table 2).
        syntax_action: actions see the context c_i = sum_j alpha_ij h_j too (Table 2).
        nonlinear_semantics: rectified layers between d_i and the action (the authors' preprint).
        one_hot: the syntax stream reads one-hot words, without an embedding or dropout, as the text says.
        surrounding: "between" the two layers, as released, so that the second layer lets a word's own identity into
            its h_j; or "top", where h_j itself is equation 2 and the two directions do not meet below it.
        ends: what stands in equation 2 at the first and the last word: "learned" vectors, or "zero".
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
        for kind, name, known in (
            ("surrounding", surrounding, ("between", "top")),
            ("ends", ends, ("learned", "zero")),
        ):
            if name not in known:
                raise unknown_name_error(kind, name, known)
        for name, size in (("syntax", syntax), ("semantics", semantics)):
            if size < 2 or size % 2:
                raise UsageError(
                    f"{name} is halved between two directions: an even number from 2, not {size}"
                )
        self.dropout, self.syntax_action = check_dropout(dropout), syntax_action
        self.top = surrounding == "top"
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

    def forward(
        self,
        words: Int[Tensor, "B T"],
        lengths: Int[Tensor, "B"],
        actions: Int[Tensor, "B N"],
        noise: Noise | None = None,
    ) -> Float[Tensor, "B N A"]:
        """Logits; reads no action."""
        return self.trace(words, lengths, actions.shape[1], noise).logits

    @torch.no_grad()
    def predict(self, words: Int[Tensor, "B T"], lengths: Int[Tensor, "B"], steps: int) -> Int[Tensor, "B N"]:
        """The most probable actions."""
        return self.trace(words, lengths, steps).logits.argmax(dim=-1)

    def trace(
        self, words: Int[Tensor, "B T"], lengths: Int[Tensor, "B"], steps: int, noise: Noise | None = None
    ) -> Trace:
        """Everything that happens inside on the way to so many actions."""
        noise = {name: mask[:, : words.shape[1]] for name, mask in (noise or {}).items()}
        meanings = self.meaning(words) * noise.get("meaning", 1.0)  # Eq. 1
        if self.sequence is not None:
            meanings = torch.cat(self.sequence(meanings, meanings, lengths)[:2], dim=-1)
        roles, query = self.parse(words, lengths, noise)
        present = torch.arange(words.shape[1], device=words.device) < lengths[:, None]
        mask = torch.zeros(present.shape, device=words.device).masked_fill(~present, -torch.inf)
        attention, *_ = Align.apply(
            roles, self.steering.project(roles), query, self.steering.weight_hh, mask, steps
        )
        semantic = attention @ meanings  # Eq. 3
        said = semantic
        if self.hidden is not None:
            said = torch.relu(self.hidden(torch.relu(said)))
        if self.syntax_action:
            said = torch.cat([said, attention @ roles], dim=-1)
        return Trace(meanings, roles, attention, semantic, self.action(said))

    def parse(self, words: Tensor, lengths: Tensor, noise: Noise) -> tuple[Tensor, Tensor]:
        """The syntax stream: h_j of each word [B, T, K], and the decoder's first query s_1 [B, K]."""
        x = self.word(words) * noise.get("word", 1.0)
        before, after, _ = self.neighbours(x, x, lengths)
        if self.top:
            before, after, final = self.roles(before, after, lengths)
            roles = self.surround(before, after, lengths)
        else:
            context = self.surround(before, after, lengths)
            before, after, final = self.roles(context, context, lengths)
            roles = torch.cat([before, after], dim=-1)
        return roles, torch.relu(self.first_query(final))

    def surround(self, before: Tensor, after: Tensor, lengths: Tensor) -> Tensor:
        """[before_{j-1}; after_{j+1}], with the ends' own vectors at the first and the last word."""
        around = torch.cat([before.roll(1, dims=1), after.roll(-1, dims=1)], dim=-1)  # Eq. 2
        places = torch.arange(before.shape[1], device=lengths.device)[None, :, None]
        first, last = self.ends if self.ends is not None else (around.new_zeros(()),) * 2
        around = torch.where(places == 0, first, around)
        return torch.where(places == lengths[:, None, None] - 1, last, around)

    def noise(self, batch: int, words: int, steps: int, generator: torch.Generator) -> Noise:
        """Dropout masks of both embeddings of a word."""
        sizes = {"meaning": (batch, words, self.meaning.embedding_dim)}
        if self.word.weight.requires_grad:
            sizes["word"] = (batch, words, self.word.embedding_dim)
        return dropout_masks(sizes, self.dropout, generator)
