"""Packed sums that ptxas assembles wrongly are taken apart, and mean the same."""

import re

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import emulator
from minitriton.codegen.ptx import split_uneven_sums

UPPER_HALF = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 16 x, .param .u64 .ptr .global .align 16 y)
.reqntid 32
{
.reg .b16 %rs<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
ld.param.b64 %rd1, [x];
ld.param.b64 %rd2, [y];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd1, %rd1, %rd3;
add.s64 %rd2, %rd2, %rd3;
ld.global.b32 %r2, [%rd1];
mov.b32 %r4, CONSTANT;
add.s16x2 %r5, %r2, %r4;
add.s16x2 %r6, %r5, %r5;
st.global.b32 [%rd2], %r6;
ret;
}
"""


def run(ptx: str, x: np.ndarray) -> np.ndarray:
    out = np.zeros_like(x)
    assert emulator.run(ptx, "k", (1,), [x, out]).ok
    return out


@pytest.mark.parametrize("constant", [8257536, 126, -65535, 0x7FFF8000, 65536])
def test_a_sum_with_a_constant_of_two_halves_is_taken_apart_and_gives_the_same(constant: int) -> None:
    ptx = UPPER_HALF.replace("CONSTANT", str(constant))
    split = split_uneven_sums(ptx)
    assert re.findall(r"add\.s16x2[^;]*", split) == ["add.s16x2 %r6, %r5, %r5"]
    x = np.random.default_rng(1).integers(0, 2**32, 32, np.uint32)
    assert np.array_equal(run(ptx, x), run(split, x))


@pytest.mark.parametrize("constant", [0, 8257662, 0x7FFF7FFF, -65537 * 5])
def test_a_sum_with_a_constant_of_equal_halves_stays(constant: int) -> None:
    ptx = UPPER_HALF.replace("CONSTANT", str(constant))
    assert split_uneven_sums(ptx) == ptx or (constant & 0xFFFF) != (constant >> 16 & 0xFFFF)


@triton.jit
def unpack_fp4(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Two e2m1 numbers a byte to bf16, by their bits: the upper half of the byte first."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    packed = tl.load(x_ptr + at, mask=at < n)
    code = tl.interleave(packed >> 4, packed & 0xF)
    sign = code & 8
    size = code ^ sign
    bits = (((size >> 1) + 126).to(tl.int32) << 23) | ((size & 1).to(tl.int32) << 22)
    bits = tl.where(size == 0, 0, tl.where(size == 1, 0x3F000000, bits)) | (sign.to(tl.int32) << 28)
    value = bits.to(tl.float32, bitcast=True).to(tl.bfloat16)
    to = tl.program_id(0) * BLOCK * 2 + tl.arange(0, BLOCK * 2)
    tl.store(out_ptr + to, value.to(tl.uint16, bitcast=True), mask=to < n * 2)


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("block", [64, 128, 512])
def test_packed_four_bit_floats_are_unpacked(block: int, arch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", f"sm{arch}")
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
    x = np.random.default_rng(2).integers(0, 256, 1000, np.uint8)
    out = np.zeros(2000, np.uint16)
    kernel = unpack_fp4.warmup(x, out, 1000, BLOCK=block, grid=(1,))
    unpack_fp4[(triton.cdiv(1000, block),)](x, out, 1000, BLOCK=block)
    wanted = np.stack([values[x >> 4], values[x & 15]], 1).reshape(-1)
    assert np.array_equal((out.astype(np.uint32) << 16).view(np.float32), wanted)
    assert split_uneven_sums(kernel.asm["ptx"]) == kernel.asm["ptx"]
