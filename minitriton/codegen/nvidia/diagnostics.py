"""`tt.print`, `tt.assert` and `llvm.intr.assume`.

tt.print " x: " %v : tensor<4xf32>     vprintf("pid (%u, %u, %u) idx (%1u) x: %f\\n", {...}) for every register
tt.assert %c, "message"                one branch to __assertfail if any register is false
"""

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, StringAttr, SymbolRefAttr, TensorType
from xdsl.ir import SSAValue

from minitriton.codegen import registers
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.signature import program_id
from minitriton.codegen.nvidia import lowers
from minitriton.codegen.types import F32, F64, I16, I32, I64, PTR, VOID, bit_width, struct_type
from minitriton.dialects import tt
from minitriton.dialects.attribute_values import is_true
from minitriton.dialects.locations import source_location
from minitriton.dialects.narrowing import instance_of

MAX_ARGUMENTS = 32
"""What `vprintf` takes; more are printed wrong."""


@lowers(tt.PrintOp)
def print_(f: FunctionLowering, op: tt.PrintOp) -> None:
    prefix = op.prefix
    assert isinstance(prefix, StringAttr)
    programs = [program_id(f, axis) for axis in range(3)]
    where = "pid (%u, %u, %u)"
    if not op.operands:
        _printf(f, where + prefix.data, programs)
        return
    hexadecimal = is_true(op.hex)
    signs = op.is_signed.get_values()
    for number, operand in enumerate(op.operands):
        label = prefix.data + (f"(operand {number}) " if len(op.operands) > 1 else "")
        indices, widths = _indices(f, operand)
        shown = min(len(widths), MAX_ARGUMENTS - len(programs) - 1)
        coordinates = ", ".join(f"%{width}u" for width in widths[:shown])
        for register, value in enumerate(f.elements(operand)):
            promoted, text = _promoted(f, value, hexadecimal, bool(signs[number]))
            index = [registers.element(f.b, of_dim, register) for of_dim in indices[:shown]]
            _printf(f, f"{where} idx ({coordinates}){label}{text}", [*programs, *index, promoted])


def _indices(f: FunctionLowering, operand: SSAValue) -> tuple[list[registers.Registers], list[int]]:
    """The coordinates of every register, and how many digits each takes."""
    if not instance_of(operand.type, TensorType):
        return [], []
    facts = f.facts(operand.type)
    return [f.indices(facts.layout, d) for d in range(len(facts.shape))], [len(str(s - 1)) for s in facts.shape]


def _promoted(f: FunctionLowering, value: SSAValue, hexadecimal: bool, signed: bool) -> tuple[SSAValue, str]:
    """A value as C passes it to printf, and its conversion."""
    b = f.b
    type_ = value.type
    if isinstance(type_, L.LLVMPointerType):
        return value, "%p"
    bits = bit_width(type_)
    floating = isinstance(type_, AnyFloat)
    if hexadecimal:
        if floating:
            value = b.bitcast(value, {16: I16, 32: I32, 64: I64}[bits])
        value = value if bits >= 32 else b.cast(L.ZExtOp, value, I32)
        return value, f"0x%0{bits // 4}{'ll' if bits > 32 else ''}x"
    if floating:
        if type_ is not F64:
            value = value if type_ is F32 else b.cast(L.FPExtOp, value, F32)
            value = b.cast(L.FPExtOp, value, F64)
        return value, "%f"
    if bits == 64:
        return value, "%lli" if signed else "%llu"
    if bits < 32:
        value = b.cast(L.SExtOp if signed and bits > 1 else L.ZExtOp, value, I32)
    return value, "%i" if signed else "%u"


def _printf(f: FunctionLowering, text: str, arguments: Sequence[SSAValue]) -> None:
    b = f.b
    type_ = struct_type(*(argument.type for argument in arguments))
    with b.in_prologue():
        one = b.i32(1)
        buffer = b.value(L.AllocaOp, (one,), PTR, {"elem_type": type_, "alignment": IntegerAttr(8, 64)})
    for number, argument in enumerate(arguments):
        b.store(argument, b.gep_field(buffer, number, type_))
    f.module.declare("vprintf", (PTR, PTR), I32)
    b.call("vprintf", (_string(f, text + "\n", "printfFormat_"), buffer), I32)


def _string(f: FunctionLowering, text: str, prefix: str) -> SSAValue:
    name = f.module.string(text, prefix)
    return f.b.once(f"@{name}", L.AddressOfOp, PTR, {"global_name": SymbolRefAttr(name)})


@lowers(tt.AssertOp)
def assert_(f: FunctionLowering, op: tt.AssertOp) -> None:
    """A tensor's assert is followed by a barrier: no thread may run into a trap that the assert should have named."""
    b = f.b
    message = op.message
    assert isinstance(message, StringAttr)
    condition = op.operands[0]
    zero = b.constant(f.element_type(condition), 0)
    failed: SSAValue | None = None
    for value in f.elements(condition):
        wrong = b.icmp("eq", value, zero)
        failed = wrong if failed is None else b.or_(failed, wrong)
    assert failed is not None
    location = source_location(op.location)
    report, after = f.new_block(), f.new_block()
    b.cond_branch(failed, report, after)
    b.move_to(report)
    arguments = (
        _string(f, message.data, "assertMessage_"),
        _string(f, location.file if location else "unknown", "assertFile_"),
        b.i32(location.line if location else 0),
        _string(f, "unknown", "assertFunc_"),
        b.constant(I64, 1),
    )
    f.module.declare("__assertfail", [argument.type for argument in arguments], VOID)
    b.call("__assertfail", arguments)
    b.branch(after)
    b.move_to(after)
    if instance_of(condition.type, TensorType):
        f.barrier()
