"""Slow numpy forward passes of both transformers, one token pair at a time, written from the formulas; no torch.

Weights come as a dict of float64 arrays under the names of our networks' parameters.
"""

from typing import NamedTuple

import numpy as np


class Token(NamedTuple):
    places: tuple[int, ...]
    value: float
    query: bool


def sigma(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def fc(p, name, x):
    return p[f"{name}.weight"] @ x + p[f"{name}.bias"]


def layer_norm(p, name, x):
    centred = x - x.mean()
    return centred / np.sqrt((centred**2).mean() + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def factor(distance, a, b):
    """Facts, section 3: the ratio form."""
    return (1 - sigma(distance / b - a)) / (1 - sigma(-a))


def one_d_tokens(y):
    return [Token((i,), value, False) for i, value in enumerate(y, 1)] + [Token((len(y) + 1,), 0.0, True)]


def relational_tokens(y):
    following = len(y) + 1
    inputs = [
        Token((i, j), y[j - 1] - y[i - 1], False)
        for j in range(1, following)
        for i in range(1, following)
        if i < j
    ]
    return inputs + [Token((i, following), 0.0, True) for i in range(1, following + 1)]


def sees(row, key, mask):
    """Whether a token may look at another."""
    if mask == "none":
        return True
    if key.query and not row.query:
        return False  # what was observed does not look at questions
    if key.query and key.places[-1] != row.places[-1]:
        return False  # questions about another point
    if row.query and not key.query and key.places[-1] >= row.places[-1]:
        return False  # the answer, or what comes after it
    pairs = zip(row.places, key.places, strict=True)
    return all(there < here or (mask == "causal" and there == here) for here, there in pairs)


def windowed(row, key, window):
    """A factor for each axis; `window` is (a, b), or None where there is none."""
    product = 1.0
    for here, there in zip(row.places, key.places, strict=True):
        product *= 1.0 if window is None else factor(abs(here - there), *window)
    return product


def weights_of(row, tokens, scores, window, mask, gate):
    """One row of attention: g e^s / sum g e^s, or g times the softmax; zeros if the row sees nothing."""
    weights, total = np.zeros(len(tokens)), 0.0
    for t, key in enumerate(tokens):
        if sees(row, key, mask):
            g = windowed(row, key, window)
            weights[t] = g * np.exp(scores[t])
            total += weights[t] if gate == "renormalized" else np.exp(scores[t])
    return weights / total if total > 0 else weights


def attention(p, name, tokens, x, heads, mask, gate):
    """What each token reads, all heads side by side, and the weights [H, T, T]."""
    length, dim = x.shape
    logs = [p[f"window.log_{each}"].item() for each in "ab"] if "window.log_a" in p else None
    window = logs and [np.exp(p["window.rate"] * log) for log in logs]
    size, projected = dim // heads, [fc(p, f"{name}.qkv", row) for row in x]
    read, weights = np.zeros((length, dim)), np.zeros((heads, length, length))
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        q, k, v = ([row[n * dim : (n + 1) * dim][part] for row in projected] for n in range(3))
        for s, row in enumerate(tokens):
            scores = [q[s] @ k[t] / np.sqrt(size) for t in range(length)]
            weights[head, s] = weights_of(row, tokens, scores, window, mask, gate)
            for t in range(length):
                read[s, part] += weights[head, s, t] * v[t]
    return read, weights


def block(p, layer, tokens, x, heads, mask, gate):
    name, out = f"transformer.blocks.{layer}", []
    entering = np.stack([layer_norm(p, f"{name}.norm_attention", row) for row in x])
    reads, weights = attention(p, name, tokens, entering, heads, mask, gate)
    for row, read in zip(x, reads, strict=True):
        row = row + fc(p, f"{name}.out_proj", read)
        hidden = gelu(fc(p, f"{name}.up", layer_norm(p, f"{name}.norm_perceptron", row)))
        out.append(row + fc(p, f"{name}.down", hidden))
    return np.stack(out), weights


def forward(p, y, heads, mask="strict", gate="renormalized", scale=1.0, level_hidden=False):
    """Answers to the queries about the next value of one curve, estimates of it, and attention [L][H, T, T]."""
    relational = p["read_in.weight"].shape[1] == 3
    level = y[0] if level_hidden else 0.0
    y = [value - level for value in y]
    tokens = relational_tokens(y) if relational else one_d_tokens(y)
    rows = [np.array([*(scale * place for place in token.places), token.value]) for token in tokens]
    x, kept, layer = np.stack([fc(p, "read_in", row) for row in rows]), [], 0
    while f"transformer.blocks.{layer}.up.weight" in p:
        x, weights = block(p, layer, tokens, x, heads, mask, gate)
        kept.append(weights)
        layer += 1
    x = np.stack([layer_norm(p, "transformer.final_norm", row) for row in x])
    answers = [fc(p, "read_out", row)[0] for row, token in zip(x, tokens, strict=True) if token.query]
    estimates = [z + value for z, value in zip(answers, y, strict=False)] if relational else answers
    return np.array(answers), np.array(estimates) + level, kept
