"""Records on disk: a SQLite file that many processes write at once.

A point is kept once: by compiler, kernel and pipeline. What a transaction has written survives the death of its process; what it has
not is done again. Beside the points: each different program once, so that it can be assembled and launched again, and what was
measured of it, group by group.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.judging import Class, Record
from minitriton.lab.sweeping.program import KernelProgram
from minitriton.runtime.cache import compiler_fingerprint

VERSION = 2
_WAIT_SECONDS = 60

_SCHEMA = """
CREATE TABLE IF NOT EXISTS store (version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS kernels (
    compiler TEXT NOT NULL, kernel TEXT NOT NULL, reference TEXT NOT NULL, own TEXT NOT NULL,
    PRIMARY KEY (compiler, kernel)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS points (
    compiler TEXT NOT NULL, kernel TEXT NOT NULL, pipeline TEXT NOT NULL,
    class TEXT NOT NULL, culprit TEXT NOT NULL, reason TEXT NOT NULL, program TEXT NOT NULL, own TEXT NOT NULL,
    PRIMARY KEY (compiler, kernel, pipeline)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS programs (
    compiler TEXT NOT NULL, kernel TEXT NOT NULL, program TEXT NOT NULL, ptx BLOB, about TEXT, cubin BLOB,
    PRIMARY KEY (compiler, kernel, program)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS metrics (
    compiler TEXT NOT NULL, kernel TEXT NOT NULL, program TEXT NOT NULL, name TEXT NOT NULL, numbers TEXT NOT NULL,
    PRIMARY KEY (compiler, kernel, program, name)
) WITHOUT ROWID;
"""

JUDGED = "judged"
"""The group of numbers that judging a point gives; others are added later."""


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

    def add(self, records: Iterable[Record], programs: Iterable[KernelProgram] = ()) -> None:
        """Writes `records`, and what assembling and launching their `programs` again takes, in one transaction; points that are
        there already stay as they are."""
        rows = list(records)
        points = sorted(
            (self.compiler, r.kernel, r.pipeline, str(r.result), r.culprit, r.reason, r.program, json.dumps(r.own))
            for r in rows
        )
        counted = {(r.kernel, r.program): r.metrics for r in rows if r.program}
        numbers = [(self.compiler, *of, JUDGED, json.dumps(found)) for of, found in counted.items()]
        texts = [
            (self.compiler, p.kernel, p.digest, zlib.compress(p.ptx.encode()), json.dumps(p.about())) for p in programs
        ]
        with self._transaction():  # others wait for this: all that can be done before is
            self._db.executemany("INSERT OR IGNORE INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?)", points)
            self._db.executemany("INSERT OR IGNORE INTO metrics VALUES (?, ?, ?, ?, ?)", numbers)
            self._db.executemany("INSERT OR IGNORE INTO programs VALUES (?, ?, ?, ?, ?, NULL)", texts)

    def add_metrics(self, kernel: str, group: str, numbers: Mapping[str, dict[str, float]]) -> None:
        """Writes what was measured of programs of `kernel`, by digest, in place of what was known of the group."""
        with self._transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?)",
                [(self.compiler, kernel, program, group, json.dumps(found)) for program, found in numbers.items()],
            )

    def add_cubins(self, kernel: str, cubins: Mapping[str, bytes]) -> None:
        """Keeps the machine code of programs of `kernel`, by digest."""
        with self._transaction():
            self._db.executemany(
                "UPDATE programs SET cubin = ? WHERE compiler = ? AND kernel = ? AND program = ?",
                [(zlib.compress(cubin), self.compiler, kernel, digest) for digest, cubin in cubins.items()],
            )

    def add_kernel(self, kernel: str, reference: str, own: str) -> None:
        """Notes how `kernel` is found again (plain text), and the point that is its own."""
        with self._transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO kernels VALUES (?, ?, ?, ?)", (self.compiler, kernel, reference, own)
            )

    def kernels(self) -> dict[str, tuple[str, str]]:
        """By name, how each kernel is found and its own point, as `add_kernel` was told."""
        rows = self._db.execute("SELECT kernel, reference, own FROM kernels WHERE compiler = ?", (self.compiler,))
        return {kernel: (reference, own) for kernel, reference, own in rows}

    def programs(self, kernel: str, digests: Iterable[str]) -> list[KernelProgram]:
        """The programs of `kernel` that `digests` name, in that order; those that are not kept are left out."""
        ask = "SELECT ptx, about, cubin FROM programs WHERE compiler = ? AND kernel = ? AND program = ?"
        found: list[KernelProgram] = []
        for digest in digests:
            row = self._db.execute(ask, (self.compiler, kernel, digest)).fetchone()
            if row is not None:
                ptx, about = zlib.decompress(row[0]).decode(), json.loads(row[1])
                found.append(KernelProgram.of(kernel, digest, ptx, about, zlib.decompress(row[2]) if row[2] else b""))
        return found

    def measured(self, kernel: str, group: str) -> set[str]:
        """The programs of `kernel` of which `group` is known."""
        rows = self._db.execute(
            "SELECT program FROM metrics WHERE compiler = ? AND kernel = ? AND name = ?", (self.compiler, kernel, group)
        )
        return {program for (program,) in rows}

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
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
        of, given = ("compiler = ?", (self.compiler,))
        if kernel is not None:  # a condition that the primary key can look up: else each kernel reads the whole file
            of, given = ("compiler = ? AND kernel = ?", (self.compiler, kernel))
        metrics: dict[tuple[str, str], dict[str, float]] = {}
        for name, program, text in self._db.execute(f"SELECT kernel, program, numbers FROM metrics WHERE {of}", given):
            metrics.setdefault((name, program), {}).update(json.loads(text))
        rows = self._db.execute(
            f"SELECT kernel, pipeline, class, culprit, reason, program, own FROM points WHERE {of}", given
        )
        for name, pipeline, result, culprit, reason, program, own in rows:
            found = metrics.get((name, program), {})
            yield Record(name, pipeline, Class(result), culprit, reason, program, found, json.loads(own))

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


def compiler_name() -> str:
    """What tells records of different compilers apart: a digest of minitriton's own source."""
    return compiler_fingerprint()
