"""Shortens the API pages: of each name the real signature, its first paragraph, examples and parameters.

All of a docstring is in the source and in Python's `help`.
"""

import dataclasses
import inspect
import re

from sphinx.util.inspect import signature, stringify_signature

PARAMETER = re.compile(r"( *)([\w*, ]+): (.*)")


def shorten(app, what, name, obj, options, lines: list[str]) -> None:
    """Keep the first paragraph, letters, examples and what parameters mean; called by Sphinx for each docstring."""
    if lines and lines[0].startswith("Alias for field number"):  # of a field of which nothing is said
        lines.clear()
    blocks = [block.split("\n") for block in re.split(r"\n\s*\n", "\n".join(lines).strip())]
    kept, meanings = blocks[:1], []
    for block in blocks[1:]:
        if block[0].strip() == "Args:":
            meanings = [parameters(block[1:])]
        elif block[0].lstrip().startswith(">>>") or block[0].startswith(("Letters", "Shapes", "In shapes")):
            kept.append(block)
    lines[:] = [line for block in kept + meanings for line in (*block, "")]


def parameters(lines: list[str]) -> list[str]:
    """A list of Google's `Args`, in which names that share a meaning share a line."""
    found: list[str] = []
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    for line in lines:
        match = PARAMETER.fullmatch(line)
        if match and len(match[1]) == indent:
            found.append("* " + ", ".join(f"``{each}``" for each in match[2].split(", ")) + f": {match[3]}")
        elif found:
            found[-1] += " " + line.strip()
    return found


def mend(
    app, what, name, obj, options, args: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Show a class's own signature, of records the names alone, whose fields follow; called by Sphinx."""
    if what != "class" or not args:
        return args, returns
    if dataclasses.is_dataclass(obj) or hasattr(obj, "_fields"):
        own = inspect.signature(obj if hasattr(obj, "_fields") else obj.__init__).parameters
        return f"({', '.join(each for each in own if each != 'self')})", returns
    if args.startswith("(*args: object"):  # a metaclass's, which stands before that of its classes
        own = signature(obj.__init__, bound_method=True)
        args = stringify_signature(own, show_return_annotation=False, unqualified_typehints=True)
    return args, returns


def setup(app) -> dict:
    """Register with Sphinx, before `sphinx.ext.napoleon` reads the sections."""
    app.connect("autodoc-process-docstring", shorten, priority=100)
    app.connect("autodoc-process-signature", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
