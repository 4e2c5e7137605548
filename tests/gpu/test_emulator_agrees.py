"""The emulator against the GPU: PTX of both compilers for every parity case gives the same bits on both (approximate
instructions within the PTX ISA's bounds), and Triton's matrix kernels the same within their type's tolerance."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parity_cases import ALL_CASES

from minitriton_kernels.cases import Case, load_kernels

torch = pytest.importorskip("torch")

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "emulator")]
from agreement import assert_agree
from launching import WITHOUT_TENSOR_MAPS, run_with
from matrix_cases import MATRIX_CASES, MatrixCase, triton_ptx

import minitriton
from minitriton import emulator


def emulated(case: Case, ptx: str, shared: int, host: list[Any]) -> list[Any]:
    """The arguments after the emulator ran `case`; anything that it reports fails."""
    arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in host]
    runtime = [a for a in arguments if not (isinstance(a, int) and a == 1)]
    grid = (case.grid[0] * case.num_ctas, *case.grid[1:])
    report = emulator.run(ptx, None, grid, runtime, shared, scratch=1 << 20)
    assert report.ok, "\n".join(map(str, report.findings))
    return arguments


@pytest.mark.parametrize("compiler", ["minitriton", "triton"])
@pytest.mark.parametrize("case", ALL_CASES, ids=lambda c: c.name)
def test_parity_cases_agree_bit_for_bit(case: Case, compiler: str) -> None:
    if compiler == "triton":
        pytest.importorskip("triton")
    host = case.inputs(np.random.default_rng(5))
    options = WITHOUT_TENSOR_MAPS if compiler == "minitriton" else {}
    found, kernel = run_with(case, compiler, [a.copy() if isinstance(a, np.ndarray) else a for a in host], **options)
    ptx = kernel.asm["ptx"]
    arguments = emulated(case, ptx, kernel.metadata.shared, host)
    for position, device in found.items():
        assert_agree(case.name, ptx, arguments[position], device, case.tolerance)


def on_device(host: list[Any]) -> list[Any]:
    return [torch.from_numpy(a.copy()).cuda() if isinstance(a, np.ndarray) else a for a in host]


def launched_by_triton(one: MatrixCase, host: list[Any]) -> tuple[list[Any], str, int]:
    """Arguments after Triton compiled and launched a matrix case for this GPU, its PTX and shared bytes."""
    triton = pytest.importorskip("triton")
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    arguments = on_device(host)
    kernel = getattr(load_kernels("matrix", "triton"), one.case.kernel)
    made = kernel[one.case.grid](*arguments, **one.case.constexprs, **one.options)
    torch.cuda.synchronize()
    return arguments, made.asm["ptx"], made.metadata.shared


def launched_from_ptx(one: MatrixCase, host: list[Any], folder: Path) -> tuple[list[Any], str, int]:
    """The same with Triton's PTX for sm_80, assembled and launched here."""
    ptx, shared = triton_ptx(one.case.name, 80)
    path = folder / f"{one.case.name}.ptx"
    path.write_text(ptx)
    path.with_suffix(".json").write_text(json.dumps({"shared": shared}))
    kernel = minitriton.compile(str(path), options={"num_warps": one.case.num_warps})
    arguments = on_device(host)
    kernel[(*one.case.grid, 1, 1)[:3]](*arguments)
    torch.cuda.synchronize()
    return arguments, ptx, shared


@pytest.mark.parametrize(
    ("one", "capability"),
    [pytest.param(m, c, id=f"{m.case.name}-sm_{c}") for m in MATRIX_CASES for c in m.capabilities],
)
def test_matrix_kernels_agree_within_their_type(
    one: MatrixCase, capability: int, tmp_path: Path, record_property: Any
) -> None:
    pytest.importorskip("triton")
    host = one.case.inputs(np.random.default_rng(6))
    if capability == 80:
        arguments, ptx, shared = launched_from_ptx(one, host, tmp_path)
    else:
        arguments, ptx, shared = launched_by_triton(one, host)
    mine = emulated(one.case, ptx, shared, host)
    for position in one.case.expected(*host):
        device = arguments[position].cpu().numpy()
        words = f"u{device.dtype.itemsize}"
        different = int((device.view(words) != mine[position].view(words)).sum())
        record_property("different", different)
        print(f"{one.case.name} sm_{capability}: {different} of {device.size} results differ in any bit")
        np.testing.assert_allclose(mine[position], device, rtol=one.case.tolerance, atol=one.case.tolerance)
