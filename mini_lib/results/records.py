"""The measured runs: one JSON record a trained network, in one JSONL file a table, never doubled, never lost."""

import json
import os
import subprocess
import tempfile
from collections import defaultdict
from datetime import date
from functools import cache
from pathlib import Path

import torch
from filelock import FileLock

from mini_lib import __version__
from mini_lib.errors import Damaged, WrongUse
from mini_lib.results.cells import run_key, settings_hash
from mini_lib.storage import not_written
from mini_lib.training import Run

COMMITTED = Path(__file__).parent / "records"
REQUIRED = {
    "key",
    "hash",
    "seed",
    "paper",
    "settings",
    "scale",
    "data",
    "metrics",
    "diverged",
    "curve",
    "updates",
}
SAME = ("settings", "metrics", "diverged", "updates", "scale")


class RecordConflict(Damaged):
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
    """The record of a finished run; figures rounded to 6 decimals, or to 5 significant digits where that is more."""
    digest = settings_hash(settings)
    measured = [{name: _rounded(value) for name, value in check.items()} for check in run.checks]
    return {
        "key": run_key(settings, seed),
        "hash": digest,
        "seed": seed,
        "paper": paper,
        "settings": settings,
        "scale": scale,
        "data": data,
        "metrics": {name: _rounded(value) for name, value in run.metrics.items()},
        "diverged": run.diverged,
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


def _rounded(value: int | float) -> int | float:
    small = 0 < abs(value) < 0.1
    return float(f"{value:.5g}") if small else round(value, 6)


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
    """The records of a folder, one file `<table>.jsonl` for each table that declares runs."""

    def __init__(self, folder: Path | str = COMMITTED):
        self.folder = Path(folder)
        self._by_key: dict[str, dict] = {}
        self._by_hash: dict[str, list[dict]] = defaultdict(list)
        for path in sorted(self.folder.glob("*.jsonl")):
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

    def add(self, record: dict, home: str) -> bool:
        """Append a record to `<home>.jsonl` as one whole line, on disk before this returns.

        Returns:
            False if the same record is there already.

        Raises:
            RecordConflict: if its key is there with other results.
            OSError: if it cannot be written; nothing finished is lost.
        """
        return self._append([record], home) == 1

    def check_writable(self) -> None:
        """Raise OSError now, rather than after hours of training, if no record can be written to the folder."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise OSError(f"cannot write records to {self.folder}: {error}; name another folder") from error

    def merge(self, folder: Path | str, homes: dict[str, str] | None = None) -> tuple[int, int]:
        """Take over records made elsewhere; returns how many were new and how many were known.

        Args:
            folder: where their files lie, at any depth.
            homes: the file that records of a settings hash belong to; without one they keep their file's name.

        Raises:
            WrongUse: if the folder holds no record files.
            RecordConflict: on a key with other results; nothing at all is merged then.
        """
        paths = sorted(Path(folder).rglob("*.jsonl"))
        if not paths:
            raise WrongUse(f"no record files (*.jsonl) in {folder}")
        found, known = defaultdict(list), dict(self._by_key)
        for path in paths:
            for record in read_records(path):
                self._check(record, known.setdefault(record["key"], record), path)
                found[(homes or {}).get(record["hash"], path.stem)].append(record)
        new = sum(self._append(records, home) for home, records in found.items())
        return new, sum(map(len, found.values())) - new

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
                    append_line(path, json.dumps(record, sort_keys=True))
                    new += self._admit(record, path)
        return new

    @staticmethod
    def _check(record: dict, known: dict | None, where: Path) -> None:
        if known is not None and any(known[name] != record[name] for name in SAME):
            raise RecordConflict(
                f"run {record['key']} in {where} has other results than the one on record; if it was made by other "
                "code, delete the one that is out of date"
            )

    def _admit(self, record: dict, path: Path) -> bool:
        self._check(record, self._by_key.get(record["key"]), path)
        if record["key"] in self._by_key:
            return False
        self._by_key[record["key"]] = record
        self._by_hash[record["hash"]].append(record)
        return True


def read_records(path: Path) -> list[dict]:
    """The records of a file; Damaged naming file and line where one is damaged or has been altered."""
    records = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            record = json.loads(line)
            missing = REQUIRED - record.keys()
        except (json.JSONDecodeError, AttributeError):
            raise Damaged(
                f"{path}, line {number}: not a whole record; delete that line and run it again"
            ) from None
        if missing:
            raise Damaged(f"{path}, line {number}: the record lacks {', '.join(sorted(missing))}")
        digest = settings_hash(record["settings"])
        if record["hash"] != digest or record["key"] != run_key(record["settings"], record["seed"]):
            raise Damaged(f"{path}, line {number}: the record's key does not belong to its settings and seed")
        records.append(record)
    return records


def append_line(path: Path, line: str) -> None:
    """Append one line and force it to disk; a line cut short by a full disk is taken back."""
    before = path.read_bytes() if path.exists() else b""
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
