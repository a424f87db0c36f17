"""Records made up for the tests of readings."""

from mini_lib.functions.runs import paper_settings, tutorial_settings
from mini_lib.hashing import run_key, settings_hash
from mini_lib.reproduction.functions.cells import COLUMNS


def record(model, seed=1, scale="paper", diverged=False, checks=(), value=0.5, **changes):
    settings = {"paper": paper_settings, "tutorial": tutorial_settings}[scale](model, **changes).to_dict()
    # Each metric is `value` more than its place in this list.
    names = [
        f"{measure}_{kind}" for measure in ("mse", "spread", "sliding_mse") for kind in (*COLUMNS, "even")
    ]
    metrics = {} if diverged else {name: value + place for place, name in enumerate(names)}
    if "window" in model and not diverged:
        metrics["window"] = 7.5
    curve = {"update": [1], "loss": [1.0], "score": [1.0]}
    return {
        "key": run_key(settings, seed),
        "hash": settings_hash(settings),
        "seed": seed,
        "paper": "functions",
        "settings": settings,
        "scale": scale,
        "data": "drawn",
        "metrics": metrics,
        "diverged": diverged,
        "curve": curve,
        "updates": 10_000,
        "checks": list(checks),
        "provenance": {"device": "cpu: x", "seconds": 36.0},
    }
