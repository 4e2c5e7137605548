"""`minitriton-transpose-by-copies`: tf32 products of a matrix in the wrong order come out right, with its copies spread over the banks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton
from minitriton import emulator
from minitriton.compiler import ASTSource
from minitriton.dialects import ttg
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.text import parse_module
from minitriton.lab.corpus.case import load_file
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget

KERNELS = load_file(Path(__file__).parents[2] / "minitriton_kernels/matmul.py", "minitriton")
M, N, K = 64, 64, 96


def compiled(columns: bool, without: str = "", swap: bool = False) -> Any:
    """The kernel for b row by row, or `columns`: column by column; products keep their sides unless `swap` is given."""
    kernel = KERNELS.matmul
    signature: dict[str, str] = dict.fromkeys(kernel.arg_names, "constexpr")
    signature |= dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp32")
    signature |= dict.fromkeys(
        ("m", "n", "k", "stride_am", "stride_cm", "stride_bn" if columns else "stride_bk"), "i32"
    )
    constants = {"BM": M, "BN": N, "BK": 32, "GROUP": 8, "ACC": KERNELS.tl.float32, "stride_ak": 1}
    constants["stride_bk" if columns else "stride_bn"] = 1
    attrs = {
        (i,): [["tt.divisibility", 16]] for i, name in enumerate(kernel.arg_names) if signature[name] != "constexpr"
    }
    options: dict[str, Any] = {"num_warps": 4, "num_stages": 2, "without": without}
    if not swap:
        pipeline = pipeline_for(GPUTarget("cuda", 90, 32), CUDAOptions(**options))
        pipeline = pipeline.replace("tritongpu-accelerate-matmul", "tritongpu-accelerate-matmul{swap-tf32=false}")
        options["pipeline"] = str(pipeline)
    return minitriton.compile(
        ASTSource(kernel, signature, constants, attrs), GPUTarget("cuda", 90, 32), options, assemble=False
    )


@pytest.mark.parametrize("columns, swap", [(False, False), (True, False), (False, True)])
def test_products_are_right_and_sectors_are_read_whole(columns: bool, swap: bool) -> None:
    kernel = compiled(columns, swap=swap)
    assert "wgmma" in kernel.asm["ptx"]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-8, 9, shape).astype(np.float32) for shape in ((M, K), (K, N)))
    c = np.zeros((M, N), np.float32)
    stored = np.ascontiguousarray(b.T) if columns else b
    stride = K if columns else N
    arguments = [a, stored, c, M, N, K, K, stride, N]
    report = emulator.run(kernel.asm["ptx"], None, (1,), arguments, kernel.metadata.shared)
    assert report.ok, report.findings
    np.testing.assert_array_equal(c, a @ b)
    assert report.total("global").sectors == 4 * (M * K + K * N + M * N) // 32


def most_in_a_bank(kernel: Any) -> int:
    """Of the copies of 4 bytes of one warp at once, how many go to one bank of shared memory at most."""
    module = parse_module(kernel.asm["ttgir"])
    found = 0
    for copy in (op for op in ops_in(module) if isinstance(op, ttg.AsyncCopyGlobalToLocalOp)):
        shape = copy.src.type.get_shape()
        layout, buffer = ttg.layout_of(copy.src.type), ttg.layout_of(copy.destination.type)
        if shape != (32, N):
            continue
        places = to_linear_layout(buffer, shape).pseudoinvert()
        lanes = to_linear_layout(layout, shape)
        at = (lanes.apply({"register": 0, "lane": lane, "warp": 0, "block": 0}) for lane in range(32))
        banks = [places.apply(place)["offset"] % 32 for place in at]
        found = max(found, *(banks.count(bank) for bank in banks))
    return found


def test_copies_of_rows_are_spread_over_the_banks() -> None:
    assert most_in_a_bank(compiled(False)) == 2
    assert most_in_a_bank(compiled(False, "minitriton-transpose-by-copies")) == 8


@pytest.mark.parametrize("without, in_a_bank", [("", 2), ("minitriton-transpose-by-copies", 8)])
def test_the_emulator_counts_passes_over_the_banks_of_copies(without: str, in_a_bank: int) -> None:
    kernel = compiled(False, without)
    rng = np.random.default_rng(0)
    arguments = [rng.random((M, K), np.float32), rng.random((K, N), np.float32), np.zeros((M, N), np.float32)]
    report = emulator.run(kernel.asm["ptx"], None, (1,), [*arguments, M, N, K, K, N, N], kernel.metadata.shared)
    copies = [each.index for each in report.kernel.instructions if each.text.startswith("cp.async.ca")]
    before_loop = [one for index in copies if (one := report.traffic.get(index)) and one.requests == 4]
    assert before_loop and all(one.wavefronts == in_a_bank * one.requests for one in before_loop)
