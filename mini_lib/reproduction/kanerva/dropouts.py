"""How many items the least used machine of small mixtures gets during their first 150 updates.

Not in the paper. `tools/make_dropouts.py` made dropouts.json.
"""

import json
from pathlib import Path

from mini_lib.kanerva.runs import Settings, tutorial_settings

STORED = Path(__file__).with_name("dropouts.json")
RUNS = tuple((machines, seed) for machines in (2, 3) for seed in (1, 2, 3))
EVERY, UPDATES = 10, 150
EPISODES, ITEMS = 10, 45  # of the test


def settings(machines: int) -> Settings:
    """A mixture for digits of 8 x 8 pixels, counted after every tenth of 150 updates."""
    epochs = UPDATES // EVERY
    changes = {"source": "digits", "kl_weight": 8**2 / 28**2, "items": ITEMS, "test_episodes": EPISODES}
    return tutorial_settings("mixture", machines, epochs=epochs, checks=tuple(range(1, epochs)), **changes)


def counts(checks: list[dict]) -> list[int]:
    """The items, of 450, of the least used machine at each check."""
    return [round(EPISODES * ITEMS * check["least_used"]) for check in checks]


def stored() -> dict[tuple[int, int], list[int]]:
    """The counts that come with the library, by machines and seed."""
    return {(run["machines"], run["seed"]): run["counts"] for run in json.loads(STORED.read_text())}
