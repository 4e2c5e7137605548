"""Writes the ops of the `llvm` dialect."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnregisteredAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from minitriton.codegen.text.values import constant_text, symbol_text, type_text
from minitriton.codegen.text.writer import LOAD_METADATA, WRITERS, FunctionWriter, Writer, escaped, inserted
from minitriton.dialects import llvm as ours
from minitriton.dialects.attribute_values import integer, integers, plain_text
from minitriton.dialects.fast_paths.op_access import block_successors, operand_at, operand_values
from minitriton.dialects.llvm import lane_type, lanes
from minitriton.errors import LoweringError

# Values without an instruction ----------------------------------------------------------------------------------------


@WRITERS.add(L.ConstantOp)
def _constant(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    w.names[result] = constant_text(op.properties["value"], result.type)


@WRITERS.add(ours.PoisonOp)
def _poison(w: FunctionWriter, op: Operation) -> None:
    w.names[op.results[0]] = "poison"


@WRITERS.add(L.UndefOp)
def _undef(w: FunctionWriter, op: Operation) -> None:
    w.names[op.results[0]] = "undef"


@WRITERS.add(L.ZeroOp)
def _zero(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    w.names[result] = "null" if isinstance(result.type, L.LLVMPointerType) else "zeroinitializer"


@WRITERS.add(L.AddressOfOp)
def _address(w: FunctionWriter, op: Operation) -> None:
    w.names[op.results[0]] = symbol_text(plain_text(op.properties["global_name"]))


# Arithmetic -----------------------------------------------------------------------------------------------------------


def _binary(keyword: str) -> Writer:
    def write(w: FunctionWriter, op: Operation) -> None:
        a, b = operand_values(op)
        names = w.names
        flags = _flags(op) if op.properties else ""
        text = f"{keyword} {flags}{type_text(a.type)} {names[a]}, {names[b]}"
        w.lines.append(f"  {w.define(op.results[0])} = {text}{w.dbg}")

    return write


_NO_FLAGS = L.FastMathAttr(None)


def _flags(op: Operation) -> str:
    """The flags between an instruction's name and its type, each with a blank after it."""
    properties = op.properties
    fast = properties.get("fastmathFlags")
    if fast is _NO_FLAGS:
        return ""
    if isinstance(fast, L.FastMathAttr):
        return "".join(f"{flag.value} " for flag in fast.data)
    overflow = properties.get("overflowFlags")
    if isinstance(overflow, IntegerAttr):
        bits = overflow.value.data
        return ("nsw " if bits & 1 else "") + ("nuw " if bits & 2 else "")
    return "".join(text for name, text in _UNIT_FLAGS if name in properties)


_UNIT_FLAGS = (("isDisjoint", "disjoint "), ("isExact", "exact "))


_BINARY = (
    L.AddOp, L.SubOp, L.MulOp, L.UDivOp, L.SDivOp, L.URemOp, L.SRemOp, L.AndOp, L.OrOp, L.XOrOp, L.ShlOp, L.LShrOp, L.AShrOp, L.FAddOp, L.FSubOp, L.FMulOp, L.FDivOp, L.FRemOp,
)  # fmt: skip
WRITERS.update({kind: _binary(kind.name.removeprefix("llvm.")) for kind in _BINARY})


def _cast(keyword: str) -> Writer:
    def write(w: FunctionWriter, op: Operation) -> None:
        a = operand_at(op, 0)
        result = op.results[0]
        text = f"{keyword} {type_text(a.type)} {w.names[a]} to {type_text(result.type)}"
        w.lines.append(f"  {w.define(result)} = {text}{w.dbg}")

    return write


_CASTS = (
    L.TruncOp, L.ZExtOp, L.SExtOp, L.FPTruncOp, L.FPExtOp, ours.FPToSIOp, ours.FPToUIOp, L.SIToFPOp, ours.UIToFPOp, L.BitcastOp, ours.IntToPtrOp, ours.PtrToIntOp, ours.AddrSpaceCastOp,
)  # fmt: skip
WRITERS.update({kind: _cast(kind.name.removeprefix("llvm.")) for kind in _CASTS})


_ICMP = tuple(str(p) for p in L.ICmpPredicateFlag)
_FCMP = tuple(str(p).lstrip("_") for p in L.FCmpPredicateFlag)


def _compare(keyword: str, predicates: tuple[str, ...]) -> Writer:
    def write(w: FunctionWriter, op: Operation) -> None:
        a, b = operand_values(op)
        predicate = predicates[integer(op.properties["predicate"])]
        w.emit(f"{w.define(op.results[0])} = {keyword} {predicate} {w.typed(a)}, {w.names[b]}")

    return write


WRITERS.update({L.ICmpOp: _compare("icmp", _ICMP), ours.FCmpOp: _compare("fcmp", _FCMP)})


def _of_operands(keyword: str) -> Writer:
    """An instruction that is its name and its operands."""
    return lambda w, op: w.emit(f"{w.define(op.results[0])} = {keyword} {', '.join(map(w.typed, operand_values(op)))}")


WRITERS.update(
    {
        L.FNegOp: _of_operands("fneg"),
        ours.SelectOp: _of_operands("select"),
        ours.ExtractElementOp: _of_operands("extractelement"),
        L.InsertElementOp: _of_operands("insertelement"),
    }
)


# Vectors and aggregates -----------------------------------------------------------------------------------------------


@WRITERS.add(L.ShuffleVectorOp)
def _shuffle_vector(w: FunctionWriter, op: Operation) -> None:
    a, b = map(w.typed, operand_values(op))
    w.emit(f"{w.define(op.results[0])} = shufflevector {a}, {b}, {_mask(integers(op.properties['mask']))}")


@lru_cache(maxsize=4096)
def _mask(lanes: tuple[int, ...]) -> str:
    if not any(lanes):
        return f"<{len(lanes)} x i32> zeroinitializer"
    return f"<{len(lanes)} x i32> <" + ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in lanes) + ">"


def _at_position(keyword: str) -> Writer:
    def write(w: FunctionWriter, op: Operation) -> None:
        operands = ", ".join(map(w.typed, operand_values(op)))
        w.emit(
            f"{w.define(op.results[0])} = {keyword} {operands}, {', '.join(map(str, integers(op.properties['position'])))}"
        )

    return write


WRITERS.update({L.ExtractValueOp: _at_position("extractvalue"), L.InsertValueOp: _at_position("insertvalue")})


# Memory ---------------------------------------------------------------------------------------------------------------


@WRITERS.add(ours.GEPOp)
def _gep(w: FunctionWriter, op: Operation) -> None:
    operands = operand_values(op)
    pointer, element = w.typed(operands[0]), type_text(op.properties["elem_type"])
    indices, at = "", 1
    for index in integers(op.properties["rawConstantIndices"]):
        if index == ours.DYNAMIC_INDEX:
            indices += f", {w.typed(operands[at])}"
            at += 1
        else:
            indices += f", i32 {index}"
    inbounds = "inbounds " if "inbounds" in op.properties else ""
    w.emit(f"{w.define(op.results[0])} = getelementptr {inbounds}{element}, {pointer}{indices}")


def _alignment(op: Operation) -> str:
    attr = op.properties.get("alignment")
    return "" if attr is None else f", align {integer(attr)}"


@WRITERS.add(L.LoadOp)
def _load(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    volatile = "volatile " if "volatile_" in op.properties else ""
    metadata = "".join(LOAD_METADATA[name] for name in op.attributes if name in LOAD_METADATA)
    w.emit(
        f"{w.define(result)} = load {volatile}{type_text(result.type)}, {w.typed(operand_at(op, 0))}{_alignment(op)}{metadata}"
    )


@WRITERS.add(L.StoreOp)
def _store(w: FunctionWriter, op: Operation) -> None:
    value, pointer = map(w.typed, operand_values(op))
    volatile = "volatile " if "volatile_" in op.properties else ""
    w.emit(f"store {volatile}{value}, {pointer}{_alignment(op)}")


@WRITERS.add(L.AllocaOp)
def _alloca(w: FunctionWriter, op: Operation) -> None:
    element = type_text(op.properties["elem_type"])
    w.emit(f"{w.define(op.results[0])} = alloca {element}, {w.typed(operand_at(op, 0))}{_alignment(op)}")


def _scope(op: Operation) -> str:
    scope = op.properties.get("syncscope")
    return f' syncscope("{scope.data}")' if isinstance(scope, StringAttr) and scope.data else ""


@WRITERS.add(ours.AtomicRMWOp)
def _atomicrmw(w: FunctionWriter, op: Operation) -> None:
    pointer, value = map(w.typed, operand_values(op))
    name = w.define(op.results[0])
    w.emit(
        f"{name} = atomicrmw {plain_text(op.properties['bin_op'])} {pointer}, {value}{_scope(op)} {plain_text(op.properties['ordering'])}"
    )


@WRITERS.add(ours.CmpXchgOp)
def _cmpxchg(w: FunctionWriter, op: ours.CmpXchgOp) -> None:
    order = op.ordering.data
    failed = {"release": "monotonic", "acq_rel": "acquire"}.get(order, order)
    operands = ", ".join(map(w.typed, op.operands))
    w.emit(f"{w.define(op.res)} = cmpxchg {operands}{_scope(op)} {order} {failed}")


@WRITERS.add(ours.FenceOp)
def _fence(w: FunctionWriter, op: ours.FenceOp) -> None:
    w.emit(f"fence{_scope(op)} {op.ordering.data}")


# Calls ----------------------------------------------------------------------------------------------------------------


def _call(w: FunctionWriter, op: Operation, callee: str, *, declared: bool) -> None:
    arguments = ", ".join(map(w.typed, operand_values(op)))
    if op.results:
        result = type_text(op.results[0].type)
        w.emit(f"{w.define(op.results[0])} = call {result} {symbol_text(callee)}({arguments})")
    else:
        result = "void"
        w.emit(f"call void {symbol_text(callee)}({arguments})")
    if declared:
        w.module.declare(callee, result, ", ".join(type_text(v.type) for v in operand_values(op)))


@WRITERS.add(L.CallIntrinsicOp)
def _call_intrinsic(w: FunctionWriter, op: Operation) -> None:
    _call(w, op, plain_text(op.properties["intrin"]), declared=True)


@WRITERS.add(L.CallOp)
def _call_function(w: FunctionWriter, op: Operation) -> None:
    callee = plain_text(op.properties["callee"])
    known = w.dbg
    w.dbg = known or w.module.debug.some_suffix()
    _call(w, op, callee, declared=False)
    w.dbg = known


@WRITERS.add(L.InlineAsmOp)
def _inline_asm(w: FunctionWriter, op: Operation) -> None:
    properties = op.properties
    effects = " sideeffect" if "has_side_effects" in properties else ""
    text, constraints = (
        escaped(plain_text(op.properties["asm_string"])),
        escaped(plain_text(op.properties["constraints"])),
    )
    arguments = ", ".join(map(w.typed, operand_values(op)))
    w.module.asm_attributes_used = True
    call = f'asm{effects} "{text}", "{constraints}"({arguments}) #0'
    if op.results:
        w.emit(f"{w.define(op.results[0])} = call {type_text(op.results[0].type)} {call}")
    else:
        w.emit(f"call void {call}")


# Control flow ---------------------------------------------------------------------------------------------------------


def _edge(w: FunctionWriter, op: Operation, target: Block, values: Sequence[SSAValue]) -> str:
    parent = op.parent
    assert parent is not None
    if target.args:
        w.predecessors.setdefault(target, []).append((w.labels[parent], values))
    return f"label %{w.labels[target]}"


@WRITERS.add(L.BrOp)
def _br(w: FunctionWriter, op: Operation) -> None:
    w.emit(f"br {_edge(w, op, block_successors(op)[0], operand_values(op))}{_loop(w, op)}")


def _loop(w: FunctionWriter, op: Operation) -> str:
    properties = loop_properties(op) if op.attributes else None
    return w.module.debug.loop(properties) if properties else ""


@WRITERS.add(L.CondBrOp)
def _cond_br(w: FunctionWriter, op: Operation) -> None:
    condition = operand_at(op, 0)
    then, otherwise = block_successors(op)
    count = len(then.args)
    first, second = operand_values(op)[1 : 1 + count], operand_values(op)[1 + count :]
    if then is otherwise and then.args:
        chosen = [_chosen(w, condition, a, b) for a, b in zip(first, second, strict=True)]
        w.emit(f"br {_edge(w, op, then, chosen)}{_loop(w, op)}")
        return
    edges = f"{_edge(w, op, then, first)}, {_edge(w, op, otherwise, second)}"
    w.emit(f"br {w.typed(condition)}, {edges}{_loop(w, op)}")


def _chosen(w: FunctionWriter, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    """A value that exists in the text only, for two edges to the same block."""
    chosen = BlockArgument(a.type, Block(), 0)
    w.names[chosen] = w.let(f"select {w.typed(condition)}, {w.typed(a)}, {w.typed(b)}")
    return chosen


@WRITERS.add(L.ReturnOp)
def _return(w: FunctionWriter, op: Operation) -> None:
    w.emit(f"ret {w.typed(operand_at(op, 0))}" if operand_values(op) else "ret void")


@WRITERS.add(L.UnreachableOp)
def _unreachable(w: FunctionWriter, op: Operation) -> None:
    w.emit("unreachable")


# What a loop tells LLVM about itself, as metadata of the branch that repeats it.
#
# llvm.br ^bb1 {loop_annotation = #llvm.loop_annotation<licm = <disable = true>>}     ->     br label %b1, !llvm.loop !5
#                                                                                            !5 = distinct !{!5, !6}
#                                                                                            !6 = !{!"llvm.licm.disable"}

_PROPERTIES = {
    ("licm", "disable"): "llvm.licm.disable",
    ("licm", "versioningDisable"): "llvm.loop.licm_versioning.disable",
    ("unroll", "disable"): "llvm.loop.unroll.disable",
    ("unroll", "full"): "llvm.loop.unroll.full",
}
"""Parts of `#llvm.loop_annotation` that are switches, as LLVM names them (LLVM language reference, "llvm.loop")."""


def loop_properties(op: Operation) -> list[str]:
    """The properties that the annotation of a branch names; empty without one. Raises `LoweringError` for unknown ones."""
    annotation = op.attributes.get("loop_annotation")
    if not isinstance(annotation, UnregisteredAttr):
        return []
    found: list[str] = []
    for group, body in re.findall(r"(\w+) = <([^>]*)>", annotation.value.data):
        for name, value in re.findall(r"(\w+) = (\w+)", body):
            known = _PROPERTIES.get((group, name))
            if known is None:
                raise LoweringError(f"loop annotation {group}.{name} cannot be written", help="leave it out")
            if value == "true":
                found.append(known)
    return found


# Lane by lane ---------------------------------------------------------------------------------------------------------


@WRITERS.add(ours.EachLaneOp)
def _each_lane(w: FunctionWriter, op: ours.EachLaneOp) -> None:
    callee = op.callee.data
    result = op.res
    element = type_text(lane_type(result.type))
    w.module.declare(callee, element, ", ".join(type_text(lane_type(v.type)) for v in op.args))
    count = lanes(result.type)
    if count == 1:
        kept = " noinline" if op.noinline is not None else ""
        w.names[result] = w.let(f"call {element} @{callee}({', '.join(map(w.typed, op.args))}){kept}")
        return
    operands = [(type_text(lane_type(v.type)), w.typed(v)) for v in op.args]
    vector = "poison"
    type_ = type_text(result.type)
    for lane in range(count):
        arguments = [f"{scalar} {w.let(f'extractelement {v}, i32 {lane}')}" for scalar, v in operands]
        one = w.let(f"call {element} @{callee}({', '.join(arguments)})")
        vector = w.let(f"insertelement {type_} {vector}, {element} {one}, i32 {lane}")
    w.names[result] = vector


@WRITERS.add(ours.PackOp)
def _pack(w: FunctionWriter, op: ours.PackOp) -> None:
    w.names[op.res] = inserted(w, [w.names[value] for value in op.values], type_text(lane_type(op.res.type)))
