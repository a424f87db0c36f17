"""A decoder-only transformer with GPT-2's layers, masked from outside (Radford et al. 2019; Garg et al. 2022)."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

# Private, as there is no public way to ask which transforms of `torch.func` one is within.
from torch._functorch.pyfunctorch import TransformType, retrieve_all_functorch_interpreters
from torch.nn import functional as F

from mini_lib.errors import UsageError, check_positive_int
from mini_lib.functions.models.window import Gate

SD = 0.02  # of initial weights, as in GPT-2

KeysValues = tuple[Float[Tensor, "B H _ E"], Float[Tensor, "B H _ E"]]  # of T tokens


class TransformerOutput(NamedTuple):
    """What a pass through all blocks gives."""

    out: Float[Tensor, "B S D"]  #: the transformed tokens.
    #: keys and values of all tokens so far, a pair for each layer; empty unless they are to be kept.
    layers: list[KeysValues]
    #: attention of each layer, each [B, H, S, T]; empty unless they are asked for.
    weights: list[Float[Tensor, "B H _ T"]]


def attention_weights(
    q: Float[Tensor, "B H S E"],
    k: Float[Tensor, "B H T E"],
    attn_bias: Float[Tensor, "..."],
    attn_scale: Float[Tensor, "..."] | None = None,
) -> Float[Tensor, "B H S T"]:
    """softmax(q k^T / sqrt(E) + attn_bias), multiplied by `attn_scale` where it is given."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores + attn_bias, dim=-1)
    return weights if attn_scale is None else weights * attn_scale


def fused_attention(
    q: Float[Tensor, "B H S E"],
    k: Float[Tensor, "B H T E"],
    v: Float[Tensor, "B H T E"],
    attn_bias: Float[Tensor, "#B #H S T"],
) -> Float[Tensor, "B H S E"]:
    """softmax(q k^T / sqrt(E) + attn_bias) v by PyTorch's kernel, in a stack of networks too.

    Without a window the kernel need not hold the weights [B, H, S, T]. With one that learns, the gradient of the
    mask is of this size; and in a stack a mask is copied for every curve, so that with own windows it is as large.
    Within `torch.func.grad`, `jvp` and whatever else is no `vmap` the formula is worked out as it is written, since
    the kernel cannot be differentiated there in every way.
    """
    transforms = {level.key() for level in retrieve_all_functorch_interpreters()}
    if transforms - {TransformType.Vmap}:
        return attention_weights(q, k, attn_bias) @ v
    read = _FusedInStack.apply(q, k, v, attn_bias) if transforms else None
    return F.scaled_dot_product_attention(q, k, v, attn_mask=attn_bias) if read is None else read


class _FusedInStack(torch.autograd.Function):
    """The kernel under `vmap`, with networks and curves as one batch; None where nothing is stacked.

    PyTorch cannot stack the kernel by itself: on a CPU there is no rule for it, and on a GPU the rule expects that a
    mask is stacked too, which is shared by networks without a window.
    """

    @staticmethod
    def forward(q: Tensor, k: Tensor, v: Tensor, attn_bias: Tensor) -> None:
        """Nothing is stacked."""

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor, ...], output: None) -> None:
        """Nothing to keep: what is differentiated is the kernel itself. PyTorch asks for this beside `vmap`."""

    @staticmethod
    def vmap(info, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        """Fold a stack's networks into the batch; a mask that all of them share is left as it is."""
        q, k, v, attn_bias = (
            x.expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)
            for x, dim in zip(inputs, in_dims, strict=True)
        )
        shared = in_dims[3] is None and len(inputs[3]) == 1
        attn_bias = attn_bias[0] if shared else attn_bias.expand(-1, q.shape[1], -1, -1, -1).flatten(0, 1)
        read = fused_attention(*(x.flatten(0, 1) for x in (q, k, v)), attn_bias)  # [networks B, H, S, E]
        return read.unflatten(0, (info.batch_size, -1)), 0


class Block(nn.Module):
    """Attention of H heads of E = D / H features, and a two-layer perceptron.

    Each comes after a layer normalisation, and is added to what comes in.
    """

    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_perceptron = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out_proj = nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(
        self,
        x: Float[Tensor, "B S D"],
        gate: Gate,
        past: KeysValues | None = None,
        last: int | None = None,
        trace: bool = False,
    ) -> tuple[Float[Tensor, "B R D"], KeysValues, Float[Tensor, "B H R T"] | None]:
        """The tokens after this block, keys and values of all tokens, and, if traced, the attention weights.

        `gate` is of this layer, for the wanted tokens and the keys, those of `past` first; nobody sees tokens at the
        end that are not among its keys. Wanted are the `last` so many tokens, or all.
        """
        q, k, v = self.project(self.norm_attention(x))  # [B, H, S, E] each
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)  # [B, H, T, E]
        if last is not None:
            x, q = x[:, -last:], q[:, :, -last:]
        keys, values = (each[:, :, : gate.attn_bias.shape[-1]] for each in (k, v))
        scale = gate.attn_scale
        factor_of_each_key = scale is not None and scale.shape[-1] != 1  # the kernel has no place for it
        if trace or factor_of_each_key:
            weights = attention_weights(q, keys, *gate)  # [B, H, R, T]
            read = weights @ values  # [B, H, R, E]
        else:
            read = fused_attention(q, keys, values, gate.attn_bias)
            read = read if scale is None else read * scale
        x = x + self.out_proj(read.transpose(1, 2).flatten(2))  # [B, R, D]
        x = x + self.down(F.gelu(self.up(self.norm_perceptron(x)), approximate="tanh"))
        return x, (k, v), weights if trace else None

    def project(self, x: Float[Tensor, "B S D"]) -> tuple[Float[Tensor, "B H S E"], ...]:
        """Queries, keys and values of every head."""
        parts = self.qkv(x).chunk(3, dim=-1)
        return tuple(part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)


class Transformer(nn.Module):
    """Blocks of D features and H heads; which token sees which is given from outside, and positions have no code.

    Weights start as in GPT-2: normal with standard deviation 0.02, those that write into the residual stream smaller
    by sqrt(2 layers), biases zero.
    """

    def __init__(self, dim: int = 256, layers: int = 12, heads: int = 8):
        super().__init__()
        check_positive_int(dim=dim, layers=layers, heads=heads)
        if dim % heads:
            raise UsageError(f"heads has to divide dim; {heads} heads do not divide {dim} features")
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.final_norm = nn.LayerNorm(dim)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """GPT-2's initial weights."""
        for block in self.blocks:
            for layer in (block.qkv, block.out_proj, block.up, block.down):
                writes = layer in (block.out_proj, block.down)
                nn.init.normal_(layer.weight, std=SD / math.sqrt(2 * len(self.blocks)) if writes else SD)
                nn.init.zeros_(layer.bias)

    def forward(
        self,
        x: Float[Tensor, "B S D"],
        gate: Gate,
        past: list[KeysValues] | None = None,
        last: int | None = None,
        keep: bool = False,
        trace: bool = False,
    ) -> TransformerOutput:
        """Pass embedded tokens through all blocks; `gate` is for them and the keys, those of `past` first.

        Tokens at the end that are not among its keys are seen by nobody.

        If only the `last` so many tokens are wanted, the last block works out no others.
        """
        gate = Gate(*(part if part is None else part.to(x.dtype) for part in gate))
        layers, attention = [], []
        for number, block in enumerate(self.blocks):
            own, wanted = gate.of_layer(number), None
            if last is not None and number == len(self.blocks) - 1:
                own, wanted = own.last(last), last
            x, keys_values, weights = block(x, own, None if past is None else past[number], wanted, trace)
            layers.append(keys_values)
            attention.append(weights)
        return TransformerOutput(self.final_norm(x), layers if keep else [], attention if trace else [])
