"""Records on disk: a SQLite file that many processes write at once.

A point is kept once: by compiler, kernel and pipeline. What a transaction has written survives the death of its process; what it has
not is done again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.judging import Class, Record

VERSION = 1
_WAIT_SECONDS = 60

_SCHEMA = """
CREATE TABLE IF NOT EXISTS store (version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS points (
    compiler TEXT NOT NULL, kernel TEXT NOT NULL, pipeline TEXT NOT NULL,
    class TEXT NOT NULL, culprit TEXT NOT NULL, reason TEXT NOT NULL, program TEXT NOT NULL,
    PRIMARY KEY (compiler, kernel, pipeline)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS programs (
    compiler TEXT NOT NULL, kernel TEXT NOT NULL, program TEXT NOT NULL, metrics TEXT NOT NULL,
    PRIMARY KEY (compiler, kernel, program)
) WITHOUT ROWID;
"""


class Store:
    """The file at `path`, made if it is not there. `compiler` tells records of different compilers apart.

    Raises `MinitritonError` for a file that is no store, a store of another version, and a disk that takes no more.
    """

    def __init__(self, path: str | Path, compiler: str) -> None:
        self.path, self.compiler = Path(path), compiler
        try:
            self._db = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._begin()
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _begin(self) -> None:
        first = f"INSERT INTO store SELECT {VERSION} WHERE NOT EXISTS (SELECT 1 FROM store);"
        self._db.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}{first}COMMIT;")
        found = self._db.execute("SELECT version FROM store").fetchone()
        if found is None or found[0] != VERSION:
            raise MinitritonError(
                f"{self.path} is a store of version {found[0] if found else 'none'}, not {VERSION}",
                help="give another file, or read this one with the minitriton that wrote it",
            )

    def add(self, records: Iterable[Record]) -> None:
        """Writes `records` in one transaction; points that are there already stay as they are."""
        rows = list(records)
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT OR IGNORE INTO points VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(self.compiler, r.kernel, r.pipeline, str(r.result), r.culprit, r.reason, r.program) for r in rows],
            )
            programs = {(r.kernel, r.program): r.metrics for r in rows if r.program}
            self._db.executemany(
                "INSERT OR IGNORE INTO programs VALUES (?, ?, ?, ?)",
                [(self.compiler, kernel, program, json.dumps(m)) for (kernel, program), m in programs.items()],
            )
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise self._error(error) from error

    def known(self, kernel: str) -> set[str]:
        """The pipelines of `kernel` that have a record."""
        rows = self._db.execute(
            "SELECT pipeline FROM points WHERE compiler = ? AND kernel = ?", (self.compiler, kernel)
        )
        return {pipeline for (pipeline,) in rows}

    def known_of(self, kernel: str, pipelines: Iterable[str]) -> set[str]:
        """Those of `pipelines` that have a record."""
        ask = "SELECT 1 FROM points WHERE compiler = ? AND kernel = ? AND pipeline = ?"
        return {p for p in pipelines if self._db.execute(ask, (self.compiler, kernel, p)).fetchone()}

    def records(self, kernel: str | None = None) -> Iterator[Record]:
        """All records of this compiler, or of one kernel, in no particular order."""
        metrics = {
            (name, program): json.loads(text)
            for name, program, text in self._db.execute(
                "SELECT kernel, program, metrics FROM programs WHERE compiler = ?", (self.compiler,)
            )
        }
        rows = self._db.execute(
            "SELECT kernel, pipeline, class, culprit, reason, program FROM points WHERE compiler = ? "
            "AND (? IS NULL OR kernel = ?)",
            (self.compiler, kernel, kernel),
        )
        for name, pipeline, result, culprit, reason, program in rows:
            found = metrics.get((name, program), {})
            yield Record(name, pipeline, Class(result), culprit, reason, program, found)

    def compilers(self) -> list[str]:
        """Whose records the file holds."""
        return [name for (name,) in self._db.execute("SELECT DISTINCT compiler FROM points ORDER BY compiler")]

    def close(self) -> None:
        """Ends the connection."""
        self._db.close()

    def _error(self, error: sqlite3.Error) -> MinitritonError:
        return MinitritonError(
            f"cannot use the store {self.path}: {error}",
            help="is it a file that a sweep wrote, in a folder that can be written, with room on the disk?",
        )
