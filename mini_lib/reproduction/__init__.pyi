# The public names, for `lazy_loader` and for type checkers.
from .cells import Cell as Cell
from .claims import (
    Claim as Claim,
    Judgement as Judgement,
    format_claims as format_claims,
    judge as judge,
    load_claims as load_claims,
    summary as summary,
)
from .comparison import (
    Comparison as Comparison,
    Measured as Measured,
    Printed as Printed,
    compare as compare,
    listing as listing,
    printed as printed,
    verdict as verdict,
)
from .pages import write_pages as write_pages
from .records import RecordConflict as RecordConflict, Records as Records
