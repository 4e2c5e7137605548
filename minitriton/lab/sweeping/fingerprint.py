"""When two modules are the same program: one digest of ops, operands, attributes, types and regions.

    %0 = arith.addi %a, %b          %x = arith.addi %p, %q        same digest: values are known by their order
    ... loc(a.py:3)                 ... loc(a.py:4)               same digest: places do not count

Attributes get numbers, in the order in which they are first seen, so digests of one `Fingerprints` compare only with each other.
"""

from __future__ import annotations

import hashlib
from array import array

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, Region

from minitriton.dialects.fast_paths.op_access import block_successors, next_op, operand_values
from minitriton.rewriting.equivalence import OperationKeys

_REGION, _BLOCK, _END = -1, -2, -3


class Fingerprints:
    """Makes digests that are equal exactly for equal programs (16 bytes of BLAKE2)."""

    def __init__(self) -> None:
        self._keys = OperationKeys()
        self._classes: dict[str, int] = {}
        self._numbers: dict[int, int] = {}
        """Of attributes, by their `id`; `_keys` holds them."""

    def of(self, module: ModuleOp) -> bytes:
        """The digest of `module`, its own attributes included."""
        words: list[int] = []
        self._operation(module, words, {}, {})
        return hashlib.blake2b(array("q", words).tobytes(), digest_size=16).digest()

    def _number(self, attribute: Attribute) -> int:
        number = self._numbers.get(id(attribute))
        if number is None:
            number = self._numbers[id(attribute)] = self._keys.number(attribute)
        return number

    def _operation(self, op: Operation, words: list[int], values: dict[int, int], blocks: dict[int, int]) -> None:
        classes, numbers = self._classes, self._numbers
        operands, results, successors = operand_values(op), op.results, block_successors(op)
        properties, attributes = op.properties, op.attributes
        words += (
            classes.setdefault(op.name, len(classes)), len(operands), len(results), len(properties), len(attributes),
            len(successors),
        )  # fmt: skip
        for operand in operands:
            words.append(values.setdefault(id(operand), len(values)))
        for result in results:
            type_ = result.type
            words += (values.setdefault(id(result), len(values)), numbers.get(id(type_)) or self._number(type_))
        for dictionary in (properties, attributes):
            for name in sorted(dictionary) if len(dictionary) > 1 else dictionary:
                attribute = dictionary[name]
                words.append(classes.setdefault(name, len(classes)))
                words.append(numbers.get(id(attribute)) or self._number(attribute))
        for block in successors:
            words.append(blocks.setdefault(id(block), len(blocks)))
        for region in op.regions:
            self._region(region, words, values, blocks)

    def _region(self, region: Region, words: list[int], values: dict[int, int], blocks: dict[int, int]) -> None:
        words.append(_REGION)
        for block in region.blocks:
            words += (_BLOCK, blocks.setdefault(id(block), len(blocks)))
            for argument in block.args:
                words += (values.setdefault(id(argument), len(values)), self._number(argument.type))
            op = block.first_op
            while op is not None:
                self._operation(op, words, values, blocks)
                op = next_op(op)
        words.append(_END)
