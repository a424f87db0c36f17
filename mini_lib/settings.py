"""What a wing's settings have in common: how they are read from a record, and how they are kept in one."""

from collections.abc import Iterable
from dataclasses import MISSING, asdict, dataclass, fields
from typing import ClassVar

from mini_lib.errors import WrongUse, unknown


@dataclass(frozen=True)
class RunSettings:
    """What a run is, but for its seed. Fields at their default stay out of `to_dict`, and so out of the hash.

    A wing derives its own dataclass from this one and sets `PAPER`.
    """

    PAPER: ClassVar[str]

    @classmethod
    def from_dict(cls, settings: dict) -> "RunSettings":
        """The settings of a record or a cell; WrongUse for a name that is no setting."""
        given = {name: value for name, value in settings.items() if name != "paper"}
        names = [field.name for field in fields(cls)]
        for name in given:
            if name not in names:
                raise unknown("setting", name, names)
        return cls(**given)

    def to_dict(self) -> dict:
        """The settings as a record keeps them, in the types of JSON."""
        kept = asdict(self)
        for field in fields(self):
            default = field.default if field.default_factory is MISSING else field.default_factory()
            if kept[field.name] == default:
                del kept[field.name]
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}
        return {"paper": self.PAPER} | listed

    def check_known(self, *choices: tuple[str, str, Iterable[str]]) -> None:
        """WrongUse unless each (what it is, its field, known names) holds a known name."""
        for kind, name, known in choices:
            if getattr(self, name) not in known:
                raise unknown(kind, getattr(self, name), known)

    def check_whole(self, *names: str) -> None:
        """WrongUse unless these fields are whole numbers from 1."""
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise WrongUse(f"{name} has to be a whole number from 1, got {value!r}")

    def check_checks(self) -> None:
        """Put `checks` in order, each once; WrongUse unless all are epochs of the run."""
        object.__setattr__(self, "checks", tuple(sorted(set(self.checks))))
        for epoch in self.checks:
            if not 1 <= epoch <= self.epochs:
                raise WrongUse(f"checks are epochs from 1 to {self.epochs}, got {epoch}")

    def check_positive(self, *names: str) -> None:
        """WrongUse unless these fields are above 0."""
        for name in names:
            if not getattr(self, name) > 0:
                raise WrongUse(f"{name} has to be above 0, got {getattr(self, name)!r}")
