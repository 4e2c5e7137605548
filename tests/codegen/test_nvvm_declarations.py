"""What an nvvm op's declaration says is what LLVM IR text has: registers by number, constraints by type."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerAttr, UnknownLoc, VectorType, f16, f32, i1, i32
from xdsl.utils.exceptions import VerifyException

from minitriton.codegen.debug_info import NoDebugInfo
from minitriton.codegen.nvidia import target_info  # noqa: F401  (fills the table of writers)
from minitriton.codegen.nvidia.text.nvvm import instruction
from minitriton.codegen.text.writer import WRITERS, FunctionWriter, ModuleWriter
from minitriton.dialects import nvvm
from minitriton.dialects.attribute_values import i32_array, string_attr
from minitriton.dialects.fast_paths.op_access import make
from minitriton.dialects.llvm import GLOBAL, SHARED
from minitriton.dialects.nvvm.base import words_of


def written(cls, types, results, properties):
    operands = test.TestOp(result_types=types).results
    op = make(cls, operands, results, properties, UnknownLoc())
    w = FunctionWriter(ModuleWriter(NoDebugInfo(), 87))
    w.names.update({value: f"%{index}" for index, value in enumerate(operands)})
    WRITERS.of(op)(w, op)
    return "\n".join(w.lines)


@pytest.mark.parametrize("op", list(nvvm.NVVM.operations), ids=lambda op: op.name)
def test_every_op_is_written(op) -> None:
    assert op in WRITERS


def test_optional_operands_are_numbered_as_they_come() -> None:
    properties = {
        "size": IntegerAttr(8, 32),
        "modifier": string_attr("ca"),
        "operandSegmentSizes": i32_array((1, 1, 0, 1)),
    }
    text = written(nvvm.CpAsyncOp, [SHARED, GLOBAL, i1], [], properties)
    assert '"@$2 cp.async.ca.shared.global [ $0 + 0 ], [ $1 + 0 ], 0x8, 0x8;", "r,l,b,~{memory}"' in text


def test_an_intrinsic_takes_its_operands_by_name() -> None:
    text = written(nvvm.ReduxSyncOp, [i32], [i32], {"kind": string_attr("umax")})
    assert text == "  %v1 = call i32 @llvm.nvvm.redux.sync.umax(i32 %0, i32 -1)"


def test_tied_registers_of_results_are_those_of_the_first_operands() -> None:
    made = instruction(
        "add $d, $c, $b;", (("d", words_of(i32)),), (("c", words_of(i32)), ("b", words_of(i32))), tied=True
    )
    assert '"add $0, $1, $2;", "=r,0,r"' in made.text


def test_of_a_vector_that_a_mask_cuts_all_but_the_last_element_are_loaded_by_themselves() -> None:
    properties = {"vector_width": IntegerAttr(4, 32), "operandSegmentSizes": i32_array((1, 3, 1, 0))}
    text = written(nvvm.LoadPartialOp, [GLOBAL, i1, i1, i1, VectorType(f32, [4])], [VectorType(f32, [4])], properties)
    lines = [
        "@$7 ld.global.b32 $0, [ $6 + 0 ];",
        "@$8 ld.global.b32 $1, [ $6 + 4 ];",
        "@$9 ld.global.b32 $2, [ $6 + 8 ];",
    ]
    assert "\\0A\\09".join(lines) + '", "=f,=f,=f,0,1,2,l,b,b,b"' in text
    assert "insertelement <4 x float> %4" in text, "the last element stays"


def test_of_a_vector_that_a_mask_cuts_all_but_the_last_element_are_stored_by_themselves() -> None:
    properties = {"vector_width": IntegerAttr(2, 32), "operandSegmentSizes": i32_array((1, 2, 2, 0))}
    text = written(nvvm.StorePartialOp, [VectorType(f16, [4]), GLOBAL, GLOBAL, i1, i1], [], properties)
    assert text.count('"@$2 st.global.b16 [ $1 + 0 ], $0;", "h,l,b,~{memory}"') == 2
    assert "extractelement <4 x i16>" in text


def test_a_cut_vector_has_a_mask_for_each_element_but_the_last() -> None:
    operands = test.TestOp(result_types=[GLOBAL, i1, VectorType(f32, [4])]).results
    properties = {"vector_width": IntegerAttr(4, 32), "operandSegmentSizes": i32_array((1, 1, 1, 0))}
    op = make(nvvm.LoadPartialOp, operands, [VectorType(f32, [4])], properties, UnknownLoc())
    with pytest.raises(VerifyException, match="needs 3 masks for each pointer, got 1 in all"):
        op.verify_()
