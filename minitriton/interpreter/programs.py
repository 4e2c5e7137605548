"""What a program knows of the launch, and what it tells the outside: its number, prints, assertions.

tt.assert %c, "message"        stops the launch with the message, at the assertion's line
llvm.intr.assume %c            likewise, if the assumption is false
gpu.barrier                    nothing: a tile is computed as a whole
"""

import ast
import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, cast

import numpy as np
from xdsl.dialects import cf, ub
from xdsl.dialects.builtin import DenseArrayBase, StringAttr
from xdsl.ir import Attribute, Operation

from minitriton.dialects import llvm, tt
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.locations import source_location
from minitriton.dialects.tt.types import PointerType, element_type
from minitriton.errors import SourceLocation
from minitriton.host import debuggers
from minitriton.host.json_values import named_tuple
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.registry import STATEFUL_OPS
from minitriton.interpreter.values import Array, decoder, is_float, same, unsigned_dtype


def _axis(op: Operation) -> int:
    return "xyz".index(str(getattr(op.properties["axis"], "data", "x")))


@STATEFUL_OPS.add(tt.GetProgramIdOp)
def _program_id(op: tt.GetProgramIdOp, machine: TileMachine) -> Callable[[], np.int32]:
    axis = _axis(op)
    return lambda: np.int32(machine.program[axis])


@STATEFUL_OPS.add(tt.GetNumProgramsOp)
def _num_programs(op: tt.GetNumProgramsOp, machine: TileMachine) -> Callable[[], np.int32]:
    count = np.int32(machine.grid[_axis(op)])
    return lambda: count


@STATEFUL_OPS.add(tt.PrintOp)
def _print(op: tt.PrintOp, machine: TileMachine) -> Callable[..., None]:
    """One line per element: `pid (0, 0, 0) idx (3) x: 7`."""
    prefix = op.prefix
    assert isinstance(prefix, StringAttr)
    in_hex = bool(integer(op.hex))
    signedness = op.is_signed
    assert isinstance(signedness, DenseArrayBase)
    shown_as = [
        _shown(operand.type, bool(s), in_hex) for operand, s in zip(op.operands, signedness.get_values(), strict=True)
    ]

    def run(*values: Array) -> None:
        where = f"pid ({', '.join(map(str, machine.program))})"
        if not values:
            print(f"{where}{prefix.data}")
        for value, (read, text) in zip(values, shown_as, strict=True):
            shown = read(np.asarray(value))
            for index in np.ndindex(shown.shape):
                print(f"{where} idx ({', '.join(map(str, index))}){prefix.data}{text(shown[index])}")

    return run


def _shown(type_: Attribute, signed: bool, in_hex: bool) -> tuple[Callable[[Array], Array], Callable[[Any], str]]:
    """How elements of `type_` are read, and the text of one: bits as compiled kernels print them, numbers as Python does."""
    if in_hex:
        return _bits, lambda bits: f"0x{bits:0{2 * bits.itemsize}x}"
    if is_float(type_):
        return decoder(type_), str
    if isinstance(element_type(type_), PointerType):
        return _bits, hex
    return (same if signed else _bits), str


def _bits(value: Array) -> Array:
    """The elements as unsigned integers of their size."""
    return value.view(f"u{value.itemsize}")


@STATEFUL_OPS.add(tt.AssertOp, cf.AssertOp)
def _assert(op: tt.AssertOp | cf.AssertOp, machine: TileMachine) -> Callable[[Array], None]:
    message = op.msg if isinstance(op, cf.AssertOp) else op.message

    def run(condition: Array) -> None:
        if not np.all(condition):
            where = np.argwhere(~np.asarray(condition))[0] if np.ndim(condition) else ()
            element = f" at element {tuple(int(i) for i in where)}" if np.ndim(condition) else ""
            raise InterpreterError(f"device assertion failed{element}: {message.data}")

    return run


@STATEFUL_OPS.add(llvm.AssumeOp)
def _assume(op: llvm.AssumeOp, machine: TileMachine) -> Callable[[Array], None]:
    def run(condition: Array) -> None:
        if not condition:
            raise InterpreterError("an assumption of the kernel is false", help="check what tl.assume promises")

    return run


@STATEFUL_OPS.add(ub.UnreachableOp)
def _unreachable(op: ub.UnreachableOp, machine: TileMachine) -> Callable[[], None]:
    def run() -> None:
        raise InterpreterError("the program reached a point that it promised never to reach")

    return run


# A kernel's breakpoint: the debugger stops in a frame of the kernel's name, file and line, whose variables are NumPy arrays.
#
# tt.breakpoint %x {"x": {"operand": 0}, "BLOCK": {"constant": "64"}}        breakpoint(), where x is an array and BLOCK 64
#
# Floats of 8 bits and bf16 are shown as float32, pointers as addresses. What a debugger changes stays without effect. `program_id` is the program's number.


@STATEFUL_OPS.add(tt.BreakpointOp)
def _breakpoint(op: tt.BreakpointOp, machine: TileMachine) -> Callable[..., None]:
    described: dict[str, Any] = json.loads(op.variables.data)
    types = [operand.type for operand in op.operands]
    names = [*described, *({"program_id"} - described.keys())]
    location = source_location(op.location) or SourceLocation("<kernel>", 1)
    module = sys.modules.get(op.module.data)
    stop = _frame(op.function.data, names, location, vars(module) if module else {}, debuggers.named(op.hook.data))

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
    """The value of a variable, as `frontend.generator.calls` describes it."""
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
    function: str, variables: Sequence[str], location: SourceLocation, scope: dict[str, Any], hook: Callable[[], None]
) -> Callable[..., None]:
    """A function called `function` that is at `location` while it calls `hook`; its parameters are the `variables`."""
    text = f"def outer(hook):\n def {function}({', '.join(variables)}):\n  hook()\n  pass\n return {function}"
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr, ast.arg)):
            is_after = isinstance(node, ast.Pass)  # Debuggers stop before the line that comes next.
            node.lineno = node.end_lineno = location.line + is_after
    namespace: dict[str, Any] = {}
    exec(compile(tree, location.file, "exec"), namespace)
    outer: FunctionType = namespace["outer"]
    return FunctionType(outer.__code__, scope)(hook)
