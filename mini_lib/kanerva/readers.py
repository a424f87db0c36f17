"""The trained networks that come with the book."""

from pathlib import Path

from mini_lib.errors import unknown_name_error
from mini_lib.kanerva.models import Kanerva
from mini_lib.kanerva.runs import Settings
from mini_lib.weights import read_network

WEIGHTS = Path(__file__).parent / "weights"
NETWORKS = {
    "digits": "a product of 3 machines, digits (Figure 1E)",
    "binding": "a product of 2 machines, triplets of digits (Figures 2 and 5)",
    "sprites": "a product of 4 machines, dancing sprites (Figures 3 and 6 to 8)",
    "mixture": "a mixture of 3 machines, digits (Figure 4)",
}


def reader_network(name: str, folder: Path = WEIGHTS) -> tuple[Kanerva, dict]:
    """A trained network for readers, and what its file says of it: settings, seed, metrics, command.

    All are of seed 1 and of the small scale.

    Args:
        name: a key of `NETWORKS`.
        folder: where `<name>.safetensors` lies.

    Returns:
        The network, in evaluation mode, and the header of its file.

    Raises:
        UsageError: for a network that is not there; the nearest name is offered.
        FileNotFoundError: if there is no such file.
        CorruptFileError: if the file is damaged, or of another network.
    """
    if name not in NETWORKS:
        raise unknown_name_error("network", name, NETWORKS)
    path = Path(folder) / f"{name}.safetensors"
    return read_network(Settings, path)
