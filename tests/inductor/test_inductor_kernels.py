"""Kernels as torch's Inductor writes them, on the emulator and on the interpreter, against NumPy.

Every tenth runs in the suite; all of them: `INDUCTOR_KERNELS=all pytest tests/inductor`. On a GPU, against Triton:
`tests/gpu/test_inductor_kernels.py`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from families import all_kernels, sample
from writing import Kernel, assert_expected, load

from minitriton.run_as_triton import triton_means_minitriton
from minitriton.runtime.interpreter import InterpretedFunction

KERNELS = all_kernels() if os.environ.get("INDUCTOR_KERNELS") == "all" else sample()
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)


class Typed:
    """A NumPy array of bits whose elements kernels see as `dtype`."""

    def __init__(self, array: np.ndarray, dtype: str) -> None:
        self.__array_interface__ = array.__array_interface__
        self.array, self.dtype = array, dtype


def launched(kernel: Kernel, function: Any) -> tuple[dict[str, np.ndarray], Any]:
    """The arrays after a launch, and the compiled kernel."""
    arrays = {name: array.copy() for name, array in kernel.arrays.items()}
    arguments = [Typed(a, kernel.elements[n]) if n in kernel.elements else a for n, a in arrays.items()]
    compiled = function[kernel.grid](*arguments, *kernel.numbers, **kernel.constants, **kernel.options)
    return arrays, compiled


def test_there_are_more_than_two_hundred_of_different_names() -> None:
    names = {kernel.name for kernel in all_kernels()}
    assert len(names) == len(all_kernels()) >= 200


@pytest.mark.sampled(3)
@every_kernel
def test_the_emulator_gives_numpy_s_numbers_and_finds_nothing(kernel: Kernel, tmp_path: Path) -> None:
    with triton_means_minitriton():
        found, compiled = launched(kernel, load(kernel, tmp_path))
    assert_expected(kernel, found)
    assert compiled.last_report is not None and compiled.last_report.findings == []


@every_kernel
def test_the_interpreter_gives_numpy_s_numbers(kernel: Kernel, tmp_path: Path) -> None:
    with triton_means_minitriton():
        function = load(kernel, tmp_path)
        found, _ = launched(kernel, InterpretedFunction(function.fn))
    assert_expected(kernel, found)
