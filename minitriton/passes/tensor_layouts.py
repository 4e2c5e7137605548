"""The layout of a tensor value, and the same tensor type with another layout.

In: values and types of TTGIR. Out: pure encodings (`layouts.encodings`), and interned types.

    layout_of_value(%x : tensor<128xf32, #blocked>)   ->  Blocked((1,), (32,), (4,), (0,))
    with_layout(tensor<128xf32, #blocked>, Slice(...)) ->  tensor<128xf32, #ttg.slice<...>>

How a layout travels through an op, as the class of the op says it (`dialects.facts.layout`).

In: an op and the layout of an operand (or of a result). Out: the layout that its results (its operands) then have,
or None where the op says nothing.

    result_layout(tt.reduce axis=1, #blocked)                     ->  slice<dim 1, #blocked>
    operand_layout(tt.expand_dims axis=0, #blocked)               ->  slice<dim 0, #blocked>
    operand_layout(tt.reduce axis=0, slice<dim 1, #blocked>)      ->  None
"""

from typing import Any, cast

from xdsl.dialects.builtin import AnyFloat, IntegerType, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypedAttribute

from minitriton.dialects import ttg
from minitriton.dialects.facts.layout import LayoutRule
from minitriton.dialects.fast_paths.op_access import set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import tensor_type
from minitriton.layouts.builders import BANK_LINE_BITS
from minitriton.layouts.encodings import DistributedEncoding, Encoding, SwizzledShared
from minitriton.pipeline.choice import Candidate, Choice, note

_interned: dict[tuple[Attribute, Encoding], TensorType] = {}


def with_layout(type_: Attribute, layout: Encoding) -> TensorType:
    """The tensor type `type_` with `layout` for its encoding: the same object each time."""
    key = (type_, layout)
    found = _interned.get(key)
    if found is None:
        tensor = cast(TensorType, type_)
        made = TensorType(tensor.element_type, tensor.shape, ttg.encoding_attr(layout))
        found = _interned.setdefault(key, made)
    return found


def layout_of_value(value: SSAValue) -> DistributedEncoding | None:
    """The layout of a tensor value; None if it is no tensor or has no layout."""
    type_ = value.type
    if type_.__class__ is not TensorType:
        return None
    return getattr(cast(Any, type_).encoding, "data", None)


def layout_of_tensor(value: SSAValue) -> DistributedEncoding:
    """The layout of a tensor value that has one."""
    layout = layout_of_value(value)
    assert layout is not None
    return layout


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor value."""
    return cast(TensorType, value.type).get_shape()


def with_element(value: SSAValue, element: Attribute) -> TensorType:
    """The type of a tensor value, of other elements."""
    type_ = cast(TensorType, value.type)
    return tensor_type(type_.get_shape(), element, type_.encoding)


def set_layout(value: SSAValue, layout: Encoding) -> None:
    """Change the layout of the tensor `value` where it stands."""
    set_type(value, with_layout(value.type, layout))


def element_bits(type_: TensorType) -> int:
    """Bits of a number in a tensor; 0 for pointers."""
    element = type_.element_type
    if instance_of(element, IntegerType):
        return element.width.data
    return element.bitwidth if isinstance(element, AnyFloat) else 0


def computes_floats(op: Operation) -> bool:
    """Whether a result of `op` is a tensor of floats."""
    return any(instance_of(r.type, TensorType) and isinstance(r.type.element_type, AnyFloat) for r in op.results)


def retyped_elements(value: Attribute, type_: Attribute) -> Attribute:
    """The elements of a dense constant as a constant of `type_`."""
    typed = cast(TypedAttribute, value)
    parameters = list(typed.parameters)
    parameters[typed.get_type_index()] = type_
    return typed.new(parameters)


def insert_after_value(op: Operation, value: SSAValue) -> None:
    """Put `op` directly after what defines `value`: its op, or the start of its block."""
    owner = value.owner
    if isinstance(owner, Block):
        first = owner.first_op
        if first is None:
            owner.add_op(op)
        else:
            owner.insert_op_before(op, first)
    else:
        cast(Block, owner.parent).insert_op_after(op, owner)


def convert_before(anchor: Operation, value: SSAValue, layout: Encoding) -> SSAValue:
    """A new `ttg.convert_layout` of `value` directly before `anchor`, with the location of `anchor`."""
    convert = ttg.ConvertLayoutOp(value, with_layout(value.type, layout))
    convert.location = anchor.location
    cast(Block, anchor.parent).insert_op_before(convert, anchor)
    return convert.results[0]


def convert_after(value: SSAValue, layout: Encoding) -> SSAValue:
    """A new `ttg.convert_layout` of `value` directly after its definition."""
    convert = ttg.ConvertLayoutOp(value, with_layout(value.type, layout))
    owner = value.owner
    if isinstance(owner, Operation):
        convert.location = owner.location
    insert_after_value(convert, value)
    return convert.results[0]


def result_layout(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    """The layout of the results of `op` if its operands have `layout`."""
    rule = LayoutRule.of(op)
    return None if rule is None else rule.of_results(op, layout)


def operand_layout(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    """The layout that the operands of `op` need for its results to have `layout`."""
    rule = LayoutRule.of(op)
    return None if rule is None else rule.of_operands(op, layout)


def operand_layouts(op: Operation, layout: DistributedEncoding) -> list[DistributedEncoding | None]:
    """`operand_layout` of each operand, where they may differ."""
    rule = LayoutRule.of(op)
    return [None] * len(op.operands) if rule is None else rule.of_each_operand(op, layout)


def swizzled_or_not(op: Operation, layout: SwizzledShared, row_bits: int, is_wanted: bool, name: str) -> SwizzledShared:
    """`layout`, or one without a swizzle if that is not wanted, for rows of `row_bits`; the option `swizzle` of the pass `name` says it."""
    if layout.max_phase == 1:
        return layout
    plain = SwizzledShared(1, 1, 1, layout.order, layout.cga)
    found = (
        Candidate("true", 8 / min(8, layout.per_phase * layout.max_phase), "rows are shifted by 16 bytes"),
        Candidate("false", 8 / min(8, max(BANK_LINE_BITS // row_bits, 1)), "rows follow each other"),
    )
    unit = "accesses of shared memory for 16 bytes of 8 rows"
    taken = str(is_wanted).lower()
    note(op, lambda: Choice.of("swizzle of an operand's buffer", unit, f"{name}{{swizzle=@}}", found, taken))
    return layout if is_wanted else plain
