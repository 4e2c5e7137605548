"""Triton's own tests of Gluon's frontend, whose expected IR is compared line by line, from the checkout that TRITON_SRC names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = os.environ.get("TRITON_SRC")


@pytest.mark.skipif(SOURCE is None, reason="TRITON_SRC names no checkout of Triton")
def test_every_kernel_of_every_architecture_becomes_triton_s_ir() -> None:
    pytest.importorskip("expecttest")
    folder = Path(SOURCE or "") / "python/test/gluon"
    tests = [sys.executable, "-m", "minitriton.run_as_triton", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    options = ["--import-mode=importlib", f"--rootdir={folder}", "test_frontend.py"]
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*tests, *options], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "168 passed" in done.stdout, done.stdout[-8000:] + done.stderr[-2000:]
