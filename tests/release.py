"""Builds the wheel and the source archive of this tree: `python tests/release.py dist`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

TREE = Path(__file__).parents[1]
CONTENTS = ("minitriton", "minitriton_kernels", "pyproject.toml", "README.md", "LICENSE")


def build(into: Path, scratch: Path) -> tuple[Path, Path]:
    """Both, made from a copy of the tree in `scratch`: setuptools writes next to what it builds."""
    from setuptools import build_meta

    for name in CONTENTS:
        source = TREE / name
        ignored = shutil.ignore_patterns("__pycache__")
        if source.is_dir():
            shutil.copytree(source, scratch / name, ignore=ignored)
        else:
            shutil.copy(source, scratch / name)
    into = into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    os.chdir(scratch)
    return into / build_meta.build_wheel(str(into)), into / build_meta.build_sdist(str(into))


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for path in build(Path(sys.argv[1]), Path(folder)):
            print(path)
        os.chdir("/")
