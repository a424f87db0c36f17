"""Make toss.json of `mini_lib.reproduction.scan.toss` again, in about four minutes of a core."""

import json

import torch

from mini_lib.files import write_atomically
from mini_lib.reproduction.scan.toss import STORED, Early
from mini_lib.scan import analysis
from mini_lib.scan.runs import build, tutorial_settings
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import Examples, encode, get_split
from mini_lib.training import train

SEEDS = range(1, 26)
UPDATES = 150


def trained_on() -> list[str]:
    """Every fortieth training command, without *jump*."""
    return [text for text in get_split("add_jump").train[::40] if text != "jump"]


def says_jump(network: SyntacticAttention) -> float:
    """Probability of JUMP where all attention is on *jump*, in percent."""
    book = analysis.dictionary(network)
    return 100 * book.probabilities[book.words.index("jump"), book.actions.index("JUMP")].item()


@torch.no_grad()
def first_attention(network: SyntacticAttention, asked: Examples) -> tuple[float, float]:
    """First attention weights on <SOS> and on <EOS>, each in the command where it is least, in percent."""
    first = network.trace(asked.words, asked.lengths, 1).attention[:, 0]
    ends = first[:, 0], first.gather(1, (asked.lengths - 1)[:, None])
    return tuple(100 * each.min().item() for each in ends)


def early(seed: int, updates: int = UPDATES) -> Early:
    """Train the network of this seed for so many updates, and measure it."""
    run = train([build(tutorial_settings(), seed)], stop=lambda update: update >= updates)[0]
    return Early(says_jump(run.model), *first_attention(run.model, encode(trained_on())))


def store(found: dict[int, Early]) -> None:
    """Write measurements to where `stored` reads them, with three digits."""
    rounded = {
        seed: {field: float(f"{value:.3g}") for field, value in each._asdict().items()}
        for seed, each in found.items()
    }
    write_atomically(STORED, lambda path: path.write_text(json.dumps(rounded, indent=1) + "\n"))


if __name__ == "__main__":
    store({seed: early(seed) for seed in SEEDS})
