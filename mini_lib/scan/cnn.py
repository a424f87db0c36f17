"""A convolutional sequence-to-sequence network (Dessì and Baroni 2019; Gehring et al. 2017), fairseq's `fconv`."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import check_positive_int
from mini_lib.layers import check_dropout, dropout_masks
from mini_lib.module import Module, Noise, noise_or_draw
from mini_lib.scan import tasks
from mini_lib.scan.tasks import NO_ACTION, Actions, Lengths, Logits, Words, apply_mask, check_batch

PLACES = 1024  # rows of each table of positions
HALF = math.sqrt(0.5)  # keeps the variance of a sum of two
Encoded = tuple[Float[Tensor, "B W D"], Float[Tensor, "B W D"], Bool[Tensor, "B W"]]


class Normed(nn.Module):
    """A linear layer with weight normalization (Salimans and Kingma 2016): W_o = g_o v_o / norm(v_o).

    v starts with the variance spread / inputs, g as its norm and b = 0. PyTorch's parametrization cannot be pickled.
    """

    def __init__(self, inputs: int, outputs: int, spread: float = 1.0):
        super().__init__()
        self.v = nn.Parameter(torch.randn(outputs, inputs) * math.sqrt(spread / inputs))
        self.g = nn.Parameter(self.v.detach().norm(dim=1))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Float[Tensor, "*B I"]) -> Float[Tensor, "*B O"]:
        """W x + b."""
        return F.linear(x, (self.g / self.v.norm(dim=1))[:, None] * self.v, self.bias)


class Layer(nn.Module):
    """Convolution and gated linear unit over windows that start `before` steps earlier; in the decoder attention."""

    def __init__(self, dim: int, kernel: int, dropout: float, decodes: bool):
        super().__init__()
        self.kernel, self.before = int(kernel), int(kernel - 1) // (1 if decodes else 2)
        self.convolution = Normed(kernel * dim, 2 * dim, 4 * (1 - dropout))
        if decodes:
            self.query, self.result = Normed(dim, dim), Normed(dim, dim)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """The convolution of dropout(x)."""
        padded = F.pad(x, (0, 0, self.before, self.kernel - 1 - self.before))
        windows = torch.cat([padded[:, k : k + x.shape[1]] for k in range(self.kernel)], dim=-1)
        return F.glu(self.convolution(windows), dim=-1)


class CNN(Module):
    """Stacked gated convolutions encode, causal ones with attention in every layer decode.

    Called like `SyntacticAttention`. Windows of the encoder are centered, those of the decoder end at their own
    position, and it reads <EOS> and the actions before. `dim` is D, the features of everything, `kernel` the
    positions in a window, `layers` those of the encoder and those of the decoder. Dropout is on embeddings, before
    each convolution and before the logits.

    >>> from mini_lib.scan.tasks import encode
    >>> CNN(dim=8, kernel=3, layers=2)(*encode(["jump twice", "walk"]).tensors).shape  # teacher forcing
    torch.Size([2, 3, 8])
    """

    def __init__(
        self,
        dim: int = 128,
        kernel: int = 5,
        layers: int = 6,
        dropout: float = 0.25,
        words: int = tasks.WORD_COUNT,
        actions: int = tasks.ACTION_COUNT,
    ):
        super().__init__()
        check_positive_int(dim=dim, kernel=kernel, layers=layers, words=words, actions=actions)
        self.vocabulary, self.dim, self.dropout = (words, actions), dim, check_dropout(dropout)
        self.word, self.action = _embedding(words, dim), _embedding(actions, dim)
        self.word_place, self.action_place = _embedding(PLACES, dim), _embedding(PLACES, dim)
        self.encoder = nn.ModuleList(Layer(dim, kernel, dropout, decodes=False) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(dim, kernel, dropout, decodes=True) for _ in range(layers))
        self.encoder_first, self.encoder_last = Normed(dim, dim, 1 - dropout), Normed(dim, dim)
        self.decoder_first, self.decoder_last = Normed(dim, dim, 1 - dropout), Normed(dim, dim)
        self.logits = Normed(dim, actions, 1 - dropout)

    def forward(self, words: Words, lengths: Lengths, actions: Actions, noise: Noise | None = None) -> Logits:
        """Logits, with the right last actions as input."""
        check_batch(self, words, lengths, actions)
        noise = noise_or_draw(self, noise, words.device, *words.shape, actions.shape[1])
        last = F.pad(actions[:, :-1], (1, 0), value=tasks.END)
        return self.decode(last, self.encode(words, lengths, noise), noise)

    @torch.no_grad()
    def predict(self, words: Words, lengths: Lengths, steps: int) -> Actions:
        """The most probable actions, with the network's own last ones as input."""
        check_batch(self, words, lengths, steps=steps)
        encoded = self.encode(words, lengths, {})
        actions = torch.full_like(words[:, :1], tasks.END)
        for _ in range(steps):
            now = self.decode(actions, encoded, {})[:, -1:].argmax(dim=-1)
            actions = torch.cat([actions, now], dim=1)
        return actions[:, 1:]

    def encode(self, words: Words, lengths: Lengths, noise: Noise) -> Encoded:
        """Keys and values of the W = T - 1 positions after <SOS>, and which of them are words."""
        noise = {name: mask[:, 1:] for name, mask in noise.items()}
        words = words[:, 1:]
        inside = torch.arange(words.shape[1], device=words.device) < lengths[:, None] - 1
        embedded = apply_mask(self.word(words) + self.word_place.weight[: words.shape[1]], noise, "words")
        x = self.encoder_first(embedded)
        for number, layer in enumerate(self.encoder):
            dropped = apply_mask(x * inside[..., None], noise, f"encoder_{number}")
            x = (layer(dropped) + x) * HALF  # [B, W, D]
        x = self.encoder_last(x)
        keys = torch.lerp(x.detach(), x, 0.5 / len(self.decoder))  # k_j [B, W, D]: x with a smaller gradient
        return keys, (keys + embedded) * HALF, inside

    def decode(self, last: Actions, encoded: Encoded, noise: Noise) -> Logits:
        """The logits after each of these last actions."""
        keys, values, inside = encoded
        embedded = apply_mask(self.action(last) + self.action_place.weight[: last.shape[1]], noise, "actions")
        root = inside.sum(dim=1)[:, None, None].to(keys.dtype).sqrt()
        x = self.decoder_first(embedded)
        for number, layer in enumerate(self.decoder):
            new = layer(apply_mask(x, noise, f"decoder_{number}"))  # [B, L, D]
            query = (layer.query(new) + embedded) * HALF  # q_i [B, L, D]
            scores = (query @ keys.mT).masked_fill(~inside[:, None], -torch.inf)  # [B, L, W]
            attention = scores.softmax(dim=-1)  # alpha_ij [B, L, W]
            new = (layer.result(attention @ values * root) + new) * HALF
            x = (new + x) * HALF
        return self.logits(apply_mask(self.decoder_last(x), noise, "output"))

    def draw_noise(self, batch: int, words: int, steps: int, generator: torch.Generator | None) -> Noise:
        """Dropout masks of embeddings, of each layer's input, and of the features of the logits."""
        layers = range(len(self.decoder))
        places = dict.fromkeys(["words", *(f"encoder_{number}" for number in layers)], words)
        places |= dict.fromkeys(["actions", *(f"decoder_{number}" for number in layers), "output"], steps)
        sizes = {name: (batch, count, self.dim) for name, count in places.items()}
        return dropout_masks(sizes, self.dropout, generator)


def loss(logits: Logits, actions: Actions) -> Float[Tensor, ""]:
    """Cross-entropy, averaged over all actions of the batch; that of meta-seq2seq, too."""
    return F.cross_entropy(logits.flatten(0, 1), actions.flatten(), ignore_index=NO_ACTION)


def _embedding(rows: int, features: int) -> nn.Embedding:
    table = nn.Embedding(rows, features)
    nn.init.normal_(table.weight, std=0.1)
    return table
