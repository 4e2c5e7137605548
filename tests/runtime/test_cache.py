"""The on-disk cache: whole entries or none, damaged ones healed."""

import hashlib
import threading
from pathlib import Path

import pytest

from minitriton.compiler import triton_key
from minitriton.runtime import cache as cache_module
from minitriton.runtime.cache import KernelCache
from minitriton.runtime.caches.eviction import entries_of


def test_what_was_stored_comes_back(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.store("k", {"a.ptx": b"text", "a.cubin": b"\0\1"})
    assert cache.load("k") == {"a.ptx": b"text", "a.cubin": b"\0\1"}


def test_an_unknown_key_is_absent(tmp_path: Path) -> None:
    assert KernelCache(tmp_path / "none").load("k") is None


def test_a_damaged_file_makes_the_entry_absent_and_it_can_be_stored_again(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.store("k", {"a.ptx": b"text"})
    (tmp_path / "k" / "a.ptx").write_bytes(b"tex")
    assert cache.load("k") is None
    cache.store("k", {"a.ptx": b"text"})
    assert cache.load("k") == {"a.ptx": b"text"}


def test_damaged_manifests_and_missing_files_are_healed(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    for damage in ("not json", "[]", '{"gone.ptx": "0"}'):
        cache.store("k", {"a.ptx": b"text"})
        (tmp_path / "k" / "manifest.json").write_text(damage)
        assert cache.load("k") is None
        assert not (tmp_path / "k").exists()


def test_an_empty_folder_in_the_way_is_healed(tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    assert KernelCache(tmp_path).load("k") is None


def test_many_writers_of_one_key_leave_one_whole_entry(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    files = {f"f{i}": bytes([i]) * 1000 for i in range(20)}
    threads = [threading.Thread(target=cache.store, args=("k", files)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert cache.load("k") == files
    assert [p.name for p in tmp_path.iterdir()] == ["k"]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    cache = KernelCache(blocked / "cache")
    cache.store("k", {"a": b""})
    assert cache.load("k") is None


def test_dumps_and_overrides_have_managers_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CACHE", "DUMP", "OVERRIDE"):
        monkeypatch.setenv(f"TRITON_{variable}_DIR", str(tmp_path / variable.lower()))
    cache_module.get_dump_manager("key").put("text", "k.ttir", binary=False)
    assert (tmp_path / "dump" / "key" / "k.ttir").read_text() == "text"
    assert cache_module.get_override_manager("key").get_file("k.ttir") is None
    (tmp_path / "dump").rename(tmp_path / "override")
    assert cache_module.get_override_manager("key").get_file("k.ttir") == str(tmp_path / "override" / "key" / "k.ttir")
    assert cache_module.get_cache_manager("key").get_file("k.ttir") is None


def test_the_compiler_has_a_key_for_other_caches() -> None:
    assert triton_key() == cache_module.triton_key() and cache_module.compiler_fingerprint() in triton_key()


def test_an_entry_is_in_the_folder_that_triton_would_name(tmp_path: Path) -> None:
    cache, key = KernelCache(tmp_path), hashlib.sha256(b"").hexdigest()
    cache.store(key, {"a": b"1"})
    assert [p.name for p in tmp_path.iterdir() if p.is_dir()] == [
        "4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ"
    ]
    assert cache.load(key) == {"a": b"1"} and [e.path for e in entries_of(tmp_path)] == [cache.path(key)]
