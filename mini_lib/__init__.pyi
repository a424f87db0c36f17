# The public names, for `lazy_loader` and for type checkers.
from . import esbn as esbn, functions as functions, grid as grid, kanerva as kanerva, scan as scan
from .errors import UsageError as UsageError
from .esbn.esbn import ESBN as ESBN
from .esbn.network import TemporalContextNorm as TemporalContextNorm
from .esbn.recurrent_baselines import LSTM as LSTM, MNM as MNM, NTM as NTM
from .esbn.relational_baselines import (
    PrediNet as PrediNet,
    RelationNet as RelationNet,
    TemporalRelationNet as TemporalRelationNet,
    Transformer as Transformer,
)
from .esbn.tasks import make_problems as make_problems
from .files import TRAINED as TRAINED, load as load, trained as trained
from .functions.extrapolation import extrapolate as extrapolate
from .functions.tasks import sample_curves as sample_curves
from .functions.transformer import (
    OneDTransformer as OneDTransformer,
    RelationalTransformer as RelationalTransformer,
)
from .grid.mechanisms import Abstractor as Abstractor, CoRelNet as CoRelNet
from .kanerva.network import MixtureKanerva as MixtureKanerva, ProductKanerva as ProductKanerva
from .kanerva.product_memory import ProductMemory as ProductMemory
from .kanerva.tasks import sample_episodes as sample_episodes
from .scan.cnn import CNN as CNN
from .scan.grammar import interpret as interpret
from .scan.gru_attention import GRUAttention as GRUAttention
from .scan.li import LiNetwork as LiNetwork
from .scan.syntactic_attention import SyntacticAttention as SyntacticAttention
from .scan.tasks import get_split as get_split
from .training import TrainingRun as TrainingRun, train as train

__version__: str
