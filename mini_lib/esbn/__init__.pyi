# The public names, for `lazy_loader` and for type checkers.
from .analysis import (
    Keys as Keys,
    collect_keys as collect_keys,
    decode_steps as decode_steps,
    fit_plane as fit_plane,
    project as project,
)
from .esbn import ESBN as ESBN, ESBNTrace as ESBNTrace
from .network import (
    ConvEncoder as ConvEncoder,
    MLPEncoder as MLPEncoder,
    Network as Network,
    RandomEncoder as RandomEncoder,
    TemporalContextNorm as TemporalContextNorm,
)
from .recurrent_baselines import LSTM as LSTM, MNM as MNM, NTM as NTM
from .relational_baselines import (
    PrediNet as PrediNet,
    RelationNet as RelationNet,
    TemporalRelationNet as TemporalRelationNet,
    Transformer as Transformer,
)
from .runs import build as build, evaluate as evaluate, paper_settings as paper_settings, predict as predict
from .tasks import (
    TASKS as TASKS,
    Problems as Problems,
    TaskData as TaskData,
    make_problems as make_problems,
)
