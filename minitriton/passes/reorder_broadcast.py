"""`triton-reorder-broadcast`: computes before it repeats.

    f(splat a, splat b)             =>  splat f(a, b)
    f(broadcast x, broadcast y)     =>  broadcast f(x, y), if x and y have one shape; splats among the operands adapt

`f` is any op without effects that computes element by element: no inline assembly that packs elements, whose results may differ
from position to position.
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.passes.canonicalize.tt import shape_patterns
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.constants import constant_attr, element_type, number_attr, number_of
from minitriton.rewriting.effects import is_memory_effect_free
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet(shape_patterns.subset(tt.BroadcastOp, tt.ExpandDimsOp))


def is_elementwise(cls: type[Operation]) -> bool:
    """True if ops of class `cls` compute each element from those at the same index in the operands."""
    if cls.name.startswith(("arith.", "math.")):
        return cls is not arith.ConstantOp
    return any(isinstance(trait, tt.VerifiedElementwise) for trait in cls.traits)


def _is_movable(op: Operation) -> bool:
    """Whether `op` has no effect and does not join elements in groups."""
    if isinstance(op, tt.ElementwiseInlineAsmOp) and op.packed_element.value.data != 1:
        return False
    return is_memory_effect_free(op)


def _splat_number(op: Operation) -> int | float | None:
    if op.__class__ is arith.ConstantOp and instance_of(op.results[0].type, TensorType):
        return number_of(constant_attr(op.results[0]))
    return None


def _is_splat(op: Operation) -> bool:
    return op.__class__ is tt.SplatOp or _splat_number(op) is not None


def _producers(op: Operation) -> list[Operation] | None:
    """The ops that define the operands; None if one is a block argument."""
    producers: list[Operation] = []
    for value in operand_values(op):
        if not isinstance(value, OpResult):
            return None
        producers.append(value.op)
    return producers


def _again(op: Operation, operands: list[SSAValue], types: list[Attribute]) -> Operation:
    return op.__class__.create(
        operands=operands, result_types=types, properties=op.properties, attributes=op.attributes
    )


@patterns.pattern_where(is_elementwise)
def move_broadcast_after(op: Operation, rewriter: Rewriter) -> bool:
    """f(broadcast x, splat s) = broadcast f(x, splat s)"""
    producers = _producers(op)
    if not producers or not _is_movable(op):
        return False
    source: TensorType | None = None
    for producer in producers:
        if producer.__class__ is tt.BroadcastOp:
            type = operand_at(producer, 0).type
            assert instance_of(type, TensorType)
            if source is None:
                source = type
            elif source.shape != type.shape:
                return False
        elif not _is_splat(producer):
            return False
    if source is None:
        return False
    operands = [_at_shape(producer, source, rewriter) for producer in producers]
    types: list[Attribute] = [
        TensorType(element_type(result.type), source.shape, source.encoding) for result in op.results
    ]
    new = rewriter.insert(_again(op, operands, types))
    for old, result in zip(op.results, new.results, strict=True):
        broadcast = rewriter.insert(tt.BroadcastOp(result, old.type))
        rewriter.replace_all_uses(old, broadcast.results[0])
    return True


def _at_shape(producer: Operation, source: TensorType, rewriter: Rewriter) -> SSAValue:
    """What a broadcast repeats, or a splat in the shape of that."""
    if producer.__class__ is tt.BroadcastOp:
        return operand_at(producer, 0)
    old = producer.results[0].type
    assert instance_of(old, TensorType)
    type = TensorType(old.element_type, source.shape, source.encoding)
    if producer.__class__ is tt.SplatOp:
        return rewriter.insert(tt.SplatOp(operand_at(producer, 0), type)).results[0]
    number = _splat_number(producer)
    assert number is not None
    return rewriter.constant(number_attr(type, number))


@patterns.pattern_where(is_elementwise)
def move_splat_after(op: Operation, rewriter: Rewriter) -> bool:
    """f(splat a, splat b) = splat f(a, b)"""
    producers = _producers(op)
    if not producers or not _is_movable(op) or not all(map(_is_splat, producers)):
        return False
    operands: list[SSAValue] = []
    for producer in producers:
        if producer.__class__ is tt.SplatOp:
            operands.append(operand_at(producer, 0))
        else:
            number = _splat_number(producer)
            type = producer.results[0].type
            assert number is not None and instance_of(type, TensorType)
            operands.append(rewriter.constant(number_attr(type.element_type, number)))
    types: list[Attribute] = [element_type(result.type) for result in op.results]
    new = rewriter.insert(_again(op, operands, types))
    for old, result in zip(op.results, new.results, strict=True):
        splat = rewriter.insert(tt.SplatOp(result, old.type))
        rewriter.replace_all_uses(old, splat.results[0])
    return True


@register_pass
class ReorderBroadcast(Pass, stage="ttir", origin="triton"):
    """Moves broadcasts and splats after elementwise ops."""

    name: ClassVar[str] = "triton-reorder-broadcast"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TTIR})

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return apply_patterns_greedily(op, patterns)

    def apply_to_folded(self, ctx: Context, op: ModuleOp) -> bool:
        return apply_patterns_greedily(op, patterns, is_simplified=True)
