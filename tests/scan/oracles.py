"""SCAN's meaning and the networks' forward passes once more: slow, one command at a time, no torch.

Written from the rules and formulas. Weights come as a dict of float64 arrays: those of Russin et al. and Li et al.
under the names and in the layout of their released codes, others under our modules' names, where those of a
bidirectional network have its directions on the first axis, forward first. `noise` holds one command's rows. Words
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
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def linear(p, name, x):
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def joined(one, other):
    return np.concatenate([one, other], axis=-1)


def masked(x, noise, name, first=0):
    """Times the mask of this name, from its row `first` on, if there is one."""
    return x * noise[name][first : first + len(x)] if name in noise else x


def recurrent(p, name, way=None):
    """W, U, b and d of a recurrent cell, or of one of its directions; PyTorch's own LSTM names those by endings."""
    names = [f"{name}.{part}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    if names[0] not in p:
        return [p[each + ("_l0", "_l0_reverse")[way]] for each in names]
    return [p[each] if way is None else p[each][way] for each in names]


def lstm_step(gates, c):
    i, f, g, o = np.split(gates, 4)
    c = sigma(f) * c + sigma(i) * np.tanh(g)
    return sigma(o) * np.tanh(c), c


def lstm_cell(p, name, x, h, c, way=None):
    """PyTorch's LSTM: i, f, g, o."""
    w, u, b, d = recurrent(p, name, way)
    return lstm_step(w @ x + b + u @ h + d, c)


def both_ways(step, forwards, backwards, *start):
    """Run `step(way, x, *state)`: h of both directions at each word, and each entry's last values, joined."""
    hidden, lasts = [], []
    for way, xs in enumerate((forwards, backwards[::-1])):
        state, found = start, []
        for x in xs:
            state = step(way, x, *state)
            found.append(state[0])
        hidden.append(np.array(found[::-1] if way else found))
        lasts.append(state)
    return *hidden, [joined(*pair) for pair in zip(*lasts, strict=True)]


# ------------------------------------------------------------------------------------- Syntactic Attention


def bilstm(p, name, forwards, backwards):
    """States of both directions, each at its word; and both last states, joined."""
    zeros = np.zeros(recurrent(p, name, 0)[1].shape[-1])
    ahead, back, (final, _) = both_ways(
        lambda way, x, h, c: lstm_cell(p, name, x, h, c, way), forwards, backwards, zeros, zeros
    )
    return ahead, back, final


def surround(p, ahead, back, ends):
    """Equation 2: the state before and the state after each word; outermost what the ends have."""
    nothing = 0 * ahead[:1]
    around = joined(np.concatenate([nothing, ahead[:-1]]), np.concatenate([back[1:], nothing]))
    if ends != "neighbour":
        around[[0, -1]] = 0
    if ends == "learned":
        around[0], around[-1] = p["encoder.SOS_embed.weight"], p["encoder.EOS_embed.weight"]
    return around


def syntactic_attention(p, words, actions, noise, surrounding="between", ends="learned", **form):
    """Facts, section 2, for the numbers of one command: logits, attention weights, roles and meanings."""
    m = masked(p["encoder.W_m.weight"][words], noise, "meaning")
    x = masked((np.eye(16) if "one_hot" in form else p["encoder.W_x.weight"])[words], noise, "word")
    if "sequential_semantics" in form:
        m = joined(*bilstm(p, "encoder.semantic_rnn", m, m)[:2])
    ahead, back, _ = bilstm(p, "encoder.rnn1", x, x)
    if surrounding == "top":
        ahead, back, final = bilstm(p, "encoder.rnn2", ahead, back)
        roles = surround(p, ahead, back, ends)
    else:
        context = surround(p, ahead, back, ends)
        ahead, back, final = bilstm(p, "encoder.rnn2", context, context)
        roles = joined(ahead, back)
    s = relu(linear(p, "encoder.fc0", final))
    state = 0 * s, 0 * s
    logits, attention = [], []
    for _ in actions:
        alpha = softmax(roles @ s)  # Eqs. 4 and 5
        d, context = alpha @ m, alpha @ roles  # Eq. 3
        if "nonlinear_semantics" in form:
            d = relu(linear(p, "decoder.sem_nn", relu(d)))
        logits.append(linear(p, "decoder.out", joined(d, context) if "syntax_action" in form else d))
        attention.append(alpha)
        s, _ = state = lstm_cell(p, "decoder.rnn", context, *state, way=0)  # Eq. 6
    return np.array(logits), np.array(attention), roles, m


# ------------------------------------------------------------------------------------------ Bastings et al.


def gru_step(p, name, x, h, way=None):
    """PyTorch's GRU: r, z, n."""
    w, u, b, d = recurrent(p, name, way)
    (r, z, n), (from_r, from_z, from_n) = np.split(w @ x + b[0], 3), np.split(u @ h + d[0], 3)
    update = sigma(z + from_z)
    return (1 - update) * np.tanh(n + sigma(r + from_r) * from_n) + update * h


def gru(p, words, actions, noise):
    x = masked(p["word.weight"][words], noise, "words")[1:]
    zeros = np.zeros(len(p["bridge.bias"]))
    ahead, back, (last,) = both_ways(lambda way, x, h: (gru_step(p, "encoder", x, h, way),), x, x, zeros)
    memory, h, features = joined(ahead, back), np.tanh(linear(p, "bridge", last)), []
    y = p.get("action.weight", np.zeros((8, 0)))
    for before in [0 * y[0], *y[actions[:-1]]]:
        energies = np.tanh(p["query.weight"] @ h + memory @ p["key.weight"].T) @ p["energy.weight"][0]
        context = softmax(energies) @ memory
        h = gru_step(p, "decoder", joined(before, context), h)
        features.append(np.concatenate([before, h, context]))
    features = masked(np.array(features), noise, "output")
    return (features @ p["before_logits.weight"].T @ p["logits.weight"].T,)


# ------------------------------------------------------------------------------------------------ Li et al.


def li_rows(words):
    """Row 0 is the end, 8 among ours; <SOS>, ours 0, has none."""
    return [0 if word == 8 else word - (word > 8) for word in words[1:]]


def basic_lstm(p, name, x, h, c):
    """TensorFlow's: one kernel for [x; h], gates i, j, f, o, and 1 added to the forget gate."""
    name = f"generate_attention/{name}/basic_lstm_cell"
    i, j, f, o = np.split(joined(x, h) @ p[f"{name}/kernel"] + p[f"{name}/bias"], 4)
    return lstm_step(np.concatenate([i, f + 1, j, o]), c)


def li(p, words, actions, noise):
    rows, n = li_rows(words), len(words) - 1
    primitives, functions = p["word_embeddings/Variable"][rows], p["word_embeddings/Variable_1"][rows]
    if noise:
        primitives = primitives + noise["primitive"][1 : len(words)]
        functions = functions + noise["function"][1 : len(words)]
    key = p["generate_attention/memory_layer/kernel"]
    zeros, wrapper = np.zeros(len(key) // 2), "decoder/attention_wrapper"
    ahead, back, (h, c) = both_ways(
        lambda way, x, h, c: basic_lstm(p, f"bidirectional_rnn/{('fw', 'bw')[way]}", x, h, c),
        functions,
        functions,
        *(zeros, zeros),
    )
    memory, (h, c), attended, logits = joined(ahead, back), (c, h), 0 * h, []  # exchanged
    for _ in actions:
        h, c = basic_lstm(p, wrapper, joined([0.0], attended), h, c)
        context = softmax(memory @ key @ h) @ memory
        attended = joined(h, context) @ p[f"generate_attention/{wrapper}/attention_layer/kernel"]
        weights = softmax(dense(p, "generate_attention/attention_network", attended)[:n])
        found = dense(p, "prediction/prediction_network", weights @ primitives)
        logits.append([np.finfo(float).min, *found])
    return (np.array(logits),)


def dense(p, name, x):
    return x @ p[f"{name}/dense/kernel"] + p[f"{name}/dense/bias"]


def li_penalty(p, commands, strength):
    tables = p["word_embeddings/Variable"], p["word_embeddings/Variable_1"]
    squares = (np.mean(table[row] ** 2) for words in commands for row in li_rows(words) for table in tables)
    return strength * sum(squares) / len(commands)


# ---------------------------------------------------------------------------------------- Dessì and Baroni


def normed(p, name, x):
    """A linear layer with weight normalization."""
    v, g = p[f"{name}.v"], p[f"{name}.g"]
    return x @ (g[:, None] * v / np.sqrt((v**2).sum(axis=1, keepdims=True))).T + p[f"{name}.bias"]


def glu_convolution(p, name, xs, before):
    size, out = len(xs[0]), []
    kernel = p[f"{name}.v"].shape[1] // size
    for t in range(len(xs)):
        places = range(t - before, t - before + kernel)
        window = [xs[s] if 0 <= s < len(xs) else np.zeros(size) for s in places]
        a, b = np.split(normed(p, name, np.concatenate(window)), 2)
        out.append(a * sigma(b))
    return np.array(out)


def cnn(p, words, actions, noise):
    half, n, layers = np.sqrt(0.5), len(words) - 1, 0
    while f"encoder.{layers}.convolution.g" in p:
        layers += 1
    kernel = p["encoder.0.convolution.v"].shape[1] // p["word.weight"].shape[1]
    source = masked(p["word.weight"][words[1:]] + p["word_place.weight"][:n], noise, "words", 1)
    xs = normed(p, "encoder_first", source)
    for k in range(layers):
        dropped = masked(xs, noise, f"encoder_{k}", 1)
        xs = (glu_convolution(p, f"encoder.{k}.convolution", dropped, (kernel - 1) // 2) + xs) * half
    keys = normed(p, "encoder_last", xs)
    values = (keys + source) * half
    target = p["action.weight"][[END, *actions[:-1]]] + p["action_place.weight"][: len(actions)]
    target = masked(target, noise, "actions")
    xs = normed(p, "decoder_first", target)
    for k in range(layers):
        dropped = masked(xs, noise, f"decoder_{k}")
        new = glu_convolution(p, f"decoder.{k}.convolution", dropped, kernel - 1)
        query = (normed(p, f"decoder.{k}.query", new) + target) * half
        found = np.sqrt(n) * softmax(query @ keys.T) @ values
        new = (normed(p, f"decoder.{k}.result", found) + new) * half
        xs = (new + xs) * half
    return (normed(p, "logits", masked(normed(p, "decoder_last", xs), noise, "output")),)


# ----------------------------------------------------------------------------------------------------- Lake


def meta_encode(p, name, symbols):
    xs = p[f"{name}.symbol.weight"][symbols]
    xs = joined(*bilstm(p, f"{name}.lower", xs, xs)[:2])
    ahead, back, last = bilstm(p, f"{name}.upper", xs, xs)
    return ahead + back, sum(np.split(last, 2))


def meta(p, support, words, actions):
    """`support`: pairs (words, actions)."""
    keys = np.array([meta_encode(p, "commands", shown[1:])[1] for shown, _ in support])
    values = np.array([meta_encode(p, "answers", answer)[1] for _, answer in support])
    states, _ = meta_encode(p, "commands", words[1:])
    root = np.sqrt(keys.shape[1])
    retrieved = softmax(states @ keys.T / root) @ values
    contexts = np.tanh(linear(p, "context", joined(states, retrieved)))
    lower = upper = contexts[-1], contexts[-1]
    logits = []
    for before in [START, *actions[:-1]]:
        lower = lstm_cell(p, "decoder.0", p["action.weight"][before], *lower)
        upper = lstm_cell(p, "decoder.1", lower[0], *upper)
        retrieved = softmax(contexts @ upper[0] / root) @ contexts
        hidden = np.tanh(linear(p, "joined", joined(upper[0], retrieved)))
        logits.append(linear(p, "logits", hidden))
    return np.array(logits)
