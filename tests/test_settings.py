"""What all papers' settings share: what a record keeps of them, their hash, and how wrong ones are answered."""

import inspect
import json
import math
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields
from typing import ClassVar

import numpy as np
import pytest
from torch import nn

from mini_lib.errors import UsageError
from mini_lib.esbn import runs as esbn
from mini_lib.functions import runs as functions
from mini_lib.grid import runs as grid
from mini_lib.hashing import FROZEN, complete, reduce, run_key, settings_hash
from mini_lib.kanerva import runs as kanerva
from mini_lib.reproduction.kanerva.timing import Timing
from mini_lib.reproduction.records import COMMITTED
from mini_lib.reproduction.scan.starts import Start
from mini_lib.scan import runs as scan
from mini_lib.settings import RunSettings

PAPERS = {"esbn": esbn, "scan": scan, "functions": functions, "kanerva": kanerva, "grid": grid}


def make_net(hidden: int = 8, rate: float = 0.5, deep: bool = False) -> nn.Module:
    return nn.Linear(1, hidden)


@dataclass(frozen=True)
class Made(RunSettings):
    PAPER: ClassVar[str] = "made"

    task: str
    size: int
    model: str = "net"
    rate: float | None = None
    options: dict = field(default_factory=dict)
    epochs: int = 5
    batch_size: int = 8
    lr: float = 0.1

    def __post_init__(self):
        super().__post_init__()
        self.check_known(("task", "task", ("sort", "copy")))
        self.fill_options(make_net)


@pytest.fixture(autouse=True)
def frozen(monkeypatch):
    """The defaults of the day of these settings, one of which the constructor has changed since: rate was 0.1."""
    defaults = {"model": "net", "rate": None, "epochs": 5, "batch_size": 8, "lr": 0.1}
    options = {"net": {"hidden": 8, "rate": 0.1, "deep": False}}
    entry = {"paper": "made", "required": ["task", "size"], "defaults": defaults, "options": options}
    monkeypatch.setattr("mini_lib.hashing.FROZEN", [*FROZEN, entry])


def test_what_equals_its_frozen_default_is_left_out_and_comes_back():
    old = {"paper": "made", "task": "sort", "size": 3}
    assert Made.from_dict(old).options == {"hidden": 8, "rate": 0.1, "deep": False}
    assert Made.from_dict(old).to_dict() == old
    new = Made("sort", 3)  # today's constructor has another rate
    assert new.options["rate"] == 0.5
    assert new.to_dict() == old | {"options": {"rate": 0.5}}
    assert Made.from_dict(json.loads(json.dumps(new.to_dict()))) == new
    whole = complete(new.to_dict())
    assert whole["options"] == new.options
    assert whole["lr"] == 0.1
    assert reduce(whole) == new.to_dict()
    assert settings_hash(whole) == settings_hash(new.to_dict()) != settings_hash(old)


def test_equal_settings_have_one_hash_whatever_their_numbers_are_made_of():
    one = Made("copy", np.int64(4), rate=2, lr=np.float32(0.5), options={"rate": 1, "hidden": np.int64(9)})
    other = Made("copy", 4, rate=2.0, lr=0.5, options={"hidden": 9, "rate": 1.0})
    assert one == other
    assert hash(one) == hash(other)
    assert one.hash == other.hash == settings_hash(other.to_dict())
    assert json.dumps(one.to_dict()["rate"]) == "2.0"


def test_settings_cannot_change_under_their_hash():
    settings = Made("copy", 4)
    with pytest.raises(FrozenInstanceError):
        settings.size = 5
    for change in (
        lambda o: o.update(hidden=1),
        lambda o: o.__setitem__("hidden", 1),
        lambda o: o.pop("hidden"),
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change(settings.options)
    settings.to_dict()["options"]["rate"] = 7
    assert settings.options["rate"] == 0.5
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_a_description_leaves_out_the_schedule_and_defaults():
    assert Made("copy", 4, options={"rate": 0.1}).describe() == "copy, size=4"
    assert Made("copy", 4, rate=0.5, options={"rate": 0.1}).describe() == "copy, size=4, rate=0.5"


def test_a_run_is_trained_as_its_settings_say_or_as_its_parts_do():
    settings, model = Made("copy", 4, epochs=3), nn.Linear(1, 1)
    parts = {"epoch": dict, "examples": 6, "loss": max, "evaluate": dict}
    made = settings.training_run(7, model, **parts)
    assert made.key == run_key(settings.to_dict(), 7) == f"{settings.hash}-s7"
    assert (made.batch_size, made.epochs, made.lr, made.model) == (8, 3, 0.1, model)
    assert settings.training_run(7, model, **parts, batch_size=2).batch_size == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sise": 3}, "unknown setting 'sise'; did you mean 'size'"),
        ({"task": "sorts"}, "unknown task 'sorts'; did you mean 'sort'"),
        ({"size": 0}, "size has to be a positive integer, got 0"),
        ({"options": {"hiden": 3}}, "unknown option of net 'hiden'; did you mean 'hidden'"),
    ],
)
def test_wrong_settings_are_answered(changes, message):
    with pytest.raises(UsageError, match=message):
        Made.from_dict({"paper": "made", "task": "sort", "size": 3} | changes)


NO_NUMBERS = ("95", None, 1j, [1], True, math.nan, math.inf, -math.inf)
WRONG = {
    str: (3, None, ["esbn"]),
    bool: (1, "yes", None),
    int: (*NO_NUMBERS, 1.5),
    float: (*NO_NUMBERS, 10**400),
    float | None: ("x", True, math.nan, math.inf),
    tuple[int, ...] | list[int]: (3, None, "ab", ("a",), [1.5], [True]),
    dict: (None, ["confidence"], {1: 2}),
}
SETTINGS = {
    "esbn": esbn.paper_settings("rmts", 95, "esbn"),
    "scan": scan.paper_settings("add_jump"),
    "functions": functions.paper_settings("relational"),
    "kanerva": kanerva.paper_settings("sprites", 4),
    "grid": grid.Settings("match", "esbn", 1e-3, 3),
}


@pytest.mark.parametrize("paper", SETTINGS)
def test_every_field_refuses_what_is_not_of_its_type(paper):
    settings = SETTINGS[paper]
    for each in fields(settings):
        for value in WRONG[each.type]:
            with pytest.raises(UsageError, match=f"^{each.name} has to be "):
                type(settings).from_dict(settings.to_dict() | {each.name: value})


MODELS = {
    "esbn": lambda model: esbn.paper_settings("rmts", 95, model),
    "scan": lambda model: scan.paper_settings("add_jump", model),
    "functions": functions.paper_settings,
    "kanerva": lambda model: kanerva.paper_settings({"product": "digits"}.get(model, model), 3),
}


@pytest.mark.parametrize("paper", MODELS)
def test_the_frozen_table_names_every_option_of_every_network(paper):
    """One that is added later has to say there what runs did before; one that is gone goes there, too."""
    [entry] = [entry for entry in FROZEN if entry["paper"] == paper and "options" in entry]
    assert entry["options"].keys() == PAPERS[paper].MODELS.keys()
    for model, defaults in entry["options"].items():
        assert defaults.keys() == MODELS[paper](model).options.keys(), model


@pytest.mark.parametrize("kind", [*(module.Settings for module in PAPERS.values()), Timing, Start])
def test_the_frozen_table_names_every_field(kind):
    names = {each.name for each in fields(kind)} - {"options"}
    assert names in [
        {*entry["required"], *entry["defaults"]} for entry in FROZEN if entry["paper"] == kind.PAPER
    ]


def test_each_stored_hash_still_comes_out():
    kinds = {"form": Timing, "looks": Start}
    seen = {}
    for path in sorted(COMMITTED.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            seen[record["hash"]] = record["settings"]
    assert len(seen) > 200
    for digest, stored in seen.items():
        kind = next((kinds[name] for name in kinds if name in stored), PAPERS[stored["paper"]].Settings)
        assert kind.from_dict(stored).hash == settings_hash(stored) == digest


def test_a_weight_that_the_experiment_gives_a_divergence_is_no_other_run():
    plain = kanerva.paper_settings("digits", 3)
    written = {"memory": 1.0, "address": 0.0, "history": 0.5}
    assert kanerva.paper_settings("digits", 3, kl=written).kl == {"history": 0.5}
    assert kanerva.paper_settings("digits", 3, kl={"memory": 1.0}) == plain


def test_a_shorter_run_needs_no_checks_of_its_own():
    shorter = functions.tutorial_settings("relational", epochs=5)
    assert shorter.checks == tuple(epoch for epoch in functions.CHECKS if epoch <= 5) != ()
    assert kanerva.paper_settings("sprites", 4, epochs=12_000).checks == (10_000,)
    with pytest.raises(UsageError, match="checks has to be a tuple of epochs from 1 to 5"):
        functions.tutorial_settings("relational", epochs=5, checks=(9,))


@pytest.mark.parametrize("paper", [esbn, functions, grid, kanerva, scan])
def test_build_asks_for_settings_of_its_own_paper(paper):
    for wrong in ({"epochs": 3}, "paper"):
        with pytest.raises(UsageError, match=rf"give the Settings of {paper.__name__}, got"):
            inspect.unwrap(paper.build)(wrong, 1)  # in tests the checker of types would answer first


def test_frozen_defaults_and_options_cannot_be_changed_by_a_caller():
    settings = {"paper": "functions", "model": "one_d"}
    before = settings_hash(settings | {"checks": [1]})
    complete(settings)["checks"].append(1)
    assert settings_hash(settings | {"checks": [1]}) == before
    with pytest.raises(UsageError, match="deep has to be True or False, got 1"):
        Made("copy", 4, options={"deep": 1})
