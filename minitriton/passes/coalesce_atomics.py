"""Neighbouring threads take neighbouring elements of an atomic, as many each as one instruction changes.

In: TTGIR after `tritongpu-coalesce`, which gives a thread 16 bytes of an atomic as of a store. Out: the same, with no more elements to a
thread than one instruction changes.

    tt.atomic_rmw add : tensor<1024xi32>      [4]: four instructions of a warp, each with gaps of 16 bytes between lanes: 64 sectors
                                              [1]: four without gaps: 16 sectors

The second-level cache does atomics a sector (32 bytes) at a time, and they are what such kernels wait for. Sums of floats are added in no
fixed order either way. Not a pass of Triton's. Left out by `without="minitriton-coalesce-atomics"`.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType

from minitriton.analysis.access_width import access_width
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.dialects import tt, ttg
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.encodings import Blocked
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.coalesce import convert_to_layout

_Atomic = tt.AtomicRMWOp | tt.AtomicCASOp


@register_pass
class CoalesceAtomics(Pass):
    """Gives atomics layouts as wide as their instructions."""

    name = "minitriton-coalesce-atomics"
    acts_on = frozenset({tt.AtomicRMWOp, tt.AtomicCASOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change the layout of each atomic that holds more neighbours than an instruction changes."""
        wide = [found for found in ops_in(op) if isinstance(found, _Atomic) and _held(found) > 1]
        if not wide:
            return
        axis_info = AxisInfoAnalysis(op)
        for atomic in wide:
            width = access_width(axis_info, atomic).width
            if width < _held(atomic):
                convert_to_layout(atomic, _narrowed(atomic, width))


def _held(atomic: _Atomic) -> int:
    """Neighbours that a thread holds along the fastest axis of a blocked layout."""
    type_ = atomic.ptr.type
    layout = ttg.layout_of(type_) if instance_of(type_, TensorType) else None
    return layout.size_per_thread[layout.order[0]] if isinstance(layout, Blocked) else 1


def _narrowed(atomic: _Atomic, width: int) -> Blocked:
    type_ = atomic.ptr.type
    assert instance_of(type_, TensorType)
    layout = ttg.layout_of(type_)
    assert isinstance(layout, Blocked)
    sizes = list(layout.size_per_thread)
    sizes[layout.order[0]] = width
    shape = type_.get_shape()
    return blocked_for_cga(shape, sizes, layout.order, ttg.num_warps(atomic), ttg.threads_per_warp(atomic), layout.cga)
