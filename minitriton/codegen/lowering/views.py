"""Ops that move no data: each is another way to number the registers that are there.

    tt.broadcast %0 : tensor<8x1xi32> -> tensor<8x4xi32>    View(%0, (0, 0, 0, 0, 1, 1, 1, 1, ...))

What register of the source a register of the result is follows from the layouts alone.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Operation, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.lowering.elementwise import apply
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.registers import Range, Registers
from minitriton.codegen.types import lanes, vector_type
from minitriton.dialects import arith, tt
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt import PointerType

Coordinates = tuple[int, ...]


@lowers(tt.MakeRangeOp)
def make_range(f: FunctionLowering, op: tt.MakeRangeOp) -> None:
    """The thread's coordinate, plus `start`."""
    result = op.results[0]
    facts = f.facts(result.type)
    start = op.start
    assert instance_of(start, IntegerAttr)
    indices = f.indices(facts.layout, 0)
    first = start.value.data
    if first:
        indices = _shifted(f, indices, first)
    f.values[result] = indices


def _shifted(f: FunctionLowering, indices: Registers, first: int) -> Registers:
    if isinstance(indices, Range):
        return Range(indices.base, [first + offset for offset in indices.offsets], indices.clear)
    constant = f.b.i32(first)
    if isinstance(indices, SSAValue):
        return f.b.add(indices, constant)
    return registers.Elements([f.b.add(indices.element(f.b, i), constant) for i in range(indices.count)])


@lowers(tt.SplatOp)
def splat(f: FunctionLowering, op: tt.SplatOp) -> None:
    f.values[op.results[0]] = f.values[op.operands[0]]


@lowers(tt.UnsplatOp)
def unsplat(f: FunctionLowering, op: tt.UnsplatOp) -> None:
    f.values[op.results[0]] = registers.element(f.b, f.values[op.operands[0]], 0)


def _rename(
    f: FunctionLowering, op: Operation, source_of: Callable[[Coordinates], Coordinates], source: SSAValue | None = None
) -> None:
    """The result's register at offset `c` is the operand's register at offset `source_of(c)`."""
    result = op.results[0]
    operand = op.operands[0] if source is None else source
    rep = f.values[operand]
    if registers.is_splat(rep):
        f.values[result] = rep
        return
    facts = f.facts(result.type)
    register_of = f.facts(operand.type).layout.register_of
    indices = [register_of[source_of(offset)] for offset in facts.layout.offsets]
    f.values[result] = registers.permuted(rep, indices, facts.element)


@lowers(tt.ExpandDimsOp)
def expand_dims(f: FunctionLowering, op: tt.ExpandDimsOp) -> None:
    axis = op.axis
    assert instance_of(axis, IntegerAttr)
    dim = axis.value.data
    _rename(f, op, lambda c: c[:dim] + c[dim + 1 :])


@lowers(tt.BroadcastOp)
def broadcast(f: FunctionLowering, op: tt.BroadcastOp) -> None:
    shape = f.facts(op.operands[0].type).shape
    kept = [size > 1 for size in shape]
    _rename(f, op, lambda c: tuple(x if keep else 0 for x, keep in zip(c, kept, strict=True)))


@lowers(tt.TransOp)
def trans(f: FunctionLowering, op: tt.TransOp) -> None:
    order = tuple(op.order.get_values())
    inverse = [order.index(dim) for dim in range(len(order))]
    _rename(f, op, lambda c: tuple(c[inverse[dim]] for dim in range(len(c))))


@lowers(tt.ReshapeOp)
def reshape(f: FunctionLowering, op: tt.ReshapeOp) -> None:
    """Row-major renumbering; with `allow_reorder` the registers stay as they are."""
    result = op.results[0]
    if "allow_reorder" in op.properties:
        f.values[result] = f.values[op.operands[0]]
        return
    before, after = f.facts(op.operands[0].type), f.facts(result.type)
    _rename(f, op, lambda c: _delinearized(_linearized(c, after.shape), before.shape))


def _linearized(coordinates: Coordinates, shape: Sequence[int]) -> int:
    number = 0
    for coordinate, size in zip(coordinates, shape, strict=True):
        number = number * size + coordinate
    return number


def _delinearized(number: int, shape: Sequence[int]) -> Coordinates:
    coordinates: list[int] = []
    for size in reversed(shape):
        coordinates.append(number % size)
        number //= size
    return tuple(reversed(coordinates))


@lowers(tt.JoinOp)
def join(f: FunctionLowering, op: tt.JoinOp) -> None:
    """A new last dimension of size 2 says from which operand."""
    result = op.results[0]
    facts = f.facts(result.type)
    sources = [f.values[operand] for operand in op.operands]
    register_of = f.facts(op.operands[0].type).layout.register_of
    count = f.count(op.operands[0])
    vectors = [registers.vector(f.b, source, count) for source in sources]
    both = f.b.concat(vectors)
    indices = [register_of[offset[:-1]] + count * offset[-1] for offset in facts.layout.offsets]
    f.values[result] = f.b.permute(both, indices)


@lowers(tt.SplitOp)
def split(f: FunctionLowering, op: tt.SplitOp) -> None:
    """The halves of the last dimension."""
    source = f.values[op.operands[0]]
    register_of = f.facts(op.operands[0].type).layout.register_of
    for half, result in enumerate(op.results):
        facts = f.facts(result.type)
        indices = [register_of[(*offset, half)] for offset in facts.layout.offsets]
        f.values[result] = registers.permuted(source, indices, facts.element)


@lowers(tt.CatOp)
def cat(f: FunctionLowering, op: tt.CatOp) -> None:
    """The registers of one operand after those of the other: the order of elements is free."""
    count = f.count(op.operands[0])
    f.values[op.results[0]] = f.b.concat([registers.vector(f.b, f.values[v], count) for v in op.operands])


@lowers(tt.BitcastOp, arith.BitcastOp)
def bitcast(f: FunctionLowering, op: tt.BitcastOp | arith.BitcastOp) -> None:
    """Other types of equal width; pointers do not know what they point to."""
    operand, result = op.operands[0], op.results[0]
    rep = f.values[operand]
    element = f.element_type(result)
    source = f.element_type(operand)
    if element is source:
        f.values[result] = rep
        return
    type_ = result.type.element_type if instance_of(result.type, TensorType) else result.type
    if isinstance(type_, PointerType) or isinstance(source, LLVMPointerType):
        raise f.unsupported(op, "a bitcast between pointers and numbers", help="use tt.int_to_ptr or tt.ptr_to_int")
    f.values[result] = apply(f, [rep], lambda b, v: b.bitcast(v[0], vector_type(element, lanes(v[0].type))))
