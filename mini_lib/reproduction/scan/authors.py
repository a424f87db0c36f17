"""Load weights of the authors' released codes: github.com/jlrussin/syntactic_attention and github.com/yli1/CGPS.

Their parameters and ours are the same ones under other names, which stand in `paper.toml`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mini_lib.reproduction.authors import load_renamed
from mini_lib.scan.grammar import WORDS
from mini_lib.scan.li import LiNetwork
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import ACTION_IDS, EOS, SOS, WORD_IDS

LI_ACTIONS = tuple(action for action in list(ACTION_IDS)[:8] if action not in (SOS, EOS))


def load_syntactic_attention(
    network: SyntacticAttention, state_dict: Mapping[str, Tensor]
) -> SyntacticAttention:
    """Give `network` the weights of a network of the authors' code, saved with one layer a module.

    Build `network` first with the options of the run: `sequential_semantics` is their --seq_sem, `syntax_action`
    --syn_act, `nonlinear_semantics` --sem_mlp. Word and action numbers are the same. What does not fit is named, and
    then nothing is changed.
    """
    return load_renamed(network, state_dict, "scan", ["syntactic_attention"], "this SyntacticAttention")


def load_li(
    network: LiNetwork,
    variables: Mapping[str, Any],
    words: Sequence[str] = WORDS,
    actions: Sequence[str] = LI_ACTIONS,
) -> LiNetwork:
    """Give `network` the variables of a TensorFlow graph of the authors' code, as arrays by name.

    Build `network` first with the sizes of the run, and give none of their ablations: --single_representation leaves
    no trace in the variables if both embeddings have one size. The variables are `tf.trainable_variables()` by name,
    as `session.run` gives them, since their code saves none; ":0" at the end of a name is ignored. It numbers words
    and actions anew in every run: give them in their order from 1 on; 0 is the end.
    """
    for kind, given, known in (("words", words, WORDS), ("actions", actions, LI_ACTIONS)):
        if sorted(given) != sorted(known):
            raise ValueError(
                f"{kind} have to be {', '.join(known)} in the order of the run, not {', '.join(given)}"
            )
    word_rows = torch.tensor([0, *(words.index(word) + 1 for word in WORD_IDS if word in words)])
    order = [EOS, *actions]
    action_rows = torch.tensor([order.index(action) for action in ACTION_IDS if action in order])
    theirs = {}
    for name, value in variables.items():
        tensor = torch.from_numpy(np.array(value, dtype=np.float32))
        theirs[name.removesuffix(":0")] = _as_ours(name, tensor, word_rows, action_rows)
    return load_renamed(network, theirs, "scan", ["li"], "this LiNetwork")


def _as_ours(name: str, value: Tensor, word_rows: Tensor, action_rows: Tensor) -> Tensor:
    """Rows in our order, kernels transposed, gates from TensorFlow's order (i, g, f, o) into PyTorch's."""
    if "/Variable" in name:  # their tables of embeddings have no names of their own
        return value[word_rows] if len(value) == len(word_rows) else value
    value = value.mT if value.dim() == 2 else value
    if "lstm_cell" in name:
        i, g, f, o = value.chunk(4)
        return torch.cat([i, f, g, o])
    picked = "prediction_network" in name and len(value) == len(action_rows)
    return value[action_rows] if picked else value
