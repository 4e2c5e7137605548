"""A kernel's breakpoint: the debugger stops in a frame of the kernel's name, file and line, whose variables are NumPy arrays.

tt.breakpoint %x {"x": {"operand": 0}, "BLOCK": {"constant": "64"}}        breakpoint(), where x is an array and BLOCK 64

Floats of 8 bits and bf16 are shown as float32, pointers as addresses. What a debugger changes stays without effect. `program_id` is the program's number.
"""

from __future__ import annotations

import ast
import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, cast

import numpy as np

from minitriton.analysis.locations import source_location
from minitriton.dialects import tt
from minitriton.errors import SourceLocation
from minitriton.host import debuggers
from minitriton.host.containers import named_tuple
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.registry import WITH_MACHINE
from minitriton.interpreter.values import decoder, is_float, same, unsigned_dtype


@WITH_MACHINE.add(tt.BreakpointOp)
def _breakpoint(op: tt.BreakpointOp, machine: TileMachine) -> Callable[..., None]:
    described: dict[str, Any] = json.loads(op.variables.data)
    types = [operand.type for operand in op.operands]
    names = [*described, *({"program_id"} - described.keys())]
    place = source_location(op.location) or SourceLocation("<kernel>", 1)
    module = sys.modules.get(op.module.data)
    stop = _frame(op.function.data, names, place, vars(module) if module else {}, debuggers.named(op.hook.data))

    def shown(value: object, index: int, unsigned: bool) -> object:
        if not isinstance(value, np.ndarray | np.generic):
            return value
        array = cast(Any, value)
        type_ = types[index]
        read = decoder(type_) if is_float(type_) else same
        return np.array(read(array.view(unsigned_dtype(type_)) if unsigned else array))[()]

    def run(*values: object) -> None:
        made = [_made(each, [*values], shown) for each in described.values()]
        stop(*made, *([machine.program] if len(names) > len(made) else []))

    return run


def _made(described: dict[str, Any], values: Sequence[object], shown: Callable[[object, int, bool], object]) -> object:
    """The value of a variable, as `frontend.semantic.breakpoints` describes it."""
    if "operand" in described:
        return shown(values[described["operand"]], described["operand"], described["unsigned"])
    if "elements" in described:
        elements = [_made(each, values, shown) for each in described["elements"]]
        fields = described["fields"]
        return named_tuple(tuple(fields))._make(elements) if fields else tuple(elements)
    with contextlib.suppress(ValueError, SyntaxError):
        return ast.literal_eval(described["constant"])
    return described["constant"]


def _frame(
    function: str, variables: Sequence[str], place: SourceLocation, scope: dict[str, Any], hook: Callable[[], None]
) -> Callable[..., None]:
    """A function called `function` that is at `place` while it calls `hook`; its parameters are the `variables`."""
    text = f"def outer(hook):\n def {function}({', '.join(variables)}):\n  hook()\n  pass\n return {function}"
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr, ast.arg)):
            is_after = isinstance(node, ast.Pass)  # Debuggers stop before the line that comes next.
            node.lineno = node.end_lineno = place.line + is_after
    namespace: dict[str, Any] = {}
    exec(compile(tree, place.file, "exec"), namespace)
    outer: FunctionType = namespace["outer"]
    return FunctionType(outer.__code__, scope)(hook)
