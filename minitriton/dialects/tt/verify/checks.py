"""What the ops of `tt` demand beyond the types of their operands, with Triton's words.

`complaint_of(op)` asks the rule for the class of the op, which says what is wrong with an op, or None.
The answer starts with the op's name where Triton's does.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.op_rules import OpRules
from minitriton.dialects.tt.verify.base import Complaint, encoding_complaint, types_of

MAX_ELEMENTS = 2**20

VERIFIERS: OpRules[Complaint] = OpRules()
"""Filled by the modules next to this one, which the dialect's front door imports: they name the ops, whose traits ask here."""


def complaint_of(op: Operation) -> str | None:
    """What is wrong with `op`, None if nothing."""
    rule = VERIFIERS.of(op)
    return None if rule is None else rule(op)


def size_complaint(op: Operation) -> str | None:
    """Tensors have a power of two of elements, at most `MAX_ELEMENTS`."""
    for type_ in types_of(op):
        if instance_of(type_, TensorType):
            count = prod(type_.get_shape())
            if count > MAX_ELEMENTS:
                return f"Maximum allowed number of elements is {MAX_ELEMENTS}, but {op.name} has more than that"
            if count & (count - 1):
                return (
                    f"Number of elements must be power-of-two, but {op.name} doesn't follow the rule ({count}) elements"
                )
    return None


def elementwise_complaint(op: Operation) -> str | None:
    """Tensors among operands and results have one shape and one encoding."""
    tensors = [type_ for type_ in types_of(op) if instance_of(type_, TensorType)]
    if not tensors:
        return None
    if not all(instance_of(type_, TensorType) for type_ in op.result_types):
        return f"'{op.name}' op if an operand is non-scalar, then all results must be non-scalar"
    expected, *others = dict.fromkeys(type_.get_shape() for type_ in tensors)
    if others:
        return (
            f"'{op.name}' op all non-scalar operands/results must have the same shape and base type: "
            f"expected {list(expected)}, found {list(others[0])}"
        )
    return encoding_complaint(op)
