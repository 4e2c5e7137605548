"""What functions of `tt`, their calls and returns demand.

'tt.call' op incorrect number of operands for callee
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects.tt.func import CallOp, FuncOp, ReturnOp
from minitriton.dialects.tt.verify.checks import VERIFIERS


def _return_complaint(op: ReturnOp) -> str | None:
    function = op.parent_op()
    if not isinstance(function, FuncOp):
        return None
    wanted = function.function_type.outputs.data
    name = function.sym_name.data
    if len(wanted) != len(op.operands):
        return f"'tt.return' op has {len(op.operands)} operands, but enclosing function (@{name}) returns {len(wanted)}"
    for index, (found, type_) in enumerate(zip(op.operand_types, wanted, strict=True)):
        if found != type_:
            return (
                f"type of return operand {index} ('{found}') doesn't match function result type ('{type_}') "
                f"in function @{name}"
            )
    return None


def _func_complaint(op: FuncOp) -> str | None:
    block = op.body.first_block
    if block is None:
        return None
    wanted = op.function_type.inputs.data
    if len(block.args) != len(wanted):
        return f"'tt.func' op entry block must have {len(wanted)} arguments to match function signature"
    for index, (found, type_) in enumerate(zip(block.arg_types, wanted, strict=True)):
        if found != type_:
            return (
                f"'tt.func' op type of entry block argument #{index}('{found}') must match the type of the corresponding "
                f"argument in function signature('{type_}')"
            )
    return None


def _call_complaint(op: CallOp) -> str | None:
    name = op.callee.root_reference.data
    module = op.parent_op()
    while module is not None and not isinstance(module, ModuleOp):
        module = module.parent_op()
    if module is None:
        return None
    callee = next((f for f in module.body.ops if isinstance(f, FuncOp) and f.sym_name.data == name), None)
    if callee is None:
        return f"'tt.call' op '{name}' does not reference a valid function"
    for found, wanted, what in (
        (op.operand_types, callee.function_type.inputs.data, "operand"),
        (op.result_types, callee.function_type.outputs.data, "result"),
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


VERIFIERS.update(
    {
        CallOp: _call_complaint,
        FuncOp: _func_complaint,
        ReturnOp: _return_complaint,
    }
)
