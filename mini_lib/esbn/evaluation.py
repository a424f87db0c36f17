"""What a record of this paper keeps: test accuracy and loss of a trained network."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.esbn.tasks import Problems

TEST_BATCH = 100  # the paper's accuracy is the mean over test batches of this size


def evaluate(model: nn.Module, images: Float[Tensor, "P 32 32"], problems: Problems) -> dict[str, float]:
    """Test accuracy in percent, as the mean over batches of 100, and mean cross-entropy."""
    predictions, answers = predict(model, images, problems), problems.answers.cpu()
    right = 100 * (predictions.argmax(dim=-1) == answers).float()
    batches = [batch.mean().item() for batch in right.split(TEST_BATCH)]
    return {
        "test_accuracy": sum(batches) / len(batches),
        "test_loss": F.cross_entropy(predictions, answers).item(),
    }


@torch.no_grad()
def predict(
    model: nn.Module, images: Float[Tensor, "P 32 32"], problems: Problems, batch_size: int = 1000
) -> Float[Tensor, "N C"]:
    """The logits of every problem, computed where the model lies and brought to the CPU."""
    device = next(model.parameters()).device
    images = images.to(device)
    return torch.cat([model(images, ids.to(device)).cpu() for ids in problems.ids.split(batch_size)])
