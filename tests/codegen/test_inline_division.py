"""64-bit divisions of kernels with `wgmma` are written out before nvJitLink assembles them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from minitriton import emulator
from minitriton.codegen import nvjitlink
from minitriton.codegen.inline_division import without_division_calls

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
    ptx = without_division_calls(_KERNEL.replace("WGMMA", "// wgmma.mma_async"))
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


def test_kernels_without_wgmma_keep_their_divisions() -> None:
    assert without_division_calls(_KERNEL) == _KERNEL


@pytest.mark.skipif(nvjitlink.load_library() is None, reason="nvJitLink is not installed")
def test_divisions_do_not_serialize_wgmma() -> None:
    log = nvjitlink.assemble(_KERNEL.replace("WGMMA", _WGMMA), ["-arch=sm_90a"]).log
    assert "wgmma.mma_async instructions are serialized" not in log
