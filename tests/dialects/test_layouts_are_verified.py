"""Every op with a rule about layouts, or a view of a buffer, refuses IR that breaks it: at its place, with what was expected and what was found."""

import itertools
import re
from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    bf16,
    f16,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.context import dialects
from minitriton.dialects.encodings import encoding_attr
from minitriton.dialects.facts.gpu_traits import MemDescView
from minitriton.dialects.facts.layout import Elementwise, LayoutAnchor, LayoutRule
from minitriton.dialects.text import parse_module
from minitriton.dialects.tt.enums import PropagateNan, PropagateNanAttr, RoundingMode, RoundingModeAttr
from minitriton.dialects.tt.types import PointerType
from minitriton.dialects.verification.verifier import verify
from minitriton.errors import IRError
from minitriton.layouts.encodings import Blocked

PRELUDE = """
#row = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#column = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
#pairs = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}>
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#wide = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma2 = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
#tall2 = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
#mma3 = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#swizzled = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#nvmma = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#nvmma_t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#smem = #ttg.shared_memory
"""

MODULE = """{prelude}
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func @f({arguments}) {{
    {body}
    tt.return
  }}
}}
"""

ROW, COLUMN, LINE, WIDE = (
    "tensor<64x32xf32, #row>",
    "tensor<64x32xf32, #column>",
    "tensor<128xf32, #line>",
    "tensor<128xf32, #wide>",
)
BUFFER = "!ttg.memdesc<64x32xf16, #swizzled, #smem, mutable>"
NVMMA = "!ttg.memdesc<64x64xf16, #nvmma, #smem, mutable>"
POINTERS = "tensor<128x!tt.ptr<f32>, #line>"


def of_a_block(text: str) -> tuple[str, str]:
    return text, "block and tensor types must match: expected .*32x128.*found .*64x128"


WRONG: dict[str, dict[str, tuple[str, str, str]]] = {
    "tt.broadcast": {
        "another layout": (
            "%x: tensor<64x1xf32, #row>",
            "%0 = tt.broadcast %x : tensor<64x1xf32, #row> -> tensor<64x32xf32, #column>",
            "same encoding",
        ),
    },
    "tt.splat": {
        "another element type": ("%x: f16", f"%0 = tt.splat %x : f16 -> {LINE}", "same element type"),
    },
    "tt.expand_dims": {
        "a layout that is not the parent": (
            "%x: tensor<64xf32, #ttg.slice<{dim = 1, parent = #row}>>",
            "%0 = tt.expand_dims %x {axis = 1 : i32} : tensor<64xf32, #ttg.slice<{dim = 1, parent = #row}>> -> tensor<64x1xf32, #column>",
            "incompatible with return type",
        ),
        "a slice along another dimension": (
            "%x: tensor<64xf32, #ttg.slice<{dim = 1, parent = #row}>>",
            "%0 = tt.expand_dims %x {axis = 0 : i32} : tensor<64xf32, #ttg.slice<{dim = 1, parent = #row}>> -> tensor<1x64xf32, #row>",
            "no layout",
        ),
    },
    "tt.trans": {
        "the operand's layout": (
            f"%x: {ROW}",
            f"%0 = tt.trans %x {{order = array<i32: 1, 0>}} : {ROW} -> tensor<32x64xf32, #row>",
            "incompatible with return type",
        ),
    },
    "tt.reshape": {
        "another order of the elements": (
            f"%x: {ROW}",
            f"%0 = tt.reshape %x : {ROW} -> tensor<32x64xf32, #column>",
            "Expected result encoding",
        ),
    },
    "tt.join": {
        "halves in two threads": (
            f"%x: {LINE}",
            f"%0 = tt.join %x, %x : {LINE} -> tensor<128x2xf32, #column>",
            "join layout",
        ),
    },
    "tt.split": {
        "another layout": (
            "%x: tensor<128x2xf32, #pairs>",
            f"%0, %1 = tt.split %x : tensor<128x2xf32, #pairs> -> {WIDE}",
            "incompatible with return type",
        ),
    },
    "tt.reduce": {
        "a layout that is not the slice": (
            f"%x: {ROW}",
            f'%0 = "tt.reduce"(%x) <{{axis = 1 : i32}}> ({{\n^bb0(%a: f32, %b: f32):\n tt.reduce.return %a : f32\n}}) : ({ROW}) -> tensor<64xf32, #line>',
            "incompatible with return type",
        ),
    },
    "tt.scan": {
        "another layout": (
            f"%x: {ROW}",
            f'%0 = "tt.scan"(%x) <{{axis = 1 : i32, reverse = false}}> ({{\n^bb0(%a: f32, %b: f32):\n tt.scan.return %a : f32\n}}) : ({ROW}) -> {COLUMN}',
            "same encoding",
        ),
    },
    "tt.map_elementwise": {
        "another layout": (
            f"%x: {ROW}",
            f'%0 = "tt.map_elementwise"(%x) <{{pack = 1 : i32}}> ({{\n^bb0(%a: f32):\n tt.map_elementwise.return %a : f32\n}}) : ({ROW}) -> {COLUMN}',
            "same encoding",
        ),
        "another shape": (
            f"%x: {ROW}",
            f'%0 = "tt.map_elementwise"(%x) <{{pack = 1 : i32}}> ({{\n^bb0(%a: f32):\n tt.map_elementwise.return %a : f32\n}}) : ({ROW}) -> tensor<32x32xf32, #row>',
            "same shape",
        ),
    },
    "tt.gather": {
        "a layout that is not that of the indices": (
            "%x: tensor<128xf32, #line>, %i: tensor<128xi32, #line>",
            "%0 = tt.gather %x[%i] {axis = 0 : i32} : (tensor<128xf32, #line>, tensor<128xi32, #line>) -> tensor<128xf32, #wide>",
            "encodings must match",
        ),
    },
    "tt.dot": {
        "operands of another parent": (
            "%a: tensor<64x16xf16, #ttg.dot_op<{opIdx = 0, parent = #mma2, kWidth = 2}>>, %b: tensor<16x32xf16, #ttg.dot_op<{opIdx = 1, parent = #mma2, kWidth = 2}>>, "
            "%c: tensor<64x32xf32, #tall2>",
            "%0 = tt.dot %a, %b, %c : tensor<64x16xf16, #ttg.dot_op<{opIdx = 0, parent = #mma2, kWidth = 2}>> * tensor<16x32xf16, #ttg.dot_op<{opIdx = 1, parent = #mma2, kWidth = 2}>> "
            "-> tensor<64x32xf32, #tall2>",
            "parent encoding: expected .*found",
        ),
        "operands swapped": (
            "%a: tensor<32x32xf16, #ttg.dot_op<{opIdx = 1, parent = #row}>>, %c: tensor<32x32xf32, #row>",
            "%0 = tt.dot %a, %a, %c : tensor<32x32xf16, #ttg.dot_op<{opIdx = 1, parent = #row}>> * tensor<32x32xf16, #ttg.dot_op<{opIdx = 1, parent = #row}>> -> tensor<32x32xf32, #row>",
            "opIdx",
        ),
    },
    "tt.load": {
        "another layout": (
            f"%p: {POINTERS}",
            f'%0 = "tt.load"(%p) <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : ({POINTERS}) -> {WIDE}',
            "result matches ptr type",
        ),
    },
    "tt.store": {
        "another layout": (
            f"%p: {POINTERS}, %v: {WIDE}",
            f'"tt.store"(%p, %v) : ({POINTERS}, {WIDE}) -> ()',
            "value type matches ptr type",
        ),
    },
    "tt.atomic_rmw": {
        "another layout": (
            f"%p: {POINTERS}, %v: {WIDE}",
            f'%0 = "tt.atomic_rmw"(%p, %v) <{{atomic_rmw_op = 5 : i32, sem = 4 : i32, scope = 1 : i32}}> : ({POINTERS}, {WIDE}) -> {WIDE}',
            "ptr type matches value type",
        ),
    },
    "tt.atomic_cas": {
        "another layout": (
            f"%p: {POINTERS}, %v: {WIDE}",
            f'%0 = "tt.atomic_cas"(%p, %v, %v) <{{sem = 4 : i32, scope = 1 : i32}}> : ({POINTERS}, {WIDE}, {WIDE}) -> {WIDE}',
            "ptr type matches cmp type",
        ),
    },
    "tt.atomic_load": {
        "another layout": (
            f"%p: {POINTERS}",
            f'%0 = "tt.atomic_load"(%p) <{{sem = 4 : i32, scope = 1 : i32}}> : ({POINTERS}) -> {WIDE}',
            "ptr type matches result type",
        ),
    },
    "tt.atomic_store": {
        "another layout": (
            f"%p: {POINTERS}, %v: {WIDE}",
            f'"tt.atomic_store"(%p, %v) <{{sem = 4 : i32, scope = 1 : i32}}> : ({POINTERS}, {WIDE}) -> ()',
            "value type matches ptr type",
        ),
    },
    "tt.atomic_poll": {
        "another layout": (
            f"%p: {POINTERS}, %v: {WIDE}",
            f'%0 = "tt.atomic_poll"(%p, %v) <{{sem = 4 : i32, scope = 1 : i32}}> : ({POINTERS}, {WIDE}) -> tensor<128xi1, #wide>',
            "ptr type matches expected type",
        ),
    },
    "tt.descriptor_load": {
        "another shape": (
            "%d: !tt.tensordesc<tensor<32x128xf32>>, %i: i32",
            *of_a_block(
                "%0 = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<32x128xf32>> -> tensor<64x128xf32, #row>"
            ),
        )
    },
    "tt.descriptor_store": {
        "another shape": (
            "%d: !tt.tensordesc<tensor<32x128xf32>>, %i: i32, %v: tensor<64x128xf32, #row>",
            *of_a_block(
                "tt.descriptor_store %d[%i, %i], %v : !tt.tensordesc<tensor<32x128xf32>>, tensor<64x128xf32, #row>"
            ),
        )
    },
    "tt.descriptor_reduce": {
        "another shape": (
            "%d: !tt.tensordesc<tensor<32x128xf32>>, %i: i32, %v: tensor<64x128xf32, #row>",
            *of_a_block(
                "tt.descriptor_reduce add, %d[%i, %i], %v : !tt.tensordesc<tensor<32x128xf32>>, tensor<64x128xf32, #row>"
            ),
        )
    },
    "tt.descriptor_gather": {
        "another number of columns": (
            "%d: !tt.tensordesc<tensor<1x128xf32>>, %i: i32, %r: tensor<32xi32, #line>",
            "%0 = tt.descriptor_gather %d[%r, %i] : (!tt.tensordesc<tensor<1x128xf32>>, tensor<32xi32, #line>, i32) -> tensor<32x64xf32, #row>",
            r"columns must match block \(128\), but got",
        ),
    },
    "tt.descriptor_scatter": {
        "another number of columns": (
            "%d: !tt.tensordesc<tensor<1x128xf32>>, %i: i32, %r: tensor<32xi32, #line>, %v: tensor<32x64xf32, #row>",
            "tt.descriptor_scatter %d[%r, %i], %v : !tt.tensordesc<tensor<1x128xf32>>, tensor<32xi32, #line>, i32, tensor<32x64xf32, #row>",
            r"columns must match block \(128\), but got",
        ),
    },
    "tt.dot_scaled": {
        "an accumulator of another shape": (
            "%a: tensor<64x64xf8E4M3FN, #row>, %c: tensor<64x32xf32, #row>",
            "%0 = tt.dot_scaled %a, %a, %c lhs = e4m3 rhs = e4m3 {fastMath = false} : tensor<64x64xf8E4M3FN, #row> * tensor<64x64xf8E4M3FN, #row> -> tensor<64x32xf32, #row>",
            "expected the output shape",
        ),
    },
    "ttng.tmem_load": {
        "another shape": (
            "%b: !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>",
            "%0 = ttng.tmem_load %b : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> tensor<64x128xf32, #row>",
            "expected .*128x128.*found .*64x128",
        ),
    },
    "ttg.convert_layout": {
        "another shape": (
            f"%x: {ROW}",
            f"%0 = ttg.convert_layout %x : {ROW} -> tensor<32x32xf32, #row>",
            r"expected .*64x32xf32.*found .*32x32xf32",
        ),
        "another element type": (
            f"%x: {ROW}",
            f"%0 = ttg.convert_layout %x : {ROW} -> tensor<64x32xf16, #column>",
            r"expected .*64x32xf32.*found .*64x32xf16",
        ),
    },
    "ttg.fp4_to_fp": {
        "a layout with other pairs": (
            "%x: tensor<64x32xi8, #row>",
            "%0 = ttg.fp4_to_fp %x {axis = 1 : i32} : tensor<64x32xi8, #row> -> tensor<64x64xf16, #column>",
            "encoding",
        ),
    },
    "amdg.scaled_upcast_fp4": {
        "a layout with other pairs": (
            "%x: tensor<64x32xi8, #row>, %s: tensor<64x64xbf16, #column>",
            "%0 = amdg.scaled_upcast_fp4 %x scale %s {axis = 1 : i32} : "
            "tensor<64x32xi8, #row>, tensor<64x64xbf16, #column> -> tensor<64x64xbf16, #column>",
            "encoding",
        ),
        "scales in another layout": (
            "%x: tensor<64x32xi8, #row>, %s: tensor<64x64xbf16, #column>",
            "%0 = amdg.scaled_upcast_fp4 %x scale %s {axis = 1 : i32} : "
            "tensor<64x32xi8, #row>, tensor<64x64xbf16, #column> -> tensor<64x64xbf16, #row>",
            "same shape and encoding",
        ),
    },
    "ttg.memdesc_trans": {
        "the operand's layout": (
            f"%b: {NVMMA}",
            f"%0 = ttg.memdesc_trans %b {{order = array<i32: 1, 0>}} : {NVMMA} -> {NVMMA}",
            "expected .*found",
        ),
        "the operand's shape": (
            f"%b: {BUFFER}",
            f"%0 = ttg.memdesc_trans %b {{order = array<i32: 1, 0>}} : {BUFFER} -> {BUFFER}",
            "expected .*found",
        ),
        "an order that is not a permutation": (
            f"%b: {BUFFER}",
            f"%0 = ttg.memdesc_trans %b {{order = array<i32: 1, 1>}} : {BUFFER} -> {BUFFER}",
            "permutation",
        ),
        "a constant buffer made mutable": (
            "%b: !ttg.memdesc<64x64xf16, #nvmma, #smem>",
            "%0 = ttg.memdesc_trans %b {order = array<i32: 1, 0>} : !ttg.memdesc<64x64xf16, #nvmma, #smem> -> !ttg.memdesc<64x64xf16, #nvmma_t, #smem, mutable>",
            "expected .*found",
        ),
    },
    "ttg.memdesc_reshape": {
        "a layout that moves elements": (
            f"%b: {BUFFER}",
            f"%0 = ttg.memdesc_reshape %b : {BUFFER} -> !ttg.memdesc<32x64xf16, #swizzled, #smem, mutable>",
            "expected .*found",
        ),
    },
    "ttg.memdesc_reinterpret": {
        "more bytes than there are": (
            "%b: !ttg.memdesc<64x32xf16, #plain, #smem, mutable>",
            "%0 = ttg.memdesc_reinterpret %b : !ttg.memdesc<64x32xf16, #plain, #smem, mutable> -> !ttg.memdesc<64x64xf32, #plain, #smem, mutable>",
            r"expected at most 4096 bytes.*found 16384",
        ),
        "a constant buffer made mutable": (
            "%b: !ttg.memdesc<64x32xf16, #plain, #smem>",
            "%0 = ttg.memdesc_reinterpret %b : !ttg.memdesc<64x32xf16, #plain, #smem> -> !ttg.memdesc<64x32xf16, #plain, #smem, mutable>",
            "mutab",
        ),
    },
    "ttg.memdesc_index": {
        "another layout": (
            "%b: !ttg.memdesc<3x64x64xf16, #nvmma, #smem, mutable>, %i: i32",
            "%0 = ttg.memdesc_index %b[%i] : !ttg.memdesc<3x64x64xf16, #nvmma, #smem, mutable> -> !ttg.memdesc<64x64xf16, #swizzled, #smem, mutable>",
            r"expected .*nvmma_shared.*found .*swizzled",
        ),
    },
    "ttg.memdesc_subslice": {
        "another layout": (
            f"%b: {BUFFER}",
            f"%0 = ttg.memdesc_subslice %b[32, 0] : {BUFFER} -> !ttg.memdesc<32x32xf16, #plain, #smem, mutable, 64x32>",
            r"expected .*vec = 8.*found .*vec = 1",
        ),
        "an allocation of another shape": (
            f"%b: {BUFFER}",
            f"%0 = ttg.memdesc_subslice %b[32, 0] : {BUFFER} -> !ttg.memdesc<32x32xf16, #swizzled, #smem, mutable, 128x32>",
            r"expected 64, 32, found 128, 32",
        ),
        "a slice beyond the end": (
            f"%b: {BUFFER}",
            f"%0 = ttg.memdesc_subslice %b[64, 0] : {BUFFER} -> !ttg.memdesc<32x32xf16, #swizzled, #smem, mutable, 64x32>",
            r"expected .*found",
        ),
    },
    "ttng.warp_group_dot": {
        "a dimension K that differs": (
            "%a: !ttg.memdesc<64x64xf16, #nvmma, #smem>, %b: !ttg.memdesc<128x64xf16, #nvmma, #smem>, %c: tensor<64x64xf32, #mma3>",
            "%0 = ttng.warp_group_dot %a, %b, %c : !ttg.memdesc<64x64xf16, #nvmma, #smem> * !ttg.memdesc<128x64xf16, #nvmma, #smem> -> tensor<64x64xf32, #mma3>",
            r"expected .*64, 128.*K = 128.*found .*64, 64",
        ),
        "registers of another layout": (
            "%a: tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #tall2, kWidth = 2}>>, %b: !ttg.memdesc<64x64xf16, #nvmma, #smem>, %c: tensor<64x64xf32, #mma3>",
            "%0 = ttng.warp_group_dot %a, %b, %c : tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #tall2, kWidth = 2}>> * !ttg.memdesc<64x64xf16, #nvmma, #smem> -> tensor<64x64xf32, #mma3>",
            r"expected .*opIdx = 0.*found",
        ),
    },
}


def check(arguments: str, body: str) -> None:
    parse_module(MODULE.format(prelude=PRELUDE, arguments=arguments, body=body), "wrong.mlir")


CASES = [(op, case) for op, cases in WRONG.items() for case in cases]


@pytest.mark.parametrize(("op", "case"), CASES)
def test_it_is_refused_at_its_place(op: str, case: str) -> None:
    arguments, body, message = WRONG[op][case]
    with pytest.raises((IRError, VerifyException)) as caught:
        check(arguments, body)
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)
    assert "wrong.mlir:" in str(caught.value)


# Elementwise ops are many and alike. Their wrong IR is made from their declarations: one value gets another layout or another shape.

ELEMENTWISE = {
    op.name: op
    for dialect in dialects()
    for op in dialect.operations
    if isinstance(LayoutRule.of_class(op), Elementwise)
}
LEFT, RIGHT = (encoding_attr(Blocked((size,), (32,), (4,), (0,))) for size in (1, 4))
ELEMENTS = (f32, i32, i1, i64, f16, i8, bf16, PointerType(f32))
PROPERTIES: dict[str, Attribute] = {
    "predicate": IntegerAttr(1, i64),
    "propagateNan": PropagateNanAttr.of(PropagateNan.NONE),
    "rounding": RoundingModeAttr.of(RoundingMode.RTNE),
    "packed_element": IntegerAttr(1, i32),
    "pure": IntegerAttr(1, i1),
    **dict.fromkeys(("asm_string", "constraints", "libname", "libpath", "symbol"), StringAttr("")),
}


def made(op_class: type[Operation], types: Sequence[Attribute]) -> Operation:
    """An op on values of these types, operands before results, at a place of its own."""
    definition = op_class.get_irdl_definition()
    results = len(definition.results)
    block = Block(arg_types=types[:-results])
    given = {name: PROPERTIES[name] for name in definition.properties if name in PROPERTIES}
    op = op_class.create(operands=block.args, result_types=types[-results:], properties=given)
    op.location = FileLineColLoc(StringAttr("wrong.mlir"), IntAttr(1), IntAttr(1))
    return op


def valid_elements(op_class: type[Operation]) -> tuple[Attribute, ...]:
    """Element types with which the op is valid: all the same, but for at most one."""
    definition = op_class.get_irdl_definition()
    count = len(definition.operands) + len(definition.results)
    for most, other, odd in itertools.product(ELEMENTS, ELEMENTS, range(count)):
        elements = [other if index == odd else most for index in range(count)]
        try:
            verify(made(op_class, [TensorType(element, [128], LEFT) for element in elements]))
        except IRError:
            continue
        return tuple(elements)
    raise AssertionError(f"no element types make a valid {op_class.name}")


@pytest.mark.parametrize(("shape", "encoding"), [(128, RIGHT), (64, LEFT)], ids=["layout", "shape"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_an_elementwise_op_has_one_shape_and_one_layout(name: str, shape: int, encoding: Attribute) -> None:
    op_class = ELEMENTWISE[name]
    elements = valid_elements(op_class)
    for odd in range(len(elements)):
        types = [
            TensorType(element, [shape], encoding) if index == odd else TensorType(element, [128], LEFT)
            for index, element in enumerate(elements)
        ]
        with pytest.raises(IRError, match=r"wrong\.mlir:1:1: error: .*expected.*(found|but got)"):
            verify(made(op_class, types))


FORWARDING = {"scf.for", "scf.while", "scf.yield", "scf.condition", "ttng.warp_group_dot_wait"}
"""Values of any type pass through these; `tests/errors/test_hostile_text.py` has values whose types do not agree."""


def test_no_op_with_a_rule_is_left_out() -> None:
    ruled = {
        op.name
        for dialect in dialects()
        for op in dialect.operations
        if any(fact.of_class(op) is not None for fact in (LayoutRule, LayoutAnchor, MemDescView))
    }
    missing = ruled - set(WRONG) - set(ELEMENTWISE) - FORWARDING
    assert not missing, (
        f"{sorted(missing)}: add wrong IR of each to WRONG in tests/dialects/test_layouts_are_verified.py, and a verifier that refuses it"
    )
