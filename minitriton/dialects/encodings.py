"""Encodings as attributes: the thin layer between the text of the IR and the pure values of `layouts.encodings`.

    #ttg.slice<{dim = 1, parent = #blocked}>   <->   SliceEncodingAttr(Slice(1, Blocked(...)))

`encoding_attr(value)` wraps a value (the same attribute object each time), `layout_of(type)` unwraps the encoding of a type.
`ALIAS` is the name that the printer gives an attribute of the class (`#blocked`, `#blocked1`, ...); None means printed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, TypeVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Data, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from minitriton.errors import IRError
from minitriton.layouts import encodings as enc
from minitriton.layouts.encodings import Bases, DistributedEncoding, Encoding, Ints


@irdl_attr_definition
class SharedMemorySpaceAttr(ParametrizedAttribute):
    """The memory space of shared memory: `#ttg.shared_memory`, printed as `#smem`."""

    name = "ttg.shared_memory"
    ALIAS: ClassVar[str | None] = "smem"


SMEM = SharedMemorySpaceAttr()


def _ints(values: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, values)) + "]"


def _bases(bases: Bases) -> str:
    return "[" + ", ".join(map(_ints, bases)) + "]"


def _cga(bases: Bases) -> str:
    return f", CGALayout = {_bases(bases)}" if bases else ""


class _Fields:
    """The dictionary of an encoding's text, read with Triton's complaints."""

    def __init__(self, parser: AttrParser, attr: Attribute, known: Sequence[str] = ()) -> None:
        self.parser = parser
        if not isinstance(attr, DictionaryAttr):
            parser.raise_error("expected a dictionary of the encoding's parameters")
        self.values: Mapping[str, Attribute] = attr.data
        for key in self.values:
            if known and key not in known:
                parser.raise_error(f"unexpected key: {key}")

    def integer(self, key: str, default: int = 0) -> int:
        if key not in self.values:
            return default
        return self._integer(self.values[key], key)

    def _integer(self, attr: Attribute, what: str) -> int:
        if not isinstance(attr, IntegerAttr) or not isinstance(attr.type, IntegerType):
            self.parser.raise_error(f"expected an integer type in {what}")
        if attr.value.data < 0:
            self.parser.raise_error(f"expected an unsigned integer value in {what}")
        return attr.value.data

    def boolean(self, key: str) -> bool:
        attr = self.values.get(key)
        if attr is None:
            return False
        if not isinstance(attr, IntegerAttr) or attr.type != IntegerType(1):
            self.parser.raise_error(f"expected a bool type in {key}")
        return bool(attr.value.data)

    def ints(self, key: str, what: str | None = None) -> Ints:
        attr = self.values.get(key)
        return () if attr is None else self._ints(attr, what or key)

    def _ints(self, attr: Attribute, what: str) -> Ints:
        if not isinstance(attr, ArrayAttr):
            self.parser.raise_error(f"expected an array for {what}")
        return tuple(self._integer(entry, what) for entry in attr.data)

    def cga(self, rank: int) -> Bases:
        attr = self.values.get("CGALayout")
        if attr is None:
            return ()
        if not isinstance(attr, ArrayAttr):
            self.parser.raise_error("expected array value for 'CGALayout'")
        bases = tuple(self._ints(entry, "CGALayout entry") for entry in attr.data)
        if any(len(basis) != rank for basis in bases):
            self.parser.raise_error(f"'CGALayout' entry length does not match rank {rank}")
        return bases

    def bases(self, key: str, *, optional: bool = False) -> Bases:
        attr = self.values.get(key)
        if attr is None:
            if optional:
                return ()
            self.parser.raise_error(f"Expected basis of '{key}' not found")
        if not isinstance(attr, ArrayAttr):
            self.parser.raise_error(f"Expected array of arrays for basis of '{key}'")
        found: list[Ints] = []
        for basis in attr.data:
            if not isinstance(basis, ArrayAttr):
                self.parser.raise_error(f"Expected array of integers in basis for '{key}'")
            for entry in basis.data:
                if not isinstance(entry, IntegerAttr):
                    self.parser.raise_error(f"Expected integer in basis for '{key}'")
            found.append(tuple(entry.value.data for entry in basis.data))
        return tuple(found)


def _parse_fields(parser: AttrParser, known: Sequence[str] = ()) -> _Fields:
    with parser.in_angle_brackets():
        return _Fields(parser, parser.parse_attribute(), known)


_E = TypeVar("_E", bound=Encoding)


def _made(parser: AttrParser, encoding: Callable[..., _E], *parameters: Any) -> _E:
    """The encoding with `parameters`; what is wrong with them becomes an error at the parser's place."""
    try:
        return encoding(*parameters)
    except IRError as error:
        parser.raise_error(error.message)


class EncodingAttr:
    """Base of the attributes of this module that hold an encoding."""

    ALIAS: ClassVar[str | None] = None


@irdl_attr_definition
class BlockedEncodingAttr(EncodingAttr, Data[enc.Blocked]):
    """`#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>`."""

    name = "ttg.blocked"
    ALIAS: ClassVar[str | None] = "blocked"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> enc.Blocked:
        fields = _parse_fields(parser, ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order", "CGALayout"))
        size_per_thread = fields.ints("sizePerThread", "number of elements per thread")
        return _made(
            parser,
            enc.Blocked,
            size_per_thread,
            fields.ints("threadsPerWarp", "number of threads per warp"),
            fields.ints("warpsPerCTA", "number of warps per CTA"),
            fields.ints("order"),
            fields.cga(len(size_per_thread)),
        )

    def print_parameter(self, printer: Printer) -> None:
        v = self.data
        printer.print_string(
            f"<{{sizePerThread = {_ints(v.size_per_thread)}, threadsPerWarp = {_ints(v.threads_per_warp)}, "
            f"warpsPerCTA = {_ints(v.warps_per_cta)}, order = {_ints(v.order)}{_cga(v.cga_layout)}}}>"
        )


@irdl_attr_definition
class LinearEncodingAttr(EncodingAttr, Data[enc.Linear]):
    """`#ttg.linear<{register = [[0, 1]], lane = [...], warp = [...], block = []}>`."""

    name = "ttg.linear"
    ALIAS: ClassVar[str | None] = "linear"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> enc.Linear:
        fields = _parse_fields(parser)
        parts = [fields.bases(key) for key in ("register", "lane", "warp", "block")]
        if not any(parts):
            parser.raise_error("Empty Layout not supported")
        return _made(parser, enc.Linear, *parts)

    def print_parameter(self, printer: Printer) -> None:
        v = self.data
        printer.print_string(
            f"<{{register = {_bases(v.register)}, lane = {_bases(v.lane)}, "
            f"warp = {_bases(v.warp)}, block = {_bases(v.block)}}}>"
        )


@irdl_attr_definition
class NvidiaMmaEncodingAttr(EncodingAttr, Data[enc.NvidiaMma]):
    """`#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>`."""

    name = "ttg.nvidia_mma"
    ALIAS: ClassVar[str | None] = "mma"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> enc.NvidiaMma:
        fields = _parse_fields(parser)
        warps = fields.ints("warpsPerCTA")
        return _made(
            parser,
            enc.NvidiaMma,
            fields.integer("versionMajor"),
            fields.integer("versionMinor"),
            warps,
            fields.ints("instrShape"),
            fields.cga(len(warps)),
        )

    def print_parameter(self, printer: Printer) -> None:
        v = self.data
        printer.print_string(
            f"<{{versionMajor = {v.version_major}, versionMinor = {v.version_minor}, "
            f"warpsPerCTA = {_ints(v.warps_per_cta)}{_cga(v.cga_layout)}, instrShape = {_ints(v.instr_shape)}}}>"
        )


@irdl_attr_definition
class SliceEncodingAttr(EncodingAttr, Data[enc.Slice]):
    """`#ttg.slice<{dim = 1, parent = #blocked}>`."""

    name = "ttg.slice"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> enc.Slice:
        fields = _parse_fields(parser)
        return _made(parser, enc.Slice, fields.integer("dim"), _distributed(parser, fields.values.get("parent")))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{{dim = {self.data.dim}, parent = ")
        printer.print_attribute(encoding_attr(self.data.parent))
        printer.print_string("}>")


@irdl_attr_definition
class DotOperandEncodingAttr(EncodingAttr, Data[enc.DotOperand]):
    """`#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>`."""

    name = "ttg.dot_op"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> enc.DotOperand:
        fields = _parse_fields(parser)
        parent = _distributed(parser, fields.values.get("parent"))
        return _made(parser, enc.DotOperand, fields.integer("opIdx"), parent, fields.integer("kWidth"))

    def print_parameter(self, printer: Printer) -> None:
        v = self.data
        printer.print_string(f"<{{opIdx = {v.op_idx}, parent = ")
        printer.print_attribute(encoding_attr(v.parent))
        printer.print_string(f", kWidth = {v.k_width}}}>" if v.k_width else "}>")


def _distributed(parser: AttrParser, attr: Attribute | None) -> DistributedEncoding:
    value = getattr(attr, "data", None)
    if not isinstance(value, DistributedEncoding):
        parser.raise_error("expected a distributed encoding trait")
    return value


@irdl_attr_definition
class SwizzledSharedEncodingAttr(EncodingAttr, Data[enc.SwizzledShared]):
    """`#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>`."""

    name = "ttg.swizzled_shared"
    ALIAS: ClassVar[str | None] = "shared"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> enc.SwizzledShared:
        fields = _parse_fields(parser, ("vec", "perPhase", "maxPhase", "order", "CGALayout"))
        order = fields.ints("order")
        return _made(
            parser,
            enc.SwizzledShared,
            fields.integer("vec"),
            fields.integer("perPhase"),
            fields.integer("maxPhase"),
            order,
            fields.cga(len(order)),
        )

    def print_parameter(self, printer: Printer) -> None:
        v = self.data
        printer.print_string(
            f"<{{vec = {v.vec}, perPhase = {v.per_phase}, maxPhase = {v.max_phase}, "
            f"order = {_ints(v.order)}{_cga(v.cga_layout)}}}>"
        )


@irdl_attr_definition
class NVMMASharedEncodingAttr(EncodingAttr, Data[enc.NVMMAShared]):
    """`#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>`."""

    name = "ttg.nvmma_shared"
    ALIAS: ClassVar[str | None] = "shared"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> enc.NVMMAShared:
        fields = _parse_fields(
            parser, ("swizzlingByteWidth", "transposed", "elementBitWidth", "fp4Padded", "CGALayout", "rank")
        )
        rank = fields.integer("rank", 2)
        cga = fields.cga(rank)
        return _made(
            parser,
            enc.NVMMAShared,
            fields.integer("swizzlingByteWidth"),
            fields.boolean("transposed"),
            fields.integer("elementBitWidth"),
            fields.boolean("fp4Padded"),
            cga,
            rank,
        )

    def print_parameter(self, printer: Printer) -> None:
        v = self.data
        text = (
            f"<{{swizzlingByteWidth = {v.swizzling_byte_width}, transposed = {str(v.transposed).lower()}, "
            f"elementBitWidth = {v.element_bit_width}"
        )
        if v.fp4_padded:
            text += ", fp4Padded = true"
        text += f", rank = {v.rank}" if v.rank != 2 and not v.cga_layout else _cga(v.cga_layout)
        printer.print_string(text + "}>")


@irdl_attr_definition
class SharedLinearEncodingAttr(EncodingAttr, Data[enc.SharedLinear]):
    """`#ttg.shared_linear<{offset = [[0, 1]], block = [[1, 0]]}, alignment = 16>`; an empty block is left out."""

    name = "ttg.shared_linear"
    ALIAS: ClassVar[str | None] = "shared"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> enc.SharedLinear:
        with parser.in_angle_brackets():
            fields = _Fields(parser, parser.parse_attribute())
            if "alignment" in fields.values:
                parser.raise_error("alignment must be specified outside of the linear layout braces")
            parser.parse_punctuation(",")
            parser.parse_keyword("alignment")
            parser.parse_punctuation("=")
            alignment = parser.parse_integer()
        if set(fields.values) - {"offset", "block"}:
            parser.raise_error("SharedLinearEncodingAttr must have exactly two attributes: offset and block")
        return _made(parser, enc.SharedLinear, fields.bases("offset"), fields.bases("block", optional=True), alignment)

    def print_parameter(self, printer: Printer) -> None:
        v = self.data
        block = f", block = {_bases(v.block)}" if v.block else ""
        printer.print_string(f"<{{offset = {_bases(v.offset)}{block}}}, alignment = {v.alignment}>")


@irdl_attr_definition
class PaddedSharedEncodingAttr(EncodingAttr, Data[enc.PaddedShared]):
    """`#ttg.padded_shared<[32:+4] {order = [1, 0], shape = [16, 64]}>`, or with `offset` and `block` bases."""

    name = "ttg.padded_shared"
    ALIAS: ClassVar[str | None] = "shared"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> enc.PaddedShared:
        def pair() -> tuple[int, int]:
            interval = parser.parse_integer(allow_negative=False, allow_boolean=False)
            parser.parse_punctuation(":")
            parser.parse_characters("+")
            return interval, parser.parse_integer(allow_negative=False, allow_boolean=False)

        with parser.in_angle_brackets():
            pairs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, pair)
            fields = _Fields(parser, parser.parse_attribute())
        intervals, paddings = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
        by_bases = "offset" in fields.values or "block" in fields.values
        for key in fields.values:
            if key not in (("offset", "block") if by_bases else ("order", "shape")):
                parser.raise_error(f'Unexpected attribute "{key}" found')
        if by_bases:
            return _made(parser, enc.PaddedShared, intervals, paddings, fields.bases("offset"), fields.bases("block"))
        order, shape = fields.ints("order"), fields.ints("shape")
        if len(order) != len(shape):
            parser.raise_error("Mismatch of shape and order ranks in padded layout")
        return _made(parser, enc.PaddedShared, intervals, paddings, identity_bases(order, shape), (), shape)

    def print_parameter(self, printer: Printer) -> None:
        v = self.data
        pairs = ", ".join(f"{i}:+{p}" for i, p in zip(v.intervals, v.paddings, strict=True))
        if not v.block and v.offset == identity_bases(v.order, v.shape):
            body = f"order = {_ints(v.order)}, shape = {_ints(v.shape)}"
        else:
            body = f"offset = {_bases(v.offset)}, block = {_bases(v.block)}"
        printer.print_string(f"<[{pairs}] {{{body}}}>")


def identity_bases(order: Sequence[int], shape: Sequence[int]) -> Bases:
    """Bases of the offset that walks `shape` with the dimensions in `order`, fastest first."""
    bases: list[Ints] = []
    for dim in order:
        step = 1
        while step < shape[dim]:
            bases.append(tuple(step if d == dim else 0 for d in range(len(shape))))
            step *= 2
    return tuple(bases)


_ATTR_OF: dict[type[Encoding], type[Data]] = {
    enc.Blocked: BlockedEncodingAttr,
    enc.Linear: LinearEncodingAttr,
    enc.NvidiaMma: NvidiaMmaEncodingAttr,
    enc.Slice: SliceEncodingAttr,
    enc.DotOperand: DotOperandEncodingAttr,
    enc.SwizzledShared: SwizzledSharedEncodingAttr,
    enc.NVMMAShared: NVMMASharedEncodingAttr,
    enc.SharedLinear: SharedLinearEncodingAttr,
    enc.PaddedShared: PaddedSharedEncodingAttr,
}


@cache
def encoding_attr(value: Encoding) -> Attribute:
    """The attribute that holds `value`: always the same object for equal values. Raises `IRError` for other things."""
    made = _ATTR_OF.get(type(value))
    if made is None:
        raise IRError(f"{type(value).__name__} is not an encoding of the ttg dialect")
    return made(value)


def layout_of(type_: Attribute) -> Encoding | None:
    """The encoding value of a tensor or memory descriptor type; None where it has none that is known here."""
    encoding = getattr(type_, "encoding", None)
    return getattr(encoding, "data", None) if isinstance(encoding, EncodingAttr) else None
