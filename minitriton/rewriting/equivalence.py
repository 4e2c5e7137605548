"""When two ops compute the same: one hashable key per op.

Keys are equal exactly if class, operands, properties, attributes, result types and regions are, with the operands of
commutative ops in any order and values defined inside regions matched by position.

    %0 = arith.addi %a, %b        %1 = arith.addi %b, %a        keys.of(%0) == keys.of(%1)

Attributes are known by a number in the key: hashing a tensor type costs more than all the rest of a comparison, so it is
done once for each object.
"""

from collections.abc import Callable, Hashable, Sequence

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import Commutative

from minitriton.dialects.arith import ConstantOp
from minitriton.dialects.fast_paths.op_access import block_successors, operand_values
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

    def of(self, op: Operation, stand_in: Callable[[SSAValue], SSAValue] | None = None) -> Hashable:
        """The key of `op`; with `stand_in`, which an op with regions cannot have, that of the op on what stands for its operands."""
        cls = op.__class__
        if cls is ConstantOp and not op.attributes:
            return (cls, self.number(op.properties["value"]))
        if op.regions:
            return _OfRegions(op, self)
        operands = operand_values(op) if stand_in is None else tuple(map(stand_in, operand_values(op)))
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
                types = number(result.type)
        else:
            types = tuple(number(result.type) for result in results)
        properties, attributes = op.properties, op.attributes
        if not properties and not attributes:
            return (cls, ids, types)
        return (cls, ids, types, self._dictionary(properties), self._dictionary(attributes) if attributes else None)


class _OfRegions:
    """The key of an op with regions: a hash of its outside, and a comparison of the insides where the outsides are equal.

    So an op costs what stands in it once for each op that it is compared with to the end, not once for each op around it.
    """

    __slots__ = ("_hash", "_keys", "_op")

    def __init__(self, op: Operation, keys: OperationKeys) -> None:
        self._op = op
        self._keys = keys
        number = keys.number
        operands = tuple(map(id, operand_values(op)))
        if is_commutative(op.__class__):
            operands = tuple(sorted(operands))
        types = tuple(number(result.type) for result in op.results)
        self._hash = hash((op.__class__, operands, types, *map(_outline, op.regions)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not _OfRegions:
            return False
        assert isinstance(other, _OfRegions)
        return self._hash == other._hash and _Comparison(self._keys).equal(self._op, other._op)


def _outline(region: Region) -> Hashable:
    """What tells most regions apart at a glance."""
    first, last = region.first_block, region.last_block
    if first is None or last is None:
        return None
    start, end = first.first_op, last.last_op
    return (
        len(first.args),
        None if start is None else start.__class__,
        None if end is None else len(operand_values(end)),
    )


class _Comparison:
    """Two ops compared: the values and blocks defined in the first with those that stand for them in the second."""

    def __init__(self, keys: OperationKeys) -> None:
        self.number = keys.number
        self.values: dict[SSAValue, SSAValue] = {}
        self.blocks: dict[Block, Block] = {}

    def equal(self, a: Operation, b: Operation) -> bool:
        """True if `a` and `b`, insides included, compute the same from the same values."""
        if a.__class__ is not b.__class__ or len(a.results) != len(b.results) or len(a.regions) != len(b.regions):
            return False
        get = self.values.get
        mine, others = [id(get(v, v)) for v in operand_values(a)], [id(v) for v in operand_values(b)]
        if mine != others and not (is_commutative(a.__class__) and sorted(mine) == sorted(others)):
            return False
        if not self._same_types(a.results, b.results) or not self._same(a.properties, b.properties):
            return False
        if not self._same(a.attributes, b.attributes):
            return False
        if [self.blocks.get(target, target) for target in block_successors(a)] != list(block_successors(b)):
            return False
        return all(map(self._equal_regions, a.regions, b.regions))

    def _equal_regions(self, a: Region, b: Region) -> bool:
        blocks = list(zip(a.blocks, b.blocks, strict=False))
        if len(a.blocks) != len(b.blocks) or not all(self._same_types(x.args, y.args) for x, y in blocks):
            return False
        self.blocks.update(blocks)
        return all(self._equal_blocks(x, y) for x, y in blocks)

    def _equal_blocks(self, a: Block, b: Block) -> bool:
        one, other = a.first_op, b.first_op
        while one is not None and other is not None:
            if not self.equal(one, other):
                return False
            one, other = one.next_op, other.next_op
        return one is other

    def _same_types(self, a: Sequence[SSAValue], b: Sequence[SSAValue]) -> bool:
        if len(a) != len(b) or any(self.number(x.type) != self.number(y.type) for x, y in zip(a, b, strict=True)):
            return False
        self.values.update(zip(a, b, strict=True))
        return True

    def _same(self, a: dict[str, Attribute], b: dict[str, Attribute]) -> bool:
        number = self.number
        return a.keys() == b.keys() and all(number(attr) == number(b[name]) for name, attr in a.items())
