"""Write mini_lib/reproduction/entries.json: every entry that the papers' `cells` modules declare.

`mini-lib list` and `mini-lib compare` read it, and so need not load PyTorch. A test compares it with the modules.
"""

import json

from mini_lib.reproduction.cells import ENTRIES, PAPERS, STUDIES, Cell, paper_module


def stored(cells: list[Cell]) -> dict:
    """Entries of a paper; those that share settings name them by their number."""
    settings = {cell.hash: cell.settings for cell in cells}
    numbers = {digest: number for number, digest in enumerate(settings)}
    entries = [
        [numbers[c.hash], c.table, c.row, c.column, c.variant, c.metric, c.runs, c.file] for c in cells
    ]
    return {"settings": list(settings.values()), "entries": entries}


def _lines(values: list | dict[str, str]) -> str:
    """JSON with a line for each value of a list, or each name and text of a dict."""
    if isinstance(values, list):
        return "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in values) + "\n]"
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {text}" for name, text in values.items()) + "\n}"


def text() -> str:
    """The whole file, a line each for settings and entries."""
    papers = {paper: stored(paper_module(paper).CELLS) for paper in [*PAPERS, *STUDIES]}
    return _lines(
        {
            paper: _lines({name: _lines(part) for name, part in parts.items()})
            for paper, parts in papers.items()
        }
    )


if __name__ == "__main__":
    ENTRIES.write_text(text() + "\n", encoding="utf-8")
