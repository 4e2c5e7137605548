"""Loops that never end, found by what decides where threads go: if that is as it was before, they go there again.

In: a batch of CTAs as it runs. Out: whether it is where it was before.

    $L: add.s32 %r1, %r1, 0; add.f32 %f1, %f1, %f2; setp.lt.s32 %p1, %r1, 9; @%p1 bra $L;      %r1 stays: it never ends

The state that is compared is kept at block 256, 512, 1024, ... of a run (Brent 1980), so a cycle of any length is found. Where no branch depends
on memory it is the registers that branches depend on, else all registers and all memory.
"""

import pickle
from collections.abc import Sequence

import numpy as np

from minitriton.emulator.batch import Batch
from minitriton.emulator.lanes import Lanes
from minitriton.emulator.ptx.control_flow import SUSPENDING, results_of, uses_of
from minitriton.emulator.ptx.program import Instruction
from minitriton.emulator.threads import Mask

FIRST = 256
"""Blocks of a run before the first state is kept."""
MOST_BYTES = 64 << 20
"""Of memory that are kept and compared."""

_LEAVES = ("bra", "brx", "ret", "exit", "trap")
_TIMES = ("%clock", "%globaltimer")
_READS_MEMORY = ("ld", "atom", "mbarrier", "cp", "wgmma", "ldmatrix", "tensormap", "call", "multimem")


class Repetition:
    """Looks for a state of `machine` that it was in before."""

    def __init__(self, machine: Batch) -> None:
        self.machine = machine
        self.registers, self.by_memory = deciding(machine.program.kernel.instructions)
        self.turns = 0
        """Of other threads, since these go round."""
        self.kept_at = 0
        self.block = -1
        self._kept: list[Lanes | int | None] = []
        self._kept_memory: list[bytes] = []

    def repeats(self, number: int, steps: int, ready: dict[int, Mask], mask: Mask) -> bool:
        """Whether block `number`, which is to run next, has been about to run in this very state."""
        if self.machine.barriers or self.machine.parked or self.registers is None:
            return False
        if number == self.block and self._is_as_kept(ready, mask):
            return True
        if steps >= 2 * self.kept_at:
            self.kept_at, self.block = steps, number
            self._kept = self._state(ready, mask)
            self._kept_memory = self._memory() if self.by_memory else []
        return False

    def _state(self, ready: dict[int, Mask], mask: Mask) -> list[Lanes | int | None]:
        values = self.machine.registers
        return [
            mask,
            self.machine.alive,
            self.machine.spins,
            *ready,
            *ready.values(),
            *(values[i] for i in self.registers or ()),
        ]

    def _is_as_kept(self, ready: dict[int, Mask], mask: Mask) -> bool:
        state = self._state(ready, mask)
        if len(state) != len(self._kept):
            return False
        # What differed last time, as a loop's counter does, is looked at first.
        for i, (one, other) in enumerate(zip(state, self._kept, strict=True)):
            if one is not other and not np.array_equal(np.asarray(one), np.asarray(other)):
                self._swap_to_front(i)
                return False
        return not self.by_memory or self._memory() == self._kept_memory

    def _swap_to_front(self, i: int) -> None:
        count = len(self._kept) - len(self.registers or ())
        if self.registers and i > count:
            at = i - count
            self.registers.insert(0, self.registers.pop(at))
            self._kept.insert(count, self._kept.pop(i))

    def _memory(self) -> list[bytes]:
        machine = self.machine
        parts = (machine.memory.bytes, machine.shared.bytes, machine.local)
        if sum(part.nbytes for part in parts) > MOST_BYTES:
            self.registers = None
            return []
        try:
            waiting = pickle.dumps(machine.async_state)
        except Exception:
            self.registers = None
            return []
        return [*(part.tobytes() for part in parts), waiting]


def deciding(code: Sequence[Instruction]) -> tuple[list[int] | None, bool]:
    """Registers that branches and barriers depend on, all if memory is among what they depend on; None if the time is."""
    wanted = {r.index for i in code if _decides(i) for r in uses_of(i)}
    made_by = [(i, {r.index for r in results_of(i)}, {r.index for r in uses_of(i)}) for i in code]
    by_memory, grown = False, True
    while grown:
        grown = False
        for instruction, results, used in made_by:
            if results.isdisjoint(wanted):
                continue
            if any(time in instruction.text for time in _TIMES):
                return None, False
            by_memory = by_memory or _reads_memory(instruction.opcode)
            if not used <= wanted:
                wanted |= used
                grown = True
    if by_memory:
        wanted = {r.index for i in code for r in (*results_of(i), *uses_of(i))}
    return sorted(wanted), by_memory


def _reads_memory(opcode: str) -> bool:
    return opcode.split(".")[0] in _READS_MEMORY and not opcode.startswith(("ld.param", "ld.const"))


def _decides(instruction: Instruction) -> bool:
    return instruction.opcode.split(".")[0] in _LEAVES or instruction.opcode.startswith(SUSPENDING)
