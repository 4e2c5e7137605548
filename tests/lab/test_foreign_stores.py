"""A store is data: damaged it is an error that names the file, and another user's runs no Python that it names."""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path

import pytest

from minitriton import knobs
from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.configuration import KernelProgram
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.references import of_store, references
from minitriton.lab.sweeping.store import Store
from minitriton.target import CUDAOptions


def filled(path: Path, options: CUDAOptions = CUDAOptions()) -> list[Evaluation]:
    """A store of one kernel, with configurations, numbers and a program."""
    store = Store(path, "one")
    store.add_kernel("k", references(["running_sums"])[0].text(), "p0")
    records = [
        Evaluation("k", f"p{n},q", Class.RIGHT, "", "", f"d{n % 3}", {"instructions": float(n % 3)}) for n in range(40)
    ]
    store.add(records, [KernelProgram("k", f"d{n}", f".version {n}\n" * 50, 90, options) for n in range(3)])
    store.add_metrics("k", "machine", {"d1": {"registers": 7.0}})
    store.add_cubins("k", {"d2": b"cubin" * 99})
    store.close()
    return records


def told(path: Path) -> object:
    """All that a store says."""
    store = Store(path, "one", whole=True)
    try:
        records = sorted(store.records(), key=lambda r: r.pipeline)
        return (
            store.compilers(),
            store.kernels(),
            records,
            [(p, p.cubin) for p in store.programs("k", ["d0", "d1", "d2"])],
        )
    finally:
        store.close()


def test_any_bit_that_is_not_what_was_written_is_an_error_or_makes_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    filled(path)
    content, expected = path.read_bytes(), told(path)
    used = [at for at, byte in enumerate(content) if byte]
    differing = 0
    for at in used[:: len(used) // 150]:
        for other in tmp_path.glob("s.db-*"):
            other.unlink()
        path.write_bytes(content[:at] + bytes([content[at] ^ 2]) + content[at + 1 :])
        try:
            assert told(path) == expected, at
        except MinitritonError as error:
            assert "s.db" in str(error)
            differing += 1
    assert differing > 100


def test_a_row_that_was_edited_is_an_error(tmp_path: Path) -> None:
    filled(tmp_path / "s.db")
    for change in (
        "UPDATE evaluations SET class = 'wrong' WHERE rowid = 3", "UPDATE metrics SET numbers = '{\"instructions\": 9.0}' WHERE program = 'd1'",
        "UPDATE programs SET about = '{}'", "UPDATE kernels SET own = 'p1'", "UPDATE tasks SET kernel = 'other'", "UPDATE steps SET text = 'z' WHERE text = 'q'",
    ):  # fmt: skip
        copy = tmp_path / "copy.db"
        copy.write_bytes((tmp_path / "s.db").read_bytes())
        with sqlite3.connect(copy) as database:
            database.execute(change)
        database.close()
        with pytest.raises(MinitritonError, match=r"cannot read .*copy.db: a row of k|copy.db: a row of other"):
            told(copy)


def test_what_unpacks_to_more_than_any_program_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from minitriton.lab.sweeping import store as module

    monkeypatch.setattr(module, "_MOST_PROGRAM", 1 << 16)
    path = tmp_path / "s.db"
    filled(path)
    bomb = zlib.compress(bytes(1 << 20))
    with sqlite3.connect(path) as database:
        (about,) = database.execute("SELECT about FROM programs").fetchone()
        sound = module._digest_of_row("one", "k", "d0", bomb, about)
        database.execute("UPDATE programs SET ptx = ?, sound = ? WHERE program = 'd0'", (bomb, sound))
    with pytest.raises(MinitritonError, match="of more than 65536 bytes"):
        told(path)


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store that another user wrote, whose kernel is in a file here."""
    (tmp_path / "kernels.py").write_text("raise SystemExit('this ran')\n")
    store = Store(tmp_path / "s.db", "one")
    store.add_kernel("k", references([f"{tmp_path / 'kernels.py'}:k"], signature="*fp32")[0].text(), "p0")
    store.add([Evaluation("k", "canonicalize", Class.RIGHT, program="d0", metrics={"ptx_instructions": 3.0})])
    store.close()
    monkeypatch.setenv("MINITRITON_KEY_FILE", str(tmp_path / "another" / "key"))
    return tmp_path / "s.db"


def test_another_users_store_runs_no_python(foreign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "was written by another user, and its kernel k names files"
    for command in (
        ["measure", str(foreign), "--metrics", "cycles"],
        ["report", str(foreign), "--html", str(tmp_path / "r.html")],
    ):
        assert main(command) == 1
        assert said in capsys.readouterr().err
    assert main(["report", str(foreign), "--html", str(tmp_path / "r.html"), "--no-passes"]) == 0
    with knobs.runtime.scope():
        knobs.runtime.trusted = str(tmp_path)
        assert of_store(Store(foreign, "one"))["k"].kernel.endswith("kernels.py:k")


def test_a_file_that_has_changed_since_is_said(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text("x = 1\n")
    store = Store(tmp_path / "s.db", "one")
    store.add_kernel("k", references([f"{tmp_path / 'kernels.py'}:k"], signature="*fp32")[0].text(), "p0")
    of_store(store)
    (tmp_path / "kernels.py").write_text("x = 2\n")
    with pytest.warns(RuntimeWarning, match="files of k have changed since"):
        of_store(store)


def test_programs_of_another_user_have_no_options_that_name_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "s.db", CUDAOptions(ptx_options="-o /tmp/x"))
    monkeypatch.setenv("MINITRITON_KEY_FILE", str(tmp_path / "another" / "key"))
    with pytest.raises(MinitritonError, match="names files"):
        told(tmp_path / "s.db")


def test_a_reference_that_nobody_wrote_is_an_error(tmp_path: Path) -> None:
    for text in ("[" * 100000, "{}", json.dumps({"kernel": 3}), json.dumps({"kernel": "k", "grid": ["x"]}), "null"):
        store = Store(tmp_path / "s.db", "one")
        store.add_kernel("k", text, "p0")
        with pytest.raises(MinitritonError, match=r"cannot read .*s\.db"):
            of_store(store)
        store.close()
        (tmp_path / "s.db").unlink()
