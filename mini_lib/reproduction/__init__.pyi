# The public names, for `lazy_loader` and for type checkers.
from .cells import Cell as Cell, cells_of as cells_of
from .claims import Claim as Claim, Judgement as Judgement, judge as judge, load_claims as load_claims
from .comparison import Comparison as Comparison, Measured as Measured, compare as compare
from .pages import write_pages as write_pages
from .records import RecordConflict as RecordConflict, Records as Records
from .tables import Printed as Printed, printed as printed
