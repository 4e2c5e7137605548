"""Encodings as linear layouts, against what each encoding means, spelled out element by element."""

from functools import partial
from itertools import pairwise

import layout_strategies as strategies
import pytest
from counted_calls import calls_in
from hypothesis import given
from hypothesis import strategies as st

from minitriton.errors import IRError
from minitriton.layouts.cta_split import shape_per_cta
from minitriton.layouts.encodings import (
    Blocked,
    DotOperand,
    Linear,
    NvidiaMma,
    NVMMAShared,
    PaddedShared,
    SharedLinear,
    Slice,
)
from minitriton.layouts.to_linear import (
    core_matrix_layout,
    nvmma_shared_to_linear_layout,
    to_linear_encoding,
    to_linear_layout,
)


def digits(number: int, sizes: tuple[int, ...], order: tuple[int, ...]) -> list[int]:
    """`number` as coordinates in a box, `order[0]` fastest."""
    coordinates = [0] * len(sizes)
    for dim in order:
        coordinates[dim] = number % sizes[dim]
        number //= sizes[dim]
    return coordinates


@given(st.data())
def test_a_blocked_thread_owns_a_box_in_a_box_of_lanes_in_a_box_of_warps(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    encoding = data.draw(strategies.blocked(rank, 4))
    shape = tuple(
        s * t * w
        for s, t, w in zip(encoding.size_per_thread, encoding.threads_per_warp, encoding.warps_per_cta, strict=True)
    )
    layout = to_linear_layout(encoding, shape)
    register = data.draw(st.integers(0, layout.get_in_dim_size("register") - 1))
    lane, warp = data.draw(st.integers(0, 31)), data.draw(st.integers(0, 3))
    inner = digits(register, encoding.size_per_thread, encoding.order)
    lanes = digits(lane, encoding.threads_per_warp, encoding.order)
    warps = digits(warp, encoding.warps_per_cta, encoding.order)
    want = [
        i + s * (j + t * k)
        for i, s, j, t, k in zip(inner, encoding.size_per_thread, lanes, encoding.threads_per_warp, warps, strict=True)
    ]
    point = {"register": register, "lane": lane, "warp": warp, "block": 0}
    assert list(layout.apply(point).values()) == want


def test_a_larger_tensor_gives_threads_more_registers_in_the_order_of_the_encoding() -> None:
    encoding = Blocked((1, 2), (8, 4), (2, 2), (1, 0))
    layout = to_linear_layout(encoding, (32, 32))
    assert layout.bases["register"] == ((0, 1), (0, 16), (16, 0))
    assert layout.bases["lane"] == ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0))
    assert layout.bases["warp"] == ((0, 8), (8, 0))


def test_a_smaller_tensor_is_held_by_several_threads() -> None:
    layout = to_linear_layout(Blocked((2,), (32,), (4,), (0,)), (16,))
    assert layout.bases["register"] == ((1,),)
    assert layout.bases["lane"] == ((2,), (4,), (8,), (0,), (0,))
    assert layout.bases["warp"] == ((0,), (0,))


def test_ctas_split_the_tensor_after_everything_else() -> None:
    encoding = Blocked((8, 1), (8, 4), (1, 4), (0, 1), ((0, 1),))
    layout = to_linear_layout(encoding, (64, 128))
    assert layout.bases["register"] == ((1, 0), (2, 0), (4, 0), (0, 16), (0, 32))
    assert layout.bases["block"] == ((0, 64),)
    assert to_linear_layout(Blocked((1,), (4,), (4,), (0,), ((1,), (0,))), (32,)).bases["block"] == ((16,), (0,))
    assert shape_per_cta(encoding, (3, 64, 128)) == (3, 64, 64)


@given(st.data())
def test_a_slice_holds_what_its_parent_holds_with_one_coordinate_left_out(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 2))
    parent = data.draw(strategies.distributed(rank + 1, 4))
    dim = data.draw(st.integers(0, rank))
    shape = data.draw(strategies.shapes(rank))
    sliced = to_linear_layout(Slice(dim, parent), shape)
    whole = to_linear_layout(parent, (*shape[:dim], 1, *shape[dim:]))
    kept = whole.remove_zero_bases_along_dim("register")
    for name, images in kept.bases.items():
        assert sliced.bases[name] == tuple(b[:dim] + b[dim + 1 :] for b in images)


@given(st.integers(0, 3), st.integers(0, 31))
def test_an_mma_v2_result_is_the_fragment_of_the_ptx_isa(register: int, lane: int) -> None:
    layout = to_linear_layout(NvidiaMma(2, 0, (1, 1), (16, 8)), (16, 8))
    row = lane // 4 + (8 if register >= 2 else 0)
    column = lane % 4 * 2 + register % 2
    assert layout.apply({"register": register, "lane": lane, "warp": 0, "block": 0}) == {"dim0": row, "dim1": column}


@given(st.integers(0, 7), st.integers(0, 31), st.sampled_from([1, 2, 4]))
def test_the_operands_of_mma_v2_are_the_fragments_of_the_ptx_isa(register: int, lane: int, k_width: int) -> None:
    # m16n8k(8 * k_width): a register of 32 bits (k_width elements) a quad, 2x2 quads of A, 2 of B along K.
    mma = NvidiaMma(2, 0, (1, 1), (16, 8))
    k = 8 * k_width
    element, quad = register % k_width, register // k_width % 4
    point = {"register": register % (4 * k_width), "lane": lane, "warp": 0, "block": 0}
    a = to_linear_layout(DotOperand(0, mma, k_width), (16, k)).apply(point)
    along = lane % 4 * k_width + element + quad // 2 * 4 * k_width
    assert a == {"dim0": lane // 4 + quad % 2 * 8, "dim1": along}
    point["register"] %= 2 * k_width
    b = to_linear_layout(DotOperand(1, mma, k_width), (k, 8)).apply(point)
    assert b == {"dim0": lane % 4 * k_width + element + quad % 2 * 4 * k_width, "dim1": lane // 4}


def test_warps_of_mma_v2_run_along_rows_and_those_of_wgmma_along_columns() -> None:
    assert to_linear_layout(NvidiaMma(2, 0, (2, 2), (16, 8)), (32, 16)).bases["warp"] == ((0, 8), (16, 0))
    assert to_linear_layout(NvidiaMma(3, 0, (4, 2), (16, 32, 16)), (64, 64)).bases["warp"] == (
        (16, 0),
        (32, 0),
        (0, 32),
    )


def test_warps_hold_copies_of_operands_along_k() -> None:
    mma = NvidiaMma(2, 0, (2, 2), (16, 8))
    assert to_linear_layout(DotOperand(0, mma, 2), (32, 16)).bases["warp"] == ((0, 0), (16, 0))
    assert to_linear_layout(DotOperand(1, mma, 2), (16, 16)).bases["warp"] == ((0, 8), (0, 0))


def test_operands_of_fused_multiply_adds_hold_all_of_k_in_a_thread() -> None:
    parent = Blocked((2, 2), (4, 8), (2, 2), (1, 0))
    layout = to_linear_layout(DotOperand(0, parent), (16, 8))
    assert layout.bases["register"] == ((0, 1), (0, 2), (0, 4), (1, 0))
    assert layout.bases["lane"] == ((0, 0), (0, 0), (0, 0), (2, 0), (4, 0))
    assert layout.bases["warp"] == ((0, 0), (8, 0))


@given(st.data())
def test_a_linear_encoding_on_its_own_shape_is_its_bases(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes(2))
    linear = to_linear_encoding(data.draw(strategies.distributed(2, 4, cga=True)), shape)
    layout = to_linear_layout(linear, shape)
    assert Linear(*(layout.bases[d] for d in ("register", "lane", "warp", "block")), shape) == linear


def test_a_linear_encoding_on_another_shape_grows_and_shrinks_in_registers() -> None:
    linear = Linear(((0, 1), (2, 0)), ((0, 2), (1, 0)), ((4, 0),))
    assert to_linear_layout(linear, (16, 4)).bases["register"] == ((0, 1), (2, 0), (8, 0))
    small = to_linear_layout(linear, (2, 2))
    assert small.bases["register"] == ((0, 1),)
    assert small.bases["lane"] == ((0, 0), (1, 0))
    assert small.bases["warp"] == ((0, 0),)


@given(st.data())
def test_swizzled_rows_are_xored_with_their_phase(data: st.DataObject) -> None:
    encoding = data.draw(strategies.swizzled(2))
    rows, columns = data.draw(strategies.power(0, 6)), data.draw(strategies.power(0, 6))
    fast, slow = encoding.order
    shape = [0, 0]
    shape[fast], shape[slow] = columns, rows
    layout = to_linear_layout(encoding, shape)
    row, column = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    phase = row // encoding.per_phase % encoding.max_phase
    place = (column ^ encoding.vec * phase) % columns
    point = layout.apply({"offset": row * columns + place, "block": 0})
    assert (point[f"dim{slow}"], point[f"dim{fast}"]) == (row, column)


@given(st.data())
def test_swizzled_nvmma_tiles_are_8_rows_whose_16_byte_groups_are_xored_with_the_row(data: st.DataObject) -> None:
    width, bitwidth = data.draw(st.sampled_from([32, 64, 128])), data.draw(st.sampled_from([8, 16, 32]))
    transposed = data.draw(st.booleans())
    tile = 8 * width // bitwidth
    rows, columns = data.draw(strategies.power(3, 6)), tile * data.draw(strategies.power(0, 1))
    row, column = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    shape = (columns, rows) if transposed else (rows, columns)
    layout = to_linear_layout(NVMMAShared(width, transposed, bitwidth), shape)
    in_tile = column % tile * bitwidth // 8
    swizzled = in_tile ^ 16 * (row % 8 // (128 // width))
    byte = column // tile * rows * width + row * width + swizzled
    point = list(layout.apply({"offset": byte * 8 // bitwidth, "block": 0}).values())
    group = 128 // bitwidth
    want = [row, column // group * group]
    offset = byte * 8 // bitwidth % group
    want[1] += offset
    assert (point[::-1] if transposed else point) == want


def test_nvmma_tiles_of_three_dimensions_run_over_all_rows() -> None:
    assert to_linear_layout(NVMMAShared(64, False, 32, rank=3), (32, 4, 64)).bases["offset"] == (
        *((0, 0, 1), (0, 0, 2), (0, 0, 4), (0, 0, 8), (0, 1, 0), (0, 2, 4), (1, 0, 8)),
        *((2, 0, 0), (4, 0, 0), (8, 0, 0), (16, 0, 0), (0, 0, 16), (0, 0, 32)),
    )
    assert to_linear_layout(NVMMAShared(64, True, 32, rank=3), (64, 4, 32)).bases["offset"] == (
        *((1, 0, 0), (2, 0, 0), (4, 0, 0), (8, 0, 0), (0, 0, 4), (4, 0, 8), (8, 0, 16)),
        *((0, 1, 0), (0, 2, 0), (0, 0, 1), (0, 0, 2), (16, 0, 0), (32, 0, 0)),
    )


def test_padded_fp4_has_two_offsets_for_every_element() -> None:
    assert to_linear_layout(NVMMAShared(128, False, 8, fp4_padded=True), (32, 64)).bases["offset"] == (
        *((0, 1), (0, 2), (0, 4), (0, 0), (0, 8), (0, 16), (0, 32)),
        *((1, 8), (2, 16), (4, 32), (8, 0), (16, 0)),
    )


def test_nvmma_without_swizzle_is_row_major_in_boxes_of_at_most_256() -> None:
    layout = to_linear_layout(NVMMAShared(0, False, 16), (4, 512))
    assert layout.bases["offset"][:10] == (*tuple((0, 1 << i) for i in range(8)), (1, 0), (2, 0))
    assert layout.bases["offset"][10:] == ((0, 256),)


def test_the_swizzle_can_be_left_to_the_hardware() -> None:
    plain = nvmma_shared_to_linear_layout(NVMMAShared(128, False, 16), (8, 64), disable_swizzle=True)
    assert plain.bases["offset"] == (*tuple((0, 1 << i) for i in range(6)), (1, 0), (2, 0), (4, 0))
    assert core_matrix_layout(NVMMAShared(32, False, 16)).out_dims == {"dim0": 8, "dim1": 16}


def test_shared_layouts_given_by_bases_are_for_one_shape_only() -> None:
    padded = PaddedShared((2,), (2,), ((2,), (1,)))
    assert to_linear_layout(padded, (4,)).bases == {"offset": ((2,), (1,)), "block": ()}
    linear = SharedLinear(((1,), (2,)), ((4,),))
    assert to_linear_layout(linear, (8,)).bases == {"offset": ((1,), (2,)), "block": ((4,),)}
    with pytest.raises(IRError, match="for the shape"):
        to_linear_layout(linear, (16,))


@pytest.mark.parametrize(
    ("shape", "message"), [((3, 4), "powers of 2"), ((4,), "of rank 2 is used on the shape"), ((0, 4), "powers of 2")]
)
def test_shapes_that_do_not_fit_are_refused(shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(IRError, match=message):
        to_linear_layout(Blocked((1, 1), (8, 4), (4, 1), (1, 0)), shape)


def test_an_nvmma_buffer_too_small_for_its_swizzle_is_refused() -> None:
    with pytest.raises(IRError, match="too small for the swizzle"):
        to_linear_layout(NVMMAShared(128, False, 16), (64, 16))
    with pytest.raises(IRError, match="Illegal shared layout"):
        to_linear_layout(NVMMAShared(128, False, 16), (4, 64))


@given(st.data())
def test_distributed_layouts_are_surjective(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(strategies.shapes(rank))
    layout = to_linear_layout(data.draw(strategies.distributed(rank, 4, shape, cga=True)), shape)
    assert layout.is_surjective()
    assert layout.out_dims == {f"dim{i}": size for i, size in enumerate(shape)}
    assert layout.get_in_dim_names() == ["register", "lane", "warp", "block"]


def test_a_layout_of_twice_the_size_takes_one_basis_more_and_is_made_once() -> None:
    encoding, shapes = Blocked((1, 8), (2, 16), (4, 1), (1, 0)), [(1 << n, 256) for n in range(6, 12)]
    to_linear_layout(encoding, (32, 256))  # what layouts of all sizes share
    made, again = ([calls_in(partial(to_linear_layout, encoding, shape)) for shape in shapes] for _ in range(2))
    assert all(after - before <= 2 for before, after in pairwise(made)) and made[-1] < 100, made
    assert max(again) <= 5
    assert to_linear_layout(encoding, shapes[0]) is to_linear_layout(encoding, shapes[0])
