"""The mechanisms of the study by name, their sizes, and the networks around them.

A mechanism maps any sequence of vectors [B, T, D] to logits [B, C]. Its name has what was done to it: "fixed",
"tied" or "learned", of the relation; "open", of the same network without its bottleneck.
"""

import inspect
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from mini_lib.datasets import glyphs
from mini_lib.errors import UsageError, check_names
from mini_lib.esbn.esbn import ESBN
from mini_lib.esbn.network import EPSILON, check_integers, standardize
from mini_lib.esbn.recurrent_baselines import LSTM
from mini_lib.esbn.relational_baselines import Transformer
from mini_lib.grid.mechanisms import RELATIONS, Abstractor, CoRelNet, Differences, KanervaReader, Pointer
from mini_lib.grid.tasks import HIDDEN
from mini_lib.module import Module, Noise, check_floats
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import ACTION_IDS, MAX_WORDS, PAD, WORD_IDS, Lengths, Words

Glyphs = Int[Tensor, "B T P"]
GIVEN = {"features", "classes", "length", "places"}  # arguments that the task sets
_WHOLE = partial(Abstractor, heads=1, hidden=128, answer_hidden=32)  # one relation, of whole objects
FACTORIAL: dict[str, Callable[..., nn.Module]] = {
    f"{name} {relation}{ending}": partial(make, relation=relation, **content)
    for name, make in (("abstractor", _WHOLE), ("corelnet", CoRelNet))
    for relation in RELATIONS
    for ending, content in (("", {}), (", open", {"content": True}))
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
WORD_FEATURES = 32  # of the vectors that a mechanism receives
# The sizes of `scan.runs.tutorial_settings`.
STREAM_SIZES = {"syntax": 64, "semantics": 38, "words": len(WORD_IDS), "actions": len(ACTION_IDS)}


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
            check_integers("ids", ids, (None, None, None), 0, HIDDEN)
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


class CommandNetwork(SyntacticAttention):
    """Syntactic Attention in which a mechanism takes the place of the syntax stream's two bidirectional LSTMs.

    The mechanism receives fixed orthogonal vectors, so that to a fixed relation two words are the same or
    different, and nothing else. A linear layer maps its state of each word to h_j, another their mean to the first
    query; its own last layers are not used. Commands are padded to the longest.

    Args:
        make_core: makes the mechanism, with `states`, [B, 11, D] to [B, 11, K]. It is called last, so that one seed
            gives twins the same of all the rest.
        features: D, at least the number of words.

    >>> from mini_lib.esbn.recurrent_baselines import LSTM
    >>> from mini_lib.scan.tasks import encode
    >>> network = CommandNetwork(lambda: LSTM(WORD_FEATURES, 1))
    >>> words, lengths, actions = encode(["jump", "look twice"]).tensors
    >>> network(words, lengths, actions).shape  # logits of every action
    torch.Size([2, 3, 9])
    """

    def __init__(self, make_core: Callable[[], nn.Module], features: int = WORD_FEATURES):
        super().__init__(**STREAM_SIZES)
        if features < STREAM_SIZES["words"]:
            raise UsageError(f"{STREAM_SIZES['words']} words need as many features, got {features}")
        self.neighbors = self.roles = self.ends = None  # of the stream that the mechanism replaces
        orthogonal = features**0.5 * torch.eye(STREAM_SIZES["words"], features)  # as large as normal vectors
        self.word = nn.Embedding.from_pretrained(orthogonal, freeze=True)
        with torch.device("meta"):  # where nothing is drawn
            size = make_core().states(torch.zeros(1, MAX_WORDS, features)).shape[-1]
        self.role = nn.Linear(size, 2 * STREAM_SIZES["syntax"])
        self.core = make_core()

    def roles_and_query(
        self, words: Words, lengths: Lengths, noise: Noise | None = None
    ) -> tuple[Float[Tensor, "B T K"], Float[Tensor, "B K"]]:
        """What the mechanism makes of the words: h_j and s_1; there is no noise in it."""
        padded = F.pad(words, (0, MAX_WORDS - words.shape[1]), value=WORD_IDS[PAD])
        roles = self.role(self.core.states(self.word(padded)))[:, : words.shape[1]]
        inside = (torch.arange(words.shape[1], device=words.device) < lengths[:, None]).to(roles.dtype)
        mean = (roles * inside[..., None]).sum(dim=1) / lengths[:, None]
        return roles, torch.relu(self.first_query(mean))


def syntactic_attention(sequential_semantics: bool = False) -> SyntacticAttention:
    """Syntactic Attention itself; or its twin without a bottleneck, where a word's meaning depends on its neighbors.

    One state of PyTorch's generator gives both the same of all that they share.
    """
    if not sequential_semantics:
        return SyntacticAttention(**STREAM_SIZES)
    before = torch.get_rng_state()
    shared = SyntacticAttention(**STREAM_SIZES).state_dict()
    torch.set_rng_state(before)
    network = SyntacticAttention(sequential_semantics=True, **STREAM_SIZES)
    network.load_state_dict(shared, strict=False)
    return network
