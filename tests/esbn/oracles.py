"""Slow numpy forward passes, one problem at a time, written from the formulas; no torch.

Weights come as a dict of float64 arrays under the names of the authors' released code, so that the same
functions check both our networks and the loading of theirs.
"""

import numpy as np


def relu(x):
    return np.maximum(x, 0)


def sigma(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(x))


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


def fc(p, name, x):
    out = p[f"{name}.weight"] @ x
    return out + p[f"{name}.bias"] if f"{name}.bias" in p else out


def convolve(p, name, x):
    """4x4 kernel, stride 2, one ring of zeros; x [channels, side, side]."""
    weight, bias = p[f"{name}.weight"], p[f"{name}.bias"]
    side = x.shape[1] // 2
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    out = np.zeros((len(bias), side, side))
    for row in range(side):
        for column in range(side):
            patch = padded[:, 2 * row : 2 * row + 4, 2 * column : 2 * column + 4]
            out[:, row, column] = weight.reshape(len(bias), -1) @ patch.ravel() + bias
    return out


def encode(p, kind, image):
    if kind == "conv":
        x = image[None]
        for name in ("conv1", "conv2", "conv3"):
            x = relu(convolve(p, f"encoder.{name}", x))
        layers = ("fc1", "fc2")
    else:
        x = image
        layers = {"mlp": ("fc1", "fc2", "fc3"), "rand": ("fc1",)}[kind]
    x = x.ravel()
    for name in layers:
        x = relu(fc(p, f"encoder.{name}", x))
    return x


def context_norm(z, gain, shift, windows):
    """Facts, section 2; z [T, D]."""
    out, start = np.zeros_like(z), 0
    for length in windows:
        for d in range(z.shape[1]):
            values = z[start : start + length, d]
            mean = sum(values) / length
            variance = sum((value - mean) ** 2 for value in values) / (length - 1)
            for t in range(start, start + length):
                out[t, d] = (z[t, d] - mean) / np.sqrt(variance + 1e-8) * gain[d] + shift[d]
        start += length
    return out


def lstm_step(p, name, suffix, x, h, c):
    gates = p[f"{name}.weight_ih{suffix}"] @ x + p[f"{name}.bias_ih{suffix}"]
    gates = gates + p[f"{name}.weight_hh{suffix}"] @ h + p[f"{name}.bias_hh{suffix}"]
    size = len(h)
    i, f, g, o = (gates[k * size : (k + 1) * size] for k in range(4))
    c = sigma(f) * c + sigma(i) * np.tanh(g)
    return sigma(o) * np.tanh(c), c


def esbn(p, z):
    """Algorithm 1; also both ablations, distinguished by their parameters."""
    confident, default = "confidence_gain" in p, "default_M_k" in p
    h = c = np.zeros(p["lstm.weight_hh_l0"].shape[1])
    key_read = np.zeros(p["lstm.weight_ih_l0"].shape[1])
    memory_keys = [p["default_M_k"]] if default else []
    memory_values = [p["default_M_v"]] if default else []
    for t in range(len(z) + 1):
        now = z[t] if t < len(z) else np.zeros(z.shape[1])
        h, c = lstm_step(p, "lstm", "_l0", key_read, h, c)
        key, gate = relu(fc(p, "key_w_out", h)), sigma(fc(p, "g_out", h))
        if t > 0:
            scores = np.array([np.dot(now, value) for value in memory_values])
            weights = softmax(scores)
            key_read = np.zeros_like(key_read)
            for score, weight, stored in zip(scores, weights, memory_keys, strict=True):
                if confident:
                    confidence = sigma(p["confidence_gain"] * score + p["confidence_bias"])
                    stored = np.concatenate([stored, confidence])
                key_read = key_read + gate * weight * stored
        memory_keys.append(key)
        memory_values.append(now)
    return fc(p, "y_out", h)


def lstm(p, z):
    h = c = np.zeros(p["lstm.weight_hh_l0"].shape[1])
    for now in z:
        h, c = lstm_step(p, "lstm", "_l0", now, h, c)
    return fc(p, "y_out", h)


def ntm_address(p, head, h, memory, last):
    key = np.tanh(fc(p, f"{head}_key_out", h))
    strength = softplus(fc(p, f"{head}_key_strength_out", h))
    gate = sigma(fc(p, f"{head}_interp_gate_out", h))
    shift = softmax(fc(p, f"{head}_shift_w_out", h))
    sharpen = 1 + softplus(fc(p, f"{head}_sharpen_out", h))
    cosine = [row @ key / (np.linalg.norm(row) * np.linalg.norm(key)) for row in memory]
    weights = softmax(strength * np.array(cosine))
    if last is not None:
        weights = gate * weights + (1 - gate) * last
    rows = len(memory)
    weights = np.array(
        [
            shift[0] * weights[(n + 1) % rows] + shift[1] * weights[n] + shift[2] * weights[(n - 1) % rows]
            for n in range(rows)
        ]
    )
    return weights**sharpen / (weights**sharpen).sum()


def ntm(p, z):
    h = c = np.zeros(p["lstm.weight_hh_l0"].shape[1])
    memory = p["memory_init"]
    read, read_weights, write_weights = np.zeros(memory.shape[1]), None, None
    for t in range(len(z) + 1):
        now = z[t] if t < len(z) else np.zeros(z.shape[1])
        h, c = lstm_step(p, "lstm", "_l0", np.concatenate([now, read]), h, c)
        if t > 0:
            read_weights = ntm_address(p, "read", h, memory, read_weights)
            read = sum(weight * row for weight, row in zip(read_weights, memory, strict=True))
        write_weights = ntm_address(p, "write", h, memory, write_weights)
        erase, add = sigma(fc(p, "erase_out", h)), np.tanh(fc(p, "add_out", h))
        memory = np.stack(
            [row * (1 - w * erase) + w * add for w, row in zip(write_weights, memory, strict=True)]
        )
    return fc(p, "y_out", h)


def mnm(p, z):
    """Logits and meta loss, with the three rewritten matrices spelled out."""
    size = z.shape[1]
    fast = [p[f"mnm.memfunc.l{layer}"] for layer in (1, 2, 3)]

    def layers(key):
        a1 = np.tanh(fast[0] @ key)
        a2 = np.tanh(fast[1] @ a1)
        return [a1, a2, fast[2] @ a2]

    h = c = read = np.zeros(size)
    meta = 0.0
    for t in range(len(z) + 1):
        now = z[t] if t < len(z) else np.zeros(size)
        h, c = lstm_step(p, "mnm.lstm_l1", "", np.concatenate([now, read]), h, c)
        q = np.tanh(fc(p, "mnm.heads_l2", h))
        first, key, value, key_read = (q[k * size : (k + 1) * size] for k in range(4))
        rate = sigma(fc(p, "mnm.f_l", first))
        a1, a2, a3 = layers(key)
        targets = fc(p, "mnm.memfunc.targets_net", value)
        new = []
        for layer, (x, a) in enumerate([(key, a1), (a1, a2), (a2, a3)]):
            e = targets[layer * size : (layer + 1) * size]
            new.append(fast[layer] - rate * (2 / size) * np.outer(a - e, x))
        fast[:] = new
        meta += np.mean((layers(key)[2] - value) ** 2)
        read = layers(key_read)[2]
        out = fc(p, "mnm.read_out", np.concatenate([h, read]))
    return fc(p, "y_out", out), meta / len(z)


def tagged(z):
    return [np.append(row, float(t)) for t, row in enumerate(z)]


def rn(p, z):
    total = 0
    for first in tagged(z):
        for second in tagged(z):
            hidden = relu(fc(p, "g_theta_hidden", np.concatenate([first, second])))
            total = total + relu(fc(p, "g_theta_out", hidden))
    return fc(p, "y_out", relu(fc(p, "f_phi_hidden", total)))


def trn(p, z, paper_form=False):
    u, sums = tagged(z), {}
    pairs = [(i, j) for i in range(len(z)) for j in range(i + 1, len(z))]
    triples = [(i, j, k) for i, j in pairs for k in range(j + 1, len(z))]
    for arity, tuples in ((2, pairs), (3, triples)):
        for members in tuples:
            hidden = relu(fc(p, f"g_theta_{arity}_hidden", np.concatenate([u[t] for t in members])))
            sums[arity] = sums.get(arity, 0) + relu(fc(p, f"g_theta_{arity}_out", hidden))
    if paper_form:
        sums = {arity: relu(fc(p, f"f_phi_{arity}_hidden", total)) for arity, total in sums.items()}
    return fc(p, "y_out", relu(fc(p, "f_phi_combined", sum(sums.values()))))


def layer_norm(p, name, x):
    centred = x - x.mean()
    return centred / np.sqrt((centred**2).mean() + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def transformer(p, z, final_norm=True):
    length, size = z.shape
    x = z.copy()
    for t in range(length):
        for k in range(size // 2):
            x[t, 2 * k] += np.sin(t / 10000 ** (2 * k / size))
            x[t, 2 * k + 1] += np.cos(t / 10000 ** (2 * k / size))
    name, head = "transformer_encoder.layers.0", size // 8
    weight, bias = p[f"{name}.self_attn.in_proj_weight"], p[f"{name}.self_attn.in_proj_bias"]
    q, k, v = ((x @ weight[n * size : (n + 1) * size].T + bias[n * size : (n + 1) * size]) for n in range(3))
    mixed = np.zeros_like(x)
    for first in range(0, size, head):
        part = slice(first, first + head)
        for t in range(length):
            mixed[t, part] = softmax(k[:, part] @ q[t, part] / np.sqrt(head)) @ v[:, part]
    rows = []
    for t in range(length):
        row = layer_norm(p, f"{name}.norm1", x[t] + fc(p, f"{name}.self_attn.out_proj", mixed[t]))
        fed = fc(p, f"{name}.linear2", relu(fc(p, f"{name}.linear1", row)))
        row = layer_norm(p, f"{name}.norm2", row + fed)
        rows.append(layer_norm(p, "transformer_encoder.norm", row) if final_norm else row)
    return fc(p, "y_out", relu(fc(p, "out_hidden", sum(rows) / length)))


def predinet(p, z):
    u = tagged(z)
    keys = [fc(p, "W_k", row) for row in u]
    size, reports = len(keys[0]), []
    queries = [fc(p, name, np.concatenate(u)) for name in ("W_q1", "W_q2")]
    for first in range(0, len(queries[0]), size):
        objects = []
        for query in queries:
            weights = softmax(np.array([query[first : first + size] @ key for key in keys]))
            objects.append(sum(weight * row for weight, row in zip(weights, u, strict=True)))
        one, two = objects
        reports += [*(fc(p, "W_s", one) - fc(p, "W_s", two)), one[-1], two[-1]]
    return fc(p, "y_out", relu(fc(p, "out_hidden", np.array(reports))))


CORES = {core.__name__: core for core in (esbn, lstm, ntm, mnm, rn, trn, transformer, predinet)}
CORES |= {"esbn_no_confidence": esbn, "esbn_default_memory": esbn}


def forward(p, model, encoder, windows, pool, where, **options):
    """A batch: images pool [P, 32, 32] at the places where [B, T]. Returns logits [B, C] and the extra loss."""
    embeddings = np.stack([encode(p, encoder, image) for image in pool])
    logits, extra = [], []
    for row in where:
        z = embeddings[row]
        if "gamma" in p:
            z = context_norm(z, p["gamma"], p["beta"], windows)
        out = CORES[model](p, z, **options)
        logits.append(out[0] if model == "mnm" else out)
        extra.append(out[1] if model == "mnm" else 0.0)
    return np.stack(logits), np.mean(extra)
