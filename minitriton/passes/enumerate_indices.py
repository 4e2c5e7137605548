"""Contiguity that survives `//`, `%`, `&`, `>>`, `^` and reshapes: index expressions are enumerated, not estimated.

In: TTIR or TTGIR. Out: the same ops; pointers and masks of memory accesses carry what is exactly true of them, in the attributes that
`tl.max_contiguous` and `tl.multiple_of` set, wherever that is more than axis info finds.

    offs = (r >> 4) * stride + (r & 15)
    %p = tt.addptr %x, %offs      =>      %p = tt.addptr %x, %offs {tt.contiguity = dense<16>, tt.divisibility = dense<16>, ...}

Not a pass of Triton's, which takes such pointers for scattered and accesses them one by one. Nothing is enumerated in a kernel without
one of these ops. Costs no run time; left out by `without="minitriton-enumerate-indices"`.
"""

from collections.abc import Iterator
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, ModuleOp, TensorType, i32
from xdsl.ir import BlockArgument, Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import AxisInfo, pointee_bytes
from minitriton.dialects import arith
from minitriton.dialects.facts import MayLoseContiguity
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType, tensor_type
from minitriton.pipeline.pass_registry import Pass, Property, register_pass

VECTOR_BYTES = 16
"""The widest load or store of one thread."""


@register_pass
class EnumerateIndices(Pass, stage="ttgir"):
    """Notes exact contiguity, divisibility and constancy on the pointers and masks of memory accesses."""

    name = "minitriton-enumerate-indices"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Add attributes to the definitions of pointers and masks."""
        accesses = [found for found in ops_in(op) if _is_access(found)]
        if not accesses or not any(_breaks_facts(found) for found in ops_in(op)):
            return False
        noted, evaluation, axis_info = False, None, AxisInfoAnalysis(op)
        for value in dict.fromkeys(value for access in accesses for value in _indices(access)):
            if isinstance(value.owner, Operation) and not _fills_vectors(value, axis_info.get(value)):
                from minitriton.analysis.index.evaluation import IndexEvaluation  # NumPy: 60 ms of a first compile

                evaluation = evaluation or IndexEvaluation(axis_info)
                facts = evaluation.facts(value)
                if facts is not None:
                    _note(value.owner, facts)
                    noted = True
        return noted


def _is_access(op: Operation) -> bool:
    roles = MemoryAccess.of(op)
    return roles is not None and roles.mask is not None and not roles.asynchronous


def _breaks_facts(op: Operation) -> bool:
    """Whether axis info may claim less than is true of the result. (Of `&` too, if not of conditions.)"""
    if isinstance(op, arith.AndIOp):
        return getattr(op.results[0].type, "element_type", None) == i32
    return MayLoseContiguity.of(op) is not None and instance_of(op.results[0].type, TensorType)


def _indices(access: Operation) -> Iterator[SSAValue]:
    """Pointer and mask of an access; what a loop begins with, where they are carried by one."""
    roles = MemoryAccess.of(access)
    assert roles is not None
    mask = roles.mask_of(access)
    for operand in (roles.pointer_of(access), *([] if mask is None else [mask])):
        value = operand
        while isinstance(value, BlockArgument) and (loop := value.owner.parent_op()) is not None:
            if not isinstance(loop, scf.ForOp) or value.index == 0:
                break
            value = loop.operands[value.index + 2]
        if _is_index(value):
            yield value


def _fills_vectors(value: SSAValue, known: AxisInfo) -> bool:
    """Whether axis info knows enough for the widest access, so that no more can be gained."""
    unit = pointee_bytes(value.type)
    if not unit:
        return any(constancy >= VECTOR_BYTES for constancy in known.constancy)
    return any(
        contiguity * unit >= VECTOR_BYTES and divisibility >= VECTOR_BYTES
        for contiguity, divisibility in zip(known.contiguity, known.divisibility, strict=True)
    )


def _is_index(value: SSAValue) -> bool:
    type_ = value.type
    return instance_of(type_, TensorType) and (isinstance(type_.element_type, PointerType | IntegerType))


def _note(op: Operation, facts: AxisInfo) -> None:
    for name, claim in (
        ("tt.contiguity", facts.contiguity),
        ("tt.divisibility", facts.divisibility),
        ("tt.constancy", facts.constancy),
    ):
        capped = [min(number, 1 << 30) for number in claim]
        type_ = cast("TensorType[IntegerType]", tensor_type((len(capped),), i32))
        op.attributes[name] = DenseIntOrFPElementsAttr.from_list(type_, capped)
