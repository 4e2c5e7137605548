"""Writes the ops of the `nvvm` dialect that act on registers: special registers, barriers, shuffles, calls for every lane."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import llvm as L
from xdsl.ir import Attribute, Operation

from minitriton.analysis.locations import source_location
from minitriton.codegen.text.inline_ptx_check import check_inline_ptx
from minitriton.codegen.text.values import type_text
from minitriton.codegen.text.words import inserted, vector_text
from minitriton.codegen.text.writer import FunctionWriter, asm, data_of, escaped, integer_of, writes
from minitriton.codegen.types import F32, I32, bit_width, lane_type, lanes
from minitriton.dialects import nvvm
from minitriton.dialects.op_access import operand_at, operand_values
from minitriton.errors import LoweringError

# Special registers, barriers ------------------------------------------------------------------------------------------

_SREG_INTRINSICS = {cls.name: f"llvm.{cls.name}" for cls in nvvm.SPECIAL_REGISTERS}


@writes(*_SREG_INTRINSICS)
def _special_register(w: FunctionWriter, op: Operation) -> None:
    intrinsic = _SREG_INTRINSICS[op.name]
    w.module.declare(intrinsic, "i32", "")
    w.emit(f"{w.define(op.results[0])} = call i32 @{intrinsic}()")


@writes("nvvm.setmaxregister")
def _set_max_register(w: FunctionWriter, op: Operation) -> None:
    name = f"llvm.nvvm.setmaxnreg.{data_of(op, 'action')}.sync.aligned.u32"
    w.module.declare(name, "void", "i32")
    w.emit(f"call void @{name}(i32 {integer_of(op, 'count')})")


@writes("nvvm.barrier")
def _barrier(w: FunctionWriter, op: Operation) -> None:
    number = integer_of(op, "barrier_id")
    threads = integer_of(op, "number_of_threads")
    aligned = "" if "divergent" in op.properties else ".aligned"
    if threads:
        w.module.declare(f"llvm.nvvm.barrier.cta.sync{aligned}.count", "void", "i32, i32")
        w.emit(f"call void @llvm.nvvm.barrier.cta.sync{aligned}.count(i32 {number}, i32 {threads})")
    else:
        w.module.declare(f"llvm.nvvm.barrier.cta.sync{aligned}.all", "void", "i32")
        w.emit(f"call void @llvm.nvvm.barrier.cta.sync{aligned}.all(i32 {number})")


@writes("nvvm.barrier.named")
def _named_barrier(w: FunctionWriter, op: Operation) -> None:
    kind = "arrive" if "arrives" in op.properties else "sync"
    text = f"@$1 bar.{kind} $0, {integer_of(op, 'number_of_threads')};"
    asm(w, "void", text, "r,b,~{memory}", [w.typed(operand) for operand in operand_values(op)])


@writes("nvvm.bar.warp.sync")
def _bar_warp_sync(w: FunctionWriter, op: Operation) -> None:
    w.module.declare("llvm.nvvm.bar.warp.sync", "void", "i32")
    w.emit("call void @llvm.nvvm.bar.warp.sync(i32 -1)")


@writes("nvvm.elect.sync")
def _elect_sync(w: FunctionWriter, op: Operation) -> None:
    w.module.declare("llvm.nvvm.elect.sync", "{ i32, i1 }", "i32")
    pair = w.let("call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)")
    w.emit(f"{w.define(op.results[0])} = extractvalue {{ i32, i1 }} {pair}, 1")


@writes("nvvm.vote.sync")
def _vote_sync(w: FunctionWriter, op: Operation) -> None:
    result = type_text(op.results[0].type)
    intrinsic = f"llvm.nvvm.vote.{data_of(op, 'kind')}.sync"
    w.module.declare(intrinsic, result, "i32, i1")
    w.emit(f"{w.define(op.results[0])} = call {result} @{intrinsic}(i32 -1, {w.typed(operand_at(op, 0))})")


@writes("nvvm.redux.sync")
def _redux_sync(w: FunctionWriter, op: Operation) -> None:
    intrinsic = f"llvm.nvvm.redux.sync.{data_of(op, 'kind')}"
    w.module.declare(intrinsic, "i32", "i32, i32")
    w.emit(f"{w.define(op.results[0])} = call i32 @{intrinsic}({w.typed(operand_at(op, 0))}, i32 -1)")


@writes("nvvm.shfl.sync")
def _shfl_sync(w: FunctionWriter, op: Operation) -> None:
    """Lane by lane; two shuffles for 64 bits, narrow lanes in the low bits of a word."""
    value, offset = operand_values(op)
    kind = data_of(op, "kind")
    intrinsic = f"llvm.nvvm.shfl.sync.{kind}.i32"
    w.module.declare(intrinsic, "i32", "i32, i32, i32, i32")
    clamp = 0 if kind == "up" else 31
    offset_text = w.names[offset]

    def shuffled(word: str) -> str:
        return w.let(f"call i32 @{intrinsic}(i32 -1, i32 {word}, i32 {offset_text}, i32 {clamp})")

    element = lane_type(value.type)
    count = lanes(value.type)
    type_ = type_text(value.type)
    name = w.names[value]
    if count == 1:
        w.names[op.results[0]] = _shuffled_element(w, element, name, shuffled)
        return
    result = "poison"
    for lane in range(count):
        one = w.let(f"extractelement {type_} {name}, i32 {lane}")
        moved = _shuffled_element(w, element, one, shuffled)
        result = w.let(f"insertelement {type_} {result}, {type_text(element)} {moved}, i32 {lane}")
    w.names[op.results[0]] = result


def _shuffled_element(w: FunctionWriter, element: Attribute, name: str, shuffled: Callable[[str], str]) -> str:
    type_ = type_text(element)
    if element == I32:
        return shuffled(name)
    if element == F32:
        return w.let(f"bitcast i32 {shuffled(w.let(f'bitcast float {name} to i32'))} to float")
    bits = 64 if isinstance(element, L.LLVMPointerType) else bit_width(element)
    to_int, from_int = ("ptrtoint", "inttoptr") if isinstance(element, L.LLVMPointerType) else ("bitcast", "bitcast")
    if bits == 64:
        pair = w.let(f"{to_int} {type_} {name} to i64")
        vector = w.let(f"bitcast i64 {pair} to <2 x i32>")
        halves = [shuffled(w.let(f"extractelement <2 x i32> {vector}, i32 {i}")) for i in (0, 1)]
        low = w.let(f"insertelement <2 x i32> poison, i32 {halves[0]}, i32 0")
        both = w.let(f"insertelement <2 x i32> {low}, i32 {halves[1]}, i32 1")
        wide = w.let(f"bitcast <2 x i32> {both} to i64")
        return w.let(f"{from_int} i64 {wide} to {type_}")
    narrow = w.let(f"bitcast {type_} {name} to i{bits}")
    word = shuffled(w.let(f"zext i{bits} {narrow} to i32"))
    return w.let(f"bitcast i{bits} {w.let(f'trunc i32 {word} to i{bits}')} to {type_}")


# Lane by lane ---------------------------------------------------------------------------------------------------------


@writes("nvvm.each_lane")
def _eachlane_text(w: FunctionWriter, op: Operation) -> None:
    callee = data_of(op, "callee")
    result = op.results[0]
    element = type_text(lane_type(result.type))
    w.module.declare(callee, element, ", ".join(type_text(lane_type(v.type)) for v in operand_values(op)))
    count = lanes(result.type)
    if count == 1:
        w.names[result] = w.let(f"call {element} @{callee}({', '.join(map(w.typed, operand_values(op)))})")
        return
    operands = [(type_text(lane_type(v.type)), w.typed(v)) for v in operand_values(op)]
    vector = "poison"
    type_ = type_text(result.type)
    for lane in range(count):
        arguments = [f"{scalar} {w.let(f'extractelement {v}, i32 {lane}')}" for scalar, v in operands]
        one = w.let(f"call {element} @{callee}({', '.join(arguments)})")
        vector = w.let(f"insertelement {type_} {vector}, {element} {one}, i32 {lane}")
    w.names[result] = vector


class _Packed:
    """How `packed` lanes of a type are cut into registers."""

    def __init__(self, type_: Attribute, packed: int):
        element = lane_type(type_)
        self.lanes = lanes(type_)
        self.element = type_text(element)
        bits = 64 if isinstance(element, L.LLVMPointerType) else bit_width(element)
        self.per_register = min(max(32 // bits, 1), packed)
        self.registers = packed // self.per_register
        self.type = self.element if self.per_register == 1 else f"i{bits * self.per_register}"
        self.piece = f"<{self.per_register} x {self.element}>"

    def register(self, w: FunctionWriter, name: str, type_: str, first: int) -> str:
        """The register that holds lanes `first`, `first + 1`, ..., as a typed operand; poison beyond the last."""
        if self.per_register == 1:
            if self.lanes == 1:
                return f"{self.type} {name if first == 0 else 'poison'}"
            one = w.let(f"extractelement {type_} {name}, i32 {first}") if first < self.lanes else "poison"
            return f"{self.type} {one}"
        if self.lanes == 1:
            piece = w.let(f"insertelement {self.piece} poison, {self.element} {name}, i32 0")
        else:
            mask = ", ".join(
                f"i32 {i if i < self.lanes else 'poison'}" for i in range(first, first + self.per_register)
            )
            piece = w.let(f"shufflevector {type_} {name}, {type_} poison, <{self.per_register} x i32> <{mask}>")
        return f"{self.type} {w.let(f'bitcast {self.piece} {piece} to {self.type}')}"


@writes("nvvm.inline_ptx")
def _inline_ptx(w: FunctionWriter, op: Operation) -> None:
    packed = integer_of(op, "packed", 1)
    inputs = [(_Packed(v.type, packed), w.names[v], type_text(v.type)) for v in operand_values(op)]
    outputs = [_Packed(r.type, packed) for r in op.results]
    count = lanes((*operand_values(op), *op.results)[0].type)
    types = [o.type for o in outputs for _ in range(o.registers)]
    text, constraints = data_of(op, "asm_string"), data_of(op, "constraints")
    try:
        check_inline_ptx(text, constraints, len(types), sum(p.registers for p, _, _ in inputs))
    except LoweringError as error:
        error.location = source_location(op.location)
        raise
    fields = types[0] if len(types) == 1 else "{ " + ", ".join(types) + " }"
    effects = "" if "pure" in op.properties else " sideeffect"
    w.module.asm_attributes_used = True
    head = f'call {fields} asm{effects} "{escaped(text)}", "{escaped(constraints)}"'
    pieces: list[list[str]] = [[] for _ in outputs]
    for first in range(0, count, packed):
        arguments = [
            p.register(w, name, type_, first + r * p.per_register)
            for p, name, type_ in inputs
            for r in range(p.registers)
        ]
        got = w.let(f"{head}({', '.join(arguments)}) #0")
        parts = [got] if len(types) == 1 else [w.let(f"extractvalue {fields} {got}, {i}") for i in range(len(types))]
        for output, into in zip(outputs, pieces, strict=True):
            into += [parts.pop(0) for _ in range(output.registers)]
    for result, output, registers in zip(op.results, outputs, pieces, strict=True):
        w.names[result] = _joined(w, output, registers, count)


def _joined(w: FunctionWriter, output: _Packed, registers: list[str], count: int) -> str:
    """The lanes of a result from the registers that hold them."""
    total = len(registers) * output.per_register
    vector = inserted(w, registers, output.type)
    if output.per_register > 1:
        vector = w.let(
            f"bitcast {vector_text(output.type, len(registers))} {vector} to {vector_text(output.element, total)}"
        )
    if total == count:
        return vector
    type_ = vector_text(output.element, total)
    if count == 1:
        return w.let(f"extractelement {type_} {vector}, i32 0")
    mask = ", ".join(f"i32 {i}" for i in range(count))
    return w.let(f"shufflevector {type_} {vector}, {type_} poison, <{count} x i32> <{mask}>")
