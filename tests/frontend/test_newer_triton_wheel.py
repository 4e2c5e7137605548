"""Kernels in the language of Triton 3.9 mean here what they mean there: the TTIR of both front ends gives the same numbers on the interpreter.

Needs a Python with that wheel, named by TRITON_3_9: `python -m venv v; v/bin/pip install triton==3.9.0; export TRITON_3_9=$PWD/v/bin/python`.
What the kernels give is tested without it in `test_newer_triton.py`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from minitriton.dialects.text import parse_module
from minitriton.frontend.code_generator import ast_to_ttir
from minitriton.interpreter import interpret
from minitriton.run_as_triton import triton_means_minitriton
from minitriton.target import CUDAOptions, GPUTarget

HERE = Path(__file__).parent
PYTHON = os.environ.get("TRITON_3_9", "")
HOPPER = GPUTarget("cuda", 90, 32)

pytestmark = pytest.mark.skipif(not PYTHON, reason="TRITON_3_9 names no Python with Triton 3.9's wheel")


def loaded() -> ModuleType:
    """The kernels, with `triton` meaning minitriton."""
    with triton_means_minitriton():
        spec = importlib.util.spec_from_file_location("newer_kernels", HERE / "newer_kernels.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def theirs() -> dict[str, str]:
    """Kernel → TTIR of the wheel's front end."""
    command = [PYTHON, HERE / "newer_wheel.py", HERE / "newer_kernels.py"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    assert found["version"].startswith("3.9.")
    return found


KERNELS = loaded() if PYTHON else None


@pytest.mark.parametrize("name", KERNELS.INPUTS if KERNELS is not None else ["none"])
def test_a_kernel_gives_what_it_gives_in_triton_3_9(name: str, theirs: dict[str, str]) -> None:
    assert KERNELS is not None
    dtype = KERNELS.INPUTS[name]
    pointer = {"int32": "*i32", "float32": "*fp32"}[dtype]
    options = CUDAOptions.for_target(HOPPER, triton_version="3.9.0")
    ours = ast_to_ttir(getattr(KERNELS, name), {"out": pointer, "x": pointer}, {}, {}, options, HOPPER)
    results: list[np.ndarray] = []
    for module in (ours, parse_module(theirs[name], name)):
        out, x = np.zeros(64, dtype), np.arange(64).astype(dtype)
        interpret(module, name, (out, x), (1,))
        results.append(out)
    np.testing.assert_array_equal(*results)
    assert results[0].any()
