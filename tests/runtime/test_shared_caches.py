"""A cache folder that others may write to, or cannot be written: a launch works, and nothing of another user's is run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.runtime.cache import KernelCache, cache_directory, get_cache_manager
from minitriton.runtime.caches.eviction import take_away
from minitriton.runtime.caches.manager import RemoteCacheBackend, RemoteCacheManager, own_folder

NOBODY = 65534
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be another user")


def test_a_folder_of_the_users_own_is_taken_as_it_is(tmp_path: Path) -> None:
    assert own_folder(str(tmp_path / "new")) == tmp_path / "new"
    assert (tmp_path / "new").stat().st_mode & 0o022 == 0


@pytest.mark.parametrize("mode", [0o1777, 0o2775])
def test_where_others_may_write_the_user_has_a_private_folder(tmp_path: Path, mode: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    mine = own_folder(str(shared))
    assert mine == shared / f"user-{os.geteuid()}" and mine.stat().st_mode & 0o777 == 0o700


@as_root
def test_a_private_folder_that_another_user_made_is_not_used(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "user-0").mkdir(parents=True)
    shared.chmod(0o1777)
    os.chown(shared / "user-0", NOBODY, NOBODY)
    with pytest.warns(RuntimeWarning, match=r"shared cannot be used \(.*user-0 belongs to another user\)"):
        found = own_folder(str(shared))
    assert shared not in found.parents


def test_what_can_be_written_nowhere_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path / "file" / "cache")
        with pytest.warns(
            RuntimeWarning, match="what is compiled is kept until this process ends. Set TRITON_CACHE_DIR"
        ):
            KernelCache().store("k", {"a": b"1"})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert KernelCache().load("k") == {"a": b"1"}
            assert Path(get_cache_manager("k").put(b"x", "x.so")).parent.parent == cache_directory()


_LAUNCH = """
import os, pathlib, sys, warnings, linecache
from minitriton.runtime.cache import KernelCache, get_cache_manager
KernelCache(pathlib.Path(sys.argv[1])).store("k", {"a": b""})  # imports what this user may not read
get_cache_manager
os.setgid(65534), os.setuid(65534)
cache = KernelCache()
files = {"a.ptx": b"of " + str(os.getuid()).encode()}
cache.store("k", files)
print(cache.load("k") == files, get_cache_manager("k").put(b"x", "x.so").startswith(str(cache.root)))
"""


@as_root
@pytest.mark.parametrize("mode", [0o755, 0o700, 0o777])
def test_another_user_of_the_folder_gets_nothing_of_the_first_and_no_error(tmp_path: Path, mode: int) -> None:
    for folder in (tmp_path, *list(tmp_path.parents)[:-1]):
        if folder.stat().st_mode & 0o055 != 0o055 and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    shared = tmp_path / "shared"
    shared.mkdir()
    KernelCache(shared).store("k", {"a.ptx": b"of root"})
    shared.chmod(mode)
    home = tmp_path / "home"
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _LAUNCH, str(tmp_path / "first")], capture_output=True, text=True,
        env={**os.environ, "TRITON_CACHE_DIR": str(shared), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert ran.stdout.split() == (["False", "False"] if mode == 0o755 else ["True", "True"]), ran.stderr
    assert KernelCache(shared).load("k") == {"a.ptx": b"of root"}


def test_a_file_under_another_name_or_key_is_not_taken(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.store("k1", {"a": b"1", "b": b"2"})
    (tmp_path / "k1").rename(tmp_path / "k2")
    assert cache.load("k2") is None
    cache.store("k1", {"a": b"1", "b": b"2"})
    manifest = json.loads((tmp_path / "k1" / "manifest.json").read_text())
    (tmp_path / "k1" / "manifest.json").write_text(json.dumps({"a": manifest["b"], "b": manifest["a"]}))
    (tmp_path / "k1" / "a").write_bytes(b"2"), (tmp_path / "k1" / "b").write_bytes(b"1")
    assert cache.load("k1") is None


def test_an_entry_that_another_process_takes_away_first_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ("a" * 64)).mkdir()

    def gone(self: Path, target: Path) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "rename", gone)
    take_away(tmp_path / ("a" * 64))
    assert not list(tmp_path.iterdir())


class Malicious(RemoteCacheBackend):
    name = "x"

    def get(self, filenames: list[str]) -> dict[str, bytes]:
        group = json.dumps({"child_paths": [self.name]}).encode()
        return {name: group if name.startswith("__grp__") else b"evil" for name in filenames}

    def put(self, filename: str, data: bytes) -> None: ...


@pytest.mark.parametrize("name", ["../../x", "/tmp/minitriton-evil", "a/b", "..", ""])
def test_a_group_of_a_remote_cache_writes_into_its_folder_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(Malicious, "name", name)
    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path / "cache")
        knobs.cache.remote_manager_class = Malicious
        with pytest.raises(MinitritonError, match="a file of the cache cannot be called"):
            RemoteCacheManager("key").get_group("g")
    assert {path.name for path in (tmp_path / "cache" / "key").iterdir()} == {"__grp__g"}
    assert not Path("/tmp/minitriton-evil").exists() and not (tmp_path / "x").exists()
