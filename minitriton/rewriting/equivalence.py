"""When two ops compute the same: one hashable key per op.

Keys are equal exactly if class, operands, properties, attributes, result types and regions are, with the operands of
commutative ops in any order and values defined inside regions matched by position.

    %0 = arith.addi %a, %b        %1 = arith.addi %b, %a        operation_key(%0) == operation_key(%1)
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import Commutative

from minitriton.dialects.arith import ConstantOp
from minitriton.rewriting.constants import constant_key

_commutative: dict[type[Operation], bool] = {}
_Numbers = dict[SSAValue, int]


def is_commutative(cls: type[Operation]) -> bool:
    """True if the operands of ops of class `cls` may be exchanged."""
    known = _commutative.get(cls)
    if known is None:
        known = _commutative[cls] = any(isinstance(trait, Commutative) for trait in cls.traits)
    return known


def _attributes_key(attributes: dict[str, Attribute]) -> Hashable:
    if not attributes:
        return None
    if len(attributes) == 1:
        return tuple(attributes.items())
    return tuple(sorted(attributes.items(), key=lambda item: item[0]))


def operation_key(op: Operation) -> Hashable:
    """The key of `op`; valid while its operands stay alive (they are known by identity)."""
    cls = op.__class__
    if cls is ConstantOp and not op.attributes:
        return (cls, constant_key(op.properties["value"]))
    if op.regions:
        return _nested_key(op, {})
    operands = op._operands
    if len(operands) == 1:
        ids: Hashable = id(operands[0])
    elif len(operands) == 2 and is_commutative(cls):
        a, b = id(operands[0]), id(operands[1])
        ids = (a, b) if a < b else (b, a)
    else:
        ids = tuple(map(id, operands))
    results = op.results
    types: Hashable = results[0]._type if len(results) == 1 else tuple(result._type for result in results)
    return (cls, ids, types, _attributes_key(op.properties), _attributes_key(op.attributes))


def _nested_key(op: Operation, numbers: _Numbers) -> Hashable:
    """Like `operation_key`, with values defined inside known by the number they have in `numbers` (negative)."""
    get = numbers.get
    ids = tuple(get(operand) or id(operand) for operand in op._operands)
    if is_commutative(op.__class__):
        ids = tuple(sorted(ids))
    regions = tuple(_region_key(region, numbers) for region in op.regions)
    for result in op.results:
        numbers[result] = -len(numbers) - 1
    types = tuple(result._type for result in op.results)
    return (op.__class__, ids, types, _attributes_key(op.properties), _attributes_key(op.attributes), regions)


def _region_key(region: Region, numbers: _Numbers) -> Hashable:
    blocks: dict[Block, int] = {block: index for index, block in enumerate(region.blocks)}
    keys: list[Hashable] = []
    for block in blocks:
        for argument in block.args:
            numbers[argument] = -len(numbers) - 1
        keys.append(tuple(argument._type for argument in block.args))
        for op in block.ops:
            keys.append(_nested_key(op, numbers))
            if op._successors:
                keys.append(tuple(blocks.get(target, -1) for target in op._successors))
    return tuple(keys)
