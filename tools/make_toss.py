"""Make toss.json of `mini_lib.reproduction.scan.toss` again, in about four minutes of a core."""

import json

from mini_lib.files import write_atomically
from mini_lib.reproduction.scan import toss
from mini_lib.scan.runs import build, tutorial_settings
from mini_lib.scan.tasks import encode
from mini_lib.training import train


def early(seed: int, updates: int = toss.UPDATES) -> toss.Early:
    """Train the network of this seed for so many updates, and look at it."""
    run = train([build(tutorial_settings(), seed)], stop=lambda update: update >= updates)[0]
    asked = encode(toss.practised())
    return toss.Early(toss.says_jump(run.model), *toss.first_look(run.model, asked))


def store(looks: dict[int, toss.Early]) -> None:
    """Write looks to where `stored` reads them, with three digits."""
    rounded = {
        seed: {field: float(f"{value:.3g}") for field, value in look._asdict().items()}
        for seed, look in looks.items()
    }
    write_atomically(toss.STORED, lambda path: path.write_text(json.dumps(rounded, indent=1) + "\n"))


if __name__ == "__main__":
    store({seed: early(seed) for seed in toss.SEEDS})
