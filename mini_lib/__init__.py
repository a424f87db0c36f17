"""mini_lib: four cognitive-science papers as small, tested PyTorch networks.

Networks, memories, tasks and training by name; each is loaded when it is first asked for.
"""

from importlib import import_module

__version__ = "0.1.0"

# name -> where it lives, and its name there if that is another
_FACE = {
    "train": "training",
    "TrainingRun": "training",
    "trained": "weights",
    # Emergent symbols: Webb, Sinha and Cohen (2021)
    "ESBN": "esbn.models",
    "LSTM": "esbn.models",
    "MNM": "esbn.models",
    "NTM": "esbn.models",
    "PrediNet": "esbn.models",
    "RelationNet": "esbn.models",
    "TemporalContextNorm": "esbn.models",
    "TemporalRelationNet": "esbn.models",
    "make_problems": "esbn.tasks",
    # Syntactic Attention: Russin et al. (2020)
    "CNN": "scan.models",
    "GRUAttention": "scan.models",
    "LiNetwork": "scan.models",
    "SyntacticAttention": "scan.models",
    "get_split": "scan.tasks",
    "interpret": "scan.grammar",
    # Function learning: Segert and Cohen (2023)
    "OneDTransformer": "functions.models",
    "RelationalTransformer": "functions.models",
    "extrapolate": "functions.extrapolation",
    "sample_curves": ("functions.tasks", "sample"),
    # Product Kanerva Machines: Marblestone, Wu and Wayne (2020)
    "MixtureKanerva": "kanerva.models",
    "ProductKanerva": "kanerva.models",
    "ProductMemory": "kanerva.memory",
    "sample_episodes": ("kanerva.tasks", "sample"),
}

__all__ = [*_FACE]


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for (PEP 562)."""
    if name not in _FACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(_FACE)}")
    place = _FACE[name]
    module, own = (place, name) if isinstance(place, str) else place
    value = getattr(import_module(f"{__name__}.{module}"), own)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FACE})
