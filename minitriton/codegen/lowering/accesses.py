"""Which registers of a tensor of pointers are loaded or stored together, and by which threads."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.dialects.narrowing import instance_of
from minitriton.pipeline.choice import remark


class Accesses:
    """Which registers a load or store moves together: `starts` are the first registers of vectors of `width`. Registers whose number has a bit
    of `replicated` hold copies."""

    __slots__ = ("count", "replicated", "starts", "width")

    def __init__(self, f: FunctionLowering, pointer: SSAValue, width: int):
        self.count = f.count(pointer)
        self.replicated = 0
        self.width = min(width, self.count)
        if instance_of(pointer.type, TensorType):
            self.replicated = f.facts(pointer.type).layout.free_masks.get("register", 0)
        self.starts = [s for s in range(0, self.count, self.width) if not s & self.replicated]

    @property
    def registers(self) -> list[int]:
        """The registers that are moved, in the order of what is moved."""
        return [start + i for start in self.starts for i in range(self.width)]

    @property
    def loaded(self) -> int:
        """Registers that are moved, without copies."""
        return len(self.starts) * self.width

    def expanded(self) -> list[int] | None:
        """For each register its index among the moved ones; None if it is the same."""
        if not self.replicated:
            return None
        index = {start + i: n * self.width + i for n, start in enumerate(self.starts) for i in range(self.width)}
        return [index[register & ~self.replicated] for register in range(self.count)]


def remark_single_elements(op: Operation, accesses: Accesses) -> None:
    """Says that a load or store moves the elements of a thread one by one, in Triton's words, which programs look for."""
    if accesses.width == 1 and accesses.count > 1:
        remark(op, f"Warning: vectorization fails vec = 1 numElems = {accesses.count}")


def store_masks(
    f: FunctionLowering, accesses: Accesses, mask: SSAValue | None, representative: SSAValue | None
) -> list[SSAValue]:
    """Of each access where it is done: where `mask` is true, by the threads in which `representative` is. Empty if all do all."""
    if mask is None:
        return [] if representative is None else [representative] * len(accesses.starts)
    given = [registers.element(f.b, f.values[mask], start) for start in accesses.starts]
    return given if representative is None else [f.b.and_(representative, each) for each in given]
