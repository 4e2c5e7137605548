"""Stores that many write, that are full, and sweeps that meet in one."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from minitriton import lab
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.store import VERSION, Store, compiler_name

KERNEL = "running_product"


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.db", "one")
    store.add([Evaluation("k", "before", Class.RIGHT, program="x")])
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(MinitritonError, match="full") as raised:
        store.add([Evaluation("k", f"{n} " * 500, Class.RIGHT, program="x") for n in range(100)])
    assert "room on the disk" in str(raised.value)
    store.close()
    assert [r.pipeline for r in Store(tmp_path / "s.db", "one").records()] == ["before"]


def test_a_new_store_that_another_process_writes_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    writer.executescript(f"CREATE TABLE store (version INTEGER); INSERT INTO store VALUES ({VERSION}); BEGIN IMMEDIATE")
    monkeypatch.setattr("minitriton.lab.sweeping.store.time.sleep", lambda seconds: writer.execute("COMMIT"))
    assert list(Store(tmp_path / "s.db", "one").records()) == []


def test_two_sweeps_into_one_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    command = [sys.executable, "-m", "minitriton", "sweep", KERNEL, "--store", str(path)]
    running = [subprocess.Popen([*command, "--count", n], stdout=subprocess.DEVNULL) for n in ("60", "90")]
    assert [process.wait() for process in running] == [0, 0]
    records = list(Store(path, compiler_name()).records())
    assert len(records) == len({r.pipeline for r in records}) == 90
    assert {r.result for r in records} == {Class.RIGHT}


def test_illegal_points_have_their_reason(tmp_path: Path) -> None:
    table = lab.sweep([KERNEL], lab.Space(legal=False), count=20, seed=3)
    refused = [r for r in table.records if r.result is Class.REFUSED]
    assert refused
    assert all(r.reason and r.culprit for r in refused)
    assert not table.not_right() or table.counts().get("failed")
