"""Arrangements of shared memory: complete, and as free of bank conflicts as the count says."""

import layout_machine as machine
import layout_strategies as strategies
import pytest
from bank_conflicts import bank_conflicts_ld_st, bank_conflicts_mem_desc
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from minitriton.layouts import f2
from minitriton.layouts.algebra import action_remove_broadcasted_regs, transpose_linear_layout
from minitriton.layouts.conversion import plan_conversion
from minitriton.layouts.encodings import Blocked, DotOperand, Encoding, NvidiaMma, NVMMAShared, SwizzledShared
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.memory import local_access
from minitriton.layouts.plans import SharedMemoryRoundTrip
from minitriton.layouts.swizzling import (
    complement_basis,
    intersection_basis,
    intersection_rank,
    nullspace_basis,
    optimal_swizzling_ld_st,
)
from minitriton.layouts.to_linear import to_linear_layout


def bits(values: range, dim: int) -> list[tuple[int, int]]:
    return [(1 << i, 0) if dim == 0 else (0, 1 << i) for i in values]


TRANSPOSES = {
    "128x128 f8": (
        {
            "register": bits(range(4), 1) + bits(range(2), 0),
            "lane": bits(range(4, 7), 1) + bits(range(2, 4), 0),
            "warp": bits(range(4, 7), 0),
        },
        (128, 128),
        8,
    ),
    "32x16 f32": (
        {
            "register": bits(range(2, 5), 0),
            "lane": [*bits(range(4), 1), (1, 0)],
            "warp": [(2, 0)],
        },
        (32, 16),
        32,
    ),
    "128x128 f16": (
        {
            "register": bits(range(3), 0) + bits(range(5, 7), 1),
            "lane": [*bits(range(3, 7), 0), (0, 1)],
            "warp": bits(range(1, 5), 1),
        },
        (128, 128),
        16,
    ),
}


@pytest.mark.parametrize("name", ["128x128 f8", "128x128 f16"])
def test_square_transposes_have_no_bank_conflicts(name: str) -> None:
    bases, shape, bitwidth = TRANSPOSES[name]
    rows = LinearLayout(bases, {"dim0": shape[0], "dim1": shape[1]}, require_surjective=True)
    columns = transpose_linear_layout(rows, (1, 0))
    columns = LinearLayout.trusted(dict(columns.bases), {"dim0": shape[0], "dim1": shape[1]})
    smem = optimal_swizzling_ld_st(rows, columns, bitwidth)
    assert bank_conflicts_ld_st(rows, columns, smem, bitwidth) == (0, 0)


def test_a_transpose_of_a_rectangle_has_no_bank_conflicts() -> None:
    bases, _, bitwidth = TRANSPOSES["32x16 f32"]
    sizes = {"dim0": 32, "dim1": 16}
    rows = LinearLayout(bases, sizes, require_surjective=True)
    columns = LinearLayout({"register": bits(range(1, 4), 1), "lane": bits(range(5), 0), "warp": [(0, 1)]}, sizes, True)
    smem = optimal_swizzling_ld_st(rows, columns, bitwidth)
    assert bank_conflicts_ld_st(rows, columns, smem, bitwidth) == (0, 0)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_an_arrangement_has_a_place_for_every_element_and_vectors_of_at_most_16_bytes(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes(2))
    bitwidth = data.draw(st.sampled_from(strategies.BITWIDTHS))
    src, dst = (to_linear_layout(data.draw(strategies.distributed(2, 4)), shape) for _ in range(2))
    src, dst = (action_remove_broadcasted_regs(layout).apply(layout) for layout in (src, dst))
    smem = optimal_swizzling_ld_st(src, dst, bitwidth)
    assert smem.is_invertible()
    assert smem.get_in_dim_size("vector") * bitwidth <= 128


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_counted_conflicts_of_a_conversion_are_those_of_32_banks(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes(2, low=3))
    bitwidth = data.draw(st.sampled_from([8, 16, 32, 64]))
    src, dst = (data.draw(strategies.distributed(2, 4)) for _ in range(2))
    plan = plan_conversion(src, dst, shape, bitwidth)
    assume(isinstance(plan, SharedMemoryRoundTrip))
    assert isinstance(plan, SharedMemoryRoundTrip)
    layouts = [to_linear_layout(e, shape) for e in (src, dst)]
    held = [action_remove_broadcasted_regs(layout).apply(layout) for layout in layouts]
    smem = optimal_swizzling_ld_st(held[0], held[1], bitwidth)
    vector = smem.get_in_dim_size("vector")
    # The count is about accesses of the common vector; a side that found wider ones is served in other groups.
    counted = bank_conflicts_ld_st(held[0], held[1], smem, bitwidth)
    for side, access in zip(counted, (plan.loads[0], plan.stores[0]), strict=True):
        if access.vector == vector and vector * bitwidth >= 32:
            assert machine.extra_wavefronts(access, 4) == side


DOT_B = DotOperand(1, NvidiaMma(2, 0, (1, 4), (16, 8)), 2)
DOT_A = DotOperand(0, NvidiaMma(2, 0, (1, 4), (16, 8)), 2)


@pytest.mark.parametrize(
    ("registers", "shared", "shape", "bitwidth"),
    [
        (Blocked((1,), (32,), (4,), (0,)), SwizzledShared(1, 1, 1, (0,)), (32,), 32),
        (NvidiaMma(3, 0, (4, 1), (16, 32, 16)), NVMMAShared(128, False, 16), (128, 128), 16),
        (DOT_B, NVMMAShared(64, False, 16), (64, 32), 16),
        (DOT_A, NVMMAShared(64, True, 16), (32, 64), 16),
        (NvidiaMma(2, 0, (4, 1), (16, 8)), NVMMAShared(64, True, 16), (64, 64), 16),
        (NvidiaMma(2, 0, (4, 1), (16, 8)), NVMMAShared(32, False, 8), (32, 32), 8),
        (DotOperand(1, NvidiaMma(2, 0, (2, 4), (16, 8)), 2), NVMMAShared(0, False, 16), (4, 64), 16),
        (NvidiaMma(3, 0, (4, 1), (16, 32, 16)), NVMMAShared(128, False, 32), (128, 64), 32),
        (Blocked((1, 1), (32, 1), (4, 1), (0, 1)), SwizzledShared(1, 1, 1, (1, 0)), (128, 64), 32),
        (Blocked((1, 4), (32, 1), (4, 1), (0, 1)), SwizzledShared(1, 1, 1, (1, 0)), (128, 64), 32),
    ],
)
def test_conflicts_with_a_buffer_are_those_of_32_banks(
    registers: Encoding, shared: SwizzledShared | NVMMAShared, shape: tuple[int, ...], bitwidth: int
) -> None:
    counted = bank_conflicts_mem_desc(to_linear_layout(registers, shape), to_linear_layout(shared, shape), bitwidth)
    plan = local_access(registers, shared, shape, bitwidth)  # type: ignore[arg-type]
    assert machine.extra_wavefronts(plan, 1 << len(plan.warp)) == counted


vectors = st.lists(st.integers(0, 31), max_size=6)


@given(vectors, vectors)
def test_the_intersection_basis_spans_what_both_span(first: list[int], second: list[int]) -> None:
    found = intersection_basis(first, second, 5)
    assert set(f2.span(found)) == set(f2.span(first)) & set(f2.span(second))
    assert len(found) == f2.rank(found) == intersection_rank(first, second)


def test_an_intersection_of_unit_vectors_keeps_the_order_of_the_first() -> None:
    assert intersection_basis([4, 1, 8], [1, 2, 4], 4) == [4, 1]


@given(vectors)
def test_the_nullspace_is_orthogonal_and_the_complement_completes(rows: list[int]) -> None:
    null = nullspace_basis(rows, 5)
    assert len(null) == 5 - f2.rank(rows)
    assert all((row & vector).bit_count() % 2 == 0 for row in rows for vector in null)
    complement = complement_basis(rows, 5)
    assert f2.rank([*rows, *complement]) == 5
    assert len(complement) == 5 - f2.rank(rows)
