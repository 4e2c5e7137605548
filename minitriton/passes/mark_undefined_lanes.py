"""`mark-undefined-lanes`: what a load without `other` gives where its mask is off is read from a register that the emulator sets.

    %x = tt.load %p, %mask                  %w = tt.elementwise_inline_asm "mov.b32 $0, %envreg0;"      a register for each load, 0 to 31
                                       =>   %o = tt.splat (arith.bitcast %w to f32)
                                            %x = tt.load %p, %mask, %o

In: TTIR, after block pointers are gone, or TTGIR. Out: the same with an `other` for each such load. Whoever launches the kernel several times with other
values there finds what depends on them (`emulator.poison`). Compiled in by `instrumentation_mode="poison"`; on a GPU the registers mean nothing.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, IntegerType, ModuleOp, TensorType, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.traits import width_of
from minitriton.dialects.tt.types import PointerType, element_type
from minitriton.pipeline.pass_registry import Pass, Property, register_pass

_INTEGERS: dict[int, IntegerType] = {1: i1, 8: i8, 16: i16, 32: i32}


@register_pass
class MarkUndefinedLanes(Pass, origin="required"):
    """Gives each masked load that has no `other` one that the launch decides."""

    name: ClassVar[str] = "mark-undefined-lanes"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR, Property.BLOCK_POINTERS_REWRITTEN})
    registers: int
    """How many there are: loads beyond share them."""

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Rewrites the loads of the module."""
        loads = [load for load in ops_of(op, tt.LoadOp) if load.mask is not None and load.other is None]
        for number, load in enumerate(loads):
            _give_other(load, number % self.registers)
        return bool(loads)


def _give_other(load: tt.LoadOp, register: int) -> None:
    block, type_ = load.parent, load.result.type
    assert block is not None

    def put(op: Operation) -> SSAValue:
        op.location = load.location
        block.insert_op_before(op, load)
        return op.results[0]

    element = element_type(type_)
    width = width_of(element)
    register_text = f"%envreg{register}"
    text = f"mov.b64 $0, {{{register_text}, {register_text}}};" if width == 64 else f"mov.b32 $0, {register_text};"
    word: Attribute = i64 if width == 64 else i32
    value = put(
        tt.ElementwiseInlineAsmOp(
            (), [word], asm_string=text, constraints="=l" if width == 64 else "=r", pure=True, packed_element=1
        )
    )
    if width < 32:
        value = put(arith.TruncIOp(value, _INTEGERS[width]))
    if isinstance(element, PointerType):
        value = put(tt.IntToPtrOp(value, element))
    elif not isinstance(element, IntegerType):
        value = put((arith.BitcastOp if isinstance(element, AnyFloat) else tt.BitcastOp)(value, element))
    if instance_of(type_, TensorType):
        value = put(tt.SplatOp(value, type_))
    made = tt.LoadOp(
        load.ptr, load.mask, value, cache=load.cache.data, evict=load.evict.data, is_volatile=bool(load.is_volatile.value.data)
    )  # fmt: skip
    made.result.name_hint = load.result.name_hint
    load.result.replace_all_uses_with(put(made))
    made.attributes.update(load.attributes)
    load.detach()
    load.erase()
