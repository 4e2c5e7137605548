"""Kernels to emulate: small ones written as PTX, and the example kernels from either compiler."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import building
import numpy as np
import pytest

from minitriton import emulator
from minitriton_kernels.cases import CASES

sys.path.insert(0, str(Path(__file__).parent))

from ptx_text import ptx_of

Run = Callable[..., emulator.Report]
Compiled = tuple[str, int]


@pytest.fixture
def emulate() -> Run:
    """Runs a body on arrays: `%rd91` and `%rd92` are the addresses of this thread's word in the first and second."""

    def run(
        body: str,
        *arguments: Any,
        threads: int = 32,
        shared: int = 0,
        grid: tuple[int, ...] = (1,),
        cluster: int = 1,
    ) -> Any:
        kinds = " ".join(
            "u64" if isinstance(a, np.ndarray) else "f32" if isinstance(a, float) else "u32" for a in arguments
        )
        return emulator.run(ptx_of(body, kinds, threads, shared, cluster), "k", grid, arguments)

    return run


@pytest.fixture
def one_to_one(emulate: Run) -> Callable[..., np.ndarray]:
    """Runs an instruction on words: %r1, %r2, %r3 hold element i of each input, %r9 is stored. Words as uint32."""

    def run(body: str, *inputs: Any) -> np.ndarray:
        words = [np.asarray(i).view(np.uint32) for i in inputs]
        count = len(words[0])
        padded = [np.resize(w, (3, 32))[0] if len(w) < 32 else w for w in words]
        table = np.stack([*padded, *([padded[0]] * (3 - len(padded)))]).copy()
        threads = table.shape[1]
        out = np.zeros(threads, np.uint32)
        loads = "".join(f"ld.global.b32 %r{n + 1}, [%rd91+{4 * threads * n}];\n" for n in range(3))
        report = emulate(f"{loads}{body}\nst.global.b32 [%rd92], %r9;", table, out, threads=threads)
        assert report.ok, report.findings
        return out[:count]

    return run


def _compiled(name: str, compiler: str, capability: int) -> Compiled:
    made = building.compiled(next(c for c in CASES if c.name == name), compiler, capability)
    return made.asm["ptx"], made.metadata.shared


@pytest.fixture(scope="session")
def compiled() -> Callable[[str, str, int], Compiled]:
    """PTX and shared bytes of an example kernel, by name, compiler and capability."""
    return _compiled
