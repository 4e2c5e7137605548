"""What a tensor descriptor's type says of its tensor map.

In: `!tt.tensordesc<tensor<128x64xf16, #shared>>`. Out: the box that one copy moves, the swizzle and the element type as the hardware
counts them (PTX ISA, "tensormap.replace"), and the layout of buffers that are copied through it.

    box_shape      (128, 64)     at most 256 a side, one swizzle width along the last dimension
    swizzle_mode   3             0 none, 1 to 3 for 32, 64 and 128 bytes
    element_code   6             u8 u16 u32 s32 u64 s64 f16 f32 f32.ftz f64 bf16, from 0
"""

from dataclasses import replace

from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, ModuleOp
from xdsl.dialects.builtin import Signedness as Sign
from xdsl.ir import Attribute

from minitriton.dialects import tt
from minitriton.dialects.encodings import layout_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import TensorDescType
from minitriton.errors import IRError
from minitriton.layouts.cta_split import shape_per_cta
from minitriton.layouts.encodings import Bases, Encoding, NVMMAShared, SwizzledShared
from minitriton.layouts.to_linear import tma_block_shape
from minitriton.target.tensor_map import DescriptorCopy

_FLOATS: dict[type[Attribute], int] = {Float16Type: 6, Float32Type: 7, Float64Type: 9, BFloat16Type: 10}
_INTEGERS = {1: (0, 0), 2: (1, 1), 4: (2, 3), 8: (4, 5)}
"""Bytes of an element to its code unsigned and signed."""
_PADDED_FP4 = 14


def descriptor_encoding(type_: TensorDescType) -> NVMMAShared | SwizzledShared:
    """The layout of the descriptor's blocks in shared memory. Raises `IRError` if it has none that copies can have."""
    encoding = layout_of(type_.block_type)
    plain = isinstance(encoding, SwizzledShared) and encoding.vec == encoding.per_phase == encoding.max_phase == 1
    if isinstance(encoding, NVMMAShared) or plain:
        return encoding  # pyright: ignore[reportReturnType]
    raise IRError(
        f"a descriptor's blocks cannot be in shared memory as {encoding}",
        help="triton-nvidia-optimize-descriptor-encoding gives descriptors a layout",
    )


def element_bytes(type_: TensorDescType) -> int:
    """Bytes of an element."""
    element = type_.block_type.element_type
    if instance_of(element, IntegerType):
        return element.width.data // 8
    assert isinstance(element, AnyFloat)
    return element.bitwidth // 8


def is_fp4_padded(type_: TensorDescType) -> bool:
    """Whether the elements are pairs of fp4, spread out in shared memory."""
    return bool(getattr(layout_of(type_.block_type), "fp4_padded", False))


def swizzle_mode(type_: TensorDescType) -> int:
    """How the copy swizzles."""
    width = getattr(descriptor_encoding(type_), "swizzling_byte_width", 0)
    return {0: 0, 32: 1, 64: 2, 128: 3}[width]


def element_code(type_: TensorDescType) -> int:
    """The element type of the tensor map; what the hardware has no type for counts as unsigned."""
    if is_fp4_padded(type_):
        return _PADDED_FP4
    element = type_.block_type.element_type
    code = _FLOATS.get(type(element))
    if code is not None:
        return code
    size = element_bytes(type_)
    if size not in _INTEGERS:
        raise IRError(f"Tensor descriptor element type must have size 1, 2, or 4 but got {size}")
    signed = instance_of(element, IntegerType) and element.signedness.data is Sign.SIGNED
    return _INTEGERS[size][signed]


def box_shape(type_: TensorDescType, packed: bool = False) -> tuple[int, ...]:
    """The box that one copy moves, in elements (pairs of fp4 count as two unless `packed`)."""
    encoding = descriptor_encoding(type_)
    per_cta = shape_per_cta(encoding, type_.block_type.get_shape())
    return tma_block_shape(encoding, per_cta, packed) if isinstance(encoding, NVMMAShared) else per_cta


def cga_of_rank(cga: Bases, rank: int) -> Bases:
    """How CTAs share a tensor of `rank`, from how they share one with more or fewer leading dimensions."""
    return tuple((0,) * (rank - len(basis)) + tuple(basis[max(0, len(basis) - rank) :]) for basis in cga)


def encoding_of_rank(encoding: NVMMAShared | SwizzledShared, rank: int) -> NVMMAShared | SwizzledShared:
    """`encoding` for a tensor of `rank`: leading dimensions of size 1 come and go."""
    cga = cga_of_rank(encoding.cga, rank)
    if isinstance(encoding, NVMMAShared):
        return replace(encoding, cga_layout=cga, rank=rank)
    old = encoding.order
    order = [rank - i - 1 for i in range(rank - len(old))] + [dim for dim in old if dim < rank]
    return replace(encoding, order=tuple(order), cga_layout=cga)


def buffer_encoding(type_: TensorDescType, shape: tuple[int, ...]) -> Encoding:
    """The layout of a buffer of `shape` that is copied through a descriptor of `type_`."""
    encoding = descriptor_encoding(type_)
    return encoding if shape == type_.block_type.get_shape() else encoding_of_rank(encoding, len(shape))


def descriptor_metadata(module: ModuleOp) -> list[DescriptorCopy]:
    """For each descriptor that the kernel of `module` takes: what the host needs to encode it. Names are Triton's."""
    kernel = next((op for op in module.body.block.ops if isinstance(op, tt.FuncOp) and op.is_public), None)
    types = () if kernel is None else kernel.function_type.inputs.data
    return [
        {
            "swizzle": swizzle_mode(type_),
            "elem_size": element_bytes(type_),
            "elem_type": element_code(type_),
            "block_size": list(box_shape(type_)),
            "fp4_padded": is_fp4_padded(type_),
        }
        for type_ in types
        if isinstance(type_, TensorDescType)
    ]
