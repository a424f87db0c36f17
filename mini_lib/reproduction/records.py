"""The runs on record: one JSON record a trained network, in one JSONL file a table, never doubled, never lost."""

import json
import math
import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from mini_lib import __version__
from mini_lib.errors import CorruptFileError, UsageError, is_finite
from mini_lib.hashing import complete, reduce, run_key, settings_hash
from mini_lib.reproduction.cells import Cell, paper_module

if TYPE_CHECKING:
    from mini_lib.training import Run

COMMITTED = Path(__file__).parent / "records"
SAME = ("settings", "diverged", "updates", "scale")  # in which, and in metrics, records of one key agree
# What a record, its curve and its provenance have to hold.
PARTS = dict.fromkeys(("key", "hash", "paper", "scale", "data", "device"), str) | {"diverged": bool}
PARTS |= dict.fromkeys(("settings", "metrics"), dict) | dict.fromkeys(("update", "loss", "score"), list)
PARTS |= {"seed": int, "updates": int, "seconds": float}


class RecordConflict(CorruptFileError):
    """Two records of one key that do not agree."""


def record_of(run: "Run", cell: Cell, seed: int) -> dict:
    """The record of a finished run of an entry; figures have 6 decimals, or 5 significant digits where that is more.

    A run that ended with a metric that is not finite counts as diverged; the record keeps its other metrics.
    """
    import torch

    from mini_lib.devices import describe

    metrics = {name: _rounded(value) for name, value in run.metrics.items() if is_finite(value)}
    checks = [{name: _rounded(value) for name, value in check.items()} for check in run.checks]
    return {
        "key": run_key(cell.settings, seed),
        "hash": cell.hash,
        "seed": seed,
        "paper": cell.paper,
        "settings": cell.settings,
        "scale": cell.scale,
        "data": paper_module(cell.paper).data_source(cell.settings),
        "metrics": metrics,
        "diverged": run.diverged or len(metrics) < len(run.metrics),
        "curve": run.curve,
        "updates": run.updates,
        **({"checks": checks} if len(checks) > 1 else {}),
        "provenance": {
            "version": code_version(),
            "torch": torch.__version__,
            "device": run.device_name or describe(run.device),
            "precision": run.precision,
            "seconds": round(run.seconds, 1),
            "date": date.today().isoformat(),
        },
    }


def _rounded(value: int | float) -> int | float:
    return float(f"{value:.5g}") if 0 < abs(value) < 0.1 else round(value, 6)


def default_folder() -> Path:
    """Where records are written by default: in the package where that lies in its git checkout, else `./records`."""
    root = Path(__file__).parents[2]
    checkout = (root / ".git").exists() and (root / "pyproject.toml").is_file()
    return COMMITTED if checkout else Path("records")


@cache
def code_version() -> str:
    """The package's version, with the commit in a checkout; as first asked for, as commits may follow meanwhile."""

    def git(*words: str) -> str | None:
        done = subprocess.run(["git", *words], cwd=Path(__file__).parents[1], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    try:
        tracked = git("ls-files", __file__)
    except OSError:  # there is no git
        tracked = ""
    if not tracked:
        return __version__
    dirty = "" if git("diff", "--name-only", "HEAD", "--", "*.py") == "" else "-dirty"
    return f"{__version__}+{git('rev-parse', '--short=10', 'HEAD') or 'unknown'}{dirty}"


class Records:
    """The records of a folder, one file `<table>.jsonl` for each table that declares runs.

    By default those that come with the package, and those of `default_folder`, to which new ones are added.
    """

    def __init__(self, folder: Path | str | None = None):
        self.folder = default_folder() if folder is None else Path(folder)
        self._by_key: dict[str, dict] = {}
        self._by_hash: dict[str, list[dict]] = defaultdict(list)
        self._sizes: dict[Path, int] = {}  # of files as they were read
        for source in dict.fromkeys([COMMITTED, self.folder] if folder is None else [self.folder]):
            for path in sorted(source.glob("*.jsonl")):
                self._read(path)

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[dict]:
        return iter(self._by_key.values())

    def of(self, digest: str) -> list[dict]:
        """The records of one settings hash, by seed."""
        return sorted(self._by_hash.get(digest, []), key=lambda record: record["seed"])

    def finished(self, settings: dict, seeds: Collection[int] | None = None) -> list[dict]:
        """The records of these settings that did not diverge, by seed; those of `seeds` alone, if they are given.

        A chapter names its seeds where it shows single runs: more runs on record change nothing there.
        """
        found = (record for record in self.of(settings_hash(settings)) if not record["diverged"])
        return [record for record in found if seeds is None or record["seed"] in seeds]

    def add(self, record: dict, file: str) -> bool:
        """Append a record to `<file>.jsonl` as one whole line, on disk before this returns; False if it is there."""
        return self._append([record], file) == 1

    def merge(self, folder: Path | str, files: dict[str, str] | None = None) -> tuple[int, int]:
        """Take over the records in a folder, at any depth; how many were new, and how many known.

        `files` gives the file that records of a settings hash belong to; others keep their file's name. On a key
        with other results nothing at all is merged: RecordConflict.
        """
        paths = sorted(Path(folder).rglob("*.jsonl"))
        if not paths:
            raise UsageError(f"{folder} is no folder with record files (*.jsonl) in it")
        found, known = defaultdict(list), dict(self._by_key)
        for path in paths:
            for record in read_records(path):
                if is_new(record, known, path):
                    known[record["key"]] = record
                found[(files or {}).get(record["hash"], path.stem)].append(record)
        new = sum(self._append(records, file) for file, records in found.items())
        return new, sum(map(len, found.values())) - new

    def _append(self, records: list[dict], file: str) -> int:
        path, new = self.folder / f"{file}.jsonl", 0
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            if path.exists() and path.stat().st_size != self._sizes.get(path):  # another command has written
                self._read(path)
            for record in records:
                if is_new(record, self._by_key, path):
                    append_line(path, to_line(record))
                    self._keep(record)
                    new += 1
            if path.exists():
                self._sizes[path] = path.stat().st_size
        return new

    def _read(self, path: Path) -> None:
        self._sizes[path] = path.stat().st_size
        for record in read_records(path):
            if is_new(record, self._by_key, path):
                self._keep(record)

    def _keep(self, record: dict) -> None:
        self._by_key[record["key"]] = record
        self._by_hash[record["hash"]].append(record)


def is_new(record: dict, known: dict[str, dict], where: Path) -> bool:
    """Whether no record of this key is known; RecordConflict if one is, with other results."""
    other = known.get(record["key"], record)
    ours, theirs = record["metrics"], other["metrics"]  # which are measured may change between versions
    apart = (ours or theirs) and ours.keys().isdisjoint(theirs) and not record["diverged"]
    if any(other[name] != record[name] for name in SAME) or ours | theirs != theirs | ours or apart:
        raise RecordConflict(
            f"run {record['key']} in {where} has other results than the one on record; delete one of the two: that "
            "of outdated code, or either if another processor rounded in another way"
        )
    return record["key"] not in known


def check_folder(folder: Path) -> None:
    """Make a folder; OSError now, rather than after hours of training, if it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(f"cannot write to {folder} ({error}); name another with --records") from error


def to_line(record: dict) -> str:
    """A record as one line of JSON, which has no NaN: a loss of a curve, or a check, that is not finite is null."""
    text = json.dumps(record | {"settings": complete(record["settings"])})
    return json.dumps(json.loads(text, parse_constant=lambda name: None), sort_keys=True)


def read_records(path: Path) -> list[dict]:
    """The records of a file, with NaN where a curve or a check has null.

    CorruptFileError names file and line, if a line is no record or its key is not its own. The beginning of a record
    at the very end is what a kill in the middle of writing leaves: it is passed over; `append_line` takes it back.
    """
    text, records = path.read_bytes(), []
    for number, line in enumerate(text[: len(text) - len(_cut_line(text))].splitlines(), start=1):
        try:
            record = json.loads(line)
            _check_parts(record)
            for values in record["curve"].values():
                values[:] = [math.nan if value is None else value for value in values]
            for check in record.get("checks", ()):
                check.update({name: math.nan for name, value in check.items() if value is None})
        except (ValueError, RecursionError, TypeError, AttributeError) as error:
            fault = error if isinstance(error, CorruptFileError) else "not a whole record"
            remedy = "if the file is one of records, delete that line and run it again"
            raise CorruptFileError(f"{path}, line {number}: {fault}; {remedy}") from error
        records.append(record | {"settings": reduce(record["settings"])})  # newer lines hold them in full
    return records


def _check_parts(record: dict) -> None:
    """CorruptFileError for what is wrong with a record; that curves are whole is left to a test."""
    whole = record | record.get("curve", {}) | record.get("provenance", {})
    if lacking := [name for name, kind in PARTS.items() if type(whole.get(name)) is not kind]:
        raise CorruptFileError(f"the record lacks {', '.join(lacking)}, or has it of another type")
    digest = settings_hash(record["settings"])
    if (record["hash"], record["key"]) != (digest, f"{digest}-s{record['seed']}"):
        raise CorruptFileError("the record's key does not belong to its settings and seed")
    for name, value in (record["metrics"] | {"seconds": whole["seconds"]}).items():
        if not is_finite(value):
            raise CorruptFileError(f"the record's {name} is not a finite number")


def _cut_line(text: bytes) -> bytes:
    """The beginning of a record at the end of a file's text, without the end of its line; empty if there is none."""
    last = text.rpartition(b"\n")[2]
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        return last if last.startswith(b"{") else b""
    return b""


def append_line(path: Path, line: str) -> None:
    """Append one line and force it to disk; what a full disk, or a kill before, cut short is taken back."""
    from mini_lib.files import not_written

    before = path.read_bytes() if path.exists() else b""
    if cut := _cut_line(before):
        before = before[: -len(cut)]
        os.truncate(path, len(before))
    start = "" if not before or before.endswith(b"\n") else "\n"
    try:
        with path.open("a") as file:
            file.write(f"{start}{line}\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if path.exists():
            os.truncate(path, len(before))
        raise not_written(path, error) from error
