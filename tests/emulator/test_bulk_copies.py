"""Bulk and tensor copies: every rank, swizzle and type, edges, reductions, groups."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minitriton import emulator
from minitriton.emulator import MappedArray
from minitriton.target.tensor_map import TensorMap

Run = Callable[..., emulator.Report]
CODES = {
    "u8": np.uint8,
    "u16": np.uint16,
    "s32": np.int32,
    "u64": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}


def map_of(array: np.ndarray, element: str, box: tuple[int, ...], **options: Any) -> MappedArray:
    """A map of an array; `box` in NumPy's order of dimensions."""
    strides = tuple(array.strides[::-1][1:])
    return MappedArray(array, TensorMap(0, element, array.shape[::-1], strides, box[::-1], **options))


def kernel(body: str, rank: int, size: int, corner: tuple[int, ...]) -> str:
    """A kernel of 32 threads with a tensor map, a pointer, a buffer of `size` bytes and an mbarrier behind it."""
    place = ", ".join(f"%r{40 + d}" for d in range(rank))
    moves = "".join(f"mov.b32 %r{40 + d}, {c};" for d, c in enumerate(corner[::-1]))
    return f"""
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 p0[128], .param .u64 p1)
.reqntid 32
{{
.reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %rd<99>;
.shared .align 1024 .b8 buffer[{size}];
.shared .align 8 .b8 bar[8];
mov.b64 %rd1, p0; cvta.param.u64 %rd2, %rd1; ld.param.u64 %rd3, [p1];
mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
mov.b32 %r2, buffer; mov.b32 %r3, bar; {moves}
{body.replace("MAP", f"%rd2, {{{place}}}").replace("RANK", f"{rank}d").replace("SIZE", str(size))}
ret;
}}
"""


LOAD = """
@%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], SIZE;
bar.sync 0;
@%p1 cp.async.bulk.tensor.RANK.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [MAP], [%r3];
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra WAIT;
mov.b32 %r4, %r1;
NEXT: setp.ge.u32 %p3, %r4, SIZE; @%p3 bra DONE;
add.s32 %r5, %r2, %r4; ld.shared.b8 %r6, [%r5];
cvt.u64.u32 %rd4, %r4; add.s64 %rd5, %rd3, %rd4; st.global.b8 [%rd5], %r6;
add.s32 %r4, %r4, 32; bra NEXT;
DONE:"""

FILL = """
mov.b32 %r4, %r1;
NEXT: setp.ge.u32 %p3, %r4, SIZE; @%p3 bra DONE;
cvt.u64.u32 %rd4, %r4; add.s64 %rd5, %rd3, %rd4; ld.global.b8 %r6, [%rd5];
add.s32 %r5, %r2, %r4; st.shared.b8 [%r5], %r6;
add.s32 %r4, %r4, 32; bra NEXT;
DONE: fence.proxy.async.shared::cta; bar.sync 0;
"""

STORE = (
    FILL
    + """
@%p1 cp.async.bulk.tensor.RANK.global.shared::cta.bulk_group [MAP], [%r2];
@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group.read 0;"""
)


def unswizzle(data: np.ndarray, span: int) -> np.ndarray:
    """Bytes of shared memory in the order without swizzle: 16-byte chunk c of the 128-byte line r is at c ^ (r % 8)..."""
    out = np.empty_like(data)
    mask = {16: 0, 32: 1, 64: 3, 128: 7}[span]
    for chunk in range(len(data) // 16):
        other = chunk ^ ((chunk >> 3) & mask)
        out[16 * chunk : 16 * chunk + 16] = data[16 * other : 16 * other + 16]
    return out


@pytest.mark.parametrize("swizzle", [0, 1, 2, 3])
@pytest.mark.parametrize("element", CODES)
def test_boxes_of_every_type_and_swizzle(element: str, swizzle: int) -> None:
    dtype = np.dtype(CODES[element])
    inner = (16 << swizzle) // dtype.itemsize
    source = np.arange(24 * 2 * inner).reshape(24, 2 * inner).astype(dtype)
    out = np.zeros((8, inner), dtype)
    text = kernel(LOAD, 2, out.nbytes, (7, inner))
    report = emulator.run(text, "k", (1,), [map_of(source, element, (8, inner), swizzle=swizzle), out])
    assert report.ok, report.findings
    found = unswizzle(out.view(np.uint8).ravel(), 16 << swizzle).view(dtype).reshape(8, inner)
    np.testing.assert_array_equal(found, source[7:15, inner : 2 * inner])


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_boxes_of_every_rank_come_and_go(rank: int) -> None:
    shape, box, corner = (3, 4, 5, 6, 8)[5 - rank :], (2, 2, 3, 2, 4)[5 - rank :], (1, 2, 2, 3, 4)[5 - rank :]
    window = tuple(slice(c, c + b) for c, b in zip(corner, box, strict=True))
    source = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    out = np.zeros(box, np.float32)
    report = emulator.run(kernel(LOAD, rank, out.nbytes, corner), "k", (1,), [map_of(source, "f32", box), out])
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, source[window])
    target, wanted = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    wanted[window] = out
    report = emulator.run(kernel(STORE, rank, out.nbytes, corner), "k", (1,), [map_of(target, "f32", box), out])
    assert report.ok, report.findings
    np.testing.assert_array_equal(target, wanted)


@pytest.mark.parametrize("nan", [False, True])
def test_what_lies_outside_reads_as_zero_or_nan_and_is_not_written(nan: bool) -> None:
    source = np.ones((5, 8), np.float32)
    out = np.zeros((4, 8), np.float32)
    mapped = map_of(source, "f32", (4, 8), nan_fill=nan)
    assert emulator.run(kernel(LOAD, 2, 128, (-2, 4)), "k", (1,), [mapped, out]).ok
    inside = np.zeros((4, 8), np.bool_)
    inside[2:, :4] = True
    np.testing.assert_array_equal(out, np.where(inside, 1, np.nan if nan else 0))
    target, new = np.zeros((5, 8), np.float32), np.full((4, 8), 7, np.float32)
    assert emulator.run(kernel(STORE, 2, 128, (3, 4)), "k", (1,), [map_of(target, "f32", (4, 8)), new]).ok
    wanted = np.zeros((5, 8))
    wanted[3:, 4:] = 7
    np.testing.assert_array_equal(target, wanted)


def test_every_third_row_of_a_box_is_taken() -> None:
    source, out = np.arange(160, dtype=np.float32).reshape(20, 8), np.zeros((3, 8), np.float32)
    mapped = map_of(source, "f32", (7, 8), steps=(1, 3))
    assert emulator.run(kernel(LOAD, 2, 96, (4, 0)), "k", (1,), [mapped, out]).ok
    np.testing.assert_array_equal(out, source[4:11:3])


REDUCTIONS = [
    ("add", "f32", np.add), ("add", "s32", np.add), ("min", "s32", np.minimum), ("max", "s32", np.maximum),
    ("and", "u64", np.bitwise_and), ("or", "u64", np.bitwise_or), ("xor", "u64", np.bitwise_xor), ("add", "f16", np.add),
    ("max", "f16", np.maximum),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "element", "wanted"), REDUCTIONS)
def test_reductions_combine_with_what_is_there(operation: str, element: str, wanted: Any) -> None:
    dtype = np.dtype(CODES[element])
    inner = 16 // dtype.itemsize
    old = (np.arange(16 * inner).reshape(16, inner) - (5 if element[0] != "u" else 0)).astype(dtype)
    new = np.arange(8 * inner).reshape(8, inner).astype(dtype)[:, ::-1].copy()
    target = old.copy()
    body = STORE.replace("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor").replace(
        "cta.bulk_group", f"cta.{operation}.tile.bulk_group"
    )
    report = emulator.run(kernel(body, 2, new.nbytes, (4, 0)), "k", (1,), [map_of(target, element, (8, inner)), new])
    assert report.ok, report.findings
    old[4:12] = wanted(old[4:12], new)
    np.testing.assert_array_equal(target, old)


def test_a_map_that_the_driver_would_refuse_is_refused() -> None:
    source = np.ones((8, 3), np.float32)
    with pytest.raises(emulator.EmulationError, match=r"parameter 0 \(`p0`\) of kernel `k`: its tensor map: strides"):
        emulator.run(kernel(LOAD, 2, 128, (0, 0)), "k", (1,), [map_of(source, "f32", (4, 4)), np.zeros(8)])


def test_plain_bulk_copies_in_both_directions(emulate: Run) -> None:
    source, out = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    body = """
    mov.b32 %r1, buffer; add.s32 %r2, %r1, 128; setp.eq.u32 %p1, %r100, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 128;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd100], 128, [%r2];
    bar.sync 0;
    WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra WAIT;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd101], [%r1], 128;
    @%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd101], [%r1], 64;
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;"""
    report = emulate(body, source, out, shared=136)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, np.where(np.arange(32) < 16, 2, 1) * source)


def test_a_descriptor_made_in_shared_memory_is_used(emulate: Run) -> None:
    source, out = np.arange(256, dtype=np.float32).reshape(16, 16), np.zeros((8, 4), np.float32)
    scratch = np.zeros(64, np.uint32)
    fields = """
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1], %rd100;
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r1], 1;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 0, 4;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 1, 8;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1], 0, 16;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1], 1, 16;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r1], 0, 64;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r1], 0, 1;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r1], 1, 1;
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r1], 7;
    tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r1], 0;
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r1], 0;
    tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r1], 0;""".replace("tensormap", "@%p1 tensormap")
    body = f"""
    mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2; st.shared.b32 [%r3], 0; bar.warp.sync -1;
    setp.eq.u32 %p1, %r100, 0;
    {fields}
    bar.warp.sync -1;
    add.s64 %rd1, %rd102, 127; and.b64 %rd1, %rd1, -128;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r1], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
    add.s32 %r4, %r1, 128; add.s32 %r5, %r1, 256;
    @%p1 mbarrier.init.shared::cta.b64 [%r5], 1;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 128;
    bar.sync 0;
    mov.b32 %r7, 4; mov.b32 %r8, 6;
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1, {{%r7, %r8}}], [%r5];
    WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0; @!%p2 bra WAIT;
    ld.shared.b32 %r9, [%r3+128]; st.global.b32 [%rd92], %r9;"""
    report = emulate(body, source, out, scratch, shared=264)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, source[6:14, 4:8])


GROUPS = """
    mov.b32 %r1, buffer; shl.b32 %r2, %r100, 2; add.s32 %r3, %r1, %r2; st.shared.b32 [%r3], %r100; st.shared.b32 [%r3+128], 5;
    fence.proxy.async; bar.sync 0; setp.eq.u32 %p1, %r100, 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd100], [%r1], 128; @%p1 cp.async.bulk.commit_group;
    add.s32 %r4, %r1, 128;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd101], [%r4], 128; @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group.read 1;
    bar.sync 0;
    st.shared.b32 [%r3], 7;
    @%p1 cp.async.bulk.wait_group.read 0;"""

FAULTS = {
    "the source overwritten a group too early": ("wait_group.read 1", "wait_group.read 2", "async-write"),
    "the source overwritten without a wait": ("@%p1 cp.async.bulk.wait_group.read 1;", "", "async-write"),
    "the copy never committed": ("@%p1 cp.async.bulk.commit_group;", "", "async-write"),
    "no barrier after the wait": (".read 1;\n    bar.sync 0;", ".read 1;", "shared-race"),
    "the end before the last wait": ("@%p1 cp.async.bulk.wait_group.read 0;", "", "async-write"),
    "no barrier before the copy": ("bar.sync 0; setp", "setp", "shared-race"),
    "no fence before the copy": ("fence.proxy.async; ", "", "proxy-fence"),
    "an odd number of bytes": ("[%rd100], [%r1], 128", "[%rd100], [%r1], 120", "misaligned"),
    "beyond shared memory": ("[%r4], 128", "[%r4], 256", "out-of-bounds"),
    "beyond the array": ("[%rd101], [%r4]", "[%rd101+64], [%r4]", "out-of-bounds"),
}


@pytest.mark.parametrize("wait", [".read 0", ".read 1", " 1", " 0"])
def test_what_a_bulk_store_writes_is_read_after_a_wait_for_its_data(emulate: Run, wait: str) -> None:
    body = f"""{GROUPS}
    @%p1 cp.async.bulk.wait_group{wait};
    bar.sync 0;
    shl.b32 %r5, %r100, 2; cvt.u64.u32 %rd4, %r5; add.s64 %rd5, %rd101, %rd4; ld.global.b32 %r6, [%rd5];
    add.s64 %rd6, %rd102, %rd4; st.global.b32 [%rd6], %r6;"""
    out = np.zeros(32, np.uint32)
    report = emulate(body, np.zeros(32, np.uint32), np.zeros(32, np.uint32), out, shared=256, threads=32)
    assert {f.kind for f in report.findings} == (set() if wait == " 0" else {"async-read"})
    assert (out == 5).all()


def test_sound_groups_report_nothing(emulate: Run) -> None:
    one, other = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    report = emulate(GROUPS, one, other, shared=256, threads=64 // 2)
    assert report.ok, report.findings
    np.testing.assert_array_equal(one, np.arange(32))
    assert (other == 5).all()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_planted_in_groups_is_found(fault: str, emulate: Run) -> None:
    old, new, kind = FAULTS[fault]
    assert old in GROUPS
    threads = 64 if "barrier" in fault else 32
    body = GROUPS.replace(old, new)
    if threads == 64:
        body = body.replace("st.shared.b32 [%r3+128], 5;", "").replace("add.s32 %r4, %r1, 128", "mov.b32 %r4, %r1")
    report = emulate(body, np.zeros(32, np.uint32), np.zeros(32, np.uint32), shared=256, threads=threads)
    assert kind in {f.kind for f in report.findings}, report.findings


MAP_FAULTS = {
    "a box at an odd place": ("mov.b32 %r2, buffer;", "mov.b32 %r2, buffer; add.s32 %r2, %r2, 16;", "misaligned"),
    "an mbarrier that nothing initialised": ("@%p1 mbarrier.init.shared::cta.b64 [%r3], 1;", "", "uninitialised"),
    "fewer bytes awaited than come": ("_, [%r3], SIZE", "_, [%r3], 64", "deadlock"),
    "two copies to one place": (
        "[%r2], [MAP], [%r3];",
        "[%r2], [MAP], [%r3]; @%p1 cp.async.bulk.tensor.RANK.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%r2], [MAP], [%r3];",
        "shared-race",
    ),
    "a store where a copy is under way": ("WAIT:", "st.shared.b32 [%r2], 7;\nWAIT:", "async-write"),
    "no wait": ("WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra WAIT;", "", "async-read"),
}


@pytest.mark.parametrize("fault", MAP_FAULTS)
def test_a_fault_planted_in_a_tensor_copy_is_found(fault: str) -> None:
    old, new, kind = MAP_FAULTS[fault]
    source, out = np.zeros((8, 8), np.float32), np.zeros((4, 8), np.float32)
    text = kernel(LOAD.replace(old, new), 2, 128, (0, 0)).replace(old, new)
    report = emulator.run(text, "k", (1,), [map_of(source, "f32", (4, 8)), out])
    assert kind in {f.kind for f in report.findings}, report.findings
