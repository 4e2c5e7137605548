"""Which ops decide on a layout, which are too dear to do twice, which can give their result in any layout.

Questions about single ops that the steps of `tritongpu-remove-layout-conversions` ask.

    is_anchor(tt.load of 4096 pointers by 128 threads)  ->  True: its layout coalesces the access
    is_anchor(tt.load of 16 pointers)                   ->  False: cheap in any layout
    gives_any_layout(tt.splat)                          ->  True: `convert(splat x)` is a splat
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import ttg
from minitriton.layouts import properties
from minitriton.layouts.encodings import DistributedEncoding, NvidiaMma
from minitriton.passes.layout_rules import allows_reorder
from minitriton.passes.tensor_layouts import layout_of_value, shape_of

_DESCRIPTOR_OPS = frozenset(
    {
        "tt.descriptor_gather",
        "tt.descriptor_load",
        "tt.descriptor_reduce",
        "tt.descriptor_scatter",
        "tt.descriptor_store",
    }
)
_ANCHORS = _DESCRIPTOR_OPS | {
    "tt.atomic_cas",
    "tt.atomic_rmw",
    "tt.dot",
    "tt.dot_scaled",
    "ttng.tmem_load",
    "ttng.warp_group_dot",
}
_NEVER_TWICE = frozenset({"scf.condition", "scf.while", "tt.atomic_cas", "tt.atomic_rmw", "tt.dot"})
_ANY_LAYOUT = frozenset(
    {
        "arith.constant",
        "tt.histogram",
        "tt.make_range",
        "tt.splat",
        "ttg.local_alloc",
        "ttg.local_load",
        "ttg.local_store",
    }
)


def is_anchor(op: Operation) -> bool:
    """Whether the layout of the results of `op` is one to keep: propagation starts from it."""
    name = op.name
    if name in _ANCHORS:
        return True
    if name == "tt.load" or name == "tt.store":
        return is_expensive_access(op)
    if name == "tt.gather":
        return has_efficient_layout(op)
    return name == "tt.reshape" and allows_reorder(op)


def is_expensive_access(op: Operation) -> bool:
    """Whether a load or store touches at least one element a thread, so that coalescing it counts."""
    pointer = op.operands[0].type
    if not isinstance(pointer, TensorType):
        return isinstance(getattr(pointer, "pointee_type", None), TensorType)
    elements = element_count(op.operands[0])
    if elements == 1:
        return False
    return elements >= ttg.num_warps(op) * ttg.threads_per_warp(op)


def element_count(value: SSAValue) -> int:
    """Number of elements of a tensor value."""
    elements = 1
    for extent in shape_of(value):
        elements *= extent
    return elements


def has_efficient_layout(op: Operation) -> bool:
    """Whether `tritongpu-optimize-thread-locality` chose the layout of this reshape or gather."""
    return "efficient_layout" in op.properties


def can_be_repeated(op: Operation) -> bool:
    """Whether `op` may run once more in another layout."""
    name = op.name
    if name == "tt.load" or name == "tt.store":
        return not is_expensive_access(op)
    if name == "tt.gather":
        return not has_efficient_layout(op)
    return name not in _NEVER_TWICE


def gives_any_layout(op: Operation, layout: DistributedEncoding) -> bool:
    """Whether a conversion of the result of `op` to `layout` disappears into `op`."""
    name = op.name
    if name in _ANY_LAYOUT:
        return True
    if name == "ttg.convert_layout":
        return not isinstance(layout, NvidiaMma) or layout == layout_of_value(op.operands[0])
    if name == "tt.cat":
        return not is_expensive_cat(op, layout)
    if name == "tt.reshape":
        return allows_reorder(op) and not has_efficient_layout(op) and not is_expensive_view(op.operands[0], op, layout)
    return False


def is_expensive_cat(op: Operation, layout: DistributedEncoding) -> bool:
    """Whether `layout` gives a thread fewer elements of the result of `tt.cat` than it has now."""
    now = cast(DistributedEncoding, layout_of_value(op.results[0]))
    return properties.is_expensive_cat(now, layout, shape_of(op.results[0]))


def is_expensive_view(source: SSAValue, view: Operation, layout: DistributedEncoding) -> bool:
    """Whether seeing the registers of `source` as the result of `view` in `layout` would move data."""
    now = cast(DistributedEncoding, layout_of_value(source))
    return properties.is_expensive_view(now, shape_of(source), layout, shape_of(view.results[0]))
