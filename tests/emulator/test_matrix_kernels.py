"""Matrix kernels of Triton's own PTX: mma and ldmatrix with cp.async on sm_80, wgmma and TMA on sm_90; faults in them."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minitriton import emulator
from minitriton.target.tensor_map import DRIVER_TYPES, TensorMap
from minitriton_kernels.cases import load_kernels

sys.path.insert(0, str(Path(__file__).parent))
from matrix_cases import MATRIX_CASES, MatrixCase, our_ptx, triton_ptx

triton = pytest.importorskip("triton")
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

pytestmark = pytest.mark.oracle
BY_NAME = {m.case.name: m for m in MATRIX_CASES}


def run(one: MatrixCase, ptx: str, shared: int) -> tuple[dict[int, tuple[np.ndarray, np.ndarray]], emulator.Report]:
    """Found and wanted outputs by position, and the report."""
    arguments = one.case.inputs(np.random.default_rng(0))
    report = emulator.run(ptx, None, one.case.grid, arguments, shared, scratch=1 << 20)
    wanted = one.case.expected(*one.case.inputs(np.random.default_rng(0)))
    return {p: (arguments[p], w) for p, w in wanted.items()}, report


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("one", "capability"),
    [pytest.param(m, c, id=f"{m.case.name}-sm_{c}") for m in MATRIX_CASES for c in m.capabilities],
)
def test_triton_s_ptx_computes_what_numpy_does_and_is_sound(one: MatrixCase, capability: int) -> None:
    found, report = run(one, *triton_ptx(one.case.name, capability))
    assert report.ok, "\n".join(map(str, report.findings))
    for mine, wanted in found.values():
        np.testing.assert_allclose(mine, wanted, rtol=one.case.tolerance, atol=one.case.tolerance)


@pytest.mark.parametrize("name", ["matmul_descriptors", "causal_attention"])
def test_our_ptx_computes_what_numpy_does_and_is_sound(name: str) -> None:
    found, report = run(BY_NAME[name], *our_ptx(name, 90))
    assert report.ok, "\n".join(map(str, report.findings))
    for mine, wanted in found.values():
        tolerance = BY_NAME[name].case.tolerance
        np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance)


INSTRUCTIONS = {
    ("matmul_f16", 80): ("mma.sync", "ldmatrix", "cp.async.cg"),
    ("matmul_f16", 90): ("wgmma.mma_async", "wgmma.wait_group", "cp.async.cg"),
    ("matmul_descriptors", 90): ("wgmma.mma_async", "cp.async.bulk.tensor", "mbarrier.try_wait", "tensormap.replace"),
    ("matmul_persistent", 90): ("wgmma.mma_async", "cp.async.bulk.tensor", "mbarrier.try_wait", "stmatrix"),
    ("matmul_specialized", 90): ("wgmma.mma_async", "setmaxnreg", "barrier.sync", "mbarrier.arrive"),
    ("causal_attention", 80): ("mma.sync", "ldmatrix", "ex2.approx"),
    ("causal_attention", 90): ("wgmma.mma_async", "ex2.approx"),
}


@pytest.mark.parametrize("which", INSTRUCTIONS, ids=lambda w: f"{w[0]}-sm_{w[1]}")
def test_the_kernels_use_what_they_are_here_for(which: tuple[str, int]) -> None:
    ptx, _ = triton_ptx(*which)
    for instruction in INSTRUCTIONS[which]:
        assert instruction in ptx


def test_descriptors_made_on_the_host() -> None:
    kernel = load_kernels("matrix", "triton").by_host_descriptors
    tile = {"BM": 64, "BN": 64, "BK": 32}
    kinds = {
        "da": "tensordesc<fp16[64, 32]>",
        "db": "tensordesc<fp16[32, 64]>",
        "dc": "tensordesc<fp32[64, 64]>",
        "K": "i32",
    }
    source = ASTSource(kernel, {**kinds, **dict.fromkeys(tile, "constexpr")}, tile, {})
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    a, b, c = BY_NAME["matmul_f16"].case.inputs(np.random.default_rng(0))[:3]
    arguments = []
    for array, meta in zip((a, b, c), made.metadata.tensordesc_meta, strict=True):
        element = DRIVER_TYPES[meta["elem_type"]]
        box = tuple(meta["block_size"][::-1])
        map = TensorMap(0, element, array.shape[::-1], (array.strides[0],), box, swizzle=meta["swizzle"])
        arguments += [emulator.MappedArray(array, map), *array.shape, array.shape[1], 1]
    report = emulator.run(made.asm["ptx"], None, (2, 2), [*arguments, 160], made.metadata.shared)
    assert report.ok, report.findings
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-4)


def plus(pattern: str, amount: int) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, lambda m: m[1] + str(int(m[2]) + amount), text)


def without(pattern: str) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, "", text, flags=re.S)


FAULTS: dict[str, tuple[str, int, Callable[[str], str], str]] = {
    "cp.async wait one group short": ("matmul_f16", 80, plus(r"(cp\.async\.wait_group\s+)(\d)", 1), "async-read"),
    "wgmma results read before the wait": (
        "matmul_f16", 90, without(r"wgmma\.wait_group\.sync\.aligned \d;"), "async-read",
    ),
    "no wgmma fence": ("matmul_f16", 90, without(r"wgmma\.fence\.sync\.aligned;"), "wgmma-fence"),
    "a tile overwritten while wgmma reads it": (
        "matmul_f16", 90, plus(r"(wgmma\.wait_group\.sync\.aligned )(\d)", 3), "async-write",
    ),
    "no wait for a tensor copy": ("matmul_descriptors", 90, without(r"waitLoop:.*?waitLoop;"), "async-read"),
    "an mbarrier that expects too many bytes": (
        "matmul_descriptors", 90, plus(r"(expect_tx\.shared\.b64 _, \[%r\d+\], )(\d+)", 16), "deadlock",
    ),
    "a source overwritten before the bulk store has read it": (
        "matmul_persistent", 90, without(r"cp\.async\.bulk\.wait_group\.read\s+\d+;"), "async-write",
    ),
    "an mbarrier that awaits one arrival too many": (
        "matmul_specialized", 90, plus(r"(mbarrier\.init\.shared::cta\.b64 \[%r\d+\], )(\d+)", 1), "deadlock",
    ),
    "no barrier in a pipelined loop": ("matmul_f16", 80, without(r"bar\.sync\s+0;"), "shared-race"),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    name, capability, edit, kind = FAULTS[fault]
    ptx, shared = triton_ptx(name, capability)
    assert edit(ptx) != ptx
    _, report = run(BY_NAME[name], edit(ptx), shared)
    assert kind in {f.kind for f in report.findings}, {f.kind for f in report.findings}
