# The public names, for `lazy_loader` and for type checkers.
from . import analysis as analysis, generation as generation, memory as memory, tasks as tasks
from .evaluation import evaluate as evaluate, run_episodes as run_episodes
from .images import (
    ConvDecoder as ConvDecoder,
    ConvEncoder as ConvEncoder,
    MLPDecoder as MLPDecoder,
    MLPEncoder as MLPEncoder,
    ResidualEncoder as ResidualEncoder,
)
from .network import (
    KanervaTrace as KanervaTrace,
    MixtureKanerva as MixtureKanerva,
    ProductKanerva as ProductKanerva,
)
from .objective import Loss as Loss, nats as nats, terms as terms
from .product_memory import ProductMemory as ProductMemory
from .runs import (
    Settings as Settings,
    build as build,
    paper_settings as paper_settings,
    tutorial_settings as tutorial_settings,
)
from .tasks import sample_episodes as sample_episodes
