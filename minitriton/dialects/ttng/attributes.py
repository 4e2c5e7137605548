"""Attributes of `ttng`: tensor memory of sm_100, kept so that its IR parses and prints.

#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


def _parse_struct(parser: AttrParser, defaults: dict[str, int | None]) -> list[int]:
    """`key = value` pairs in any order; a key with default None must be there."""
    found: dict[str, int] = {}

    def entry() -> None:
        key = parser.parse_identifier()
        if key not in defaults:
            parser.raise_error(f"unexpected key: {key}")
        parser.parse_punctuation("=")
        found[key] = parser.parse_integer()

    parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry)
    values: list[int] = []
    for key, default in defaults.items():
        if key in found:
            values.append(found[key])
        elif default is not None:
            values.append(default)
        else:
            parser.raise_error(f"struct is missing required parameter: {key}")
    return values


@irdl_attr_definition
class TensorMemorySpaceAttr(ParametrizedAttribute):
    """The memory space of tensor memory: `#ttng.tensor_memory`."""

    name = "ttng.tensor_memory"
    ALIAS: ClassVar[str | None] = None


TMEM = TensorMemorySpaceAttr()


@irdl_attr_definition
class TensorMemoryEncodingAttr(ParametrizedAttribute):
    """Blocks of `block_m` x `block_n` elements over the rows and columns of tensor memory."""

    name = "ttng.tensor_memory_encoding"
    ALIAS: ClassVar[str | None] = "tmem"

    block_m: IntAttr
    block_n: IntAttr
    col_stride: IntAttr
    cta_split_m: IntAttr
    cta_split_n: IntAttr
    two_ctas: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        defaults: dict[str, int | None] = {
            "blockM": None,
            "blockN": None,
            "colStride": None,
            "CTASplitM": 1,
            "CTASplitN": 1,
            "twoCTAs": 0,
        }
        return [IntAttr(value) for value in _parse_struct(parser, defaults)]

    def print_parameters(self, printer: Printer) -> None:
        text = f"<blockM = {self.block_m.data}, blockN = {self.block_n.data}, colStride = {self.col_stride.data}"
        if self.cta_split_m.data != 1:
            text += f", CTASplitM = {self.cta_split_m.data}"
        if self.cta_split_n.data != 1:
            text += f", CTASplitN = {self.cta_split_n.data}"
        if self.two_ctas.data:
            text += ", twoCTAs = true"
        printer.print_string(text + ">")


@irdl_attr_definition
class TensorMemoryScalesEncodingAttr(ParametrizedAttribute):
    """The arrangement of block scales in tensor memory."""

    name = "ttng.tensor_memory_scales_encoding"
    ALIAS: ClassVar[str | None] = "tmem_scales"

    cta_split_m: IntAttr
    cta_split_n: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return [IntAttr(value) for value in _parse_struct(parser, {"CTASplitM": 1, "CTASplitN": 1})]

    def print_parameters(self, printer: Printer) -> None:
        parts = [
            f"{name} = {value.data}"
            for name, value in (("CTASplitM", self.cta_split_m), ("CTASplitN", self.cta_split_n))
            if value.data != 1
        ]
        printer.print_string("<" + ", ".join(parts) + ">")
