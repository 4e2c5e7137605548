"""Encodings as attributes: the thin layer between the text of the IR and the pure values of `layouts.encodings`.

    #ttg.slice<{dim = 1, parent = #blocked}>   <->   SliceEncodingAttr(Slice(1, Blocked(...)))

`encoding_attr(value)` wraps a value (the same attribute object each time), `layout_of(type)` unwraps the encoding of a type.
`ALIAS` is the name that the printer gives an attribute of the class (`#blocked`, `#blocked1`, ...); None means printed in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, TypeVar

from xdsl.ir import Attribute, Data, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from minitriton.dialects.encoding_text import CGA_LAYOUT, Entries, Field, fields_of, spelled
from minitriton.dialects.narrowing import instance_of
from minitriton.errors import IRError
from minitriton.layouts import encodings as enc
from minitriton.layouts.encodings import Bases, Encoding, Ints


@irdl_attr_definition
class SharedMemorySpaceAttr(ParametrizedAttribute):
    """The memory space of shared memory: `#ttg.shared_memory`, printed as `#smem`."""

    name = "ttg.shared_memory"
    ALIAS: ClassVar[str | None] = "smem"


SMEM = SharedMemorySpaceAttr()

E = TypeVar("E", bound=Encoding)


class EncodingAttr(Data[E]):
    """Base of the attributes that hold an encoding. Their text has the fields of the value (`encoding_text`)."""

    ALIAS: ClassVar[str | None] = None

    VALUE: ClassVar[type[Encoding]]

    TEXT: ClassVar[tuple[str, ...]] = ()
    """The fields in the text, where not all are there in the order of their declaration."""

    ALWAYS: ClassVar[frozenset[str]] = frozenset()
    """Fields that are in the text also where they have their default."""

    RANK: ClassVar[str] = ""
    """The field whose length is the number of dimensions of `CGALayout`, or that is that number."""

    ONLY_KNOWN: ClassVar[bool] = False
    """Whether other keys are refused, as Triton does for some."""

    CALLED: ClassVar[Mapping[str, str]] = {}
    """What complaints call fields, where not by their key."""

    @classmethod
    def fields(cls) -> list[Field]:
        """The fields in the text."""
        known = fields_of(cls.VALUE)
        return [known[name] for name in cls.TEXT or known]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> E:
        with parser.in_angle_brackets():
            entries = Entries(parser, (field.key for field in cls.fields()) if cls.ONLY_KNOWN else ())
        return cls.made(parser, **cls.read(entries))

    @classmethod
    def read(cls, entries: Entries) -> dict[str, Any]:
        """The fields of the value, by name."""
        found: dict[str, Any] = {}
        for field in cls.fields():
            if field.name != CGA_LAYOUT:
                found[field.name] = entries.read(field, cls.CALLED.get(field.name))
        if cls.RANK:
            rank = found[cls.RANK]
            cga = fields_of(cls.VALUE)[CGA_LAYOUT]
            found[CGA_LAYOUT] = entries.cga(cga.key, rank if isinstance(rank, int) else len(rank))
        return found

    @classmethod
    def made(cls, parser: AttrParser, **values: Any) -> E:
        """The encoding; what is wrong with it becomes an error at the parser's location."""
        try:
            return cls.VALUE(**values)  # pyright: ignore[reportReturnType]
        except IRError as error:
            parser.raise_error(error.message)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("<{")
        self.print_fields(printer)
        printer.print_string("}>")

    def is_shown(self, field: Field) -> bool:
        """Whether a field is in the text."""
        return field.name in self.ALWAYS or getattr(self.data, field.name) != field.default

    def print_fields(self, printer: Printer) -> None:
        """`key = value, ...`"""
        comma = ""
        for field in self.fields():
            if not self.is_shown(field):
                continue
            value = getattr(self.data, field.name)
            printer.print_string(f"{comma}{field.key} = ")
            comma = ", "
            if isinstance(value, Encoding):
                printer.print_attribute(encoding_attr(value))
            else:
                printer.print_string(spelled(value))


@irdl_attr_definition
class BlockedEncodingAttr(EncodingAttr[enc.Blocked]):
    """`#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>`."""

    name = "ttg.blocked"
    ALIAS: ClassVar[str | None] = "blocked"
    VALUE = enc.Blocked
    RANK = "size_per_thread"
    ONLY_KNOWN = True
    CALLED: ClassVar[Mapping[str, str]] = {
        "size_per_thread": "number of elements per thread",
        "threads_per_warp": "number of threads per warp",
        "warps_per_cta": "number of warps per CTA",
    }


@irdl_attr_definition
class LinearEncodingAttr(EncodingAttr[enc.Linear]):
    """`#ttg.linear<{register = [[0, 1]], lane = [...], warp = [...], block = []}>`."""

    name = "ttg.linear"
    ALIAS: ClassVar[str | None] = "linear"
    VALUE = enc.Linear
    TEXT = ("register", "lane", "warp", "block")
    ALWAYS = frozenset({"block"})

    @classmethod
    def read(cls, entries: Entries) -> dict[str, Any]:
        found = super().read(entries)
        if not any(found.values()):
            entries.parser.raise_error("Empty Layout not supported")
        return found


@irdl_attr_definition
class NvidiaMmaEncodingAttr(EncodingAttr[enc.NvidiaMma]):
    """`#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>`."""

    name = "ttg.nvidia_mma"
    ALIAS: ClassVar[str | None] = "mma"
    VALUE = enc.NvidiaMma
    TEXT = ("version_major", "version_minor", "warps_per_cta", CGA_LAYOUT, "instr_shape")
    RANK = "warps_per_cta"


@irdl_attr_definition
class AmdMfmaEncodingAttr(EncodingAttr[enc.AmdMfma]):
    """`#ttg.amd_mfma<{version = 3, warpsPerCTA = [4, 1], instrShape = [32, 32, 8], isTransposed = true}>`."""

    name = "ttg.amd_mfma"
    ALIAS: ClassVar[str | None] = "mma"
    VALUE = enc.AmdMfma
    RANK = "warps_per_cta"


@irdl_attr_definition
class AmdWmmaEncodingAttr(EncodingAttr[enc.AmdWmma]):
    """`#ttg.amd_wmma<{version = 2, isTranspose = true, warpsPerCTA = [2, 2]}>`."""

    name = "ttg.amd_wmma"
    ALIAS: ClassVar[str | None] = "mma"
    VALUE = enc.AmdWmma
    TEXT = ("version", "is_transpose", "warps_per_cta", CGA_LAYOUT, "tiles_per_warp", "instr_shape")
    RANK = "warps_per_cta"


@irdl_attr_definition
class SliceEncodingAttr(EncodingAttr[enc.Slice]):
    """`#ttg.slice<{dim = 1, parent = #blocked}>`."""

    name = "ttg.slice"
    VALUE = enc.Slice


@irdl_attr_definition
class DotOperandEncodingAttr(EncodingAttr[enc.DotOperand]):
    """`#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>`."""

    name = "ttg.dot_op"
    VALUE = enc.DotOperand


@irdl_attr_definition
class SwizzledSharedEncodingAttr(EncodingAttr[enc.SwizzledShared]):
    """`#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>`."""

    name = "ttg.swizzled_shared"
    ALIAS: ClassVar[str | None] = "shared"
    VALUE = enc.SwizzledShared
    RANK = "order"
    ONLY_KNOWN = True


@irdl_attr_definition
class AmdRotatingSharedEncodingAttr(EncodingAttr[enc.AmdRotatingShared]):
    """`#ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [0, 1]}>`."""

    name = "ttg.amd_rotating_shared"
    ALIAS: ClassVar[str | None] = "shared"
    VALUE = enc.AmdRotatingShared
    RANK = "order"
    ONLY_KNOWN = True


@irdl_attr_definition
class NVMMASharedEncodingAttr(EncodingAttr[enc.NVMMAShared]):
    """`#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>`."""

    name = "ttg.nvmma_shared"
    ALIAS: ClassVar[str | None] = "shared"
    VALUE = enc.NVMMAShared
    RANK = "rank"
    ONLY_KNOWN = True

    def is_shown(self, field: Field) -> bool:
        """`CGALayout` tells the rank, too."""
        return super().is_shown(field) and not (field.name == "rank" and self.data.cga_layout)


@irdl_attr_definition
class SharedLinearEncodingAttr(EncodingAttr[enc.SharedLinear]):
    """`#ttg.shared_linear<{offset = [[0, 1]], block = [[1, 0]]}, alignment = 16>`; an empty block is left out."""

    name = "ttg.shared_linear"
    ALIAS: ClassVar[str | None] = "shared"
    VALUE = enc.SharedLinear
    TEXT = ("offset", "block")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> enc.SharedLinear:
        with parser.in_angle_brackets():
            entries = Entries(parser)
            if "alignment" in entries.values:
                parser.raise_error("alignment must be specified outside of the linear layout braces")
            parser.parse_punctuation(",")
            parser.parse_keyword("alignment")
            parser.parse_punctuation("=")
            alignment = parser.parse_integer()
        if set(entries.values) - {"offset", "block"}:
            parser.raise_error("SharedLinearEncodingAttr must have exactly two attributes: offset and block")
        block = entries.bases("block") if "block" in entries.values else ()
        return cls.made(parser, offset=entries.bases("offset"), block=block, alignment=alignment)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("<{")
        self.print_fields(printer)
        printer.print_string(f"}}, alignment = {self.data.alignment}>")


@irdl_attr_definition
class PaddedSharedEncodingAttr(EncodingAttr[enc.PaddedShared]):
    """`#ttg.padded_shared<[32:+4] {order = [1, 0], shape = [16, 64]}>`, or with `offset` and `block` bases."""

    name = "ttg.padded_shared"
    ALIAS: ClassVar[str | None] = "shared"
    VALUE = enc.PaddedShared
    TEXT = ("offset", "block")
    ALWAYS = frozenset({"block"})

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> enc.PaddedShared:
        def pair() -> tuple[int, int]:
            interval = parser.parse_integer(allow_negative=False, allow_boolean=False)
            parser.parse_punctuation(":")
            parser.parse_characters("+")
            return interval, parser.parse_integer(allow_negative=False, allow_boolean=False)

        with parser.in_angle_brackets():
            pairs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, pair)
            entries = Entries(parser)
        padding = {"intervals": tuple(p[0] for p in pairs), "paddings": tuple(p[1] for p in pairs)}
        by_bases = "offset" in entries.values or "block" in entries.values
        for key in entries.values:
            if key not in (("offset", "block") if by_bases else ("order", "shape")):
                parser.raise_error(f'Unexpected attribute "{key}" found')
        if by_bases:
            return cls.made(parser, **padding, **cls.read(entries))
        order, shape = entries.ints("order"), entries.ints("shape")
        if len(order) != len(shape):
            parser.raise_error("Mismatch of shape and order ranks in padded layout")
        return cls.made(parser, **padding, offset=identity_bases(order, shape), shape=shape)

    def print_parameter(self, printer: Printer) -> None:
        v = self.data
        pairs = ", ".join(f"{i}:+{p}" for i, p in zip(v.intervals, v.paddings, strict=True))
        printer.print_string(f"<[{pairs}] {{")
        if not v.block and v.offset == identity_bases(v.order, v.shape):
            printer.print_string(f"order = {spelled(v.order)}, shape = {spelled(v.shape)}")
        else:
            self.print_fields(printer)
        printer.print_string("}>")


def identity_bases(order: Sequence[int], shape: Sequence[int]) -> Bases:
    """Bases of the offset that walks `shape` with the dimensions in `order`, fastest first."""
    bases: list[Ints] = []
    for dim in order:
        step = 1
        while step < shape[dim]:
            bases.append(tuple(step if d == dim else 0 for d in range(len(shape))))
            step *= 2
    return tuple(bases)


_ATTR_OF: dict[type[Encoding], type[EncodingAttr[Any]]] = {
    attr.VALUE: attr
    for attr in (
        BlockedEncodingAttr,
        LinearEncodingAttr,
        NvidiaMmaEncodingAttr,
        AmdMfmaEncodingAttr,
        AmdWmmaEncodingAttr,
        SliceEncodingAttr,
        DotOperandEncodingAttr,
        SwizzledSharedEncodingAttr,
        AmdRotatingSharedEncodingAttr,
        NVMMASharedEncodingAttr,
        SharedLinearEncodingAttr,
        PaddedSharedEncodingAttr,
    )
}


@cache
def encoding_attr(value: Encoding) -> Attribute:
    """The attribute that holds `value`: always the same object for equal values. Raises `IRError` for other things."""
    made = _ATTR_OF.get(type(value))
    if made is None:
        raise IRError(
            f"{type(value).__name__} is not an encoding of the ttg dialect",
            help="add its attribute to minitriton/dialects/encodings.py (docs/add-an-encoding.md)",
        )
    return made(value)


_ENCODING: type[EncodingAttr[Encoding]] = EncodingAttr


def layout_of(type_: Attribute) -> Encoding | None:
    """The encoding value of a tensor or memory descriptor type; None where it has none that is known here."""
    encoding = getattr(type_, "encoding", None)
    return encoding.data if instance_of(encoding, _ENCODING) else None
