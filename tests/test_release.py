"""The wheel and the source archive: built, unpacked where nothing but the core's dependencies is, and used."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

TREE = Path(__file__).parents[1]
VERSION = importlib.metadata.version("minitriton")  # in a process where it is `triton`, `__version__` is Triton's
CORE = ("xdsl", "llvmlite", "numpy", "numpy.libs", "immutabledict", "ordered_set", "typing_extensions")
"""What the core needs, by the names of its folders and modules."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("dist")
    environment = dict(os.environ)
    if int(importlib.metadata.version("setuptools").split(".")[0]) < 78:
        tools = tmp_path_factory.mktemp("tools")
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tools), "setuptools>=78.1.1"]
        if subprocess.run(install, capture_output=True).returncode:
            pytest.skip("needs setuptools>=78.1.1, which `make setup` installs")
        environment["PYTHONPATH"] = str(tools)
    subprocess.run(
        [sys.executable, TREE / "tests" / "release.py", folder], env=environment, check=True, capture_output=True
    )
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def test_the_wheel_runs_where_only_the_core_is_installed(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, _ = built
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for name in CORE:
        found = importlib.util.find_spec(name) if "." not in name else None
        path = Path(found.origin or "") if found else Path(importlib.util.find_spec("numpy").origin).parents[1] / name  # type: ignore[union-attr,arg-type]
        path = path.parent if path.name == "__init__.py" else path
        if path.exists():
            (site / path.name).symlink_to(path)

    def run(*arguments: str) -> str:
        command = [sys.executable, "-S", "-m", "minitriton", *arguments]
        environment = {"PYTHONPATH": str(site), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        return subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    said = run("--version")
    assert said.startswith(f"minitriton {VERSION}, compatible with Triton 3.6.0")
    assert "\nllvmlite " in said and "\nstarlette" not in said
    assert ".visible .entry running_sums" in run("compile", "running_sums", "--emit", "ptx")
    assert "sect/req" in run("run", "running_sums")


def test_the_metadata_says_what_it_is(built: tuple[Path, Path]) -> None:
    wheel, source = built
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert "minitriton/py.typed" in names and "minitriton/explorer/page/explorer.js" in names
    assert f"Version: {VERSION}" in metadata and "Classifier: Typing :: Typed" in metadata
    for extra in ("cuda", "explorer", "lab", "notebook"):
        assert f"Provides-Extra: {extra}" in metadata
    with tarfile.open(source) as archive:
        assert any(name.endswith("/pyproject.toml") for name in archive.getnames())


def test_the_change_log_has_this_version() -> None:
    assert f"\n## {VERSION}" in (TREE / "CHANGELOG.md").read_text()
