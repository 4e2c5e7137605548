"""What more is known of a launch never makes an access narrower, and what the explorer says of its width is what the PTX does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import emulator
from minitriton.analysis.access_width import access_width
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.compiler import ASTSource
from minitriton.dialects import tt
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.text import parse_module
from minitriton.target import GPUTarget

MASKS = (
    "offsets < n", "offsets <= n", "offsets < n + 1", "offsets < n - 3", "n >= offsets", "offsets + 5 <= n", "offsets < (n | 1)",
    "offsets < n % 48", "(offsets >= 8) & (offsets <= n)", "offsets < n // 2", "offsets != n",
)  # fmt: skip
KNOWLEDGE = {
    "a multiple of 16": "", "promised": "n = tl.multiple_of(n, 16)", "even": "n = tl.multiple_of(n, 2)", "assumed": "tl.assume(n % 16 == 0)",
    "a constant": "n = 2000", "an odd constant": "n = 1999",
}  # fmt: skip
KERNEL = """
import minitriton as triton
import minitriton.language as tl

@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    {promise}
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = {mask}
    tl.store(y + offsets, tl.load(x + offsets, mask=mask) + 1, mask=mask)
"""
VECTOR = re.compile(r"(?:ld|st)\.global\S*?(?:\.v(\d))?\.[bufs](\d+)\b")


def compiled(folder: Path, mask: str, promise: str, *, divided: bool = False) -> dict[str, str]:
    file = folder / "kernel.py"
    file.write_text(KERNEL.format(promise=promise or "pass", mask=mask))
    names: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    attributes = {(index,): [["tt.divisibility", 16]] for index in range(2 + divided)}
    source = ASTSource(
        names["kernel"], {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 1024}, attributes
    )
    return triton.compile(source, GPUTarget("cuda", 90, 32), {}).asm


def widest(ptx: str) -> int:
    """Bytes of the widest access."""
    return max(int(count or 1) * int(bits) // 8 for count, bits in VECTOR.findall(ptx))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mask", MASKS)
def test_no_knowledge_of_the_bound_makes_accesses_narrower(mask: str, tmp_path: Path) -> None:
    unknown = widest(compiled(tmp_path, mask, "")["ptx"])
    for name, promise in KNOWLEDGE.items():
        assert widest(compiled(tmp_path, mask, promise, divided=not promise)["ptx"]) >= unknown, name


@pytest.mark.parametrize("mask", ["offsets <= n", "offsets != n", "offsets < n"])
def test_the_width_that_is_reported_is_that_of_the_code(mask: str, tmp_path: Path) -> None:
    for divided in (False, True):
        asm = compiled(tmp_path, mask, "", divided=divided)
        module = parse_module(asm["ttgir"])
        facts = AxisInfoAnalysis(module)
        widths = {access_width(facts, op).width for op in ops_in(module) if isinstance(op, tt.LoadOp | tt.StoreOp)}
        assert widths == {widest(asm["ptx"]) // 4}


@triton.jit
def stencil(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    after = tl.load(x + at + 1, mask=at < n)
    tl.store(y + at, after + tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def up_to_and_with(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at <= n) + 1, mask=at <= n)


@pytest.mark.parametrize("kernel", [stencil, up_to_and_with], ids=lambda kernel: kernel.__name__)
def test_a_launch_with_a_bound_of_2000_takes_no_more_sectors_than_one_with_1999(kernel) -> None:
    sectors = []
    for n in (1999, 2000):
        x, y = np.arange(2064, dtype=np.float32), np.zeros(2064, np.float32)
        made = kernel.warmup(x, y, n, BLOCK=1024, grid=(2,))
        report = emulator.run(made.asm["ptx"], None, (2,), [x, y, n], made.metadata.shared)
        assert report.ok, report.findings
        sectors.append(sum(each.sectors for each in report.traffic.values()))
    assert sectors[1] <= 1.01 * sectors[0]
