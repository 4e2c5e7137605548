"""What the ops of `ttg` demand of their operands beyond their declarations, with Triton's words.

Each `..._complaint` function gets an op and gives what is wrong with it, or None. Layouts are checked against the launch
facts by `layout_complaint`: a tensor with `warpsPerCTA = [4]` cannot live where 8 warps run.
"""

from math import prod
from typing import cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, NoneAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from minitriton.dialects.encodings import SharedMemorySpaceAttr, layout_of
from minitriton.dialects.facts.gpu_traits import show
from minitriton.dialects.ttg.types import MemDescType
from minitriton.layouts import encodings as enc
from minitriton.layouts.f2 import is_power_of_two
from minitriton.layouts.inference import fp4_to_fp_src
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.to_linear import to_linear_layout


def _memory_types_complaint(src: TensorType | MemDescType, dst: TensorType | MemDescType) -> str | None:
    if src.element_type != dst.element_type:
        return f"source element type {src} must match destination element type {dst.element_type}"
    if src.get_shape() != dst.get_shape():
        return f"source shape [{show(src.get_shape())}] must match [destination shape {show(dst.get_shape())}]"
    return None


def _rank_complaint(tensor: TensorType, memdesc: MemDescType, which: str) -> str | None:
    layout = layout_of(memdesc)
    if layout is None:
        return "expected memdesc to have a shared memory encoding"
    if tensor.get_num_dims() != layout.rank:
        return f"{which} has rank {tensor.get_num_dims()} but memdesc encoding has rank {layout.rank}"
    return None


def local_alloc_complaint(src: SSAValue | None, result: Attribute) -> str | None:
    """Of `ttg.local_alloc`."""
    result = cast(MemDescType, result)
    if not isinstance(result.memory_space, SharedMemorySpaceAttr):
        return "should create a buffer of shared memory"
    if src is not None:
        rank = _rank_complaint(cast(TensorType, src.type), result, "source")
        if rank is not None:
            return rank
    if result.shape != result.alloc_shape:
        return "result shape and its alloc shape must match"
    if src is None:
        return None if result.mutable else "uninitialized alloc must have a mutable memdesc type"
    return _memory_types_complaint(cast(TensorType, src.type), result)


def local_store_complaint(src: Attribute, dst: Attribute) -> str | None:
    """Of `ttg.local_store`."""
    tensor, memdesc = cast(TensorType, src), cast(MemDescType, dst)
    if not memdesc.mutable:
        return "Cannot store into immutable memory"
    return _rank_complaint(tensor, memdesc, "source") or _memory_types_complaint(tensor, memdesc)


def local_load_complaint(src: Attribute, result: Attribute) -> str | None:
    """Of `ttg.local_load`."""
    memdesc, tensor = cast(MemDescType, src), cast(TensorType, result)
    return _rank_complaint(tensor, memdesc, "result") or _memory_types_complaint(memdesc, tensor)


def memdesc_index_complaint(src_type: Attribute, result_type: Attribute) -> str | None:
    """Of `ttg.memdesc_index`."""
    src, dst = cast(MemDescType, src_type), cast(MemDescType, result_type)
    if src.element_type != dst.element_type:
        return "result element type must match desc element type"
    if src.get_num_dims() != dst.get_num_dims() + 1:
        return "result rank must be input rank - 1"
    if len(src.get_alloc_shape()) != src.get_num_dims():
        return "We don't allow taking memdesc_index of a memdesc_index"
    if src.get_shape()[1:] != dst.get_shape():
        return "result shape must equal to srcShape[1:]"
    if src.alloc_shape != src.shape:
        return "We don't support memdesc_index of a subview"
    if isinstance(layout_of(src), enc.SharedEncoding) != isinstance(layout_of(dst), enc.SharedEncoding):
        return "src and dst must have the same type of encoding"
    if dst.alloc_shape != dst.shape:
        return "alloc shape must match shape for both result and src"
    return _same_layout_complaint(src, dst)


def _same_layout_complaint(src: MemDescType, dst: MemDescType) -> str | None:
    """Of views whose elements have the offsets of the buffer, where both layouts have one rank."""
    have, want = layout_of(dst), layout_of(src)
    if have == want or have is None or want is None or have.rank != want.rank:
        return None
    return f"result must have the layout of the buffer: expected {src.encoding}, found {dst.encoding}"


def memdesc_subslice_complaint(src_type: Attribute, result_type: Attribute, offsets: tuple[int, ...]) -> str | None:
    """Of `ttg.memdesc_subslice`: a slice must not go through a swizzling pattern."""
    src, dst = cast(MemDescType, src_type), cast(MemDescType, result_type)
    if src.element_type != dst.element_type:
        return "result element type must match desc element type"
    if len(offsets) != src.get_num_dims():
        return "offsets must have the same rank as input"
    if src.get_num_dims() != dst.get_num_dims():
        return "result rank must equal to input rank"
    layout = layout_of(src)
    if not isinstance(layout, enc.SharedEncoding) or not isinstance(layout_of(dst), enc.SharedEncoding):
        return "src and dst must both be of shared memory encoding"
    src_shape, dst_shape = src.get_shape(), dst.get_shape()
    split = [dim for dim, (a, b) in enumerate(zip(src_shape, dst_shape, strict=True)) if a != b]
    for dim, offset in enumerate(offsets if split else ()):
        if dim not in split and offset:
            return "A non zero offset found in a dimension that is not being split"
        if dim in split and offset & (dst_shape[dim] - 1):
            return "The split offset may not touch the tile"
        if not 0 <= offset <= src_shape[dim] - dst_shape[dim]:
            return f"expected an offset of at most {src_shape[dim] - dst_shape[dim]} in dimension {dim}, found {offset}"
    return (
        (_split_complaint(layout, src, dst, split) if split else None)
        or _same_layout_complaint(src, dst)
        or _alloc_shape_complaint(layout, src, dst, offsets)
    )


def _alloc_shape_complaint(
    layout: enc.SharedEncoding, src: MemDescType, dst: MemDescType, offsets: tuple[int, ...]
) -> str | None:
    """Of a slice: a type without the buffer's shape is read as a buffer of its own, whose elements must be where the slice's do."""
    whole = src.get_alloc_shape()
    if dst.get_alloc_shape() == whole:
        return None
    if dst.alloc_shape == dst.shape and not any(offsets):
        own, buffer = (
            to_linear_layout(layout, shape).pseudoinvert() for shape in (dst.get_shape(), whole[-len(offsets) :])
        )
        if all(buffer.bases[dim][: len(steps)] == steps for dim, steps in own.bases.items()):
            return None
    return (
        f"result must have the alloc shape of the buffer: expected {show(whole)}, found {show(dst.get_alloc_shape())}"
    )


def _split_complaint(layout: enc.SharedEncoding, src: MemDescType, dst: MemDescType, split: list[int]) -> str | None:
    if isinstance(layout, enc.PaddedShared):
        if layout.rank < src.get_num_dims():
            return "SubSlice of low rank PaddedSharedEncoding from higher rank tensors is not supported yet"
        sizes = {f"dim{dim}": size for dim, size in enumerate(layout.shape)}
        linear = LinearLayout({"offset": layout.offset, "block": layout.block}, sizes)
    else:
        linear = to_linear_layout(layout, src.get_shape())
    if len(linear.bases["block"]):
        return "non-trivial block dimension not supported"
    inverse = linear.invert()
    for dim in split:
        step = dst.get_shape()[dim]
        while step < src.get_shape()[dim]:
            index = inverse.apply({f"dim{d}": step if d == dim else 0 for d in range(src.get_num_dims())})
            if not is_power_of_two(index["offset"]):
                return "We don't support splitting along the swizzling pattern"
            step *= 2
    return None


def memdesc_reinterpret_complaint(src_type: Attribute, result_type: Attribute, ring: Attribute) -> str | None:
    """Of `ttg.memdesc_reinterpret`: no more memory than there is, and no writing to what is constant. `ring`: the buffer that the source is
    a slot of, or the source: a slot's view may reach into the next ones (a tutorial of Triton's keeps a result in two slots of an operand)."""
    src, dst = cast(MemDescType, src_type), cast(MemDescType, result_type)
    if src.memory_space != dst.memory_space:
        return f"source and destination memory space must match: expected {src.memory_space}, found {dst.memory_space}"
    if dst.mutable and not src.mutable:
        return "cannot make a constant buffer mutable: expected a constant view, found a mutable one"
    have, want = _num_bytes(dst), _num_bytes(cast(MemDescType, ring))
    return None if have <= want else f"expected at most {want} bytes, the size of the buffer, found {have}"


def _num_bytes(type_: MemDescType) -> int:
    return prod(type_.get_shape()) * getattr(type_.element_type, "bitwidth", 64) // 8


def memdesc_reshape_complaint(src_type: Attribute, result_type: Attribute) -> str | None:
    """Of `ttg.memdesc_reshape`, its layout aside."""
    src, dst = cast(MemDescType, src_type), cast(MemDescType, result_type)
    if src.element_count() != dst.element_count():
        return "number of src and dst elements of reshape must be the same"
    if src.element_type != dst.element_type:
        return "result element type must match src element type"
    if src.get_alloc_shape()[-src.get_num_dims() :] != src.get_shape():
        return "NYI: memdesc_reshape of memdesc_subslice"
    return None


def convert_layout_complaint(src: TensorType, result: TensorType) -> str | None:
    """Of `ttg.convert_layout`."""
    if (src.get_shape(), src.element_type) == (result.get_shape(), result.element_type):
        return None
    return f"requires the same shape and element type for all operands and results: expected '{src}', found '{result}'"


def fp4_to_fp_complaint(src: TensorType, result: TensorType, axis: int) -> str | None:
    """Of `ttg.fp4_to_fp`."""
    if not isinstance(result.element_type, BFloat16Type | Float16Type):
        return f"only bf16 or f16 is supported for now, got {result.element_type}"
    rank = src.get_num_dims()
    if rank != result.get_num_dims():
        return f"source rank {rank} != result rank {result.get_num_dims()}"
    if not 0 <= axis < rank:
        return f"axis {axis} out of range for rank {rank}"
    for dim, (have, want) in enumerate(zip(src.get_shape(), result.get_shape(), strict=True)):
        if dim == axis and want != 2 * have:
            return f"axis {axis} dimension must be 2x source dimension (src={have}, dst={want})"
        if dim != axis and want != have:
            return f"dimension {dim} mismatch (src={have}, dst={want}, axis={axis})"
    if isinstance(src.encoding, NoneAttr) != isinstance(result.encoding, NoneAttr):
        return "source and result must both have an encoding, or neither"
    src_layout, result_layout = layout_of(src), layout_of(result)
    if src_layout is None or not isinstance(result_layout, enc.DistributedEncoding):
        return None
    inferred = fp4_to_fp_src(result_layout, result.get_shape(), axis)
    if inferred is None:
        return "failed to infer encoding"
    if to_linear_layout(inferred, src.get_shape()) != to_linear_layout(src_layout, src.get_shape()):
        return "Src and Dst encodings are not compatible"
    return None
