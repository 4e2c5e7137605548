"""How ops become `toy`: two rules of its own, and the primitives that the rules of every target ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import lowerings_of
from minitriton.codegen.target_interface import TargetInfo
from minitriton.codegen.types import I32
from minitriton.dialects import tt
from toy_target.dialect import MemoryOp

lowers = lowerings_of("toy").add


@lowers(tt.LoadOp)
def load(f: FunctionLowering, op: tt.LoadOp) -> None:
    """Element by element, where the mask is true."""
    masks = [()] * f.count(op.ptr) if op.mask is None else [(m,) for m in f.elements(op.mask)]
    element, properties = f.element_type(op.results[0]), {"what": StringAttr("load")}
    loaded = [f.b.value(MemoryOp, (p, *m), element, properties) for p, m in zip(f.elements(op.ptr), masks, strict=True)]
    f.values[op.results[0]] = f.b.pack(loaded)


@lowers(tt.StoreOp)
def store(f: FunctionLowering, op: tt.StoreOp) -> None:
    """Element by element, where the mask is true."""
    masks = [()] * f.count(op.ptr) if op.mask is None else [(m,) for m in f.elements(op.mask)]
    for pointer, value, mask in zip(f.elements(op.ptr), f.elements(op.value), masks, strict=True):
        f.b.operation(MemoryOp, (pointer, value, *mask), (), {"what": StringAttr("store")})


class _Toy(TargetInfo):
    """What a kernel without shared memory needs of the primitives."""

    def thread_id(self, b: Builder) -> SSAValue:
        return b.once("thread", MemoryOp, I32, {"what": StringAttr("thread")})

    def program_id(self, b: Builder, axis: int, num_ctas: int) -> SSAValue:
        return b.value(MemoryOp, (), I32, {"what": StringAttr(f"program{axis}")})

    def kernel_attributes(self, num_threads: int, num_ctas: int, registers: int | None) -> Mapping[str, Attribute]:
        return {"toy.kernel": UnitAttr()}

    def descriptor_attributes(self) -> Mapping[str, Attribute]:
        return {}

    def workers_of(self, f: Any, kernel: Operation) -> None:
        return None


TOY = _Toy()
