"""The meaning of every op: the registries of what each does to NumPy arrays, filled by one module per family.

A terminator has no meaning of its own: the op around it takes its operands.

    PURE_OPS.of(addi)(addi)(np.int32([1, 2]), np.int32([3, 4]))      int32 [4, 6]
"""

from __future__ import annotations

from xdsl.ir import Attribute, Operation

from minitriton.analysis.locations import source_location
from minitriton.dialects.tt.types import TensorDescType
from minitriton.interpreter import control_flow, inline_assembly, predication, programs
from minitriton.interpreter.errors import UnsupportedOpError
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.memory import atomics, descriptors, mbarriers, shared_ops, tensor_copies, tokens
from minitriton.interpreter.memory import ops as memory_ops
from minitriton.interpreter.memory.descriptors import DescriptorValue
from minitriton.interpreter.numbers import casts as arith_casts
from minitriton.interpreter.numbers import floats as arith_floats
from minitriton.interpreter.numbers import integers as arith_integers
from minitriton.interpreter.numbers import libdevice, math_functions
from minitriton.interpreter.registry import PURE_OPS, STATEFUL_OPS, Meaning, is_forwarding_terminator
from minitriton.interpreter.tensors import dots, reductions, shapes
from minitriton.interpreter.warps import clusters, partitions, warp_group_ops

__all__ = [
    "PURE_OPS",
    "STATEFUL_OPS",
    "arith_casts",
    "arith_floats",
    "arith_integers",
    "atomics",
    "clusters",
    "control_flow",
    "dots",
    "inline_assembly",
    "is_forwarding_terminator",
    "libdevice",
    "math_functions",
    "mbarriers",
    "memory_ops",
    "partitions",
    "predication",
    "programs",
    "reductions",
    "shapes",
    "tensor_copies",
    "tokens",
    "warp_group_ops",
]
"""The registries, and the modules that fill them."""


_FILES = {
    "arith": "minitriton/interpreter/numbers/integers.py",
    "math": "minitriton/interpreter/numbers/math_functions.py",
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


def descriptor_argument(machine: TileMachine, type_: Attribute, arg: object) -> DescriptorValue | None:
    """A host tensor descriptor as the kernel sees it; None for other arguments."""
    if isinstance(type_, TensorDescType):
        return descriptors.from_host(machine, type_, arg)
    return None


def flattened(arg: object) -> tuple[object, ...]:
    """A host tensor descriptor followed by its shape and strides; any other argument by itself."""
    return descriptors.flattened(arg)
