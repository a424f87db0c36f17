# The public names, for `lazy_loader` and for type checkers.
from . import esbn as esbn, functions as functions, grid as grid, kanerva as kanerva, scan as scan
from .errors import UsageError as UsageError
from .esbn.models import (
    ESBN as ESBN,
    LSTM as LSTM,
    MNM as MNM,
    NTM as NTM,
    PrediNet as PrediNet,
    RelationNet as RelationNet,
    TemporalContextNorm as TemporalContextNorm,
    TemporalRelationNet as TemporalRelationNet,
    Transformer as Transformer,
)
from .esbn.tasks import make_problems as make_problems
from .files import load as load, trained as trained
from .functions.extrapolation import extrapolate as extrapolate
from .functions.models import (
    OneDTransformer as OneDTransformer,
    RelationalTransformer as RelationalTransformer,
)
from .functions.tasks import sample_curves as sample_curves
from .grid.models import Abstractor as Abstractor, CoRelNet as CoRelNet
from .kanerva.network import MixtureKanerva as MixtureKanerva, ProductKanerva as ProductKanerva
from .kanerva.product_memory import ProductMemory as ProductMemory
from .kanerva.tasks import sample_episodes as sample_episodes
from .scan.grammar import interpret as interpret
from .scan.models import (
    CNN as CNN,
    GRUAttention as GRUAttention,
    LiNetwork as LiNetwork,
    SyntacticAttention as SyntacticAttention,
)
from .scan.tasks import get_split as get_split
from .training import TrainingRun as TrainingRun, train as train

__version__: str
