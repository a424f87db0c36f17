"""SCAN's meaning and Syntactic Attention's forward pass once more: slow, one command at a time, no torch.

Written from the rules and formulas. Weights come as a dict of float64 arrays under our modules' names; a
bidirectional LSTM has its two directions on the first axis, forward first.
"""

import numpy as np

REPEATED = {"twice": 2, "thrice": 3}


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


def lstm(p, name, direction, inputs):
    """Hidden states of one direction, in the order of the inputs given."""
    w, u, b, d = (p[f"{name}.{part}"][direction] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    h = c = np.zeros(u.shape[1])
    states = []
    for x in inputs:
        h, c = lstm_step(w @ x + b + u @ h + d, c)
        states.append(h)
    return states


def bilstm(p, name, forwards, backwards):
    """States of both directions, each at its word; and both last states, joined."""
    ahead = lstm(p, name, 0, forwards)
    back = lstm(p, name, 1, backwards[::-1])[::-1]
    return ahead, back, np.concatenate([ahead[-1], back[0]])


def surround(p, ahead, back, ends):
    """Equation 2: the state before and the state after each word, and the ends' own vectors outermost."""
    inner = [np.concatenate([ahead[j - 1], back[j + 1]]) for j in range(1, len(ahead) - 1)]
    width = 2 * len(ahead[0])
    first, last = p["ends"] if ends == "learned" else np.zeros((2, width))
    return [first, *inner, last]


def syntax_stream(p, x, top, ends):
    """The role h_j of each word, and the first query."""
    ahead, back, _ = bilstm(p, "neighbours", x, x)
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
    steps,
    masks=None,
    *,
    sequential_semantics=False,
    syntax_action=False,
    nonlinear_semantics=False,
    one_hot=False,
    surrounding="between",
    ends="learned",
):
    """Facts, section 2, for the numbers of one command: logits, attention weights, roles and meanings."""
    masks = masks or {}
    m = [p["meaning.weight"][word] for word in words]
    x = [np.eye(16)[word] if one_hot else p["word.weight"][word] for word in words]
    m = [a * b for a, b in zip(m, masks.get("meaning", np.ones((len(m), 1))), strict=False)]
    x = [a * b for a, b in zip(x, masks.get("word", np.ones((len(x), 1))), strict=False)]
    if sequential_semantics:
        m = [np.concatenate(pair) for pair in zip(*bilstm(p, "sequence", m, m)[:2], strict=True)]
    roles, s = syntax_stream(p, x, surrounding == "top", ends)
    h = c = np.zeros(len(s))
    logits, attention = [], []
    for _ in range(steps):
        alpha = softmax(np.array([s @ role for role in roles]))  # Eqs. 4 and 5
        said = sum(weight * each for weight, each in zip(alpha, m, strict=True))  # Eq. 3
        context = sum(weight * role for weight, role in zip(alpha, roles, strict=True))
        if nonlinear_semantics:
            said = relu(p["hidden.weight"] @ relu(said) + p["hidden.bias"])
        if syntax_action:
            said = np.concatenate([said, context])
        logits.append(p["action.weight"] @ said + p["action.bias"])
        attention.append(alpha)
        gates = p["steering.weight_ih"] @ context + p["steering.bias_ih"] + p["steering.bias_hh"]
        h, c = lstm_step(gates + p["steering.weight_hh"] @ h, c)  # Eq. 6
        s = h
    return np.array(logits), np.array(attention), np.array(roles), np.array(m)


def actions_of(command):
    """The actions of a command, by this second grammar."""
    return [action for action, _ in meaning(tagged(command))]
