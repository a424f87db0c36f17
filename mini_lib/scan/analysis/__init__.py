"""What is measured inside a trained Syntactic Attention, and where it goes wrong."""

from mini_lib.scan.analysis.attention import (
    CommandAttention,
    OwnWord,
    Steps,
    attend,
    follow,
    looked_at,
    own_word,
)
from mini_lib.scan.analysis.errors import (
    FirstErrors,
    by_form,
    construction,
    describe,
    first_errors,
    position,
    substitutions,
)
from mini_lib.scan.analysis.streams import (
    Dictionary,
    Leak,
    accuracy_with_semantics_of,
    accuracy_with_syntax_of,
    dictionary,
    leak,
    role_similarity,
    two_commands,
)
from mini_lib.scan.analysis.tables import Share, Table

__all__ = [
    "CommandAttention",
    "Dictionary",
    "FirstErrors",
    "Leak",
    "OwnWord",
    "Share",
    "Steps",
    "Table",
    "accuracy_with_semantics_of",
    "accuracy_with_syntax_of",
    "attend",
    "by_form",
    "construction",
    "describe",
    "dictionary",
    "first_errors",
    "follow",
    "leak",
    "looked_at",
    "own_word",
    "position",
    "role_similarity",
    "substitutions",
    "two_commands",
]
