"""Slow numpy forward passes of the study's own mechanisms, one problem at a time, from the formulas; no torch."""

import numpy as np


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


def fc(p, name, x):
    out = p[f"{name}.weight"] @ x
    return out + p[f"{name}.bias"] if f"{name}.bias" in p else out


def corelnet(p, z, content):
    seen = []
    for t in range(len(z)):
        if "maps.0.weight" in p:
            scores = [fc(p, "maps.0", z[t]) @ fc(p, "maps.1", z[j]) for j in range(t + 1)]
        else:
            scores = [z[t] @ z[j] for j in range(t + 1)]
        seen += [*softmax(np.array(scores))]
    if content:
        seen += [*z.ravel()]
    return fc(p, "answer", relu(fc(p, "hidden", np.array(seen))))


def layer_norm(p, name, x):
    centred = x - x.mean()
    return centred / np.sqrt((centred**2).mean() + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def abstractor(p, z, heads, content):
    symbols = p["symbols"]
    size = symbols.shape[1] // heads
    learned = "query.weight" in p
    states = []
    for t in range(len(z)):
        message = []
        for h in range(heads):
            if learned:
                span = slice(h * (width := len(p["query.weight"]) // heads), (h + 1) * width)
                query = fc(p, "query", z[t])[span]
                keys = [fc(p, "key", other)[span] for other in z]
            else:
                query, keys = z[t], z
            relation = softmax(np.array([query @ key for key in keys]) / np.sqrt(len(query)))
            values = [
                fc(p, "value", symbol + other if content else symbol)
                for symbol, other in zip(symbols, z, strict=True)
            ]
            message += [
                *sum(r * value[h * size : (h + 1) * size] for r, value in zip(relation, values, strict=True))
            ]
        state = layer_norm(p, "norm1", symbols[t] + fc(p, "out", np.array(message)))
        states.append(layer_norm(p, "norm2", state + fc(p, "contract", relu(fc(p, "expand", state)))))
    return fc(p, "answer", relu(fc(p, "hidden", np.concatenate(states))))


def differences(p, z, transformer):
    """`transformer` is the oracle of the ESBN paper's, given parameters under its own names."""
    pairs = [(j, i) for j in range(len(z)) for i in range(j)]
    return transformer(np.stack([p["read.weight"] @ (z[j] - z[i]) for j, i in pairs]))


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


def sigma(x):
    return 1 / (1 + np.exp(-x))


def lstm(p, direction, inputs):
    hidden = p["roles.weight_hh"].shape[2]
    h, c, out = np.zeros(hidden), np.zeros(hidden), []
    for x in inputs:
        gates = p["roles.weight_ih"][direction] @ x + p["roles.weight_hh"][direction] @ h
        gates = gates + p["roles.bias_ih"][direction] + p["roles.bias_hh"][direction]
        i, f, g, o = np.split(gates, 4)
        c = sigma(f) * c + sigma(i) * np.tanh(g)
        h = sigma(o) * np.tanh(c)
        out.append(h)
    return out


def pointer(p, z, places):
    forwards, backwards = lstm(p, 0, z), lstm(p, 1, z[::-1])
    roles = [np.concatenate(pair) for pair in zip(forwards, backwards[::-1], strict=True)]
    query = relu(fc(p, "first_query", np.concatenate([forwards[-1], backwards[-1]])))
    scores = np.array([query @ role for role in roles])
    if places:
        return scores[list(places)]
    found = sum(
        weight * (p["meaning.weight"] @ each) for weight, each in zip(softmax(scores), z, strict=True)
    )
    return fc(p, "answer", found)
