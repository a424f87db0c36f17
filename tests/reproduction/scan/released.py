"""The released networks, written anew from the authors' codes: names, shapes and functions.

Syntactic Attention is `SynAttnEncoder` and `SynAttnDecoder` of SyntacticAttention.py. The graph of Li et al. is that
of `RandRegModel` in extended_model.py, on top of simple_model.py; `li_shapes` says which function makes what.
"""

import numpy as np
import torch
from scan.oracles import sigma, softmax
from torch import nn


class Encoder(nn.Module):
    """Of one command; the modules have the names that they have in the authors' code."""

    def __init__(self, sequential):
        super().__init__()
        self.W_m, self.W_x = nn.Embedding(16, 120), nn.Embedding(16, 100)
        self.SOS_embed, self.EOS_embed = nn.Embedding(1, 200), nn.Embedding(1, 200)
        self.rnn1 = nn.LSTM(100, 100, bidirectional=True)
        self.rnn2 = nn.LSTM(200, 200, bidirectional=True)
        self.semantic_rnn = nn.LSTM(120, 60, bidirectional=True) if sequential else None
        self.fc0 = nn.Linear(400, 400)

    def forward(self, command):
        m = self.W_m(command)[:, None]
        if self.semantic_rnn is not None:
            m, _ = self.semantic_rnn(m)
        states, _ = self.rnn1(self.W_x(command)[:, None])
        first, last = self.SOS_embed.weight[0], self.EOS_embed.weight[0]
        context = [first]
        for j in range(1, len(command) - 1):
            context.append(torch.cat([states[j - 1, 0, :100], states[j + 1, 0, 100:]]))
        h, (final, _) = self.rnn2(torch.stack([*context, last])[:, None])
        return m[:, 0], h[:, 0], torch.relu(self.fc0(torch.cat([final[0, 0], final[1, 0]])))


class Decoder(nn.Module):
    """No action goes in; the attention of the first step is the encoder's, the state starts at zero."""

    def __init__(self, syntax_action, nonlinear):
        super().__init__()
        self.syntax_action = syntax_action
        self.rnn = nn.LSTM(400, 400)
        self.sem_nn = nn.Linear(120, 120) if nonlinear else None
        self.out = nn.Linear(520 if syntax_action else 120, 8)

    def forward(self, m, h, query, steps):
        state, logits = None, []
        for _ in range(steps):
            alpha = torch.softmax(h @ query, dim=0)
            d, c = alpha @ m, alpha @ h
            if self.sem_nn is not None:
                d = torch.relu(self.sem_nn(torch.relu(d)))
            logits.append(self.out(torch.cat([d, c]) if self.syntax_action else d))
            output, state = self.rnn(c[None, None], state)
            query = output[0, 0]
        return torch.stack(logits)


class Released(nn.Module):
    def __init__(self, sequential_semantics=False, syntax_action=False, nonlinear_semantics=False):
        super().__init__()
        self.encoder = Encoder(sequential_semantics)
        self.decoder = Decoder(syntax_action, nonlinear_semantics)

    def forward(self, command, steps):
        return self.decoder(*self.encoder(command), steps)


def released(**options):
    """A network of the authors', all of whose parts are busy: the first weights of nn.Linear are small."""
    torch.manual_seed(3)
    network = Released(**options)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if "rnn" in name or "fc0" in name:
                weight *= 3
    return network


THEIR_WORDS = ("turn", "after", "left", "jump", "thrice", "run", "and", "opposite", "walk", "right")
THEIR_WORDS += ("around", "look", "twice")
THEIR_ACTIONS = ("LOOK", "LEFT", "JUMP", "WALK", "RIGHT", "RUN")
SCOPE, LSTM = "generate_attention", "basic_lstm_cell"
FW, BW = (f"{SCOPE}/bidirectional_rnn/{way}/{LSTM}" for way in ("fw", "bw"))
WRAPPER = f"{SCOPE}/decoder/attention_wrapper"
PLACES, ANSWER = f"{SCOPE}/attention_network/dense", "prediction/prediction_network/dense"
N = 10


def li_shapes(single=False, primitive=16, function=8):
    """Names and shapes of the graph's trainable variables: kernels are [inputs, outputs].

    `single` is --single_representation (ours has none), the sizes --embedding_size and --function_embedding_size. A
    `tf.Variable` without a name is "Variable", then "Variable_1", of the scope that it is made in.
    `SimpleModel.create_model` opens the scopes word_embeddings, generate_attention and prediction.
    """
    read = primitive if single else function
    return {
        # RandRegModel.get_representations: three calls of get_embeddings, the last in compute_switch
        "word_embeddings/Variable": (14, primitive),
        # made with `single` too, which then takes the first for both
        "word_embeddings/Variable_1": (14, function),
        "word_embeddings/compute_switch/Variable": (14, 1),
        # S2SModel.get_encoder_bidirectional, by tf.nn.bidirectional_dynamic_rnn
        f"{FW}/kernel": (read + 32, 4 * 32),
        f"{FW}/bias": (4 * 32,),
        f"{BW}/kernel": (read + 32, 4 * 32),
        f"{BW}/bias": (4 * 32,),
        # S2SAttentionModel.get_decoder_cell: LuongAttention, which makes its layer at once ...
        f"{SCOPE}/memory_layer/kernel": (64, 64),
        # ... and AttentionWrapper, which makes its parts in the scope "decoder" of dynamic_decode
        f"{WRAPPER}/{LSTM}/kernel": (1 + 64 + 64, 4 * 64),
        f"{WRAPPER}/{LSTM}/bias": (4 * 64,),
        f"{WRAPPER}/attention_layer/kernel": (128, 64),
        # S2SModel.attention_generation: ff, of one layer, in the scope attention_network
        f"{PLACES}/kernel": (64, N),
        f"{PLACES}/bias": (N,),
        # SimpleModel.create_model: ff once more, in the scope prediction_network
        f"{ANSWER}/kernel": (primitive, 7),
        f"{ANSWER}/bias": (7,),
    }


def li_variables(**options):
    rng = np.random.default_rng(4)
    return {
        f"{name}:0": rng.normal(size=shape) * (1 if "Variable" in name else shape[0] ** -0.5)
        for name, shape in li_shapes(**options).items()
    }


def basic_lstm(v, scope, x, c, h):
    """A step of TensorFlow's BasicLSTMCell: gates i, j, f, o in one kernel, 1 is added to the forget gate's."""
    i, j, f, o = np.split(np.concatenate([x, h]) @ v[f"{scope}/kernel:0"] + v[f"{scope}/bias:0"], 4)
    c = c * sigma(f + 1) + sigma(i) * np.tanh(j)
    return c, np.tanh(c) * sigma(o)


def li_encoder(v, x):
    """Outputs of both directions side by side, and the final (c, h) of each."""
    outputs, finals = [], []
    for scope, words in ((FW, x), (BW, x[::-1])):
        c, h, states = np.zeros(32), np.zeros(32), []
        for word in words:
            c, h = basic_lstm(v, scope, word, c, h)
            states.append(h)
        outputs.append(states if scope == FW else states[::-1])
        finals.append((c, h))
    return np.concatenate(outputs, axis=1), finals


def li_forward(v, words, steps):
    """Logits [L, 7] of one command, in their numbers: `words` with the end, so many steps."""
    p, f = v["word_embeddings/Variable:0"][words], v["word_embeddings/Variable_1:0"][words]
    memory, ((c_fw, h_fw), (c_bw, h_bw)) = li_encoder(v, f)
    keys = memory @ v[f"{SCOPE}/memory_layer/kernel:0"]
    c, h = np.concatenate([h_fw, h_bw]), np.concatenate([c_fw, c_bw])  # exchanged, as released
    attention, logits = np.zeros(64), []
    for _ in range(steps):
        c, h = basic_lstm(v, f"{WRAPPER}/{LSTM}", np.concatenate([np.zeros(1), attention]), c, h)
        context = softmax(keys @ h) @ memory
        attention = np.concatenate([h, context]) @ v[f"{WRAPPER}/attention_layer/kernel:0"]
        places = attention @ v[f"{PLACES}/kernel:0"] + v[f"{PLACES}/bias:0"]
        weights = softmax(places[: len(words)])
        logits.append(weights @ p @ v[f"{ANSWER}/kernel:0"] + v[f"{ANSWER}/bias:0"])
    return np.array(logits)
