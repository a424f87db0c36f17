"""What the calls of these networks share: types of tensors, and random tensors by name.

B commands, T words, L steps, A actions that can be said.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from mini_lib.scan.tasks import NO_ACTION

Words = Int[Tensor, "B T"]
Lengths = Int[Tensor, "B"]
Actions = Int[Tensor, "B L"]
Logits = Float[Tensor, "B L A"]
Noise = dict[str, Tensor]  # dropout masks and Gaussian noise


def noise_of(network: nn.Module, noise: Noise | None, device: torch.device, *sizes: int) -> Noise:
    """The noise that was passed; without one a fresh draw of these sizes in training, and none in evaluation.

    A fresh draw comes from torch's default generator on the device.
    """
    if noise is not None or not network.training:
        return noise or {}
    on_gpu = device.type == "cuda"
    generator = torch.cuda.default_generators[device.index or 0] if on_gpu else torch.default_generator
    return {name: each.to(device) for name, each in network.noise(*sizes, generator).items()}


def cross_entropy(logits: Logits, actions: Actions) -> Float[Tensor, ""]:
    """The loss of the CNN and of meta-seq2seq, averaged over all actions of the batch."""
    return F.cross_entropy(logits.flatten(0, 1), actions.flatten(), ignore_index=NO_ACTION)


def masked(x: Tensor, noise: Noise, name: str) -> Tensor:
    """The input x [B, T, D] times the mask of this name, if there is one; a longer mask is cut to T places."""
    return x * noise[name][:, : x.shape[1]] if name in noise else x
