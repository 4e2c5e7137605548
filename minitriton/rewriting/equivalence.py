"""When two ops compute the same: one hashable key per op.

Keys are equal exactly if class, operands, properties, attributes, result types and regions are, with the operands of
commutative ops in any order and values defined inside regions matched by position.

    %0 = arith.addi %a, %b        %1 = arith.addi %b, %a        keys.of(%0) == keys.of(%1)

Attributes are known by a number in the key: hashing a tensor type costs more than all the rest of a comparison, so it is
done once for each object.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import Commutative

from minitriton.dialects.arith import ConstantOp
from minitriton.rewriting.constants import constant_key

_commutative: dict[type[Operation], bool] = {}


def is_commutative(cls: type[Operation]) -> bool:
    """True if the operands of ops of class `cls` may be exchanged."""
    known = _commutative.get(cls)
    if known is None:
        known = _commutative[cls] = any(isinstance(trait, Commutative) for trait in cls.traits)
    return known


class OperationKeys:
    """Makes keys that can be compared with each other while the ops they are made from are alive."""

    def __init__(self) -> None:
        self._number_of_object: dict[int, int] = {}
        self._number_of_value: dict[Hashable, int] = {}
        self._alive: list[Attribute] = []

    def number(self, attr: Attribute) -> int:
        """Equal for equal attributes."""
        number = self._number_of_object.get(id(attr))
        if number is None:
            number = self._number_of_value.setdefault(constant_key(attr), len(self._number_of_value))
            self._number_of_object[id(attr)] = number
            self._alive.append(attr)
        return number

    def _dictionary(self, attributes: dict[str, Attribute]) -> Hashable:
        if len(attributes) == 1:
            for name, attr in attributes.items():
                return (name, self.number(attr))
        return tuple(sorted((name, self.number(attr)) for name, attr in attributes.items()))

    def of(self, op: Operation) -> Hashable:
        """The key of `op`."""
        cls = op.__class__
        if cls is ConstantOp and not op.attributes:
            return (cls, self.number(op.properties["value"]))
        if op.regions:
            return self._nested(op, {})
        operands = op._operands
        count = len(operands)
        if count == 2:
            a, b = operands
            first, second = id(a), id(b)
            if first > second and is_commutative(cls):
                first, second = second, first
            ids: Hashable = (first, second)
        elif count == 1:
            ids = id(operands[0])
        else:
            ids = tuple(map(id, operands))
        results = op.results
        number = self.number
        types: Hashable = None
        if len(results) == 1:
            for result in results:
                types = number(result._type)
        else:
            types = tuple(number(result._type) for result in results)
        properties, attributes = op.properties, op.attributes
        if not properties and not attributes:
            return (cls, ids, types)
        return (cls, ids, types, self._dictionary(properties), self._dictionary(attributes) if attributes else None)

    def _nested(self, op: Operation, numbers: dict[SSAValue, int]) -> Hashable:
        """The key of an op with regions or in one; values defined inside have a (negative) number in `numbers`."""
        get = numbers.get
        ids = tuple(get(operand) or id(operand) for operand in op._operands)
        if is_commutative(op.__class__):
            ids = tuple(sorted(ids))
        regions = tuple(self._region(region, numbers) for region in op.regions)
        for result in op.results:
            numbers[result] = -len(numbers) - 1
        types = tuple(self.number(result._type) for result in op.results)
        return (op.__class__, ids, types, self._dictionary(op.properties), self._dictionary(op.attributes), regions)

    def _region(self, region: Region, numbers: dict[SSAValue, int]) -> Hashable:
        blocks: dict[Block, int] = {block: index for index, block in enumerate(region.blocks)}
        keys: list[Hashable] = []
        for block in blocks:
            for argument in block.args:
                numbers[argument] = -len(numbers) - 1
            keys.append(tuple(self.number(argument._type) for argument in block.args))
            for op in block.ops:
                keys.append(self._nested(op, numbers))
                if op._successors:
                    keys.append(tuple(blocks.get(target, -1) for target in op._successors))
        return tuple(keys)
