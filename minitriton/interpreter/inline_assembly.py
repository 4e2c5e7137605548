"""`tt.elementwise_inline_asm`: PTX on groups of packed elements, by whatever evaluates PTX.

%r = tt.elementwise_inline_asm "shl.b32 $0, $1, 3;" {constraints = "=r,r", packed_element = 4} %x : tensor<512xi8> -> tensor<512xi8>

Four neighbouring bytes make a word; there are 128 words; the words that come out are taken apart again. Elements of at least
32 bits have a register each. What the string does to a word is not the interpreter's to say: `interpret` is given an `Assembly`,
such as `minitriton.emulator.inline_assembly.evaluate`.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from minitriton.dialects import tt
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.tt.types import PointerType, element_type, shape_of
from minitriton.errors import MinitritonError
from minitriton.interpreter.errors import InterpreterError, UnsupportedOpError
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.registry import STATEFUL_OPS, Meaning
from minitriton.interpreter.values import Array, dtype_of

REGISTER_BITS = 32


def _elements_of_register(type_: Attribute, packed: int) -> int:
    return min(packed, max(1, REGISTER_BITS // (8 * dtype_of(type_).itemsize)))


def _words(value: Array, type_: Attribute, packed: int) -> list[np.ndarray]:
    """The registers of every group of `packed` elements, the last one filled up with zeros: an array each."""
    dtype, each = dtype_of(type_), _elements_of_register(type_, packed)
    elements = np.broadcast_to(value, shape_of(type_)).reshape(-1)
    filled = np.zeros(-(-len(elements) // packed) * packed, dtype)
    filled[: len(elements)] = elements
    words = filled.view(f"u{dtype.itemsize * each}").reshape(-1, packed // each)
    return list(words.T)


def _elements(words: Sequence[np.ndarray], type_: Attribute) -> Array:
    """The inverse of `_words`. Words of a single group stand for every group."""
    shape, dtype = shape_of(type_), dtype_of(type_)
    together = np.stack(words, axis=1)
    elements = (together & 1).astype(np.bool_) if dtype == np.bool_ else together.view(dtype)
    return np.resize(elements, prod(shape)).reshape(shape)[()]


@STATEFUL_OPS.add(tt.ElementwiseInlineAsmOp)
def _inline_assembly(op: tt.ElementwiseInlineAsmOp, machine: TileMachine) -> Meaning:
    evaluate = machine.inline_assembly
    if evaluate is None:
        raise UnsupportedOpError(
            f"{op.name} needs something that runs PTX",
            help="pass interpret(..., inline_assembly=minitriton.emulator.inline_assembly.evaluate)",
        )
    asm, constraints = op.asm_string, op.constraints
    assert isinstance(asm, StringAttr) and isinstance(constraints, StringAttr)
    packed = integer(op.packed_element)
    taken, given = [operand.type for operand in op.operands], [result.type for result in op.results]
    counts = [packed // _elements_of_register(type_, packed) for type_ in (*taken, *given)]
    results = [
        8 * dtype_of(type_).itemsize * _elements_of_register(type_, packed)
        for type_, registers in zip(given, counts[len(taken) :], strict=True)
        for _ in range(registers)
    ]
    numbers = np.cumsum([0, *counts])
    pointers = [
        register
        for position, type_ in enumerate(taken)
        if isinstance(element_type(type_), PointerType)
        for register in range(numbers[position], numbers[position + 1])
    ]

    def run(*operands: Array) -> Array | tuple[Array, ...]:
        words = [word for value, type_ in zip(operands, taken, strict=True) for word in _words(value, type_, packed)]
        memory = machine.memory.arrays() if pointers else ()
        try:
            made = evaluate(asm.data, constraints.data, words, results, memory, pointers)
        except InterpreterError:
            raise
        except MinitritonError as error:
            raise UnsupportedOpError(f"{op.name}: {error.message}", help=error.help) from error
        values: list[Array] = []
        for type_, registers in zip(given, counts[len(taken) :], strict=True):
            values.append(_elements(made[:registers], type_))
            made = made[registers:]
        return values[0] if len(values) == 1 else tuple(values)

    return run
