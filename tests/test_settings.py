"""What all wings' settings share: what a record keeps of them, and how wrong ones are answered."""

import json
from dataclasses import FrozenInstanceError, dataclass, field
from typing import ClassVar

import pytest

from mini_lib.errors import WrongUse
from mini_lib.results import settings_hash
from mini_lib.settings import RunSettings


@dataclass(frozen=True)
class Made(RunSettings):
    PAPER: ClassVar[str] = "made"

    task: str
    size: int
    kind: str = "plain"
    rate: float | None = None
    options: dict = field(default_factory=dict)

    def __post_init__(self):
        self.check_known(("task", "task", ("sort", "copy")), ("kind of network", "kind", ("plain", "deep")))
        self.check_positive("size")


def test_fields_at_their_default_are_left_out():
    assert Made("sort", 3).to_dict() == {"paper": "made", "task": "sort", "size": 3}
    assert Made("sort", 3, "plain", None, {}).to_dict() == Made("sort", 3).to_dict()
    changed = Made("sort", 3, "deep", 0.5, {"a": 1})
    assert changed.to_dict() == Made("sort", 3).to_dict() | {"kind": "deep", "rate": 0.5, "options": {"a": 1}}


@pytest.mark.parametrize("changes", [{}, {"kind": "deep"}, {"rate": 0.0, "options": {"b": 2, "a": [1]}}])
def test_settings_survive_a_record(changes):
    settings = Made("copy", 4, **changes)
    assert Made.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


def test_the_hash_does_not_depend_on_order_nor_on_defaults_that_are_written_out():
    kept = Made("copy", 4, "deep", options={"a": 1, "b": 2}).to_dict()
    turned = {"options": {"b": 2, "a": 1}, "kind": "deep", "rate": None, "size": 4, "task": "copy"}
    assert settings_hash(Made.from_dict(turned).to_dict()) == settings_hash(kept)
    assert settings_hash(Made("copy", 5).to_dict()) != settings_hash(Made("copy", 4).to_dict())


def test_what_is_kept_is_a_copy():
    settings = Made("copy", 4, options={"a": 1})
    settings.to_dict()["options"]["a"] = 2
    assert settings.options == {"a": 1}
    with pytest.raises(FrozenInstanceError):
        settings.size = 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sise": 3}, "unknown setting 'sise'; did you mean 'size'"),
        ({"task": "sorts"}, "unknown task 'sorts'; did you mean 'sort'"),
        ({"kind": "depp"}, "unknown kind of network 'depp'; did you mean 'deep'"),
        ({"size": 0}, "size has to be above 0, got 0"),
        ({"size": float("nan")}, "size has to be above 0, got nan"),
    ],
)
def test_wrong_settings_are_answered(changes, message):
    with pytest.raises(WrongUse, match=message):
        Made.from_dict({"paper": "made", "task": "sort", "size": 3} | changes)
