"""What a kernel's module says of its launches: how many registers a thread has, and whether the next launch may begin before this one ends.

    limit-registers                  module attributes {ttg.maxnreg = 42 : i32}      the kernel's option `maxnreg`
    minitriton-overlap-launches      tt.func @kernel(...) {
                                       griddepcontrol.launch_dependents;             the next launch's blocks may take free SMs
                                       griddepcontrol.wait;                          the launch before has ended, and its writes are seen

The lowering puts `ttg.maxnreg` on the kernel, not on the functions it calls. Overlapping is programmatic dependent launch for kernels that do not ask for it:
launches carry the driver's attribute. Nothing of the kernel runs before the wait, so that it may follow any kernel; what is gained is the time of
starting blocks between two launches of a stream. A kernel that has `griddepcontrol` already stays as it is, and so does one for an older GPU.
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, UnitAttr, i32

from minitriton.dialects import tt
from minitriton.dialects.facts.launch import MAXNREG, TARGET
from minitriton.dialects.facts.pass_attributes import OVERLAPS_LAUNCHES
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.pipeline.pass_registry import EVERYTHING, Pass, Property, register_pass
from minitriton.target.architectures import LIMITS


@register_pass
class LimitRegisters(Pass, origin="required"):
    """Notes how many registers a thread of the kernel may use."""

    name: ClassVar[str] = "limit-registers"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING
    registers: int = LIMITS.registers_per_thread
    """The limit."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Set the attribute."""
        op.attributes[MAXNREG] = IntegerAttr(self.registers, i32)


_INSTRUCTIONS = ("griddepcontrol.launch_dependents", "griddepcontrol.wait")
_FIRST = 90
"""Compute capability that has them (PTX ISA, `griddepcontrol`)."""


@register_pass
class OverlapLaunches(Pass, stage="ttgir"):
    """Lets a launch begin while the one before it ends (Hopper)."""

    name: ClassVar[str] = "minitriton-overlap-launches"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Put the instructions at the beginning of the kernel."""
        target = op.attributes.get(TARGET)
        if not isinstance(target, StringAttr) or int(target.data.partition(":")[2] or 0) < _FIRST:
            return
        if any("griddepcontrol" in asm.asm_string.data for asm in ops_of(op, tt.ElementwiseInlineAsmOp)):
            return
        kernels = [f for f in ops_of(op, tt.FuncOp) if f.is_public]
        for kernel in kernels:
            entry = kernel.body.blocks[0]
            first = entry.first_op
            assert first is not None
            for instruction in _INSTRUCTIONS:
                made = tt.ElementwiseInlineAsmOp(
                    [], [i32], asm_string=f"{instruction}; // dummy $0", constraints="=r", pure=False, packed_element=1
                )
                entry.insert_op_before(made, first)
        if kernels:
            op.attributes[OVERLAPS_LAUNCHES] = UnitAttr()
