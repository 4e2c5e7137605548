"""The `rocdl` dialect: what AMD's hardware does that LLVM has no instruction for. Ops are named as in MLIR's dialect of that name.

    %t = "rocdl.workitem.id.x"() : () -> i32
    %w = "rocdl.update.dpp"(%old, %v) <{dppCtrl = 177 : i32, rowMask = 15 : i32, bankMask = 15 : i32}> : (i32, i32) -> i32

Each op is a call of one of LLVM's intrinsics, on words of 32 bits, and says which (`IntrinsicOp`). Meanings: AMD Instinct MI300 ISA, "Data Parallel
Processing", "LDS Permute"; LLVM's AMDGPUUsage.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, VectorType, i1, i16, i32
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    AnyAttr,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.fast_paths.op_definition import Op, declared, named
from minitriton.dialects.narrowing import instance_of


class IntrinsicOp(Op, ABC):
    """An op that is a call of an LLVM intrinsic with the op's operands, and then immediate numbers."""

    INTRINSIC: ClassVar[str] = ""
    """Where it is not called as the op."""

    IMMEDIATES: ClassVar[tuple[str, ...]] = ()
    """The arguments after the operands, each with its type: `i32 15`; `{mask}` is the number that the property of that name is."""

    def intrinsic(self) -> str:
        """The name of the intrinsic."""
        return self.INTRINSIC or self.name.replace("rocdl.", "llvm.amdgcn.")

    def immediates(self) -> tuple[str, ...]:
        """`IMMEDIATES` with the op's properties."""
        numbers = {name: attr.value.data for name, attr in self.properties.items() if isinstance(attr, IntegerAttr)}
        return tuple(each.format(**numbers) for each in self.IMMEDIATES)


# Which work item this is ----------------------------------------------------------------------------------------------


class SpecialRegisterOp(IntrinsicOp):
    """A number that the hardware gives to a work item or a work group."""

    res = result_def(i32)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self) -> None:
        super().__init__(result_types=[i32])


WorkitemIdXOp = named(SpecialRegisterOp, "WorkitemIdXOp", "rocdl.workitem.id.x", "The thread in its work group.")
WorkgroupIdXOp = named(SpecialRegisterOp, "WorkgroupIdXOp", "rocdl.workgroup.id.x", "The work group along x.")
WorkgroupIdYOp = named(SpecialRegisterOp, "WorkgroupIdYOp", "rocdl.workgroup.id.y", "The work group along y.")
WorkgroupIdZOp = named(SpecialRegisterOp, "WorkgroupIdZOp", "rocdl.workgroup.id.z", "The work group along z.")


class GridDimOp(Op):
    """How many work groups there are along `axis`: of the kernel's hidden arguments (AMDGPUUsage, "hidden_block_count_x")."""

    name = "rocdl.grid.dim"

    res = result_def(i32)
    axis = prop_def(IntegerAttr)
    traits = traits_def(Pure())


# Between the lanes of a wave ------------------------------------------------------------------------------------------


class UpdateDppOp(IntrinsicOp):
    """The word of the lane that `dppCtrl` names; `old` in lanes of rows (16 lanes) and banks (4 lanes) that the masks leave out.

    With `boundCtrl` a lane that is named and not there gives 0, else the lane keeps `old`.
    """

    name = "rocdl.update.dpp"
    INTRINSIC: ClassVar[str] = "llvm.amdgcn.update.dpp.i32"

    old = operand_def(i32)
    src = operand_def(i32)
    res = result_def(i32)
    dpp_ctrl = prop_def(IntegerAttr, prop_name="dppCtrl")
    row_mask = prop_def(IntegerAttr, prop_name="rowMask")
    bank_mask = prop_def(IntegerAttr, prop_name="bankMask")
    bound_ctrl = opt_prop_def(UnitAttr, prop_name="boundCtrl")

    def verify_(self) -> None:
        if not (0 <= self.row_mask.value.data < 16 and 0 <= self.bank_mask.value.data < 16):
            raise VerifyException("rocdl.update.dpp: a mask has a bit for each of four rows or banks")

    def immediates(self) -> tuple[str, ...]:
        numbers = (self.dpp_ctrl, self.row_mask, self.bank_mask)
        bound = "true" if self.bound_ctrl is not None else "false"
        return (*(f"i32 {number.value.data}" for number in numbers), f"i1 {bound}")


class DsSwizzleOp(IntrinsicOp):
    """The word of the lane whose number, of its 32 lanes, `offset` makes of this one's: `((lane & offset[4:0]) | offset[9:5]) ^ offset[14:10]`."""

    name = "rocdl.ds_swizzle"
    INTRINSIC: ClassVar[str] = "llvm.amdgcn.ds.swizzle"

    src = operand_def(i32)
    res = result_def(i32)
    offset = prop_def(IntegerAttr)

    IMMEDIATES: ClassVar = ("i32 {offset}",)


class DsBpermuteOp(IntrinsicOp):
    """The word of lane `index` / 4, counted around the wave."""

    name = "rocdl.ds_bpermute"
    INTRINSIC: ClassVar[str] = "llvm.amdgcn.ds.bpermute"

    index = operand_def(i32)
    src = operand_def(i32)
    res = result_def(i32)


class ReadlaneOp(IntrinsicOp):
    """The word of lane `lane`, in all lanes."""

    name = "rocdl.readlane"
    INTRINSIC: ClassVar[str] = "llvm.amdgcn.readlane.i32"

    src = operand_def(i32)
    lane = operand_def(i32)
    res = result_def(i32)


class PermlaneSwapOp(IntrinsicOp):
    """Two words of each lane, after lanes in odd rows of `row` lanes have exchanged the first word for the second of those in the even rows before."""

    name = "rocdl.permlane.swap"

    first = operand_def(i32)
    second = operand_def(i32)
    res = result_def()
    row = prop_def(IntegerAttr)

    IMMEDIATES: ClassVar = ("i1 false", "i1 false")

    def intrinsic(self) -> str:
        """Of rows of 16 or of 32 lanes."""
        return f"llvm.amdgcn.permlane{self.row.value.data}.swap"


class ReadfirstlaneOp(IntrinsicOp):
    """The word of the first lane that acts, in all lanes, and in a scalar register."""

    name = "rocdl.readfirstlane"
    INTRINSIC: ClassVar[str] = "llvm.amdgcn.readfirstlane.i32"

    src = operand_def(i32)
    res = result_def(i32)


# What orders waves ----------------------------------------------------------------------------------------------------


class BarrierOp(Op):
    """All waves of the work group wait for each other, and see what each has written."""

    name = "rocdl.barrier"

    assembly_format = "attr-dict"


class WaveBarrierOp(Op):
    """The lanes of a wave see what each has written: they run in step, so that only the order of accesses is held."""

    name = "rocdl.wave.barrier"

    assembly_format = "attr-dict"


class SBarrierOp(IntrinsicOp):
    """All waves of the work group wait for each other; memory is not ordered."""

    name = "rocdl.s.barrier"

    assembly_format = "attr-dict"


class SWaitcntOp(IntrinsicOp):
    """The wave waits until its counters of memory accesses are as low as `bitfield` says."""

    name = "rocdl.s.waitcnt"

    bitfield = prop_def(IntegerAttr.constr(i32))
    assembly_format = "$bitfield attr-dict"

    IMMEDIATES: ClassVar = ("i32 {bitfield}",)


class WaitOp(IntrinsicOp):
    """The wave waits until at most `count` accesses of a kind are outstanding. RDNA 4 counts each kind by itself."""

    count = prop_def(IntegerAttr.constr(i16))
    assembly_format = "$count attr-dict"

    IMMEDIATES: ClassVar = ("i16 {count}",)


class SWaitLoadcntOp(WaitOp):
    """Of loads of global memory."""

    name = "rocdl.s.wait.loadcnt"


class SWaitStorecntOp(WaitOp):
    """Of stores to global memory."""

    name = "rocdl.s.wait.storecnt"


class SWaitDscntOp(WaitOp):
    """Of LDS."""

    name = "rocdl.s.wait.dscnt"


class SetPrioOp(IntrinsicOp):
    """The wave's instructions are issued with this priority, 0 to 3, over those of the SIMD's other waves."""

    name = "rocdl.s.setprio"

    priority = prop_def(IntegerAttr.constr(i16))
    assembly_format = "$priority attr-dict"

    def __init__(self, priority: int) -> None:
        super().__init__(properties={"priority": IntegerAttr(priority, i16)})

    IMMEDIATES: ClassVar = ("i16 {priority}",)


class SchedGroupBarrierOp(IntrinsicOp):
    """The scheduler puts `groupSize` instructions of the kinds in `mask` here, in the order of the ops of one `syncId`."""

    name = "rocdl.sched.group.barrier"

    mask = prop_def(IntegerAttr.constr(i32))
    group_size = prop_def(IntegerAttr.constr(i32), prop_name="groupSize")
    sync_id = prop_def(IntegerAttr.constr(i32), prop_name="syncId")
    assembly_format = "$mask `,` $groupSize `,` $syncId attr-dict"

    def __init__(self, mask: int, group_size: int, sync_id: int) -> None:
        numbers = {"mask": mask, "groupSize": group_size, "syncId": sync_id}
        super().__init__(properties={name: IntegerAttr(number, i32) for name, number in numbers.items()})

    IMMEDIATES: ClassVar = ("i32 {mask}", "i32 {groupSize}", "i32 {syncId}")


class SchedBarrierOp(IntrinsicOp):
    """The scheduler moves only instructions of the kinds in `mask` past this."""

    name = "rocdl.sched.barrier"

    mask = prop_def(IntegerAttr.constr(i32))
    assembly_format = "$mask attr-dict"

    def __init__(self, mask: int) -> None:
        super().__init__(properties={"mask": IntegerAttr(mask, i32)})

    IMMEDIATES: ClassVar = ("i32 {mask}",)


class IglpOptOp(IntrinsicOp):
    """The scheduler interleaves the instructions of the block by a strategy: 2 for `v_exp` and matrix instructions."""

    name = "rocdl.iglp.opt"

    variant = prop_def(IntegerAttr.constr(i32))
    assembly_format = "$variant attr-dict"

    def __init__(self, variant: int) -> None:
        super().__init__(properties={"variant": IntegerAttr(variant, i32)})

    IMMEDIATES: ClassVar = ("i32 {variant}",)


class CvtScalePkOp(IntrinsicOp):
    """Two numbers of 8 or 4 bits of a word, times the power of two of `scale`. `form`: `bf16.fp4`; `part`: which two of the word."""

    name = "rocdl.cvt.scalef32.pk"

    src = operand_def(i32)
    scale = operand_def(AnyAttr())
    res = result_def(AnyAttr())
    form = prop_def(StringAttr)
    part = prop_def(IntegerAttr)

    def intrinsic(self) -> str:
        return f"llvm.amdgcn.cvt.scalef32.pk.{self.form.data}"

    def immediates(self) -> tuple[str, ...]:
        """A byte's number for fp4; else whether they are the upper two."""
        number = self.part.value.data
        return (f"i32 {number}",) if self.form.data.endswith("fp4") else (f"i1 {bool(number)}".lower(),)


class DsReadTrOp(IntrinsicOp):
    """64 bits of LDS a lane: each 16 lanes read rows of 16 elements of `bits` bits, and get columns."""

    name = "rocdl.ds.read.tr"

    pointer = operand_def(AnyAttr())
    res = result_def(AnyAttr())
    bits = prop_def(IntegerAttr)

    def intrinsic(self) -> str:
        return f"llvm.amdgcn.ds.read.tr{self.bits.value.data}.b64.{_suffix(self.res.type)}"


# Matrix cores ---------------------------------------------------------------------------------------------------------


class MatrixOp(IntrinsicOp, ABC):
    """An op whose name goes on with an instruction: `rocdl.mfma.f32.32x32x8f16 %a, %b, %c, 0, 0, 0 : (A, B, C) -> C`."""

    NUMBERS: ClassVar[tuple[str, ...]] = ()
    """Properties whose numbers follow the operands in the text; 0 where they are missing."""

    def print(self, printer: Printer) -> None:
        instruction = self.properties["instruction"]
        assert isinstance(instruction, StringAttr)
        printer.print_string(f".{instruction.data} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        numbers = [self.properties.get(name) for name in self.NUMBERS]
        printer.print_string("".join(f", {n.value.data if isinstance(n, IntegerAttr) else 0}" for n in numbers))
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)

    @classmethod
    def parse_rest(cls, parser: Parser, instruction: str) -> Operation:
        """Reads what follows the name with its instruction."""
        operands = [parser.parse_unresolved_operand()]
        numbers: list[int] = []
        while parser.parse_optional_punctuation(",") is not None:
            if (number := parser.parse_optional_integer()) is None:
                operands.append(parser.parse_unresolved_operand())
            else:
                numbers.append(number)
        given = {name: IntegerAttr(number, i32) for name, number in zip(cls.NUMBERS, numbers, strict=False) if number}
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        return cls.create(
            operands=parser.resolve_operands(operands, types.inputs.data, parser.pos),
            result_types=types.outputs.data,
            properties={"instruction": StringAttr(instruction), **given},
            attributes=attributes,
        )


class MfmaOp(MatrixOp):
    """`c + a b` by the matrix cores; `instruction` is what stands after `v_mfma_`, spelled as LLVM does: `f32.32x32x8f16`.

    Of an instruction with blocks, each group of 2^cbsz takes the block of `a` with the number `abid` within it. `blgp` permutes lanes of `b`.
    """

    name = "rocdl.mfma"

    a = operand_def(AnyAttr())
    b = operand_def(AnyAttr())
    c = operand_def(AnyAttr())
    res = result_def(AnyAttr())
    instruction = prop_def(StringAttr)
    cbsz = opt_prop_def(IntegerAttr.constr(i32))
    abid = opt_prop_def(IntegerAttr.constr(i32))
    blgp = opt_prop_def(IntegerAttr.constr(i32))
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if self.c.type != self.res.type:
            raise VerifyException("rocdl.mfma returns the type of what it adds to")

    def intrinsic(self) -> str:
        return f"llvm.amdgcn.mfma.{self.instruction.data}"

    NUMBERS: ClassVar = ("cbsz", "abid", "blgp")

    def immediates(self) -> tuple[str, ...]:
        """0 where the op does not say."""
        numbers = (self.cbsz, self.abid, self.blgp)
        return tuple(f"i32 {number.value.data if number else 0}" for number in numbers)


class ScaledMfmaOp(MatrixOp):
    """`c + a b` of operands of 8 or 4 bits, by the matrix cores, times the scales of each 32 neighbours along k.

    `a_format`, `b_format`: 0 e4m3, 1 e5m2, 2 e2m3, 3 e3m2, 4 e2m1. `a_byte`, `b_byte`: which byte of the words `a_scale`, `b_scale` has a lane's scale.
    """

    name = "rocdl.mfma.scale"

    a = operand_def(AnyAttr())
    b = operand_def(AnyAttr())
    c = operand_def(AnyAttr())
    a_format = operand_def(i32)
    b_format = operand_def(i32)
    a_byte = operand_def(i32)
    a_scale = operand_def(i32)
    b_byte = operand_def(i32)
    b_scale = operand_def(i32)
    res = result_def(AnyAttr())
    instruction = prop_def(StringAttr)
    traits = traits_def(Pure())

    def intrinsic(self) -> str:
        return f"llvm.amdgcn.mfma.scale.{self.instruction.data}.{_suffix(self.a.type)}.{_suffix(self.b.type)}"


class WmmaOp(MatrixOp):
    """`c + a b` by the matrix cores of RDNA; `instruction` is what stands after `v_wmma_`, spelled as LLVM does: `f32.16x16x16.f16`.

    Operands are a, b and c; of integers each of a and b follows whether it has a sign, and at the end stands whether the result is clamped.
    """

    name = "rocdl.wmma"

    args = var_operand_def(AnyAttr())
    res = result_def(AnyAttr())
    instruction = prop_def(StringAttr)
    traits = traits_def(Pure())

    def intrinsic(self) -> str:
        first = next(value.type for value in self.args if value.type != i1)
        return f"llvm.amdgcn.wmma.{self.instruction.data}.{_suffix(self.res.type)}.{_suffix(first)}"


# Inline assembly ------------------------------------------------------------------------------------------------------


class InlineAsmOp(Op):
    """Inline AMDGCN for every `packed` lanes; lanes narrower than 32 bits share a register."""

    name = "rocdl.inline_asm"

    args = var_operand_def(AnyAttr())
    results_ = var_result_def(AnyAttr())
    asm_string = prop_def(StringAttr)
    constraints = prop_def(StringAttr)
    packed = prop_def(IntegerAttr)
    pure = opt_prop_def(UnitAttr)


# Buffers --------------------------------------------------------------------------------------------------------------


class MakeBufferRsrcOp(IntrinsicOp):
    """The descriptor of the buffer that begins at `base`: 2 GiB - 2 of bytes, so that offsets from 2^31 on are outside."""

    name = "rocdl.make.buffer.rsrc"
    INTRINSIC: ClassVar[str] = "llvm.amdgcn.make.buffer.rsrc.p8.p1"

    base = operand_def(AnyAttr())
    res = result_def(AnyAttr())
    flags = prop_def(IntegerAttr)
    """The format of elements, and on RDNA how bounds are checked."""
    traits = traits_def(Pure())

    IMMEDIATES: ClassVar = ("i16 0", "i64 2147483646", "i32 {flags}")
    """Stride, bytes, format."""


class RawPtrBufferLoadOp(IntrinsicOp):
    """What is at a byte offset of a buffer: one integer, or a vector of 32-bit ones."""

    name = "rocdl.raw.ptr.buffer.load"

    rsrc = operand_def(AnyAttr())
    offset = operand_def(i32)
    res = result_def(AnyAttr())

    def intrinsic(self) -> str:
        return f"llvm.amdgcn.raw.ptr.buffer.load.{_suffix(self.res.type)}"

    IMMEDIATES: ClassVar = ("i32 0", "i32 0")


class RawPtrBufferStoreOp(IntrinsicOp):
    """The reverse of `RawPtrBufferLoadOp`."""

    name = "rocdl.raw.ptr.buffer.store"

    value = operand_def(AnyAttr())
    rsrc = operand_def(AnyAttr())
    offset = operand_def(i32)

    def intrinsic(self) -> str:
        return f"llvm.amdgcn.raw.ptr.buffer.store.{_suffix(self.value.type)}"

    IMMEDIATES: ClassVar = ("i32 0", "i32 0")


class RawPtrBufferLoadLdsOp(IntrinsicOp):
    """Starts copying `size` bytes at a byte offset of a buffer to LDS: lane n's to n times that after `lds`, which is the wave's."""

    name = "rocdl.raw.ptr.buffer.load.lds"

    rsrc = operand_def(AnyAttr())
    lds = operand_def(AnyAttr())
    size = operand_def(i32)
    offset = operand_def(i32)

    IMMEDIATES: ClassVar = ("i32 0", "i32 0", "i32 0")


class GlobalLoadLdsOp(IntrinsicOp):
    """As `RawPtrBufferLoadLdsOp`, from an address."""

    name = "rocdl.global.load.lds"

    source = operand_def(AnyAttr())
    lds = operand_def(AnyAttr())
    size = operand_def(i32)

    IMMEDIATES: ClassVar = ("i32 0", "i32 0")


class RawPtrBufferAtomicOp(IntrinsicOp):
    """`operation` of what is at a byte offset of a buffer and of `values`, atomically; what was there before. `cmpswap` has the new value, then the
    one to compare with."""

    name = "rocdl.raw.ptr.buffer.atomic"

    values = var_operand_def(AnyAttr())
    rsrc = operand_def(AnyAttr())
    offset = operand_def(i32)
    res = result_def(AnyAttr())
    operation = prop_def(StringAttr)

    def intrinsic(self) -> str:
        return f"llvm.amdgcn.raw.ptr.buffer.atomic.{self.operation.data}.{_suffix(self.res.type)}"

    IMMEDIATES: ClassVar = ("i32 0", "i32 0")


def _suffix(type_: Attribute) -> str:
    """A type in the name of an intrinsic."""
    return f"v{type_.get_shape()[0]}{type_.element_type}" if instance_of(type_, VectorType) else str(type_)


def matrix_op(name: str) -> tuple[type[MatrixOp], str] | None:
    """The op that a name with an instruction is of, and the instruction."""
    family = ScaledMfmaOp if name.startswith(f"{ScaledMfmaOp.name}.") else MfmaOp
    family = WmmaOp if name.startswith(f"{WmmaOp.name}.") else family
    start = f"{family.name}."
    return (family, name[len(start) :]) if name.startswith(start) else None


ROCDL = Dialect("rocdl", *declared("rocdl", globals()))
