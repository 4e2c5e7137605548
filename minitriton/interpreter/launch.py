"""Runs a kernel of TTIR or TTGIR over NumPy tiles, one program of the grid after another.

In: a module, a kernel's name, arguments, a grid. Out: the arrays among the arguments, written in place.

    interpret(module, "add", [x, y, out, 1000], (8, 1, 1))
"""

import operator
from collections.abc import Sequence
from typing import SupportsFloat, SupportsIndex

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Operation

from minitriton.dialects.locations import source_location
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType, TensorDescType
from minitriton.interpreter import control_flow as control_flow
from minitriton.interpreter import inline_assembly as inline_assembly_ops
from minitriton.interpreter import programs as programs
from minitriton.interpreter.errors import InterpreterError, UnsupportedOpError
from minitriton.interpreter.machine import Array, Assembly, DeviceFunctions, Observer, TileMachine
from minitriton.interpreter.memory import atomics, descriptors, mbarriers, shared_ops
from minitriton.interpreter.memory import ops as memory_ops
from minitriton.interpreter.memory.descriptors import DescriptorValue
from minitriton.interpreter.memory.trace import Trace
from minitriton.interpreter.numbers import casts as arith_casts
from minitriton.interpreter.numbers import floats as arith_floats
from minitriton.interpreter.numbers import integers as arith_integers
from minitriton.interpreter.numbers import libdevice
from minitriton.interpreter.registry import PURE_OPS, STATEFUL_OPS, Meaning
from minitriton.interpreter.tensors import dots, reductions
from minitriton.interpreter.values import held_scalar
from minitriton.interpreter.warps import partitions, warp_group_ops


def interpret(
    module: ModuleOp,
    name: str,
    args: Sequence[object],
    grid: Sequence[int] = (1, 1, 1),
    *,
    observer: Observer | None = None,
    barriers_placed: bool = False,
    inline_assembly: Assembly | None = None,
    device_functions: DeviceFunctions | None = None,
    target: str | None = None,
    seconds: float = 0.0,
    reachable: Sequence[np.ndarray] = (),
    fences_by_author: bool = False,
    trace: Trace | None = None,
) -> None:
    """Run kernel `name` of `module` once for every program of `grid`, x fastest.

    `args` are NumPy arrays (for pointers; bf16 and fp8 as arrays of their bits) and numbers, one per argument of the function,
    and tensor descriptors over arrays, whose shape and strides the front end makes arguments of their own after them.
    Raises `InterpreterError`, at the kernel's line, for an access outside every array and the like, and for a number too great for its type. `observer` is notified of
    every op that runs.

    The module may be TTIR or TTGIR. `barriers_placed` says that `analysis.shared_memory.membar` has seen it: then each access to shared memory
    must be after a barrier from other warps' accesses to the same bytes. `inline_assembly` runs the PTX of
    `tt.elementwise_inline_asm`, as `minitriton.emulator.inline_assembly.evaluate` does; without it that op is refused. `device_functions` likewise computes the functions of
    libdevice that NumPy lacks, as `minitriton.emulator.device_functions.evaluate` does.
    `target` is the GPU whose arithmetic is meant (`cuda:80`); where it is not given, the one that TTGIR names, else Hopper.
    `fences_by_author`: the kernel has all fences between accesses by threads and by wgmma or bulk copies, as one in Gluon: a missing one is an error.
    `reachable` are further arrays, which the kernel reaches by their addresses.
    `trace` notes what the launch does to memory and where it branches (`memory.trace.poison_uses`).
    A launch that is not at its end after `seconds` (0: however long it takes) is an error at the loop that it is in.
    """
    size = (*grid, 1, 1)[:3]
    extent = (int(size[0]), int(size[1]), int(size[2]))
    machine = TileMachine(
        module,
        extent,
        meaning_of,
        observer,
        barriers_placed=barriers_placed,
        inline_assembly=inline_assembly,
        device_functions=device_functions,
        target=target,
        seconds=seconds,
        fences_by_author=fences_by_author,
        trace=trace,
    )
    for array in reachable:
        machine.memory.add(array, "an array reached by its address")
    values = _arguments(machine, name, args)
    with np.errstate(all="ignore"):
        for z in range(machine.grid[2]):
            for y in range(machine.grid[1]):
                for x in range(machine.grid[0]):
                    machine.turn()
                    machine.start_program((x, y, z))
                    machine.call(name, values)


def _arguments(machine: TileMachine, name: str, args: Sequence[object]) -> list[Array | DescriptorValue]:
    types = [argument.type for argument in machine.entry_block(name).args]
    if len(types) != len(args):
        args = [part for arg in args for part in descriptors.flattened(arg)]
    if len(types) != len(args):
        raise InterpreterError(f"{name} takes {len(types)} arguments, got {len(args)}")
    values: list[Array | DescriptorValue] = []
    for index, (type_, arg) in enumerate(zip(types, args, strict=True)):
        if instance_of(arg, np.ndarray):
            arg = machine.memory.add(arg, f"argument {index}")
        elif isinstance(type_, PointerType) and not instance_of(arg, (int, np.integer)):
            raise InterpreterError(f"argument {index} of {name} is a pointer, got {type(arg).__name__}")
        descriptor = descriptors.from_host(machine, type_, arg) if isinstance(type_, TensorDescType) else None
        if descriptor is not None:
            values.append(descriptor)
            continue
        number = arg.item() if instance_of(arg, np.generic) else arg
        if not isinstance(number, SupportsIndex | SupportsFloat):
            raise InterpreterError(f"argument {index} of {name} is a number, got {type(arg).__name__}")
        number = operator.index(number) if isinstance(number, SupportsIndex) else float(number)
        if instance_of(type_, IntegerType) and isinstance(number, int):
            _check_fits(number, type_.width.data, f"argument {index} of {name}")
        values.append(held_scalar(number, type_))
    return values


def _check_fits(number: int, width: int, what: str) -> None:
    """Raises `InterpreterError` for what is no number of so many bits, with or without a sign."""
    least, most = -(1 << width - 1), (1 << width) - 1
    if not least <= number <= most:
        raise InterpreterError(f"{what}: {number} does not fit i{width}", help=f"give {least} to {most}")


# The meaning of every op: the registries of what each does to NumPy arrays, filled by one module per family.
#
# A terminator has no meaning of its own: the op around it takes its operands.
#
#     PURE_OPS.of(addi)(addi)(np.int32([1, 2]), np.int32([3, 4]))      int32 [4, 6]

FAMILIES = (
    arith_casts, arith_floats, arith_integers, atomics, control_flow, descriptors, dots, inline_assembly_ops, libdevice, mbarriers, memory_ops,
    partitions, programs, reductions, shared_ops, warp_group_ops,
)  # fmt: skip
"""The modules that fill the registries."""


_FILES = {
    "arith": "minitriton/interpreter/numbers/integers.py",
    "math": "minitriton/interpreter/numbers/libdevice.py",
}
"""Where the meanings of a dialect are."""


def meaning_of(op: Operation, machine: TileMachine) -> Meaning:
    """What `op` does, with what else it does to shared memory. Raises `UnsupportedOpError`, with the file where one is to be added."""
    function = _meaning_of(op, machine)
    return shared_ops.with_scratch(op, machine, function) if machine.has_warps else function


def _meaning_of(op: Operation, machine: TileMachine) -> Meaning:
    make = PURE_OPS.of(op)
    if make is not None:
        return make(op)
    make_with_machine = STATEFUL_OPS.of(op)
    if make_with_machine is None:
        raise UnsupportedOpError(
            f"the interpreter does not support {op.name}",
            source_location(op.location),
            help="launch the kernel without MINITRITON_INTERPRET, so that its PTX runs, or add a meaning: "
            f"{_FILES.get(op.name.partition('.')[0], 'a file of minitriton/interpreter/')} (docs/add-an-op.md)",
        )
    return make_with_machine(op, machine)
