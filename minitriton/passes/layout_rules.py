"""How a layout travels through an op: from its operands to its results, and back.

In: an op and the layout of an operand (or of a result). Out: the layout that its results (its operands) then have,
or None where the op says nothing.

    result_layout(tt.reduce axis=1, #blocked)                     ->  slice<dim 1, #blocked>
    operand_layout(tt.expand_dims axis=0, #blocked)               ->  slice<dim 0, #blocked>
    operand_layout(tt.reduce axis=0, slice<dim 1, #blocked>)      ->  None

Answers to `inferDstEncoding` and `inferSrcEncoding` of lib/Dialect/TritonGPU/Transforms/Utility.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from xdsl.ir import Operation

from minitriton.layouts import inference
from minitriton.layouts.encodings import Blocked, DistributedEncoding, Slice
from minitriton.passes.tensor_layouts import shape_of

_ELEMENTWISE = frozenset(
    {
        "tt.addptr",
        "tt.bitcast",
        "tt.clampf",
        "tt.elementwise_inline_asm",
        "tt.extern_elementwise",
        "tt.fp_to_fp",
        "tt.int_to_ptr",
        "tt.mulhiui",
        "tt.precise_divf",
        "tt.precise_sqrt",
        "tt.ptr_to_int",
    }
)
_SAME_LAYOUT = _ELEMENTWISE | {"tt.atomic_cas", "tt.atomic_rmw", "tt.broadcast", "tt.map_elementwise", "tt.splat"}
_TRANSPARENT = frozenset({"scf.condition", "scf.while", "scf.yield", "ttng.warp_group_dot_wait"})


def same_layout(op: Operation) -> bool:
    """Whether all tensor operands and results of `op` have one layout, and it is not memory that decides on it."""
    name = op.name
    return name in _SAME_LAYOUT or name == "tt.scan" or _is_scalar_dialect(name)


def is_elementwise(op: Operation) -> bool:
    """Whether `op` computes each element from the same element of its operands."""
    return op.name in _ELEMENTWISE or _is_scalar_dialect(op.name)


def _is_scalar_dialect(name: str) -> bool:
    return (name.startswith("arith.") and name != "arith.constant") or name.startswith("math.")


def result_layout(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    """The layout of the results of `op` if its operands have `layout`."""
    name = op.name
    if name in _SAME_LAYOUT or name in _TRANSPARENT or name == "tt.load" or name == "scf.for":
        return layout
    rule = _FORWARD.get(name)
    if rule is not None:
        return rule(op, layout)
    return layout if _is_scalar_dialect(name) else None


def operand_layout(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    """The layout that the operands of `op` need for its results to have `layout`."""
    name = op.name
    if name in _SAME_LAYOUT or name in _TRANSPARENT or name == "tt.load":
        return layout
    rule = _BACKWARD.get(name)
    if rule is not None:
        return rule(op, layout)
    return layout if _is_scalar_dialect(name) else None


def axis_of(op: Operation) -> int:
    """The property `axis`."""
    return op.properties["axis"].value.data  # pyright: ignore[reportAttributeAccessIssue]


def order_of(op: Operation) -> tuple[int, ...]:
    """The property `order` of a transpose."""
    order: Any = op.properties["order"]
    return tuple(order.get_values())


def allows_reorder(op: Operation) -> bool:
    """Whether a `tt.reshape` may permute elements."""
    return "allow_reorder" in op.properties


_slice = lru_cache(maxsize=4096)(Slice)
_join_dst = lru_cache(maxsize=4096)(inference.join_dst)
_split_dst = lru_cache(maxsize=4096)(inference.split_dst)
_trans_dst = lru_cache(maxsize=4096)(inference.trans_dst)
_reshape_dst = lru_cache(maxsize=4096)(inference.reshape_dst)


def _squeezed(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    return _slice(axis_of(op), layout)


def _unsqueezed(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    return layout.parent if isinstance(layout, Slice) and layout.dim == axis_of(op) else None


def _scan(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    return layout if isinstance(layout, Blocked) else None


def _same(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    return layout


def _joined(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    return _join_dst(layout, shape_of(op.operands[0]))


def _unjoined(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    return _split_dst(layout, shape_of(op.results[0]))


def _split(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    return _split_dst(layout, shape_of(op.operands[0]))


def _unsplit(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    return _join_dst(layout, shape_of(op.results[0]))


def _transposed(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    return cast("DistributedEncoding | None", _trans_dst(layout, shape_of(op.operands[0]), order_of(op)))


def _untransposed(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    order = inference.inverse_permutation(order_of(op))
    return cast("DistributedEncoding | None", _trans_dst(layout, shape_of(op.results[0]), order))


def _reshaped(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    if allows_reorder(op):
        return None
    return _reshape_dst(shape_of(op.operands[0]), layout, shape_of(op.results[0]))


def _unreshaped(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    if allows_reorder(op):
        return None
    return _reshape_dst(shape_of(op.results[0]), layout, shape_of(op.operands[0]))


def _fp4_widened(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    return inference.fp4_to_fp_dst(layout, shape_of(op.operands[0]), axis_of(op))


def _fp4_narrowed(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    return inference.fp4_to_fp_src(layout, shape_of(op.results[0]), axis_of(op))


_Rule = Callable[[Operation, DistributedEncoding], DistributedEncoding | None]

_FORWARD: dict[str, _Rule] = {
    "tt.expand_dims": _unsqueezed,
    "tt.gather": _same,
    "tt.join": _joined,
    "tt.reduce": _squeezed,
    "tt.reshape": _reshaped,
    "tt.scan": _scan,
    "tt.split": _split,
    "tt.trans": _transposed,
    "ttg.fp4_to_fp": _fp4_widened,
}

_BACKWARD: dict[str, _Rule] = {
    "tt.expand_dims": _squeezed,
    "tt.gather": _same,
    "tt.join": _unjoined,
    "tt.reduce": _unsqueezed,
    "tt.reshape": _unreshaped,
    "tt.scan": _scan,
    "tt.split": _unsplit,
    "tt.trans": _untransposed,
    "ttg.fp4_to_fp": _fp4_narrowed,
}
