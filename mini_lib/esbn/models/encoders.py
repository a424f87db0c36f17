"""The encoders f_e of the paper's A.3.1 and A.5.4: one image in, one embedding of D features out.

A network keeps its encoder as `encoder`, a module like any other: it can be used, saved and loaded alone.

>>> import mini_lib
>>> encoder = mini_lib.trained("esbn").encoder
>>> encoder(torch.rand(2, 32, 32)).shape
torch.Size([2, 128])
>>> another = ConvEncoder()
>>> another.load_state_dict(encoder.state_dict())
<All keys matched successfully>
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.errors import check_positive_int
from mini_lib.layers import linear

PIXELS = 32 * 32


class ConvEncoder(nn.Module):
    """Three 4x4 convolutions of stride 2, then two linear layers, ReLU after each (A.3.1).

    The padding of 1 is the authors' code's; the paper leaves it open. 32 -> 16 -> 8 -> 4 pixels a side.

    >>> ConvEncoder(features=16)(torch.rand(2, 32, 32)).shape
    torch.Size([2, 16])
    """

    def __init__(self, features: int = 128, channels: int = 32, hidden: int = 256):
        super().__init__()
        check_positive_int(features=features, channels=channels, hidden=hidden)
        self.conv1 = nn.Conv2d(1, channels, 4, stride=2, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 4, stride=2, padding=1)
        self.conv3 = nn.Conv2d(channels, channels, 4, stride=2, padding=1)
        self.fc1 = linear(channels * 16, hidden)
        self.fc2 = linear(hidden, features)
        for conv in (self.conv1, self.conv2, self.conv3):
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            nn.init.zeros_(conv.bias)

    def forward(self, images: Float[Tensor, "P 32 32"]) -> Float[Tensor, "P D"]:
        """Embed each image."""
        x = images[:, None]
        for conv in (self.conv1, self.conv2, self.conv3):
            x = F.relu(conv(x))
        return F.relu(self.fc2(F.relu(self.fc1(x.flatten(1)))))


class MLPEncoder(nn.Module):
    """1024 -> 512 -> 256 -> 128 with ReLU after each layer (A.5.4).

    >>> MLPEncoder(features=16)(torch.rand(2, 32, 32)).shape
    torch.Size([2, 16])
    """

    def __init__(self, features: int = 128, hidden: int = 512, hidden2: int = 256):
        super().__init__()
        check_positive_int(features=features, hidden=hidden, hidden2=hidden2)
        self.fc1 = linear(PIXELS, hidden)
        self.fc2 = linear(hidden, hidden2)
        self.fc3 = linear(hidden2, features)

    def forward(self, images: Float[Tensor, "P 32 32"]) -> Float[Tensor, "P D"]:
        """Embed each image."""
        x = images.flatten(1)
        for layer in (self.fc1, self.fc2, self.fc3):
            x = F.relu(layer(x))
        return x


class RandomEncoder(nn.Module):
    """One untrained linear layer and a ReLU (A.5.4): its weights are buffers, so no optimizer sees them.

    >>> encoder = RandomEncoder(features=16)
    >>> encoder(torch.rand(2, 32, 32)).shape, list(encoder.parameters())
    (torch.Size([2, 16]), [])
    """

    def __init__(self, features: int = 128):
        super().__init__()
        check_positive_int(features=features)
        layer = linear(PIXELS, features)
        self.register_buffer("weight", layer.weight.detach().clone())
        self.register_buffer("bias", layer.bias.detach().clone())

    def forward(self, images: Float[Tensor, "P 32 32"]) -> Float[Tensor, "P D"]:
        """Embed each image."""
        return torch.relu(F.linear(images.flatten(1), self.weight, self.bias))


ENCODERS = {"conv": ConvEncoder, "mlp": MLPEncoder, "rand": RandomEncoder}
