"""The replication pages, one a paper, from a template; what is long is data that a page loads when it is opened."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable
from html import escape
from itertools import groupby
from pathlib import Path
from statistics import stdev

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mini_lib.reproduction import ledger
from mini_lib.reproduction.cells import PAPERS, TUTORIAL, cells_of, size_and_name
from mini_lib.reproduction.claims import Claim, Judgement, by_claim, judge_all, level_mean
from mini_lib.reproduction.comparison import Comparison, compare, counts
from mini_lib.reproduction.judgement import MIN_RUNS, NOT_REPRODUCED, NOT_RUN, REPRODUCED, WORDS
from mini_lib.reproduction.records import Records, stacks_at_once
from mini_lib.reproduction.tables import table_name, table_order

RECORDS = "mini_lib/reproduction/records"  # in the repository
SIGNS = dict(zip(WORDS, ("=", "≠", "?", ""), strict=True))
SIZES = {"paper": "at the paper's size", TUTORIAL: "small networks"}
DEVICES = {"cpu": "CPU core", "cuda": "GPU"}
SHORT = {"esbn": "ESBN", "scan": "SCAN", "functions": "functions", "kanerva": "Kanerva"}
# What small networks show of a claim; the four words judge the paper, by runs at its own size.
SEEN = {word: word for word in WORDS} | {REPRODUCED: "seen", NOT_REPRODUCED: "not seen"}
# What a claim without numbers is judged on, in a column each: how the variants of its small networks begin.
STRIP = {
    "small networks": ("",),
    "smaller task": ("small",),
    "with our addition": ("balanced", "even weights"),
}


def write_pages(folder: Path | str, records: Records) -> list[Path]:
    """Write a page a paper into a folder, made if it is not there, and its data into `data`; returns the pages."""
    folder, template = Path(folder), environment().get_template("replication.md.j2")
    (folder / "data").mkdir(parents=True, exist_ok=True)
    written = []
    for paper in PAPERS:
        shown = _paper(paper, compare(cells_of(paper), records))
        path = folder / f"replication_{paper}.md"
        path.write_text(template.render(paper=shown), encoding="utf-8")
        script = f"Replication.deliver({json.dumps(paper)}, {json.dumps(data_of(shown))});\n"
        (folder / "data" / f"replication-{paper}.js").write_text(script, encoding="utf-8")
        written.append(path)
    return written


def environment() -> Environment:
    """What the templates are rendered with."""
    found = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals |= {"WORDS": WORDS, "SIGNS": SIGNS, "RECORDS": RECORDS, "SIZES": SIZES}
    found.globals |= {
        "outcome": outcome,
        "tally": tally,
        "learned_at": learned_at,
        "deviation": stdev,
        "SEEN": SEEN,
        "STRIP": STRIP,
    }
    found.filters |= {"cell": in_cell, "anchor": anchor, "class": lambda word: word.replace(" ", "-")}
    found.filters |= {"figure": figure_of}
    return found


def figure_of(source: str) -> str:
    """Where a claim is from, in short: "1D" of "Section 3.1, Figure 1D, footnote 1"."""
    found = re.search(r"Figures? (.*?)(, footnote.*)?$", source)
    return found[1] if found else source


def in_cell(text: object) -> str:
    """Text in a cell of a Markdown table; "<EOS>" and its like are no tags of HTML."""
    code = re.split(r"(`[^`]*`|\$[^$]*\$)", re.sub(r"[ \n]+", " ", str(text)).strip())
    safe = (part if place % 2 else part.replace("<", "&lt;") for place, part in enumerate(code))
    return "".join(safe).replace("|", "\\|")


def anchor(name: str) -> str:
    """The name of a place on the page, of the id of an entry or a claim."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")


def _paper(paper: str, compared: list[Comparison]) -> dict:
    """All that the templates show of a paper."""
    book = ledger.load(paper)
    judged = by_claim(judge_all(compared))
    tables = [
        _table(table, [each for each in compared if each.cell.table == table])
        for table in sorted({each.cell.table for each in compared}, key=table_order)
    ]
    grids = groupby((table for table in tables if table["numbers"]), lambda table: table["rows"])
    numbers = [each for each in compared if each.is_printed and not each.cell.variant]
    at = {each.cell.id: each for each in compared}
    claims = [_claim(claim, judgements, at) for claim, judgements in judged.items()]
    return {
        "title": PAPERS[paper],
        "name": paper,
        "short": SHORT[paper],
        "ledger": book,
        "compared": compared,
        "tables": tables,
        "grids": [list(group) for _, group in grids],
        "claims": claims,
        "judged": [each for each in claims if each["is_judged"]],
        "unjudged": [each for each in claims if not each["is_judged"]],
        "sizes": [
            size for size in SIZES if any(each["words"].get(size, NOT_RUN) != NOT_RUN for each in claims)
        ],
        "counts": counts(compared, "paper")[paper],
        "numbers": numbers,
        "at": at,
        "run_sets": run_sets(compared),
        "made": made(compared),
        "effects": measured_effects(compared, book),
    }


def _table(table: str, own: list[Comparison]) -> dict:
    """A table: its numbers in rows and columns."""
    shown = [each for each in own if not each.cell.variant]
    return {
        "name": table_name(table),
        "numbers": sum(each.is_printed for each in shown),
        "rows": list(dict.fromkeys(each.cell.row for each in shown if each.paper)),
        "columns": list(dict.fromkeys(each.cell.column for each in shown if each.paper)),
        "at": {(each.cell.row, each.cell.column): each for each in shown},
    }


def outcome(each: Comparison) -> str:
    """What became of a reported number: the number, ours, and the verdict."""
    ours = f"ours {each.ours.rounded()} ({each.ours.n} runs)" if each.ours.n else "no run"
    return f"reported {each.paper}, {ours}: {each.verdict}"


def tally(entries: Iterable[Comparison]) -> dict[str, int]:
    """How many of these have each verdict, and how many of them have one."""
    found = Counter(each.verdict for each in entries)
    return {word: found[word] for word in WORDS} | {"run": sum(found.values()) - found[NOT_RUN]}


def learned_at(each: Comparison) -> float:
    """The mean update at which training accuracy reaches 95 %."""
    return level_mean(each, "updates_to_95").value


def _begins(name: str, starts: tuple[str, ...]) -> bool:
    return name.startswith(starts) if any(starts) else not name


def _claim(claim: Claim, judgements: list[Judgement], at: dict[str, Comparison]) -> dict:
    """A claim, the verdict on it at each size, and what small networks show of it in each column of `STRIP`."""
    verdicts = {size_and_name(each.scale.removeprefix("paper")): each.verdict for each in judgements}
    words = {size: verdicts[size, ""] for size in SIZES if (size, "") in verdicts}
    small = {name: verdict for (size, name), verdict in verdicts.items() if size == TUTORIAL}
    own = [at.get(name) for name in claim.cells()]
    return {
        "claim": claim,
        "words": words,
        "is_judged": any(word != NOT_RUN for word in words.values()),
        "entries": len(own),
        "run": sum(each is not None and each.ours.n >= MIN_RUNS for each in own),
        "strip": {
            column: next((word for name, word in small.items() if _begins(name, starts)), None)
            for column, starts in STRIP.items()
        },
    }


# ----------------------------------------------------------------------------------------- data


def data_of(paper: dict) -> dict:
    """What a page loads: tables as HTML, with a head each, and for each reported number what its card shows."""
    measured = [each for each in paper["compared"] if each.ours.n or (each.paper and not each.cell.variant)]
    name = paper["name"]
    return {
        "details": {
            "head": ["detail", "the paper", "authors' code", "here, and why", "effect"],
            "rows": [
                [
                    inline(f"**{each.about}**" + (f" *{each.variant}*" if each.variant else "")),
                    *map(inline, (each.paper, each.released, f"{each.ours} {each.why}")),
                    inline(sentence(each.effect or paper["effects"].get(each.variant) or "not measured")),
                ]
                for each in paper["ledger"].details
            ],
        },
        "findings": {
            "head": ["question", "finding"],
            "rows": [[inline(each.about), inline(each.text)] for each in paper["ledger"].findings],
        },
        "entries": {
            "head": ["table", "row", "column", "variant", "reported", "ours", "runs", ""],
            "rows": [
                [
                    *map(escape, (table_name(each.cell.table), each.cell.row, each.cell.column)),
                    escape(ledger.variant_in_words(name, each.cell.variant)) if each.cell.variant else "",
                    str(each.paper or "") if each.is_printed else "",
                    each.ours.rounded(),
                    str(each.ours.n),
                    each.verdict if each.is_printed else "",
                ]
                for each in measured
            ],
        },
        "runs": {
            "head": ["runs of", "seeds", "record", "command"],
            "rows": [
                [
                    escape(each["first"]) + (f" and {each['others']} more" if each["others"] else ""),
                    each["seeds"],
                    f"{each['file']} <code>{each['hash']}</code>",
                    f"<code>{escape(each['command'])}</code>",
                ]
                for each in paper["run_sets"]
            ],
        },
        "cards": {
            anchor(each.cell.id): {
                "title": f"{table_name(each.cell.table)}: {each.cell.row}, {each.cell.column}",
                "reported": [each.paper.mean, each.paper.error or 0],
                "words": outcome(each),
                "runs": list(each.ours.values),
            }
            for each in measured
            if each.is_printed and not each.cell.variant
        },
    }


def sentence(text: str) -> str:
    """Text with a capital at its start and a stop at its end."""
    return text[:1].upper() + text[1:] + "." * (not text.endswith("."))


def inline(text: str) -> str:
    """Text of a ledger as HTML: its formulas, code, bold and slanted words."""
    parts = re.split(r"(`[^`]*`|\$[^$]*\$)", " ".join(text.split()))
    for place, part in enumerate(parts):
        if place % 2:
            inner = escape(part[1:-1])
            parts[place] = (
                f"<code>{inner}</code>" if part[0] == "`" else rf'<span class="math">\({inner}\)</span>'
            )
        else:
            bold = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(part, quote=False))
            parts[place] = re.sub(r"\*(.+?)\*", r"<em>\1</em>", bold)
    return "".join(parts)


# ----------------------------------------------------------------------------------------- runs


def run_sets(compared: Iterable[Comparison]) -> list[dict]:
    """Each set of runs that fills some entries: what it fills, its seeds, its file, and how to train it again."""
    sets: dict[str, list[Comparison]] = {}
    for each in compared:
        if each.ours.n:
            sets.setdefault(each.cell.hash, []).append(each)
    return [
        {
            "hash": digest,
            "first": filled[0].cell.id,
            "others": len(filled) - 1,
            "seeds": seeds_in_words([record["seed"] for record in filled[0].records]),
            "file": f"{filled[0].cell.file}.jsonl",
            "command": rerun_command(filled[0]),
        }
        for digest, filled in sets.items()
    ]


def seeds_in_words(seeds: list[int]) -> str:
    """Such as "1 to 10", or "1, 2, 5"."""
    whole = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))


def rerun_command(each: Comparison) -> str:
    """The command that trains an entry's runs again, into the folder `again`."""
    seeds = max(record["seed"] for record in each.records)
    return shlex.join(["mini-lib", "reproduce", each.cell.id, "--seeds", str(seeds), "--records", "again"])


def made(compared: Iterable[Comparison]) -> str:
    """How many runs there are, and on what and in how much time they were made."""
    records = {record["key"]: record for each in compared for record in each.records}.values()
    if not records:
        return "No runs on record yet."
    hours: Counter[str] = Counter()
    for record in records:
        own = record["provenance"]
        hours[own["device"].split(":")[0]] += own["seconds"] / stacks_at_once(record) / 3600
    dates = sorted(record["provenance"]["date"] for record in records)
    spent = " and ".join(
        f"{f'{amount:,.0f} hours' if amount >= 1.5 else 'an hour or less'} of one {DEVICES[device]}"
        for device, amount in sorted(hours.items())
    )
    return f"{len(records):,} runs, {spent}, from {dates[0]} to {dates[-1]}."


# ----------------------------------------------------------------------------------------- effects


def measured_effects(compared: Iterable[Comparison], book: ledger.Ledger) -> dict[str, str]:
    """What each variant of a paper measured beside the entries that it belongs to, where both have runs.

    "tutorial, small, balanced" is compared with what the ledger says (`Detail.beside`), else with "tutorial, small"
    where that is declared, else with "tutorial". The largest change is named, as a share of the number.
    """
    declared = {each.variant: each.beside for each in book.details if each.beside is not None}
    at = {(each.cell.place, each.cell.variant): each for each in compared}
    effects: dict[str, list[tuple[float, str]]] = {}
    for (place, variant), each in at.items():
        name, small = each.cell.interpretation, [TUTORIAL] * (each.cell.scale == TUTORIAL)
        parts = variant.split(", ") if variant else []
        bases = [", ".join(parts[:end]) for end in reversed(range(len(parts)))]
        if name in declared:
            bases = [", ".join(filter(None, (*small, declared[name])))]
        first = next(filter(None, (at.get((place, base)) for base in bases)), None)
        if name and first and first.number != each.number and each.ours.values and first.ours.values:
            cell = each.cell
            size = abs(each.ours.mean - first.ours.mean) / (abs(first.ours.mean) or 1.0)
            text = f"{each.ours.rounded()} in place of {first.ours.rounded()} ({table_name(cell.table)}: {cell.row},"
            text += f" {cell.column}{', small networks' * bool(small)})"
            effects.setdefault(name, []).append((size, text))
    return {
        name: f"the largest of {len(changes)} changes: {max(changes)[1]}"
        if len(changes) > 1
        else changes[0][1]
        for name, changes in effects.items()
    }
