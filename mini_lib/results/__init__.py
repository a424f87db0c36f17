"""What we measured, what the papers print, and the comparison of the two."""

from mini_lib.results.cells import BenchCase, Cell, settings_hash
from mini_lib.results.claims import Claim, Judgement, judge, load_claims, summary, tell
from mini_lib.results.compare import Comparison, Measured, Printed, compare, listing, printed, verdict
from mini_lib.results.pages import write_pages
from mini_lib.results.records import RecordConflict, Records

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
    "judge",
    "listing",
    "load_claims",
    "printed",
    "settings_hash",
    "summary",
    "tell",
    "verdict",
    "write_pages",
]
