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

from minitriton.rewriting.equivalence import OperationKeys

_REGION, _BLOCK, _END = -1, -2, -3


class Fingerprints:
    """Makes digests that are equal exactly for equal programs (16 bytes of BLAKE2)."""

    def __init__(self) -> None:
        self._keys = OperationKeys()
        self._classes: dict[object, int] = {}

    def of(self, module: ModuleOp) -> bytes:
        """The digest of `module`, its own attributes included."""
        words = array("q")
        self._operation(module, words, {}, {})
        return hashlib.blake2b(words.tobytes(), digest_size=16).digest()

    def _operation(self, op: Operation, words: array[int], values: dict[int, int], blocks: dict[int, int]) -> None:
        words.append(self._classes.setdefault(op.name, len(self._classes)))
        words.append(len(op.operands))
        words.extend(values.setdefault(id(operand), len(values)) for operand in op.operands)
        number = self._keys.number
        for result in op.results:
            words.append(values.setdefault(id(result), len(values)))
            words.append(number(result.type))
        self._dictionary(op.properties, words)
        self._dictionary(op.attributes, words)
        words.extend(blocks.setdefault(id(block), len(blocks)) for block in op.successors)
        for region in op.regions:
            self._region(region, words, values, blocks)

    def _dictionary(self, attributes: dict[str, Attribute], words: array[int]) -> None:
        words.append(len(attributes))
        for name in sorted(attributes) if len(attributes) > 1 else attributes:
            words.append(self._classes.setdefault(name, len(self._classes)))
            words.append(self._keys.number(attributes[name]))

    def _region(self, region: Region, words: array[int], values: dict[int, int], blocks: dict[int, int]) -> None:
        words.append(_REGION)
        for block in region.blocks:
            words.append(_BLOCK)
            words.append(blocks.setdefault(id(block), len(blocks)))
            for argument in block.args:
                words.append(values.setdefault(id(argument), len(values)))
                words.append(self._keys.number(argument.type))
            for op in block.ops:
                self._operation(op, words, values, blocks)
        words.append(_END)
