"""Tensor memory (PTX ISA 9.7.16): layouts, buffers and their methods. Declarations, see `declare.py`.

acc = allocate_tensor_memory(ttgl.float32, [128, 128], TensorMemoryLayout([128, 128], col_stride=1))
x = acc.load(get_tmem_reg_layout(ttgl.float32, (128, 128), acc.layout, num_warps=4))
"""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from minitriton.language.declare import builtin, constexpr_function
from minitriton.language.dtypes import dtype
from minitriton.language.gluon.core import LayoutArgument
from minitriton.language.gluon.layouts import (
    Bases,
    DistributedLinearLayout,
    Layout,
    LayoutError,
    frozen,
    layout,
    layout_of,
    require_powers_of_two,
)
from minitriton.language.gluon.types import memory_descriptor, memory_descriptor_type
from minitriton.language.values import ConstInt, ConstInts, ConstType, Named, Operand, constexpr, tensor, unwrap
from minitriton.layouts import tensor_memory
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.to_linear import linear_encoding_of


class TensorMemoryLayoutBase(Layout):
    """Base of layouts in tensor memory."""

    module = "blackwell"
    cta_split_num: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cta_split_num is not None and len(self.cta_split_num) != 2:
            raise LayoutError(f"cta_split_num has two numbers, got {self.cta_split_num}")

    @property
    def cta_split(self) -> tuple[int, int]:
        """Into how many parts CTAs split the rows and the columns."""
        return (1, 1) if self.cta_split_num is None else tuple(self.cta_split_num)

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        """Rows and columns of tensor memory as coordinates of a tensor of `shape`."""
        raise NotImplementedError

    def _split_name(self) -> str:
        return "" if self.cta_split_num is None else "CS" + "x".join(map(str, self.cta_split_num))


@layout
class TensorMemoryLayout(TensorMemoryLayoutBase):
    """Blocks of (rows, columns) `block`; from one column to the next it is `col_stride` columns of the element's width.

    `two_ctas`: two CTAs compute one MMA.
    """

    block: Sequence[int]
    col_stride: int
    cta_split_num: Sequence[int] | None = None
    two_ctas: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.block) != 2:
            raise LayoutError(f"block has two numbers, got {self.block}")
        require_powers_of_two([self.col_stride])

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        return tensor_memory.tensor_memory_layout(shape, self.block, self.col_stride, self.cta_split, self.two_ctas)

    def mangle(self) -> str:
        two = "2CT" if self.two_ctas else ""
        return f"TL{self.block[0]}x{self.block[1]}C{self.col_stride}{self._split_name()}{two}TL"


@layout
class TensorMemoryScalesLayout(TensorMemoryLayoutBase):
    """Scales of the blocks of an operand."""

    cta_split_num: Sequence[int] | None = None

    def linear(self, shape: Sequence[int]) -> LinearLayout:
        return tensor_memory.scales_layout(shape, self.cta_split)

    def mangle(self) -> str:
        return f"TLS{self._split_name()}TLS"


@constexpr_function
def get_tmem_reg_layout(
    element_ty: dtype,
    shape: Sequence[int],
    layout: TensorMemoryLayoutBase,
    num_warps: int,
    instr_variant: str = "32x32b",
    cga_layout: Bases = (),  # pyright: ignore[reportArgumentType] (as in Triton)
) -> DistributedLinearLayout:
    """The layout in registers of a load or store of `shape` by `num_warps` warps.

    `instr_variant`: 32x32b, 16x64b, 16x128b or 16x256b, rows by bits of an access; 32x32b_splitn has the halves of the columns in registers of
    one thread. Raises `LayoutError` where the instruction cannot reach the elements so.
    """
    variant = unwrap(instr_variant)
    atom = variant.removesuffix("_splitn") if variant == "32x32b_splitn" else variant
    if atom not in tensor_memory.ATOMS:
        raise LayoutError(f"unknown instr_variant: {variant}; known: {', '.join(tensor_memory.ATOMS)}, 32x32b_splitn")
    if num_warps < 4 or num_warps & (num_warps - 1):
        raise LayoutError(f"num_warps must be a power of two and >= 4, got {num_warps}")
    sizes = [unwrap(size) for size in unwrap(shape)]
    if len(sizes) != 2:
        raise LayoutError(f"expected a 2D tensor, got the shape {sizes}")
    bits = unwrap(element_ty).primitive_bitwidth
    memory = unwrap(layout).linear(sizes)
    found = tensor_memory.registers_of(memory, atom, unwrap(num_warps), bits, frozen(unwrap(cga_layout)))
    if found is None:
        raise LayoutError(f"TMEM layout '{atom}' unsupported for shape {sizes} and num_warps {num_warps}")
    made = layout_of(linear_encoding_of(found))
    assert isinstance(made, DistributedLinearLayout)
    return _with_halves_in_registers(made, sizes[1] // 2, bits) if variant != atom else made


def _with_halves_in_registers(made: DistributedLinearLayout, half: int, bits: int) -> DistributedLinearLayout:
    """`made` with the basis of the last column bit in the last register."""
    registers, lanes, warps, last = made.reg_bases, made.lane_bases, made.warp_bases, [0, half]
    if not registers:
        if lanes[-1] != last:
            raise LayoutError(f"splitn with 1 register requires the last lane basis to be {last}. Got {made}")
        return DistributedLinearLayout([last], [*lanes[:-1], [0, 0]], warps, made.block_bases, made.shape)
    if registers[-1] == last:
        return made
    in_column = tensor_memory.COLUMN_BITS // bits
    if 1 << len(registers) <= in_column:
        raise LayoutError(
            f"halves of the columns come by two loads: a thread needs more than {in_column} elements; load as 32x32b and convert"
        )
    if last not in (*lanes, *warps):
        raise LayoutError(f"splitn requires a lane or warp basis of {last}. Got {made}")
    swapped = {tuple(last): registers[-1]}
    lanes, warps = ([swapped.get(tuple(basis), basis) for basis in bases] for bases in (lanes, warps))
    return DistributedLinearLayout([*registers[:-1], last], lanes, warps, made.block_bases, made.shape)


class tensor_memory_descriptor(memory_descriptor):
    """A view of a buffer in tensor memory. Methods are `members`."""

    members: ClassVar[dict[str, Named]] = {}


class tensor_memory_descriptor_type(memory_descriptor_type):
    """The type of a view of tensor memory."""

    kind = "tensor_memory_descriptor"
    value_class = tensor_memory_descriptor

    def __init__(
        self, element_ty: dtype, shape: Sequence[int], layout: TensorMemoryLayoutBase, alloc_shape: Sequence[int]
    ) -> None:
        super().__init__(element_ty, shape, layout, alloc_shape)
        if not isinstance(self.layout, TensorMemoryLayoutBase):
            raise LayoutError(
                f"a buffer in tensor memory has a TensorMemoryLayout or TensorMemoryScalesLayout, got {self.layout}"
            )


_method, _private_method = tensor_memory_descriptor.method, tensor_memory_descriptor.private_method


@_method
@builtin
def load(buffer: tensor_memory_descriptor, layout: LayoutArgument) -> tensor:
    """The content of a buffer as a tensor with `layout`, such as `get_tmem_reg_layout` gives."""


@_method
@builtin
def store(buffer: tensor_memory_descriptor, value: tensor, pred: Operand = True) -> None:
    """Stores a tensor of the buffer's shape and dtype, where `pred` holds."""


@_method
@builtin
def slice(buffer: tensor_memory_descriptor, start: ConstInt, length: ConstInt) -> tensor_memory_descriptor:
    """A view of `length` columns from `start` on."""


@_method
@builtin
def index(buffer: tensor_memory_descriptor, index: Operand) -> tensor_memory_descriptor:
    """A view of one element along the first dimension."""


@_private_method
@builtin
def reinterpret(
    buffer: tensor_memory_descriptor, dtype: ConstType, shape: ConstInts, layout: TensorMemoryLayoutBase | constexpr
) -> tensor_memory_descriptor:
    """The buffer's columns as another dtype, shape and layout."""


@builtin
def allocate_tensor_memory(
    element_ty: ConstType, shape: ConstInts, layout: TensorMemoryLayoutBase | constexpr, value: tensor | None = None
) -> tensor_memory_descriptor:
    """A buffer in tensor memory, filled with `value` if there is one."""
