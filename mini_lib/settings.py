"""The base class of run settings: checks of types, the dict that a record keeps, and its hash."""

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import ClassVar

from torch import nn

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.training_run import TrainingRun


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_finite(value: object) -> bool:
    """Whether this is a number, and one that a float can hold; True and False are none."""
    return (_is_int(value) or isinstance(value, float)) and abs(value) <= sys.float_info.max


def _is_list_of_ints(value: object) -> bool:
    return isinstance(value, tuple | list) and all(map(_is_int, value))


def _is_dict(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


# What a field of each type may hold, in words and as a test. None may stand where the type says so.
TYPES: dict[object, tuple[str, Callable[[object], bool]]] = {
    str: ("a text", lambda value: isinstance(value, str)),
    bool: ("True or False", lambda value: isinstance(value, bool)),
    int: ("a whole number, as an int", _is_int),
    float: ("a finite number, as an int or a float", is_finite),
    float | None: ("None or a finite number", lambda value: value is None or is_finite(value)),
    tuple[int, ...] | list[int]: ("a tuple or list of whole numbers", _is_list_of_ints),
    dict: ("a dict with texts as keys", _is_dict),
}


# What an option of type int may be: it is a size, or counts something.
SIZE = ("a positive integer", lambda value: _is_int(value) and value >= 1)


def own_options(
    model: str, make: Callable, options: Mapping[str, object], known: Iterable[str]
) -> dict[str, object]:
    """The options that a network does not have by itself, in its types: so runs of the same network have one hash.

    `make` makes the network: its parameters have the defaults, and their annotations say of what type the `known`
    options are. UsageError for an option that is not known, or a value of another type. What a text or a number may
    be besides (a name that is known, a rate below 1) says the network when it is made.
    """
    check_names(f"option of {model}", options, known)
    parameters = inspect.signature(make).parameters
    for name, value in options.items():
        kind = parameters[name].annotation
        wanted, fits = SIZE if kind is int else TYPES[kind]
        if not fits(value):
            raise UsageError(f"option {name} of {model} has to be {wanted}, got {value!r}")
    kept = {name: as_typed(parameters[name].annotation, value) for name, value in options.items()}
    return {name: value for name, value in kept.items() if value != parameters[name].default}


def as_typed(kind: object, value: object) -> object:
    """A value that is of this type, but for a whole number where a float is wanted: JSON tells 2 from 2.0."""
    return float(value) if kind in (float, float | None) and value is not None else value


def settings_hash(settings: dict) -> str:
    """A 12-digit name for settings; the order of keys does not matter.

    Fields and options at their default have been left out of them (`to_dict`, `own_options`), so that adding one
    later does not rename the runs that never used it.
    """
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def run_key(settings: dict, seed: int) -> str:
    """The name of one run: of its settings, and its seed."""
    return f"{settings_hash(settings)}-s{seed}"


@dataclass(frozen=True)
class RunSettings:
    """What a run is, but for its seed. Fields at their default stay out of `to_dict`, and so out of the hash.

    A wing derives its own dataclass from this one, sets `PAPER` and `UNNAMED`, and writes `headline` and `network`.
    Its `__post_init__` begins with that of this class, and keeps of its `options` what `own_options` says. Changed
    settings are made by `from_plan`: an option that was left out as a default may be none after a change.
    """

    PAPER: ClassVar[str]
    UNNAMED: ClassVar[frozenset[str]]  # fields that `describe` leaves out

    def __post_init__(self) -> None:
        """UsageError unless every field holds a value of its type; numbers have to be finite.

        A whole number in a field of floats becomes a float, so that equal settings have one hash.
        """
        self.check_types({field.name: getattr(self, field.name) for field in fields(self)})
        self.keep(**{field.name: as_typed(field.type, getattr(self, field.name)) for field in fields(self)})

    @classmethod
    def check_is(cls, settings: object) -> None:
        """UsageError unless these are settings of this paper."""
        if not isinstance(settings, cls):
            raise UsageError(
                f"give the Settings of {cls.__module__}, got {settings!r}; `Settings.from_dict` makes them of a dict"
            )

    @classmethod
    def check_types(cls, values: dict[str, object]) -> None:
        """UsageError unless the values of these fields are of the fields' types."""
        types = {field.name: field.type for field in fields(cls)}
        for name, value in values.items():
            wanted, fits = TYPES[types[name]]
            if not fits(value):
                raise UsageError(f"{name} has to be {wanted}, got {value!r}")

    def headline(self) -> str:
        """What matters most, in a few words."""
        raise NotImplementedError

    def network(self) -> nn.Module:
        """A fresh network, from torch's global generator."""
        raise NotImplementedError

    def describe(self) -> str:
        """The settings in a line, without what is the paper's default."""
        values = self.to_dict()
        names = sorted(values.keys() - {"paper"} - self.UNNAMED)
        return ", ".join([self.headline()] + [f"{name} {values[name]}" for name in names])

    def training_run(self, seed: int, model: nn.Module, **parts) -> TrainingRun:
        """A run of these settings, to be trained; `parts` are what `TrainingRun` takes besides, or takes instead."""
        own = {part: getattr(self, part) for part in ("batch_size", "epochs", "lr") if part not in parts}
        name = f"{self.describe()}, seed {seed}"
        return TrainingRun(key=run_key(self.to_dict(), seed), name=name, model=model, **(own | parts))

    @classmethod
    def from_dict(cls, settings: dict) -> "RunSettings":
        """The settings of a record or a cell; UsageError for a name or a value that is no setting."""
        given = {name: value for name, value in settings.items() if name != "paper"}
        check_names("setting", given, [field.name for field in fields(cls)])
        cls.check_types(given)
        return cls(**given)

    @classmethod
    def from_plan(cls, plan: dict, changes: dict) -> "RunSettings":
        """Settings that come with the library, changed; a shorter run leaves out the plan's checks after its end."""
        if "checks" in plan and isinstance(end := changes.get("epochs"), int):
            plan = plan | {"checks": tuple(epoch for epoch in plan["checks"] if epoch <= end)}
        return cls.from_dict(plan | changes)

    def to_dict(self) -> dict:
        """The settings as a record keeps them, in the types of JSON."""
        values = asdict(self)
        for field in fields(self):
            default = field.default if field.default_factory is MISSING else field.default_factory()
            if values[field.name] == default:
                del values[field.name]
        in_json = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {"paper": self.PAPER} | in_json

    def check_known(self, *choices: tuple[str, str, Iterable[str]]) -> None:
        """UsageError unless each (what it is, its field, known names) holds a known name."""
        for kind, name, known in choices:
            check_names(kind, [getattr(self, name)], known)

    def check_positive_int(self, *names: str) -> None:
        """UsageError unless these fields are whole numbers from 1."""
        check_positive_int(**{name: getattr(self, name) for name in names})

    def keep(self, **values: object) -> None:
        """Set fields to values that mean the same, while settings are made; afterwards they are frozen."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def check_checks(self) -> None:
        """Put `checks` in order, each once; UsageError unless all are epochs of the run."""
        self.keep(checks=tuple(sorted(set(self.checks))))
        for epoch in self.checks:
            if not 1 <= epoch <= self.epochs:
                raise UsageError(f"checks are epochs from 1 to {self.epochs}, got {epoch}")

    def check_positive(self, *names: str) -> None:
        """UsageError unless these fields are above 0."""
        for name in names:
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} has to be above 0, got {getattr(self, name)!r}")
