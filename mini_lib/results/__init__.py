"""What we measured, what the papers print, and the comparison of the two."""

from mini_lib.results.cells import Cell, settings_hash
from mini_lib.results.records import RecordConflict, Records

__all__ = ["Cell", "RecordConflict", "Records", "settings_hash"]
