"""The name of a run: a hash of its settings, and its seed.

A hash leaves out every field and option that equals its default of the day when the first runs were recorded. Those
defaults are frozen in `hash_defaults.json`: a constructor may get a better default, or a new option, and no stored
run changes its name. A field or option that is added later goes into that file, with the value of what was before.
"""

import copy
import hashlib
import json
from functools import cache
from pathlib import Path

# Of each class of settings: its paper, its fields without a default, the defaults of the others, and those of the
# options of each of its networks.
FROZEN = json.loads((Path(__file__).parent / "hash_defaults.json").read_text())


@cache
def frozen_defaults(paper: str | None, names: frozenset[str]) -> dict:
    """The entry of `FROZEN` for settings of a paper with these fields; an empty one if there is none."""
    for entry in FROZEN:
        known = {*entry["required"], *entry["defaults"], "paper", "options"}
        if entry["paper"] == paper and known.issuperset(names):
            return entry
    return {"defaults": {}}


def _frozen_options(frozen: dict, settings: dict) -> dict:
    model = settings.get("model", frozen["defaults"].get("model"))
    return frozen.get("options", {}).get(model, {}) if isinstance(model, str) else {}


def reduce(settings: dict) -> dict:
    """Settings without the fields and options that equal their frozen default; the inverse of `complete`."""
    frozen = frozen_defaults(settings.get("paper"), frozenset(settings))
    kept = {k: v for k, v in settings.items() if k not in frozen["defaults"] or frozen["defaults"][k] != v}
    options = _frozen_options(frozen, settings)
    named = {k: v for k, v in settings.get("options", {}).items() if k not in options or options[k] != v}
    return {k: v for k, v in kept.items() if k != "options"} | ({"options": named} if named else {})


def complete(settings: dict) -> dict:
    """Settings of a record with every field and option; what it lacks was the default of its day."""
    frozen = frozen_defaults(settings.get("paper"), frozenset(settings))
    whole = copy.deepcopy(frozen["defaults"]) | settings
    named = whole.get("options", {})
    options = _frozen_options(frozen, whole) | named if isinstance(named, dict) else named
    return whole | ({"options": options} if options != {} else {})


def settings_hash(settings: dict) -> str:
    """A 12-digit name for settings; it depends on neither the order of keys nor on defaults that are written out."""
    return hashlib.sha256(json.dumps(reduce(settings), sort_keys=True).encode()).hexdigest()[:12]


def run_key(settings: dict, seed: int) -> str:
    """The name of one run: of its settings, and its seed."""
    return f"{settings_hash(settings)}-s{seed}"
