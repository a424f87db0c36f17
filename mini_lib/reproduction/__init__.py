"""What we measured, what the papers print, and the comparison of the two.

Each name is loaded when it is first asked for, since PyTorch and the wings take seconds.
"""

from mini_lib.lazy import lazy_names

# name -> the module in which it lives
_FACE = {
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
    "write_pages": ".pages",
}

__all__ = [*_FACE]
__getattr__, __dir__ = lazy_names(__name__, _FACE)
