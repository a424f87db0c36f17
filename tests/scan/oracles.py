"""SCAN's meaning and the networks' forward passes once more: slow, one command at a time, no torch.

Written from the rules and formulas. Weights come as a dict of float64 arrays under our modules' names; a
bidirectional LSTM has its two directions on the first axis, forward first. `noise` holds one command's rows. Words
have <SOS> and <EOS>, no padding. Each network gives a tuple, its logits first.
"""

import numpy as np

REPEATED = {"twice": 2, "thrice": 3}
START, END = 0, 3  # of actions


def tagged(command):
    """The words of a command, each with its place."""
    return [(word, place) for place, word in enumerate(command.split())]


def meaning(tokens):
    """The actions of tagged words, each with the place of its word: rewrite until single words are left."""
    words = [word for word, _ in tokens]
    for conjunction in ("and", "after"):
        if conjunction in words:
            at = words.index(conjunction)
            first, second = meaning(tokens[:at]), meaning(tokens[at + 1 :])
            return first + second if conjunction == "and" else second + first
    if words[-1] in REPEATED:
        return meaning(tokens[:-1]) * REPEATED[words[-1]]
    if words == ["turn"]:
        return []
    if len(words) == 1:
        return [(words[0].upper(), tokens[0][1])]
    verb, direction = tokens[0], tokens[-1]
    if "around" in words:
        return meaning([verb, direction]) * 4
    if "opposite" in words:
        return meaning([("turn", None), direction]) + meaning([verb, direction])
    return meaning([direction]) + meaning([verb])


def actions_of(command):
    """The actions of a command, by this second grammar."""
    return [action for action, _ in meaning(tagged(command))]


def all_commands(verbs):
    """The language as a set of strings, built from the bottom up."""
    phrases = set(verbs)
    for verb in (*verbs, "turn"):
        for direction in ("left", "right"):
            phrases |= {f"{verb} {direction}", f"{verb} opposite {direction}", f"{verb} around {direction}"}
    phrases |= {f"{phrase} {times}" for phrase in phrases for times in REPEATED}
    joined = {f"{one} {c} {other}" for one in phrases for other in phrases for c in ("and", "after")}
    return phrases | joined


def relu(x):
    return np.maximum(x, 0)


def sigma(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


def lstm_step(gates, c):
    i, f, g, o = np.split(gates, 4)
    c = sigma(f) * c + sigma(i) * np.tanh(g)
    return sigma(o) * np.tanh(c), c


def times(x, noise, name, place):
    return x * noise[name][place] if name in noise else x


def parameters(p, name, direction=None):
    found = (p[f"{name}.{part}"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    return found if direction is None else (each[direction] for each in found)


def lstm_cell(p, name, x, h, c, direction=None):
    """PyTorch's LSTM: i, f, g, o."""
    w, u, b, d = parameters(p, name, direction)
    return lstm_step(w @ x + b + u @ h + d, c)


def lstm(p, name, direction, inputs):
    """Hidden states of one direction, in the order of the inputs given."""
    h = c = np.zeros(p[f"{name}.weight_hh"].shape[-1])
    states = []
    for x in inputs:
        h, c = lstm_cell(p, name, x, h, c, direction)
        states.append(h)
    return states


def bilstm(p, name, forwards, backwards):
    """States of both directions, each at its word; and both last states, joined."""
    ahead = lstm(p, name, 0, forwards)
    back = lstm(p, name, 1, backwards[::-1])[::-1]
    return ahead, back, np.concatenate([ahead[-1], back[0]])


def surround(p, ahead, back, ends):
    """Equation 2: the state before and the state after each word; outermost what the ends have."""
    if ends == "neighbour":
        nothing = 0 * ahead[0]
        return [
            np.concatenate(pair) for pair in zip([nothing, *ahead[:-1]], [*back[1:], nothing], strict=True)
        ]
    inner = [np.concatenate([ahead[j - 1], back[j + 1]]) for j in range(1, len(ahead) - 1)]
    width = 2 * len(ahead[0])
    first, last = p["ends"] if ends == "learned" else np.zeros((2, width))
    return [first, *inner, last]


def syntax_stream(p, x, top, ends):
    """The role h_j of each word, and the first query."""
    ahead, back, _ = bilstm(p, "neighbors", x, x)
    if top:
        ahead, back, final = bilstm(p, "roles", ahead, back)
        roles = surround(p, ahead, back, ends)
    else:
        context = surround(p, ahead, back, ends)
        ahead, back, final = bilstm(p, "roles", context, context)
        roles = [np.concatenate(pair) for pair in zip(ahead, back, strict=True)]
    return roles, relu(p["first_query.weight"] @ final + p["first_query.bias"])


def syntactic_attention(
    p,
    words,
    actions,
    noise,
    *,
    sequential_semantics=False,
    syntax_action=False,
    nonlinear_semantics=False,
    one_hot=False,
    surrounding="between",
    ends="learned",
):
    """Facts, section 2, for the numbers of one command: logits, attention weights, roles and meanings."""
    m = [times(p["meaning.weight"][word], noise, "meaning", j) for j, word in enumerate(words)]
    embedding = np.eye(16) if one_hot else p["word.weight"]
    x = [times(embedding[word], noise, "word", j) for j, word in enumerate(words)]
    if sequential_semantics:
        m = [np.concatenate(pair) for pair in zip(*bilstm(p, "sequence", m, m)[:2], strict=True)]
    roles, s = syntax_stream(p, x, surrounding == "top", ends)
    h = c = np.zeros(len(s))
    logits, attention = [], []
    for _ in actions:
        alpha = softmax(np.array([s @ role for role in roles]))  # Eqs. 4 and 5
        said = sum(weight * each for weight, each in zip(alpha, m, strict=True))  # Eq. 3
        context = sum(weight * role for weight, role in zip(alpha, roles, strict=True))
        if nonlinear_semantics:
            said = relu(p["hidden.weight"] @ relu(said) + p["hidden.bias"])
        if syntax_action:
            said = np.concatenate([said, context])
        logits.append(p["action.weight"] @ said + p["action.bias"])
        attention.append(alpha)
        s, c = lstm_cell(p, "decoder", context, h, c)  # Eq. 6
        h = s
    return np.array(logits), np.array(attention), np.array(roles), np.array(m)


# ------------------------------------------------------------------------------------------ Bastings et al.


def gru_step(p, name, x, h, copy=None):
    """PyTorch's GRU: r, z, n."""
    w, u, b, d = parameters(p, name, copy)
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
    return (np.array(logits),)


# ------------------------------------------------------------------------------------------------ Li et al.


def li_row(word_id):
    """Row 0 is the end; ours is 8, and <SOS> 0."""
    return 0 if word_id == 8 else (word_id if word_id < 8 else word_id - 1)


def basic_lstm(kernel, bias, x, h, c):
    """TensorFlow's: one kernel for [x; h], 1 added to the forget gate."""
    i, f, g, o = np.split(kernel @ np.concatenate([x, h]) + bias, 4)
    c = sigma(f + 1) * c + sigma(i) * np.tanh(g)
    return sigma(o) * np.tanh(c), c


def li_representation(p, name, words, noise):
    table = p.get(name, p["primitive"])
    clean = [table[li_row(word)] for word in words[1:]]
    if name not in noise:
        return clean
    return [row + noise[name][j + 1] for j, row in enumerate(clean)]


def li(p, words, actions, noise):
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
    c, h = (np.concatenate([last[0][k], last[1][k]]) for k in (0, 1))  # exchanged
    attended, logits = np.zeros(2 * half), []
    for _ in range(len(actions)):
        given = np.concatenate([np.zeros(1), attended])
        h, c = basic_lstm(p["decoder_kernel"], p["decoder_bias"], given, h, c)
        alpha = softmax(np.array([h @ (p["key"] @ m) for m in memory]))
        context = sum(a * m for a, m in zip(alpha, memory, strict=True))
        attended = p["attended"] @ np.concatenate([h, context])
        scores = np.exp(p["place"] @ attended + p["place_bias"])[:places]
        value = sum(w * r for w, r in zip(scores / scores.sum(), primitives, strict=True))
        logits.append([np.finfo(float).min, *(p["action"] @ value + p["action_bias"])])
    return (np.array(logits),)


def li_penalty(p, commands, strength):
    total = 0.0
    for words in commands:
        for name in ("primitive", "function"):
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
    return (np.array([normed(p, "logits", x) for x in xs]),)


# ----------------------------------------------------------------------------------------------------- Lake


def meta_encode(p, name, symbols):
    xs = [p[f"{name}.symbol.weight"][s] for s in symbols]
    xs = [np.concatenate(both) for both in zip(*bilstm(p, f"{name}.lower", xs, xs)[:2], strict=True)]
    ahead, back, last = bilstm(p, f"{name}.upper", xs, xs)
    return [a + b for a, b in zip(ahead, back, strict=True)], sum(np.split(last, 2))


def look_up(query, keys, values):
    alpha = softmax(np.array([query @ key for key in keys]) / np.sqrt(len(query)))
    return sum(a * value for a, value in zip(alpha, values, strict=True))


def meta(p, support, words, actions):
    """`support`: pairs (words, actions)."""
    keys = [meta_encode(p, "commands", shown[1:])[1] for shown, _ in support]
    values = [meta_encode(p, "answers", answer)[1] for _, answer in support]
    contexts = []
    for s in meta_encode(p, "commands", words[1:])[0]:
        both = np.concatenate([s, look_up(s, keys, values)])
        contexts.append(np.tanh(p["context.weight"] @ both + p["context.bias"]))
    layers, logits = [(contexts[-1], contexts[-1])] * 2, []
    for i in range(len(actions)):
        x = p["action.weight"][actions[i - 1] if i else START]
        layers[0] = lstm_cell(p, "decoder.0", x, *layers[0])
        layers[1] = lstm_cell(p, "decoder.1", layers[0][0], *layers[1])
        both = np.concatenate([layers[1][0], look_up(layers[1][0], contexts, contexts)])
        hidden = np.tanh(p["joined.weight"] @ both + p["joined.bias"])
        logits.append(p["logits.weight"] @ hidden + p["logits.bias"])
    return np.array(logits)
