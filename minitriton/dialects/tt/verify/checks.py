"""What the ops of `tt` demand beyond the types of their operands, with Triton's words.

`complaint_of(op)` looks the op up in the tables of the families; each function there says what is wrong with an op, or None.
The answer starts with the op's name where Triton's does.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from minitriton.dialects.tt.verify import compute as tt_verify_compute
from minitriton.dialects.tt.verify import func as tt_verify_func
from minitriton.dialects.tt.verify import memory as tt_verify_memory
from minitriton.dialects.tt.verify import shape as tt_verify_shape
from minitriton.dialects.tt.verify.base import encoding_complaint, types_of

MAX_ELEMENTS = 2**20

FAMILIES = (tt_verify_compute, tt_verify_func, tt_verify_memory, tt_verify_shape)
COMPLAINTS = {name: complaint for family in FAMILIES for name, complaint in family.COMPLAINTS.items()}


def complaint_of(op: Operation) -> str | None:
    """What is wrong with `op`, None if nothing."""
    rule = COMPLAINTS.get(op.name)
    return None if rule is None else rule(op)


def size_complaint(op: Operation) -> str | None:
    """Tensors have a power of two of elements, at most `MAX_ELEMENTS`."""
    for type_ in types_of(op):
        if isinstance(type_, TensorType):
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
    tensors = [type_ for type_ in types_of(op) if isinstance(type_, TensorType)]
    if not tensors:
        return None
    if not all(isinstance(type_, TensorType) for type_ in op.result_types):
        return f"'{op.name}' op if an operand is non-scalar, then all results must be non-scalar"
    if len({type_.get_shape() for type_ in tensors}) > 1:
        return f"'{op.name}' op all non-scalar operands/results must have the same shape and base type"
    return encoding_complaint(op)
