"""Load weights of the released code of the paper: github.com/jlrussin/syntactic_attention."""

from collections.abc import Mapping

from torch import Tensor

from mini_lib.reproduction.authors import load_renamed
from mini_lib.scan.syntactic_attention import SyntacticAttention


def load_syntactic_attention(
    network: SyntacticAttention, state_dict: Mapping[str, Tensor]
) -> SyntacticAttention:
    """Give `network` the weights of a network of the authors' code, saved with one layer a module.

    Build `network` first with the options of the run: `sequential_semantics` is their --seq_sem, `syntax_action`
    --syn_act, `nonlinear_semantics` --sem_mlp. Word and action numbers are the same. What does not fit is named, and
    then nothing is changed.
    """
    return load_renamed(network, state_dict, "scan", ["syntactic_attention"])
