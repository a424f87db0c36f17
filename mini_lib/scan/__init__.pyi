# The public names, for `lazy_loader` and for type checkers.
from . import (
    analysis as analysis,
    cnn as cnn,
    grammar as grammar,
    recipes as recipes,
    runs as runs,
    tasks as tasks,
)
from .analysis import (
    accuracy_swapping as accuracy_swapping,
    attend as attend,
    dictionary as dictionary,
    follow as follow,
    two_commands as two_commands,
)
from .cnn import CNN as CNN
from .grammar import (
    commands as commands,
    derive as derive,
    interpret as interpret,
    parse as parse,
    phrases as phrases,
)
from .gru_attention import GRUAttention as GRUAttention
from .li import LiNetwork as LiNetwork
from .meta_seq2seq import MetaSeq2Seq as MetaSeq2Seq
from .runs import (
    Settings as Settings,
    accuracy as accuracy,
    answers as answers,
    build as build,
    paper_settings as paper_settings,
    tutorial_settings as tutorial_settings,
)
from .syntactic_attention import (
    StreamsTrace as StreamsTrace,
    SyntacticAttention as SyntacticAttention,
    loss as loss,
)
from .tasks import (
    SPLITS as SPLITS,
    Examples as Examples,
    Split as Split,
    decode as decode,
    encode as encode,
    exactly_right as exactly_right,
    get_split as get_split,
)
