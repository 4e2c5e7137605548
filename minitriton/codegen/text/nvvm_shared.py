"""Writes the ops of the `nvvm` dialect on shared memory of the CTA and the cluster, `cp.async`, and instructions on matrices."""

from __future__ import annotations

from xdsl.ir import Operation

from minitriton.codegen.text.values import type_text
from minitriton.codegen.text.words import Words, assemble, inserted, lane_text, pack_words
from minitriton.codegen.text.writer import FunctionWriter, asm, data_of, integer_of, segments_of, writes
from minitriton.codegen.types import lane_type, lanes
from minitriton.dialects.op_access import operand_at, operand_values

# Shared memory --------------------------------------------------------------------------------------------------------


@writes("nvvm.st.shared")
def _st_shared(w: FunctionWriter, op: Operation) -> None:
    value, pointer, mask = operand_values(op)
    words = Words(lane_type(value.type), lanes(value.type))
    name, type_ = pack_words(w, value, words, lanes(value.type))
    arguments = [f"{words.type} {lane_text(w, name, type_, i)}" for i in range(words.count)]
    listed = ", ".join(f"${i}" for i in range(words.count))
    listed = f"{{ {listed} }}" if words.count > 1 else listed
    text = f"@${words.count + 1} st.shared{words.vector}.b{words.bits} [ ${words.count} + 0 ], {listed};"
    constraints = ",".join([words.constraint] * words.count + ["r", "b"])
    asm(w, "void", text, constraints, [*arguments, w.typed(pointer), w.typed(mask)])


@writes("nvvm.ld.shared")
def _ld_shared(w: FunctionWriter, op: Operation) -> None:
    pointer, mask = operand_values(op)
    result = op.results[0]
    element, total = lane_type(result.type), lanes(result.type)
    words = Words(element, total)
    listed = ", ".join(f"${i}" for i in range(words.count))
    listed = f"{{ {listed} }}" if words.count > 1 else listed
    text = f"@${words.count + 1} ld.shared{words.vector}.b{words.bits} {listed}, [ ${words.count} + 0 ];"
    constraints = ",".join([f"={words.constraint}"] * words.count + ["r", "b"])
    fields = "{ " + ", ".join([words.type] * words.count) + " }"
    got = asm(w, fields if words.count > 1 else words.type, text, constraints, [w.typed(pointer), w.typed(mask)])
    pieces = [got] if words.count == 1 else [w.let(f"extractvalue {fields} {got}, {i}") for i in range(words.count)]
    w.names[result] = assemble(w, pieces, words, element, total)


@writes("nvvm.cp.async.shared.global")
def _cp_async(w: FunctionWriter, op: Operation) -> None:
    (dst,), (src,), sizes, masks = segments_of(op)
    size = integer_of(op, "size")
    arguments = [w.typed(dst), w.typed(src)]
    constraints = ["r", "l"]
    read = f"0x{size:x}"
    if sizes:
        read = f"${len(arguments)}"
        arguments.append(w.typed(sizes[0]))
        constraints.append("r")
    predicate = ""
    if masks:
        predicate = f"@${len(arguments)} "
        arguments.append(w.typed(masks[0]))
        constraints.append("b")
    text = f"{predicate}cp.async.{data_of(op, 'modifier')}.shared.global [ $0 + 0 ], [ $1 + 0 ], 0x{size:x}, {read};"
    asm(w, "void", text, ",".join(constraints), arguments)


@writes("nvvm.cp.async.commit.group")
def _cp_async_commit(w: FunctionWriter, op: Operation) -> None:
    w.module.declare("llvm.nvvm.cp.async.commit.group", "void", "")
    w.emit("call void @llvm.nvvm.cp.async.commit.group()")


@writes("nvvm.cp.async.wait.group")
def _cp_async_wait(w: FunctionWriter, op: Operation) -> None:
    w.module.declare("llvm.nvvm.cp.async.wait.group", "void", "i32")
    w.emit(f"call void @llvm.nvvm.cp.async.wait.group(i32 {integer_of(op, 'n')})")


@writes("nvvm.ldmatrix")
def _ldmatrix(w: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    count = lanes(result.type)
    trans = ".trans" if "transposed" in op.properties else ""
    intrinsic = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}{trans}.b16.p3"
    fields = "{ " + ", ".join(["i32"] * count) + " }" if count > 1 else "i32"
    w.module.declare(intrinsic, fields, "ptr addrspace(3)")
    got = w.let(f"call {fields} @{intrinsic}({w.typed(operand_at(op, 0))})")
    words = [got] if count == 1 else [w.let(f"extractvalue {fields} {got}, {i}") for i in range(count)]
    w.names[result] = inserted(w, words, "i32")


@writes("nvvm.stmatrix")
def _stmatrix(w: FunctionWriter, op: Operation) -> None:
    value, pointer = operand_values(op)
    count = lanes(value.type)
    trans = ".trans" if "transposed" in op.properties else ""
    intrinsic = f"llvm.nvvm.stmatrix.sync.aligned.m8n8.x{count}{trans}.b16.p3"
    w.module.declare(intrinsic, "void", ", ".join(["ptr addrspace(3)", *["i32"] * count]))
    name, type_ = w.names[value], type_text(value.type)
    words = ", ".join(f"i32 {lane_text(w, name, type_, i)}" for i in range(count))
    w.emit(f"call void @{intrinsic}({w.typed(pointer)}, {words})")


# Clusters of CTAs -----------------------------------------------------------------------------------------------------


@writes("nvvm.cluster.barrier")
def _cluster_barrier(w: FunctionWriter, op: Operation) -> None:
    for part in ("arrive", "wait"):
        intrinsic = f"llvm.nvvm.barrier.cluster.{part}.aligned"
        w.module.declare(intrinsic, "void", "")
        w.emit(f"call void @{intrinsic}()")


@writes("nvvm.mapa")
def _mapa(w: FunctionWriter, op: Operation) -> None:
    pointer, rank = operand_values(op)
    w.module.declare("llvm.nvvm.mapa.shared.cluster", "ptr addrspace(7)", "ptr addrspace(3), i32")
    call = f"call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster({w.typed(pointer)}, {w.typed(rank)})"
    w.emit(f"{w.define(op.results[0])} = {call}")


# Tensor cores ---------------------------------------------------------------------------------------------------------


@writes("nvvm.mma.sync")
def _mma_sync(w: FunctionWriter, op: Operation) -> None:
    a, b, c = operand_values(op)
    result = op.results[0]
    element, count = lane_type(result.type), lanes(result.type)
    words = Words(element, count)
    sizes = (words.count, lanes(a.type), lanes(b.type), words.count)
    numbers = iter(range(sum(sizes)))
    listed = ["{ " + ", ".join(f"${next(numbers)}" for _ in range(size)) + " }" for size in sizes]
    arguments: list[str] = []
    kinds = [f"={words.constraint}"] * words.count
    for value in (a, b):
        scalar = type_text(lane_type(value.type))
        kinds += ["d" if scalar == "double" else "r"] * lanes(value.type)
        name, type_ = w.names[value], type_text(value.type)
        arguments += [f"{scalar} {lane_text(w, name, type_, i)}" for i in range(lanes(value.type))]
    name, type_ = pack_words(w, c, words, count)
    arguments += [f"{words.type} {lane_text(w, name, type_, i)}" for i in range(words.count)]
    kinds += [words.constraint] * words.count
    saturated = ".satfinite" if data_of(op, "types").startswith("s32") else ""
    text = f"mma.sync.aligned.{data_of(op, 'shape')}.row.col{saturated}.{data_of(op, 'types')} {', '.join(listed)};"
    fields = "{ " + ", ".join([words.type] * words.count) + " }"
    got = asm(w, fields, text, ",".join(kinds), arguments)
    pieces = [w.let(f"extractvalue {fields} {got}, {i}") for i in range(words.count)]
    w.names[result] = assemble(w, pieces, words, element, count)
