"""Prints IR exactly as MLIR (and so Triton 3.6.0) does.

In: an op, the names of its values (`names`) and what collects aliases of its attributes (`aliases`).
Out: text. The ops' own `print` methods say the order; this class says how names, attributes, regions and locations look:

    #blocked = #ttg.blocked<{...}>
    %0:2 = scf.for %arg1 = %c0_i32 to %n step %c1_i32 iter_args(...) -> (...)  : i32 {
    ^bb1(%1: i32):  // 2 preds: ^bb0, ^bb3
"""

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from math import copysign, inf, isfinite
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    CallSiteLoc,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    FunctionType,
    FusedLoc,
    IndexType,
    IntegerType,
    ModuleOp,
    NameLoc,
    NoneAttr,
    UnitAttr,
    UnknownLoc,
    UnregisteredOp,
    i1,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.mlir_lexer import MLIRLexer

from minitriton.dialects.fast_paths.op_access import next_op
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.printing.aliases import AliasTable, Met, bytes_literal, location_text
from minitriton.dialects.printing.names import UNKNOWN, ValueNames
from minitriton.dialects.printing.upstream import PRINTERS
from minitriton.dialects.tt.enums import IntegerEnumAttr

INDENT = "  "


@functools.cache
def _has_no_form(kind: type[Operation]) -> bool:
    """Whether ops of class `kind` are printed in generic form."""
    return UnregisteredOp in kind.__mro__ or kind.print is Operation.print


@functools.cache
def _dialect_inside(kind: type[Operation] | None) -> str:
    """The dialect whose ops are written without its name in regions of ops of class `kind`."""
    if kind is None:
        return ""
    return "builtin" if ModuleOp in kind.__mro__ else "func" if kind.name == "func.func" else ""


@functools.cache
def _new_line(level: int) -> str:
    return "\n" + INDENT * level


_name_of = operator.itemgetter(0)


@functools.lru_cache(maxsize=4096)
def _is_identifier(name: str) -> bool:
    return MLIRLexer.bare_identifier_regex.fullmatch(name) is not None


@functools.cache
def _is_enum(kind: type[Attribute]) -> bool:
    return issubclass(kind, IntegerEnumAttr)


class TritonPrinter(Printer):
    """One run of printing. Text gathers in `parts`."""

    def __init__(self, names: ValueNames, aliases: AliasTable, locations: bool) -> None:
        super().__init__(stream=None)
        self.names = names
        self.aliases = aliases
        self.print_debuginfo = locations
        self.parts: list[str] = []
        self._default_dialects = ["builtin"]
        self._in_generic_form = False

    @property
    def text(self) -> str:
        """What was printed so far."""
        return "".join(self.parts)

    # Text

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        level = self._indent if indent is None else indent
        self.parts.append(text.replace("\n", "\n" + INDENT * level) if level and "\n" in text else text)

    def print_identifier_or_string_literal(self, string: str) -> None:
        if _is_identifier(string):
            self.parts.append(string)
        else:
            self.print_string_literal(string)

    def _print_new_line(self, indent: int | None = None, print_message: bool = True) -> None:
        self.parts.append(_new_line(self._indent if indent is None else indent))

    def print_bytes_literal(self, bytestring: bytes) -> None:
        self.parts.append(bytes_literal(bytestring))

    # Values and blocks

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self.names.name_of(value)
        self.parts.append(name if name is UNKNOWN else f"%{name}")
        return name

    def _print_results(self, op: Operation) -> None:
        results = op.results
        if len(results) == 1:
            self.parts.append(f"%{self.names.name_of(results[0])} = ")
        elif results:
            names = self.names.names_of_results(op)
            self.parts.append(", ".join([f"%{name}" for name in names]) + " = ")

    def print_block_name(self, block: Block) -> str:
        _, name = self.names.blocks.get(block, (0, "INVALIDBLOCK"))
        self.parts.append(f"^{name}")
        return name

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        self.print_ssa_value(arg)
        if print_type:
            self.parts.append(": ")
            self.print_attribute(arg.type)
            if self.print_debuginfo:
                self.parts.append(" ")
                self.print_attribute(arg.location)

    # Blocks and regions

    def print_block(self, block: Block, print_block_args: bool = True, print_block_terminator: bool = True) -> None:
        if print_block_args:
            self._print_new_line()
            self.print_block_name(block)
            if block.args:
                with self.in_parens():
                    self.print_list(block.args, self.print_block_argument)
            self.parts.append(":")
            self._print_predecessors(block)
        self._indent += 1
        new_line = _new_line(self._indent)
        left_out = None if print_block_terminator else block.last_op
        if left_out is not None and not left_out.has_trait(IsTerminator, value_if_unregistered=False):
            left_out = None
        op = block.first_op
        while op is not None:
            if op is not left_out:
                self.parts.append(new_line)
                self.print_op(op)
            op = next_op(op)
        self._indent -= 1

    def _print_predecessors(self, block: Block) -> None:
        found = {self.names.blocks[p] for p in block.predecessors() if p in self.names.blocks}
        names = [f"^{name}" for _, name in sorted(found)]
        region = block.parent
        if not names:
            if region is not None and region.first_block is not block:
                self.parts.append("  // no predecessors")
        elif len(names) == 1:
            self.parts.append(f"  // pred: {names[0]}")
        else:
            self.parts.append(f"  // {len(names)} preds: {', '.join(names)}")

    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = True,
        print_block_terminators: bool = True,
    ) -> None:
        op = region.parent
        self._default_dialects.append(_dialect_inside(None if op is None else type(op)))
        self.parts.append("{")
        block, is_entry = region.first_block, True
        while block is not None:
            header = not is_entry or (print_entry_block_args and bool(block.args))
            header = header or (print_empty_block and block.first_op is None)
            self.print_block(block, header, print_block_terminators)
            block, is_entry = block.next_block, False
        self.parts.append(_new_line(self._indent) + "}")
        self._default_dialects.pop()

    # Ops

    def print_op(self, op: Operation) -> None:
        location = self.meet(op.location, deferrable=True) if self.print_debuginfo else None
        self._print_results(op)
        self._print_form(op)
        if location is not None:
            self.parts.append(f" loc({location.reference})")

    def _print_form(self, op: Operation) -> None:
        """The op without its results and its location."""
        printer = PRINTERS.get(type(op))
        if printer is not None:
            self.parts.append(self._op_name(op))
            printer(op, self)
        elif _has_no_form(type(op)):
            self.parts.append(f'"{op.op_name.data if isinstance(op, UnregisteredOp) else op.name}"')
            self._print_generic_form(op)
        else:
            self.parts.append(self._op_name(op))
            op.print(self)

    def _print_generic_form(self, op: Operation) -> None:
        """Aliases are numbered as if the regions came first, then the types, then the attributes; so all are met in that order before."""
        if self._in_generic_form:
            self.print_op_with_default_format(op)
            return
        self._in_generic_form = True
        length = len(self.parts)
        for region in op.regions:
            self.print_region(region)
        for type_ in (*op.operand_types, *op.result_types):
            self.meet(type_)
        for _, value in sorted({**op.properties, **op.attributes}.items()):
            self.meet(value)
        del self.parts[length:]
        self.print_op_with_default_format(op)
        self._in_generic_form = False

    def _op_name(self, op: Operation) -> str:
        prefix = self._default_dialects[-1] + "."
        name = op.name
        return name[len(prefix) :] if name.startswith(prefix) and name.count(".") == 1 else name

    def print_op_with_default_format(self, op: Operation) -> None:
        self.print_operands(op.operands)
        self.print_successors_list(op.successors)
        self._print_op_properties(op.properties)
        self.print_regions(op.regions)
        self.print_op_attributes(op.attributes, reserved_attr_names=("op_name__",))
        self.parts.append(" : ")
        self.print_operation_type(op)

    def print_successors_list(self, successors: Sequence[Block]) -> None:
        """The successors of an op in generic form."""
        if successors:
            self.parts.append("[")
            self.print_list(successors, self.print_block_name)
            self.parts.append("]")

    def print_operation_type(self, op: Operation) -> None:
        self.print_function_type(op.operand_types, op.result_types)

    def print_function_type(self, input_types: Iterable[Attribute], output_types: Iterable[Attribute]) -> None:
        self.parts.append("(")
        self._print_types(input_types)
        self.parts.append(") -> ")
        outputs = tuple(output_types)
        if len(outputs) == 1 and type(outputs[0]) is not FunctionType:
            self.print_attribute(outputs[0])
        else:
            self.parts.append("(")
            self._print_types(outputs)
            self.parts.append(")")

    def _print_types(self, types: Iterable[Attribute]) -> None:
        for index, type_ in enumerate(types):
            if index:
                self.parts.append(", ")
            self.print_attribute(type_)

    # Attributes

    def print_attribute(self, attribute: Attribute) -> None:
        if type(attribute) is FloatAttr:  # 0.0 and -0.0 are equal
            self.print_attribute_in_full(attribute)
        else:
            self.parts.append(self.meet(attribute).text)

    def meet(self, attribute: Attribute, deferrable: bool = False) -> Met:
        """What is known of `attribute`, which is printed here; `deferrable` if its alias may be defined after the module."""
        met = self.aliases.known_by_identity(attribute)
        if met is not None:
            if met.deferrable and not deferrable:
                met.pin()
            return met
        return self.aliases.known(attribute, deferrable) or self._print_apart(attribute, deferrable)

    def _print_apart(self, attribute: Attribute, deferrable: bool) -> Met:
        """Prints an attribute for the first time, as an entry of the alias table."""
        if type(attribute) is FileLineColLoc:
            return self.aliases.add_location(attribute, deferrable)
        met = self.aliases.begin(attribute, deferrable)
        outer, self.parts = self.parts, []
        if met.is_location:
            self.print_location_body(attribute)
        else:
            self.print_attribute_in_full(attribute)
        self.aliases.end(met, "".join(self.parts))
        self.parts = outer
        return met

    def print_attribute_in_full(self, attribute: Attribute) -> None:
        """The attribute itself, not its alias (but the aliases of those within)."""
        if _is_enum(type(attribute)):
            self.parts.append(f"{cast('IntegerEnumAttr[StrEnum]', attribute).code} : i32")
        elif instance_of(attribute, DenseIntOrFPElementsAttr) and isinstance(attribute.get_element_type(), AnyFloat):
            self._print_dense_floats(attribute)
        else:
            super().print_attribute(attribute)

    def _print_dense_floats(self, attribute: DenseIntOrFPElementsAttr) -> None:
        """A splat is recognised by its bits: xDSL compares numbers, and NaN is not equal to itself."""
        data = attribute.data.data
        size = len(data) // max(len(attribute), 1)
        if not data or data != data[:size] * len(attribute):
            super().print_attribute(attribute)
            return
        element: Any = attribute.get_element_type()
        self.parts.append(f"dense<{float_text(element.unpack(data[:size], 1)[0], element)}> : ")
        self.print_attribute(attribute.type)

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        before = "{"
        for name, value in sorted(attr_dict.items(), key=_name_of):
            self.parts.append(before)
            self.print_identifier_or_string_literal(name)
            if type(value) is not UnitAttr:
                self.parts.append(" = ")
                self.print_attribute(value)
            before = ", "
        self.parts.append("}" if attr_dict else "{}")

    def print_float(self, value: float, type: AnyFloat) -> None:
        self.parts.append(float_text(value, type))

    def print_int(self, value: int, type: IntegerType | IndexType | None = None) -> None:
        if type == i1:
            self.parts.append("true" if value else "false")
        else:
            self.parts.append(str(value))

    # Places

    def _print_nested_location(self, location: Attribute) -> None:
        self.parts.append(self.meet(location).reference)

    def print_location_body(self, location: Attribute) -> None:
        """What stands between the parentheses of `loc(...)`."""
        if type(location) is FileLineColLoc:
            self.parts.append(location_text(location))
        elif isinstance(location, NameLoc):
            self.print_string_literal(location.desc.data)
            if not isinstance(location.location, (NoneAttr, UnknownLoc)):
                self.parts.append("(")
                self._print_nested_location(location.location)
                self.parts.append(")")
        elif isinstance(location, CallSiteLoc):
            self.parts.append("callsite(")
            self._print_nested_location(location.callee)
            self.parts.append(" at ")
            self._print_nested_location(location.caller)
            self.parts.append(")")
        elif isinstance(location, FusedLoc):
            self.parts.append("fused")
            if not isinstance(location.metadata, NoneAttr):
                self.parts.append("<")
                self.print_attribute(location.metadata)
                self.parts.append(">")
            assert instance_of(location.locations, ArrayAttr)
            self.parts.append("[")
            self.print_list(location.locations, self._print_nested_location)
            self.parts.append("]")
        else:
            self.parts.append("unknown")


# How MLIR spells floating-point numbers.
#
# 1.000000e+00      six decimals if they say it exactly
# 0.693147182       else as many digits as the type needs, if the result has a point
# 0xFF800000        else the bits: infinities, NaNs, large whole numbers

_MANTISSA_BITS: dict[type, int] = {
    Float64Type: 53,
    Float32Type: 24,
    Float16Type: 11,
    BFloat16Type: 8,
    Float8E4M3FNType: 4,
    Float8E4M3FNUZType: 4,
}
_FP8_E5M2_BITS = 3


def float_text(value: float, type_: AnyFloat) -> str:
    """The number as MLIR prints it in `dense<...>` and float attributes of `type_`."""
    if isfinite(value):
        text = _decimal(value, 6, pad=True)
        if _round(float(text), type_) == value:
            return text
        text = _decimal(value, 2 + _MANTISSA_BITS.get(type(type_), _FP8_E5M2_BITS) * 59 // 196, pad=False)
        if "." in text:
            return text
    return f"0x{int.from_bytes(type_.pack((value,)), 'little'):X}"


def _round(value: float, type_: AnyFloat) -> float:
    """`value` as the type holds it."""
    try:
        return type_.unpack(type_.pack((value,)), 1)[0]
    except OverflowError:
        return inf


def _decimal(value: float, precision: int, pad: bool) -> str:
    """`value` in `precision` significant digits.

    With `pad` it is always scientific and filled up with zeros, as in `1.500000e+00`; without, it is short and scientific only
    far from 1, as in `0.693147182` or `1.5E-10`.
    """
    sign = "-" if copysign(1.0, value) < 0 else ""
    digits, exponent = _digits(abs(value), precision)
    leading = exponent + len(digits) - 1
    if pad:
        return f"{sign}{digits[0]}.{digits[1:]:0<{precision}}e{leading:+03d}"
    if exponent >= 0:
        scientific = exponent > 3 or len(digits) + exponent > precision
    else:
        scientific = leading < -3
    if scientific:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{leading:+d}"
    if exponent >= 0:
        return sign + digits + "0" * exponent
    if leading >= 0:
        return f"{sign}{digits[: leading + 1]}.{digits[leading + 1 :]}"
    return f"{sign}0.{'0' * (-leading - 1)}{digits}"


def _digits(value: float, precision: int) -> tuple[str, int]:
    """Digits without trailing zeros, and the power of ten of the last one.

    LLVM first drops digits that cannot matter, rounding down, and only then rounds to nearest: the result may be off by one in the
    last digit, which decides whether MLIR accepts the six-digit form.
    """
    if not value:
        return "0", 0
    significand, divisor = value.as_integer_ratio()
    exponent = 1 - divisor.bit_length()
    significand *= 5**-exponent
    excess = significand.bit_length() - (precision * 196 + 58) // 59
    removable = max(excess, 0) * 59 // 196
    exponent += removable
    digits = str(significand // 10**removable)
    surplus = len(digits) - precision
    if surplus > 0:
        kept = int(digits[:precision]) + (digits[precision] >= "5")
        digits, exponent = str(kept), exponent + surplus
    stripped = digits.rstrip("0")
    return stripped, exponent + len(digits) - len(stripped)
