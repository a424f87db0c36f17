"""Slow numpy forward passes of the study's own mechanisms, one problem at a time, from the formulas; no torch."""

import numpy as np
from esbn.oracles import fc, layer_norm, lstm_step, relu, softmax


def queries_and_keys(p, z):
    """Of a learned relation, of one whose two maps are one, and of the things themselves."""
    if "query.weight" not in p:
        return z, z
    maps = p["query.weight"], p.get("key.weight", p["query.weight"])
    return tuple(np.stack([each @ x for x in z]) for each in maps)


def corelnet(p, z, content):
    queries, keys = queries_and_keys(p, z)
    seen = [x for t in range(len(z)) for x in softmax(np.array([queries[t] @ keys[j] for j in range(t + 1)]))]
    hidden = fc(p, "hidden", np.array(seen))
    if content:
        hidden = hidden + p["from_content.weight"] @ z.ravel()
    return fc(p, "answer", relu(hidden))


def abstractor(p, z, heads, content):
    symbols = p["symbols"]
    queries, keys = queries_and_keys(p, z)
    width, size = queries.shape[1] // heads, symbols.shape[1] // heads
    states = []
    for t in range(len(z)):
        message = []
        for h in range(heads):
            span, part = slice(h * width, (h + 1) * width), slice(h * size, (h + 1) * size)
            relation = softmax(np.array([queries[t, span] @ key[span] for key in keys]) / np.sqrt(width))
            values = [
                fc(p, "value", symbol + other if content else symbol)
                for symbol, other in zip(symbols, z, strict=True)
            ]
            message += [*sum(r * value[part] for r, value in zip(relation, values, strict=True))]
        state = layer_norm(p, "norm1", symbols[t] + fc(p, "out", np.array(message)))
        states.append(layer_norm(p, "norm2", state + fc(p, "contract", relu(fc(p, "expand", state)))))
    return fc(p, "answer", relu(fc(p, "hidden", np.concatenate(states))))


def differences(p, z, transformer):
    """`transformer` computes the answer of the ESBN paper's Transformer, given its input."""
    pairs = [(j, i) for j in range(len(z)) for i in range(j)]
    shown = [p["read.weight"] @ (z[j] - z[i]) for j, i in pairs]
    if "from_content.weight" in p:
        shown = [each + p["from_content.weight"] @ z[i] for each, (_, i) in zip(shown, pairs, strict=True)]
    return transformer(np.stack(shown))


def kanerva(p, z):
    R, V = p["means"][0], np.eye(p["means"].shape[2])
    noise = (np.log1p(np.exp(p["noise"][0])) + 0.05) ** 2
    known = []
    for code in z:
        w = np.linalg.solve(R.T @ R + 0.35 * np.eye(len(V)), R.T @ code)
        answer, variance = R @ w, w @ V @ w + noise
        size = (code**2).mean() + 1e-6
        known += [((code - answer) ** 2).mean() / size, (answer**2).mean() / size, variance]
        R = R + np.outer(code - answer, V @ w) / variance
        V = V - np.outer(V @ w, V @ w) / variance
    return fc(p, "answer", relu(fc(p, "hidden", np.array(known))))


def lstm(p, direction, inputs):
    own = {name: value[direction] for name, value in p.items() if name.startswith("roles.")}
    h = c = np.zeros(own["roles.weight_hh"].shape[1])
    out = []
    for x in inputs:
        h, c = lstm_step(own, "roles", "", x, h, c)
        out.append(h)
    return out


def pointer(p, z, places):
    forwards, backwards = lstm(p, 0, z), lstm(p, 1, z[::-1])
    roles = [np.concatenate(pair) for pair in zip(forwards, backwards[::-1], strict=True)]
    query = relu(fc(p, "first_query", np.concatenate([forwards[-1], backwards[-1]])))
    scores = np.array([query @ role for role in roles])
    if places:
        return scores[list(places)]
    found = sum(a * (p["meaning.weight"] @ each) for a, each in zip(softmax(scores), z, strict=True))
    return fc(p, "answer", found)
