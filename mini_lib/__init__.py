"""mini_lib: four cognitive-science papers as small, tested PyTorch networks.

Networks, memories, tasks and training by name; each is loaded when it is first asked for.
"""

from mini_lib.lazy import lazy_names

__version__ = "0.1.0"

# name -> the module in which it lives, and its name there if that is another
_FACE = {
    "train": ".training",
    "TrainingRun": ".training",
    "trained": ".weights",
    "UsageError": ".errors",
    # Emergent symbols: Webb, Sinha and Cohen (2021)
    "ESBN": ".esbn.models",
    "LSTM": ".esbn.models",
    "MNM": ".esbn.models",
    "NTM": ".esbn.models",
    "PrediNet": ".esbn.models",
    "RelationNet": ".esbn.models",
    "TemporalContextNorm": ".esbn.models",
    "TemporalRelationNet": ".esbn.models",
    "Transformer": ".esbn.models",
    "make_problems": ".esbn.tasks",
    # Syntactic Attention: Russin et al. (2020)
    "CNN": ".scan.models",
    "GRUAttention": ".scan.models",
    "LiNetwork": ".scan.models",
    "SyntacticAttention": ".scan.models",
    "get_split": ".scan.tasks",
    "interpret": ".scan.grammar",
    # Function learning: Segert and Cohen (2023)
    "OneDTransformer": ".functions.models",
    "RelationalTransformer": ".functions.models",
    "extrapolate": ".functions.extrapolation",
    "sample_curves": (".functions.tasks", "sample"),
    # Product Kanerva Machines: Marblestone, Wu and Wayne (2020)
    "MixtureKanerva": ".kanerva.network",
    "ProductKanerva": ".kanerva.network",
    "ProductMemory": ".kanerva.product_memory",
    "sample_episodes": (".kanerva.tasks", "sample"),
    # One grid: mechanisms of others, Altabaa et al. (2024) and Kerg et al. (2022)
    "Abstractor": ".grid.models",
    "CoRelNet": ".grid.models",
}

__all__ = [*_FACE]
__getattr__, __dir__ = lazy_names(__name__, _FACE)
