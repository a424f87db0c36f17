"""Primitives and functions under noise (Li, Zhao, Wang and Hestness 2019, "Compositional generalization for
primitive substitutions"), as in the code released with it, model `rand_reg`.
`mini_lib.scan.models` says how it is called.

Symbols: p_j and f_j are the primitive and the function of word j, m_j what the encoder makes of the functions, a_t
the decoder's answer to step t and w_tj how much step t takes from word j. B commands, T words, L steps, H units.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError
from mini_lib.layers import glorot_uniform, lstm_step
from mini_lib.scan import tasks
from mini_lib.scan.models.calls import Actions, Lengths, Logits, Noise, Words, noise_of
from mini_lib.scan.models.recurrent import both_directions

Hidden = Float[Tensor, "B H"]
PLACES = tasks.MOST_WORDS - 1  # N: a command's words and its end, without <SOS>
FORGET_BIAS = 1.0
IMPOSSIBLE = -1e9  # the logit of <SOS>, a class that their output layer does not have


class EncodedStreams(NamedTuple):
    """A batch of commands after the encoder."""

    memory: Tensor  #: m_j at each of the W = T - 1 places after <SOS>; 0 on padding. [B, W, H]
    keys: Tensor  #: W_k m_j. [B, W, H]
    mask: Tensor  #: 0 at words, -inf at padding. [B, W]
    primitives: Tensor  #: p_j, with noise. [B, W, P]


class LiNetwork(nn.Module):
    """Function embeddings say where to look, primitive embeddings say what; noise keeps each to its own.

    Each word has a primitive p (k_p features) and a function f (k_f). Both get standard normal noise, drawn for
    every place of every command, and a penalty on their squares, so they carry little.

    Function stream: a bidirectional LSTM, H/2 units a direction, reads f; m_j are its states. The decoder LSTM
    starts with h and c exchanged: h_0 is the encoder's last c, and c_0 its last h (forwards, then backwards). Step t
    reads [0; a_{t-1}] with a_0 = 0, attends with alpha_t = softmax_j h_t . (W_k m_j), and makes
    a_t = W_a [h_t; sum_j alpha_tj m_j]. A linear layer of a_t gives a logit for each of N = 10 absolute places;
    w_t is their softmax over the places that hold words. Primitive stream: logits_t = W sum_j w_tj p_j + b.
    No action is fed back.

    Words lose their <SOS>, as their data have none; the end marker stays and counts as a word. Their vocabularies
    are 13 words and the end, 6 actions and the end. So are the tables here, with 14 and 7 rows, and the logit of our
    <SOS> is -1e9. Matrices start glorot-uniform (an LSTM's as one matrix), biases at 0, embeddings uniform in
    [-1, 1]; 1 is added to the forget gate's sum. For the linear layers this is inferred from TensorFlow's defaults.
    The released network also has 14 values of a "switch" that is never used; they are left out.

    Args:
        primitive: k_p.
        function: k_f.
        units: H.
        strength: lambda, of the penalty.
        words, actions: sizes of our vocabularies, <SOS> and <NULL> included.

    Example:
        >>> from mini_lib import LiNetwork
        >>> from mini_lib.scan.tasks import encode
        >>> words, lengths, actions = encode(["jump twice", "walk left and run"])
        >>> network = LiNetwork()
        >>> logits, penalty = network(words, lengths, actions, with_penalty=True)
        >>> loss(logits, actions, penalty).backward()
        >>> network.eval().attention(words, lengths, actions).shape  # of each action over words and end
        torch.Size([2, 4, 5])
    """

    def __init__(
        self,
        primitive: int = 16,
        function: int = 8,
        units: int = 64,
        strength: float = 0.1,
        words: int = tasks.WORD_COUNT,
        actions: int = tasks.ACTION_COUNT,
    ):
        super().__init__()
        if units % 2:
            raise UsageError(f"units are shared by two directions; {units} is odd, take an even number")
        self.units, self.strength = units, strength
        self.primitive, self.function = _embedding(words - 2, primitive), _embedding(words - 2, function)
        half = units // 2
        self.encoder_kernel = glorot_uniform(2, 4 * half, function + half)
        self.encoder_bias = nn.Parameter(torch.zeros(2, 1, 4 * half))
        self.decoder_kernel = glorot_uniform(4 * units, 1 + 2 * units)
        self.decoder_bias = nn.Parameter(torch.zeros(4 * units))
        self.key = glorot_uniform(units, units)
        self.attended = glorot_uniform(units, 2 * units)
        self.place = glorot_uniform(PLACES, units)
        self.place_bias = nn.Parameter(torch.zeros(PLACES))
        self.action = glorot_uniform(actions - 1, primitive)
        self.action_bias = nn.Parameter(torch.zeros(actions - 1))
        self.register_buffer("word_rows", torch.tensor(_word_rows(words)), persistent=False)

    def forward(
        self,
        words: Words,
        lengths: Lengths,
        actions: Actions,
        noise: Noise | None = None,
        with_penalty: bool = False,
    ) -> Logits | tuple[Logits, Float[Tensor, ""]]:
        """Logits, and `with_penalty` the penalty for `loss` too. A command has 10 places at most."""
        noise = noise_of(self, noise, words.device, *words.shape, actions.shape[1])
        encoded, decoded = self.decode(words, lengths, actions.shape[1], noise)
        logits = self.say(encoded, self.look(encoded, decoded))
        return (logits, self.penalty(words, lengths)) if with_penalty else logits

    @torch.no_grad()
    def attention(self, words: Words, lengths: Lengths, actions: Actions) -> Float[Tensor, "B L W"]:
        """w_tj, how much each step takes from each of the W = T - 1 places after <SOS>; without noise."""
        return self.look(*self.decode(words, lengths, actions.shape[1], {}))

    @torch.no_grad()
    def predict(self, words: Words, lengths: Lengths, steps: int) -> Actions:
        """The most probable actions."""
        encoded, decoded = self.decode(words, lengths, steps, {})
        return self.say(encoded, self.look(encoded, decoded)).argmax(dim=-1)

    def encode(
        self, words: Words, lengths: Lengths, noise: Noise
    ) -> tuple[EncodedStreams, tuple[Tensor, Tensor, Tensor]]:
        """What the decoder looks at, and its first a, h and c, each [B, H]."""
        rows, inside = self._rows(words, lengths)
        noisy = {}
        for name, table in self._tables().items():
            noisy[name] = F.embedding(rows, table)
            if name in noise:
                noisy[name] = noisy[name] + noise[name][:, 1 : words.shape[1]]
        x, half = noisy["function"], self.units // 2  # f_j [B, W, k_f]
        from_x, from_h = self.encoder_kernel.split([x.shape[-1], half], dim=-1)
        zeros = x.new_zeros(2, len(x), half)
        memory, (last_h, last_c) = both_directions(
            x,
            inside,
            from_x,
            self.encoder_bias,
            lambda gates, h, c: lstm_step(gates + h @ from_h.mT, c, FORGET_BIAS),
            (zeros, zeros),
        )  # m_j [B, W, H]
        mask = memory.new_zeros(inside.shape).masked_fill(~inside, -torch.inf)
        encoded = EncodedStreams(memory, F.linear(memory, self.key), mask, noisy["primitive"])
        # The exchange, h_0 = c and c_0 = h: the released code fills a pair (c, h) as (h, c).
        return encoded, (torch.zeros_like(last_h), last_c, last_h)

    def decode(
        self, words: Words, lengths: Lengths, steps: int, noise: Noise
    ) -> tuple[EncodedStreams, Float[Tensor, "B L H"]]:
        """The encoded commands, and a_t of every step of the decoder."""
        encoded, state = self.encode(words, lengths, noise)
        decoded = []
        for _ in range(steps):
            state = self.step(encoded, *state)
            decoded.append(state[0])
        return encoded, torch.stack(decoded, dim=1)

    def step(self, encoded: EncodedStreams, a: Hidden, h: Hidden, c: Hidden) -> tuple[Hidden, Hidden, Hidden]:
        """The decoder's next a, h and c."""
        zero = a.new_zeros(len(a), 1)  # what they give in the place of the last action
        gates = F.linear(torch.cat([zero, a, h], dim=-1), self.decoder_kernel, self.decoder_bias)  # [B, 4H]
        h, c = lstm_step(gates, c, FORGET_BIAS)
        scores = (encoded.keys @ h[..., None])[..., 0] + encoded.mask  # [B, W]
        context = (scores.softmax(dim=-1)[:, None] @ encoded.memory)[:, 0]  # [B, H]
        return F.linear(torch.cat([h, context], dim=-1), self.attended), h, c

    def look(self, encoded: EncodedStreams, decoded: Float[Tensor, "B L H"]) -> Float[Tensor, "B L W"]:
        """w_tj over the places, from a_t of each step."""
        places = encoded.mask.shape[1]
        scores = F.linear(decoded, self.place[:places], self.place_bias[:places])
        return (scores + encoded.mask[:, None]).softmax(dim=-1)

    def say(self, encoded: EncodedStreams, weights: Float[Tensor, "B L W"]) -> Logits:
        """Logits over our actions, from w_tj."""
        logits = F.linear(weights @ encoded.primitives, self.action, self.action_bias)
        return F.pad(logits, (1, 0), value=IMPOSSIBLE)

    def penalty(self, words: Words, lengths: Lengths) -> Float[Tensor, ""]:
        """Lambda times the mean square of a word's representation, summed over words, averaged over commands.

        The end marker counts, noise does not.
        """
        rows, inside = self._rows(words, lengths)
        squares = [
            F.embedding(rows, table.square().mean(dim=1, keepdim=True))[..., 0]
            for table in self._tables().values()
        ]
        return self.strength * (sum(squares) * inside).sum() / len(words)

    def _tables(self) -> dict[str, Tensor]:
        return {"primitive": self.primitive, "function": self.function}

    def _rows(self, words: Words, lengths: Lengths) -> tuple[Int[Tensor, "B W"], Bool[Tensor, "B W"]]:
        """Each place's row in their tables, without <SOS>, and which places are words."""
        rows = self.word_rows[words[:, 1:]]
        if rows.shape[1] > PLACES:
            raise UsageError(
                f"{rows.shape[1]} words with the end, but this network knows {PLACES} places; trim them"
            )
        return rows, torch.arange(rows.shape[1], device=rows.device) < lengths[:, None] - 1

    def noise(self, batch: int, words: int, steps: int, generator: torch.Generator) -> Noise:
        """Standard normal noise for each word's representations."""
        return {
            name: torch.randn(batch, words, table.shape[1], generator=generator, device=generator.device)
            for name, table in self._tables().items()
        }


def loss(logits: Logits, actions: Actions, penalty: Tensor | float = 0.0) -> Float[Tensor, ""]:
    """Cross-entropy, summed over a command's actions and averaged over commands; and the penalty."""
    total = F.cross_entropy(
        logits.flatten(0, 1), actions.flatten(), ignore_index=tasks.NO_ACTION, reduction="sum"
    )
    return total / len(actions) + penalty


def _embedding(rows: int, features: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(rows, features).uniform_(-1, 1))


def _word_rows(words: int) -> list[int]:
    """Rows in their tables by our numbers: 0 the end, from 1 the words; what is never read shares the end's row."""
    real = [word not in (tasks.SOS, tasks.EOS, tasks.PAD) for word in list(tasks.WORD_IDS)[:words]]
    return [sum(real[: number + 1]) if each else 0 for number, each in enumerate(real)]
