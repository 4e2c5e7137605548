"""`tritonamdgpu-optimize-epilogue`: the result of a dot is stored as the matrix cores leave it.

    %b = ttg.convert_layout %d : #mma -> #blocked                %p1 = ttg.convert_layout %p : #blocked -> #mma
    %h = arith.truncf %b : #blocked                       =>     %h = arith.truncf %d : #mma
    tt.store %p, %h : #blocked                                   tt.store %p1, %h : #mma

A lane has four neighbours of a row, so that rows are stored without a way through shared memory. Counterpart of OptimizeEpilogue.cpp, without its
exchange between lanes on gfx950.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, OpResult, SSAValue

from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import AmdMfma, AmdWmma, Blocked, Encoding
from minitriton.passes.tensor_layouts import convert_before, layout_of_value, set_layout
from minitriton.pipeline.pass_registry import Pass, Property, register_pass


@register_pass
class OptimizeEpilogue(Pass, stage="ttgir", origin="triton"):
    """Stores results of matrix cores in their own layout."""

    name: ClassVar[str] = "tritonamdgpu-optimize-epilogue"
    acts_on = frozenset({tt.StoreOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every store whose value is converted from such a layout."""
        for store in ops_of(op, tt.StoreOp):
            _store_unconverted(store)


def _store_unconverted(store: tt.StoreOp) -> None:
    if not all(isinstance(layout_of_value(value), Blocked) for value in (store.ptr, store.value)):
        return
    chain, convert = _back_to_conversion(store.value)
    layout = None if convert is None else layout_of_value(convert.src)
    if convert is None or not isinstance(layout, AmdMfma | AmdWmma) or not convert.result.has_one_use():
        return
    _take_along(chain, convert, layout)
    if chain:
        value = chain[0].results[0]
    else:
        value = convert.src
    for index, operand in enumerate(store.operands):
        if operand is store.value:
            continue
        store.operands[index] = convert_before(store, operand, layout)
    store.operands[1] = value
    if convert.result.first_use is None:
        convert.detach()
        convert.erase()


def _back_to_conversion(value: SSAValue) -> tuple[list[Operation], ttg.ConvertLayoutOp | None]:
    """The elementwise ops of one operand that `value` comes from, the last first, and the conversion that they begin with."""
    chain: list[Operation] = []
    while isinstance(value, OpResult) and value.has_one_use():
        op = value.op
        if isinstance(op, ttg.ConvertLayoutOp):
            return chain, op
        if Elementwise.of(op) is None or len(op.operands) != 1 or len(op.results) != 1:
            return chain, None
        chain.append(op)
        value = op.operands[0]
    return chain, None


def _take_along(chain: list[Operation], convert: ttg.ConvertLayoutOp, layout: Encoding) -> None:
    """Has the ops of `chain` compute in `layout` from what is converted."""
    for op in reversed(chain):
        if op.operands[0] is convert.result:
            op.operands[0] = convert.src
        assert instance_of(op.results[0].type, TensorType)
        set_layout(op.results[0], layout)
