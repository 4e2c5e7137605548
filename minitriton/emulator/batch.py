"""The state of a batch of CTAs that run concurrently, and what can be asked of it: lanes, masks, addresses, findings.

Arrays have one element for each thread of the batch; a mask of None stands for all of them.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from minitriton.emulator.lanes import Lanes, same
from minitriton.emulator.memory import device as global_memory
from minitriton.emulator.memory import shared as shared_memory
from minitriton.emulator.memory.device import GlobalMemory
from minitriton.emulator.memory.ordering import Clocks
from minitriton.emulator.memory.shared import SharedMemory
from minitriton.emulator.operations.barriers import BarrierArrivals
from minitriton.emulator.ptx.control_flow import Block
from minitriton.emulator.ptx.program import EmulationError, Instruction
from minitriton.emulator.report import Report
from minitriton.emulator.threads import Mask, Threads
from minitriton.emulator.translate import TranslatedKernel
from minitriton.host.interrupts import Deadline
from minitriton.target.architectures import WARP_SIZE

_State = TypeVar("_State")
SHARED_WINDOW = 0x7E0000000000
LOCAL_WINDOW = 0x7D0000000000
POLLS = 2000
"""Atomics in a row that change nothing, with no store to global memory between, before their threads count as waiting."""


class Batch(Threads):
    """Some CTAs of a launch: which thread is where, their registers and memories, and what they wait for."""

    def __init__(
        self,
        program: TranslatedKernel,
        memory: GlobalMemory,
        parameters: np.ndarray,
        symbols: dict[str, int],
        grid: tuple[int, int, int],
        first: int,
        ctas: int,
        shared_bytes: int,
        report: Report,
        check: bool,
        order: np.ndarray | None = None,
    ) -> None:
        kernel = program.kernel
        shape = (grid, first, ctas, int(np.prod(kernel.threads)), WARP_SIZE, int(np.prod(kernel.cluster)))
        super().__init__(memory, report, *shape, check, order)
        self.program, self.parameters, self.symbols = program, parameters, symbols
        self.clocks = Clocks(ctas // self.cluster, self.warps_per_cta * self.cluster, check)
        if memory.shadow is not None:
            memory.shadow.begin(self.clocks, self.first_thread)
        size = program.static_shared + shared_bytes
        self.shared = SharedMemory(
            ctas, size, self.clocks, program.shared_granule, self.cluster, program.async_proxy
        )  # fmt: skip
        self.cta_offset = self.cta * self.shared.stride
        self.local_size = program.local_size
        self.local = np.zeros(self.count * max(program.local_size, 16), np.uint8)
        self.registers: list[Lanes] = [_ZERO[r.type[1:] if r.type != "pred" else "pred"] for r in kernel.registers]
        self.barriers: dict[tuple[int, int], BarrierArrivals] = {}
        self.parked: dict[int, np.ndarray] = {}
        self.lacks: dict[int, Callable[[], str]] = {}
        """By block whose threads are parked: what says why what they wait for is not complete."""
        self.waits = 0
        """Ordered loads since other threads had their turn. Not a part of the state that decides what runs: it says only when."""
        self.patience = POLLS
        self.deadline = Deadline()
        self.async_state: dict[type, object] = {}
        """What asynchronous instructions have under way, by its class: see `kept`."""
        self.at_end: list[Callable[..., None]] = []
        """Checks to make once all threads have ended."""
        self._special: dict[str, Lanes] = {}
        self.clock = 0
        self.trace = report.trace if first == 0 else None
        if self.trace is not None:
            self.trace.begin(self.lanes_per_cta, WARP_SIZE)

    def kept(self, kind: type[_State], make: Callable[[], _State], at_end: Callable[..., None] | None = None) -> _State:
        """The state of class `kind` of asynchronous instructions; at first what `make` gives, and then `at_end` is a check to make."""
        found = self.async_state.get(kind)
        if isinstance(found, kind):
            return found
        made = self.async_state[kind] = make()
        if at_end is not None:
            self.at_end.append(at_end)
        return made

    def cannot(self, site: int, what: str) -> EmulationError:
        """An error at an instruction that asks for what the emulator does not do."""
        return self.instruction(site).error(f"the emulator does not do {what}")

    def outside_of_parameters(self, site: int, offset: int, size: int) -> EmulationError:
        """An error at an instruction that reads `size` bytes at byte `offset` of the kernel's parameters, which end before."""
        return self.instruction(site).error(
            f"this reads {size} bytes at byte {offset} of the kernel's {self.parameters.size} bytes of parameters"
        )

    def failed(self, block: Block, error: Exception) -> EmulationError:
        """NumPy's refusal of a block: an operand of a kind or size that no rule has asked for."""
        return block.instructions[0].error(
            f"the emulator cannot run the block that begins here ({type(error).__name__}: {error})"
        )

    def instruction(self, site: int) -> Instruction:
        """The instruction that a site number names."""
        return self.program.kernel.instructions[site]

    def address_of(self, name: str, dtype: np.dtype) -> Lanes:
        """The address of a variable, within its state space."""
        program = self.program
        if name in program.shared:
            address = dtype.type(shared_memory.WINDOW + program.shared[name])
            return address if self.cluster == 1 else address + (self.rank << shared_memory.RANK_SHIFT).astype(dtype)
        if name in program.local:
            return dtype.type(program.local[name])
        return dtype.type(self.symbols[name])

    def shared_offsets(self, address: np.ndarray, threads: int | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Offsets of shared addresses in the window of the CTA they name, and where in the buffer that begins."""
        if self.cluster == 1:
            return address - shared_memory.WINDOW, self.cta_offset[threads]
        rank = address >> shared_memory.RANK_SHIFT
        there = (rank >= 0) & (rank < self.cluster)
        offset = (address & ((1 << shared_memory.RANK_SHIFT) - 1)) - shared_memory.WINDOW
        cta = (self.cta - self.rank)[threads] + np.where(there, rank, 0)
        return np.where(there, offset, -shared_memory.WINDOW), cta * self.shared.stride

    def at_rank(self, address: int, rank: int) -> int:
        """The same address in the shared memory of the cluster's CTA of that rank."""
        return address & ((1 << shared_memory.RANK_SHIFT) - 1) | rank << shared_memory.RANK_SHIFT

    def generic_base(self, space: str) -> np.uint64:
        """Where a state space begins in the generic one."""
        return np.uint64(SHARED_WINDOW if space == "shared" else LOCAL_WINDOW)

    def in_space(self, address: Lanes, space: str) -> Lanes:
        """Whether generic addresses are in a state space."""
        starts = {"local": LOCAL_WINDOW, "shared": SHARED_WINDOW, "global": global_memory.BASE}
        low = starts[space]
        return (address >= np.uint64(low)) & (address < np.uint64(low + 0x10000000000))

    def trap(self, site: int, mask: Mask) -> None:
        """Records a trap."""
        mask = self.mask(mask)
        count = self.count if mask is None else int(mask.sum())
        if count:
            self.report.add("trap", self.instruction(site), "the kernel executed trap", count)


_ZERO: dict[str, Lanes] = {
    "pred": same(np.bool_(False)), "8": same(np.uint8(0)), "16": same(np.uint16(0)), "32": same(np.uint32(0)),
    "64": same(np.uint64(0)),
}  # fmt: skip
