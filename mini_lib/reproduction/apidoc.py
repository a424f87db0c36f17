"""Lays out the API pages: shapes and defaults in signatures, parameters and a record's fields as lists, links."""

import dataclasses
import inspect
import pydoc
import re
import types
import typing
from collections.abc import Collection
from functools import cache
from pathlib import Path

from sphinx.pycode import ModuleAnalyzer

ENTRY = re.compile(r"^\.\. auto(?:class|function|exception):: (\S+)$", re.MULTILINE)
PARAMETER = re.compile(r"( *)([\w*, ]+): (.*)")
QUOTED = re.compile(r'(?<![`"\w])"(\w[\w ]*)"(?![`"\w])')  # a value that one types, and no typographic quotes
LINK = re.compile(r"(?<!`)`(\w+)`(?!`)")
ROOT = Path(__file__).parents[2]


@cache
def entries(folder: Path = ROOT / "book" / "api") -> dict[object, str]:
    """What the pages in a folder have an entry for, and the name that it is imported by."""
    names = [name for page in sorted(folder.glob("*.md")) for name in ENTRY.findall(page.read_text("utf-8"))]
    return {pydoc.locate(name): name for name in names}


def typed(annotation: object, known: dict[object, str]) -> str:
    """A tensor's shape, or the name of a class that has an entry; empty for all other types."""
    if shape := getattr(annotation, "dim_str", None):
        axes = [re.sub(r"^\*\w+", "...", axis) for axis in shape.split()]
        return "" if axes == ["..."] else f"[{', '.join(axes)}]"
    parts = typing.get_args(annotation)
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return " | ".join(filter(None, (typed(each, known) for each in parts)))
    if typing.get_origin(annotation) in (list, tuple) and (inner := typed(parts[0], known)):
        kind = typing.get_origin(annotation).__name__
        rest = [typed(each, known) or getattr(each, "__name__", "...") for each in parts[1:]]
        return f"{kind}[{', '.join([inner, *rest])}]"
    return known.get(annotation, "") if isinstance(annotation, type) else ""


def call(obj: object, known: dict[object, str]) -> tuple[str, str | None]:
    """Arguments of a function or class with their shapes and defaults, and the shape or class that it returns."""
    function = obj.__init__ if inspect.isclass(obj) else obj
    shown, keyword_only = [], False
    for each in inspect.signature(function).parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not keyword_only:
            shown, keyword_only = [*shown, "*"], True
        keyword_only = keyword_only or each.kind is each.VAR_POSITIONAL
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        kind = typed(each.annotation, known)
        default = "..." if callable(each.default) or len(repr(each.default)) > 30 else repr(each.default)
        default = "" if each.default is each.empty else default
        equals = " = " if kind else "="
        shown.append(
            stars + each.name + (f": {kind}" if kind else "") + (equals + default if default else "")
        )
    returned = None if inspect.isclass(obj) else inspect.signature(function).return_annotation
    plain = returned.__name__ if returned in (bool, int, float, str, list, dict) else None
    return f"({', '.join(shown)})", typed(returned, known) or plain


def is_record(obj: object) -> bool:
    """Whether a class only holds values, each of which has a line of its own."""
    return inspect.isclass(obj) and (dataclasses.is_dataclass(obj) or hasattr(obj, "_fields"))


def fields(record: type, known: dict[object, str], hidden: Collection[str] = ()) -> list[str]:
    """A line for each field and property of a record that is not hidden: its shape, and what it is."""
    said = ModuleAnalyzer.for_module(record.__module__).find_attr_docs()
    meant = {name: " ".join(doc).strip() for (owner, name), doc in said.items() if owner == record.__name__}
    defaults = {each.name: each.default for each in getattr(record, "__dataclass_fields__", {}).values()}
    kinds = dict(typing.get_type_hints(record))
    for name, value in vars(record).items():
        if isinstance(value, property) and not name.startswith("_"):
            meant[name] = inspect.getdoc(value).split("\n\n")[0].replace("\n", " ")
            kinds[name] = typing.get_type_hints(value.fget).get("return")
    lines = []
    for name, kind in kinds.items():
        if typing.get_origin(kind) is not typing.ClassVar and name not in hidden:
            shape = re.sub(r"mini_lib[\w.]+", r":py:obj:`~\g<0>`", typed(kind, known))
            default = defaults.get(name, dataclasses.MISSING)
            equals = "" if default is dataclasses.MISSING else f" = {default!r}"
            what = f": {meant[name]}" if meant.get(name) else ""
            lines.append(f"* ``{name}{equals}``{f' {shape}' * bool(shape)}{what}")
    return lines


def parameters(lines: list[str]) -> list[str]:
    """A list of Google's `Args` or `Attributes`, in which names that share a meaning share a line."""
    found: list[str] = []
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    for line in lines:
        match = PARAMETER.fullmatch(line)
        if match and len(match[1]) == indent:
            found.append("* " + ", ".join(f"``{each}``" for each in match[2].split(", ")) + f": {match[3]}")
        elif found:
            found[-1] += " " + line.strip()
    return found


def lay_out(app, what, name, obj, options, lines: list[str]) -> None:
    """Make lists of what parameters mean and of a record's fields; called by Sphinx for each docstring."""
    known = entries()
    blocks = [block.split("\n") for block in re.split(r"\n\s*\n", "\n".join(lines).strip())]
    listed = [block[0].strip() in ("Args:", "Attributes:") for block in blocks]
    kept = [parameters(block[1:]) if each else block for block, each in zip(blocks, listed, strict=True)]
    if is_record(obj) and not any(listed):
        kept.insert(1, fields(obj, known, options.get("exclude-members") or ()))
    paper = name.split(".")[1]
    lasts = [each.rpartition(".")[2] for each in known.values()]  # `build` is a name in every paper
    by_name = {last: each for last, each in zip(lasts, known.values(), strict=True) if lasts.count(last) == 1}
    by_name |= {each.rpartition(".")[2]: each for each in known.values() if f".{paper}." in each}
    own = name.rpartition(".")[2]

    def link(match: re.Match) -> str:
        target = by_name.get(match[1])
        return f":py:obj:`~{target}`" if target and match[1] != own else f"``{match[1]}``"

    lines[:] = [
        line if any(">>>" in each for each in block) else LINK.sub(link, QUOTED.sub(r'``"\1"``', line))
        for block in filter(None, kept)
        for line in (*block, "")
    ]


def mend(
    app, what, name, obj, options, args: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Show shapes and defaults only; of a record nothing, since its fields follow; called by Sphinx."""
    if what not in ("class", "function", "method"):
        return args, returns
    return ("", None) if is_record(obj) else call(obj, entries())


def setup(app) -> dict:
    """Register with Sphinx, before `sphinx.ext.napoleon` reads the sections."""
    app.connect("autodoc-process-docstring", lay_out, priority=100)
    app.connect("autodoc-process-signature", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
