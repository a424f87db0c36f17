"""Read what a paper's `paper.toml` says of its replication.

It holds a `[[row]]` for each equation, table and figure, with the code and the test for it (rows of claims are made
from claims.json); a `[[detail]]` for each thing that the paper leaves open or states otherwise than its code; a
`[renaming.NETWORK]` of the parameters of the authors' code; and a `[[finding]]` for what we found beside the numbers
that are reported, for readers of the file.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from mini_lib.errors import check_names
from mini_lib.reproduction.cells import PAPERS, TUTORIAL, size_and_name
from mini_lib.reproduction.claims import load_claims
from mini_lib.reproduction.tables import about, table_name

CLAIMS_CODE = "mini_lib.reproduction.claims:judge"
CLAIMS_TEST = "tests/reproduction/test_claims.py"  # unless `claims_test` names another
# What a variant can be.
KINDS = {
    "reading": "another interpretation",
    "addition": "an addition of ours",
    "control": "a control of ours",
    "task": "a smaller task",
    "pictures": "the paper's pictures",
}


@dataclass(frozen=True)
class Row:
    """Something that the paper numbers, defines or claims."""

    number: str  #: its place in the paper, such as "Algorithm 1, line 6", "A.3.4", "Table 9" or a claim's id.
    what: str  #: what it is, in our words.
    code: str  #: "module:object" that implements it, or declares its runs.
    test: str  #: ``file`` or ``file::function`` that checks it.
    tag: str = ""  #: a comment in the code, or a mention in a docstring, that leads back to the row.
    figure: str = ""  #: the tag of the notebook's cell that draws it, where the number does not give it.
    drawn: str = ""  #: what is drawn there, where it is not what the paper has.
    undrawn: str = ""  #: why no chapter draws it, where it is a figure.
    differs: str = ""  #: in what the drawing differs from the paper's figure.


@dataclass(frozen=True)
class Detail:
    """Something that the paper leaves open, or states otherwise than the authors' code does."""

    about: str  #: the subject in a few words.
    paper: str  #: what the paper says.
    released: str  #: what the authors' code does.
    ours: str  #: what fills the cells here.
    why: str  #: why that.
    option: str = ""  #: how to get the variant here, if one can.
    variant: str = ""  #: the name of the cells that measure it, if there are any.
    kind: str = "reading"  #: what the variant is, one of `KINDS`; a control is an oracle or longer training.
    effect: str = ""  #: what it changes, where that needs no run.
    brief: str = ""  #: what the page says of it, if it is one of those that change a result most.


@dataclass(frozen=True)
class Renaming:
    """A parameter of the authors' code, and ours of the same meaning.

    In `paper.toml` it is `theirs = "ours"`, or `theirs = {ours = "...", note = "...", unused = "..."}`.
    """

    theirs: str  #: its name there; "*" stands for any part of the name, the same in both.
    ours: str = ""  #: its name here, with "[0]" or "[1]" for a half of a tensor that holds both directions.
    note: str = ""  #: what else one has to know.
    unused: str = ""  #: why theirs has no part in the function, where our network has no `ours`.


@dataclass(frozen=True)
class Ledger:
    """All of a paper's `paper.toml`, with a row for each claim; renamings are by the networks that they are of."""

    paper: str
    rows: tuple[Row, ...]
    details: tuple[Detail, ...]
    renamings: Mapping[str, tuple[Renaming, ...]]

    def title(self, table: str) -> str:
        """What a table or figure such as "esbn.table9" shows, in our words; empty where nothing says so."""
        named = (row.what for row in self.rows if row.number == table_name(table))
        return about(table).get("caption") or next(named, "")


@cache
def load(paper: str) -> Ledger:
    """The ledger of a paper."""
    check_names("paper", [paper], PAPERS)
    file = resources.files("mini_lib.reproduction").joinpath(paper, "paper.toml")
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    rows = [Row(**row) for row in tables.get("row", ())]
    test = tables.get("claims_test", CLAIMS_TEST)
    claims = (claim for claim in load_claims() if claim.paper == paper)
    rows += [Row(claim.id, claim.statement, CLAIMS_CODE, test) for claim in claims]
    details = tuple(Detail(**detail) for detail in tables.get("detail", ()))
    renamings = {
        network: tuple(
            Renaming(theirs, **({"ours": ours} if isinstance(ours, str) else ours))
            for theirs, ours in pairs.items()
        )
        for network, pairs in tables.get("renaming", {}).items()
    }
    return Ledger(paper, tuple(rows), details, renamings)


def kind_of(paper: str, variant: str) -> str:
    """What a variant is, a key of `KINDS`; without its scale, and a reading if the ledger does not name it."""
    return next((each.kind for each in load(paper).details if variant and each.variant == variant), "reading")


def variant_in_words(paper: str, variant: str) -> str:
    """Such as "small; balanced at first, an addition of ours" for "tutorial, balanced at first"."""
    scale, name = size_and_name(variant)
    kind = kind_of(paper, name)
    words = name.replace("small", "a smaller task", 1) if kind == "task" else f"{name}, {KINDS[kind]}"
    return "; ".join(["small"] * (scale == TUTORIAL) + [words] * bool(name))
