# The public names, for `lazy_loader` and for type checkers.
from .analysis import ConstantSignal as ConstantSignal, dissociation as dissociation, kept as kept
from .commands import CommandNetwork as CommandNetwork
from .networks import CurveNetwork as CurveNetwork, GlyphNetwork as GlyphNetwork, build_core as build_core
from .others import KanervaReader as KanervaReader, Pointer as Pointer
from .relations import Abstractor as Abstractor, CoRelNet as CoRelNet, Differences as Differences
from .runs import build as build, mechanisms as mechanisms
