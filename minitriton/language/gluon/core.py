"""The operations that only Gluon has, or has with a layout: declarations, see `declare.py`.

x = ttgl.arange(0, 64, layout=blocked)
buffer = ttgl.allocate_shared_memory(ttgl.float16, [64, 64], shared)
buffer.store(ttgl.convert_layout(x, other))
"""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from minitriton.language.declare import Builtin, Emits, builtin
from minitriton.language.gluon import conversions
from minitriton.language.gluon.layouts import DistributedLayout, Layout, SharedLayout
from minitriton.language.gluon.types import distributed_type, shared_memory_descriptor, shared_memory_descriptor_type
from minitriton.language.values import ConstBool, ConstInt, ConstInts, ConstType, Operand, constexpr, tensor

P = ParamSpec("P")
R = TypeVar("R")

LayoutArgument = DistributedLayout | constexpr | None
"""A layout in registers, known at compile time; None leaves it to the compiler (`AutoLayout`)."""


class _OfTypes(Builtin[P, R]):
    """An operation whose arguments are known at compile time, and which the host may call too."""

    on_host: Callable[..., Any]

    def emitted_by(self, semantic: Emits | None, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.on_host(*args, **kwargs) if semantic is None else super().emitted_by(semantic, *args, **kwargs)


def of_types(on_host: Callable[..., Any]) -> Callable[[Callable[P, R]], _OfTypes[P, R]]:
    """Declares an operation that is `on_host` on the host."""

    def declare(fn: Callable[P, R]) -> _OfTypes[P, R]:
        made = _OfTypes(fn)
        made.on_host = on_host
        return made

    return declare


@builtin
def arange(start: ConstInt, end: ConstInt, layout: LayoutArgument = None) -> tensor:
    """The int32 values of `[start, end)`, whose number is a power of two."""


@builtin
def full(shape: ConstInts, value: Operand, dtype: ConstType, layout: LayoutArgument = None) -> tensor:
    """A tensor of `shape` filled with `value`."""


@builtin
def convert_layout(value: tensor, layout: LayoutArgument, assert_trivial: ConstBool = False) -> tensor:
    """`value` with `layout`. `assert_trivial`: raises `TypeError` where elements would have to move between threads."""


@builtin
def set_auto_layout(value: tensor, layout: LayoutArgument) -> tensor:
    """`value`, whose layout is `AutoLayout`, with the layout that it shall have."""


@builtin
def histogram(input: tensor, num_bins: ConstInt, mask: Operand | None = None, layout: LayoutArgument = None) -> tensor:
    """How often each of 0 .. `num_bins`-1 occurs in a 1-D integer tensor, as a tensor with `layout`."""


@builtin
def cat(input: tensor, other: tensor, can_reorder: ConstBool = False, layout: LayoutArgument = None) -> tensor:
    """Two 1-D tensors in one with `layout`, in any order."""


@builtin
def allocate_shared_memory(
    element_ty: ConstType, shape: ConstInts, layout: SharedLayout | constexpr, value: tensor | None = None
) -> shared_memory_descriptor:
    """A buffer in shared memory, filled with `value` if there is one."""


@builtin
def fp4_to_fp(src: tensor, elem_type: ConstType, axis: ConstInt) -> tensor:
    """Numbers of fp4 (e2m1), two in a uint8 along `axis`, as `elem_type`."""


@builtin
def warp_specialize(
    functions_and_args: Sequence[tuple[Any, Any]],
    worker_num_warps: Sequence[ConstInt],
    worker_num_regs: Sequence[ConstInt],
) -> Any:
    """Runs the first function on the warps at hand, and each other one on warps of its own, all at once. Gives what the first one gives.

    `worker_num_warps`, `worker_num_regs`: warps, and registers a thread, of each function but the first.
    """


@builtin
def num_warps() -> constexpr:
    """The number of warps that run this function, in a partition its own."""


@builtin
def num_ctas() -> constexpr:
    """The number of CTAs in a cluster."""


@builtin
def thread_barrier() -> None:
    """A barrier of the threads of the CTA (of the partition)."""


@of_types(conversions.bank_conflicts)
def bank_conflicts(distr_ty: distributed_type | constexpr, shared_ty: shared_memory_descriptor_type | constexpr) -> int:
    """Memory accesses that a wavefront takes beyond the least to move a tensor of type `distr_ty` to or from a buffer of type `shared_ty`
    by `ld.shared` or `st.shared`. Works on the host too."""


@of_types(conversions.linear_layout)
def to_linear_layout(layout: Layout | constexpr, shape: ConstInts) -> Any:
    """`layout` for a tensor of `shape` as a `DistributedLinearLayout` or `SharedLinearLayout`. Works on the host too."""


@builtin
def dot_fma(a: tensor, b: tensor, acc: tensor) -> tensor:
    """`a @ b + acc` by scalar FMAs: `acc` is blocked, `a` and `b` are dot operands of its layout."""
