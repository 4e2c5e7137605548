"""What nvJitLink makes calls of is written out in kernels with `wgmma`, with the same results."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import numpy as np
import pytest

from minitriton import emulator
from minitriton.codegen import nvjitlink
from minitriton.codegen.nvjitlink import without_calls

_KERNEL = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry divide(.param .u64 numbers, .param .u64 out)
.reqntid 128
{
	.reg .b32 %r<2>; .reg .b64 %rd<20>; .reg .f32 %f<9>;
	ld.param.b64 %rd1, [numbers]; ld.param.b64 %rd2, [out];
	mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 16; add.s64 %rd4, %rd1, %rd3;
	mul.wide.u32 %rd3, %r1, 32; add.s64 %rd5, %rd2, %rd3;
	ld.global.v2.b64 {%rd6, %rd7}, [%rd4];
	div.u64 	%rd8, %rd6, %rd7;
	rem.u64 	%rd9, %rd6, %rd7;
	div.s64 	%rd10, %rd6, %rd7;
	rem.s64 	%rd11, %rd6, %rd7;
	st.global.v2.b64 [%rd5], {%rd8, %rd9};
	st.global.v2.b64 [%rd5+16], {%rd10, %rd11};
	WGMMA
	ret;
}
"""
_WGMMA = (
    "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0; "
    "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
)


def _numbers() -> Iterator[tuple[int, int]]:
    """Dividends and divisors of every width, and the ends of the ranges."""
    edges = [1, 2, 3, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
    yield from ((a, b) for a in [0, *edges] for b in edges)
    draw = random.Random(0)
    for _ in range(2048 - 13 * 12):
        a, b = (draw.getrandbits(draw.randint(1, 64)) for _ in range(2))
        near = (b or 1) * (a % (2**64 // (b or 1)) or 1) + draw.randint(-1, 1)
        yield draw.choice([a, near % 2**64]), b or 1


def _signed(value: int) -> int:
    return value - (value >> 63 << 64)


def test_written_out_divisions_give_the_numbers_of_the_instructions() -> None:
    ptx = without_calls(_KERNEL.replace("WGMMA", "// wgmma.mma_async"))
    assert "div.u64" not in ptx and "rem.s64" not in ptx and ptx.count("\n") == _KERNEL.count("\n")
    pairs = list(_numbers())
    for start in range(0, len(pairs), 128):
        part = pairs[start : start + 128]
        part += [(1, 1)] * (128 - len(part))
        out = np.zeros((128, 4), np.uint64)
        emulator.run(ptx, "divide", (1,), [np.array(part, np.uint64), out])
        for (a, b), found in zip(part, out.tolist(), strict=True):
            s, t = _signed(a), _signed(b)
            quotient = abs(s) // abs(t) * (1 if (s < 0) == (t < 0) else -1)
            wanted = [a // b, a % b, quotient % 2**64, (s - quotient * t) % 2**64]
            assert found == wanted, (a, b)


_SHORT = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 numbers, .param .u64 out)
.reqntid 128
{
	.reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
	ld.param.b64 %rd1, [numbers]; ld.param.b64 %rd2, [out];
	mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 8; add.s64 %rd4, %rd1, %rd3;
	mul.wide.u32 %rd3, %r1, 16; add.s64 %rd5, %rd2, %rd3;
	ld.global.v2.b32 {%r2, %r3}, [%rd4];
	BODY
	st.global.v4.b32 [%rd5], {%r4, %r5, %r6, %r7};
	WGMMA
	ret;
}
"""
_OF_F32 = """div.rn.f32 	%r4, %r2, %r3;
	rcp.rn.f32 	%r5, %r3;
	sqrt.rn.f32 	%r6, %r2;
	div.rn.f32 	%r7, 0f3F8CCCCD, %r3;"""
_OF_16_BITS = """cvt.u16.u32 	%rs1, %r2; cvt.u16.u32 	%rs2, %r3;
	div.s16 	%rs3, %rs1, %rs2;
	rem.s16 	%rs4, %rs1, %rs2;
	div.u16 	%rs5, %rs1, %rs2;
	rem.u16 	%rs6, %rs1, %rs2;
	cvt.s32.s16 	%r4, %rs3; cvt.s32.s16 	%r5, %rs4; cvt.u32.u16 	%r6, %rs5; cvt.u32.u16 	%r7, %rs6;"""


def _run(body: str, words: np.ndarray) -> np.ndarray:
    """What `body` makes of each pair of words, written out."""
    ptx = without_calls(_SHORT.replace("BODY", body).replace("WGMMA", "// wgmma.mma_async"))
    assert not re.search(r"(div|rem)\.[su]16|(div|rcp|sqrt)\.rn\.f32", ptx)
    out = np.zeros((len(words), 4), np.uint32)
    for start in range(0, len(words), 128):
        part = np.zeros((128, 4), np.uint32)
        emulator.run(ptx, "k", (1,), [np.ascontiguousarray(words[start : start + 128]), part])
        out[start : start + 128] = part
    return out


def test_written_out_f32_arithmetic_rounds_to_nearest() -> None:
    edges = [
        0,
        1 << 31,
        1,
        0x007FFFFF,
        0x00800000,
        0x3F800000,
        0x7F7FFFFF,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0xBF800000,
    ]
    pairs = [(a, b) for a in edges for b in edges]
    draw = np.random.default_rng(0)
    drawn = draw.integers(0, 2**32, (2048 - len(pairs), 2), np.uint64)
    drawn[::2, 1] = drawn[::2, 0] + draw.integers(-5, 5, len(drawn[::2])).astype(np.uint64) & 0xFFFFFFFF
    words = np.concatenate([np.array(pairs, np.uint64), drawn]).astype(np.uint32)
    found = _run(_OF_F32, words).view(np.float32)
    a, b = words.view(np.float32).T
    with np.errstate(all="ignore"):
        wanted = np.stack([a / b, np.float32(1) / b, np.sqrt(a), np.float32(1.1) / b], axis=1)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found[~np.isnan(wanted)]), np.signbit(wanted[~np.isnan(wanted)]))


def test_written_out_divisions_of_16_bits() -> None:
    draw = np.random.default_rng(0)
    words = draw.integers(0, 2**16, (256, 2)).astype(np.uint32)
    words[:, 1] >>= draw.integers(0, 15, 256).astype(np.uint32)
    words[words[:, 1] == 0, 1] = 0xFFFF
    found = _run(_OF_16_BITS, words)
    s, t = (column.astype(np.uint16).view(np.int16).astype(np.int32) for column in words.T)
    quotient = (np.abs(s) // np.abs(t) * np.sign(s) * np.sign(t)).astype(np.int32)
    wanted = np.stack([quotient, s - quotient * t, words[:, 0] // words[:, 1], words[:, 0] % words[:, 1]], axis=1)
    np.testing.assert_array_equal(found.astype(np.int32), wanted.astype(np.uint32).astype(np.int32))


def test_kernels_without_wgmma_keep_their_divisions() -> None:
    assert without_calls(_KERNEL) == _KERNEL


@pytest.mark.skipif(nvjitlink.load_library() is None, reason="nvJitLink is not installed")
@pytest.mark.parametrize("kernel", [_KERNEL, _SHORT.replace("BODY", _OF_F32), _SHORT.replace("BODY", _OF_16_BITS)])
def test_arithmetic_does_not_serialize_wgmma(kernel: str) -> None:
    log = nvjitlink.assemble(kernel.replace("WGMMA", _WGMMA), ["-arch=sm_90a"]).log
    assert "wgmma.mma_async instructions are serialized" not in log
