"""Primitives and functions under noise (Li, Zhao, Wang and Hestness 2019), the released code's model `rand_reg`."""

import math
from numbers import Real

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_positive_int
from mini_lib.layers import lstm_step
from mini_lib.module import Module, Noise, noise_or_draw
from mini_lib.scan import tasks
from mini_lib.scan.recurrent import both_directions
from mini_lib.scan.tasks import Actions, Lengths, Logits, Words, check_batch

PLACES = tasks.MAX_WORDS - 1  # N: a command's words and its end, without <SOS>
FORGET_BIAS = 1.0


def glorot_uniform(*shape: int) -> nn.Parameter:
    """Matrices [..., outputs, inputs], uniform up to sqrt(6 / (inputs + outputs)) (Glorot and Bengio 2010)."""
    bound = math.sqrt(6 / sum(shape[-2:]))
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))


class LiNetwork(Module):
    """Function embeddings place the attention, primitive embeddings are attended to.

    Called like `SyntacticAttention`; in training `penalty` is added to `loss`. Each word has a primitive p (k_p
    features) and a function f (k_f). Both get standard normal noise, drawn for every position, and the penalty on
    their squares, so they carry little.

    Function stream: a bidirectional LSTM of H/2 units per direction reads f; m_j are its states. The decoder LSTM
    starts with h and c exchanged: h_0 is the encoder's last c, and c_0 its last h. Step t reads [0; a_{t-1}],
    attends with alpha_t = softmax_j h_t . (W_k m_j), and makes a_t = W_a [h_t; sum_j alpha_tj m_j]. A linear layer
    of a_t gives a logit for each of N = 10 absolute positions; w_t is their softmax over those that hold words.
    Primitive stream: logits_t = W sum_j w_tj p_j + b. <SOS> is no action of theirs: it has the lowest logit.

    `primitive` is k_p, `function` k_f, `units` H, `strength` lambda, of the penalty.

    >>> from mini_lib.scan.tasks import encode
    >>> LiNetwork()(*encode(["jump twice", "walk"]).tensors).shape
    torch.Size([2, 3, 8])
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
        if words not in (tasks.WORD_COUNT, tasks.WORD_COUNT + 1):
            raise UsageError("words of this network are SCAN's, 16, or 17 with a verb of your own")
        if not isinstance(strength, Real) or not 0 <= strength < torch.inf:
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
        rows = torch.tensor(real).cumsum(dim=0) * torch.tensor(real)
        self.register_buffer("word_rows", rows, persistent=False)

    def forward(self, words: Words, lengths: Lengths, actions: Actions, noise: Noise | None = None) -> Logits:
        """Logits; of `actions` only the number of steps counts. A command has 10 positions at most."""
        check_batch(self, words, lengths, actions)
        noise = noise_or_draw(self, noise, words.device, *words.shape, actions.shape[1])
        return self.logits(words, lengths, actions.shape[1], noise)

    @torch.no_grad()
    def predict(self, words: Words, lengths: Lengths, steps: int) -> Actions:
        """The most probable action of each of the steps, [B, steps]."""
        check_batch(self, words, lengths, steps=steps)
        return self.logits(words, lengths, steps, {}).argmax(dim=-1)

    def logits(self, words: Words, lengths: Lengths, steps: int, noise: Noise) -> Logits:
        """Both streams."""
        rows, inside = self._rows(words, lengths)
        p = self._embed("primitive", rows, noise)  # p_j [B, W, k_p]
        f = self._embed("function", rows, noise)  # f_j [B, W, k_f]
        bias = self.place.new_zeros(inside.shape).masked_fill(~inside, -torch.inf)  # [B, W]

        half, zeros = self.units // 2, f.new_zeros(2, len(f), self.units // 2)
        from_f, from_h = self.encoder_kernel.split([f.shape[-1], half], dim=-1)

        def step(gates: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
            return lstm_step(gates + h @ from_h.mT, c, FORGET_BIAS)

        # m_j [B, W, H], and the exchange: the released code fills a pair (c, h) as (h, c).
        memory, (c, h) = both_directions(f, inside, from_f, self.encoder_bias, step, (zeros, zeros))
        keys = F.linear(memory, self.key)  # W_k m_j [B, W, H]
        a, decoded = torch.zeros_like(h), []
        for _ in range(steps):
            x = F.pad(torch.cat([a, h], dim=-1), (1, 0))  # 0 in place of the last action [B, 1 + 2H]
            gates = F.linear(x, self.decoder_kernel, self.decoder_bias)  # [B, 4H]
            h, c = lstm_step(gates, c, FORGET_BIAS)  # h_t [B, H]
            scores = (keys @ h.to(keys.dtype)[..., None])[..., 0] + bias  # [B, W]
            context = (scores.softmax(dim=-1)[:, None] @ memory)[:, 0]  # sum_j alpha_tj m_j [B, H]
            a = F.linear(torch.cat([h, context], dim=-1), self.attended)  # a_t [B, H]
            decoded.append(a)

        places = rows.shape[1]
        scores = F.linear(torch.stack(decoded, dim=1), self.place[:places], self.place_bias[:places])
        weights = (scores + bias[:, None]).softmax(dim=-1)  # w_tj [B, L, W]
        logits = F.linear(weights @ p, self.action, self.action_bias)
        return F.pad(logits, (1, 0), value=torch.finfo(logits.dtype).min)

    def penalty(self, words: Words, lengths: Lengths) -> Float[Tensor, ""]:
        """Lambda times the mean square of a word's representation, summed over words, averaged over commands."""
        rows, inside = self._rows(words, lengths)
        squares = self.primitive.square().mean(dim=1) + self.function.square().mean(dim=1)
        return self.strength * (F.embedding(rows, squares[:, None])[..., 0] * inside).sum() / len(words)

    def _embed(self, name: str, rows: Int[Tensor, "B W"], noise: Noise) -> Float[Tensor, "B W K"]:
        x = F.embedding(rows, getattr(self, name))
        return x + noise[name][:, 1 : 1 + x.shape[1]].to(x.dtype) if name in noise else x

    def _rows(self, words: Words, lengths: Lengths) -> tuple[Int[Tensor, "B W"], Bool[Tensor, "B W"]]:
        """Each position's row in the embeddings, without <SOS>, and which positions are words."""
        rows = self.word_rows[words[:, 1:]]
        if rows.shape[1] > PLACES:
            raise UsageError(f"{rows.shape[1]} words with the end; this network has {PLACES} positions")
        return rows, torch.arange(rows.shape[1], device=rows.device) < lengths[:, None] - 1

    def draw_noise(self, batch: int, words: int, steps: int, generator: torch.Generator | None) -> Noise:
        """Standard normal noise for each word's primitive and function."""
        device = generator.device if generator else None
        sizes = {"primitive": self.primitive.shape[1], "function": self.function.shape[1]}
        return {
            name: torch.randn(batch, words, k, generator=generator, device=device)
            for name, k in sizes.items()
        }


def loss(logits: Logits, actions: Actions) -> Float[Tensor, ""]:
    """Cross-entropy, summed over a command's actions and averaged over commands, without the penalty."""
    return F.cross_entropy(logits.mT, actions, ignore_index=tasks.NO_ACTION, reduction="sum") / len(actions)
