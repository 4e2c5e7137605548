"""What ttg and ttng refuse, and in which words."""

import pytest
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.text import parse_module
from minitriton.errors import IRError

PRELUDE = """
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#wide = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#nvmma = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#nvmma_t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#halves = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0], CGALayout = [[0, 0]]}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
"""


def check(arguments: str, body: str) -> None:
    parse_module(
        f"""{PRELUDE}
        module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
          tt.func @f({arguments}) {{
            {body}
            tt.return
          }}
        }}
        """
    ).verify()


MUTABLE = "!ttg.memdesc<64x64xf16, #shared, #smem, mutable>"
CONSTANT = "!ttg.memdesc<64x64xf16, #shared, #smem>"
TENSOR = "tensor<64x64xf16, #blocked>"

REFUSED = {
    "storing into a constant buffer": (
        f"%t: {TENSOR}, %b: {CONSTANT}",
        f"ttg.local_store %t, %b : {TENSOR} -> {CONSTANT}",
        "Cannot store into immutable memory",
    ),
    "storing another shape": (
        f"%t: tensor<32x64xf16, #blocked>, %b: {MUTABLE}",
        f"ttg.local_store %t, %b : tensor<32x64xf16, #blocked> -> {MUTABLE}",
        r"source shape \[32, 64\] must match",
    ),
    "a constant buffer of nothing": (
        "",
        f"%0 = ttg.local_alloc : () -> {CONSTANT}",
        "uninitialized alloc must have a mutable memdesc type",
    ),
    "a tensor for more warps than there are": (
        "%t: tensor<256xf16, #wide>",
        "%0 = ttg.convert_layout %t : tensor<256xf16, #wide> -> tensor<256xf16, #wide>",
        "Layout has 8 warps per CTA, but the context requires 4 warps per CTA",
    ),
    "a layout of another rank": (
        "%t: tensor<64xf16, #blocked>",
        "%0 = ttg.convert_layout %t : tensor<64xf16, #blocked> -> tensor<64xf16, #blocked>",
        "Layout has rank 2, but the tensor it's attached to has rank 1",
    ),
    "an index that keeps the rank": (
        f"%b: {MUTABLE}, %i: i32",
        f"%0 = ttg.memdesc_index %b[%i] : {MUTABLE} -> {MUTABLE}",
        "result rank must be input rank - 1",
    ),
    "a slice through the swizzling pattern": (
        f"%b: {MUTABLE}",
        f"%0 = ttg.memdesc_subslice %b[0, 0] : {MUTABLE} -> !ttg.memdesc<4x64xf16, #shared, #smem, mutable, 64x64>",
        "splitting along the swizzling pattern",
    ),
    "a slice that begins inside its own size": (
        f"%b: {MUTABLE}",
        f"%0 = ttg.memdesc_subslice %b[2, 0] : {MUTABLE} -> !ttg.memdesc<32x64xf16, #shared, #smem, mutable, 64x64>",
        "The split offset may not touch the tile",
    ),
    "a slice through the swizzling pattern that names no buffer": (
        f"%b: {MUTABLE}",
        f"%0 = ttg.memdesc_subslice %b[0, 0] : {MUTABLE} -> !ttg.memdesc<4x64xf16, #shared, #smem, mutable>",
        "splitting along the swizzling pattern",
    ),
    "a slice of a buffer of two CTAs that names no buffer": (
        "%b: !ttg.memdesc<64x64xf16, #halves, #smem>",
        "%0 = ttg.memdesc_subslice %b[0, 0] : !ttg.memdesc<64x64xf16, #halves, #smem> -> !ttg.memdesc<32x64xf16, #halves, #smem>",
        "non-trivial block dimension not supported",
    ),
    "columns that name no buffer, as if the rows were short": (
        f"%b: {MUTABLE}",
        f"%0 = ttg.memdesc_subslice %b[0, 0] : {MUTABLE} -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>",
        "must have the alloc shape of the buffer: expected 64, 64, found 64, 32",
    ),
    "rows from the middle that name no buffer": (
        f"%b: {MUTABLE}",
        f"%0 = ttg.memdesc_subslice %b[32, 0] : {MUTABLE} -> !ttg.memdesc<32x64xf16, #shared, #smem, mutable>",
        "must have the alloc shape of the buffer: expected 64, 64, found 32, 64",
    ),
    "a barrier that is not one i64": (
        f"%b: {MUTABLE}",
        f"ttng.init_barrier %b, 1 : {MUTABLE}",
        "barrier allocation must be a descriptor of 1xi64 type",
    ),
    "no arrival": (
        "%b: !ttg.memdesc<1xi64, #flat, #smem, mutable>",
        "ttng.arrive_barrier %b, 0 : !ttg.memdesc<1xi64, #flat, #smem, mutable>",
        "count must be greater than or equal to 1",
    ),
    "wgmma into a blocked layout": (
        f"%a: !ttg.memdesc<64x64xf16, #nvmma, #smem>, %c: {TENSOR}",
        "%0 = ttng.warp_group_dot %a, %a, %c : !ttg.memdesc<64x64xf16, #nvmma, #smem> * "
        f"!ttg.memdesc<64x64xf16, #nvmma, #smem> -> {TENSOR}",
        "WGMMA result layout must be Hopper NVMMA",
    ),
    "wgmma of a swizzled buffer": (
        f"%a: {CONSTANT}, %c: tensor<64x64xf32, #mma>",
        f"%0 = ttng.warp_group_dot %a, %a, %c : {CONSTANT} * {CONSTANT} -> tensor<64x64xf32, #mma>",
        "WGMMA A operand must have NVMMA shared or dot layout",
    ),
    "fp4 along no dimension": (
        "%t: tensor<64x64xi8, #blocked>",
        "%0 = ttg.fp4_to_fp %t {axis = 2 : i32} : tensor<64x64xi8, #blocked> -> tensor<64x128xf16, #blocked>",
        "axis 2 out of range for rank 2",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused(case: str) -> None:
    arguments, body, message = REFUSED[case]
    with pytest.raises((VerifyException, IRError), match=message):
        check(arguments, body)


def test_a_slice_along_whole_tiles_is_accepted() -> None:
    check(
        f"%b: {MUTABLE}",
        f"%0 = ttg.memdesc_subslice %b[32, 0] : {MUTABLE} -> !ttg.memdesc<32x64xf16, #shared, #smem, mutable, 64x64>",
    )


@pytest.mark.parametrize(("layout", "part"), [("shared", "32x64"), ("nvmma", "8x64"), ("nvmma_t", "64x32")])
def test_the_first_elements_of_a_buffer_need_not_name_it(layout: str, part: str) -> None:
    """They lie where they would in a buffer of their own."""
    buffer, first = (f"!ttg.memdesc<{shape}xf16, #{layout}, #smem, mutable>" for shape in ("64x64", part))
    check(f"%b: {buffer}", f"%0 = ttg.memdesc_subslice %b[0, 0] : {buffer} -> {first}")


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        ("!ttg.memdesc<3x5xf16, #shared, #smem>", "shape must have power-of-2 and non-zero dimensions; got 3, 5"),
        ("!ttg.memdesc<8x8xf16, #shared, #smem, 4x8>", "shape must be less than or equal to allocShape"),
        ("!ttg.memdesc<8x8xf16, #shared, #smem, 8>", "alloc shape must have at least as many dimensions"),
        ("!ttg.memdesc<8xf16, #shared, #smem>", "rank must be equal to or one less than the shape size. Got 2 and 1"),
        ("!ttg.memdesc<8x8xf16, #blocked, #smem>", "is not a valid encoding"),
        ("!ttg.memdesc<8x8xf16>", "','"),
    ],
)
def test_an_impossible_buffer_type_is_refused(type_: str, message: str) -> None:
    with pytest.raises((VerifyException, IRError), match=message):
        check(f"%b: {type_}", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("partition0() num_warps(3) { ttg.warp_return } : () -> ()", r"number of warps \(3\) must be a power of 2"),
        ("partition0(%x: i32) num_warps(4) { ttg.warp_return } : () -> ()", "has 1 arguments but expected 0"),
        (": () -> i32", "has 0 operands but parent op expected 1"),
    ],
)
def test_a_wrong_warp_specialization_is_refused(text: str, message: str) -> None:
    with pytest.raises((VerifyException, IRError), match=message):
        check("", "ttg.warp_specialize()\ndefault { ttg.warp_yield }\n" + text)
