"""Loads, stores, block pointers and atomics.

tl.load(p, mask=m, other=0.0)     tt.load %p, %m, %other, all of one shape
tl.atomic_max on fp32             two integer atomics: as int32 where the value is positive, as uint32 where negative
"""

from __future__ import annotations

from typing import Any

from minitriton.dialects import tt
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.casts import cast, resize_integer
from minitriton.frontend.semantic.values import broadcast_all, broadcast_pair, broadcast_to_shape, to_tensor
from minitriton.language import dtypes as dt
from minitriton.language.dtypes import block_of, pointer_type
from minitriton.language.values import tensor

_LOAD_CACHES = {"": "none", ".ca": "ca", ".cg": "cg", ".cv": "cv"}
_STORE_CACHES = {"": "none", ".wb": "wb", ".cg": "cg", ".cs": "cs", ".wt": "wt"}
_EVICTIONS = {"": "evict_normal", "evict_last": "evict_last", "evict_first": "evict_first"}
PADDINGS = {"": None, "zero": "zero", "nan": "nan"}


def choice(table: dict[str, Any], given: Any, what: str) -> Any:
    """The entry of `table` for a string argument. Raises for an unknown one, naming the known."""
    given = given or ""
    if given not in table:
        known = ", ".join(repr(k) for k in table if k)
        raise LanguageValueError(f"{what} {given} not supported", f"use {known}")
    return table[given]


def is_block_pointer(ptr: Any) -> bool:
    """Whether `ptr` is a scalar pointer to a block, made by `tl.make_block_ptr`."""
    return ptr.type.is_ptr() and ptr.type.element_ty.is_block()


def _require_pointer(ptr: Any, where: str) -> None:
    if not isinstance(ptr, tensor) or not ptr.dtype.is_ptr():
        type = repr(ptr.type) if isinstance(ptr, tensor) else f"{ptr!r}"
        raise LanguageValueError(
            f"Unsupported ptr type {type} in `{where}`", "pass a pointer, such as `base + offsets`"
        )


def load(
    b: IRBuilder,
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
) -> tensor:
    """A load through a pointer, a block of pointers, or a block pointer."""
    modifiers = {
        "cache": choice(_LOAD_CACHES, cache_modifier, "Cache modifier"),
        "evict": choice(_EVICTIONS, eviction_policy, "Eviction policy"),
        "is_volatile": bool(volatile),
    }
    padding = choice(PADDINGS, padding_option, "Padding option")
    _require_pointer(pointer, "tl.load")
    mask = None if mask is None else to_tensor(b, mask)
    other = None if other is None else to_tensor(b, other)
    if is_block_pointer(pointer):
        return _load_block(b, pointer, mask, other, boundary_check, padding, modifiers)
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
    boolean = pointer.dtype.element_ty == dt.int1  # pyright: ignore[reportAttributeAccessIssue]
    pointer, element = _storage(b, pointer)
    _require_mask(mask)
    result = pointer.type.with_element_ty(element) if pointer.type.is_block() else element
    if other is not None:
        other = cast(b, other, element).handle
    op = tt.LoadOp(pointer.handle, None if mask is None else mask.handle, other, **modifiers)
    loaded = tensor(b.value(op), result)
    return cast(b, loaded, dt.int1) if boolean else loaded


def _storage(b: IRBuilder, pointer: tensor) -> tuple[tensor, Any]:
    """`pointer` as what memory holds, and that dtype: booleans are bytes."""
    element = pointer.dtype.element_ty  # pyright: ignore[reportAttributeAccessIssue]
    if element != dt.int1:
        return pointer, element
    space = pointer.dtype.address_space  # pyright: ignore[reportAttributeAccessIssue]
    return cast(b, pointer, pointer_type(dt.int8, space)), dt.int8


def _require_scalar(value: tensor | None, what: str) -> None:
    if value is not None and value.type.is_block():
        raise LanguageValueError(f"{what} argument cannot be block type if pointer argument is not a block")


def _require_mask(mask: tensor | None) -> None:
    if mask is not None and not mask.dtype.is_bool():
        raise LanguageValueError(
            "Mask must have boolean scalar type", f"got {mask.dtype}; compare first, as in `i < n`"
        )


def _boundary_check(check: Any, rank: int) -> tuple[int, ...]:
    if check is None or check == ():
        return ()
    dims = tuple(check) if isinstance(check, (tuple, list)) else (check,)
    if any(type(d) is not int or not 0 <= d < rank for d in dims):
        raise LanguageValueError(f"boundary_check names dimensions 0 to {rank - 1}, got {dims}")
    if len(set(dims)) != len(dims):
        raise LanguageValueError("Duplicate dimension in `boundary_check`")
    return tuple(sorted(dims))


def _load_block(
    b: IRBuilder, pointer: tensor, mask: Any, other: Any, check: Any, padding: Any, modifiers: dict[str, Any]
) -> tensor:
    if mask is not None or other is not None:
        raise LanguageValueError("`mask` and `other` arguments cannot be specified for loading block pointers")
    result = pointer.type.element_ty
    if result.element_ty.is_int() and padding == "nan":
        raise LanguageValueError("Padding option `nan` is not supported for integer block pointers")
    dims = _boundary_check(check, len(result.shape))
    return tensor(b.value(tt.LoadOp(pointer.handle, boundary_check=dims, padding=padding, **modifiers)), result)


def store(
    b: IRBuilder,
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: Any = "",
    eviction_policy: Any = "",
) -> None:
    """A store through a pointer, a block of pointers, or a block pointer."""
    _require_pointer(pointer, "tl.store")
    value = to_tensor(b, value)
    mask = None if mask is None else to_tensor(b, mask)
    modifiers = {
        "cache": choice(_STORE_CACHES, cache_modifier, "Cache modifier"),
        "evict": choice(_EVICTIONS, eviction_policy, "Eviction policy"),
    }
    if pointer.dtype.is_const():
        raise LanguageValueError("Cannot store to a constant pointer")
    if is_block_pointer(pointer):
        _store_block(b, pointer, value, mask, boundary_check, modifiers)
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
    pointer, element = _storage(b, pointer)
    _require_mask(mask)
    value = cast(b, value, element)
    b.insert(tt.StoreOp(pointer.handle, value.handle, None if mask is None else mask.handle, **modifiers))


def _store_block(
    b: IRBuilder, pointer: tensor, value: tensor, mask: Any, check: Any, modifiers: dict[str, Any]
) -> None:
    if mask is not None:
        raise LanguageValueError("`mask` and `other` arguments cannot be specified for loading block pointers")
    block = pointer.type.element_ty
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
    b.insert(tt.StoreOp(pointer.handle, value.handle, boundary_check=dims, **modifiers))


def index_values(b: IRBuilder, given: Any, *, wide: bool) -> list[Any]:
    """Integers of the IR for a list of sizes or offsets: int64 if `wide`, else int32."""
    items = given if isinstance(given, (tuple, list)) else (given,)
    return [_index_value(b, item, wide) for item in items]


def _index_value(b: IRBuilder, item: Any, wide: bool) -> Any:
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
    b: IRBuilder, base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any
) -> tensor:
    """A block pointer."""
    if not isinstance(base, tensor) or not base.type.is_ptr() or base.type.element_ty.is_block():
        raise LanguageValueError("Expected `base` to be a pointer type (but not a block pointer type or others)")
    sizes = index_values(b, shape, wide=True)
    steps = index_values(b, strides, wide=True)
    starts = index_values(b, offsets, wide=False)
    block_shape = tuple(block_shape) if isinstance(block_shape, (tuple, list)) else (block_shape,)
    order = tuple(order) if isinstance(order, (tuple, list)) else (order,)
    if any(type(size) is not int for size in block_shape):
        raise LanguageTypeError("Expected a list of constant integers (`int32_t` range) in `block_shape`")
    if sorted(order) != list(range(len(order))):
        raise LanguageValueError("Expected a permutation of (0, 1, ..., len(order)-1) in order")
    if len({len(sizes), len(steps), len(starts), len(block_shape), len(order)}) != 1:
        raise LanguageValueError("Expected shape/strides/offsets/block_shape to have the same length")
    base, element = _storage(b, base)
    result = pointer_type(block_of(element, block_shape))
    op = tt.MakeTensorPtrOp(base.handle, sizes, steps, starts, ir_type(result), order=order)
    return tensor(b.value(op), result)


def advance(b: IRBuilder, base: tensor, offsets: Any) -> tensor:
    """A block pointer moved on."""
    if not is_block_pointer(base):
        raise LanguageValueError(f"tl.advance takes a block pointer, got {base.type!r}", "for a pointer use `+`")
    return tensor(b.value(tt.AdvanceOp(base.handle, index_values(b, offsets, wide=False))), base.type)
