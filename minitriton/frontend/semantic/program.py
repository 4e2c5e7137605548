"""Program ids, hints, debugging, inline assembly and library functions."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import cast as cast_type

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, TensorType, i32
from xdsl.ir import BlockArgument, Operation

from minitriton.dialects import gpu, tt
from minitriton.dialects.llvm import AssumeOp
from minitriton.dialects.tt.types import tensor_type
from minitriton.frontend.builder import IRBuilder, constant_of, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.arithmetic import compare, logical_not, or_
from minitriton.frontend.semantic.values import binary_operands, is_integer, several, to_tensor
from minitriton.language import dtypes as dt
from minitriton.language.values import Operand, Overloads, tensor
from minitriton.language.values import tuple as language_tuple
from minitriton.rewriting.constants import number_of


def _axis(axis: int, what: str) -> int:
    if axis not in (0, 1, 2):
        raise LanguageValueError(f"{what} axis must be 0, 1, or 2 but got {axis}")
    return axis


def program_id(b: IRBuilder, axis: int) -> tensor:
    """Index of this program."""
    return tensor(b.value(tt.GetProgramIdOp(_axis(axis, "program_id"))), dt.int32)


def num_programs(b: IRBuilder, axis: int) -> tensor:
    """Number of programs."""
    return tensor(b.value(tt.GetNumProgramsOp(_axis(axis, "num_programs"))), dt.int32)


_REPEATABLE = frozenset(
    f"tt.{name}"
    for name in ["splat", "make_range", "addptr", "broadcast", "expand_dims", "bitcast", "int_to_ptr", "get_program_id"]
)
"""Ops that cost next to nothing and have no effect."""


def _hint(name: str, attribute: str, scalar_allowed: bool) -> Callable[..., tensor]:
    """The emitter of a promise about a value: an attribute on the op that makes it."""

    def emit(b: IRBuilder, input: Operand, values: int | Sequence[int]) -> tensor:
        x = to_tensor(b, input)
        numbers = several(values)
        for i, v in enumerate(numbers):
            if not is_integer(v):
                raise LanguageTypeError(f"values element {i} must have type `constexpr[int]`, got `{v!r}`")
            if int(v) < 1:
                raise LanguageValueError(f"values element {i} of {name} must be positive, got {v}")
        rank = len(x.type.shape)
        if (max(1, rank) if scalar_allowed else rank) != len(numbers):
            raise LanguageValueError(f"Shape of input to {name} does not match the length of values")
        owner = x.handle.owner
        vector = cast_type("TensorType[IntegerType]", tensor_type((len(numbers),), i32))
        promise = DenseIntOrFPElementsAttr.from_list(vector, tuple(map(int, numbers)))
        if not isinstance(owner, Operation):
            if owner is b.block and isinstance(x.handle, BlockArgument):
                b.argument_hints.append((x.handle, attribute, promise))
        elif owner.parent is b.block:
            owner.attributes[attribute] = promise
        elif owner.name in _REPEATABLE or owner.name.startswith("arith."):
            # The promise is made in this region only, so it stands on a value that only this region has.
            again = b.insert(owner.clone())
            again.attributes[attribute] = promise
            return tensor(again.results[0], x.type)
        return x

    return emit


multiple_of = _hint("multiple_of", "tt.divisibility", True)
max_contiguous = _hint("max_contiguous", "tt.contiguity", False)
max_constancy = _hint("max_constancy", "tt.constancy", False)


def assume(b: IRBuilder, cond: Operand) -> None:
    """A promise to the optimiser. Raises for one that is known to be broken in every launch, from which LLVM would make a kernel without
    instructions."""
    condition = to_tensor(b, cond)
    if b.block is b.entry and number_of(constant_of(condition)) == 0:
        raise LanguageValueError(
            "this assumption does not hold for the compile-time values of this kernel: it is always false",
            "launch the kernel with values that fit it; tl.static_assert(condition, message) says what they must fulfil",
        )
    b.insert(AssumeOp(condition.handle))


def debug_barrier(b: IRBuilder) -> None:
    """A barrier of the whole program."""
    b.insert(gpu.BarrierOp())


def device_print(b: IRBuilder, prefix: object, *args: Operand, hex: bool = False) -> None:
    """Prints at run time; the prefix is spaced as Triton spaces it."""
    if not isinstance(prefix, str):
        raise LanguageTypeError(f"{prefix} is not string", "the first argument of device_print is its label")
    if any(character not in string.printable for character in prefix):
        raise LanguageValueError(f"{prefix} is not an ascii string")
    if args:
        prefix = prefix if prefix.endswith(" ") else prefix + " "
        prefix = prefix if prefix.endswith(": ") else prefix[:-1] + ": "
    if len(prefix) > 2 and not prefix.startswith(" "):
        prefix = " " + prefix
    values = [to_tensor(b, x) for x in args]
    signed = [int(x.dtype.is_int_signed()) for x in values]
    b.insert(tt.PrintOp([x.handle for x in values], prefix=prefix, hex=bool(hex), is_signed=signed))


def device_assert(b: IRBuilder, cond: Operand, msg: object = "", mask: Operand | None = None) -> None:
    """An assertion at run time, with `debug` only."""
    if not b.options.debug:
        return
    condition = to_tensor(b, cond)
    if mask is not None:
        condition = or_(b, condition, logical_not(b, to_tensor(b, mask)))
    b.insert(tt.AssertOp(condition.handle, message=str(msg)))


def expect_zero(b: IRBuilder, x: Operand, mask: Operand) -> Operand:
    """`x`; with `debug` it is asserted to be 0 where `mask` holds."""
    if b.options.debug:
        device_assert(b, compare(b, "==", x, 0), "expect_zero expected x == 0 where mask is true", mask)
    return x


def _broadcast_operands(b: IRBuilder, args: list[tensor]) -> list[tensor]:
    shaped = args[0]
    for x in args:
        _, shaped = binary_operands(b, x, shaped, pointer_lhs=True, pointer_rhs=True, arithmetic=False)
    if not shaped.type.is_block():
        return args
    return [binary_operands(b, x, shaped, pointer_lhs=True, pointer_rhs=True, arithmetic=False)[0] for x in args]


def inline_asm_elementwise(
    b: IRBuilder,
    asm: str,
    constraints: str,
    args: Sequence[Operand],
    dtype: dt.dtype | Sequence[dt.dtype],
    is_pure: bool,
    pack: int,
) -> tensor | language_tuple:
    """PTX applied to each `pack` elements."""
    several = not isinstance(dtype, dt.dtype)
    types = list(dtype) if several else [dtype]
    values = [to_tensor(b, x) for x in args]
    if values:
        values = _broadcast_operands(b, values)
        if values[0].type.is_block():
            types = [values[0].type.with_element_ty(t) for t in types]
    op = tt.ElementwiseInlineAsmOp(
        [v.handle for v in values],
        [ir_type(t) for t in types],
        asm_string=asm,
        constraints=constraints,
        pure=bool(is_pure),
        packed_element=pack,
    )
    results = [tensor(v, t) for v, t in zip(b.insert(op).results, types, strict=True)]
    return language_tuple(results) if several else results[0]


def extern_elementwise(
    b: IRBuilder, lib_name: str, lib_path: str, args: Sequence[Operand], arg_type_symbol_dict: Overloads, is_pure: bool
) -> tensor:
    """A function of a device library applied to each element."""
    values = [to_tensor(b, x) for x in args]
    key = tuple(v.dtype for v in values)
    if key not in arg_type_symbol_dict:
        raise LanguageValueError(
            f"input arg type does not match. Expect one of {list(arg_type_symbol_dict)}, got {key}",
            "cast the arguments",
        )
    symbol, result = arg_type_symbol_dict[key]
    values = _broadcast_operands(b, values)
    type = values[0].type.with_element_ty(result) if values and values[0].type.is_block() else result
    op = tt.ExternElementwiseOp(
        [v.handle for v in values],
        ir_type(type),
        libname=lib_name,
        libpath=lib_path,
        symbol=symbol,
        pure=bool(is_pure),
    )
    return tensor(b.value(op), type)
