"""Slow numpy forward passes of the compared networks, one command at a time, written from the facts; no torch.

Weights come as a dict of float64 arrays. `noise` holds one command's rows. Words have <SOS> and <EOS>, no padding.
"""

import numpy as np

START, END = 0, 3  # of actions


def sigma(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


def times(x, noise, name, place):
    return x * noise[name][place] if name in noise else x


# ------------------------------------------------------------------------------------------ Bastings et al.


def gru_step(p, name, x, h, copy=None):
    """PyTorch's GRU: r, z, n."""
    w, u, b, d = (p[f"{name}.{part}"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    if copy is not None:
        w, u, b, d = w[copy], u[copy], b[copy], d[copy]
    b, d, n = b[0], d[0], len(h)
    reset = sigma(w[:n] @ x + b[:n] + u[:n] @ h + d[:n])
    update = sigma(w[n : 2 * n] @ x + b[n : 2 * n] + u[n : 2 * n] @ h + d[n : 2 * n])
    new = np.tanh(w[2 * n :] @ x + b[2 * n :] + reset * (u[2 * n :] @ h + d[2 * n :]))
    return (1 - update) * new + update * h


def gru(p, words, actions, noise):
    size = p["bridge.bias"].shape[0]
    x = [times(p["word.weight"][word], noise, "words", j) for j, word in enumerate(words)][1:]
    states = {}
    for copy, order in ((0, range(len(x))), (1, reversed(range(len(x))))):
        h = np.zeros(size)
        for j in order:
            h = states[copy, j] = gru_step(p, "encoder", x[j], h, copy)
    memory = [np.concatenate([states[0, j], states[1, j]]) for j in range(len(x))]
    finals = np.concatenate([states[0, len(x) - 1], states[1, 0]])
    h = np.tanh(p["bridge.weight"] @ finals + p["bridge.bias"])
    logits = []
    for i in range(len(actions)):
        last = np.zeros(0)
        if "action.weight" in p:
            last = np.zeros(p["action.weight"].shape[1]) if i == 0 else p["action.weight"][actions[i - 1]]
        hidden = [np.tanh(p["query.weight"] @ h + p["key.weight"] @ m) for m in memory]
        alpha = softmax(np.array([(p["energy.weight"] @ each)[0] for each in hidden]))
        context = sum(a * m for a, m in zip(alpha, memory, strict=True))
        h = gru_step(p, "decoder", np.concatenate([last, context]), h)
        seen = times(np.concatenate([last, h, context]), noise, "output", i)
        logits.append(p["logits.weight"] @ (p["before_logits.weight"] @ seen))
    return np.array(logits)


# ------------------------------------------------------------------------------------------------ Li et al.


def li_row(word_id):
    """Row 0 is the end; ours is 8, and <SOS> 0."""
    return 0 if word_id == 8 else (word_id if word_id < 8 else word_id - 1)


def basic_lstm(kernel, bias, x, h, c):
    """TensorFlow's: one kernel for [x; h], 1 added to the forget gate."""
    i, f, g, o = np.split(kernel @ np.concatenate([x, h]) + bias, 4)
    c = sigma(f + 1) * c + sigma(i) * np.tanh(g)
    return sigma(o) * np.tanh(c), c


def li_representation(p, name, words, noise, sigma_noise=1.0):
    table = p.get(name, p["primitive"])
    clean = [table[li_row(word)] for word in words[1:]]
    if name not in noise:
        return clean
    return [row + sigma_noise * noise[name][j + 1] for j, row in enumerate(clean)]


def li(p, words, actions, noise, swapped=True):
    half = p["encoder_kernel"].shape[1] // 4
    primitives = li_representation(p, "primitive", words, noise)
    functions = li_representation(p, "function", words, noise)
    places, states, last = len(functions), {}, {}
    for copy, order in ((0, range(places)), (1, reversed(range(places)))):
        h = c = np.zeros(half)
        for j in order:
            h, c = basic_lstm(p["encoder_kernel"][copy], p["encoder_bias"][copy, 0], functions[j], h, c)
            states[copy, j] = h
        last[copy] = h, c
    memory = [np.concatenate([states[0, j], states[1, j]]) for j in range(places)]
    h, c = (np.concatenate([last[0][k], last[1][k]]) for k in (0, 1))
    if swapped:
        h, c = c, h
    attended, logits = np.zeros(2 * half), []
    for i in range(len(actions)):
        given = np.zeros(1)
        if "last_action" in p:
            given = p["last_action"][(actions[i - 1] if i > 0 else END) - 1]
        h, c = basic_lstm(p["decoder_kernel"], p["decoder_bias"], np.concatenate([given, attended]), h, c)
        alpha = softmax(np.array([h @ (p["key"] @ m) for m in memory]))
        context = sum(a * m for a, m in zip(alpha, memory, strict=True))
        attended = p["attended"] @ np.concatenate([h, context])
        scores = np.exp(p["place"] @ attended + p["place_bias"])[:places]
        value = sum(w * r for w, r in zip(scores / scores.sum(), primitives, strict=True))
        logits.append([-1e9, *(p["action"] @ value + p["action_bias"])])
    return np.array(logits)


def li_penalty(p, commands, strength, names=("primitive", "function")):
    total = 0.0
    for words in commands:
        for name in names:
            total += sum(np.mean(row**2) for row in li_representation(p, name, words, {}))
    return strength * total / len(commands)


# ---------------------------------------------------------------------------------------- Dessì and Baroni


def normed(p, name, x):
    """Weight normalisation, one row at a time."""
    rows = [g * v / np.sqrt((v**2).sum()) for g, v in zip(p[f"{name}.g"], p[f"{name}.v"], strict=True)]
    return np.array([row @ x for row in rows]) + p[f"{name}.bias"]


def glu_convolution(p, name, xs, before):
    size = len(xs[0])
    kernel, out = p[f"{name}.v"].shape[1] // size, []
    for t in range(len(xs)):
        window = [
            xs[s] if 0 <= s < len(xs) else np.zeros(size) for s in range(t - before, t - before + kernel)
        ]
        a, b = np.split(normed(p, name, np.concatenate(window)), 2)
        out.append(a * sigma(b))
    return out


def cnn(p, words, actions, noise):
    half, n, layers = np.sqrt(0.5), len(words) - 1, 0
    while f"encoder.{layers}.convolution.g" in p:
        layers += 1
    kernel = p["encoder.0.convolution.v"].shape[1] // p["word.weight"].shape[1]
    source = [p["word.weight"][words[j + 1]] + p["word_place.weight"][j] for j in range(n)]
    source = [times(x, noise, "words", j + 1) for j, x in enumerate(source)]
    xs = [normed(p, "encoder_first", x) for x in source]
    for k in range(layers):
        dropped = [times(x, noise, f"encoder_{k}", j + 1) for j, x in enumerate(xs)]
        new = glu_convolution(p, f"encoder.{k}.convolution", dropped, (kernel - 1) // 2)
        xs = [(a + b) * half for a, b in zip(new, xs, strict=True)]
    keys = [normed(p, "encoder_last", x) for x in xs]
    values = [(key + x) * half for key, x in zip(keys, source, strict=True)]
    before = [END, *actions[:-1]]
    target = [p["action.weight"][a] + p["action_place.weight"][i] for i, a in enumerate(before)]
    target = [times(x, noise, "actions", i) for i, x in enumerate(target)]
    xs = [normed(p, "decoder_first", x) for x in target]
    for k in range(layers):
        dropped = [times(x, noise, f"decoder_{k}", i) for i, x in enumerate(xs)]
        new = glu_convolution(p, f"decoder.{k}.convolution", dropped, kernel - 1)
        for i, x in enumerate(new):
            query = (normed(p, f"decoder.{k}.query", x) + target[i]) * half
            alpha = softmax(np.array([query @ key for key in keys]))
            found = np.sqrt(n) * sum(a * value for a, value in zip(alpha, values, strict=True))
            new[i] = (normed(p, f"decoder.{k}.result", found) + x) * half
        xs = [(a + b) * half for a, b in zip(new, xs, strict=True)]
    xs = [times(normed(p, "decoder_last", x), noise, "output", i) for i, x in enumerate(xs)]
    return np.array([normed(p, "logits", x) for x in xs])


# ----------------------------------------------------------------------------------------------------- Lake


def lstm(p, name, x, h, c, copy=None):
    """PyTorch's LSTM: i, f, g, o."""
    w, u, b, d = (p[f"{name}.{part}"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    if copy is not None:
        w, u, b, d = w[copy], u[copy], b[copy], d[copy]
    i, f, g, o = np.split(w @ x + b + u @ h + d, 4)
    c = sigma(f) * c + sigma(i) * np.tanh(g)
    return sigma(o) * np.tanh(c), c


def bilstm(p, name, xs):
    size, out, last = p[f"{name}.weight_hh"].shape[-1], {}, []
    for copy, order in ((0, range(len(xs))), (1, reversed(range(len(xs))))):
        h = c = np.zeros(size)
        for j in order:
            h, c = lstm(p, name, xs[j], h, c, copy)
            out[copy, j] = h
        last.append(h)
    return [(out[0, j], out[1, j]) for j in range(len(xs))], last


def meta_encode(p, name, symbols, noise, noise_name):
    xs = [times(p[f"{name}.symbol.weight"][s], noise, noise_name, j) for j, s in enumerate(symbols)]
    lower, _ = bilstm(p, f"{name}.lower", xs)
    xs = [times(np.concatenate(both), noise, f"{noise_name}_between", j) for j, both in enumerate(lower)]
    upper, last = bilstm(p, f"{name}.upper", xs)
    return [a + b for a, b in upper], last[0] + last[1]


def look_up(query, keys, values):
    alpha = softmax(np.array([query @ key for key in keys]) / np.sqrt(len(query)))
    return sum(a * value for a, value in zip(alpha, values, strict=True))


def meta(p, support, words, actions, noise, support_noise):
    """`support`: pairs (words, actions), `support_noise`: the masks of each."""
    keys, values = [], []
    for (shown, answer), mask in zip(support, support_noise, strict=True):
        keys.append(meta_encode(p, "commands", shown[1:], mask, "support_words")[1])
        values.append(meta_encode(p, "answers", answer, mask, "support_actions")[1])
    states, _ = meta_encode(p, "commands", words[1:], noise, "query_words")
    contexts = []
    for s in states:
        both = np.concatenate([s, look_up(s, keys, values)])
        contexts.append(np.tanh(p["context.weight"] @ both + p["context.bias"]))
    layers, logits = [(contexts[-1], contexts[-1])] * 2, []
    for i in range(len(actions)):
        x = times(p["action.weight"][actions[i - 1] if i else START], noise, "actions", i)
        layers[0] = lstm(p, "decoder.0", x, *layers[0])
        layers[1] = lstm(p, "decoder.1", times(layers[0][0], noise, "actions_between", i), *layers[1])
        both = np.concatenate([layers[1][0], look_up(layers[1][0], contexts, contexts)])
        hidden = np.tanh(p["joined.weight"] @ both + p["joined.bias"])
        logits.append(p["logits.weight"] @ hidden + p["logits.bias"])
    return np.array(logits)
