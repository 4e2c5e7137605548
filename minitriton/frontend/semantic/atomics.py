"""Atomic operations.

tl.atomic_add(p, x)          tt.atomic_rmw add (fadd for floats), mask all true
tl.atomic_max(p, x) on fp32  floats of one sign order like their bits: a signed max where x >= 0, an unsigned min elsewhere
"""

from __future__ import annotations

from collections.abc import Callable

from minitriton.dialects import tt
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.arithmetic import and_, logical_not, lshr, where
from minitriton.frontend.semantic.casts import bitcast, cast, with_scalar
from minitriton.frontend.semantic.memory import choice
from minitriton.frontend.semantic.values import broadcast_like, to_tensor
from minitriton.language import dtypes as dt
from minitriton.language.dtypes import dtype, get_int_dtype, pointer_type
from minitriton.language.values import Operand, tensor

ORDERS = {"": "acq_rel", "acq_rel": "acq_rel", "acquire": "acquire", "release": "release", "relaxed": "relaxed"}
SCOPES = {"": "gpu", "gpu": "gpu", "cta": "cta", "sys": "sys"}


def _pointed_at(ptr: object) -> dtype:
    """The dtype that `ptr` points at. Raises if nothing can be written there."""
    if not isinstance(ptr, tensor) or not isinstance(ptr.dtype, pointer_type):
        raise LanguageValueError(
            f"Pointer argument of store instruction is {ptr.type if isinstance(ptr, tensor) else ptr!r}",
            "atomics take a pointer first",
        )
    if ptr.dtype.const:
        raise LanguageValueError("Cannot store to a constant pointer")
    return ptr.dtype.element_ty


def atomic_cas(
    b: IRBuilder, pointer: tensor, cmp: Operand, val: Operand, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Compare-and-swap."""
    element = _pointed_at(pointer)
    if element.primitive_bitwidth not in (16, 32, 64):
        raise LanguageValueError("atomic_cas only supports elements with width {16, 32, 64}")
    operands: list[tensor] = []
    for given in (cmp, val):
        value = cast(b, to_tensor(b, given), element)
        operands.append(broadcast_like(b, value, pointer.type))
    compared, new = operands
    op = tt.AtomicCASOp(
        pointer.handle,
        compared.handle,
        new.handle,
        sem=choice(ORDERS, sem, "Memory semantic"),
        scope=choice(SCOPES, scope, "Memory semantic"),
    )
    return tensor(b.value(op), new.type)


_LOAD_ORDERS = {"": "acquire", "acquire": "acquire", "relaxed": "relaxed"}
_STORE_ORDERS = {"": "release", "release": "release", "relaxed": "relaxed"}


def _mask(b: IRBuilder, ptr: tensor, mask: Operand | None) -> tensor:
    """A mask in the shape of the pointer, all true by default."""
    if mask is None:
        type = with_scalar(ptr.type, dt.int1)
        return tensor(b.constant(type, True), type)
    given = to_tensor(b, mask)
    if not given.dtype.is_bool():
        raise LanguageValueError(
            "Mask must have boolean scalar type", f"got {given.dtype}; compare first, as in `i < n`"
        )
    return broadcast_like(b, given, ptr.type)


def _read_pointer(b: IRBuilder, pointer: object, what: str) -> tuple[tensor, dtype]:
    """A pointer that an operation reads through, to bytes in place of booleans, and the dtype it was given with."""
    if not isinstance(pointer, tensor) or not isinstance(pointer.dtype, pointer_type):
        got = pointer.type if isinstance(pointer, tensor) else pointer
        raise LanguageValueError(
            f"Unsupported ptr type {got} in `tl.{what}`", "pass a pointer, such as `base + offsets`"
        )
    element = pointer.dtype.element_ty
    if not element.is_int() and not element.is_floating():
        raise LanguageValueError(f"{what} only supports integer and floating-point elements", f"got {element}")
    return bitcast(b, pointer, pointer_type(dt.int8)) if element.is_int1() else pointer, element


def atomic_load(
    b: IRBuilder, pointer: tensor, mask: Operand | None = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """A load that is ordered with other threads'."""
    ptr, element = _read_pointer(b, pointer, "atomic_load")
    type = with_scalar(ptr.type, dt.int8 if element.is_int1() else element)
    op = tt.AtomicLoadOp(
        ptr.handle,
        _mask(b, ptr, mask).handle,
        ir_type(type),
        sem=choice(_LOAD_ORDERS, sem, "Memory semantic"),
        scope=choice(SCOPES, scope, "Memory semantic"),
    )
    return cast(b, tensor(b.value(op), type), element)


def atomic_store(
    b: IRBuilder,
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> None:
    """A store that is ordered with other threads'."""
    _pointed_at(pointer)
    ptr, element = _read_pointer(b, pointer, "atomic_store")
    value = cast(b, to_tensor(b, val), element)
    if value.type.is_block() and not ptr.type.is_block():
        raise LanguageValueError("Value argument cannot be block type if pointer argument is not a block")
    value = broadcast_like(b, value, ptr.type)
    op = tt.AtomicStoreOp(
        ptr.handle,
        (cast(b, value, dt.int8) if element.is_int1() else value).handle,
        _mask(b, ptr, mask).handle,
        sem=choice(_STORE_ORDERS, sem, "Memory semantic"),
        scope=choice(SCOPES, scope, "Memory semantic"),
    )
    b.insert(op)


def atomic_poll(
    b: IRBuilder,
    pointer: tensor,
    expected_value: Operand,
    sem: str | None = None,
    scope: str | None = None,
    timeout_ns: Operand | None = None,
) -> tensor:
    """Waiting for memory to hold a value."""
    ptr, element = _read_pointer(b, pointer, "atomic_poll")
    if not element.is_int() or element.primitive_bitwidth not in (16, 32, 64):
        raise LanguageValueError("atomic_poll only supports integer elements with width {16, 32, 64}", f"got {element}")
    if isinstance(timeout_ns, int) and timeout_ns < 0:
        raise LanguageValueError("atomic_poll timeout_ns must be non-negative", "leave it out to wait for ever")
    timeout = None
    if timeout_ns is not None:
        limit = to_tensor(b, timeout_ns)
        if limit.type.is_block() or not limit.dtype.is_int():
            raise LanguageValueError("atomic_poll timeout_ns must be a scalar integer", f"got {limit.type}")
        timeout = cast(b, limit, dt.uint64).handle
    expected = broadcast_like(b, cast(b, to_tensor(b, expected_value), element), ptr.type)
    type = with_scalar(ptr.type, dt.int1)
    op = tt.AtomicPollOp(
        ptr.handle,
        expected.handle,
        timeout,
        ir_type(type),
        sem=choice(_LOAD_ORDERS, sem, "Memory semantic"),
        scope=choice(SCOPES, scope, "Memory semantic"),
    )
    return tensor(b.value(op), type)


def _operands(b: IRBuilder, ptr: tensor, val: Operand, mask: Operand | None, name: str) -> tuple[tensor, tensor]:
    """Value and mask in the shape of the pointer, the value in its dtype."""
    element = _pointed_at(ptr)
    if element.name in ("fp16", "bf16") and name != "add":
        raise LanguageValueError(f"atomic_{name} does not support {element}", "point at 32 bits: tl.float32")
    if element.name in ("int16", "uint16") or element.primitive_bitwidth < 16:
        raise LanguageValueError(f"atomic_{name} does not support {element}", "point at 32 bits: tl.int32")
    val = to_tensor(b, val)
    if mask is None:
        type = with_scalar(ptr.type, dt.int1)
        mask = tensor(b.constant(type, True), type)
    mask = to_tensor(b, mask)
    if val.type.is_block() and not ptr.type.is_block():
        raise LanguageValueError("Value argument cannot be block type if pointer argument is not a block")
    return cast(b, broadcast_like(b, val, ptr.type), element), broadcast_like(b, mask, ptr.type)


def _rmw(b: IRBuilder, op: str, ptr: tensor, val: tensor, mask: tensor, sem: str | None, scope: str | None) -> tensor:
    made = tt.AtomicRMWOp(
        ptr.handle,
        val.handle,
        mask.handle,
        atomic_rmw_op=op,
        sem=choice(ORDERS, sem, "Memory semantic"),
        scope=choice(SCOPES, scope, "Memory semantic"),
    )
    return tensor(b.value(made), val.type)


def _plain(name: str, op: str, float_op: str | None = None) -> Callable[..., tensor]:
    """The emitter of an atomic that is one `tt.atomic_rmw`."""

    def emit(
        b: IRBuilder,
        pointer: tensor,
        val: Operand,
        mask: Operand | None = None,
        sem: str | None = None,
        scope: str | None = None,
    ) -> tensor:
        val, mask = _operands(b, pointer, val, mask, name)
        chosen = float_op if float_op is not None and val.dtype.is_floating() else op
        return _rmw(b, chosen, pointer, val, mask, sem, scope)

    return emit


atomic_xchg = _plain("xchg", "exch")
atomic_add = _plain("add", "add", "fadd")
atomic_and = _plain("and", "and")
atomic_or = _plain("or", "or")
atomic_xor = _plain("xor", "xor")


def _extreme(name: str, signed_op: str, unsigned_op: str, negative_op: str) -> Callable[..., tensor]:
    """The emitter of `atomic_max` or `atomic_min`. `negative_op`: what does the job on the bits of negative floats."""

    def emit(
        b: IRBuilder,
        pointer: tensor,
        val: Operand,
        mask: Operand | None = None,
        sem: str | None = None,
        scope: str | None = None,
    ) -> tensor:
        val, mask = _operands(b, pointer, val, mask, name)
        type = val.dtype
        if type.is_int():
            op = signed_op if type.is_int_signed() else unsigned_op
            return _rmw(b, op, pointer, val, mask, sem, scope)
        if type.name not in ("fp32", "fp64"):
            raise LanguageTypeError(f"atomic_{name} not supported for dtype {type}")
        signed, unsigned = (get_int_dtype(type.primitive_bitwidth, s) for s in (True, False))
        signed_val, signed_ptr = bitcast(b, val, signed), bitcast(b, pointer, pointer_type(signed, 1))
        unsigned_val, unsigned_ptr = bitcast(b, val, unsigned), bitcast(b, pointer, pointer_type(unsigned, 1))
        negative = cast(b, lshr(b, unsigned_val, type.primitive_bitwidth - 1), dt.int1)
        positive = logical_not(b, negative)
        of_positive = _rmw(b, signed_op, signed_ptr, signed_val, and_(b, mask, positive), sem, scope)
        of_negative = _rmw(b, negative_op, unsigned_ptr, unsigned_val, and_(b, mask, negative), sem, scope)
        return bitcast(b, where(b, positive, of_positive, of_negative), type)

    return emit


atomic_max = _extreme("max", "max", "umax", "umin")
atomic_min = _extreme("min", "min", "umin", "umax")
