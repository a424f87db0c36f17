"""A mechanism that steers: it reads the words of a command, and Syntactic Attention looks where it says."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.module import Noise
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import ACTION_IDS, MAX_WORDS, PAD, WORD_IDS, Lengths, Words

SYNTAX, SEMANTICS = 64, 38  # the sizes of `scan.runs.tutorial_settings`
WORD_FEATURES = 32  # of the vectors that a mechanism is given
VOCABULARY = {"words": len(WORD_IDS), "actions": len(ACTION_IDS)}


class CommandNetwork(SyntacticAttention):
    """Syntactic Attention whose stream of syntax is another mechanism; its decoder and its stream of meaning stay.

    The mechanism is given the words as orthogonal vectors, which are not learned, so that a fixed relation knows of
    two words only whether they are the same one. Commands are filled up to the longest. The mechanism makes a state
    of each word, a linear layer makes h_j of it, and another one the first query of their mean; the mechanism's
    layers that answer elsewhere have no use here.

    Args:
        make_core: makes the mechanism, with `states`, [B, 11, D] to [B, 11, K]. It is called last, so that one seed
            gives twins the same of all the rest.
        features: D, as many as there are words or more.

    >>> from mini_lib.esbn.models import LSTM
    >>> from mini_lib.scan.tasks import encode
    >>> network = CommandNetwork(lambda: LSTM(WORD_FEATURES, 1))
    >>> words, lengths, actions = encode(["jump", "look twice"]).tensors
    >>> network(words, lengths, actions).shape  # logits of every action
    torch.Size([2, 3, 9])
    """

    def __init__(self, make_core: Callable[[], nn.Module], features: int = WORD_FEATURES):
        super().__init__(syntax=SYNTAX, semantics=SEMANTICS, **VOCABULARY)
        if features < VOCABULARY["words"]:
            raise UsageError(f"{VOCABULARY['words']} words need as many features, got {features}")
        del self.neighbors, self.roles, self.ends
        orthogonal = torch.eye(VOCABULARY["words"], features) * features**0.5  # of the size of normal numbers
        self.word = nn.Embedding.from_pretrained(orthogonal, freeze=True)
        with torch.device("meta"):  # where nothing is drawn
            found = make_core().states(torch.zeros(1, MAX_WORDS, features)).shape[-1]
        self.role = nn.Linear(found, 2 * SYNTAX)
        self.core = make_core()

    def roles_and_query(
        self, words: Words, lengths: Lengths, noise: Noise | None = None
    ) -> tuple[Float[Tensor, "B T K"], Float[Tensor, "B K"]]:
        """h_j, and the decoder's first query s_1; noise is of meanings alone."""
        steps = words.shape[1]
        filled = F.pad(words, (0, MAX_WORDS - steps), value=WORD_IDS[PAD])
        roles = self.role(self.core.states(self.word(filled)))[:, :steps]
        inside = (torch.arange(steps, device=words.device) < lengths[:, None]).to(roles.dtype)
        mean = (roles * inside[..., None]).sum(dim=1) / lengths[:, None]
        return roles, torch.relu(self.first_query(mean))


def syntactic_attention(sequential_semantics: bool = False) -> SyntacticAttention:
    """Syntactic Attention itself; or its twin without a wall, where a word's meaning depends on its neighbours.

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
