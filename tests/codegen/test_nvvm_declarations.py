"""What an nvvm op's declaration says is what LLVM IR text has: registers by number, constraints by type."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerAttr, UnknownLoc, i1, i32

from minitriton.codegen import llvm_text  # noqa: F401  (fills the table of writers)
from minitriton.codegen.debug_info import NoDebugInfo
from minitriton.codegen.op_making import make, segments, string_attr
from minitriton.codegen.text.nvvm import instruction
from minitriton.codegen.text.writer import WRITERS, FunctionWriter, ModuleWriter
from minitriton.dialects import nvvm
from minitriton.dialects.nvvm.base import GLOBAL, SHARED, words_of


def written(cls, types, results, properties):
    operands = test.TestOp(result_types=types).results
    op = make(cls, operands, results, properties, UnknownLoc())
    w = FunctionWriter(ModuleWriter(NoDebugInfo(), 87))
    w.names.update({value: f"%{index}" for index, value in enumerate(operands)})
    WRITERS[op.name](w, op)
    return "\n".join(w.lines)


@pytest.mark.parametrize("op", list(nvvm.NVVM.operations), ids=lambda op: op.name)
def test_every_op_is_written(op) -> None:
    assert op.name in WRITERS


def test_optional_operands_are_numbered_as_they_come() -> None:
    properties = {
        "size": IntegerAttr(8, 32),
        "modifier": string_attr("ca"),
        "operandSegmentSizes": segments(1, 1, 0, 1),
    }
    text = written(nvvm.CpAsyncOp, [SHARED, GLOBAL, i1], [], properties)
    assert '"@$2 cp.async.ca.shared.global [ $0 + 0 ], [ $1 + 0 ], 0x8, 0x8;", "r,l,b"' in text


def test_an_intrinsic_takes_its_operands_by_name() -> None:
    text = written(nvvm.ReduxSyncOp, [i32], [i32], {"kind": string_attr("umax")})
    assert text == "  %v1 = call i32 @llvm.nvvm.redux.sync.umax(i32 %0, i32 -1)"


def test_tied_registers_of_results_are_those_of_the_first_operands() -> None:
    made = instruction(
        "add $d, $c, $b;", (("d", words_of(i32)),), (("c", words_of(i32)), ("b", words_of(i32))), tied=True
    )
    assert '"add $0, $1, $2;", "=r,0,r"' in made.text
