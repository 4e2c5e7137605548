"""Which waves run which block: the lowest-numbered block that has waves comes next, so that waves which part meet again.

Waves wait at `s_barrier` until all waves of their workgroup that have not ended are there (ISA, section 4.3).
"""

from __future__ import annotations

import numpy as np

from minitriton.emulator.amdgcn.program import CODE, LANES, Instruction
from minitriton.emulator.amdgcn.translate import Block, Program, put_address
from minitriton.emulator.amdgcn.values import register_of
from minitriton.emulator.amdgcn.waves import Waves
from minitriton.emulator.machine import Endless, Polling
from minitriton.errors import MinitritonError
from minitriton.host.interrupts import Deadline

ENDED = -1
TURN = 64
"""Blocks that run in a row without one that has waited longest getting its turn, where several have waves."""
LOOK = 256
"""Blocks between two looks at the clock."""


class Machine:
    """Runs the waves of a batch. After `patience` atomics in a row that change nothing it raises `Polling`."""

    def __init__(self, x: Waves, program: Program, first: int, deadline: Deadline, patience: int) -> None:
        self.x, self.program, self.deadline, self.patience = x, program, deadline, patience
        self.at = np.full(x.waves, program.number[first])
        self.waiting = np.zeros(x.waves, np.bool_)
        self.last_turn = np.zeros(len(program.blocks) + 1, np.int64)
        self.steps = 0

    def run(self) -> None:
        """Runs the batch to its end."""
        x, blocks = self.x, self.program.blocks
        while True:
            ready = ~self.waiting & (self.at != ENDED)
            if not ready.any():
                if not self.waiting.any():
                    return
                self.pass_barriers()
                continue
            number = int(self.at[ready].min())
            if self.steps % TURN == TURN - 1:
                some = np.unique(self.at[ready])
                number = int(some[np.argmin(self.last_turn[some])])
            self.steps += 1
            self.last_turn[number] = self.steps
            if number >= len(blocks):
                last = x.kernel.instructions[-1]
                raise last.error("waves run past the last instruction", help="end the kernel with s_endpgm")
            chosen = ready & (self.at == number)
            self.run_block(blocks[number], chosen, None if chosen.all() else chosen)
            if self.steps % LOOK == 0 and self.deadline.passed():
                raise Endless(x.kernel.instructions[blocks[number].start], self.deadline.text)
            if x.polls > self.patience:
                raise Polling(x.kernel.instructions[blocks[number].start])

    def run_block(self, block: Block, chosen: np.ndarray, active: np.ndarray | None) -> None:
        """Waves run a block and go on."""
        x = self.x
        x.run_waves(active)
        if x.check:
            lanes = x.lanes
            x.report.warps[block.start : block.stop] += int(np.count_nonzero(chosen))
            x.report.threads[block.start : block.stop] += x.count if lanes is None else int(np.count_nonzero(lanes))
        pending = x.pending
        for step in block.steps:
            if pending and not step.uses.isdisjoint(pending):
                step.check(x)
            try:
                step.act(x)
            except (MinitritonError, Polling):
                raise
            except (TypeError, ValueError, IndexError) as error:
                raise step.instruction.error(
                    f"the emulator cannot run this ({type(error).__name__}: {error})"
                ) from error
        following = self.program.number.get(block.stop, len(self.program.blocks))
        end = block.end
        if end is None:
            self.at[chosen] = following
            return
        if block.end_step is not None and pending:
            block.end_step.check(x)
        self.leave(block, end, chosen, following)

    def leave(self, block: Block, end: Instruction, chosen: np.ndarray, following: int) -> None:
        """Where waves go at the end of a block."""
        x = self.x
        if end.name.startswith("s_endpgm"):
            self.at[chosen] = ENDED
            for counter in (x.lds, x.vector_memory, x.scalar_memory):
                counter.done[chosen] = counter.issued[chosen]
            self.pass_barriers()
        elif end.name == "s_barrier":
            self.at[chosen] = following
            self.waiting |= chosen
            self.pass_barriers()
        elif end.name == "s_trap":
            x.find("trap", end.index, np.nonzero(chosen)[0] * LANES, "the kernel executed s_trap")
            self.at[chosen] = ENDED
        elif end.name in ("s_setpc_b64", "s_swappc_b64"):
            self.jump(end, chosen)
        else:
            taken = chosen if block.condition is None else chosen & block.condition(x)
            self.at[chosen] = following
            self.at[taken] = block.target

    def jump(self, end: Instruction, chosen: np.ndarray) -> None:
        """To the instruction whose address two registers have; `s_swappc_b64` puts its own, and 4, into two others."""
        x = self.x
        first = register_of(end, len(end.operands) - 1, 2).scalar
        address = x.s[first].astype(np.int64) | (x.s[first + 1].astype(np.int64) << 32)
        for there in np.unique(address[chosen]).tolist():
            index, rest = divmod(there - CODE, 4)
            number = self.program.number.get(index)
            if number is None or rest:
                raise end.error(f"{end.name} goes to {there:#x}, where no label stands")
            self.at[chosen & (address == there)] = number
        if end.name == "s_swappc_b64":
            put_address(x, register_of(end, 0, 2).scalar, CODE + 4 * (end.index + 1))

    def pass_barriers(self) -> None:
        """Workgroups whose waves all wait, or have ended, go on."""
        x = self.x
        if not self.waiting.any():
            return
        waits = self.waiting.reshape(-1, x.warps_per_cta)
        there = waits | (self.at == ENDED).reshape(waits.shape)
        groups = np.nonzero(there.all(1) & waits.any(1))[0]
        if groups.size:
            for clocks in (x.lds, x.vector_memory):
                clocks.barrier(groups)
            waits[groups] = False
