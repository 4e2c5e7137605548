"""A fuzzed launch on the GPU, by the ordinary compiler and runtime.

In: a case and its source. Out: copies of the arrays after the run. Needs a driver, and torch for device memory.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from minitriton.compiler import ASTSource, CompiledKernel, compile
from minitriton.dialects.narrowing import instance_of
from minitriton.fuzz.running.launch import FuzzedLaunch
from minitriton.target import GPUTarget

SLACK = 256
"""Bytes on either side of an array, so that its address can be as aligned, or not, as the host's."""


def launch_on_gpu(case: FuzzedLaunch, source: ASTSource) -> list[np.ndarray]:
    """Compiles, copies the arrays to the device, launches, copies them back. Raises what the launch raises."""
    import torch

    compiled = _compiled(case, source, _capability())
    values: list[object] = []
    arrays: list[tuple[Any, np.ndarray]] = []
    for value in case.launch.arguments.fresh():
        if not instance_of(value, np.ndarray):
            values.append(value)
            continue
        # Device allocations begin at multiples of 512 bytes.
        start = value.__array_interface__["data"][0] % 128
        memory = torch.zeros(start + value.nbytes + SLACK, dtype=torch.uint8, device="cuda")
        part = memory[start : start + value.nbytes]
        part.copy_(torch.from_numpy(value.view(np.uint8).copy()))
        values.append(part)
        arrays.append((part, value))
    compiled[(*case.grid, 1, 1)[:3]](*values)
    torch.cuda.synchronize()
    return [part.cpu().numpy().view(value.dtype).copy() for part, value in arrays]


def _compiled(case: FuzzedLaunch, source: ASTSource, capability: int) -> CompiledKernel:
    """The kernel; the user's cache is left alone, as no fuzzed kernel comes twice."""
    before = os.environ.get("TRITON_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            return compile(source, GPUTarget("cuda", capability, 32), case.options)
        finally:
            del os.environ["TRITON_CACHE_DIR"]
            if before is not None:
                os.environ["TRITON_CACHE_DIR"] = before


def _capability() -> int:
    import torch

    major, minor = torch.cuda.get_device_capability()
    return 10 * major + minor
