"""The same answers as Triton's wheel, on random encodings."""

from pathlib import Path

import layout_strategies as strategies
import pytest
from bank_conflicts import bank_conflicts_mem_desc
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from minitriton.errors import IRError
from minitriton.layouts.conversion import conversion_scratch_bytes, cvt_reorders_registers
from minitriton.layouts.encodings import Blocked, DistributedEncoding, DotOperand, Linear, NvidiaMma, Slice
from minitriton.layouts.inference import join_dst, memdesc_reshape_dst, reshape_dst, split_dst, trans_dst
from minitriton.layouts.to_linear import to_linear_encoding, to_linear_layout
from minitriton.target.architectures import architecture_of

pytest.importorskip("triton")
pytestmark = pytest.mark.oracle

import layout_oracle as oracle


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_linear_layouts_of_distributed_encodings(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(strategies.shapes(rank))
    encoding = data.draw(strategies.distributed(rank, data.draw(strategies.power(0, 3)), cga=True))
    linear = to_linear_encoding(encoding, shape)
    assert linear == oracle.to_linear(encoding, shape)
    if not linear.block:
        other = data.draw(strategies.shapes(rank))
        assert to_linear_encoding(linear, other) == oracle.to_linear(linear, other)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_encodings_through_shape_ops(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(strategies.shapes(rank, low=1))
    encoding = data.draw(strategies.distributed(rank, 4, shape))
    value = oracle.tensor(encoding, shape)
    order = tuple(data.draw(st.permutations(range(rank))))
    assert trans_dst(encoding, shape, order) == oracle.encoding_of(oracle.builder.create_trans(value, list(order)))
    size = 1
    for extent in shape:
        size *= extent
    new_shape = data.draw(strategies.split(size, data.draw(st.integers(1, 3))))
    reshaped = oracle.builder.create_reshape(value, list(new_shape), False)
    assert reshape_dst(shape, encoding, new_shape) == oracle.encoding_of(reshaped)
    joined = oracle.builder.create_join(value, value)
    mine = join_dst(encoding, shape)
    assert mine == oracle.encoding_of(joined)
    assert split_dst(mine, (*shape, 2)) == oracle.encoding_of(oracle.split(joined))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_encodings_of_transposed_and_reshaped_buffers_and_their_bank_conflicts(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(strategies.shapes(rank, low=1))
    bitwidth = data.draw(st.sampled_from([8, 16, 32]))
    encoding = data.draw(strategies.shared(shape, bitwidth))
    size = 1
    for extent in shape:
        size *= extent
    try:
        to_linear_layout(encoding, shape)
    except IRError:
        assume(False)
    value = oracle.buffer(encoding, shape, bitwidth)
    order = tuple(data.draw(st.permutations(range(rank))))
    transposed = oracle.builder.create_memdesc_trans(value, list(order))
    assert trans_dst(encoding, shape, order) == oracle.encoding_of_buffer(transposed)
    if rank <= 2 and size * bitwidth >= 1024:
        registers = data.draw(strategies.distributed(rank, 4))
        mine = bank_conflicts_mem_desc(to_linear_layout(registers, shape), to_linear_layout(encoding, shape), bitwidth)
        assert mine == oracle.bank_conflicts(registers, encoding, shape, bitwidth)
    new_shape = data.draw(strategies.split(size, data.draw(st.integers(1, 3))))
    try:
        mine_reshaped = memdesc_reshape_dst(shape, encoding, new_shape)
    except IRError:
        # A swizzle that would not fit any more: Triton aborts here.
        return
    if new_shape != shape:
        assert mine_reshaped == oracle.encoding_of_buffer(oracle.builder.create_memdesc_reshape(value, list(new_shape)))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_conversions_that_stay_within_threads(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(strategies.shapes(rank))
    src = data.draw(strategies.distributed(rank, 4, shape))
    dst = data.draw(st.one_of(strategies.distributed(rank, 4, shape), st.just(to_linear_encoding(src, shape))))
    assert cvt_reorders_registers(src, dst, shape) == oracle.conversion_is_trivial(src, dst, shape)


def text(encoding: DistributedEncoding) -> str:
    match encoding:
        case Blocked(spt, tpw, wpc, order, _):
            return (
                f"#ttg.blocked<{{sizePerThread = {list(spt)}, threadsPerWarp = {list(tpw)}, "
                f"warpsPerCTA = {list(wpc)}, order = {list(order)}}}>"
            )
        case Slice(dim, parent):
            return f"#ttg.slice<{{dim = {dim}, parent = {text(parent)}}}>"
        case NvidiaMma(major, minor, warps, instr, _):
            return (
                f"#ttg.nvidia_mma<{{versionMajor = {major}, versionMinor = {minor}, "
                f"warpsPerCTA = {list(warps)}, instrShape = {list(instr)}}}>"
            )
        case DotOperand(index, parent, k_width):
            return f"#ttg.dot_op<{{opIdx = {index}, parent = {text(parent)}, kWidth = {k_width}}}>"
        case Linear(reg, lane, warp, _, _):
            bases = [[list(b) for b in part] for part in (reg, lane, warp)]
            return f"#ttg.linear<{{register = {bases[0]}, lane = {bases[1]}, warp = {bases[2]}, block = []}}>"
    raise TypeError(encoding)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_conversions_take_the_same_amount_of_shared_memory(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    rank = data.draw(st.integers(1, 3))
    warps = data.draw(strategies.power(0, 3))
    shape = data.draw(strategies.shapes(rank))
    src, dst = (data.draw(strategies.distributed(rank, warps, shape)) for _ in range(2))
    assume(src != dst)
    element, bitwidth = data.draw(st.sampled_from([("i1", 1), ("i8", 8), ("f16", 16), ("f32", 32), ("i64", 64)]))
    capability = data.draw(st.sampled_from([0, 80, 90]))
    types = [f"tensor<{'x'.join(map(str, shape))}x{element}, {text(e)}>" for e in (src, dst)]
    module = f"""
    module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "cuda:90",
                       "ttg.threads-per-warp" = 32 : i32}} {{
      tt.func public @f(%x: {types[0]}) -> {types[1]} {{
        %y = ttg.convert_layout %x : {types[0]} -> {types[1]}
        tt.return %y : {types[1]}
      }}
    }}"""
    path = str(Path(tmp_path_factory.getbasetemp()) / "conversion.mlir")
    assert conversion_scratch_bytes(src, dst, shape, bitwidth, architecture_of(capability)) == oracle.scratch_bytes(
        path, module, capability
    )
