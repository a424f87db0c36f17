"""Primitives and functions under noise (Li, Zhao, Wang and Hestness 2019, "Compositional generalization for
primitive substitutions"), as in the code released with it, model `rand_reg`.

Symbols: p_j and f_j are the primitive and the function of word j, m_j what the encoder makes of the functions, a_t
the decoder's output at step t and w_tj its weight on word j. B commands, T words, L steps, H units.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_positive_int
from mini_lib.layers import glorot_uniform, lstm_step
from mini_lib.module import Module, Noise, noise_or_draw
from mini_lib.scan import tasks
from mini_lib.scan.recurrent import both_directions
from mini_lib.scan.tasks import Actions, Lengths, Logits, Words, check_batch

Hidden = Float[Tensor, "B H"]
PLACES = tasks.MAX_WORDS - 1  # N: a command's words and its end, without <SOS>
FORGET_BIAS = 1.0


class EncodedStreams(NamedTuple):
    """A batch of commands after the encoder."""

    memory: Tensor  #: m_j at each of the W = T - 1 positions after <SOS>; 0 on padding. [B, W, H]
    keys: Tensor  #: W_k m_j. [B, W, H]
    mask: Tensor  #: 0 at words, -inf at padding. [B, W]
    primitives: Tensor  #: p_j, with noise. [B, W, P]


class LiNetwork(Module):
    """Function embeddings place the attention, primitive embeddings are attended to.

    Called like `SyntacticAttention`. Each word has a primitive p (k_p features) and a function f (k_f). Both get
    standard normal noise, drawn for every position, and a `penalty` on their squares, so they carry little.

    Function stream: a bidirectional LSTM, H/2 units per direction, reads f; m_j are its states. The decoder LSTM
    starts with h and c exchanged: h_0 is the encoder's last c, and c_0 its last h (forward, then backward). Step t
    reads [0; a_{t-1}] with a_0 = 0, attends with alpha_t = softmax_j h_t . (W_k m_j), and makes
    a_t = W_a [h_t; sum_j alpha_tj m_j]. A linear layer of a_t gives a logit for each of N = 10 absolute positions;
    w_t is their softmax over the positions that hold words. Primitive stream: logits_t = W sum_j w_tj p_j + b.
    No action is fed back.

    Words lose their <SOS>; <SOS> is no action of theirs either, and has the lowest logit there is. Matrices start
    Glorot-uniform (an LSTM's as one matrix), biases at 0, embeddings uniform in [-1, 1]; 1 is added to the forget
    gate's sum.

    Args:
        primitive: k_p.
        function: k_f.
        units: H.
        strength: lambda, of the penalty.
        words, actions: sizes of our vocabularies, <SOS> and <NULL> included.

    Example:
        >>> from mini_lib.scan import LiNetwork, encode
        >>> examples, network = encode(["jump twice", "walk left and run"]), LiNetwork()
        >>> penalty = network.penalty(examples.words, examples.lengths)
        >>> (loss(network(*examples.tensors), examples.actions) + penalty).backward()
        >>> network.eval().attention(*examples.tensors).shape  # of each action over words and end
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
        check_positive_int(primitive=primitive, function=function, units=units, words=words, actions=actions)
        if units % 2:
            raise UsageError(f"units are shared by two directions; {units} is odd, take an even number")
        if not isinstance(strength, int | float) or not 0 <= strength < torch.inf:
            raise UsageError(f"strength has to be a finite number from 0, got {strength!r}")
        self.vocabulary, self.units, self.strength = (words, actions), int(units), strength
        self.primitive = nn.Parameter(torch.empty(words - 2, primitive).uniform_(-1, 1))
        self.function = nn.Parameter(torch.empty(words - 2, function).uniform_(-1, 1))
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
        # Rows of the embeddings by id: the end has 0, words 1, 2, ...; <SOS> and <NULL> are never read.
        real = [word not in (tasks.SOS, tasks.EOS, tasks.PAD) for word in list(tasks.WORD_IDS)[:words]]
        rows = [sum(real[: number + 1]) if each else 0 for number, each in enumerate(real)]
        self.register_buffer("word_rows", torch.tensor(rows), persistent=False)

    def forward(self, words: Words, lengths: Lengths, actions: Actions, noise: Noise | None = None) -> Logits:
        """Logits; of `actions` only the number of steps counts. A command has 10 positions at most."""
        check_batch(self, words, lengths, actions)
        noise = noise_or_draw(self, noise, words.device, *words.shape, actions.shape[1])
        encoded, weights = self.decode(words, lengths, actions.shape[1], noise)
        return self._logits(encoded, weights)

    @torch.no_grad()
    def attention(self, words: Words, lengths: Lengths, actions: Actions) -> Float[Tensor, "B L W"]:
        """w_tj, each step's weight on each of the W = T - 1 positions after <SOS>; without noise."""
        check_batch(self, words, lengths, actions)
        return self.decode(words, lengths, actions.shape[1], {})[1]

    @torch.no_grad()
    def predict(self, words: Words, lengths: Lengths, steps: int) -> Actions:
        """The most probable action of each of the steps, [B, steps]."""
        check_batch(self, words, lengths, steps=steps)
        return self._logits(*self.decode(words, lengths, steps, {})).argmax(dim=-1)

    def encode(
        self, words: Words, lengths: Lengths, noise: Noise
    ) -> tuple[EncodedStreams, tuple[Hidden, ...]]:
        """What the decoder attends to, and its first a, h and c."""
        rows, inside = self._rows(words, lengths)
        both = {"primitive": F.embedding(rows, self.primitive), "function": F.embedding(rows, self.function)}
        for name, drawn in noise.items():
            both[name] = both[name] + drawn[:, 1 : words.shape[1]].to(both[name].dtype)
        primitives, x, half = *both.values(), self.units // 2  # p_j [B, W, k_p], f_j [B, W, k_f]
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
        encoded = EncodedStreams(memory, F.linear(memory, self.key), mask, primitives)
        # The exchange, h_0 = c and c_0 = h: the released code fills a pair (c, h) as (h, c).
        return encoded, (torch.zeros_like(last_h), last_c, last_h)

    def decode(
        self, words: Words, lengths: Lengths, steps: int, noise: Noise
    ) -> tuple[EncodedStreams, Float[Tensor, "B L W"]]:
        """The encoded commands, and w_tj of every step."""
        encoded, state = self.encode(words, lengths, noise)
        decoded, places = [], words.shape[1] - 1
        for _ in range(steps):
            state = self.step(encoded, *state)
            decoded.append(state[0])  # a_t [B, H]
        scores = F.linear(torch.stack(decoded, dim=1), self.place[:places], self.place_bias[:places])
        return encoded, (scores + encoded.mask[:, None]).softmax(dim=-1)

    def step(self, encoded: EncodedStreams, a: Hidden, h: Hidden, c: Hidden) -> tuple[Hidden, Hidden, Hidden]:
        """The decoder's next a, h and c."""
        zero = a.new_zeros(len(a), 1)  # their input in place of the last action
        gates = F.linear(torch.cat([zero, a, h], dim=-1), self.decoder_kernel, self.decoder_bias)  # [B, 4H]
        h, c = lstm_step(gates, c, FORGET_BIAS)
        scores = (encoded.keys @ h.to(encoded.keys.dtype)[..., None])[..., 0] + encoded.mask  # [B, W]
        context = (scores.softmax(dim=-1)[:, None] @ encoded.memory)[:, 0]  # [B, H]
        return F.linear(torch.cat([h, context], dim=-1), self.attended), h, c

    def _logits(self, encoded: EncodedStreams, weights: Float[Tensor, "B L W"]) -> Logits:
        """Logits of our actions, from w_tj."""
        logits = F.linear(weights @ encoded.primitives, self.action, self.action_bias)
        return F.pad(logits, (1, 0), value=torch.finfo(logits.dtype).min)

    def penalty(self, words: Words, lengths: Lengths) -> Float[Tensor, ""]:
        """Lambda times the mean square of a word's representation, summed over words, averaged over commands.

        The end marker counts, noise does not.
        """
        rows, inside = self._rows(words, lengths)
        squares = self.primitive.square().mean(dim=1) + self.function.square().mean(dim=1)
        return self.strength * (F.embedding(rows, squares[:, None])[..., 0] * inside).sum() / len(words)

    def _rows(self, words: Words, lengths: Lengths) -> tuple[Int[Tensor, "B W"], Bool[Tensor, "B W"]]:
        """Each position's row in the embeddings, without <SOS>, and which positions are words."""
        rows = self.word_rows[words[:, 1:]]
        if rows.shape[1] > PLACES:
            raise UsageError(
                f"{rows.shape[1]} words with the end, this network has {PLACES} positions; trim them"
            )
        return rows, torch.arange(rows.shape[1], device=rows.device) < lengths[:, None] - 1

    def draw_noise(self, batch: int, words: int, steps: int, generator: torch.Generator) -> Noise:
        """Standard normal noise for each word's primitive and function."""
        sizes = {"primitive": self.primitive.shape[1], "function": self.function.shape[1]}
        return {
            name: torch.randn(batch, words, size, generator=generator, device=generator.device)
            for name, size in sizes.items()
        }


def loss(logits: Logits, actions: Actions) -> Float[Tensor, ""]:
    """Cross-entropy, summed over a command's actions and averaged over commands, without the penalty."""
    total = F.cross_entropy(
        logits.flatten(0, 1), actions.flatten(), ignore_index=tasks.NO_ACTION, reduction="sum"
    )
    return total / len(actions)
