"""What we measured, what the papers print, and the comparison of the two."""

from mini_lib.reproduction.cells import BenchCase, Cell
from mini_lib.reproduction.claims import Claim, Judgement, format_claims, judge, load_claims, summary
from mini_lib.reproduction.compare import (
    Comparison,
    Measured,
    Printed,
    compare,
    listing,
    printed,
    verdict,
)
from mini_lib.reproduction.pages import write_pages
from mini_lib.reproduction.records import RecordConflict, Records
from mini_lib.settings import settings_hash

__all__ = [
    "BenchCase",
    "Cell",
    "Claim",
    "Comparison",
    "Judgement",
    "Measured",
    "Printed",
    "RecordConflict",
    "Records",
    "compare",
    "format_claims",
    "judge",
    "listing",
    "load_claims",
    "printed",
    "settings_hash",
    "summary",
    "verdict",
    "write_pages",
]
