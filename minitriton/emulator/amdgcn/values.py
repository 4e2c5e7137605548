"""Operands as arrays of a type, results as registers: what the rules of instructions are made of.

source(v[2:3], "f64")(x)   →   float64 [wave, lane];  source(s4, "u32")(x)   →   uint32 [wave, 1];  source(1.0, "f16")(x)   →   float16
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, cast

import numpy as np

from minitriton.emulator.amdgcn.clocks import WaveClocks
from minitriton.emulator.amdgcn.program import NULL, Constant, Instruction, Operand, Register, Symbol, code_address
from minitriton.emulator.amdgcn.waves import Waves

Fetch: TypeAlias = Callable[[Waves], np.ndarray]
Act: TypeAlias = Callable[[Waves], None]
Array: TypeAlias = np.ndarray
One: TypeAlias = Callable[[Array], Array]
Two: TypeAlias = Callable[[Array, Array], Array]
Three: TypeAlias = Callable[[Array, Array, Array], Array]
Compute: TypeAlias = (
    One
    | Two
    | Three
    | Callable[[Array, Array], tuple[Array, Array]]
    | Callable[[Array, Array, Array], tuple[Array, Array]]
    | Callable[[Array, Array, Array, Array], Array]
)
"""What an instruction makes of its operands: a result, or a result and flags."""
U16, U32, U64 = np.uint16, np.uint32, np.uint64
DTYPES: dict[str, np.dtype] = {
    "u16": np.dtype(U16), "i16": np.dtype(np.int16), "f16": np.dtype(np.float16), "u32": np.dtype(U32),
    "i32": np.dtype(np.int32), "f32": np.dtype(np.float32), "u64": np.dtype(U64), "i64": np.dtype(np.int64),
    "f64": np.dtype(np.float64),
}  # fmt: skip
LEAST_INLINE, MOST_INLINE = -16, 64
"""Integers that are inline constants (ISA, section 3.1): others are literals of 32 bits."""


@dataclass(slots=True)
class Step:
    """An instruction as something to do: `reads` and `writes` are numbers of registers, `counter` counts it if it is an access."""

    instruction: Instruction
    act: Act
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    counter: str = ""
    uses: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        self.uses = self.reads | self.writes

    def check(self, x: Waves) -> None:
        """Finds registers whose results no wait has covered."""
        counter: WaveClocks | None = getattr(x, self.counter) if self.counter else None
        for register in self.uses & x.pending.keys():
            x.check_use(self.instruction, register, None if register in self.reads else counter)


def result_of(function: Compute, operands: Sequence[Array]) -> Array:
    """Of a function without flags."""
    return cast(Callable[..., Array], function)(*operands)


def with_flags(function: Compute, operands: Sequence[Array]) -> tuple[Array, Array]:
    """Of a function with flags: a carry, SCC."""
    return cast(Callable[..., tuple[Array, Array]], function)(*operands)


def bits(type: str) -> int:
    """Of a type's name."""
    return int(type[1:])


def constant(value: float, type: str) -> np.ndarray:
    """A constant as an operand of a type (ISA, section 3.1): floats are of the operand's size, a literal is the upper half of a float64."""
    dtype = DTYPES[type]
    size = bits(type)
    if isinstance(value, float):
        return np.array(value, f"f{size // 8}").view(dtype)
    if type == "f64" and not LEAST_INLINE <= value <= MOST_INLINE:
        value = (value & 0xFFFFFFFF) << 32
    return np.array(value & ((1 << size) - 1), f"u{size // 8}").view(dtype)


def register_of(i: Instruction, number: int, count: int = 0, *, may_be_half: bool = False) -> Register:
    """Operand `number`, which is a register, of `count` words unless that is 0."""
    base = i.operands[number].base if number < len(i.operands) else None
    if not isinstance(base, Register):
        raise i.error(f"operand {number + 1} of {i.name} is a register")
    if i.operands[number].half and not may_be_half:
        raise i.error(f"operand {number + 1} of {i.name} is a whole register")
    if base.scalar == NULL:
        return replace(base, count=max(count, 1))
    if count and base.count != count:
        raise i.error(f"operand {number + 1} of {i.name} has {count} registers, not {base.count}")
    return base


def raw(i: Instruction, operand: Operand, word: int = 0, scalar: bool = False) -> Fetch:
    """32 bits of a register: [wave, lane] of a vector register, [wave, 1] of a scalar one, [wave] of it in a `scalar` instruction."""
    base = operand.base
    if isinstance(base, Register) and base.scalar == NULL:
        word = 0
    if not isinstance(base, Register) or word >= base.count:
        raise i.error(f"{i.name} reads {word + 1} registers here")
    number = base.index + word
    if not base.is_scalar:
        if scalar:
            raise i.error(f"{i.name} takes no vector register")
        if operand.half:
            shift = U32(16 if operand.half == "h" else 0)
            return lambda x: x.v[number] >> shift & U32(0xFFFF)
        return lambda x: x.v[number]
    number = base.scalar + word
    if scalar:
        return lambda x: x.s[number]
    return lambda x: x.s[number][:, np.newaxis]


def join(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Two words as one of 64 bits."""
    return low.astype(U64) | (high.astype(U64) << U64(32))


def joined(low: Fetch, high: Fetch, type: str) -> Fetch:
    """Two words as a type of 64 bits."""
    dtype = DTYPES[type]
    return lambda x: join(low(x), high(x)).view(dtype)


def always(value: np.ndarray) -> Fetch:
    """A constant."""
    return lambda x: value


def _distance(symbol: Symbol) -> Fetch:
    """A half of the distance of a label from where `s_getpc_b64` stands."""
    origin, shift = code_address(symbol.origin), 32 if symbol.part == "hi" else 0
    return lambda x: np.array((x.addresses[symbol.name] - origin) >> shift & 0xFFFFFFFF, U32)


def typed(fetch: Fetch, type: str) -> Fetch:
    """32 bits as a type of at most that size."""
    dtype = DTYPES[type]
    if bits(type) == 16:
        return lambda x: fetch(x).astype(U16).view(dtype)
    return lambda x: fetch(x).view(dtype)


def source(i: Instruction, operand: Operand, type: str, scalar: bool = False) -> Fetch:
    """An operand as arrays of a type, with its modifiers."""
    if type == "mask":
        number = register_of(replace(i, operands=(operand,)), 0).scalar
        return lambda x: x.flags(number)
    base = operand.base
    if isinstance(base, Constant):
        plain = always(constant(base.value, type))
    elif isinstance(base, Symbol):
        plain = _distance(base)
    elif bits(type) == 64:
        plain = joined(raw(i, operand, 0, scalar), raw(i, operand, 1, scalar), type)
    else:
        plain = typed(raw(i, operand, 0, scalar), type)
    return modified(plain, operand, type)


def modified(plain: Fetch, operand: Operand, type: str) -> Fetch:
    """`-x`, `|x|` and both of a float."""
    if (operand.absolute or operand.negated) and type[0] != "f":
        raise ValueError("modifiers are for floats")
    if operand.absolute and operand.negated:
        return lambda x: np.negative(np.abs(plain(x)))
    if operand.absolute:
        return lambda x: np.abs(plain(x))
    return (lambda x: np.negative(plain(x))) if operand.negated else plain


def words(value: np.ndarray, type: str) -> list[np.ndarray]:
    """A result as 32-bit words; 16 bits are zero-extended."""
    size = bits(type)
    value = np.asarray(value, DTYPES[type])
    if size == 32:
        return [value.view(U32)]
    if size == 16:
        return [value.view(U16).astype(U32)]
    wide = value.view(U64)
    return [wide.astype(U32), (wide >> U64(32)).astype(U32)]
