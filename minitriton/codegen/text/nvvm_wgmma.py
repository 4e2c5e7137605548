"""Writes the ops of warp-group products: one inline PTX block for all steps of a tile along k.

LLVM then sees one call instead of one for each step, each with as many operands as there are accumulators. The block begins with
`wgmma.fence`: what LLVM writes to its registers (a zero, a copy) it writes before the block, and so before the fence.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from minitriton.codegen.text.values import type_text
from minitriton.codegen.text.words import Words, assemble, lane_text, pack_words
from minitriton.codegen.text.writer import FunctionWriter, asm, data_of, integer_of, segments_of, writes
from minitriton.codegen.types import lane_type, lanes
from minitriton.dialects.op_access import operand_values


class _Registers:
    """The registers of values that an asm block takes in and gives back."""

    def __init__(self, w: FunctionWriter, values: Sequence[SSAValue]):
        self.words = [Words(lane_type(value.type), lanes(value.type)) for value in values]
        self.arguments: list[str] = []
        self.constraints: list[str] = []
        for value, words in zip(values, self.words, strict=True):
            name, type_ = pack_words(w, value, words, lanes(value.type))
            self.arguments += [f"{words.type} {lane_text(w, name, type_, i)}" for i in range(words.count)]
            self.constraints += [words.constraint] * words.count
        self.count = len(self.arguments)
        self.fields = "{ " + ", ".join(argument.split(" ")[0] for argument in self.arguments) + " }"

    def outputs(self) -> list[str]:
        """Constraints of the results."""
        return [f"={constraint}" for constraint in self.constraints]

    def tied(self) -> list[str]:
        """Constraints of the operands: each in the register of its result."""
        return [str(i) for i in range(self.count)]

    def take(self, w: FunctionWriter, got: str, results: Sequence[SSAValue]) -> None:
        """Names the results after what the block returned."""
        at = 0
        for result, words in zip(results, self.words, strict=True):
            single = self.count == 1
            pieces = [
                got if single else w.let(f"extractvalue {self.fields} {got}, {at + i}") for i in range(words.count)
            ]
            at += words.count
            w.names[result] = assemble(w, pieces, words, lane_type(result.type), lanes(result.type))


@writes("nvvm.wgmma.mma_async")
def _wgmma(w: FunctionWriter, op: Operation) -> None:
    (a,), (b,), (c,), conditions = segments_of(op)
    registers = _Registers(w, (c,))
    count = registers.count
    arguments = [*registers.arguments, w.typed(b)]
    constraints = [*registers.outputs(), *registers.tied(), "l"]
    position = 2 * count
    b_name = f"${position}"
    a_offsets = op.properties["a_offsets"].get_values()  # pyright: ignore[reportAttributeAccessIssue]
    b_offsets = op.properties["b_offsets"].get_values()  # pyright: ignore[reportAttributeAccessIssue]
    a_names: list[str] = []
    name, type_ = w.names[a], type_text(a.type)
    for i in range(lanes(a.type)):
        position += 1
        a_names.append(f"${position}")
        arguments.append(f"{'i64' if a_offsets else 'i32'} {lane_text(w, name, type_, i)}")
        constraints.append("l" if a_offsets else "r")
    first = "1"
    text = "{\n.reg .b64 a, b;\nwgmma.fence.sync.aligned;\n"
    if conditions:
        position += 1
        arguments.append(w.typed(conditions[0]))
        constraints.append("b")
        first = f"${position}"
    accumulators = "{" + ", ".join(f"${i}" for i in range(count)) + "}"
    opcode = f"wgmma.mma_async.sync.aligned.{data_of(op, 'shape')}.{data_of(op, 'types')}"
    tail = _tail(op)
    for step, b_offset in enumerate(b_offsets):
        if a_offsets:
            text += f"add.s64 a, {a_names[0]}, {a_offsets[step]};\n"
            left = "a"
        else:
            left = "{" + ", ".join(a_names[4 * step : 4 * step + 4]) + "}"
        text += f"add.s64 b, {b_name}, {b_offset};\n"
        text += f"{opcode} {accumulators}, {left}, b, {first if step == 0 else '1'}{tail};\n"
    got = asm(w, registers.fields, text + "}", ",".join(constraints), arguments)
    registers.take(w, got, op.results)


def _tail(op: Operation) -> str:
    """The signs of a and b, and whether they are transposed, where the type has these operands."""
    types = data_of(op, "types")
    if types.startswith("s32"):
        return ""
    if not types.endswith("16"):
        return ", 1, 1"
    trans_b = int("trans_b" in op.properties)
    in_memory = len(op.properties["a_offsets"])  # pyright: ignore[reportArgumentType]
    return f", 1, 1, {int('trans_a' in op.properties)}, {trans_b}" if in_memory else f", 1, 1, {trans_b}"


@writes("nvvm.wgmma.commit_group")
def _commit_group(w: FunctionWriter, op: Operation) -> None:
    asm(w, "void", "wgmma.commit_group.sync.aligned;", "", ())


@writes("nvvm.wgmma.wait_group")
def _wait_group(w: FunctionWriter, op: Operation) -> None:
    """The operands pass through the block, so that no use of a result can move before it."""
    text = f"wgmma.wait_group.sync.aligned {integer_of(op, 'n')};"
    if not op.results:
        asm(w, "void", text, "", ())
        return
    registers = _Registers(w, operand_values(op))
    constraints = ",".join([*registers.outputs(), *registers.tied()])
    fields = registers.fields if registers.count > 1 else registers.fields.strip("{ }")
    registers.take(w, asm(w, fields, text, constraints, registers.arguments), op.results)


@writes("nvvm.fence.proxy.async.shared")
def _fence_proxy_async(w: FunctionWriter, op: Operation) -> None:
    scope = "cluster" if "cluster" in op.properties else "cta"
    asm(w, "void", f"fence.proxy.async.shared::{scope};", "", ())
