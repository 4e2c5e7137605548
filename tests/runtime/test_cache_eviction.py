"""The cache of compiled kernels stays within its size, keeps what is used, and touches nothing that is not its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minitriton import knobs
from minitriton.commands import cli
from minitriton.runtime.cache import KernelCache
from minitriton.runtime.caches import eviction as cache_eviction
from minitriton.runtime.caches.eviction import entries_of, evict


def key(number: int) -> str:
    return f"{number:064x}"


def stored(root: Path, count: int, size: int = 1000) -> KernelCache:
    """A cache with entries 0, 1, ... of `size` bytes, each used a second after the one before."""
    cache = KernelCache(root)
    for number in range(count):
        cache.store(key(number), {"k.ptx": bytes(size)})
        os.utime(cache.path(key(number)) / "manifest.json", (number, number))
    return cache


def kept(root: Path) -> list[int]:
    numbers = {KernelCache(root).path(key(number)).name: number for number in range(300)}
    return sorted(numbers[entry.path.name] for entry in entries_of(root))


def test_the_least_recently_used_entries_go_first(tmp_path: Path) -> None:
    cache = stored(tmp_path, 10)
    assert cache.load(key(0)) is not None, "used now"
    assert evict(tmp_path, 5 * 1100) > 0
    assert 0 in kept(tmp_path) and 9 in kept(tmp_path) and 1 not in kept(tmp_path)
    assert sum(entry.size for entry in entries_of(tmp_path)) <= 5 * 1100


def test_a_store_keeps_the_cache_within_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_CACHE_SIZE", "100K")
    cache = KernelCache(tmp_path)
    for number in range(300):
        cache.store(key(number), {"k.ptx": bytes(1000)})
    total = sum(entry.size for entry in entries_of(tmp_path))
    assert 50 << 10 < total < (100 << 10) * 1.3
    assert kept(tmp_path)[-1] == 299


def test_without_a_limit_nothing_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_CACHE_SIZE", "0")
    cache = KernelCache(tmp_path)
    for number in range(30):
        cache.store(key(number), {"k.ptx": bytes(1000)})
    assert len(kept(tmp_path)) == 30


def test_what_is_not_of_the_cache_stays(tmp_path: Path) -> None:
    stored(tmp_path, 3)
    others = [
        tmp_path / "TRITONSKEY234" / "k.ptx",
        KernelCache(tmp_path).path(key(77)) / "of-someone-else",
        tmp_path / "notes.txt",
    ]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(5000))
    evict(tmp_path, 1)
    assert kept(tmp_path) == [] and all(path.exists() for path in others)


def test_what_a_process_left_half_written_goes_after_an_hour(tmp_path: Path) -> None:
    stored(tmp_path, 1)
    old, new = tmp_path / ".ABCDEFGHIJKLMNOP-old", tmp_path / ".ABCDEFGHIJKLMNOP-new"
    old.mkdir()
    new.mkdir()
    os.utime(old, (time.time() - 4000,) * 2)
    evict(tmp_path, 1 << 20)
    assert not old.exists() and new.exists()


WORK = """
import sys
from pathlib import Path
from minitriton.runtime.cache import KernelCache
cache, me = KernelCache(Path(sys.argv[1])), int(sys.argv[2])
for number in range(400):
    name = f"{number * (me + 1) % 97:064x}"
    files = cache.load(name)
    assert files is None or files == {"k.ptx": bytes([number * (me + 1) % 97]) * 500}, name
    if files is None:
        cache.store(name, {"k.ptx": bytes([number * (me + 1) % 97]) * 500})
"""


def test_many_processes_that_store_load_and_evict_never_see_half_an_entry(tmp_path: Path) -> None:
    environment = {**os.environ, "MINITRITON_CACHE_SIZE": "16K"}
    command = [sys.executable, "-c", WORK, str(tmp_path)]
    running = [subprocess.Popen([*command, str(n)], env=environment, stderr=subprocess.PIPE) for n in range(4)]
    for process in running:
        _, said = process.communicate(timeout=100)
        assert process.returncode == 0, said.decode()
    evict(tmp_path, 16 << 10)
    assert sum(entry.size for entry in entries_of(tmp_path)) <= 16 << 10


def test_the_command_says_where_how_much_and_takes_all_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("MINITRITON_CACHE_SIZE", "2G")
    stored(tmp_path, 3, 1 << 20)
    assert cli.main(["cache", "path"]) == 0 and capsys.readouterr().out == f"{tmp_path}\n"
    assert cli.main(["cache", "size"]) == 0 and capsys.readouterr().out == "3 kernels, 3.0 MiB of 2.0 GiB\n"
    assert cli.main(["cache", "clear"]) == 0 and "3 kernels removed" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_the_cache_has_a_place_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRITON_CACHE_DIR", "TRITON_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    assert knobs.cache.dir == "/home/me/.cache/minitriton"
    monkeypatch.setenv("TRITON_CACHE_DIR", "")
    assert knobs.cache.dir == "/home/me/.cache/minitriton", "an empty variable is no folder"
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert knobs.cache.dir == "/caches/minitriton"


@pytest.mark.parametrize(("text", "size"), [("5", 5), ("2k", 2048), ("3M", 3 << 20), ("1 GiB", 1 << 30)])
def test_sizes_are_written_with_or_without_a_unit(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_CACHE_SIZE", text)
    assert knobs.cache.size == size


def test_looking_is_left_to_one_process(tmp_path: Path) -> None:
    stored(tmp_path, 3)
    with cache_eviction._alone(tmp_path) as first, cache_eviction._alone(tmp_path) as second:
        assert first and not second
        assert evict(tmp_path, 1) == 0
