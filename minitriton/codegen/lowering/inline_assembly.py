"""`tt.elementwise_inline_asm`: one op of the target's dialect for all registers of a thread."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation

from minitriton.codegen import registers
from minitriton.codegen.lowering.elementwise import operands_of, width
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.types import scalar_type, vector_type
from minitriton.dialects import tt
from minitriton.dialects.attribute_values import is_true


def inline_assembly(f: FunctionLowering, op: tt.ElementwiseInlineAsmOp, made_by: type[Operation]) -> None:
    """`made_by` takes text, constraints, and for how many elements the text is."""
    reps = operands_of(f, op)
    count = max([width(reps), *(f.count(result) for result in op.results)])
    operands = [registers.vector(f.b, rep, count) for rep in reps]
    types = [vector_type(scalar_type(result.type), count) for result in op.results]
    given: dict[str, Attribute] = {
        "asm_string": op.asm_string,
        "constraints": op.constraints,
        "packed": op.packed_element,
    }
    if is_true(op.pure):
        given["pure"] = UnitAttr()
    made = f.b.operation(made_by, operands, types, given)
    for result, value in zip(op.results, made.results, strict=True):
        f.values[result] = value
