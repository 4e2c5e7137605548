"""Shared-memory and global accesses of registers."""

import layout_machine as machine
import layout_strategies as strategies
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from minitriton.errors import IRError, LoweringError
from minitriton.layouts.builders import nvmma_shared, swizzled_shared_for_mma
from minitriton.layouts.encodings import (
    Blocked,
    DistributedEncoding,
    DotOperand,
    Linear,
    NvidiaMma,
    PaddedShared,
    SharedEncoding,
    SwizzledShared,
)
from minitriton.layouts.memory import (
    local_access,
    local_matrix_access,
)
from minitriton.layouts.plans import PlannedMemoryAccess
from minitriton.layouts.to_linear import to_linear_layout

WARPS = 4


@st.composite
def meetings(draw: st.DrawFn) -> tuple[DistributedEncoding, SharedEncoding, tuple[int, ...], int]:
    """A tensor in registers that meets a buffer."""
    rank = draw(st.integers(1, 3))
    shape = draw(strategies.shapes(rank, low=1))
    bitwidth = draw(st.sampled_from(strategies.BITWIDTHS[:3] if rank == 2 else strategies.BITWIDTHS))
    shared = draw(strategies.shared(shape, bitwidth))
    try:
        to_linear_layout(shared, shape)
    except IRError:
        assume(False)
    return draw(strategies.distributed(rank, WARPS, shape)), shared, shape, bitwidth


def check(
    plan: PlannedMemoryAccess, registers: DistributedEncoding, shared: SharedEncoding, shape: tuple[int, ...]
) -> None:
    held = machine.held_by(to_linear_layout(registers, shape))
    stored = machine.stored_in(to_linear_layout(shared, shape))
    assert (machine.load(plan, stored, WARPS) == held).all()
    memory = np.full(len(stored), -1)
    machine.store(plan, held, memory)
    assert (memory == stored).all()


@settings(max_examples=300, deadline=None)
@given(meetings())
def test_loads_and_stores_reach_every_element(
    meeting: tuple[DistributedEncoding, SharedEncoding, tuple[int, ...], int],
) -> None:
    registers, shared, shape, bitwidth = meeting
    check(local_access(registers, shared, shape, bitwidth), registers, shared, shape)


@settings(max_examples=300, deadline=None)
@given(meetings())
def test_matrix_loads_and_stores_reach_every_element(
    meeting: tuple[DistributedEncoding, SharedEncoding, tuple[int, ...], int],
) -> None:
    registers, shared, shape, bitwidth = meeting
    plan = local_matrix_access(registers, shared, shape, bitwidth)
    if plan is not None:
        assert plan.matrices in (1, 2, 4)
        check(plan, registers, shared, shape)


@pytest.mark.parametrize("op_idx", [0, 1])
@pytest.mark.parametrize("k_contiguous", [True, False])
@pytest.mark.parametrize("swizzled", [True, False])
def test_ldmatrix_loads_every_operand_of_mma_v2_without_bank_conflicts(
    op_idx: int, k_contiguous: bool, swizzled: bool
) -> None:
    shape = (64, 64)
    operand = DotOperand(op_idx, NvidiaMma(2, 0, (2, 2), (16, 8)), 2)
    order = (1, 0) if (op_idx == 0) == k_contiguous else (0, 1)
    shared = (
        swizzled_shared_for_mma(op_idx, 2, shape, order, (), 16) if swizzled else nvmma_shared(shape, order, (), 16)
    )
    plan = local_matrix_access(operand, shared, shape, 16)
    assert plan is not None
    assert (plan.matrices, plan.transposed) == (4, not k_contiguous)
    check(plan, operand, shared, shape)
    for access in plan.accesses:
        for of_warp in machine.addresses(plan, access, WARPS):
            for matrix in range(4):
                rows = of_warp[8 * matrix : 8 * matrix + 8]
                assert len({row % 128 for row in rows}) == 8


@settings(max_examples=200, deadline=None)
@given(meetings())
def test_matrix_accesses_have_no_more_bank_conflicts_than_vectors(
    meeting: tuple[DistributedEncoding, SharedEncoding, tuple[int, ...], int],
) -> None:
    registers, shared, shape, bitwidth = meeting
    plan = local_matrix_access(registers, shared, shape, bitwidth)
    if plan is None:
        return
    vectors = local_access(registers, shared, shape, bitwidth)
    assert machine.wavefronts(plan, WARPS) <= machine.wavefronts(vectors, WARPS)
    assert len(plan.accesses) <= len(vectors.accesses)


def test_the_register_that_walks_over_rows_is_one_that_changes_banks() -> None:
    # Rows of 64 bytes: rows 0 and 8 lie in the same banks, rows 0 and 1 do not.
    columns = ((0, 8), (0, 16))
    lanes = ((2, 0), (4, 0), *((0, 1 << i) for i in range(3)))
    registers = Linear(((8, 0), (1, 0), *columns), lanes, ((16, 0), (32, 0)))
    shared = SwizzledShared(8, 2, 4, (1, 0))
    plan = local_matrix_access(registers, shared, (64, 32), 16)
    assert plan is not None
    assert plan.transposed
    assert machine.wavefronts(plan, WARPS) == 64 * 32 * 2 // 128
    check(plan, registers, shared, (64, 32))


def test_matrix_instructions_are_not_for_other_widths_or_padded_buffers() -> None:
    operand = DotOperand(0, NvidiaMma(2, 0, (2, 2), (16, 8)), 1)
    plain = SwizzledShared(1, 1, 1, (1, 0))
    assert local_matrix_access(operand, plain, (64, 64), 64) is None
    padded = PaddedShared((64,), (8,), tuple((0, 1 << i) for i in range(6)) + tuple((1 << i, 0) for i in range(6)))
    assert local_matrix_access(operand, padded, (64, 64), 16) is None


def test_rows_move_four_elements_at_a_time_from_one_base() -> None:
    plan = local_access(Blocked((1, 4), (4, 8), (4, 1), (1, 0)), SwizzledShared(1, 1, 1, (1, 0)), (64, 32), 32)
    assert plan.vector == 4
    assert plan.lane == (16, 32, 64, 128, 256)
    assert plan.warp == (512, 1024)
    assert [(a.xor, a.add) for a in plan.accesses] == [(0, 0), (0, 2048), (0, 4096), (0, 6144)]


def test_swizzled_rows_that_lanes_share_are_xored_in() -> None:
    plan = local_access(Blocked((2, 4), (4, 8), (4, 1), (1, 0)), SwizzledShared(4, 1, 8, (1, 0)), (32, 32), 32)
    assert [(a.xor, a.add) for a in plan.accesses] == [(0, 0), (128 + 16, 0)]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_slice_of_a_buffer_is_reached_through_its_offset(data: st.DataObject) -> None:
    shape, buffer = (16, 16), (32, 64)
    shared = data.draw(strategies.swizzled(2))
    registers = data.draw(strategies.distributed(2, WARPS))
    inverse = to_linear_layout(shared, buffer).invert()
    offsets = [inverse.apply({"dim0": i, "dim1": j})["offset"] for i in range(0, 32, 16) for j in range(0, 64, 16)]
    bits = 0
    for offset in offsets:
        bits |= offset
    plan = local_access(registers, shared, shape, 32, alloc_shape=(2, *buffer), slice_offset_bits=bits)
    # Splitting along the swizzle would move bits that registers move as well.
    assume(all(plan.vector_bytes <= (offset & -offset) * 4 for offset in offsets if offset))
    stored = machine.stored_in(to_linear_layout(shared, buffer))
    layout = to_linear_layout(registers, shape)
    for corner, offset in zip(((i, j) for i in (0, 16) for j in range(0, 64, 16)), offsets, strict=True):
        got = machine.load(plan, stored, WARPS, offset * 4)
        for register in range(min(4, layout.get_in_dim_size("register"))):
            for lane in (0, 1, 13, 31):
                point = layout.apply({"register": register, "lane": lane, "warp": 3, "block": 0})
                want = (point["dim0"] + corner[0]) | (point["dim1"] + corner[1]) << 5
                assert got[3, lane, register] == want


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_padding_is_stepped_over(data: st.DataObject) -> None:
    registers = data.draw(strategies.distributed(2, WARPS))
    bases = tuple((0, 1 << i) for i in range(5)) + tuple((1 << i, 0) for i in range(4))
    interval, padding = data.draw(strategies.power(1, 7)), data.draw(strategies.power(0, 3))
    shared = PaddedShared((interval,), (padding,), bases)
    bitwidth = data.draw(st.sampled_from(strategies.BITWIDTHS))
    plan = local_access(registers, shared, (16, 32), bitwidth)
    unpadded = machine.stored_in(to_linear_layout(shared, (16, 32)))
    memory = np.full(shared.padded_size((16, 32)), -1)
    for offset, element in enumerate(unpadded):
        memory[shared.padded_offset(offset)] = element
    assert (machine.load(plan, memory, WARPS) == machine.held_by(to_linear_layout(registers, (16, 32)))).all()


def test_booleans_are_stored_as_bytes() -> None:
    assert local_access(Blocked((16,), (32,), (4,), (0,)), SwizzledShared(1, 1, 1, (0,)), (2048,), 1).bitwidth == 8


def test_the_memory_of_another_cta_is_refused() -> None:
    with pytest.raises(LoweringError, match="another CTA"):
        local_access(Blocked((1,), (32,), (4,), (0,), ((1,),)), SwizzledShared(1, 1, 1, (0,), ((0,),)), (1024,), 32)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_threads_without_free_bits_store_each_element_once(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 2))
    shape = data.draw(strategies.shapes(rank))
    encoding = data.draw(strategies.distributed(rank, WARPS, shape))
    layout = to_linear_layout(encoding, shape)
    masks = layout.get_free_variable_masks()
    held = machine.held_by(layout)
    unique = [
        held[w, lane, r]
        for w in range(held.shape[0])
        for lane in range(32)
        for r in range(held.shape[2])
        if not (w & masks["warp"] or lane & masks["lane"] or r & masks["register"])
    ]
    assert sorted(unique) == sorted(set(held.ravel().tolist()))
