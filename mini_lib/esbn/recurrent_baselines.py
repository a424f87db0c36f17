"""Recurrent baselines: the LSTM (A.3.4), the Neural Turing Machine (A.3.5), Metalearned Neural Memory (A.3.6).

In shapes B are problems, T steps, D features, H hidden units, C classes; N rows of memory of V numbers.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.esbn.network import Lengths, SequenceNetwork, check_integers
from mini_lib.layers import LSTMCell, check_sequences, initialize_, linear, rnn_uniform_

ROWS = 10  # N, of the NTM's memory matrix
EPSILON = 1e-8  # in its cosine


class LSTM(SequenceNetwork):
    """An LSTM over the T embeddings; the answer is read from its last hidden state.

    >>> LSTM(features=8, classes=2)(torch.randn(5, 9, 8), lengths=torch.tensor([9, 1, 2, 3, 4])).shape
    torch.Size([5, 2])
    """

    def __init__(self, features: int = 128, classes: int = 4, hidden: int = 512):
        super().__init__(features, classes=classes, hidden=hidden)
        self.lstm = LSTMCell(features, hidden)
        self.answer = linear(hidden, classes, "xavier")

    def states(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B T H"]:
        """The hidden state after each step."""
        check_sequences(z, None, self)
        state, hidden = self.lstm.initial_state(z), []
        for projected in self.lstm.project(z).unbind(dim=1):
            state = self.lstm.step(projected, state)
            hidden.append(state[0])
        return torch.stack(hidden, dim=1)

    def forward(self, z: Float[Tensor, "B T D"], lengths: Lengths = None) -> Float[Tensor, "B C"]:
        """Logits of each problem, of which only the first `lengths` steps count, if given."""
        hidden = self.states(z)
        if lengths is None:
            return self.answer(hidden[:, -1])
        check_integers("lengths", lengths, (len(z),), 1, z.shape[1])
        return self.answer(hidden[torch.arange(len(z), device=z.device), lengths - 1])


class Head(nn.Module):
    """The address of one of the NTM's heads: weights over the N rows of memory M.

    w = softmax(b cos(k, M_n)), by content; w <- g w + (1 - g) w_last; w_n <- s_0 w_{n+1} + s_1 w_n + s_2 w_{n-1},
    around the ends; w <- w^y / sum w^y. Key k, strength b, gate g, shift s and sharpening y come from the state h.
    """

    def __init__(self, hidden: int, row_size: int):
        super().__init__()
        self.key = linear(hidden, row_size, "xavier_tanh")
        self.strength = linear(hidden, 1, "kaiming")
        self.gate = linear(hidden, 1, "xavier")
        self.shift = linear(hidden, 3, "xavier")
        self.sharpen = linear(hidden, 1, "kaiming")

    def forward(
        self, h: Float[Tensor, "B H"], memory: Float[Tensor, "B N V"], last: Float[Tensor, "B N"] | None
    ) -> Float[Tensor, "B N"]:
        """The address, given the last one, if there is one."""
        least = max(EPSILON, torch.finfo(h.dtype).tiny)  # half precision has no 1e-8
        key = F.normalize(torch.tanh(self.key(h)), dim=1, eps=least)  # k / |k|: [B, V]
        cosine = (F.normalize(memory, dim=2, eps=least) @ key[:, :, None])[:, :, 0]  # [B, N]
        w = (F.softplus(self.strength(h)) * cosine).softmax(dim=1)
        if last is not None:
            gate = torch.sigmoid(self.gate(h))
            w = gate * w + (1 - gate) * last
        before, same, after = self.shift(h).softmax(dim=1).split(1, dim=1)
        w = before * w.roll(-1, dims=1) + same * w + after * w.roll(1, dims=1)
        w = w ** (1 + F.softplus(self.sharpen(h)))
        return w / w.sum(dim=1, keepdim=True)


class NTM(SequenceNetwork):
    """An LSTM with a memory matrix that two heads read and write, each at its own address (Graves et al. 2014).

    A step reads r = sum_n w_n M_n, the controller's next input, then writes M_n <- M_n (1 - w_n e) + w_n a.
    At step 0 nothing is read. The answer is read after one more step without an image.
    """

    def __init__(self, features: int = 128, classes: int = 4, hidden: int = 512, row_size: int = 256):
        super().__init__(features, classes=classes, hidden=hidden, row_size=row_size)
        self.controller = LSTMCell(features + row_size, hidden)
        self.read_head = Head(hidden, row_size)
        self.write_head = Head(hidden, row_size)
        self.erase = linear(hidden, row_size, "xavier")
        self.add = linear(hidden, row_size, "xavier_tanh")
        self.answer = linear(hidden, classes, "xavier")
        self.memory = nn.Parameter(torch.empty(ROWS, row_size))
        initialize_(self.memory, "xavier")

    def _logits(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        memory = self.memory.expand(len(z), -1, -1)  # M: [B, N, V]
        state, read = self.controller.initial_state(z), z.new_zeros(len(z), memory.shape[2])
        w_read = w_write = None
        for t, image in enumerate(z.unbind(dim=1)):
            state = self.controller(torch.cat([image, read], dim=1), state)  # h and the cell: [B, H] each
            h = state[0]
            if t > 0:
                w_read = self.read_head(h, memory, w_read)  # [B, N]
                read = (w_read[:, None] @ memory)[:, 0]  # r: [B, V]
            w_write = self.write_head(h, memory, w_write)
            erase, add = torch.sigmoid(self.erase(h)), torch.tanh(self.add(h))  # e, a: [B, V]
            w = w_write[:, :, None]  # [B, N, 1]
            memory = memory * (1 - w * erase[:, None]) + w * add[:, None]
        last_input = torch.cat([torch.zeros_like(z[:, 0]), read], dim=1)
        return self.answer(self.controller(last_input, state)[0])


class MNM(SequenceNetwork):
    """An LSTM whose memory is a network m, rewritten at each step by a learned local rule (Munkhdalai et al. 2019).

    m(k) = W_3 tanh(W_2 tanh(W_1 k)). A step outputs a key k_w, a value v_w and a rate b, and moves every layer to a
    target, e = split(A v_w): W_l <- W_l - b (2/D) (a_l - e_l) x_l', with x_l the layer's input and a_l its output
    (after the tanh) for k_w. It then reads v = m(k_r). The answer is read after one more step without an image.
    Every problem starts from the same W_l, never trained. The rewritten matrices are never formed, which makes an
    update 2.8 times faster: W_l x = W_l,start x + sum_j u_j (x_j . x), one term per write.

    All sizes are D. The meta loss, mean square of m(k_w) - v_w after a write, is added to the task's:

    >>> network, z = MNM(features=8, classes=2), torch.randn(5, 9, 8)
    >>> logits, meta_loss = network.forward_with_loss(z)
    >>> (F.cross_entropy(logits, torch.arange(5) % 2) + meta_loss).backward()
    >>> logits.shape, meta_loss.shape
    (torch.Size([5, 2]), torch.Size([]))
    """

    def __init__(self, features: int = 128, classes: int = 4):
        super().__init__(features, classes=classes)
        self.controller = LSTMCell(2 * features, features)
        rnn_uniform_(self.controller, features)
        self.heads = nn.Linear(features, 4 * features)
        self.rate = nn.Linear(features, 1)
        self.targets = nn.Linear(features, 3 * features)
        self.output = nn.Linear(2 * features, features)
        self.answer = nn.Linear(features, classes)
        for layer in (1, 2, 3):
            start = torch.empty(features, features).uniform_(-(features**-0.5), features**-0.5)
            self.register_buffer(f"memory{layer}", start)

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """Logits of each problem."""
        return self.forward_with_loss(z)[0]

    def forward_with_loss(self, z: Float[Tensor, "B T D"]) -> tuple[Float[Tensor, "B C"], Float[Tensor, ""]]:
        """Logits, and the meta loss: summed over the T + 1 steps, divided by T."""
        check_sequences(z, None, self)
        batch, length, size = z.shape
        from_image, from_read = self.controller.weight_ih.split([size, size], dim=1)
        bias = self.controller.bias_ih + self.controller.bias_hh
        images = torch.cat([z, torch.zeros_like(z[:, :1])], dim=1)  # and a step without one: [B, T + 1, D]
        images = F.linear(images, from_image, bias)  # their part of the LSTM's gates: [B, T + 1, 4D]
        state, read = self.controller.initial_state(z), z.new_zeros(batch, size)
        nothing = z.new_zeros(batch, 0, size)
        writes, losses = [(nothing, nothing)] * 3, []  # of each layer all u_j and x_j: [B, J, D] each
        for image in images.unbind(dim=1):
            state = self.controller.step(image + F.linear(read, from_read), state)  # h and cell: [B, D] each
            heads = torch.tanh(self.heads(state[0]))  # [B, 4D]
            rate_features, key, value, read_key = heads.chunk(4, dim=-1)  # [B, D] each
            step = (-2 / size) * torch.sigmoid(self.rate(rate_features))[:, None]  # -b (2/D): [B, 1, 1]
            layers = self._recall(key[:, None], writes)
            targets = self.targets(value)[:, None].chunk(3, dim=-1)
            writes = [  # W_l <- W_l - b (2/D) (a_l - e_l) x_l', as one more term
                (torch.cat([u, step * (a - e)], dim=1), torch.cat([inputs, x], dim=1))
                for (u, inputs), (x, a), e in zip(writes, layers, targets, strict=True)
            ]
            keys = torch.stack([key, read_key], dim=1)  # [B, 2, D]
            written, read = self._recall(keys, writes)[-1][1].unbind(dim=1)  # m(k_w), to be v_w; v = m(k_r)
            losses.append((written - value).square().mean())
        output = self.output(torch.cat([state[0], read], dim=-1))
        return self.answer(output), torch.stack(losses).sum() / length

    def _recall(self, x: Float[Tensor, "B keys D"], writes: list) -> list[tuple[Tensor, Tensor]]:
        """Input x_l and output a_l of the memory's three layers for the keys x, after the writes so far."""
        layers = []
        for start, (u, inputs) in zip((self.memory1, self.memory2, self.memory3), writes, strict=True):
            a = F.linear(x, start) + (x @ inputs.mT) @ u
            layers.append((x, a if len(layers) == 2 else torch.tanh(a)))
            x = layers[-1][1]
        return layers
