# The public names, for `lazy_loader` and for type checkers.
from .mechanisms import (
    Abstractor as Abstractor,
    CoRelNet as CoRelNet,
    Differences as Differences,
    KanervaReader as KanervaReader,
    Pointer as Pointer,
)
from .networks import (
    CommandNetwork as CommandNetwork,
    CurveNetwork as CurveNetwork,
    GlyphNetwork as GlyphNetwork,
    build_core as build_core,
)
from .runs import build as build, models_for as models_for
