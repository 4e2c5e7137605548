"""The types of the `ttg` dialect: memory descriptors and async tokens.

ttg.MemDescType((128, 64), f16, shared, smem)          !ttg.memdesc<128x64xf16, #shared, #smem>
ttg.MemDescType((128, 64), f16, shared, smem,
                mutable=True, alloc_shape=(3, 128, 64))  !ttg.memdesc<128x64xf16, #shared, #smem, mutable, 3x128x64>
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects.builtin import ArrayAttr, IntAttr, IntegerAttr, ShapedType, i1
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.encodings import SharedMemorySpaceAttr, layout_of
from minitriton.dialects.facts.gpu_traits import show
from minitriton.layouts import encodings as enc
from minitriton.layouts.f2 import is_power_of_two


@irdl_attr_definition
class AsyncTokenType(ParametrizedAttribute, TypeAttribute):
    """Orders asynchronous operations: `!ttg.async.token`."""

    name = "ttg.async.token"


@cache
def _shape_attr(shape: tuple[int, ...]) -> ArrayAttr[IntAttr]:
    return ArrayAttr([IntAttr(dim) for dim in shape])


_FALSE = IntegerAttr(0, i1)
_TRUE = IntegerAttr(-1, i1)


@irdl_attr_definition
class MemDescType(ParametrizedAttribute, TypeAttribute, ShapedType):
    """A view of a buffer in shared (or tensor) memory.

    `alloc_shape` is the shape of the allocation that the view was split from; it equals `shape` for a whole buffer.
    """

    name = "ttg.memdesc"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    encoding: Attribute
    memory_space: Attribute
    mutable_memory: IntegerAttr
    alloc_shape: ArrayAttr[IntAttr]

    def __init__(
        self,
        shape: Sequence[int],
        element_type: Attribute,
        encoding: Attribute,
        memory_space: Attribute,
        mutable: bool = False,
        alloc_shape: Sequence[int] | None = None,
    ) -> None:
        shape_attr = _shape_attr(tuple(shape))
        alloc_attr = shape_attr if alloc_shape is None else _shape_attr(tuple(alloc_shape))
        super().__init__(shape_attr, element_type, encoding, memory_space, _TRUE if mutable else _FALSE, alloc_attr)

    @property
    def mutable(self) -> bool:
        """Whether the buffer may be written after its allocation."""
        return bool(self.mutable_memory.value.data)

    def get_num_dims(self) -> int:
        return len(self.shape.data)

    def get_shape(self) -> tuple[int, ...]:
        return tuple(dim.data for dim in self.shape.data)

    def get_element_type(self) -> Attribute:
        return self.element_type

    def get_alloc_shape(self) -> tuple[int, ...]:
        """Shape of the whole allocation that this view belongs to."""
        return tuple(dim.data for dim in self.alloc_shape.data)

    def with_(
        self,
        *,
        shape: Sequence[int] | None = None,
        element_type: Attribute | None = None,
        encoding: Attribute | None = None,
        mutable: bool | None = None,
        alloc_shape: Sequence[int] | None = None,
    ) -> MemDescType:
        """This type with some parts replaced (the allocation's shape stays unless given)."""
        return MemDescType(
            self.get_shape() if shape is None else shape,
            self.element_type if element_type is None else element_type,
            self.encoding if encoding is None else encoding,
            self.memory_space,
            self.mutable if mutable is None else mutable,
            self.get_alloc_shape() if alloc_shape is None else alloc_shape,
        )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            encoding = parser.parse_attribute()
            parser.parse_punctuation(",")
            memory_space = parser.parse_attribute()
            mutable = False
            alloc_shape = shape
            while parser.parse_optional_punctuation(",") is not None:
                if parser.parse_optional_keyword("mutable") is not None:
                    mutable = True
                else:
                    alloc_shape = parser.parse_dimension_list()
        return [
            _shape_attr(tuple(shape)),
            element_type,
            encoding,
            memory_space,
            _TRUE if mutable else _FALSE,
            _shape_attr(tuple(alloc_shape)),
        ]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for dim in self.get_shape():
                printer.print_string(f"{dim}x")
            printer.print_attribute(self.element_type)
            for part in (self.encoding, self.memory_space):
                printer.print_string(", ")
                printer.print_attribute(part)
            if self.mutable:
                printer.print_string(", mutable")
            if self.alloc_shape != self.shape:
                printer.print_string(", " + "x".join(map(str, self.get_alloc_shape())))

    def verify(self) -> None:
        complaint = _complaint(self)
        if complaint is not None:
            raise VerifyException(complaint)


def _complaint(type_: MemDescType) -> str | None:
    """What is wrong with a type by itself, with Triton's words."""
    shape, alloc = type_.get_shape(), type_.get_alloc_shape()
    if not shape:
        return "rank 0 memdesc is not allowed"
    if not all(is_power_of_two(size) for size in shape[1:]):
        return f"shape must have power-of-2 and non-zero dimensions; got {show(shape)}"
    if len(alloc) < len(shape):
        return "alloc shape must have at least as many dimensions as shape"
    if any(size > whole for size, whole in zip(shape, alloc[-len(shape) :], strict=True)):
        return f"shape must be less than or equal to allocShape. shape = {show(shape)}, allocShape = {show(alloc)}"
    layout = layout_of(type_)
    if not isinstance(layout, enc.SharedEncoding):
        known = type_.encoding.name.startswith("ttng.tensor_memory")
        return None if known else f"{type_.encoding} is not a valid encoding"
    if not isinstance(type_.memory_space, SharedMemorySpaceAttr):
        return f"memorySpace must be SharedMemorySpace for shared encoding. Got {type_.memory_space}"
    if layout.rank not in (len(shape), len(shape) - 1):
        return f"rank must be equal to or one less than the shape size. Got {layout.rank} and {len(shape)}"
    if isinstance(layout, enc.PaddedShared):
        expected = alloc[1:] if layout.rank == len(alloc) - 1 else alloc
        for dim, (want, have) in enumerate(zip(expected, layout.shape, strict=False)):
            if want != have:
                return f"Mismatch in expected shape for dimension {dim}. Expected: {want}, got: {have}"
    return None
