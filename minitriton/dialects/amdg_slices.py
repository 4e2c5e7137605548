"""Ops of `amdg` that take parts of a tensor, or put it together, without moving data between threads; what is wrong with those that transpose.

%s = amdg.extract_slice %x [0, 32] : tensor<128x64xf16, #blocked> to tensor<128x32xf16, #blocked>
%x = amdg.concat %a, %b : tensor<128x32xf16, #blocked>, tensor<128x32xf16, #blocked> -> tensor<128x64xf16, #blocked>

Every register of the result is a register of the same thread. Counterpart of ExtractSliceOp and ConcatOp of Triton's TritonAMDGPUOps.td.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts import MovesElements
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.enums import ScaleDotElemType
from minitriton.dialects.ttg.types import MemDescType
from minitriton.layouts.encodings import Blocked, DistributedEncoding, DotOperand, Linear, SwizzledShared
from minitriton.layouts.inference import in_thread_transpose_dst
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.to_linear import to_linear_layout

Coordinates = tuple[int, ...]


class ExtractSliceOp(Op):
    """The part of `source` that begins at `static_offsets`."""

    name = "amdg.extract_slice"

    source = operand_def(TensorType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)
    traits = traits_def(Pure(), MovesElements())
    assembly_format = "$source $static_offsets attr-dict `:` type($source) `to` type($result)"

    @property
    def offsets(self) -> Coordinates:
        """Where the part begins."""
        return tuple(int(offset) for offset in self.static_offsets.get_values())

    def verify_(self) -> None:
        complaint = slice_complaint(cast(TensorType, self.source.type), self.result.type, self.offsets)
        if complaint is not None:
            raise VerifyException(complaint)

    def fold_to(self) -> SSAValue | None:
        """extract_slice(concat(a, b, ...)) of a part that is one of them"""
        whole = self.source.owner
        if not isinstance(whole, ConcatOp) or whole.sources[0].type != self.result.type:
            return None
        part, size = self.result.type.get_shape(), whole.result.type.get_shape()
        return whole.sources[tile_number(self.offsets, part, size)]


class ConcatOp(Op):
    """Tensors of one type next to each other, the last dimension fastest."""

    name = "amdg.concat"

    sources = var_operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure(), MovesElements())
    assembly_format = "$sources attr-dict `:` type($sources) `->` type($result)"

    def __init__(self, sources: Sequence[SSAValue], result: Attribute) -> None:
        super().__init__(operands=[sources], result_types=[result])

    def verify_(self) -> None:
        complaint = concat_complaint([cast(TensorType, value.type) for value in self.sources], self.result.type)
        if complaint is not None:
            raise VerifyException(complaint)

    def fold_to(self) -> SSAValue | None:
        """concat(a) = a"""
        return self.sources[0] if len(self.sources) == 1 and self.sources[0].type == self.result.type else None


_UNLIKE = "Lane and warp dim basis must match between source and destination layout."


def slice_complaint(source: TensorType, result: TensorType, offsets: Coordinates) -> str | None:
    """What is wrong with a slice."""
    if source.element_type != result.element_type:
        return "result element type must match source element type"
    if len(source.get_shape()) != len(result.get_shape()):
        return "result rank must be equal to source rank"
    for dim, (whole, part, offset) in enumerate(zip(source.get_shape(), result.get_shape(), offsets, strict=True)):
        if part > whole:
            return f"result shape cannot exceed source shape at dimension {dim}"
        if offset + part > whole:
            return f"invalid offset at dimension {dim}"
    held = set(_registers(source))
    for coordinates in _registers(result):
        moved = tuple(a + b for a, b in zip(coordinates, offsets, strict=True))
        if moved not in held:
            return _missing(moved)
    return None if _threads(source) == _threads(result) else _UNLIKE


def concat_complaint(sources: Sequence[TensorType], result: TensorType) -> str | None:
    """What is wrong with tensors put together."""
    first, whole = sources[0], result.get_shape()
    part = first.get_shape()
    if len(part) != len(whole):
        return "Source and destination tensors must have the same rank."
    if any(size % own for size, own in zip(whole, part, strict=True)):
        return "Source and destination tensor shapes don't match."
    needed = prod(size // own for size, own in zip(whole, part, strict=True))
    if needed != len(sources):
        return f"Number of source tiles ({len(sources)}) doesn't match required count ({needed})."
    if any(source != first for source in sources):
        return "All sources must have identical tensor types."
    if first.element_type != result.element_type:
        return "Element types of sources and destination must match."
    held = set(_registers(first))
    for coordinates in _registers(result):
        within = tuple(at % own for at, own in zip(coordinates, part, strict=True))
        if within not in held:
            return _missing(within)
    return None if _threads(first) == _threads(result) else _UNLIKE


def tile_number(coordinates: Coordinates, part: Sequence[int], whole: Sequence[int]) -> int:
    """Which of the tensors that are put together has an element."""
    number = 0
    for at, own, size in zip(coordinates, part, whole, strict=True):
        number = number * (size // own) + at // own
    return number


def _registers(type_: TensorType) -> list[Coordinates]:
    """The elements of thread 0."""
    bases = _linear(type_).bases["register"]
    return [
        tuple(
            sum(basis[dim] for basis, bit in zip(bases, bits, strict=True) if bit)
            for dim in range(len(type_.get_shape()))
        )
        for bits in product((0, 1), repeat=len(bases))
    ]


def _threads(type_: TensorType) -> object:
    bases = _linear(type_).bases
    return bases["lane"], bases["warp"]


def _linear(type_: TensorType) -> LinearLayout:
    layout = layout_of(type_)
    assert isinstance(layout, DistributedEncoding)
    return to_linear_layout(layout, type_.get_shape())


def _missing(coordinates: Coordinates) -> str:
    return f"No source register holds the element for destination index [{', '.join(map(str, coordinates))}]"


def transpose_complaint(source: TensorType, result: TensorType) -> str | None:
    """What is wrong with a transpose in the registers of each thread."""
    if source.element_type != result.element_type:
        return "Expect input and output tensor to have same dtype"
    shape = source.get_shape()
    if shape != result.get_shape():
        return "Expect equal input and output shapes"
    if len(shape) != 2:
        return "Expect 2d tensor"
    layout = layout_of(source)
    if not isinstance(layout, Blocked):
        return "Expect input tensor in Blocked encoding"
    expected = to_linear_layout(in_thread_transpose_dst(layout, shape), shape)
    return None if _linear(result) == expected else f"Expect output layout to be transposed per thread: {expected}"


def packed_complaint(source: Attribute, result: TensorType) -> str | None:
    """What is wrong with a load that packs bytes of two elements each along k."""
    operand, shared = layout_of(result), layout_of(source)
    if not isinstance(operand, DotOperand):
        return "only works with DotOperandEncodingAttr dst encoding"
    if not isinstance(shared, SwizzledShared) or not isinstance(source, MemDescType):
        return "only works with SwizzledSharedEncodingAttr src encoding"
    is_right = operand.op_idx == 1
    plain, batched = ((1, 0), (2, 1, 0)) if is_right else ((0, 1), (1, 2, 0))
    shape = list(result.get_shape())
    first = len(source.get_shape()) - 2
    if tuple(shared.order) != (batched if first else plain):
        return "Order of dimensions don't match expected"
    shape[first] = shape[first] * 2 if is_right else shape[first] // 2
    shape[first + 1] = shape[first + 1] // 2 if is_right else shape[first + 1] * 2
    return (
        None
        if tuple(source.get_shape()) == tuple(shape)
        else "Input and output dimensions don't match after packing changes"
    )


_UPCAST_FROM = ("bf16", "f16", "i8", "f8E4M3FN", "f8E5M2")


def upcast_complaint(source: TensorType, scale: TensorType, form: ScaleDotElemType) -> str | None:
    """What is wrong with operands of `amdg.upcast_mxfp`."""
    shape, scales = source.get_shape(), scale.get_shape()
    if str(source.element_type) not in _UPCAST_FROM:
        return "element type of the first operand must be bf16/fp16, OCP fp8/bf8 or i8"
    if str(scale.element_type) != "i8":
        return "element type of the second operand must be uint8"
    if len(shape) != len(scales) or len(shape) < 2:
        return "operands must have the same number of dimensions, at least 2"
    if form.value not in ("e2m1", "e4m3", "e5m2"):
        return "NYI: fpType must be E2M1, E4M3, or E5M2"
    operand, layout = layout_of(source), layout_of(scale)
    if (operand is None) != (layout is None):
        return "Expected either both or neither operands to have an encoding"
    if operand is None:
        return None
    if not isinstance(operand, DotOperand):
        return "Expected a DotOperandEncodingAttr for values"
    if not isinstance(layout, Blocked | Linear):
        return "Expected a BlockOperandEncoding or LinearOperandEncoding for scales"
    k = len(shape) - 1 - operand.op_idx
    if shape[k] != (16 if form.value == "e2m1" else 32) * scales[-1]:
        return "K dimension of first operand must be 16 times larger than last/K dimension of the second operand"
    if shape[:-2] != scales[:-2]:
        return "batch dimension must match between operands"
    rows = shape[len(shape) - 2 + operand.op_idx]
    return None if rows == scales[-2] else "M/N dimension must match between operands"
