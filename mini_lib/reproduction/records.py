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
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from mini_lib import __version__
from mini_lib.errors import CorruptFileError, UsageError, is_finite
from mini_lib.hashing import complete, reduce, run_key, settings_hash

if TYPE_CHECKING:
    from mini_lib.training import Run

COMMITTED = Path(__file__).parent / "records"
SAME = ("settings", "metrics", "diverged", "updates", "scale")  # what two records of one key must agree on
PARTS = dict.fromkeys(("key", "hash", "paper", "scale", "data"), str)
PARTS |= dict.fromkeys(("settings", "metrics", "curve", "provenance"), dict) | {"diverged": bool}
PARTS |= {"seed": int, "updates": int}


class RecordConflict(CorruptFileError):
    """Two records of one key that do not agree."""


def record_of(
    run: "Run",
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
    import torch

    metrics = {name: _rounded(value) for name, value in run.metrics.items() if is_finite(value)}
    measured = [{name: _rounded(value) for name, value in check.items()} for check in run.checks]
    return {
        "key": run_key(settings, seed),
        "hash": settings_hash(settings),
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
    """How many stacks shared the GPU of a run; its seconds tell what it takes only where that is one."""
    return record["provenance"].get("at_once", 1)


def _rounded(value: int | float) -> int | float:
    small = 0 < abs(value) < 0.1
    return float(f"{value:.5g}") if small else round(value, 6)


def default_folder() -> Path:
    """Where records are written by default: in the package where that lies in its git checkout, else `./records`."""
    root = Path(__file__).parents[2]
    checkout = (root / ".git").exists() and (root / "pyproject.toml").is_file()
    return COMMITTED if checkout else Path("records")


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


class Records:
    """The records of a folder, one file `<table>.jsonl` for each table that declares runs.

    By default those that come with the package, and those of `default_folder`, to which new ones are added.
    """

    def __init__(self, folder: Path | str | None = None):
        self.folder = default_folder() if folder is None else Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"records are kept in a folder, and {self.folder} is a file")
        self._by_key: dict[str, dict] = {}
        self._by_hash: dict[str, list[dict]] = defaultdict(list)
        self._sizes: dict[Path, int] = {}  # of files as they were read
        for source in dict.fromkeys([COMMITTED, self.folder] if folder is None else [self.folder]):
            for path in sorted(source.glob("*.jsonl")):
                self._read(path)

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[dict]:
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

    def add(self, record: dict, file: str) -> bool:
        """Append a record to `<file>.jsonl` as one whole line, on disk before this returns; False if it is there.

        RecordConflict if its key is there with other results; OSError if it cannot be written, and nothing else is
        lost then.
        """
        return self._append([record], file) == 1

    def merge(self, folder: Path | str, files: dict[str, str] | None = None) -> tuple[int, int]:
        """Take over the records in a folder, at any depth; how many were new, and how many known.

        `files` gives the file that records of a settings hash belong to; others keep their file's name. On a key
        with other results nothing at all is merged (unless another command writes that one meanwhile):
        RecordConflict.
        """
        if not Path(folder).is_dir():
            raise UsageError(f"no folder of records at {folder}")
        paths = sorted(Path(folder).rglob("*.jsonl"))
        if not paths:
            raise UsageError(f"no record files (*.jsonl) in {folder}")
        found, known = defaultdict(list), dict(self._by_key)
        for path in paths:
            for record in read_records(path):
                _check(record, known.setdefault(record["key"], record), path)
                found[(files or {}).get(record["hash"], path.stem)].append(record)
        new = sum(self._append(records, file) for file, records in found.items())
        return new, sum(map(len, found.values())) - new

    def _append(self, records: list[dict], file: str) -> int:
        path = self.folder / f"{file}.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        new = 0
        with FileLock(path.with_suffix(".lock")):
            if path.exists() and path.stat().st_size != self._sizes.get(path):  # another command has written
                self._read(path)
            for record in records:
                _check(record, self._by_key.get(record["key"]), path)
                if record["key"] not in self._by_key:
                    append_line(path, to_line(record))
                    self._keep(record)
                    new += 1
            if path.exists():
                self._sizes[path] = path.stat().st_size
        return new

    def _read(self, path: Path) -> None:
        self._sizes[path] = path.stat().st_size if path.exists() else -1
        for record in read_records(path):
            known = self._by_key.get(record["key"])
            _check(record, known, path)
            if known is None:
                self._keep(record)

    def _keep(self, record: dict) -> None:
        self._by_key[record["key"]] = record
        self._by_hash[record["hash"]].append(record)


def _check(record: dict, known: dict | None, where: Path) -> None:
    if known is not None and any(known[name] != record[name] for name in SAME):
        raise RecordConflict(
            f"run {record['key']} in {where} has other results than the one on record; if it was made by other "
            "code, delete the one that is out of date; another processor or GPU rounds in another way, and then "
            "one of the two is enough"
        )


def check_folder(folder: Path, what: str, make: bool = True) -> None:
    """Raise OSError now, rather than after hours of training, if nothing can be written to a folder for `what`."""
    try:
        if folder.is_file():
            raise OSError("it is a file")
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(
            dir=next(each for each in (folder, *folder.absolute().parents) if each.exists())
        ):
            pass
    except OSError as error:
        raise OSError(
            f"cannot write {what} to {folder} ({error}); name another folder with --{what}"
        ) from error


def to_line(record: dict) -> str:
    """A record as one line of JSON, which has no NaN: a loss of a curve, or a check, that is not finite is null."""
    return json.dumps(
        _each(record | {"settings": complete(record["settings"])}), sort_keys=True, allow_nan=False
    )


def _each(value: Any) -> Any:
    """What lies in dicts and lists, with None for numbers that are not finite."""
    if isinstance(value, dict):
        return {name: _each(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_each, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_records(path: Path) -> list[dict]:
    """The records of a file, with NaN where a curve or a check has null.

    CorruptFileError names file and line, if a line is no record or its key is not its own. The beginning of a record
    at the very end is what a kill in the middle of writing leaves: it is passed over; `append_line` takes it back.
    A record holds no checksum: a metric that was altered and is still a finite number is not noticed here; the
    history of the repository shows it.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise CorruptFileError(f"{path} cannot be read ({error.strerror}): delete or rename it") from error
    records = []
    for number, line in enumerate(text[: len(text) - len(_cut_line(text))].splitlines(), start=1):
        try:
            record = json.loads(line)
            fault = _fault(record)
            for values in () if fault else (*record["curve"].values(), *record.get("checks", ())):
                _none_to_nan(values)
        except (ValueError, RecursionError, TypeError, AttributeError):
            fault = "not a whole record"
        if fault is not None:
            raise CorruptFileError(
                f"{path}, line {number}: {fault}; if the file is one of records, delete that line and run it again"
            )
        records.append(record | {"settings": reduce(record["settings"])})  # newer lines hold them in full
    return records


def _none_to_nan(values: list | dict) -> None:
    places = values.items() if isinstance(values, dict) else enumerate(values)
    for place in [place for place, value in places if value is None]:
        values[place] = math.nan


def _fault(record: Any) -> str | None:
    """What is wrong with what a line holds, in words, or None; that curves are whole is left to a test."""
    if not isinstance(record, dict):
        return "not a whole record"
    if missing := PARTS.keys() - record.keys():
        return f"the record lacks {', '.join(sorted(missing))}"
    if wrong := [name for name, kind in PARTS.items() if type(record[name]) is not kind]:
        return f"the record's {wrong[0]} is not of type {PARTS[wrong[0]].__name__}"
    made = record["provenance"]
    if not isinstance(made.get("device"), str) or not is_finite(made.get("seconds")):
        return "the record's provenance does not tell the device and the seconds"
    digest = settings_hash(record["settings"])
    if (record["hash"], record["key"]) != (digest, f"{digest}-s{record['seed']}"):
        return "the record's key does not belong to its settings and seed"
    bad = [name for name, value in record["metrics"].items() if not is_finite(value)]
    return f"the record's metric {bad[0]} is not a finite number" if bad else None


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
