"""Functions of `tt`: kernels and the device functions they call.

tt.func public @add(%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32}) attributes {noinline = false} {
  %0 = tt.call @f(%arg0) : (!tt.ptr<f32>) -> i32
  tt.return
}

Ops of `tt` that concern the program instance: its location in the grid, printing, assertions.

%0 = tt.get_program_id x : i32
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    i32,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import CallableOpInterface, IsolatedFromAbove, IsTerminator, Pure, ReturnLike, SymbolOpInterface

from minitriton.dialects.facts import Function, Inexact, MayNotReturn
from minitriton.dialects.facts.region_flow import Call
from minitriton.dialects.facts.synchronization import TensorBarrier
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.enums import ProgramIDDim, ProgramIDDimAttr
from minitriton.dialects.tt.traits import ANY_TT, BOOL_LIKE, TensorLayouts, WritesGlobal

RESERVED = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")


class _FuncCallable(CallableOpInterface):
    @classmethod
    def get_callable_region(cls, op: Operation) -> Region:
        return op.regions[0]

    @classmethod
    def get_argument_types(cls, op: Operation) -> tuple[Attribute, ...]:
        assert isinstance(op, FuncOp)
        return op.function_type.inputs.data

    @classmethod
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        assert isinstance(op, FuncOp)
        return op.function_type.outputs.data


class FuncOp(Op):
    """A function. Without blocks it is a declaration."""

    name = "tt.func"
    body = region_def()
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), _FuncCallable(), TensorLayouts(), Function())

    def __init__(
        self,
        name: str,
        function_type: FunctionType,
        body: Region | None = None,
        *,
        visibility: str | None = None,
        arg_attrs: Sequence[DictionaryAttr] | ArrayAttr[DictionaryAttr] | None = None,
        res_attrs: Sequence[DictionaryAttr] | ArrayAttr[DictionaryAttr] | None = None,
        attributes: dict[str, Attribute] | None = None,
    ) -> None:
        """`body` defaults to one empty block with the function's arguments."""
        properties: dict[str, Attribute] = {"sym_name": StringAttr(name), "function_type": function_type}
        if visibility is not None:
            properties["sym_visibility"] = StringAttr(visibility)
        for key, attrs in (("arg_attrs", arg_attrs), ("res_attrs", res_attrs)):
            if attrs:
                properties[key] = attrs if isinstance(attrs, ArrayAttr) else ArrayAttr(attrs)
        if body is None:
            body = Region(Block(arg_types=function_type.inputs.data))
        Operation.__init__(self, regions=(body,), properties=properties, attributes=attributes or {})

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        """The arguments of the entry block."""
        entry = self.body.first_block
        return () if entry is None else tuple(entry.args)

    @property
    def is_declaration(self) -> bool:
        """Whether the function has no body."""
        return not self.body.blocks

    @property
    def is_public(self) -> bool:
        """Whether the function can be launched, that is, it is a kernel."""
        return self.sym_visibility is None or self.sym_visibility.data == "public"

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        visibility = parser.parse_optional_visibility_keyword()
        name, inputs, outputs, region, extra, arg_attrs, res_attrs = parse_func_op_like(
            parser, reserved_attr_names=RESERVED
        )
        return cls(
            name,
            FunctionType.from_lists(inputs, outputs),
            region,
            visibility=None if visibility is None else visibility.data,
            arg_attrs=arg_attrs,
            res_attrs=res_attrs,
            attributes=None if extra is None else dict(extra.data),
        )

    def print(self, printer: Printer) -> None:
        if self.sym_visibility is not None:
            printer.print_string(f" {self.sym_visibility.data}")
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            self.attributes,
            arg_attrs=self.arg_attrs,
            res_attrs=self.res_attrs,
            reserved_attr_names=RESERVED,
            print_empty_outputs=False,
        )

    def complaint(self) -> str | None:
        block = self.body.first_block
        if block is None:
            return None
        wanted = self.function_type.inputs.data
        if len(block.args) != len(wanted):
            return f"'tt.func' op entry block must have {len(wanted)} arguments to match function signature"
        for index, (found, type_) in enumerate(zip(block.arg_types, wanted, strict=True)):
            if found != type_:
                return (
                    f"'tt.func' op type of entry block argument #{index}('{found}') must match the type of the corresponding "
                    f"argument in function signature('{type_}')"
                )
        return None


class CallOp(Op):
    """Calls a function of the module."""

    name = "tt.call"
    callee = prop_def(FlatSymbolRefAttrConstr)
    operands_ = var_operand_def()
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    result = var_result_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$callee `(` $operands_ `)` attr-dict `:` functional-type($operands_, results)"
    traits = traits_def(TensorLayouts(), Call(), MayNotReturn(), Inexact())

    def __init__(
        self, callee: str | SymbolRefAttr, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> None:
        Operation.__init__(
            self,
            operands=operands,
            result_types=result_types,
            properties={"callee": SymbolRefAttr(callee) if isinstance(callee, str) else callee},
        )

    def complaint(self) -> str | None:
        name = self.callee.root_reference.data
        module = self.parent_op()
        while module is not None and not isinstance(module, ModuleOp):
            module = module.parent_op()
        if module is None:
            return None
        callee = next((f for f in module.body.ops if isinstance(f, FuncOp) and f.sym_name.data == name), None)
        if callee is None:
            return f"'tt.call' op '{name}' does not reference a valid function"
        for found, wanted, what in (
            (self.operand_types, callee.function_type.inputs.data, "operand"),
            (self.result_types, callee.function_type.outputs.data, "result"),
        ):
            if len(found) != len(wanted):
                return f"'tt.call' op incorrect number of {what}s for callee"
            for index, (a, b) in enumerate(zip(found, wanted, strict=True)):
                if a != b:
                    return (
                        f"'tt.call' op {what} type mismatch: expected {what} type '{b}', but provided '{a}' "
                        f"for {what} number {index}"
                    )
        return None


class ReturnOp(Op):
    """Ends a function."""

    name = "tt.return"
    srcs = var_operand_def()
    assembly_format = "attr-dict ($srcs^ `:` type($srcs))?"
    traits = traits_def(Pure(), IsTerminator(), ReturnLike(), TensorLayouts())

    @from_fields
    def __init__(self, srcs: Sequence[SSAValue] = ()) -> None: ...

    def complaint(self) -> str | None:
        function = self.parent_op()
        if not isinstance(function, FuncOp):
            return None
        wanted = function.function_type.outputs.data
        name = function.sym_name.data
        if len(wanted) != len(self.operands):
            return f"'tt.return' op has {len(self.operands)} operands, but enclosing function (@{name}) returns {len(wanted)}"
        for index, (found, type_) in enumerate(zip(self.operand_types, wanted, strict=True)):
            if found != type_:
                return (
                    f"type of return operand {index} ('{found}') doesn't match function result type ('{type_}') "
                    f"in function @{name}"
                )
        return None


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
