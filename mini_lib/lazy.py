"""Names of a package that are loaded when they are first asked for: PyTorch and the wings take seconds."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, places: Mapping[str, str | tuple[str, str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package (PEP 562), given its `__name__`.

    `places` are its public names and the modules in which they live, such as ".training", with the name there if it
    is another. A name is loaded once; AttributeError for a name that is not there.
    """

    def load(name: str) -> object:
        if name not in places:
            what = f"module {package!r} has no attribute {name!r}; it has {', '.join(places)}"
            # With these two Python asks: did you mean ...?
            raise AttributeError(what, name=name, obj=sys.modules[package])
        place = places[name]
        module, own = (place, name) if isinstance(place, str) else place
        value = getattr(import_module(module, package), own)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(places)

    return load, names
