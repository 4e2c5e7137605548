"""`tritonamdgpu-optimize-epilogue`: the result of a dot is stored as the matrix cores leave it.

    %b = ttg.convert_layout %d : #mma -> #blocked                %p1 = ttg.convert_layout %p : #blocked -> #mma
    %h = arith.truncf %b : #blocked                       =>     %h = arith.truncf %d : #mma
    tt.store %p, %h : #blocked                                   tt.store %p1, %h : #mma

A lane has four neighbours of a row, so that rows are stored without a way through shared memory. Halves on gfx950 are exchanged between
two lanes (`v_permlane32_swap`), of 32x32 tiles or of neighbouring 16x16 ones (`v_permlane16_swap`), so that each stores eight. Counterpart of OptimizeEpilogue.cpp.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16, f16
from xdsl.ir import Operation, OpResult, SSAValue

from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import AmdMfma, AmdWmma, Bases, Blocked, Encoding, Linear
from minitriton.layouts.to_linear import to_linear_encoding
from minitriton.passes.tensor_layouts import convert_before, layout_of_value, set_layout, shape_of
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
    wide = _of_eight(value)
    for index, operand in enumerate(store.operands if wide is not None else ()):
        assert wide is not None
        store.operands[index] = convert_before(store, operand, wide)
    if convert.result.first_use is None:
        convert.detach()
        convert.erase()


def _of_eight(value: SSAValue) -> Linear | None:
    """The layout of a transposed MFMA in which a lane has eight neighbours: columns 4 and 8 of a tile of 32 rows change places, of 16 rows 4 and 16."""
    layout, shape = layout_of_value(value), shape_of(value)
    element = cast(TensorType, value.type).element_type
    if not isinstance(layout, AmdMfma) or layout.version != 4 or not layout.is_transposed or len(shape) != 2:
        return None
    rows, columns = layout.instr_shape[:2]
    if element not in (f16, bf16) or rows != columns or rows not in (16, 32):
        return None
    if rows == 16 and (shape[-1] < 2 * rows or layout.warps_per_cta[-1] != 1):
        return None
    places = {4: 8, 8: 4} if rows == 32 else {4: 16, 16: 4}
    linear = to_linear_encoding(layout, shape)

    def moved(bases: Bases) -> Bases:
        return tuple((basis[0], places.get(basis[1], basis[1])) for basis in bases)

    return replace(linear, register=moved(linear.register), lane=moved(linear.lane), warp=moved(linear.warp))


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
