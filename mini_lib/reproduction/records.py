"""The measured runs: one JSON record a trained network, in one JSONL file a table, never doubled, never lost."""

import json
import math
import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection
from datetime import date
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from filelock import FileLock

from mini_lib import __version__
from mini_lib.errors import CorruptFileError, UsageError
from mini_lib.files import not_written, temporary_path
from mini_lib.settings import complete, is_finite, reduce, run_key, settings_hash
from mini_lib.training import Run

COMMITTED = Path(__file__).parent / "records"
OWN_SEEDS = 101  # from here on seeds are for readers' own runs; those of the stored runs lie below
READERS = Path("records")  # in the current directory: where an installed package, which others share, writes
REQUIRED = {
    "key": str,
    "hash": str,
    "seed": int,
    "paper": str,
    "settings": dict,
    "scale": str,
    "data": str,
    "metrics": dict,
    "diverged": bool,
    "curve": dict,
    "updates": int,
    "provenance": dict,
}
JSON_NAMES = {str: "a text", int: "a whole number", dict: "an object", bool: "true or false"}
SAME = ("settings", "metrics", "diverged", "updates", "scale")


class RecordConflict(CorruptFileError):
    """Two records of one key that do not agree."""


def record_of(
    run: Run,
    settings: dict,
    seed: int,
    *,
    paper: str,
    scale: str,
    data: str,
    device: str,
    precision: str = "fp32",
) -> dict:
    """The record of a finished run; figures rounded to 6 decimals, or to 5 significant digits where that is more.

    A run that ended with a metric that is not finite counts as diverged; the record keeps its other metrics.
    """
    digest = settings_hash(settings)
    metrics = {name: _rounded(value) for name, value in run.metrics.items() if is_finite(value)}
    measured = [{name: _rounded(value) for name, value in check.items()} for check in run.checks]
    return {
        "key": run_key(settings, seed),
        "hash": digest,
        "seed": seed,
        "paper": paper,
        "settings": settings,
        "scale": scale,
        "data": data,
        "metrics": metrics,
        "diverged": run.diverged or len(metrics) < len(run.metrics),
        "curve": run.curve,
        "updates": run.updates,
        **({"checks": measured} if len(measured) > 1 else {}),
        "provenance": {
            "version": code_version(),
            "torch": torch.__version__,
            "device": device,
            "precision": precision,
            "seconds": round(run.seconds, 1),
            "date": date.today().isoformat(),
        },
    }


def stacks_at_once(record: dict) -> int:
    """How many stacks shared the GPU of a run. Its seconds tell what it takes only where that is one.

    More than one stands as `at_once` in the provenance of runs that a script of ours trained side by side.
    """
    return record["provenance"].get("at_once", 1)


def _rounded(value: int | float) -> int | float:
    small = 0 < abs(value) < 0.1
    return float(f"{value:.5g}") if small else round(value, 6)


def home_folder() -> Path:
    """Where records are written by default: in the package where that lies in its git checkout, else `./records`."""
    root = Path(__file__).parents[2]
    own = (root / ".git").exists() and (root / "pyproject.toml").is_file()
    return COMMITTED if own else READERS


def is_judged(folder: Path) -> bool:
    """Whether verdicts are judged on the records of a folder: those that come along, and those added by default."""
    return folder.resolve() in (COMMITTED.resolve(), home_folder().resolve())


@cache
def code_version() -> str:
    """The package's version, with the commit where the package lies in its git checkout, as first asked for.

    A run's record names the code it started with: ask before training, since commits may follow meanwhile.
    """
    package = Path(__file__).parents[1]

    def git(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run(["git", *words], cwd=package, capture_output=True, text=True)

    try:
        tracked = git("ls-files", "--error-unmatch", __file__).returncode == 0
    except OSError:
        tracked = False
    if not tracked:
        return __version__
    dirty = "" if git("diff", "--quiet", "HEAD", "--", "*.py").returncode == 0 else "-dirty"
    return f"{__version__}+{git('rev-parse', '--short=10', 'HEAD').stdout.strip()}{dirty}"


class Merged(NamedTuple):
    """What became of the records that were to be taken over."""

    new: int  #: taken over.
    known: int  #: there already.
    own: int  #: a reader's own, left out.


class Records:
    """The records of a folder, one file `<table>.jsonl` for each table that declares runs.

    They are read from `folder` and added to it. By default the records that come with the package are read; an
    installed package reads those in `./records` too, and adds to these (see `home_folder`).
    """

    def __init__(self, folder: Path | str | None = None):
        self.folder = home_folder() if folder is None else Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"records lie in a folder, and {self.folder} is a file")
        self._by_key: dict[str, dict] = {}
        self._by_hash: dict[str, list[dict]] = defaultdict(list)
        for source in dict.fromkeys([COMMITTED, self.folder] if folder is None else [self.folder]):
            for path in sorted(source.glob("*.jsonl")):
                for record in read_records(path):
                    self._admit(record, path)

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def __iter__(self):
        return iter(self._by_key.values())

    def of(self, digest: str) -> list[dict]:
        """The records of one settings hash, by seed."""
        return sorted(self._by_hash.get(digest, []), key=lambda record: record["seed"])

    def finished(self, settings: dict, seeds: Collection[int] | None = None) -> list[dict]:
        """The records of these settings that did not diverge, by seed; those of `seeds` alone, if they are given.

        A chapter names its seeds where it tells of single runs: more runs on record change nothing there.
        """
        found = (record for record in self.of(settings_hash(settings)) if not record["diverged"])
        return [record for record in found if seeds is None or record["seed"] in seeds]

    def add(self, record: dict, home: str) -> bool:
        """Append a record to `<home>.jsonl` as one whole line, on disk before this returns; False if it is there.

        RecordConflict if its key is there with other results; OSError if it cannot be written, and nothing else is
        lost then.
        """
        return self._append([record], home) == 1

    def check_writable(self) -> None:
        """Raise OSError now, rather than after hours of training, if no record can be written to the folder."""
        check_folder(self.folder, "records")

    def merge(self, folder: Path | str, homes: dict[str, str] | None = None) -> "Merged":
        """Take over records that lie in a folder, at any depth.

        `homes` gives the file that records of a settings hash belong to; others keep their file's name. A reader's
        own runs are left out where verdicts are judged. On a key with other results nothing at all is merged
        (unless another command writes that one meanwhile): RecordConflict.
        """
        if not Path(folder).is_dir():
            raise UsageError(f"no folder of records at {folder}")
        paths = sorted(Path(folder).rglob("*.jsonl"))
        if not paths:
            raise UsageError(f"no record files (*.jsonl) in {folder}")
        found, known, own, judged = defaultdict(list), dict(self._by_key), 0, is_judged(self.folder)
        for path in paths:
            for record in read_records(path):
                if judged and record["seed"] >= OWN_SEEDS:
                    own += 1
                    continue
                self._check(record, known.setdefault(record["key"], record), path)
                found[(homes or {}).get(record["hash"], path.stem)].append(record)
        new = sum(self._append(records, home) for home, records in found.items())
        return Merged(new, sum(map(len, found.values())) - new, own)

    def _append(self, records: list[dict], home: str) -> int:
        path = self.folder / f"{home}.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        new = 0
        with FileLock(path.with_suffix(".lock")):
            for other in read_records(path) if path.exists() else ():
                if other["key"] not in self._by_key:
                    self._admit(other, path)
            for record in records:
                self._check(record, self._by_key.get(record["key"]), path)
                if record["key"] not in self._by_key:
                    append_line(path, to_line(record))
                    new += self._admit(record, path)
        return new

    @staticmethod
    def _check(record: dict, known: dict | None, where: Path) -> None:
        if known is not None and any(known[name] != record[name] for name in SAME):
            raise RecordConflict(
                f"run {record['key']} in {where} has other results than the one on record; if it was made by other "
                "code, delete the one that is out of date; another processor or GPU rounds in another way, and then "
                "one of the two is enough"
            )

    def _admit(self, record: dict, path: Path) -> bool:
        self._check(record, self._by_key.get(record["key"]), path)
        if record["key"] in self._by_key:
            return False
        self._by_key[record["key"]] = record
        self._by_hash[record["hash"]].append(record)
        return True


def check_folder(folder: Path, what: str) -> None:
    """Raise OSError now, rather than after hours of training, if nothing can be written to a folder for `what`."""
    try:
        if folder.is_file():
            raise OSError("it is a file")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"cannot write {what} to {folder}: {error}; name another folder") from error


def check_target(path: Path) -> None:
    """Raise OSError now, rather than after hours of training, if `write_atomically` could not write this file."""
    try:
        temporary = temporary_path(path)
        temporary.touch()
        temporary.unlink()
    except OSError as error:
        raise not_written(path, error) from error


def to_line(record: dict) -> str:
    """A record as one line of JSON, which has no NaN: a loss of a curve, or a check, that is not finite is null."""
    whole = record | {"settings": complete(record["settings"])}
    return json.dumps(
        _each(whole, lambda value: value if _is_plain(value) else None), sort_keys=True, allow_nan=False
    )


def _is_plain(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _each(value: object, change: Callable[[object], object]) -> object:
    """What lies in dicts and lists, changed."""
    if isinstance(value, dict):
        return {name: _each(part, change) for name, part in value.items()}
    return [_each(part, change) for part in value] if isinstance(value, list | tuple) else change(value)


def read_records(path: Path) -> list[dict]:
    """The records of a file, with NaN where a curve or a check has null.

    CorruptFileError names file and line, if a line is no record or its key is not its own. The beginning of a record
    at the very end is what a kill in the middle of writing leaves: it is passed over; `append_line` takes it back.
    A record holds no checksum: a metric that was altered and is still a finite number is not noticed here; the
    history of the repository shows it.
    """
    records = []
    text = path.read_bytes()
    for number, line in enumerate(text[: len(text) - len(_cut_line(text))].splitlines(), start=1):
        place = f"{path}, line {number}"
        try:
            record = json.loads(line.decode("utf-8"))
            fault = _fault(record)
        except (ValueError, RecursionError):
            fault = "not a whole record"
        if fault is not None:
            raise CorruptFileError(
                f"{place}: {fault}; if the file is one of records, delete that line and run it again"
            )
        measured = {name: record[name] for name in ("curve", "checks") if name in record}
        record["settings"] = reduce(record["settings"])  # newer lines hold them in full
        records.append(record | _each(measured, lambda value: math.nan if value is None else value))
    return records


def _fault(record: object) -> str | None:
    """What is wrong with what a line holds, in words, or None."""
    if not isinstance(record, dict):
        return "not a whole record"
    missing = REQUIRED.keys() - record.keys()
    if missing:
        return f"the record lacks {', '.join(sorted(missing))}"
    for name, kind in REQUIRED.items():
        if type(record[name]) is not kind:
            return f"the record's {name} is not {JSON_NAMES[kind]}"
    digest = settings_hash(record["settings"])
    if record["hash"] != digest or record["key"] != run_key(record["settings"], record["seed"]):
        return "the record's key does not belong to its settings and seed"
    if not isinstance(record["provenance"].get("device"), str) or not is_finite(
        record["provenance"].get("seconds")
    ):
        return "the record's provenance does not tell the device and the seconds"
    for name, value in record["metrics"].items():
        if not is_finite(value):
            return f"the record's metric {name} is not a finite number"
    if not _is_curve(record["curve"]):
        return "the record's curve is not lists of updates, losses and scores, all of one length"
    if not _are_checks(record.get("checks", [])):
        return "the record's checks are not a list of numbers by name"
    return None


def _is_curve(curve: dict) -> bool:
    return (
        curve.keys() == {"update", "loss", "score"}
        and all(isinstance(part, list) for part in curve.values())
        and len({len(part) for part in curve.values()}) == 1
        and all(map(is_finite, curve["update"]))
        and all(map(_is_measured, curve["loss"] + curve["score"]))
    )


def _are_checks(checks: object) -> bool:
    return isinstance(checks, list) and all(
        isinstance(check, dict) and all(map(_is_measured, check.values())) for check in checks
    )


def _is_measured(value: object) -> bool:
    """Whether this stands for a measured number in a line: old lines have NaN where newer ones have null."""
    return value is None or is_finite(value) or not _is_plain(value)


def _cut_line(text: bytes) -> bytes:
    """The beginning of a record at the end of a file's text, without the end of its line; empty if there is none."""
    last = text.rpartition(b"\n")[2]
    try:
        json.loads(last.decode("utf-8"))
    except (ValueError, RecursionError):
        return last if last.startswith(b"{") else b""
    return b""


def append_line(path: Path, line: str) -> None:
    """Append one line and force it to disk; what a full disk, or a kill before, cut short is taken back."""
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
