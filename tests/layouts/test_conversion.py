"""Every conversion plan, executed literally, gives every register of every thread the right element."""

import time

import layout_machine as machine
import layout_strategies as strategies
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitriton.errors import LoweringError
from minitriton.layouts import conversion, swizzling
from minitriton.layouts.conversion import (
    conversion_scratch_bytes,
    cvt_needs_shared_memory,
    cvt_needs_warp_shuffle,
    cvt_reorders_registers,
    minimal_cvt_layout,
    plan_conversion,
)
from minitriton.layouts.encodings import Blocked, DotOperand, Linear, NvidiaMma, Slice
from minitriton.layouts.plans import NoConversion, RegisterPermutation, SharedMemoryRoundTrip, Ship, WarpShuffle
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.target.architectures import architecture_of

ROWS = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
COLUMNS = Blocked((4, 1), (4, 8), (1, 4), (0, 1))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_every_register_of_every_thread_gets_its_element(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(strategies.shapes(rank))
    warps = data.draw(strategies.power(0, 3))
    src, dst = (data.draw(strategies.distributed(rank, warps, shape)) for _ in range(2))
    bitwidth = data.draw(st.sampled_from([1, *strategies.BITWIDTHS]))
    plan = plan_conversion(src, dst, shape, bitwidth, architecture_of(data.draw(st.sampled_from([0, 80, 90]))))
    held, wanted = (machine.held_by(to_linear_layout(e, shape)) for e in (src, dst))
    got = machine.convert(plan, held)
    assert got.shape == wanted.shape
    assert (got == wanted).all()
    if isinstance(plan, SharedMemoryRoundTrip):
        size = max(8, bitwidth) // 8
        for extent in shape:
            size *= extent
        assert plan.scratch_bytes * plan.rounds == size


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_conversions_inside_a_warp_take_at_most_one_shuffle_a_word(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes(2))
    src, dst = (data.draw(strategies.distributed(2, 1, shape)) for _ in range(2))
    bitwidth = data.draw(st.sampled_from([1, *strategies.BITWIDTHS]))
    plan = plan_conversion(src, dst, shape, bitwidth)
    held, wanted = (machine.held_by(to_linear_layout(e, shape)) for e in (src, dst))
    assert (machine.convert(plan, held) == wanted).all()
    if isinstance(plan, WarpShuffle):
        assert plan.num_shuffles <= len(plan.source) // plan.pack


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_class_of_a_conversion_is_that_of_its_plan(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes(2))
    src, dst = (data.draw(strategies.distributed(2, 2, shape)) for _ in range(2))
    plan = plan_conversion(src, dst, shape, 32)
    assert cvt_reorders_registers(src, dst, shape) == isinstance(plan, NoConversion | RegisterPermutation)
    assert cvt_needs_warp_shuffle(src, dst, shape) == isinstance(plan, WarpShuffle)
    assert cvt_needs_shared_memory(src, dst, shape) == isinstance(plan, SharedMemoryRoundTrip)
    assert (conversion_scratch_bytes(src, dst, shape, 32) > 0) == isinstance(plan, SharedMemoryRoundTrip)


def test_the_same_layout_needs_nothing() -> None:
    assert plan_conversion(ROWS, ROWS, (128, 64), 32) == NoConversion()
    assert minimal_cvt_layout(ROWS, ROWS, (128, 64)).num_in_dims == 0


def test_registers_in_another_order_are_renamed() -> None:
    src = Linear(((1,), (2,)), tuple((4 << i,) for i in range(5)), ())
    dst = Linear(((2,), (1,)), tuple((4 << i,) for i in range(5)), ())
    assert plan_conversion(src, dst, (128,), 32) == RegisterPermutation((0, 2, 1, 3))


def test_an_operand_in_a_shape_it_is_not_split_in_is_a_renaming_of_the_accumulator() -> None:
    # The chained dot of attention: the result of mma.sync is already laid out as operand A.
    mma = NvidiaMma(2, 0, (4, 1), (16, 8))
    plan = plan_conversion(mma, DotOperand(0, mma, 2), (64, 64), 16)
    assert isinstance(plan, NoConversion | RegisterPermutation)


def test_one_register_bit_for_one_lane_bit_takes_half_a_shuffle_a_register() -> None:
    lanes = tuple((1 << i,) for i in range(5))
    src = Linear(((32,), (64,)), lanes, ())
    dst = Linear(((1,), (64,)), ((32,), *lanes[1:]), ())
    plan = plan_conversion(src, dst, (128,), 32)
    assert isinstance(plan, WarpShuffle)
    assert plan.steps == (Ship(0, 0),)
    assert plan.num_shuffles == 2


def test_halves_travel_in_pairs() -> None:
    lanes = tuple((1 << i,) for i in range(5))
    src = Linear(((32,), (64,)), lanes, ())
    dst = Linear(((32,), (64,)), (*lanes[1:], lanes[0]), ())
    wide, narrow = (plan_conversion(src, dst, (128,), bitwidth) for bitwidth in (32, 16))
    assert isinstance(wide, WarpShuffle)
    assert isinstance(narrow, WarpShuffle)
    assert (wide.num_shuffles, narrow.num_shuffles) == (4, 2)
    assert narrow.pack == 2


def test_a_transpose_goes_through_shared_memory_in_vectors_on_both_sides() -> None:
    plan = plan_conversion(ROWS, COLUMNS, (64, 64), 32)
    assert isinstance(plan, SharedMemoryRoundTrip)
    assert plan.stores[0].vector == plan.loads[0].vector == 4
    assert not plan.warp_sync


def test_rounds_reuse_the_same_memory() -> None:
    mma = NvidiaMma(2, 0, (2, 2), (16, 8))
    plan = plan_conversion(Blocked((1, 8), (8, 4), (4, 1), (1, 0)), mma, (128, 128), 16)
    assert isinstance(plan, SharedMemoryRoundTrip)
    assert plan.rounds == 4
    assert plan.scratch_bytes == 128 * 128 * 2 // 4


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_more_scratch_makes_fewer_rounds_and_no_more_accesses(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes(2))
    src, dst = (data.draw(strategies.distributed(2, 2, shape)) for _ in range(2))
    bitwidth = data.draw(st.sampled_from(strategies.BITWIDTHS))
    capability = data.draw(st.sampled_from([0, 80, 90]))
    least = plan_conversion(src, dst, shape, bitwidth, architecture_of(capability))
    limit = data.draw(st.integers(0, 1 << 15))
    plan = plan_conversion(src, dst, shape, bitwidth, architecture_of(capability), limit)
    if not isinstance(least, SharedMemoryRoundTrip):
        assert plan == least
        return
    assert isinstance(plan, SharedMemoryRoundTrip)
    assert plan.rounds * plan.scratch_bytes == least.rounds * least.scratch_bytes
    assert plan.scratch_bytes <= max(limit, least.scratch_bytes)
    assert plan.rounds == 1 or 2 * plan.scratch_bytes > limit
    for these, those in ((plan.stores, least.stores), (plan.loads, least.loads)):
        assert sum(len(one.accesses) for one in these) <= sum(len(one.accesses) for one in those)
        assert plan.rounds * machine.wavefronts(these[0], 4) == least.rounds * machine.wavefronts(those[0], 4)
    held, wanted = (machine.held_by(to_linear_layout(e, shape)) for e in (src, dst))
    assert (machine.convert(plan, held) == wanted).all()


def test_rounds_that_are_joined_move_more_matrices_at_once() -> None:
    src, dst = Blocked((1, 8), (2, 16), (4, 1), (1, 0)), Blocked((1, 2), (4, 8), (2, 2), (1, 0))
    least, plan = (plan_conversion(src, dst, (64, 64), 16, architecture_of(90), limit) for limit in (0, 64 * 64))
    assert isinstance(least, SharedMemoryRoundTrip)
    assert isinstance(plan, SharedMemoryRoundTrip)
    assert (least.rounds, least.loads[0].matrices) == (8, 2)
    assert (plan.rounds, plan.loads[0].matrices) == (2, 4)


def test_no_other_warp_is_waited_for_if_no_other_warp_is_needed() -> None:
    src = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
    dst = Blocked((4, 1), (2, 16), (4, 1), (1, 0))
    plan = plan_conversion(src, dst, (32, 16), 32)
    assert isinstance(plan, SharedMemoryRoundTrip)
    assert plan.warp_sync


def test_hopper_stores_fragments_with_stmatrix_and_ampere_does_not() -> None:
    mma = NvidiaMma(3, 0, (4, 1), (16, 64, 16))
    rows = Blocked((1, 8), (32, 1), (4, 1), (1, 0))
    hopper, ampere = (plan_conversion(mma, rows, (128, 64), 16, architecture_of(capability)) for capability in (90, 80))
    assert isinstance(hopper, SharedMemoryRoundTrip)
    assert isinstance(ampere, SharedMemoryRoundTrip)
    assert hopper.stores[0].matrices == 4
    assert ampere.stores[0].matrices == 0


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_bases_that_are_sums_of_others_are_converted_too(data: st.DataObject) -> None:
    # Any invertible mixing of bits is a layout, though no encoding of a kernel has it.
    def mixed() -> Linear:
        columns = [1 << i for i in range(9)]
        place = st.integers(0, 8)
        for i, j in data.draw(st.lists(st.tuples(place, place), max_size=6)):
            columns[i] ^= columns[j] if i != j else 0
        bases = tuple((column,) for column in data.draw(st.permutations(columns)))
        return Linear(bases[:2], bases[2:7], bases[7:], (), (512,))

    src, dst = mixed(), mixed()
    plan = plan_conversion(src, dst, (512,), data.draw(st.sampled_from([8, 16, 32])))
    held, wanted = (machine.held_by(to_linear_layout(e, (512,))) for e in (src, dst))
    assert (machine.convert(plan, held) == wanted).all()


def test_moving_data_between_ctas_is_refused() -> None:
    src = Blocked((1,), (32,), (4,), (0,), ((1,),))
    dst = Blocked((1,), (32,), (4,), (0,), ((0,),))
    with pytest.raises(LoweringError, match="between CTAs"):
        plan_conversion(src, dst, (1024,), 32)


def test_ctas_that_keep_their_parts_convert_on_their_own() -> None:
    src = Blocked((1,), (32,), (4,), (0,), ((1,),))
    dst = Blocked((4,), (32,), (4,), (0,), ((1,),))
    plan = plan_conversion(src, dst, (1024,), 32)
    held, wanted = (machine.held_by(to_linear_layout(e, (1024,))) for e in (src, dst))
    assert (machine.convert(plan, held) == wanted).all()


def test_a_plan_is_made_in_under_two_milliseconds_and_then_kept() -> None:
    cases = [
        (Blocked((1, 8), (8, 4), (4, 1), (1, 0)), NvidiaMma(2, 0, (2, 2), (16, 8)), (128, 128), 16),
        (NvidiaMma(3, 0, (4, 1), (16, 256, 16)), Blocked((1, 8), (1, 32), (4, 1), (1, 0)), (128, 256), 16),
        (ROWS, COLUMNS, (64, 64), 32),
        (Slice(1, ROWS), Blocked((1,), (32,), (4,), (0,)), (128,), 32),
    ]
    times = []
    for _ in range(5):
        for cached in (conversion._plan, conversion.source_of, conversion.minimal_cvt_of_layouts, conversion._shuffles):
            cached.cache_clear()
        swizzling.optimal_swizzling_ld_st.cache_clear()
        swizzling.optimal_swizzling.cache_clear()
        start = time.perf_counter()
        plans = [plan_conversion(*case) for case in cases]
        times.append((time.perf_counter() - start) / len(cases))
    assert min(times) < 2e-3
    assert all(plan_conversion(*case) is plan for case, plan in zip(cases, plans, strict=True))
