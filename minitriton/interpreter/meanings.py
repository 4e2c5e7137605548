"""The meaning of every op: the registries of what each does to NumPy arrays, filled by one module per family.

A terminator has no meaning of its own: the op around it takes its operands.

    PURE.of(addi)(addi)(np.int32([1, 2]), np.int32([3, 4]))      int32 [4, 6]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, Operation
from xdsl.traits import IsTerminator

from minitriton.dialects.tt.types import TensorDescType
from minitriton.interpreter import control_flow, inline_assembly, predication, programs
from minitriton.interpreter.memory import atomics, descriptors, mbarriers, shared_ops, tensor_copies, tokens
from minitriton.interpreter.memory import ops as memory_ops
from minitriton.interpreter.numbers import casts as arith_casts
from minitriton.interpreter.numbers import floats as arith_floats
from minitriton.interpreter.numbers import integers as arith_integers
from minitriton.interpreter.numbers import libdevice, math_functions
from minitriton.interpreter.registry import PURE, WITH_MACHINE, Meaning
from minitriton.interpreter.tensors import dots, reductions, shapes
from minitriton.interpreter.warps import clusters, partitions, warp_group_ops

if TYPE_CHECKING:
    from minitriton.interpreter.machine import Machine

__all__ = [
    "PURE",
    "WITH_MACHINE",
    "arith_casts",
    "arith_floats",
    "arith_integers",
    "atomics",
    "clusters",
    "control_flow",
    "dots",
    "inline_assembly",
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


def hands_on(op: Operation) -> bool:
    """Whether `op` ends a block and has no meaning of its own: the op around it takes its operands."""
    return op.has_trait(IsTerminator) and WITH_MACHINE.of(op) is None


def with_scratch(op: Operation, machine: Machine, meaning: Meaning) -> Meaning:
    """`meaning`, and what else the op does to shared memory."""
    return shared_ops.with_scratch(op, machine, meaning)


def descriptor_argument(machine: Machine, type_: Attribute, arg: Any) -> Any:
    """A host tensor descriptor as the kernel sees it; None for other arguments."""
    if isinstance(type_, TensorDescType):
        return descriptors.from_host(machine, type_, arg)
    return None


def flattened(arg: Any) -> tuple[Any, ...]:
    """A host tensor descriptor followed by its shape and strides; any other argument by itself."""
    return descriptors.flattened(arg)
