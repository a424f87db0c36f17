"""The ledger of a paper: where its equations, tables, figures and claims stand in code, tests and book.

A wing's `paper.toml` holds a `[[row]]` for each of them but the claims, whose rows are made from claims.json; a
`[[detail]]` for everything that the paper leaves open or states otherwise than its code; and a
`[renaming.NETWORK]` of the parameters of the authors' code. `check` finds faults.
"""

import ast
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from importlib import resources
from pathlib import Path

from mini_lib.errors import check_names, unknown_name_error
from mini_lib.reproduction.claims import load_claims
from mini_lib.reproduction.comparison import caption, table_name

PARTS = ("row", "detail", "renaming", "claims_test")
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
TAG = re.compile(r"#\s*((?:Algorithm|Eq\.)\s+\d+[\w.]*)")


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

    def __post_init__(self):
        check_names("kind of variant", [self.kind], KINDS)


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
    """All of a wing's `paper.toml`, with a row for each claim; renamings are by the networks that they are of."""

    paper: str
    rows: tuple[Row, ...]
    details: tuple[Detail, ...] = ()
    renamings: Mapping[str, tuple[Renaming, ...]] = field(default_factory=dict)

    def title(self, table: str) -> str:
        """What a table or figure such as "esbn.table9" shows, in our words; empty where nothing says so."""
        named = (row.what for row in self.rows if row.number == table_name(table))
        return caption(table) or next(named, "")


def load(paper: str) -> Ledger:
    """The ledger of a wing."""
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
    for name in tables:
        if name not in PARTS:
            raise unknown_name_error("part of a ledger", name, PARTS)
    rows = [_entry(Row, row) for row in tables.get("row", ())]
    rows += [
        Row(claim.id, claim.statement, CLAIMS_CODE, tables.get("claims_test", CLAIMS_TEST), CLAIMS_PAGE)
        for claim in load_claims()
        if claim.paper == paper
    ]
    details = tuple(_entry(Detail, detail) for detail in tables.get("detail", ()))
    renamings = {
        network: tuple(_renaming(theirs, ours) for theirs, ours in pairs.items())
        for network, pairs in tables.get("renaming", {}).items()
    }
    return Ledger(paper, tuple(rows), details, renamings)


def _renaming(theirs: str, ours: str | dict) -> Renaming:
    return _entry(Renaming, {"theirs": theirs} | ({"ours": ours} if isinstance(ours, str) else ours))


def _entry(kind: type, entry: dict):
    names = [field.name for field in fields(kind)]
    for name in entry:
        if name not in names:
            raise unknown_name_error(f"field of a {kind.__name__.lower()}", name, names)
    missing = [field.name for field in fields(kind) if field.default is MISSING and field.name not in entry]
    if missing:
        first = next(iter(entry.values()), "")
        raise ValueError(f"the ledger's {kind.__name__.lower()} {first!r} lacks {', '.join(missing)}")
    return kind(**entry)


def check(ledger: Ledger, root: Path, required: Iterable[str] = ()) -> list[str]:
    """Everything in which a wing's ledger and code, tests and pages below `root` are out of step, a sentence each.

    Numbers that are `required`, such as every printed table and every claim, must have a row.
    """
    toc = (root / "book" / "_toc.yml").read_text(encoding="utf-8")
    pages = {str(Path(page).with_suffix("")) for page in re.findall(r"(?:file|root):\s*(\S+)", toc)}
    problems = [f"{row.number}: {problem}" for row in ledger.rows for problem in _problems(row, root, pages)]
    numbers = [row.number for row in ledger.rows]
    problems += [f"{number}: two rows" for number in dict.fromkeys(numbers) if numbers.count(number) > 1]
    problems += [
        f"{number}: no row" for number in dict.fromkeys([*required, *_gaps(numbers)]) if number not in numbers
    ]
    return problems + _tags_without_row(ledger)


def _problems(row: Row, root: Path, pages: set[str]) -> list[str]:
    problems = []
    source, mentions = _source(row.code)
    if source is None:
        problems.append(f"no code {row.code!r}")
    elif row.tag and row.tag not in (source if row.tag.startswith("#") else mentions):
        problems.append(f"the tag {row.tag!r} does not stand in {row.code}")
    file, _, function = row.test.partition("::")
    if not (root / file).is_file():
        problems.append(f"no test file {file!r}")
    elif function and function not in _functions(root / file):
        problems.append(f"no test {function!r} in {file}")
    if str(Path(row.page).with_suffix("")) not in pages:
        problems.append(f"the page {row.page!r} is not in the book's contents")
    return problems


def _source(code: str) -> tuple[str | None, str]:
    """The source of a "module:object", and that with its module's docstring; None if it is not there."""
    module_name, _, path = code.partition(":")
    try:
        module = found = importlib.import_module(module_name)
        for name in path.split(".") if path else ():
            found = getattr(found, name)
    except (ImportError, AttributeError):
        return None, ""
    try:
        source = inspect.getsource(found)
    except TypeError:  # a constant has no source of its own
        source = inspect.getsource(module)
    return source, f"{module.__doc__}\n{source}"


@cache
def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def _gaps(numbers: list[str]) -> list[str]:
    """Every "Table n", "Figure n" and "Eq. n" up to the highest that is there."""
    found = [re.fullmatch(r"(Table|Figure|Eq\.) (\d+)", number) for number in numbers]
    highest: dict[str, int] = {}
    for match in filter(None, found):
        highest[match[1]] = max(highest.get(match[1], 0), int(match[2]))
    return [f"{kind} {number}" for kind, last in highest.items() for number in range(1, last + 1)]


def _tags_without_row(ledger: Ledger) -> list[str]:
    """Tags in the wing's code that no row knows."""
    known = {match[1] for row in ledger.rows if (match := TAG.search(row.tag))}
    package = Path(str(resources.files("mini_lib")))
    folders = package / ledger.paper, package / "reproduction" / ledger.paper
    return [
        f"{path.name}: the tag '# {tag}' has no row"
        for path in sorted(path for folder in folders for path in folder.rglob("*.py"))
        for tag in sorted(set(TAG.findall(path.read_text(encoding="utf-8"))) - known)
    ]


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table; line ends and bars inside a cell are made safe."""
    lines = [list(head), *([str(value) for value in row] for row in rows)]
    lines = [[re.sub(r"[ \n]+", " ", text).replace("|", "\\|").strip() for text in line] for line in lines]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def index_page(ledgers: Iterable[tuple[str, Ledger]], up: str = "../../") -> str:
    """The index to the paper of each (title, ledger), as MyST; `up` leads from the page to the root."""
    parts = [
        "# Index to the paper",
        "Where everything stands that the paper numbers, defines or claims: the code that does it, the test "
        "that checks it, the page that shows it. Made from the ledger, `paper.toml`; a test keeps it in step.",
    ]
    for title, ledger in ledgers:
        parts.append(f"## {title}")
        rows = [(row.number, row.what, _where(row, up)) for row in ledger.rows]
        parts.append(table(("in the paper", "what", "code, test, page"), rows))
    return "\n\n".join(parts) + "\n"


def details_page(ledgers: Iterable[tuple[str, Ledger]], effects: dict[str, str]) -> str:
    """What each (title, ledger) finds unsaid, as MyST; `effects` says what each variant measured."""
    parts = [
        "# What the paper does not say",
        "A paper cannot say everything, and a released program sometimes does something else. Here is every "
        "such place that we know of: what the paper says, what its authors' code does, what fills the tables "
        "of this book, and why. Where the other reading can be run, its option is named, and what it changes "
        "is computed from our records. Additions of ours, controls and smaller tasks stand here too, under these "
        "names.",
    ]
    for title, ledger in ledgers:
        parts.append(f"## {title}")
        parts += [_detail(detail, effects) for detail in ledger.details]
        parts.append(_renamings(ledger))
    return "\n\n".join(filter(None, parts)) + "\n"


def _detail(detail: Detail, effects: dict[str, str]) -> str:
    effect = detail.effect or effects.get(detail.variant) or "not measured yet."
    items = [
        ("Paper", detail.paper),
        ("Authors' code", detail.released),
        ("Here", f"{detail.ours} {detail.why}"),
    ]
    items += [(KINDS[detail.kind], detail.option)] if detail.option else []
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


def _where(row: Row, up: str) -> str:
    """Code, test and page below one another, without the folders that all of them share."""
    file, _, function = row.test.removeprefix("tests/").partition("::")
    test = _code(file) + (f": *{function.removeprefix('test_').replace('_', ' ')}*" if function else "")
    page = f"[{Path(row.page).stem.replace('_', ' ')}]({up}{row.page})"
    return "<br>".join((_code(row.code.removeprefix("mini_lib.")), test, page))
