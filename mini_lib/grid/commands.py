"""A mechanism as the syntax stream of Syntactic Attention: it decides where the decoder attends."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.module import Noise, noise_or_draw
from mini_lib.scan.syntactic_attention import StreamsTrace, SyntacticAttention
from mini_lib.scan.tasks import (
    ACTION_IDS,
    MAX_WORDS,
    PAD,
    WORD_IDS,
    Actions,
    Lengths,
    Logits,
    Words,
    apply_mask,
)

SYNTAX, SEMANTICS = 64, 38  # the sizes of `scan.runs.tutorial_settings`
WORD_FEATURES = 32  # of the vectors that a mechanism receives
VOCABULARY = {"words": len(WORD_IDS), "actions": len(ACTION_IDS)}


class CommandNetwork(nn.Module):
    """A mechanism that reads a command, with the decoder and the stream of meaning of Syntactic Attention.

    The mechanism receives the words as fixed orthogonal vectors, so that to a fixed relation two words are the same
    or different, and nothing else. Commands are padded to the longest. A linear layer maps its state of each word
    to h_j, and another one their mean to the first query; its own last layers are not used.

    Args:
        make_core: makes the mechanism, with `states`, [B, 11, D] to [B, 11, K]. It is called last, so that one seed
            gives twins the same of all the rest.
        features: D, at least the number of words.

    >>> from mini_lib.esbn.recurrent_baselines import LSTM
    >>> from mini_lib.scan.tasks import encode
    >>> network = CommandNetwork(lambda: LSTM(WORD_FEATURES, 1))
    >>> words, lengths, actions = encode(["jump", "look twice"]).tensors
    >>> network(words, lengths, actions).shape  # logits of every action
    torch.Size([2, 3, 9])
    """

    def __init__(self, make_core: Callable[[], nn.Module], features: int = WORD_FEATURES):
        super().__init__()
        if features < VOCABULARY["words"]:
            raise UsageError(f"{VOCABULARY['words']} words need as many features, got {features}")
        self.streams = syntactic_attention()
        for unused in ("word", "neighbors", "roles", "ends"):  # of its syntax stream
            setattr(self.streams, unused, None)
        orthogonal = torch.eye(VOCABULARY["words"], features) * features**0.5  # of the size of normal numbers
        self.streams.word = nn.Embedding.from_pretrained(orthogonal, freeze=True)
        with torch.device("meta"):  # where nothing is drawn
            size = make_core().states(torch.zeros(1, MAX_WORDS, features)).shape[-1]
        self.role = nn.Linear(size, 2 * SYNTAX)
        self.core = make_core()

    def forward(self, words: Words, lengths: Lengths, actions: Actions, noise: Noise | None = None) -> Logits:
        """Logits; of `actions` only the number of steps counts."""
        noise = noise_or_draw(self, noise, words.device, *words.shape, actions.shape[1])
        return self.trace(words, lengths, actions.shape[1], noise).logits

    @torch.no_grad()
    def predict(self, words: Words, lengths: Lengths, steps: int) -> Actions:
        """The most probable actions."""
        return self.trace(words, lengths, steps).logits.argmax(dim=-1)

    def trace(self, words: Words, lengths: Lengths, steps: int, noise: Noise | None = None) -> StreamsTrace:
        """Record of all steps; noise is of meanings alone."""
        meanings = apply_mask(self.streams.meaning(words), noise or {}, "meaning")  # m_j [B, T, M]
        padded = F.pad(words, (0, MAX_WORDS - words.shape[1]), value=WORD_IDS[PAD])
        roles = self.role(self.core.states(self.streams.word(padded)))[:, : words.shape[1]]  # h_j [B, T, K]
        inside = (torch.arange(words.shape[1], device=words.device) < lengths[:, None]).to(roles.dtype)
        mean = (roles * inside[..., None]).sum(dim=1) / lengths[:, None]
        query = torch.relu(self.streams.first_query(mean))  # s_1 [B, K]
        attention = self.streams.attend(roles, query, lengths, steps)  # alpha_ij [B, N, T]
        return StreamsTrace(meanings, roles, attention, self.streams.logits(attention, meanings))

    def draw_noise(self, batch: int, words: int, steps: int, generator: torch.Generator | None) -> Noise:
        """Dropout masks of a word's meaning."""
        return self.streams.draw_noise(batch, words, steps, generator)


def syntactic_attention(sequential_semantics: bool = False) -> SyntacticAttention:
    """Syntactic Attention itself; or its twin without a wall, where a word's meaning depends on its neighbors.

    One state of PyTorch's generator gives both the same of all that they share.
    """
    sizes = {"syntax": SYNTAX, "semantics": SEMANTICS} | VOCABULARY
    if not sequential_semantics:
        return SyntacticAttention(**sizes)
    before = torch.get_rng_state()
    shared = SyntacticAttention(**sizes).state_dict()
    torch.set_rng_state(before)
    network = SyntacticAttention(sequential_semantics=True, **sizes)
    network.load_state_dict(shared, strict=False)
    return network
