"""Records on disk: a SQLite file that many processes write at once.

A configuration is kept once: by compiler, kernel and pipeline. What a transaction has written survives the death of its process; what it has
not is done again. In addition to the configurations: each different program once, so that it can be assembled and launched again, and what was
measured of it, group by group.

Each row has a digest of what it says, so that a damaged one is an error and no other result. How a kernel is found again has the user's seal
too: Python that a store names is run only where this user named it (`references.of_store`).

One process writes at a time, so that a row is small: a pipeline of 70 passes is 70 characters, each the number of a pass's text in
`steps` (`canonicalize`, `cse`, ...), and is looked up by a digest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path

from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import DamagedFile, damage_of, parse_json, unpacked
from minitriton.host.seals import is_own, is_trusted, seal
from minitriton.lab.sweeping.configuration import KernelProgram
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.runtime.cache import compiler_fingerprint
from minitriton.target import OPTIONS_THAT_NAME_FILES

VERSION = 6
_WAIT_SECONDS = 60

_SCHEMA = """
CREATE TABLE IF NOT EXISTS store (version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS kernels (
    compiler TEXT NOT NULL, kernel TEXT NOT NULL, reference TEXT NOT NULL, own TEXT NOT NULL,
    sealed TEXT NOT NULL, sound BLOB NOT NULL, PRIMARY KEY (compiler, kernel)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tasks (
    task INTEGER PRIMARY KEY, compiler TEXT NOT NULL, kernel TEXT NOT NULL, UNIQUE (compiler, kernel)
);
CREATE TABLE IF NOT EXISTS steps (step INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS evaluations (
    task INTEGER NOT NULL, digest BLOB NOT NULL, pipeline TEXT NOT NULL,
    class TEXT NOT NULL, culprit TEXT NOT NULL, reason TEXT NOT NULL, program TEXT NOT NULL, own TEXT NOT NULL,
    sound BLOB NOT NULL, UNIQUE (task, digest)
);
CREATE TABLE IF NOT EXISTS programs (
    compiler TEXT NOT NULL, kernel TEXT NOT NULL, program TEXT NOT NULL, ptx BLOB, about TEXT, cubin BLOB,
    sound BLOB NOT NULL, PRIMARY KEY (compiler, kernel, program)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS metrics (
    compiler TEXT NOT NULL, kernel TEXT NOT NULL, program TEXT NOT NULL, name TEXT NOT NULL, numbers TEXT NOT NULL,
    sound BLOB NOT NULL, PRIMARY KEY (compiler, kernel, program, name)
) WITHOUT ROWID;
"""

EVALUATED = "evaluated"
"""The group of numbers that evaluating a configuration gives; others are added later."""

_DIGEST_BYTES = 12
_SOUND_BYTES = 8
_MOST_PROGRAM = 1 << 28
"""Bytes of a program's PTX, or of its machine code."""
_FIRST_CHARACTER = 0x20
_SURROGATES = range(0xD800, 0xE000)
"""Characters that no text may have."""


class Store:
    """The file at `path`, made if it is not there. `compiler` tells records of different compilers apart.

    `whole`: looks through the file for damage first (0.9 s for 100,000 configurations). Raises `MinitritonError` for a file that is no store, a store of another
    version, and a disk that takes no more; each method too for what is damaged.
    """

    def __init__(self, path: str | Path, compiler: str, *, whole: bool = False) -> None:
        self.path, self.compiler = Path(path), compiler
        self._tasks: dict[str, int] = {}
        self._steps = _StepNumbers()
        self._counted: set[tuple[str, str]] = set()
        """Kernels and programs whose numbers this process has written."""
        with self._said():
            connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
            connection.execute("PRAGMA synchronous=NORMAL")
            self._db = connection
            self._check_whose()
            if whole and (found := self._db.execute("PRAGMA integrity_check(1)").fetchone()) != ("ok",):
                raise sqlite3.DatabaseError(found[0] if found else "it is damaged")
            self._write_ahead()
            first = f"INSERT INTO store SELECT {VERSION} WHERE NOT EXISTS (SELECT 1 FROM store);"
            self._db.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}{first}COMMIT;")
            if whole:
                self._check_rows()

    def _write_ahead(self) -> None:
        """Switches to a write-ahead log. While others have the file open, SQLite refuses that at once, whatever the connection's timeout."""
        until = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.01)

    def _check_whose(self) -> None:
        """Writes nothing: a database of another program, or another version, stays as it is."""
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and "store" not in tables:
            raise MinitritonError(
                f"{self.path} is a database of another program, no store",
                help="give a file that a sweep wrote, or a new one",
            )
        found = self._db.execute("SELECT version FROM store").fetchone() if tables else (VERSION,)
        if found is None or found[0] != VERSION:
            raise MinitritonError(
                f"{self.path} is a store of version {found[0] if found else 'none'}, not {VERSION}",
                help="give another file, or read this one with the minitriton that wrote it",
            )

    @classmethod
    def of_file(cls, path: Path, compiler: str | None) -> Store:
        """The store that is there already: what it has of `compiler`, by default of this minitriton, else of the last one in it.

        Raises `MinitritonError` where there is none, or none of its configurations are by that compiler.
        """
        if not path.exists():
            raise MinitritonError(f"no such store: {path}", help="write one by minitriton sweep ... --store FILE")
        store = cls(path, compiler or compiler_name(), whole=True)
        names = store.compilers()
        if compiler is None and names and store.compiler not in names:
            store.close()
            store = cls(path, names[-1])
        if store.compiler not in names:
            store.close()
            of = f" of compiler {compiler}" if compiler else ""
            raise MinitritonError(
                f"{path} lacks configurations{of}", help="its compilers: " + (", ".join(names) or "none")
            )
        return store

    def add(self, records: Iterable[Evaluation], programs: Iterable[KernelProgram] = ()) -> None:
        """Writes `records`, and what assembling and launching their `programs` again takes, in one transaction; configurations that are
        there already stay as they are."""
        rows = list(records)
        counted = {(r.kernel, r.program): r.metrics for r in rows if r.program}
        fresh = counted.keys() - self._counted
        numbers = [_sound(self.compiler, *of, EVALUATED, json.dumps(counted[of])) for of in sorted(fresh)]
        texts = [
            _sound(self.compiler, p.kernel, p.digest, zlib.compress(p.ptx.encode()), json.dumps(p.about()))
            for p in programs
        ]
        self._number(rows)
        evaluations = [self._row(record) for record in rows]
        with self._transaction():  # others wait for this: all that can be done before is
            self._db.executemany("INSERT OR IGNORE INTO evaluations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", evaluations)
            self._db.executemany("INSERT OR IGNORE INTO metrics VALUES (?, ?, ?, ?, ?, ?)", numbers)
            self._db.executemany("INSERT OR IGNORE INTO programs VALUES (?, ?, ?, ?, ?, NULL, ?)", texts)
        self._counted |= fresh

    def _row(self, record: Evaluation) -> tuple[object, ...]:
        result = (str(record.result), record.culprit, record.reason, record.program, json.dumps(record.own))
        sound = _digest_of_row(self.compiler, record.kernel, record.pipeline, *result)
        return (
            self._tasks[record.kernel], _digest(record.pipeline), self._steps.written(record.pipeline), *result, sound,
        )  # fmt: skip

    def _number(self, rows: Iterable[Evaluation]) -> None:
        """Gives the kernels and steps of `rows` that have no number one, which stays theirs."""
        kernels = {r.kernel for r in rows} - self._tasks.keys()
        steps = {step for r in rows for step in self._steps.without_number(r.pipeline)}
        if kernels or steps:
            with self._transaction():
                self._db.executemany(
                    "INSERT OR IGNORE INTO tasks (compiler, kernel) VALUES (?, ?)",
                    [(self.compiler, kernel) for kernel in sorted(kernels)],
                )
                self._db.executemany("INSERT OR IGNORE INTO steps (text) VALUES (?)", [(s,) for s in sorted(steps)])
            self._read_numbers()

    def _read_numbers(self) -> None:
        self._tasks = dict(self._db.execute("SELECT kernel, task FROM tasks WHERE compiler = ?", (self.compiler,)))
        self._steps.read(self._db.execute("SELECT step, text FROM steps"))

    def _task(self, kernel: str) -> int | None:
        """The number of `kernel`; None before its first configuration."""
        if kernel not in self._tasks:
            self._read_numbers()
        return self._tasks.get(kernel)

    def add_metrics(self, kernel: str, group: str, numbers: Mapping[str, dict[str, float]]) -> None:
        """Writes what was measured of programs of `kernel`, by digest, in place of what was known of the group."""
        with self._transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?, ?)",
                [
                    _sound(self.compiler, kernel, program, group, json.dumps(found))
                    for program, found in numbers.items()
                ],
            )

    def add_cubins(self, kernel: str, cubins: Mapping[str, bytes]) -> None:
        """Keeps the machine code of programs of `kernel`, by digest."""
        with self._transaction():
            self._db.executemany(
                "UPDATE programs SET cubin = ? WHERE compiler = ? AND kernel = ? AND program = ?",
                [(zlib.compress(cubin), self.compiler, kernel, digest) for digest, cubin in cubins.items()],
            )

    def add_kernel(
        self, kernel: str, reference: str, own: str, is_same: Callable[[str], bool] = lambda _: True
    ) -> None:
        """Notes how `kernel` is found again (plain text), and the configuration that is its own. Raises `MinitritonError` where the store has one
        of this name that is not the same: of two processes that begin at once, the second."""
        with self._transaction():
            ask = "SELECT reference FROM kernels WHERE compiler = ? AND kernel = ?"
            known = self._db.execute(ask, (self.compiler, kernel)).fetchone()
            if known is not None and not is_same(known[0]):
                raise self.of_another(kernel)
            row = _sound(self.compiler, kernel, reference, own, seal("kernel", reference))
            self._db.execute("INSERT OR REPLACE INTO kernels VALUES (?, ?, ?, ?, ?, ?)", row)

    def of_another(self, kernel: str) -> MinitritonError:
        """What is said where the records of `kernel` are not those of the one asked for."""
        return MinitritonError(
            f"{self.path} has records of {kernel} with another signature, launch or source, other files of passes, or compiled only",
            help="give another file for the store: its records would be taken for those of this kernel",
        )

    def kernels(self) -> dict[str, tuple[str, str]]:
        """By name, how each kernel is found and its own configuration, as `add_kernel` was given."""
        return {kernel: (reference, own) for kernel, reference, own, _ in self._kernels()}

    def own_kernels(self) -> set[str]:
        """The kernels that this user added, or all where the file is in a folder that is trusted."""
        is_all = is_trusted(self.path)
        return {
            kernel for kernel, reference, _, sealed in self._kernels() if is_all or is_own("kernel", reference, sealed)
        }

    def _kernels(self) -> list[tuple[str, str, str, str]]:
        ask = "SELECT kernel, reference, own, sealed, sound FROM kernels WHERE compiler = ?"
        with self._said():
            rows = self._db.execute(ask, (self.compiler,)).fetchall()
            for *row, sound in rows:
                self._check(sound, self.compiler, *row)
            return [row[:4] for row in rows]

    def programs(self, kernel: str, digests: Iterable[str]) -> list[KernelProgram]:
        """The programs of `kernel` that `digests` name, in that order; those that are not kept are left out."""
        ask = "SELECT ptx, about, cubin, sound FROM programs WHERE compiler = ? AND kernel = ? AND program = ?"
        found: list[KernelProgram] = []
        is_own = kernel in self.own_kernels()
        for digest in digests:
            with self._said():
                row = self._db.execute(ask, (self.compiler, kernel, digest)).fetchone()
                if row is None:
                    continue
                packed, about, cubin, sound = row
                self._check(sound, self.compiler, kernel, digest, packed, about)
                plain = parse_json(about)
                if not is_own and any(plain["options"].get(name) for name in OPTIONS_THAT_NAME_FILES):
                    raise self.of_another_user(kernel)
                ptx = unpacked(packed, _MOST_PROGRAM).decode()
                found.append(
                    KernelProgram.of(kernel, digest, ptx, plain, unpacked(cubin, _MOST_PROGRAM) if cubin else b"")
                )
        return found

    def of_another_user(self, kernel: str) -> MinitritonError:
        """What is said where code would be run, or files opened, because a store of another user's names them."""
        return MinitritonError(
            f"{self.path} was written by another user, and its kernel {kernel} names files",
            help=f"if you trust them, set MINITRITON_TRUSTED={self.path.resolve().parent}; `report --no-passes` opens none of them",
        )

    def _check_rows(self) -> None:
        """Each row of the file: one whose compiler or kernel is not what was written would not be found, and not be missed."""
        self._read_numbers()
        for ask in (
            "SELECT compiler, kernel, reference, own, sealed, sound FROM kernels",
            "SELECT compiler, kernel, program, ptx, about, sound FROM programs",
            "SELECT compiler, kernel, program, name, numbers, sound FROM metrics",
        ):
            for *row, sound in self._db.execute(ask):
                self._check(sound, *row)
        ask = "SELECT compiler, kernel, pipeline, class, culprit, reason, program, own, sound FROM evaluations LEFT JOIN tasks USING (task)"
        for compiler, kernel, pipeline, *row, sound in self._db.execute(ask):
            self._check(sound, compiler, kernel, self._text(pipeline), *row)

    def _check(self, sound: bytes, *row: object) -> None:
        if sound != _digest_of_row(*row):
            raise DamagedFile(self.path, f"a row of {row[1]} is not what was written", _AGAIN)

    def measured(self, kernel: str, group: str) -> set[str]:
        """The programs of `kernel` whose `group` is known."""
        ask = "SELECT program FROM metrics WHERE compiler = ? AND kernel = ? AND name = ?"
        with self._said():
            return {program for (program,) in self._db.execute(ask, (self.compiler, kernel, group))}

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        with self._said():
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except (sqlite3.Error, MinitritonError):
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _said(self) -> Generator[None]:
        """Errors of SQLite, and of reading what is damaged, as ours, with the file's name."""
        try:
            with damage_of(self.path, _AGAIN):
                yield
        except sqlite3.Error as error:
            raise self._error(error) from error

    def known(self, kernel: str) -> set[str]:
        """The pipelines of `kernel` that have a record."""
        ask = "SELECT pipeline FROM evaluations WHERE task = ?"
        with self._said():
            rows = self._db.execute(ask, (self._task(kernel),)).fetchall()
            return {self._text(pipeline) for (pipeline,) in rows}

    def known_of(self, kernel: str, pipelines: Iterable[str]) -> set[str]:
        """Those of `pipelines` that have a record."""
        ask = "SELECT 1 FROM evaluations WHERE task = ? AND digest = ?"
        with self._said():
            task = self._task(kernel)
            return {p for p in pipelines if self._db.execute(ask, (task, _digest(p))).fetchone()}

    def _text(self, written: str) -> str:
        try:
            return self._steps.text(written)
        except KeyError:  # of another process, since they were read
            self._read_numbers()
            return self._steps.text(written)

    def records(self, kernel: str | None = None) -> Iterator[Evaluation]:
        """All records of this compiler, or of one kernel, in no particular order."""
        with self._said():
            yield from self._records(kernel)

    def _records(self, kernel: str | None) -> Iterator[Evaluation]:
        # conditions that a key can look up: else each kernel of a sweep reads the whole file
        of, given = ("compiler = ?", (self.compiler,))
        if kernel is not None:
            of, given = ("compiler = ? AND kernel = ?", (self.compiler, kernel))
        metrics: dict[tuple[str, str], dict[str, float]] = {}
        ask = f"SELECT kernel, program, name, numbers, sound FROM metrics WHERE {of}"
        for name, program, group, text, sound in self._db.execute(ask, given):
            self._check(sound, self.compiler, name, program, group, text)
            metrics.setdefault((name, program), {}).update(parse_json(text))
        ask = "SELECT pipeline, class, culprit, reason, program, own, sound FROM evaluations WHERE task = ?"
        for name, task in self._db.execute(f"SELECT kernel, task FROM tasks WHERE {of}", given).fetchall():
            for pipeline, result, culprit, reason, program, own, sound in self._db.execute(ask, (task,)):
                found = metrics.get((name, program), {})
                text = self._text(pipeline)
                self._check(sound, self.compiler, name, text, result, culprit, reason, program, own)
                yield Evaluation(name, text, Class(result), culprit, reason, program, found, parse_json(own))

    def compilers(self) -> list[str]:
        """Whose configurations the file holds, the one whose kernels came last at the end."""
        pointed = "EXISTS (SELECT 1 FROM evaluations WHERE evaluations.task = tasks.task)"
        ask = f"SELECT compiler FROM tasks WHERE {pointed} GROUP BY compiler ORDER BY max(task)"
        with self._said():
            return [name for (name,) in self._db.execute(ask)]

    def close(self) -> None:
        """Ends the connection."""
        self._db.close()

    def _error(self, error: sqlite3.Error) -> MinitritonError:
        return MinitritonError(
            f"cannot use the store {self.path}: {error}",
            help="is it a file that a sweep wrote, in a folder that can be written, with room on the disk?",
        )


class _StepNumbers:
    """Pipelines in a character a step: `canonicalize,cse,canonicalize` as `!"!`, as the table `steps` numbers their texts."""

    def __init__(self) -> None:
        self._characters: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def read(self, rows: Iterable[tuple[int, str]]) -> None:
        """Takes the table over."""
        self._characters = {text: _character(number) for number, text in rows}
        self._texts = {character: text for text, character in self._characters.items()}

    def without_number(self, pipeline: str) -> list[str]:
        """The steps of `pipeline` that are not in the table."""
        return [step for step in pipeline.split(",") if step not in self._characters]

    def written(self, pipeline: str) -> str:
        """`pipeline` as it is kept."""
        return "".join(map(self._characters.__getitem__, pipeline.split(",")))

    def text(self, written: str) -> str:
        """The pipeline that was `written`. Raises `KeyError` for a step that is not in the table."""
        return ",".join(map(self._texts.__getitem__, written))


def _character(number: int) -> str:
    """Of a step's number, from 1 on: most have one byte."""
    code = _FIRST_CHARACTER + number
    return chr(code if code < _SURROGATES.start else code + len(_SURROGATES))


_AGAIN = "take a copy from before it was damaged, or give a new file and sweep again"


def _sound(*row: object) -> tuple[object, ...]:
    """A row, and a digest of it."""
    return (*row, _digest_of_row(*row))


def _digest_of_row(*row: object) -> bytes:
    return hashlib.blake2b(repr(row).encode(), digest_size=_SOUND_BYTES).digest()


def _digest(pipeline: str) -> bytes:
    return hashlib.blake2b(pipeline.encode(), digest_size=_DIGEST_BYTES).digest()


def compiler_name() -> str:
    """What tells records of different compilers apart: a digest of minitriton's own source."""
    return compiler_fingerprint()
