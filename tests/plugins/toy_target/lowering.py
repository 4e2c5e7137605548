"""How ops become `toy`: a few rules of its own, and the primitives that the rules of every target ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.elementwise import apply, each_lane, operands_of
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import lowerings_of
from minitriton.codegen.target_interface import TargetInfo
from minitriton.codegen.types import I32
from minitriton.dialects import arith, math, tt
from minitriton.target.architectures import Architecture
from toy_target.dialect import ToyOp

lowers = lowerings_of("toy").add


def _what(what: str) -> dict[str, Attribute]:
    return {"what": StringAttr(what)}


@lowers(tt.LoadOp)
def load(f: FunctionLowering, op: tt.LoadOp) -> None:
    """Element by element, where the mask is true, else `other`."""
    given = [f.elements(value) for value in op.operands]
    element = f.element_type(op.results[0])
    f.values[op.results[0]] = f.b.pack(
        [f.b.value(ToyOp, each, element, _what("load")) for each in zip(*given, strict=True)]
    )


@lowers(tt.StoreOp)
def store(f: FunctionLowering, op: tt.StoreOp) -> None:
    """Element by element, where the mask is true, by one of the threads that hold it."""
    type_ = op.ptr.type
    own = f.representative(f.facts(type_).layout)
    given = [f.elements(value) for value in op.operands]
    for pointer, value, *mask in zip(*given, strict=True):
        where = [f.b.and_(*mask, own)] if mask and own is not None else [*mask, *([own] if own is not None else [])]
        f.b.operation(ToyOp, (pointer, value, *where), (), _what("store"))


@lowers(arith.DivfOp)
def divf(f: FunctionLowering, op: arith.DivfOp) -> None:
    """The instruction of LLVM's."""
    f.values[op.results[0]] = apply(f, operands_of(f, op), lambda b, v: b.value(L.FDivOp, v, v[0].type))


@lowers(math.ExpOp)
def exp(f: FunctionLowering, op: math.ExpOp) -> None:
    """A function of the device's."""
    element = f.element_type(op.results[0])
    f.values[op.results[0]] = apply(f, operands_of(f, op), lambda b, v: each_lane(b, "toy_exp", v, element))


class _Toy(TargetInfo):
    """What a kernel without clusters needs of the primitives."""

    cta_scope = "toy"
    reduced_lanes = 0
    lanes_at_once = 8
    shuffle_cost = 2
    sharing_gain = 1.0

    def broadcast_elements(self, bits: int) -> int:
        return 1

    def swap_lanes(self, b: Builder, features: Architecture, bit: int, low: SSAValue, high: SSAValue) -> None:
        return None

    def thread_id(self, b: Builder) -> SSAValue:
        return b.once("thread", ToyOp, I32, _what("thread"))

    def program_id(self, b: Builder, axis: int, num_ctas: int) -> SSAValue:
        return b.value(ToyOp, (), I32, _what(f"program{axis}"))

    def barrier(self, b: Builder, named: tuple[int, int] | None = None) -> None:
        assert named is None
        b.operation(ToyOp, (), (), _what("barrier"))

    def warp_barrier(self, b: Builder) -> None:
        b.operation(ToyOp, (), (), _what("warp_barrier"))

    def shuffle(self, b: Builder, value: SSAValue, offset: SSAValue, kind: str) -> SSAValue:
        return b.value(ToyOp, (value, offset), value.type, _what(f"shuffle_{kind}"))

    def store_shared(self, b: Builder, value: SSAValue, pointer: SSAValue, mask: SSAValue) -> None:
        b.operation(ToyOp, (value, pointer, mask), (), _what("store_shared"))

    def kernel_attributes(self, num_threads: int, num_ctas: int, registers: int | None) -> Mapping[str, Attribute]:
        return {"toy.kernel": UnitAttr(), "toy.threads": IntegerAttr(num_threads, i32)}

    def parameter_attributes(self) -> Mapping[str, Attribute]:
        return {}

    def descriptor_attributes(self) -> Mapping[str, Attribute]:
        return {}

    def workers_of(self, f: Any, kernel: Operation) -> None:
        return None


TOY = _Toy()
