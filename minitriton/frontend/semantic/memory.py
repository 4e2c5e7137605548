"""Loads, stores, block pointers and atomics.

tl.load(p, mask=m, other=0.0)     tt.load %p, %m, %other, all of one shape
tl.atomic_max on fp32             two integer atomics: as int32 where the value is positive, as uint32 where negative
"""

from collections.abc import Sequence
from typing import TypedDict, TypeVar

from xdsl.ir import SSAValue

from minitriton.dialects import tt
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.casts import cast, resize_integer, with_scalar
from minitriton.frontend.semantic.values import (
    broadcast_all,
    broadcast_pair,
    broadcast_to_shape,
    is_integer,
    several,
    to_tensor,
)
from minitriton.language import dtypes as dt
from minitriton.language.dtypes import block_of, block_type, dtype, pointer_type
from minitriton.language.values import Operand, tensor

LOAD_CACHES = {"": "none", ".ca": "ca", ".cg": "cg", ".cs": "cs", ".cv": "cv"}
STORE_CACHES = {"": "none", ".wb": "wb", ".cg": "cg", ".cs": "cs", ".wt": "wt"}
_EVICTIONS = {"": "evict_normal", "evict_last": "evict_last", "evict_first": "evict_first"}
PADDINGS: dict[str, str | None] = {"": None, "zero": "zero", "nan": "nan"}
_INSTEAD_OF_A_MASK = 'name the dimensions that may be masked, boundary_check=(0, 1), and of loads padding_option="zero"'


Entry = TypeVar("Entry", bound="str | None")


class Caching(TypedDict):
    """How caches treat an access."""

    cache: str
    evict: str


def choice(table: dict[str, Entry], given: str | None, what: str) -> Entry:
    """The entry of `table` for a string argument. Raises for an unknown one, naming the known."""
    given = given or ""
    if given not in table:
        known = ", ".join(repr(k) for k in table if k)
        raise LanguageValueError(f"{what} {given} not supported", f"use {known}")
    return table[given]


def load_caching(cache_modifier: str, eviction_policy: str) -> Caching:
    """How a load asks caches to treat it."""
    return {
        "cache": choice(LOAD_CACHES, cache_modifier, "Cache modifier"),
        "evict": choice(_EVICTIONS, eviction_policy, "Eviction policy"),
    }


def pointed_block(ptr: tensor) -> block_type | None:
    """The block that `ptr` points at, if it is a block pointer, made by `tl.make_block_ptr`."""
    type = ptr.type
    return type.element_ty if isinstance(type, pointer_type) and isinstance(type.element_ty, block_type) else None


def _pointer_type(ptr: object, where: str) -> pointer_type:
    """The type of a pointer, or of each in a block of them. Raises for what is none."""
    if isinstance(ptr, tensor) and isinstance(ptr.dtype, pointer_type):
        return ptr.dtype
    type = repr(ptr.type) if isinstance(ptr, tensor) else f"{ptr!r}"
    raise LanguageValueError(f"Unsupported ptr type {type} in `{where}`", "pass a pointer, such as `base + offsets`")


def load(
    b: IRBuilder,
    pointer: tensor,
    mask: Operand | None = None,
    other: Operand | None = None,
    boundary_check: int | Sequence[int] = (),
    padding_option: str = "",
    cache_modifier: str = "",
    eviction_policy: str = "",
    volatile: bool = False,
) -> tensor:
    """A load through a pointer, a block of pointers, or a block pointer."""
    caching = load_caching(cache_modifier, eviction_policy)
    padding = choice(PADDINGS, padding_option, "Padding option")
    kind = _pointer_type(pointer, "tl.load")
    mask = None if mask is None else to_tensor(b, mask)
    other = None if other is None else to_tensor(b, other)
    block = pointed_block(pointer)
    if block is not None:
        if mask is not None or other is not None:
            raise LanguageValueError(
                "`mask` and `other` arguments cannot be specified for loading block pointers", _INSTEAD_OF_A_MASK
            )
        return _load_block(b, pointer, block, boundary_check, padding, volatile, caching)
    if mask is None and other is not None:
        raise LanguageValueError(
            "`other` cannot be provided without `mask`", "say where `other` is taken: mask=offsets < n"
        )
    if padding or boundary_check:
        raise LanguageValueError(
            "`padding_option` or `boundary_check` argument is not supported for loading a tensor of"
            "pointers or loading a scalar. Because the compiler does not know the boundary; please "
            "use block pointers (defined by `make_block_ptr`) instead"
        )
    if pointer.type.is_block():
        if mask is not None:
            pointer, mask = broadcast_pair(b, pointer, mask)
        if other is not None:
            pointer, other = broadcast_pair(b, pointer, other)
    else:
        _require_scalar(mask, "Mask")
        _require_scalar(other, "Other")
    pointer, element = _storage(b, pointer, kind)
    _require_mask(mask)
    absent = None if other is None else cast(b, other, element).handle
    op = tt.LoadOp(pointer.handle, None if mask is None else mask.handle, absent, is_volatile=bool(volatile), **caching)
    loaded = tensor(b.value(op), with_scalar(pointer.type, element))
    return cast(b, loaded, dt.int1) if kind.element_ty == dt.int1 else loaded


def _storage(b: IRBuilder, pointer: tensor, kind: pointer_type) -> tuple[tensor, dtype]:
    """`pointer`, of type `kind`, as what memory holds, and that dtype: booleans are bytes."""
    element = kind.element_ty
    if element != dt.int1:
        return pointer, element
    return cast(b, pointer, pointer_type(dt.int8, kind.address_space)), dt.int8


def _require_scalar(value: tensor | None, what: str) -> None:
    if value is not None and value.type.is_block():
        raise LanguageValueError(f"{what} argument cannot be block type if pointer argument is not a block")


def _require_mask(mask: tensor | None) -> None:
    if mask is not None and not mask.dtype.is_bool():
        raise LanguageValueError(
            "Mask must have boolean scalar type", f"got {mask.dtype}; compare first, as in `i < n`"
        )


def _boundary_check(check: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    if check is None or check == ():
        return ()
    dims = several(check)
    if any(not is_integer(d) or not 0 <= d < rank for d in dims):
        raise LanguageValueError(f"boundary_check names dimensions 0 to {rank - 1}, got {dims}")
    if len(set(dims)) != len(dims):
        raise LanguageValueError("Duplicate dimension in `boundary_check`")
    return tuple(sorted(map(int, dims)))


def _load_block(
    b: IRBuilder,
    pointer: tensor,
    result: block_type,
    check: int | Sequence[int],
    padding: str | None,
    volatile: bool,
    caching: Caching,
) -> tensor:
    if result.element_ty.is_int() and padding == "nan":
        raise LanguageValueError("Padding option `nan` is not supported for integer block pointers")
    dims = _boundary_check(check, len(result.shape))
    return tensor(
        b.value(tt.LoadOp(pointer.handle, boundary_check=dims, padding=padding, is_volatile=bool(volatile), **caching)),
        result,
    )


def store(
    b: IRBuilder,
    pointer: tensor,
    value: Operand,
    mask: Operand | None = None,
    boundary_check: int | Sequence[int] = (),
    cache_modifier: str = "",
    eviction_policy: str = "",
) -> None:
    """A store through a pointer, a block of pointers, or a block pointer."""
    kind = _pointer_type(pointer, "tl.store")
    value = to_tensor(b, value)
    mask = None if mask is None else to_tensor(b, mask)
    caching: Caching = {
        "cache": choice(STORE_CACHES, cache_modifier, "Cache modifier"),
        "evict": choice(_EVICTIONS, eviction_policy, "Eviction policy"),
    }
    if kind.const:
        raise LanguageValueError("Cannot store to a constant pointer")
    block = pointed_block(pointer)
    if block is not None:
        if mask is not None:
            raise LanguageValueError(
                "`mask` and `other` arguments cannot be specified for loading block pointers", _INSTEAD_OF_A_MASK
            )
        _store_block(b, pointer, value, block, boundary_check, caching)
        return
    if boundary_check:
        raise LanguageValueError(
            "`boundary_check` argument is not supported for storing a tensor of pointers or storing a scalar. Because "
            "the compiler does not know the boundary; please use block pointers (defined by `make_block_ptr`) instead"
        )
    if pointer.type.is_block():
        shape = pointer.type.shape
        pointer, value, *rest = broadcast_all(b, [pointer, value] if mask is None else [pointer, value, mask])
        mask = rest[0] if rest else None
        if pointer.type.shape != shape:
            raise LanguageValueError(
                f"Expected pointer argument to have shape {list(pointer.type.shape)} but got {list(shape)}"
            )
    else:
        if value.type.is_block():
            raise LanguageValueError(
                "Value argument cannot be block type if pointer argument is not a block",
                "add offsets to the pointer: `ptr + tl.arange(0, BLOCK)`",
            )
        _require_scalar(mask, "Mask")
    # A boolean is a byte in memory: 256 is true, although its lowest byte is 0.
    value = cast(b, value, kind.element_ty)
    pointer, element = _storage(b, pointer, kind)
    _require_mask(mask)
    value = cast(b, value, element)
    b.insert(tt.StoreOp(pointer.handle, value.handle, None if mask is None else mask.handle, **caching))


def _store_block(
    b: IRBuilder, pointer: tensor, value: tensor, block: block_type, check: int | Sequence[int], caching: Caching
) -> None:
    if not value.type.is_block():
        value = broadcast_to_shape(b, value, block.shape)
    if block.shape != value.type.shape:
        raise LanguageValueError(f"Block shape({block.shape}) and value shape({value.type.shape}) mismatch")
    if block.element_ty != value.dtype:
        raise LanguageValueError(
            f"Block element type({block.element_ty}) and value element type({value.dtype}) mismatch",
            f"cast the value first: .to(tl.{block.element_ty.codegen_name()})",
        )
    dims = _boundary_check(check, len(block.shape))
    b.insert(tt.StoreOp(pointer.handle, value.handle, boundary_check=dims, **caching))


def index_values(b: IRBuilder, given: Operand | Sequence[Operand], *, wide: bool) -> list[SSAValue]:
    """Integers of the IR for a list of sizes or offsets: int64 if `wide`, else int32."""
    return [_index_value(b, item, wide) for item in several(given)]


def _index_value(b: IRBuilder, item: object, wide: bool) -> SSAValue:
    type = dt.int64 if wide else dt.int32
    if isinstance(item, int):
        if not type.get_int_min_value() <= item <= type.get_int_max_value():
            raise LanguageValueError(
                f"Block pointers only support {type.int_bitwidth} bit values here, got a value {item} which is out of the range"
            )
        return b.constant(type, item)
    if not isinstance(item, tensor) or item.type.is_block() or not item.dtype.is_int():
        raise LanguageTypeError(f"Expected an integer scalar type in shape/strides/offsets, got {item}")
    if item.dtype.int_bitwidth == 64 and not wide:
        raise LanguageTypeError(
            "Block pointers only support 32 bit `offsets/block_shape`, add a `.to(tl.int32)` or use regular indexing for "
            "64 bit support"
        )
    return resize_integer(b, item.handle, ir_type(type), item.dtype.is_int_signed()) if wide else item.handle


def make_block_ptr(
    b: IRBuilder,
    base: object,
    shape: Operand | Sequence[Operand],
    strides: Operand | Sequence[Operand],
    offsets: Operand | Sequence[Operand],
    block_shape: int | Sequence[int],
    order: int | Sequence[int],
) -> tensor:
    """A block pointer."""
    kind = base.type if isinstance(base, tensor) else None
    if not isinstance(base, tensor) or not isinstance(kind, pointer_type) or kind.element_ty.is_block():
        raise LanguageValueError("Expected `base` to be a pointer type (but not a block pointer type or others)")
    sizes = index_values(b, shape, wide=True)
    steps = index_values(b, strides, wide=True)
    starts = index_values(b, offsets, wide=False)
    block, permutation = several(block_shape), several(order)
    if not all(is_integer(size) for size in block):
        raise LanguageTypeError("Expected a list of constant integers (`int32_t` range) in `block_shape`")
    block, permutation = tuple(map(int, block)), tuple(map(int, permutation))
    if sorted(permutation) != list(range(len(permutation))):
        raise LanguageValueError("Expected a permutation of (0, 1, ..., len(order)-1) in order")
    if len({len(sizes), len(steps), len(starts), len(block), len(permutation)}) != 1:
        raise LanguageValueError("Expected shape/strides/offsets/block_shape to have the same length")
    base, element = _storage(b, base, kind)
    result = pointer_type(block_of(element, block))
    op = tt.MakeTensorPtrOp(base.handle, sizes, steps, starts, ir_type(result), order=permutation)
    return tensor(b.value(op), result)


def advance(b: IRBuilder, base: tensor, offsets: Operand | Sequence[Operand]) -> tensor:
    """A block pointer moved on."""
    if pointed_block(base) is None:
        raise LanguageValueError(f"tl.advance takes a block pointer, got {base.type!r}", "for a pointer use `+`")
    return tensor(b.value(tt.AdvanceOp(base.handle, index_values(b, offsets, wide=False))), base.type)
