import pytest
import torch

torch.set_num_threads(1)  # the networks are small; more threads only wait for each other


@pytest.fixture(autouse=True)
def subnormal_numbers():
    """What a command sets for its process must not outlast a test; hypothesis needs subnormal numbers."""
    yield
    torch.set_flush_denormal(False)
