"""`wgmma` on tiles that tensor copies have swizzled: every swizzle, rows along K and across it, A from memory and registers."""

import numpy as np
import pytest

from minitriton import emulator
from minitriton.emulator import MappedArray
from minitriton.target.tensor_map import TensorMap

COLUMNS = 8
A_PLACE, B_PLACE = 0, 16384


def descriptor(register: str, place: int, leading: int, stride: int, mode: int) -> str:
    """Puts a matrix descriptor of the tile at byte `place` of the buffer into a register."""
    upper = mode << 62 | (stride >> 4) << 32 | (leading >> 4) << 16
    return f"""
    add.s32 %r90, %r2, {place}; and.b32 %r90, %r90, 262143; shr.u32 %r90, %r90, 4; cvt.u64.u32 {register}, %r90;
    or.b64 {register}, {register}, {upper - (1 << 64) if upper >> 63 else upper};"""


def kernel(loads: str, bytes_: int, products: str, elements: int = 4) -> str:
    """128 threads: copies, a wait, products into %r10 and on, which are stored as a row a thread."""
    stores = "".join(f"st.global.b32 [%rd9+{4 * n}], %r{10 + n};" for n in range(elements))
    zeros = "".join(f"mov.b32 %r{10 + n}, 0;" for n in range(elements))
    return f"""
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 p0[128], .param .align 64 .b8 p1[128], .param .u64 p2, .param .u64 p3)
.reqntid 128
{{
.reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %rd<29>;
.shared .align 1024 .b8 buffer[32768];
.shared .align 8 .b8 bar[8];
mov.b64 %rd1, p0; cvta.param.u64 %rd1, %rd1; mov.b64 %rd2, p1; cvta.param.u64 %rd2, %rd2; ld.param.u64 %rd3, [p2];
ld.param.u64 %rd4, [p3];
mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; mov.b32 %r2, buffer; mov.b32 %r3, bar; mov.b32 %r4, 0;
@%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], {bytes_};
bar.sync 0;
{loads}
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra WAIT;
{zeros}
setp.ne.u32 %p3, %r4, 1;
wgmma.fence.sync.aligned;
{products}
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
mul.wide.u32 %rd8, %r1, {4 * elements}; add.s64 %rd9, %rd3, %rd8;
{stores}
ret;
}}
"""


def copy(place: int, map: str, row: int = 0, column: int = 0) -> str:
    return f"""
    add.s32 %r5, %r2, {place}; mov.b32 %r6, {column}; mov.b32 %r7, {row};
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [{map}, {{%r6, %r7}}], [%r3];"""


def mapped(array: np.ndarray, box: tuple[int, int], swizzle: int) -> MappedArray:
    return MappedArray(array, TensorMap(0, "f16", array.shape[::-1], (array.strides[0],), box[::-1], swizzle=swizzle))


def matrix(out: np.ndarray, columns: int) -> np.ndarray:
    """The accumulators of 128 threads as [64, columns]."""
    pieces = out.reshape(4, 8, 4, columns // 8, 2, 2)
    return pieces.transpose(0, 4, 1, 3, 2, 5).reshape(64, columns)


def wholes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-8, 9, shape).astype(np.float16)


def run(text: str, a: MappedArray, b: MappedArray, out: np.ndarray, extra: np.ndarray) -> None:
    report = emulator.run(text, "k", (1,), [a, b, out, extra])
    assert report.ok, report.findings


@pytest.mark.parametrize(("swizzle", "mode"), [(1, 3), (2, 2), (3, 1)])
def test_rows_along_k_in_every_swizzle(swizzle: int, mode: int) -> None:
    rng, span = np.random.default_rng(swizzle), 16 << swizzle
    depth = span // 2
    a, b = wholes(rng, 64, depth), wholes(rng, COLUMNS, depth)
    products = ""
    for step in range(depth // 16):
        products += descriptor("%rd10", A_PLACE + 32 * step, 16, 8 * span, mode)
        products += descriptor("%rd11", B_PLACE + 32 * step, 16, 8 * span, mode)
        products += (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, %rd10, %rd11, %p3, 1, 1, 0, 0;"
        )
    text = kernel(copy(A_PLACE, "%rd1") + copy(B_PLACE, "%rd2"), (64 + COLUMNS) * span, products)
    out = np.zeros((128, 4), np.float32)
    run(text, mapped(a, (64, depth), swizzle), mapped(b, (COLUMNS, depth), swizzle), out, out[:0])
    np.testing.assert_array_equal(matrix(out, COLUMNS), a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize(("swizzle", "mode"), [(1, 3), (2, 2), (3, 1)])
def test_rows_across_k_in_every_swizzle(swizzle: int, mode: int) -> None:
    rng, span = np.random.default_rng(swizzle), 16 << swizzle
    across, size = span // 2, 16 * span
    a, b = wholes(rng, 16, 64), wholes(rng, 16, 64)
    loads = "".join(
        copy(place + size * n, map, column=across * n)
        for place, map in ((A_PLACE, "%rd1"), (B_PLACE, "%rd2"))
        for n in range(64 // across)
    )
    registers = ", ".join(f"%r{10 + n}" for n in range(32))
    products = descriptor("%rd10", A_PLACE, size, 8 * span, mode) + descriptor("%rd11", B_PLACE, size, 8 * span, mode)
    products += f"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{registers}}}, %rd10, %rd11, %p3, 1, 1, 1, 1;"
    out = np.zeros((128, 32), np.float32)
    text = kernel(loads, 2 * 16 * 64 * 2, products, 32)
    run(text, mapped(a, (16, across), swizzle), mapped(b, (16, across), swizzle), out, out[:0])
    np.testing.assert_array_equal(matrix(out, 64), a.astype(np.float32).T @ b.astype(np.float32))


@pytest.mark.parametrize("signs", [(1, 1), (-1, 1), (-1, -1)])
def test_a_in_registers_and_negated_operands(signs: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    a, b = wholes(rng, 64, 16), wholes(rng, COLUMNS, 64)
    held = a.reshape(4, 2, 8, 2, 4, 2).transpose(0, 2, 4, 3, 1, 5).reshape(128, 8)
    loads = (
        copy(B_PLACE, "%rd2")
        + """
    mul.wide.u32 %rd5, %r1, 16; add.s64 %rd6, %rd4, %rd5; ld.global.v4.b32 {%r50, %r51, %r52, %r53}, [%rd6];"""
    )
    products = descriptor("%rd11", B_PLACE, 16, 1024, 1)
    products += "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, {%r50, %r51, %r52, %r53}, "
    products += f"%rd11, %p3, {signs[0]}, {signs[1]}, 0;"
    out = np.zeros((128, 4), np.float32)
    b_map = mapped(b, (COLUMNS, 64), 3)
    run(kernel(loads, COLUMNS * 128, products), b_map, b_map, out, np.ascontiguousarray(held))
    wanted = a.astype(np.float32) @ b.astype(np.float32)[:, :16].T * (signs[0] * signs[1])
    np.testing.assert_array_equal(matrix(out, COLUMNS), wanted)


def test_without_the_first_scale_the_old_accumulator_counts() -> None:
    rng = np.random.default_rng(0)
    a, b = wholes(rng, 64, 64), wholes(rng, COLUMNS, 64)
    products = descriptor("%rd10", A_PLACE, 16, 1024, 1) + descriptor("%rd11", B_PLACE, 16, 1024, 1)
    once = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, %rd10, %rd11, FLAG, 1, 1, 0, 0;"
    loads = copy(A_PLACE, "%rd1") + copy(B_PLACE, "%rd2")
    results = []
    for second in ("%p3", "%p4"):
        text = kernel(
            loads,
            (64 + COLUMNS) * 128,
            "setp.eq.u32 %p4, %r4, 1;" + products + once.replace("FLAG", "%p3") + once.replace("FLAG", second),
        )
        out = np.zeros((128, 4), np.float32)
        run(text, mapped(a, (64, 64), 3), mapped(b, (COLUMNS, 64), 3), out, out[:0])
        results.append(matrix(out, COLUMNS))
    np.testing.assert_array_equal(results[0], 2 * results[1])
