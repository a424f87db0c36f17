"""The ledger of a paper: where its equations, tables, figures and claims stand in code, tests and book.

A paper's `paper.toml` holds a `[[row]]` for each of them but the claims, whose rows are made from claims.json; a
`[[detail]]` for everything that the paper leaves open or states otherwise than its code; and a
`[renaming.NETWORK]` of the parameters of the authors' code.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from mini_lib.errors import unknown_name_error
from mini_lib.reproduction.claims import load_claims
from mini_lib.reproduction.tables import caption, table_name

CLAIMS_CODE = "mini_lib.reproduction.claims:judge"
CLAIMS_TEST = "tests/reproduction/test_claims.py"  # unless `claims_test` names another
CLAIMS_PAGE = "book/generated/paper_against_ours.md"
# What a variant can be, and what its tables are headed: other words for the paper, or something that is ours.
KINDS = {
    "reading": "Other reading",
    "addition": "Addition of ours",
    "control": "Control",
    "task": "Smaller task",
}


@dataclass(frozen=True)
class Row:
    """Something that the paper numbers, defines or claims."""

    number: str  #: where it stands there, such as "Algorithm 1, line 6", "A.3.4", "Table 9" or a claim's id.
    what: str  #: what it is, in our words.
    code: str  #: "module:object" that implements it, or declares its runs.
    test: str  #: ``file`` or ``file::function`` that checks it.
    page: str  #: the file of the book that shows it.
    #: what stands in the code, so that one finds the way back: a comment, or a mention in a docstring.
    tag: str = ""
    #: the tag of the notebook's cell that draws it, where the paper's number does not give it.
    figure: str = ""
    undrawn: str = ""  #: why no chapter draws it, where it is a figure.


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
    #: what the variant is: another "reading" of the paper, an "addition" of ours, a "control" (what an oracle or
    #: longer training would bring), or a smaller and easier "task".
    kind: str = "reading"
    effect: str = ""  #: what it changes, where that needs no run.
    #: the variant that its effect is counted from, "" for the default reading; None for the nearest one with cells.
    beside: str | None = None


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
    details: tuple[Detail, ...] = ()
    renamings: Mapping[str, tuple[Renaming, ...]] = field(default_factory=dict)

    def title(self, table: str) -> str:
        """What a table or figure such as "esbn.table9" shows, in our words; empty where nothing says so."""
        named = (row.what for row in self.rows if row.number == table_name(table))
        return caption(table) or next(named, "")


def load(paper: str) -> Ledger:
    """The ledger of a paper."""
    file = resources.files("mini_lib.reproduction").joinpath(paper, "paper.toml")
    if not file.is_file():
        raise unknown_name_error("paper", paper, papers())
    return read(paper, file.read_text(encoding="utf-8"))


@cache
def _kinds(paper: str) -> dict[str, str]:
    return {detail.variant: detail.kind for detail in load(paper).details if detail.variant}


def kind_of(paper: str, variant: str) -> str:
    """What a paper's variant is, a key of `KINDS`; `variant` without its scale, such as "balanced at first".

    One that the ledger does not name counts as a reading.
    """
    return _kinds(paper).get(variant, "reading")


def papers() -> list[str]:
    """The short names of all papers that have a ledger."""
    folders = resources.files("mini_lib.reproduction").iterdir()
    return sorted(each.name for each in folders if each.joinpath("paper.toml").is_file())


def read(paper: str, text: str) -> Ledger:
    """The ledger in the text of a `paper.toml`."""
    tables = tomllib.loads(text)
    rows = [Row(**row) for row in tables.get("row", ())]
    rows += [
        Row(claim.id, claim.statement, CLAIMS_CODE, tables.get("claims_test", CLAIMS_TEST), CLAIMS_PAGE)
        for claim in load_claims()
        if claim.paper == paper
    ]
    details = tuple(Detail(**detail) for detail in tables.get("detail", ()))
    renamings = {
        network: tuple(_renaming(theirs, ours) for theirs, ours in pairs.items())
        for network, pairs in tables.get("renaming", {}).items()
    }
    return Ledger(paper, tuple(rows), details, renamings)


def _renaming(theirs: str, ours: str | dict) -> Renaming:
    return Renaming(theirs, **({"ours": ours} if isinstance(ours, str) else ours))


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table; line ends and bars inside a cell are made safe."""
    lines = [list(head), *([str(value) for value in row] for row in rows)]
    lines = [[re.sub(r"[ \n]+", " ", text).replace("|", "\\|").strip() for text in line] for line in lines]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def index_page(ledgers: Iterable[tuple[str, Ledger]]) -> str:
    """The index to the paper of each (title, ledger), as MyST."""
    parts = [
        "# Index to the paper",
        "Where everything stands that the paper numbers, defines or claims: the code that does it, the test "
        "that checks it, the page that shows it. Made from the ledger, `paper.toml`; a test keeps it in step.",
    ]
    for title, ledger in ledgers:
        parts.append(f"## {title}")
        rows = [(row.number, row.what, _where(row)) for row in ledger.rows]
        parts.append(table(("in the paper", "what", "code, test, page"), rows))
    return "\n\n".join(parts) + "\n"


def details_page(ledgers: Iterable[tuple[str, Ledger]], effects: Mapping[str, Mapping[str, str]]) -> str:
    """What each (title, ledger) finds unsaid, as MyST; `effects` says, by paper, what each variant measured."""
    parts = [
        "# What the paper does not say",
        "A paper cannot say everything, and a released program sometimes does something else. Here is every "
        "such place that we know of: what the paper says, what its authors' code does, what fills the tables "
        "of this book, and why. Where the other reading can be run, its option is named, and what it changes "
        "is computed from our records. A name in quotes is that of the cells "
        "which measure it: `mini-lib compare TABLE --variants` lists them. Additions of ours, controls and smaller "
        "tasks stand here too, so labelled.",
    ]
    for title, ledger in ledgers:
        parts.append(f"## {title}")
        parts += [_detail(detail, effects.get(ledger.paper, {})) for detail in ledger.details]
        parts.append(_renamings(ledger))
    return "\n\n".join(filter(None, parts)) + "\n"


def _detail(detail: Detail, effects: Mapping[str, str]) -> str:
    effect = detail.effect or effects.get(detail.variant) or "not measured yet."
    items = [
        ("Paper", detail.paper),
        ("Authors' code", detail.released),
        ("Here", f"{detail.ours} {detail.why}"),
    ]
    name = f', "{detail.variant}"' if detail.variant else ""
    items += [(f"{KINDS[detail.kind]}{name}", detail.option)] if detail.option else []
    return f"### {detail.about}\n\n" + "\n".join(
        f"- *{name}:* {text}" for name, text in [*items, ("Effect", effect)]
    )


def _renamings(ledger: Ledger) -> str:
    if not ledger.renamings:
        return ""
    rows = [
        (network, _code(row.theirs), _code(row.ours), "; ".join(filter(None, (row.note, row.unused))))
        for network, renamings in ledger.renamings.items()
        for row in renamings
    ]
    text = (
        "### Parameters of the authors' code\n\nThe same parameters under other names. `*` stands for any part of "
        "a name; where ours is left empty, theirs has no part in the function."
    )
    return f"{text}\n\n{table(('network', 'theirs', 'ours', 'note'), rows)}"


def _code(name: str) -> str:
    return f"`{name}`" if name else ""


def _where(row: Row) -> str:
    """Code, test and page below one another, without the folders that all of them share."""
    file, _, function = row.test.removeprefix("tests/").partition("::")
    test = _code(file) + (f": *{function.removeprefix('test_').replace('_', ' ')}*" if function else "")
    page = f"[{Path(row.page).stem.replace('_', ' ')}](../../{row.page})"
    return "<br>".join((_code(row.code.removeprefix("mini_lib.")), test, page))
