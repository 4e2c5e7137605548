"""Loads and stores whose mask ends within a vector, for every kind of element, on the emulator with all its checks."""

import numpy as np
import pytest

import minitriton
from minitriton import emulator
from minitriton.compiler import ASTSource
from minitriton.target import GPUTarget
from minitriton_kernels.cases import load_kernels

ELEMENTS = {
    "i1": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "fp16": np.uint16, "bf16": np.uint16,
    "fp32": np.uint32, "fp64": np.uint64, "fp8e5": np.uint8,
}  # fmt: skip


@pytest.mark.parametrize("element", ELEMENTS)
def test_a_copy_moves_all_elements_below_the_bound_and_no_other(element: str) -> None:
    cast = load_kernels("casts", "minitriton").cast
    signature = {"x_ptr": f"*{element}", "out_ptr": f"*{element}", "n": "i32", "BLOCK": "constexpr"}
    attributes = {(index,): [["tt.divisibility", 16]] for index in range(2)}
    source = ASTSource(cast, signature, {"BLOCK": 2048}, attributes)
    kernel = minitriton.compile(source, GPUTarget("cuda", 90, 32), {})
    assert "split_mask" in kernel.asm["ttgir"]
    rng = np.random.default_rng(0)
    kind = ELEMENTS[element]
    for n in (1, 7, 1021, 2047, 4093):
        x = rng.integers(0, 2 if element == "i1" else 100, 4096).astype(kind)
        out = np.full(4096, 1 if element == "i1" else 77, kind)
        expected = np.where(np.arange(4096) < n, x, out)
        report = emulator.run(kernel.asm["ptx"], None, (2,), [x[:n].copy(), out, n], kernel.metadata.shared)
        assert report.ok, report.findings
        np.testing.assert_array_equal(out, expected)


def test_the_single_elements_of_a_vector_share_its_address_and_leave_out_its_last() -> None:
    cast = load_kernels("casts", "minitriton").cast
    signature = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(cast, signature, {"BLOCK": 2048}, {(index,): [["tt.divisibility", 16]] for index in range(2)})
    ptx = minitriton.compile(source, GPUTarget("cuda", 90, 32), {}).asm["ptx"]
    assert ptx.count("ld.global.v4.b32") == ptx.count("st.global.v4.b32") == 4
    assert ptx.count("ld.global.b32") == ptx.count("st.global.b32") == 3 * 4
    assert ptx.count("add.s64") <= 2 * 4


def test_masks_of_single_elements_are_computed_where_they_are_needed() -> None:
    """Before the branches only what all threads need: whether each of the 8 vectors is whole, and whether its first element is moved."""
    cast = load_kernels("casts", "minitriton").cast
    signature = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(cast, signature, {"BLOCK": 4096}, {(index,): [["tt.divisibility", 16]] for index in range(2)})
    ptx = minitriton.compile(source, GPUTarget("cuda", 90, 32), {}).asm["ptx"]
    before = ptx[: ptx.index("bra")]
    assert before.count("setp.") == 2 * 8 + 2, "two of the saturated difference"
    assert before.count("or.b32") - before.count("xor.b32") <= 2
