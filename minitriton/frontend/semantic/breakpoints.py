"""`breakpoint()` in a kernel for the interpreter: an op that takes the variables of the function where it stands.

x = tl.load(p); breakpoint()    tt.breakpoint %p, %x     {"p": {"operand": 0, ...}, "x": {"operand": 1, ...}, "BLOCK": {"constant": "64"}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import FunctionType

from xdsl.ir import SSAValue

from minitriton.dialects import tt
from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.errors import LanguageValueError
from minitriton.host import debuggers
from minitriton.language.aggregates import aggregate_value
from minitriton.language.descriptors import tensor_descriptor
from minitriton.language.values import tensor, unwrap
from minitriton.language.values import tuple as language_tuple


def stop(b: IRBuilder, debugger: FunctionType, function: FunctionType, variables: Mapping[str, object]) -> None:
    """Stops in `debugger`, with the `variables` of `function` to look at. Raises unless the kernel is for the interpreter."""
    hook = debuggers.name_of(debugger)
    if not b.is_debugged:
        raise LanguageValueError(
            f"{hook.partition(':')[2]}() stops only kernels that run on the interpreter",
            "set TRITON_INTERPRET=1, or print by tl.device_print",
        )
    operands: list[SSAValue] = []
    described = {name: _described(value, operands) for name, value in variables.items()}
    names = {"module": function.__module__, "function": function.__name__}
    b.insert(tt.BreakpointOp(operands, hook=hook, variables=json.dumps(described), **names))


def _described(value: object, operands: list[SSAValue]) -> dict[str, object]:
    """How to make a variable's value of the op's operands, to which those of `value` are added."""
    if isinstance(value, (tensor, tensor_descriptor)):
        operands.append(value.handle)
        unsigned = isinstance(value, tensor) and value.dtype.is_int_unsigned()
        return {"operand": len(operands) - 1, "unsigned": unsigned}
    if isinstance(value, language_tuple):
        fields = value.type.fields if any(value.type.fields) else None
        return {"elements": [_described(element, operands) for element in value.values], "fields": fields}
    if isinstance(value, aggregate_value):
        elements = [_described(getattr(value, name), operands) for name in value.fields]
        return {"elements": elements, "fields": list(value.fields)}
    return {"constant": repr(unwrap(value))}
