"""The meaning of every op: the tables that say what each does to NumPy arrays, one module per family.

`PURE[name](op)` looks at the op once and gives a function from operand values to the result. `WITH_MACHINE[name](op, machine)`
does so for ops that touch memory, ask for the program's number, or run a region. A terminator has no meaning of its own: the op
around it takes its operands.

    PURE["arith.addi"](op)(np.int32([1, 2]), np.int32([3, 4]))      int32 [4, 6]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, Operation

from minitriton.dialects.tt.types import TensorDescType
from minitriton.interpreter import control_flow, inline_assembly, predication, programs
from minitriton.interpreter.memory import atomics, descriptors, mbarriers, shared_ops, tensor_copies, tokens
from minitriton.interpreter.memory import ops as memory_ops
from minitriton.interpreter.numbers import casts as arith_casts
from minitriton.interpreter.numbers import floats as arith_floats
from minitriton.interpreter.numbers import integers as arith_integers
from minitriton.interpreter.numbers import libdevice, math_functions
from minitriton.interpreter.tensors import dots, reductions, shapes
from minitriton.interpreter.warps import clusters, partitions, warp_group_ops

if TYPE_CHECKING:
    from minitriton.interpreter.machine import Machine

Meaning = Callable[..., Any]

PURE: dict[str, Callable[[Operation], Meaning]] = {
    **arith_integers.PURE,
    **arith_floats.PURE,
    **arith_casts.PURE,
    **math_functions.PURE,
    **shapes.PURE,
    **dots.PURE,
    **libdevice.PURE,
    **shared_ops.PURE,
    **predication.PURE,
}

WITH_MACHINE: dict[str, Callable[[Operation, Machine], Meaning]] = {
    **arith_casts.WITH_MACHINE,
    **memory_ops.WITH_MACHINE,
    **atomics.WITH_MACHINE,
    **descriptors.WITH_MACHINE,
    **reductions.WITH_MACHINE,
    **control_flow.WITH_MACHINE,
    **programs.WITH_MACHINE,
    **shared_ops.WITH_MACHINE,
    **warp_group_ops.WITH_MACHINE,
    **mbarriers.WITH_MACHINE,
    **tensor_copies.WITH_MACHINE,
    **predication.WITH_MACHINE,
    **partitions.WITH_MACHINE,
    **tokens.WITH_MACHINE,
    **inline_assembly.WITH_MACHINE,
    **clusters.WITH_MACHINE,
}

TERMINATORS = frozenset(
    {
        "cf.br",
        "cf.cond_br",
        "cf.switch",
        "scf.condition",
        "scf.yield",
        "tt.map_elementwise.return",
        "tt.reduce.return",
        "tt.return",
        "tt.scan.return",
        "ttg.mask.return",
        "ttg.warp_return",
        "ttg.warp_yield",
    }
)


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
