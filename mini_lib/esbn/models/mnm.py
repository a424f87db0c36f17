"""The Metalearned Neural Memory baseline (Munkhdalai et al. 2019, "MNM-p"; A.3.6 of the ESBN paper)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import check_positive_int
from mini_lib.layers import LSTMCell, check_sequences


class MNM(nn.Module):
    """An LSTM whose memory is a small network m, rewritten at each step by a learned local rule.

    m(k) = W_3 tanh(W_2 tanh(W_1 k)). A step asks for a key k_w, a value v_w and a rate b, and moves every
    layer towards a target of its own, e = split(A v_w): W_l <- W_l - b (2/D) (a_l - e_l) x_l', with x_l what
    the layer got and a_l what it gave (after the tanh) for k_w. It then reads v = m(k_r). The answer comes
    after one more step without an image. The meta loss asks that m, once rewritten, gives v_w for k_w.

    Every problem starts from the same W_l, which are drawn at construction and never trained. The rewritten
    matrices are never formed: W_l x = W_l,start x + sum_j u_j (x_j . x), one term per write so far.

    All sizes are D. As in the authors' code the initialisation is PyTorch's default, U(+-1/sqrt(fan in)). A loop of
    one's own adds the meta loss:

    >>> from torch.nn import functional as F
    >>> network, z = MNM(features=8, classes=2), torch.randn(5, 9, 8)
    >>> logits, meta_loss = network.forward_with_loss(z)
    >>> (F.cross_entropy(logits, torch.arange(5) % 2) + meta_loss).backward()
    >>> logits.shape, meta_loss.shape
    (torch.Size([5, 2]), torch.Size([]))
    """

    def __init__(self, features: int = 128, classes: int = 4):
        super().__init__()
        check_positive_int(features=features, classes=classes)
        self.features = features
        self.controller = LSTMCell(2 * features, features)
        for parameter in self.controller.parameters():
            nn.init.uniform_(parameter, -(features**-0.5), features**-0.5)
        self.heads = nn.Linear(features, 4 * features)
        self.rate = nn.Linear(features, 1)
        self.targets = nn.Linear(features, 3 * features)
        self.output = nn.Linear(2 * features, features)
        self.answer = nn.Linear(features, classes)
        for layer in (1, 2, 3):
            start = torch.empty(features, features).uniform_(-(features**-0.5), features**-0.5)
            self.register_buffer(f"memory{layer}", start)

    def forward(self, z: Float[Tensor, "B T D"]) -> Float[Tensor, "B C"]:
        """The answer to each problem, as logits."""
        return self.forward_with_loss(z)[0]

    def forward_with_loss(self, z: Float[Tensor, "B T D"]) -> tuple[Float[Tensor, "B C"], Float[Tensor, ""]]:
        """The answers, and the meta loss: mean square of m(k_w) - v_w, summed over T + 1 steps, over T."""
        check_sequences(z, None, self)
        batch, length, size = z.shape
        from_image, from_read = self.controller.weight_ih.split([size, size], dim=1)
        bias = self.controller.bias_ih + self.controller.bias_hh
        images = torch.cat([z, torch.zeros_like(z[:, :1])], dim=1)  # and a step without one: [B, T + 1, D]
        images = F.linear(images, from_image, bias)  # their share of the LSTM's gates: [B, T + 1, 4D]
        state, read = self.controller.initial_state(z), z.new_zeros(batch, size)
        writes, losses = [None, None, None], []
        for image in images.unbind(dim=1):
            state = self.controller.step(image + F.linear(read, from_read), state)  # h and cell: [B, D] each
            heads = torch.tanh(self.heads(state[0]))  # [B, 4D]
            rate_features, key, value, read_key = heads.chunk(4, dim=-1)  # [B, D] each
            rate = torch.sigmoid(self.rate(rate_features))  # b: [B, 1]
            writes = self._rewrite(writes, key, value, rate)  # W_l <- W_l - b (2/D) (a_l - e_l) x_l'
            keys = torch.stack([key, read_key], dim=1)  # [B, 2, D]
            written, read = self._recall(keys, writes)[-1].unbind(dim=1)  # m(k_w), to be v_w; v = m(k_r)
            losses.append((written - value).square().mean())
        output = self.output(torch.cat([state[0], read], dim=-1))
        return self.answer(output), torch.stack(losses).sum() / length

    def _recall(self, x: Float[Tensor, "B keys D"], writes: list) -> list[Float[Tensor, "B keys D"]]:
        """What each of the memory's layers gives for the keys x, with the writes so far."""
        outputs = []
        for start, write in zip((self.memory1, self.memory2, self.memory3), writes, strict=True):
            x = torch.tanh(x) if outputs else x
            out = F.linear(x, start)
            if write is not None:
                changes, inputs = write
                out = out + (x @ inputs.transpose(1, 2)) @ changes
            outputs.append(x := out)
        return outputs

    def _rewrite(self, writes: list, key, value, rate: Float[Tensor, "B 1"]) -> list:
        """Add one term u_j, x_j to each layer: its change and the input that calls it up, [B, J, D] each."""
        before = self._recall(key[:, None], writes)
        first, second = (torch.tanh(each[:, 0]) for each in before[:2])
        inputs, outputs = (key, first, second), (first, second, before[2][:, 0])
        added = []
        for write, x, a, e in zip(writes, inputs, outputs, self.targets(value).chunk(3, dim=-1), strict=True):
            change = (-2 / key.shape[-1]) * rate * (a - e)
            new = change[:, None], x[:, None]
            if write is not None:
                new = torch.cat([write[0], new[0]], dim=1), torch.cat([write[1], new[1]], dim=1)
            added.append(new)
        return added
