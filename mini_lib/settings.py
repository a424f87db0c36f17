"""The base class of run settings."""

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NoReturn, Self

from torch import nn

from mini_lib.errors import UsageError, check_names, check_positive, check_positive_int, is_finite, is_int
from mini_lib.hashing import complete, reduce, run_key, settings_hash
from mini_lib.training import TrainingRun, check_epochs, plain


class FrozenDict(dict):
    """A dict that cannot be changed, and so has a hash."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError("settings cannot be changed; make new ones")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __hash__(self) -> int:
        return hash(json.dumps(self, sort_keys=True))

    def __reduce__(self) -> tuple:
        return FrozenDict, (dict(self),)


ABOVE_ZERO = {int: check_positive_int, float: check_positive, float | None: check_positive}
SCHEDULE = {"lr", "epochs", "updates", "checks"}  # fields that say how long and how fast
# What a field of each type takes, in the words of messages.
KINDS = {
    **{dict: "a dict with string keys", tuple[int, ...] | list[int]: "a tuple or list of integers"},
    **{float: "a finite number", float | None: "a finite number or None"},
    **{int: "an integer", str: "a string", bool: "True or False"},
}


def typed(name: str, kind: object, value: Any) -> Any:
    """The value of a field in the type of its annotation; UsageError if it has another type.

    An integer in a field of floats becomes a float, since JSON tells 2 from 2.0; NumPy's numbers become Python's.
    """
    value = plain(value)
    if kind is dict and isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return FrozenDict({key: plain(each) for key, each in value.items()})
    if kind == tuple[int, ...] | list[int] and isinstance(value, tuple | list) and all(map(is_int, value)):
        return tuple(map(int, value))
    if (kind in (float, float | None) and is_finite(value)) or (kind is int and is_int(value)):
        return float(value) if kind is not int else value
    if kind in (str, bool, float | None) and isinstance(value, kind) and not isinstance(value, float):
        return value
    raise UsageError(f"{name} has to be {KINDS[kind]}, got {value!r}")


@dataclass(frozen=True)
class RunSettings:
    """What a run is, but for its seed.

    Each paper derives its own dataclass, sets `PAPER` and writes `network`. Its `__post_init__` begins with that of
    this class.
    """

    PAPER: ClassVar[str]
    FROM_ZERO: ClassVar[Collection[str]] = ()  #: fields whose numbers may be 0.

    def __post_init__(self) -> None:
        """Keep every field in its type; UsageError for another type, and for numbers not above 0 (`FROM_ZERO`)."""
        for field in fields(self):
            value = typed(field.name, field.type, getattr(self, field.name))
            self.keep(**{field.name: value})
            if field.type in ABOVE_ZERO and field.name not in self.FROM_ZERO and value is not None:
                ABOVE_ZERO[field.type](**{field.name: value})

    def network(self) -> nn.Module:
        """A fresh network, from torch's global generator."""
        raise NotImplementedError

    @classmethod
    def make(cls, plan: Mapping[str, object], changes: Mapping[str, object] = FrozenDict()) -> Self:
        """Settings of a plan that comes with the library, changed; what they leave out has today's defaults.

        A shorter run leaves out the plan's checks after its end. UsageError for a name that is no setting.
        """
        values = {**plan, **changes}
        if "checks" not in changes and "checks" in plan and is_int(end := changes.get("epochs")):
            values["checks"] = tuple(epoch for epoch in plan["checks"] if epoch <= end)
        values.pop("paper", None)
        kinds = {field.name: field.type for field in fields(cls)}
        check_names("setting", values, kinds)
        return cls(**{name: typed(name, kinds[name], value) for name, value in values.items()})

    @classmethod
    def from_dict(cls, settings: dict) -> Self:
        """Settings of a record or a table entry; what they leave out has the default of its day (`complete`)."""
        check_names("setting", settings.keys() - {"paper"}, [field.name for field in fields(cls)])
        return cls.make(complete({"paper": cls.PAPER} | settings))

    @classmethod
    def check_is(cls, settings: object) -> None:
        """UsageError unless these are settings of this paper."""
        if not isinstance(settings, cls):
            raise UsageError(
                f"give the Settings of {cls.__module__}, got {settings!r}; `Settings.from_dict` makes them of a dict"
            )

    def to_dict(self) -> dict:
        """The settings in the types of JSON, without what equals its frozen default."""
        values = {"paper": self.PAPER} | {field.name: getattr(self, field.name) for field in fields(self)}
        return reduce(
            {
                name: {tuple: list, FrozenDict: dict}.get(type(value), plain)(value)
                for name, value in values.items()
            }
        )

    @property
    def hash(self) -> str:
        """See `settings_hash`."""
        return settings_hash(self.to_dict())

    def describe(self) -> str:
        """The settings in a line, without the schedule and what is the default."""
        shown = {name: value for name, value in self.to_dict().items() if name not in SCHEDULE | {"paper"}}
        return ", ".join(each if isinstance(each, str) else f"{name}={each}" for name, each in shown.items())

    def training_run(self, seed: int, model: nn.Module, **parts: Any) -> TrainingRun:
        """A run of these settings, to be trained; `parts` are what `TrainingRun` takes besides, or takes instead."""
        own = {part: getattr(self, part) for part in ("batch_size", "epochs", "lr") if part not in parts}
        name = f"{self.describe()}, seed {seed}"
        return TrainingRun(key=run_key(self.to_dict(), seed), name=name, model=model, **(own | parts))

    # ---------------------------------------------------------------------------- for `__post_init__` of subclasses

    def keep(self, **values: object) -> None:
        """Set fields to values that mean the same, while settings are made; afterwards they are frozen."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def fill_options(self, make: Callable, given: Collection[str] = ()) -> None:
        """Complete `options` with the defaults of the constructor `make`, in its types.

        UsageError for an option that is not one of its parameters, or that is `given` by other fields. The
        constructor itself checks the values.
        """
        self.check_options(make, given)
        known = {name: p for name, p in inspect.signature(make).parameters.items() if name not in given}
        defaults = {name: p.default for name, p in known.items() if p.default is not p.empty}
        kinds = {name: type(value) for name, value in defaults.items() if type(value) in (bool, int, float)}
        options = {k: typed(k, kinds[k], v) if k in kinds else v for k, v in self.options.items()}
        self.keep(options=FrozenDict(defaults | options))

    def check_options(self, make: Callable, given: Collection[str] = ()) -> None:
        """UsageError for an option that the constructor `make` does not have, or that is `given` by other fields."""
        known = [name for name in inspect.signature(make).parameters if name not in given]
        check_names(f"option of {self.model}", self.options, known)

    def check_known(self, *choices: tuple[str, str, Iterable[str]]) -> None:
        """UsageError unless each (what it is, its field, known names) holds a known name."""
        for kind, name, known in choices:
            check_names(kind, [getattr(self, name)], known)

    def check_checks(self) -> None:
        """Put `checks` in order, each once; UsageError unless all are epochs of the run."""
        self.keep(checks=check_epochs(self.checks, self.epochs))
