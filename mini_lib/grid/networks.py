"""The mechanisms of the study by name, their sizes, and the networks around them.

A mechanism maps any sequence of vectors [B, T, D] to logits [B, C]. Its name has what was done to it: "fixed",
"tied" or "learned", of the relation; "open", of the same network without its wall.
"""

import inspect
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mini_lib.datasets import glyphs
from mini_lib.errors import check_names
from mini_lib.esbn.esbn import ESBN
from mini_lib.esbn.network import EPSILON, check_integers, standardize
from mini_lib.esbn.recurrent_baselines import LSTM
from mini_lib.esbn.relational_baselines import Transformer
from mini_lib.grid.others import KanervaReader, Pointer
from mini_lib.grid.relations import RELATIONS, Abstractor, CoRelNet, Differences
from mini_lib.module import Module, check_floats

Glyphs = Int[Tensor, "B T P"]
GIVEN = {"features", "classes", "length", "places"}  # arguments that the task sets
_WHOLE = partial(Abstractor, heads=1, hidden=128, answer_hidden=32)  # one relation, of whole objects
FACTORIAL: dict[str, Callable[..., nn.Module]] = {
    f"{name} {relation}{wall}": partial(make, relation=relation, **content)
    for name, make in (("abstractor", _WHOLE), ("corelnet", CoRelNet))
    for relation in RELATIONS
    for wall, content in (("", {}), (", open", {"content": True}))
}
MODELS = FACTORIAL | {
    "abstractor learned from fixed": partial(_WHOLE, relation="learned", from_identity=True),
    "differences": Differences,
    "differences, open": partial(Differences, content=True),
    "esbn": partial(ESBN, key_size=64),
    "pointer": Pointer,
    "kanerva": KanervaReader,
    "lstm": LSTM,
    "transformer": Transformer,
    "abstractor": Abstractor,
}
# Of commands, the twins whose meanings are shielded from a word's neighbors, or not: both streams are their own.
STREAMS = {"syntactic attention": False, "sequential semantics": True}
# Sizes (`syntax` of the pointer, `hidden` of the others) with which a mechanism has about 110,000 numbers to learn,
# of commands 83,000, as in the syntax stream of Syntactic Attention.
SIZES: dict[str, dict[str, int]] = {
    "distribution_of_three": {"esbn": 128, "pointer": 58, "kanerva": 3309, "lstm": 112, "transformer": 35},
    "rmts": {"esbn": 128, "pointer": 58, "kanerva": 5042, "lstm": 112, "transformer": 37},
    "match": {"esbn": 128, "pointer": 62, "kanerva": 2948, "lstm": 115, "transformer": 74},
    "name": {"esbn": 128, "lstm": 115, "transformer": 74},
    "curves": {"esbn": 128, "pointer": 58, "kanerva": 2786, "lstm": 112, "transformer": 38},
    "commands": {"esbn": 108, "lstm": 128, "transformer": 1216},
}


def build_core(
    model: str, task: str, *, features: int, classes: int, length: int, places: tuple = (), **options
) -> nn.Module:
    """A mechanism by its name, of its size on a task, with weights from torch's global generator.

    `places` are the steps that may be the answer, for the pointer. `options` are arguments of its constructor.

    >>> core = build_core("esbn", "rmts", features=128, classes=2, length=6)
    >>> core(torch.randn(5, 6, 128)).shape, core.states(torch.randn(5, 6, 128)).shape
    (torch.Size([5, 2]), torch.Size([5, 6, 65]))
    """
    check_names("model", [model], MODELS)
    check_names("task", [task], SIZES)
    known = inspect.signature(MODELS[model]).parameters
    check_names(f"option of {model}", options, sorted(known.keys() - GIVEN))
    own = {"length": length, "places": places}
    if model in SIZES[task]:
        own["syntax" if model == "pointer" else "hidden"] = SIZES[task][model]
    if model.startswith("abstractor "):
        own |= {"size": features, "head_size": features}
        own |= {"hidden": 1200} if task == "commands" else {}  # whose vectors are short
    own = {name: value for name, value in own.items() if name in known}
    return MODELS[model](features=features, classes=classes, **own | options)


class GlyphNetwork(Module):
    """Codes of P glyphs side by side in each step; normalization over the steps; the mechanism `core`.

    The encoder is not trained: its codes of the 100 glyphs are computed once, standardized over all of them. With
    `trained` it learns with the rest, as in the ESBN paper.
    """

    def __init__(self, encoder: nn.Module, norm: nn.Module, core: nn.Module, trained: bool = False):
        super().__init__()
        self.norm, self.core = norm, core
        self.encoder = encoder if trained else None
        self.register_buffer("images", glyphs("rendered") if trained else None, persistent=False)
        with torch.no_grad():
            codes = None if trained else with_hidden(standardize(encoder(glyphs("rendered")), dim=0))
        self.register_buffer("codes", codes)

    def embed(self, ids: Glyphs, shown: Int[Tensor, "S"] | None = None) -> Float[Tensor, "B T PD"]:
        """The mechanism's input. With `shown`, ids count these glyphs, so that each is encoded once."""
        if shown is None:
            check_integers("ids", ids, (None, None, None), 0, len(glyphs()))  # the last is the hidden glyph
        codes = self.codes
        if self.encoder is not None:
            codes = with_hidden(self.encoder(self.images if shown is None else self.images[shown]))
        return self.norm(codes[ids].flatten(2))

    def forward(self, ids: Glyphs, shown: Int[Tensor, "S"] | None = None) -> Float[Tensor, "B C"]:
        """Logits of each problem; the arguments are those of `embed`."""
        return self.core(self.embed(ids, shown))


class CurveNetwork(Module):
    """Each value of a curve times one vector, plus another; then the mechanism, whose output is one number.

    It predicts the step from the last value to the next. With `normalize` the input is the standardized curve, and
    the output is scaled back.
    """

    def __init__(self, read: nn.Module, core: nn.Module, normalize: bool = False):
        super().__init__()
        self.read, self.core, self.normalize = read, core, normalize

    def embed(self, y: Float[Tensor, "B N"]) -> Float[Tensor, "B N D"]:
        """The mechanism's input."""
        return self.read((standardize(y, dim=1) if self.normalize else y)[..., None])

    def forward(self, y: Float[Tensor, "B N"]) -> Float[Tensor, "B"]:
        """y_{N+1} - y_N as predicted."""
        check_floats(y, self, "a batch of curves")
        step = self.core(self.embed(y))[:, 0]
        variance = y.to(torch.promote_types(y.dtype, torch.float32)).var(dim=1)
        return step * (variance + EPSILON).sqrt().to(y.dtype) if self.normalize else step


def with_hidden(codes: Float[Tensor, "P D"]) -> Float[Tensor, "Q D"]:
    """The codes, and one of zeros for the glyph that is not shown."""
    return torch.cat([codes, torch.zeros_like(codes[:1])])
