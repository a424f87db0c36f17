"""What all wings' settings share: what a record keeps of them, and how wrong ones are answered."""

import inspect
import json
import math
from dataclasses import FrozenInstanceError, dataclass, field, fields
from functools import partial
from importlib import import_module
from typing import ClassVar

import numpy as np
import pytest
from torch import nn

from mini_lib.errors import UsageError
from mini_lib.esbn import runs as esbn
from mini_lib.functions import runs as functions
from mini_lib.grid import runs as grid
from mini_lib.kanerva import runs as kanerva
from mini_lib.scan import runs as scan
from mini_lib.settings import TYPES, RunSettings, settings_hash


@dataclass(frozen=True)
class Made(RunSettings):
    PAPER: ClassVar[str] = "made"
    UNNAMED: ClassVar = frozenset({"task"})

    task: str
    size: int
    kind: str = "plain"
    rate: float | None = None
    options: dict = field(default_factory=dict)
    epochs: int = 5
    batch_size: int = 8
    lr: float = 0.1

    def __post_init__(self):
        super().__post_init__()
        self.check_known(("task", "task", ("sort", "copy")), ("kind of network", "kind", ("plain", "deep")))
        self.check_positive("size")

    def headline(self):
        return f"to {self.task}"


def test_fields_at_their_default_are_left_out():
    plain = Made("sort", 3).to_dict()
    assert plain == {"paper": "made", "task": "sort", "size": 3}
    assert Made("sort", 3, "plain", None, {}).to_dict() == plain
    changed = Made("sort", 3, "deep", 0.5, {"a": 1})
    assert changed.to_dict() == plain | {"kind": "deep", "rate": 0.5, "options": {"a": 1}}


@pytest.mark.parametrize("changes", [{}, {"kind": "deep"}, {"rate": 0.0, "options": {"b": 2, "a": [1]}}])
def test_settings_survive_a_record(changes):
    settings = Made("copy", 4, **changes)
    assert Made.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


def test_the_hash_does_not_depend_on_order_nor_on_defaults_that_are_written_out():
    kept = Made("copy", 4, "deep", options={"a": 1, "b": 2}).to_dict()
    turned = {"options": {"b": 2, "a": 1}, "kind": "deep", "rate": None, "size": 4, "task": "copy"}
    assert settings_hash(Made.from_dict(turned).to_dict()) == settings_hash(kept)
    assert settings_hash(Made("copy", 5).to_dict()) != settings_hash(Made("copy", 4).to_dict())


def test_settings_that_are_equal_have_one_hash_though_a_number_is_whole():
    whole, real = Made("copy", 4, rate=2, lr=1), Made("copy", 4, rate=2.0, lr=1.0)
    assert whole == real
    assert settings_hash(whole.to_dict()) == settings_hash(real.to_dict())
    assert json.dumps(whole.to_dict()["rate"]) == "2.0"


def test_what_is_kept_is_a_copy():
    settings = Made("copy", 4, options={"a": 1})
    settings.to_dict()["options"]["a"] = 2
    assert settings.options == {"a": 1}
    with pytest.raises(FrozenInstanceError):
        settings.size = 5


def test_a_description_leaves_out_defaults_and_what_the_headline_says():
    assert Made("copy", 4).describe() == "to copy, size 4"
    changed = Made("copy", 4, rate=0.5, options={"a": 1})
    assert changed.describe() == "to copy, options {'a': 1}, rate 0.5, size 4"


def test_a_run_is_trained_as_its_settings_say_or_as_its_parts_do():
    settings, model = Made("copy", 4, epochs=3), nn.Linear(1, 1)
    parts = {"epoch": dict, "examples": 6, "loss": max, "evaluate": dict}
    made = settings.training_run(7, model, **parts)
    assert made.key == f"{settings_hash(settings.to_dict())}-s7"
    assert made.name == "to copy, epochs 3, size 4, seed 7"
    assert (made.batch_size, made.epochs, made.lr, made.model) == (8, 3, 0.1, model)
    assert settings.training_run(7, model, **parts, batch_size=2).batch_size == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sise": 3}, "unknown setting 'sise'; did you mean 'size'"),
        ({"task": "sorts"}, "unknown task 'sorts'; did you mean 'sort'"),
        ({"kind": "depp"}, "unknown kind of network 'depp'; did you mean 'deep'"),
        ({"size": 0}, "size has to be above 0, got 0"),
        ({"size": float("nan")}, "size has to be a whole number, as an int, got nan"),
    ],
)
def test_wrong_settings_are_answered(changes, message):
    with pytest.raises(UsageError, match=message):
        Made.from_dict({"paper": "made", "task": "sort", "size": 3} | changes)


MADE = {
    "esbn": partial(esbn.paper_settings, "rmts", 95, "esbn"),
    "scan": partial(scan.paper_settings, "add_jump"),
    "functions": partial(functions.paper_settings, "relational"),
    "functions, small": partial(functions.tutorial_settings, "one_d"),
    "kanerva": partial(kanerva.paper_settings, "digits", 3),
    "kanerva, mixture": partial(kanerva.paper_settings, "mixture", 3),
    "kanerva, sprites": partial(kanerva.paper_settings, "sprites", 4),
}
NO_NUMBERS = ("95", None, 1j, [1], True, math.nan, math.inf, -math.inf)
WRONG = {
    str: ("a text", (3, None, ["esbn"])),
    bool: ("True or False", (1, "yes", None)),
    int: ("a whole number, as an int", (*NO_NUMBERS, 1.5, np.int64(95))),
    float: ("a finite number, as an int or a float", (*NO_NUMBERS, 10**400, np.float32(0.5))),
    float | None: ("None or a finite number", ("x", True, math.nan, math.inf)),
    tuple[int, ...] | list[int]: ("a tuple or list of whole numbers", (3, None, "ab", ("a",), [1.5], [True])),
    dict: ("a dict with texts as keys", (None, ["confidence"], {1: 2})),
}


@pytest.mark.parametrize("wing", MADE)
def test_every_field_of_every_wing_refuses_what_is_not_of_its_type(wing):
    settings = MADE[wing]()
    for each in fields(settings):
        wanted, values = WRONG[each.type]
        for value in values:
            with pytest.raises(UsageError) as refused:
                type(settings).from_dict(settings.to_dict() | {each.name: value})
            assert str(refused.value) == f"{each.name} has to be {wanted}, got {value!r}"


@pytest.mark.parametrize("wing", MADE)
def test_every_wing_names_a_setting_or_an_option_that_is_not_there(wing):
    with pytest.raises(UsageError, match="unknown setting 'epocks'"):
        MADE[wing](epocks=3)
    with pytest.raises(UsageError, match=r"unknown option of .* 'nonsense'"):
        MADE[wing](options={"nonsense": 1})


OPTIONS = {
    "esbn": (partial(esbn.paper_settings, "rmts", 95, "esbn"), {"hidden": int, "confidence": bool}),
    "scan": (
        partial(scan.paper_settings, "add_jump"),
        {"syntax": int, "one_hot": bool, "dropout": float, "ends": str},
    ),
    "functions": (
        partial(functions.paper_settings, "relational_window"),
        {"dim": int, "scale": float, "length": float, "mask": str},
    ),
    "kanerva": (
        partial(kanerva.paper_settings, "digits", 3),
        {"stop_grad_r": bool, "ridge": float, "assignment": str},
    ),
    "grid": (partial(grid.Settings, "match", "esbn", 1e-3, 3), {"hidden": int, "confidence": bool}),
}
# What `kept_options` of a wing takes besides a network's name and its options.
BESIDES = {"scan": (("words", "actions"),), "grid": ({},)}


@pytest.mark.parametrize("wing", OPTIONS)
def test_every_option_of_every_network_has_a_default_and_a_type_that_can_be_checked(wing, monkeypatch):
    seen = []

    def look(model, make, options, known):
        seen.append(model)
        parameters = inspect.signature(make).parameters
        for name in known:
            assert parameters[name].annotation in TYPES, (model, name)
            assert parameters[name].default is not inspect.Parameter.empty, (model, name)
        return {}

    models = import_module(f"mini_lib.{wing}.models")
    monkeypatch.setattr(models, "own_options", look)
    for model in models.MODELS:
        models.kept_options(model, {}, *BESIDES.get(wing, ()))
    assert seen == list(models.MODELS)


NO_OPTIONS = {
    int: ("a positive integer", ("64", 0, -1, 2.0, True, None)),
    bool: WRONG[bool],
    float: WRONG[float],
    str: WRONG[str],
}


@pytest.mark.parametrize("wing", OPTIONS)
def test_an_option_of_another_type_is_refused_where_settings_are_made(wing):
    make, kinds = OPTIONS[wing]
    for name, kind in kinds.items():
        wanted, values = NO_OPTIONS[kind]
        for value in values:
            with pytest.raises(UsageError) as refused:
                make(options={name: value})
            model = make().model
            assert str(refused.value) == f"option {name} of {model} has to be {wanted}, got {value!r}"


@pytest.mark.parametrize(
    ("wing", "default", "other"),
    [
        ("esbn", {"key_size": 256, "confidence": True}, {"key_size": 128}),
        ("scan", {"syntax": 200, "dropout": 0.5, "ends": "learned"}, {"syntax": 64}),
        ("functions", {"dim": 256, "mask": "strict", "length": 10.0}, {"gate": "post"}),
        ("kanerva", {"assignment": "learned", "stop_grad_r": False, "ridge": 0.35}, {"ridge": 0.1}),
        # Hidden units as this task has them, and as the class has them by itself:
        ("grid", {"hidden": 128, "key_size": 64}, {"hidden": 512}),
    ],
)
def test_a_default_that_is_written_out_is_the_same_run(wing, default, other):
    plain = (make := OPTIONS[wing][0])()
    assert make(options=default) == plain
    assert settings_hash(make(options=default).to_dict()) == settings_hash(plain.to_dict())
    assert make(options=default | other).options == plain.options | other


def test_a_weight_that_the_experiment_gives_a_divergence_is_no_other_run():
    plain = kanerva.paper_settings("digits", 3)
    written = {"memory": 1.0, "address": 0.0, "history": 0.5}
    assert kanerva.paper_settings("digits", 3, kl=written).kl == {"history": 0.5}
    assert kanerva.paper_settings("digits", 3, kl={"memory": 1.0}) == plain


def test_a_size_is_at_its_default_where_the_network_has_it_so():
    """The ESBN paper's networks are scaled by `width`, those of the study have a size for each task."""
    narrow = OPTIONS["esbn"][0](width=0.5, options={"hidden": 512, "key_size": 128})
    assert narrow.options == {"hidden": 512}
    for task, features in (("match", 120), ("commands", 32), ("curves", 128)):
        chosen = {"size": features, "head_size": features, "heads": 1}
        assert grid.Settings(task, "abstractor fixed", 1e-3, 3, options=chosen).options == {}
        assert grid.Settings(task, "abstractor fixed", 1e-3, 3).features == features


@pytest.mark.parametrize(
    ("wing", "changes"),
    [
        ("kanerva", {"options": {"ridge": 1}, "kl": {"history": 2}}),
        ("functions", {"options": {"scale": 2}}),
        ("functions", {"options": {"scale": 1}}),  # the default
    ],
)
def test_so_have_options_and_weights_of_divergences(wing, changes):
    make, floats = OPTIONS[wing][0], json.loads(json.dumps(changes), parse_int=float)
    assert settings_hash(make(**changes).to_dict()) == settings_hash(make(**floats).to_dict())


def test_what_something_else_says_is_no_option():
    with pytest.raises(UsageError, match="unknown option of li 'words'"):
        scan.paper_settings("add_jump", "li", options={"words": 17})
    with pytest.raises(UsageError, match="unknown option of sequential semantics 'syntax'; known: none"):
        grid.Settings("commands", "sequential semantics", 1e-3, 3, options={"syntax": 64})


def test_a_shorter_run_needs_no_checks_of_its_own():
    shorter = functions.tutorial_settings("relational", epochs=5)
    assert shorter.checks == tuple(epoch for epoch in functions.CHECKS if epoch <= 5) != ()
    assert kanerva.paper_settings("sprites", 4, epochs=12_000).checks == (10_000,)
    with pytest.raises(UsageError, match="checks are epochs from 1 to 5, got 9"):
        functions.tutorial_settings("relational", epochs=5, checks=(9,))


@pytest.mark.parametrize("wing", [esbn, functions, kanerva, scan])
def test_build_asks_for_settings_of_its_own_paper(wing):
    """Asked directly: in tests the checker of types answers a call of `build` first."""
    assert "Settings.check_is(settings)" in inspect.getsource(wing.build)
    for wrong in ({"epochs": 3}, "paper", Made("sort", 3)):
        with pytest.raises(UsageError, match=rf"give the Settings of {wing.__name__}, got"):
            wing.Settings.check_is(wrong)
