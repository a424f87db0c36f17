"""What we measured, what the papers print, and the comparison of the two.

Each name is loaded when it is first asked for, since PyTorch and the wings take seconds.
"""

from importlib import import_module

# name -> the module in which it lives
_FACE = {
    "BenchCase": ".cells",
    "Cell": ".cells",
    "Claim": ".claims",
    "Judgement": ".claims",
    "format_claims": ".claims",
    "judge": ".claims",
    "load_claims": ".claims",
    "summary": ".claims",
    "Comparison": ".comparison",
    "Measured": ".comparison",
    "Printed": ".comparison",
    "compare": ".comparison",
    "listing": ".comparison",
    "printed": ".comparison",
    "verdict": ".comparison",
    "RecordConflict": ".records",
    "Records": ".records",
    "settings_hash": "mini_lib.settings",
    "write_pages": ".pages",
}

__all__ = [*_FACE]


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for (PEP 562)."""
    if name not in _FACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(_FACE)}")
    value = getattr(import_module(_FACE[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FACE})
