"""A mechanism as the syntax stream of Syntactic Attention: it decides where the decoder attends."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.module import Noise
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import ACTION_IDS, MAX_WORDS, PAD, WORD_IDS, Lengths, Words

WORD_FEATURES = 32  # of the vectors that a mechanism receives
# The sizes of `scan.runs.tutorial_settings`.
SIZES = {"syntax": 64, "semantics": 38, "words": len(WORD_IDS), "actions": len(ACTION_IDS)}


class CommandNetwork(SyntacticAttention):
    """Syntactic Attention in which a mechanism takes the place of the syntax stream's two bidirectional LSTMs.

    The mechanism receives fixed orthogonal vectors, so that to a fixed relation two words are the same or
    different, and nothing else. A linear layer maps its state of each word to h_j, another their mean to the first
    query; its own last layers are not used. Commands are padded to the longest.

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
        super().__init__(**SIZES)
        if features < SIZES["words"]:
            raise UsageError(f"{SIZES['words']} words need as many features, got {features}")
        self.neighbors = self.roles = self.ends = None  # of the stream that the mechanism replaces
        orthogonal = torch.eye(SIZES["words"], features) * features**0.5  # of the size of normal numbers
        self.word = nn.Embedding.from_pretrained(orthogonal, freeze=True)
        with torch.device("meta"):  # where nothing is drawn
            size = make_core().states(torch.zeros(1, MAX_WORDS, features)).shape[-1]
        self.role = nn.Linear(size, 2 * SIZES["syntax"])
        self.core = make_core()

    def roles_and_query(
        self, words: Words, lengths: Lengths, noise: Noise | None = None
    ) -> tuple[Float[Tensor, "B T K"], Float[Tensor, "B K"]]:
        """What the mechanism makes of the words: h_j and s_1; there is no noise in it."""
        padded = F.pad(words, (0, MAX_WORDS - words.shape[1]), value=WORD_IDS[PAD])
        roles = self.role(self.core.states(self.word(padded)))[:, : words.shape[1]]
        inside = (torch.arange(words.shape[1], device=words.device) < lengths[:, None]).to(roles.dtype)
        mean = (roles * inside[..., None]).sum(dim=1) / lengths[:, None]
        return roles, torch.relu(self.first_query(mean))


def syntactic_attention(sequential_semantics: bool = False) -> SyntacticAttention:
    """Syntactic Attention itself; or its twin without a wall, where a word's meaning depends on its neighbors.

    One state of PyTorch's generator gives both the same of all that they share.
    """
    if not sequential_semantics:
        return SyntacticAttention(**SIZES)
    before = torch.get_rng_state()
    shared = SyntacticAttention(**SIZES).state_dict()
    torch.set_rng_state(before)
    network = SyntacticAttention(sequential_semantics=True, **SIZES)
    network.load_state_dict(shared, strict=False)
    return network
