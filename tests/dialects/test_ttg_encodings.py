"""Encodings as attributes: one object per value, text in and out, complaints with a place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import TensorType, f16, f32

from minitriton.dialects import ttg
from minitriton.dialects.text import parse_module, print_module
from minitriton.errors import IRError
from minitriton.layouts.encodings import (
    Blocked,
    DotOperand,
    NvidiaMma,
    NVMMAShared,
    SharedLinear,
    Slice,
    SwizzledShared,
)

MMA = NvidiaMma(2, 0, (2, 2), (16, 8))


def round_trip(attribute: str) -> str:
    """The text of `attribute` as it is printed in place, in the type of a value."""
    module = parse_module(f'"test.op"() {{layout = {attribute}}} : () -> ()')
    first = module.body.block.first_op
    assert first is not None
    return str(first.attributes["layout"])


def test_equal_values_share_one_attribute() -> None:
    value = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
    assert ttg.encoding_attr(value) is ttg.encoding_attr(Blocked((1, 4), (8, 4), (4, 1), (1, 0)))


def test_the_layout_of_a_tensor_is_the_pure_value() -> None:
    value = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
    assert ttg.layout_of(TensorType(f32, (16, 16), ttg.encoding_attr(value))) == value


def test_the_layout_of_a_buffer_is_the_pure_value() -> None:
    value = SwizzledShared(8, 1, 8, (1, 0))
    assert ttg.layout_of(ttg.MemDescType((16, 16), f16, ttg.encoding_attr(value), ttg.SMEM)) == value


def test_a_tensor_without_encoding_has_no_layout() -> None:
    assert ttg.layout_of(TensorType(f32, (16,))) is None


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    [
        "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CGALayout = [[1]]}>",
        "#ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = [], block = []}>",
        "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>",
        "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>",
        "#ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = true, elementBitWidth = 8, fp4Padded = true, rank = 3}>",
        "#ttg.shared_linear<{offset = [[0, 1], [1, 0]]}, alignment = 16>",
        "#ttg.padded_shared<[32:+4, 64:+8] {order = [1, 0], shape = [16, 64]}>",
        "#ttg.padded_shared<[32:+4] {offset = [[1, 0], [0, 1]], block = []}>",
        "#ttg.shared_memory",
    ],
)
def test_canonical_text_is_kept(text: str) -> None:
    if "offset = [[1, 0], [0, 1]]" in text:
        text_out = "#ttg.padded_shared<[32:+4] {order = [0, 1], shape = [2, 2]}>"
    else:
        text_out = text
    assert round_trip(text) == text_out


def test_a_parent_is_printed_inside_a_slice() -> None:
    value = Slice(1, Blocked((1, 4), (8, 4), (4, 1), (1, 0)))
    assert str(ttg.encoding_attr(value)).startswith(
        "#ttg.slice<{dim = 1, parent = #ttg.blocked<{sizePerThread = [1, 4]"
    )


def test_a_dot_operand_of_a_blocked_parent_shows_no_k_width() -> None:
    value = DotOperand(1, Blocked((1, 1), (8, 4), (4, 1), (1, 0)))
    assert str(ttg.encoding_attr(value)).endswith("order = [1, 0]}>}>")


def test_a_dot_operand_of_an_mma_parent_shows_its_k_width() -> None:
    assert str(ttg.encoding_attr(DotOperand(0, MMA, 2))).endswith("instrShape = [16, 8]}>, kWidth = 2}>")


powers = st.sampled_from([1, 2, 4, 8])
shared = st.one_of(
    st.builds(SwizzledShared, powers, powers, powers, st.permutations([0, 1]).map(tuple)),
    st.builds(
        NVMMAShared, st.sampled_from([0, 32, 64, 128]), st.booleans(), st.sampled_from([8, 16, 32]), st.booleans()
    ),
)
blocked = st.builds(
    Blocked,
    st.tuples(powers, powers),
    st.sampled_from([(1, 32), (8, 4), (32, 1)]),
    st.tuples(powers, powers),
    st.permutations([0, 1]).map(tuple),
)


@given(st.one_of(shared, blocked, st.builds(Slice, st.integers(0, 1), blocked)))
def test_every_encoding_is_read_back_from_its_text(value: object) -> None:
    attribute = ttg.encoding_attr(value)  # pyright: ignore[reportArgumentType]
    module = parse_module(f'"test.op"() {{layout = {attribute}}} : () -> ()')
    first = module.body.block.first_op
    assert first is not None
    assert first.attributes["layout"] == attribute


def test_a_shared_linear_keeps_its_block_bases() -> None:
    value = SharedLinear(((0, 1), (0, 2)), ((1, 0),), 32)
    assert round_trip(str(ttg.encoding_attr(value))) == (
        "#ttg.shared_linear<{offset = [[0, 1], [0, 2]], block = [[1, 0]]}, alignment = 32>"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#ttg.blocked<{sizePerThread = [3], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>", "power of two"),
        ("#ttg.blocked<{elems = [1]}>", "unexpected key: elems"),
        ("#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = 1}>", "expected an array for order"),
        ("#ttg.swizzled_shared<{vec = -1, perPhase = 1, maxPhase = 1, order = [0]}>", "expected an unsigned integer"),
        ("#ttg.linear<{register = [[1]], lane = [], warp = []}>", "Expected basis of 'block' not found"),
        ("#ttg.padded_shared<[3:+2] {order = [0], shape = [4]}>", "interval values must all be power of two"),
        ("#ttg.slice<{dim = 0, parent = #ttg.shared_memory}>", "expected a distributed encoding trait"),
        (
            "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CGALayout = [[0, 1]]}>",
            "'CGALayout' entry length does not match rank 1",
        ),
    ],
)
def test_a_malformed_encoding_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(IRError, match=message.replace("[", r"\[")) as raised:
        parse_module(f'"test.op"() {{layout = {text}}} : () -> ()', "layouts.mlir")
    assert raised.value.location is not None
    assert raised.value.location.file == "layouts.mlir"


def test_layouts_are_printed_by_alias() -> None:
    module = parse_module(
        """
        #rows = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
        module attributes {"ttg.num-warps" = 4 : i32} {
          tt.func @f(%a: tensor<128xf32, #rows>) { tt.return }
        }
        """
    )
    text = print_module(module)
    assert text.startswith("#blocked = #ttg.blocked<{sizePerThread = [1]")
    assert "%arg0: tensor<128xf32, #blocked>" in text
