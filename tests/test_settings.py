"""What all papers' settings share: what a record keeps of them, their hash, and how wrong ones are answered."""

import json
import math
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields
from functools import partial
from importlib import import_module
from inspect import unwrap
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, strategies as st
from torch import nn

from mini_lib import hashing
from mini_lib.errors import UsageError
from mini_lib.hashing import FROZEN, complete, reduce, run_key, settings_hash
from mini_lib.reproduction.cells import PAPERS, STUDIES
from mini_lib.reproduction.doctor import TINY
from mini_lib.reproduction.kanerva.timing import Timing
from mini_lib.reproduction.records import COMMITTED
from mini_lib.reproduction.scan.starts import Start
from mini_lib.settings import RunSettings

RUNS = {paper: import_module(f"mini_lib.{paper}.runs") for paper in (*PAPERS, *STUDIES)}
KINDS = [*(runs.Settings for runs in RUNS.values()), Timing, Start]


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
    checks: tuple[int, ...] | list[int] = ()
    epochs: int = 5
    batch_size: int = 8
    lr: float = 0.1

    def __post_init__(self):
        super().__post_init__()
        self.check_known(("task", "task", ("sort", "copy")))
        self.check_checks()
        self.fill_options(make_net)


@pytest.fixture(autouse=True, scope="module")
def frozen():
    """The defaults of the day of these settings, one of which the constructor has changed since: rate was 0.1."""
    defaults = {"model": "net", "rate": None, "checks": [], "epochs": 5, "batch_size": 8, "lr": 0.1}
    options = {"net": {"hidden": 8, "rate": 0.1, "deep": False}}
    entry = {"paper": "made", "required": ["task", "size"], "defaults": defaults, "options": options}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashing, "FROZEN", [*FROZEN, entry])
        yield


def test_what_equals_its_frozen_default_is_left_out_and_comes_back():
    old = {"paper": "made", "task": "sort", "size": 3}
    assert Made.from_dict(old).options == {"hidden": 8, "rate": 0.1, "deep": False}
    assert Made.from_dict(old).to_dict() == old
    new = Made("sort", 3)  # today's constructor has another rate
    assert new.options["rate"] == 0.5
    assert new.to_dict() == old | {"options": {"rate": 0.5}}
    whole = complete(new.to_dict())
    assert (whole["options"], whole["lr"]) == (new.options, 0.1)
    assert settings_hash(whole) == settings_hash(new.to_dict()) != settings_hash(old)
    whole["checks"].append(1)  # is the caller's own
    assert complete(old)["checks"] == []


@given(
    size=st.integers(1, 9).map(np.int64),
    rate=st.none() | st.integers(1, 3) | st.floats(0.125, 1, width=16).map(np.float32),
    options=st.fixed_dictionaries({}, optional={"rate": st.integers(1, 3), "hidden": st.integers(1, 9)}),
    checks=st.lists(st.integers(1, 5).map(np.int64)),
)
def test_settings_come_back_from_their_record_whatever_their_order_and_numbers(size, rate, options, checks):
    one = Made("copy", size, rate=rate, options=options, checks=checks)
    turned = dict(reversed([*json.loads(json.dumps(complete(one.to_dict()))).items()]))
    assert Made.from_dict(turned) == one == pickle.loads(pickle.dumps(one))
    assert hash(Made.from_dict(turned)) == hash(one)
    assert reduce(turned) == one.to_dict()
    assert one.hash == settings_hash(turned) == Made.from_dict(turned).hash
    assert one.checks == tuple(sorted(set(checks)))
    same = Made("copy", int(size), rate=rate and float(rate), options=options, checks=checks)
    assert json.dumps(same.to_dict()) == json.dumps(one.to_dict())


def test_settings_cannot_change_under_their_hash():
    settings = Made("copy", 4)
    with pytest.raises(FrozenInstanceError):
        settings.size = 5
    with pytest.raises(TypeError, match="cannot be changed"):
        settings.options.update(hidden=1)
    settings.to_dict()["options"]["rate"] = 7
    assert settings.options["rate"] == 0.5


def test_a_shorter_plan_leaves_out_its_late_checks():
    plan = {"task": "copy", "size": 4, "epochs": 4, "checks": (1, 3, 4)}
    assert Made.make(plan, {"size": 5}) == Made("copy", 5, epochs=4, checks=(1, 3, 4))
    assert Made.make(plan, {"epochs": 3}).checks == (1, 3)
    with pytest.raises(UsageError, match="checks has to be a tuple of epochs from 1 to 3"):
        Made.make(plan, {"epochs": 3, "checks": (4,)})


def test_a_run_is_named_and_trained_as_its_settings_say_or_as_its_parts_do():
    settings, model = Made("copy", 4, epochs=3, options={"rate": 0.1}), nn.Linear(1, 1)
    parts = {"epoch": dict, "examples": 6, "loss": max, "evaluate": dict, "batch_size": 2}
    made = settings.training_run(7, model, **parts)
    assert made.name == "copy, size=4, seed 7"  # without the schedule and what is the default
    assert made.key == run_key(settings.to_dict(), 7) == f"{settings.hash}-s7"
    assert (made.batch_size, made.epochs, made.lr, made.model) == (2, 3, 0.1, model)


def test_wrong_settings_are_answered():
    for changes, message in (
        ({"sise": 3}, "unknown setting 'sise'; did you mean 'size'"),
        ({"task": "sorts"}, "unknown task 'sorts'; did you mean 'sort'"),
        ({"options": {"hiden": 3}}, "unknown option of net 'hiden'; did you mean 'hidden'"),
        ({"options": {"deep": 1}}, "deep has to be True or False, got 1"),
    ):
        with pytest.raises(UsageError, match=message):
            Made.from_dict({"task": "sort", "size": 3} | changes)


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


@pytest.mark.parametrize("paper", RUNS)
def test_every_field_refuses_what_is_not_of_its_type(paper):
    tiny = next((settings for settings in TINY.values() if settings["paper"] == paper), None)
    assert tiny, f"put a network of {paper} into TINY, in doctor.py"
    kind = RUNS[paper].Settings
    for each in fields(kind):
        assert each.type in WRONG, f"annotate {each.name} with a type of settings.KINDS"
        for value in WRONG[each.type]:
            with pytest.raises(UsageError, match=f"^{each.name} has to be "):
                kind.from_dict(tiny | {each.name: value})
    with pytest.raises(UsageError, match=rf"give the Settings of mini_lib.{paper}.runs, got"):
        unwrap(RUNS[paper].build)(tiny, 1)  # in tests the checker of types would answer first


@pytest.mark.parametrize("paper", PAPERS)
def test_the_frozen_table_names_every_option_of_every_network(paper):
    """One that is added later has to say there what runs did before; one that is gone goes there, too."""
    frozen = [entry["options"] for entry in FROZEN if entry["paper"] == paper and "options" in entry]
    assert frozen, f"enter the defaults of {paper} and its networks' options in hash_defaults.json"
    assert frozen[0].keys() == RUNS[paper].MODELS.keys(), "enter each network in hash_defaults.json"
    for settings in TINY.values():
        if settings["paper"] == paper:
            made = RUNS[paper].Settings.from_dict(settings)
            assert frozen[0][made.model].keys() == made.options.keys(), f"enter {made.model}'s options there"


@pytest.mark.parametrize("kind", KINDS)
def test_the_frozen_table_names_every_field(kind):
    names = {each.name for each in fields(kind)} - {"options"}
    entered = [{*one["required"], *one["defaults"]} for one in FROZEN if one["paper"] == kind.PAPER]
    assert names in entered, f"enter the fields of {kind.__module__} in hash_defaults.json: {names}"


def test_each_stored_hash_still_comes_out(monkeypatch):
    monkeypatch.setattr(RUNS["scan"], "get_split", len)  # takes a second, and has no part in a hash
    kinds, seen = {"form": Timing, "looks": Start}, {}
    for path in COMMITTED.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            digest = line.partition('"hash": "')[2][:12]
            seen[digest] = seen.get(digest) or json.loads(line)
    for digest, record in seen.items():
        stored = record["settings"]
        kind = next((kinds[name] for name in kinds if name in stored), RUNS[stored["paper"]].Settings)
        assert record["hash"] == kind.from_dict(stored).hash == settings_hash(stored) == digest
    lacking = {*RUNS} - {record["settings"]["paper"] for record in seen.values()}
    assert not lacking, "no run on record: make one with `mini-lib reproduce`"


def test_a_weight_that_the_experiment_gives_a_divergence_is_no_other_run():
    made = partial(RUNS["kanerva"].paper_settings, "digits", 3)
    assert made(kl={"memory": 1.0, "address": 0.0, "history": 0.5}).kl == {"history": 0.5}
    assert made(kl={"memory": 1.0}) == made()
