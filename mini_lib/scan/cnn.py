"""A convolutional sequence-to-sequence network (Dessì and Baroni 2019; Gehring et al. 2017).

The form is `fconv` of fairseq 0.6.0, with which the numbers of Table 1 were made.

Symbols: k_j is the key of word j, x_i the decoder's vector of step i, q_i its query, alpha_ij its attention weight
on word j. B commands, T words, L steps, D features.
"""

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


class Normed(nn.Module):
    """A linear layer with weight normalization (Salimans and Kingma 2016): W_o = g_o v_o / |v_o|, then W x + b.

    Also a convolution: its input is then a window of positions, all features of the first one first. v starts with
    the variance spread / inputs, g = |v| and b = 0. PyTorch's parametrization of this name cannot be pickled.
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
    """Convolution and gated linear unit, with attention to the encoder if `attends`."""

    def __init__(self, dim: int, kernel: int, dropout: float, attends: bool):
        super().__init__()
        self.kernel = int(kernel)
        self.convolution = Normed(kernel * dim, 2 * dim, 4 * (1 - dropout))
        self.query = Normed(dim, dim) if attends else None
        self.result = Normed(dim, dim) if attends else None

    def convolve(self, x: Float[Tensor, "B T D"], before: int) -> Float[Tensor, "B T D"]:
        """GLU over a window that starts `before` steps earlier."""
        padded = F.pad(x, (0, 0, before, self.kernel - 1 - before))
        windows = torch.cat([padded[:, k : k + x.shape[1]] for k in range(self.kernel)], dim=-1)
        return F.glu(self.convolution(windows), dim=-1)


class CNN(Module):
    """Stacked gated convolutions encode, causal ones with attention in every layer decode.

    Called like `SyntacticAttention`. Encoder: x = dropout(word + position) goes through a linear layer; in each
    layer, x <- (glu(conv(dropout(x))) + x) sqrt(1/2), windows centered; a linear layer gives the keys k_j. Values
    are (k_j + the input embedding) sqrt(1/2). The gradient of k is divided by twice the number of attention layers.

    Decoder, over <EOS> y_1 ... y_{L-1}: the same with windows that end at their own position, and between unit and
    residual the attention q_i = (W x_i + the target embedding) sqrt(1/2), alpha_ij = softmax_j q_i . k_j,
    x_i <- (W (sqrt(n) sum_j alpha_ij value_j) + x_i) sqrt(1/2), n being the number of words. Then a linear layer,
    dropout, and the layer of the logits.

    Words lose their <SOS>. `dim` is D, `kernel` the positions in a window (of an even window one more lies to the
    right), `layers` those of the encoder and those of the decoder. Dropout is on embeddings, before each convolution
    and before the logits.

    Example:
        >>> from mini_lib.scan import CNN, encode
        >>> network, examples = CNN(dim=8, kernel=3, layers=2), encode(["jump twice", "walk"])
        >>> loss(network(*examples.tensors), examples.actions).backward()  # teacher forcing
        >>> network.eval().predict(examples.words, examples.lengths, steps=9).shape
        torch.Size([2, 9])
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
        self.encoder = nn.ModuleList(Layer(dim, kernel, dropout, attends=False) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(dim, kernel, dropout, attends=True) for _ in range(layers))
        self.encoder_first, self.encoder_last = Normed(dim, dim, 1 - dropout), Normed(dim, dim)
        self.decoder_first, self.decoder_last = Normed(dim, dim, 1 - dropout), Normed(dim, dim)
        self.logits = Normed(dim, actions, 1 - dropout)

    def forward(self, words: Words, lengths: Lengths, actions: Actions, noise: Noise | None = None) -> Logits:
        """Logits, with the right last actions as input."""
        check_batch(self, words, lengths, actions)
        noise = noise_or_draw(self, noise, words.device, *words.shape, actions.shape[1])
        last = F.pad(actions[:, :-1], (1, 0), value=tasks.END)
        return self.decode(last, *self.encode(words, lengths, noise), noise)

    @torch.no_grad()
    def predict(self, words: Words, lengths: Lengths, steps: int) -> Actions:
        """The most probable actions, with the network's own last ones as input."""
        check_batch(self, words, lengths, steps=steps)
        encoded = self.encode(words, lengths, {})
        actions = torch.full_like(words[:, :1], tasks.END)
        for _ in range(steps):
            now = self.decode(actions, *encoded, {})[:, -1:].argmax(dim=-1)
            actions = torch.cat([actions, now], dim=1)
        return actions[:, 1:]

    def encode(
        self, words: Words, lengths: Lengths, noise: Noise
    ) -> tuple[Float[Tensor, "B W D"], Float[Tensor, "B W D"], Bool[Tensor, "B W"]]:
        """Keys and values of the W = T - 1 positions after <SOS>, and which of them are words."""
        noise = {name: mask[:, 1:] for name, mask in noise.items()}
        words = words[:, 1:]
        inside = torch.arange(words.shape[1], device=words.device) < lengths[:, None] - 1
        embedded = self.word(words) + self.word_place.weight[: words.shape[1]]
        embedded = apply_mask(embedded, noise, "words")
        x = self.encoder_first(embedded)
        for number, layer in enumerate(self.encoder):
            dropped = apply_mask(x * inside[..., None], noise, f"encoder_{number}")
            x = (layer.convolve(dropped, before=(layer.kernel - 1) // 2) + x) * HALF  # [B, W, D]
        keys = _scale_gradient(self.encoder_last(x), 1 / (2 * len(self.decoder)))
        return keys, (keys + embedded) * HALF, inside

    def decode(
        self,
        last: Actions,
        keys: Float[Tensor, "B W D"],
        values: Float[Tensor, "B W D"],
        inside: Bool[Tensor, "B W"],
        noise: Noise,
    ) -> Logits:
        """The logits after each of these last actions."""
        embedded = self.action(last) + self.action_place.weight[: last.shape[1]]
        embedded = apply_mask(embedded, noise, "actions")
        root = inside.sum(dim=1)[:, None, None].to(keys.dtype).sqrt()
        x = self.decoder_first(embedded)
        for number, layer in enumerate(self.decoder):
            new = layer.convolve(
                apply_mask(x, noise, f"decoder_{number}"), before=layer.kernel - 1
            )  # [B, L, D]
            query = (layer.query(new) + embedded) * HALF  # q_i [B, L, D]
            scores = (query @ keys.mT).masked_fill(~inside[:, None], -torch.inf)  # [B, L, W]
            attention = scores.softmax(dim=-1)  # alpha_ij [B, L, W]
            new = (layer.result(attention @ values * root) + new) * HALF
            x = (new + x) * HALF
        return self.logits(apply_mask(self.decoder_last(x), noise, "output"))

    def draw_noise(self, batch: int, words: int, steps: int, generator: torch.Generator) -> Noise:
        """Dropout masks of embeddings, of each layer's input, and of the features of the logits."""
        layers = range(len(self.decoder))
        places = dict.fromkeys(["words", *(f"encoder_{number}" for number in layers)], words)
        places |= dict.fromkeys(["actions", *(f"decoder_{number}" for number in layers), "output"], steps)
        sizes = {name: (batch, count, self.dim) for name, count in places.items()}
        return dropout_masks(sizes, self.dropout, generator)


def loss(logits: Logits, actions: Actions) -> Float[Tensor, ""]:
    """Cross-entropy, averaged over all actions of the batch; that of meta-seq2seq, too."""
    return F.cross_entropy(logits.flatten(0, 1), actions.flatten(), ignore_index=NO_ACTION)


def _scale_gradient(x: Tensor, factor: float) -> Tensor:
    """Return x; its gradient is multiplied by `factor`."""
    return x * factor + (x * (1 - factor)).detach()


def _embedding(rows: int, features: int) -> nn.Embedding:
    table = nn.Embedding(rows, features)
    nn.init.normal_(table.weight, std=0.1)
    return table
