"""Many registers of a range are compared with a bound by their offsets, and mean the same, also where base, bound or their difference overflows."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.target import GPUTarget

BLOCK = 4096
LEAST, MOST = -(2**31), 2**31 - 1


@triton.jit(do_not_specialize=["start", "bound"])
def compared(out_ptr, start, bound, HOW: tl.constexpr, BLOCK: tl.constexpr):
    offsets = start * BLOCK + tl.arange(0, BLOCK)
    if HOW == "<":
        found = offsets < bound
    elif HOW == "<=":
        found = offsets <= bound
    elif HOW == ">":
        found = offsets > bound
    elif HOW == ">=":
        found = offsets >= bound
    elif HOW == "bound <":
        found = bound < offsets
    else:
        found = bound >= offsets
    tl.store(out_ptr + tl.arange(0, BLOCK), found.to(tl.int8))


MEANING = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "bound <": np.greater, "bound >=": np.less_equal,
}  # fmt: skip


@pytest.mark.parametrize("how", MEANING)
def test_offsets_compare_with_the_room_as_numbers_with_the_bound(how: str) -> None:
    for start in (0, 3, -1, LEAST // BLOCK, MOST // BLOCK):
        for bound in (0, 1, 3 * BLOCK + 77, 3 * BLOCK, 4 * BLOCK - 1, -5, LEAST, LEAST + 77, MOST, MOST - 77):
            out = np.full(BLOCK, 7, np.int8)
            compared[(1,)](out, start, bound, how, BLOCK)
            numbers = start * BLOCK + np.arange(BLOCK)
            np.testing.assert_array_equal(out, MEANING[how](numbers, bound).astype(np.int8), f"{start} {how} {bound}")


def ptx_of(attributes: dict[tuple[int, ...], list[list[object]]]) -> str:
    signature = {
        "out_ptr": "*i8", "start": "i32", "bound": "i32", "HOW": "constexpr", "BLOCK": "constexpr",
    }  # fmt: skip
    source = ASTSource(compared, signature, {"HOW": "<", "BLOCK": BLOCK}, attributes)
    return triton.compile(source, GPUTarget("cuda", 90, 32), {}).asm["ptx"]


def test_a_comparison_takes_no_sum_of_base_and_offset() -> None:
    ptx = ptx_of({(0,): [["tt.divisibility", 16]]})
    assert ptx.count("setp.gt.s32") >= 32
    assert ptx.count("\tor.b32") + ptx.count("\tadd.s32") < 10


def test_few_comparisons_are_made_of_sums() -> None:
    """With a bound that 16 divides, 16 neighbours compare alike."""
    ptx = ptx_of({(0,): [["tt.divisibility", 16]], (2,): [["tt.divisibility", 16]]})
    assert ptx.count("setp.") == 2
    assert "selp.b32 \t%r" not in ptx or "-2147483648" not in ptx
