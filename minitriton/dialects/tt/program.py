"""Ops of `tt` that concern the program instance: its location in the grid, printing, assertions.

%0 = tt.get_program_id x : i32
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, StringAttr, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import ParsePropInAttrDict, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from minitriton.dialects.facts import MayNotReturn
from minitriton.dialects.facts.synchronization import TensorBarrier
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.constraints import ANY_TT, BOOL_LIKE
from minitriton.dialects.tt.enums import ProgramIDDim, ProgramIDDimAttr
from minitriton.dialects.tt.traits import TensorLayouts, WritesGlobal

_AXES = tuple(ProgramIDDimAttr.of(axis) for axis in ProgramIDDim)


class _GridOp(Op):
    """Base of ops that ask for one axis of the grid."""

    assembly_format = "$axis attr-dict `:` type($result)"
    traits = traits_def(Pure(), TensorLayouts())

    def __init__(self, axis: ProgramIDDim | str | int) -> None:
        attr = _AXES[axis] if isinstance(axis, int) else ProgramIDDimAttr.of(axis)
        Operation.__init__(self, result_types=(i32,), properties={"axis": attr})

    @property
    def axis_index(self) -> int:
        """The axis as 0, 1 or 2."""
        return _AXES.index(self.properties["axis"])


class GetProgramIdOp(_GridOp):
    """Which program of the grid this is."""

    name = "tt.get_program_id"
    axis = prop_def(ProgramIDDimAttr)
    result = result_def(i32)


class GetNumProgramsOp(_GridOp):
    """How many programs the grid has."""

    name = "tt.get_num_programs"
    axis = prop_def(ProgramIDDimAttr)
    result = result_def(i32)


class PrintOp(Op):
    """Prints values from the device, one line an element."""

    name = "tt.print"
    args = var_operand_def(ANY_TT)
    prefix = prop_def(StringAttr)
    hex = prop_def(BoolAttr)
    is_signed = prop_def(DenseArrayBase.constr(i32), prop_name="isSigned")
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$prefix attr-dict (`:` $args^ `:` type($args))?"
    traits = traits_def(WritesGlobal(), TensorLayouts())

    @from_fields
    def __init__(self, args: Sequence[SSAValue], *, prefix: str, hex: bool, is_signed: Sequence[int]) -> None: ...


class BreakpointOp(Op):
    """minitriton's own: stops the interpreter in the debugger `hook`, in a frame of `function` of `module`.

    `variables` says, as JSON, how its variables are made of the operands.
    """

    name = "tt.breakpoint"
    args = var_operand_def(ANY_TT)
    hook = prop_def(StringAttr)
    variables = prop_def(StringAttr)
    module = prop_def(StringAttr)
    function = prop_def(StringAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict (`:` $args^ `:` type($args))?"
    traits = traits_def(WritesGlobal(), TensorLayouts())

    @from_fields
    def __init__(self, args: Sequence[SSAValue], *, hook: str, variables: str, module: str, function: str) -> None: ...


class AssertOp(Op):
    """Stops the kernel with `message` unless `condition` holds everywhere."""

    name = "tt.assert"
    condition = operand_def(BOOL_LIKE)
    message = prop_def(StringAttr)
    assembly_format = "$condition `,` $message attr-dict `:` type($condition)"
    traits = traits_def(WritesGlobal(), TensorLayouts(), MayNotReturn(), TensorBarrier())

    @from_fields
    def __init__(self, condition: SSAValue, *, message: str) -> None: ...
