"""Launching a kernel: arguments in, batches of workgroups run, results out.

report = run(assembly, None, (4,), [x, y, out, 4000])     writes into `out`

A wave starts with what its descriptor asks for (LLVM, "User Guide for AMDGPU Backend", "Initial Kernel Execution State"): user SGPRs with the address
of the arguments and those that are preloaded, then the workgroup's numbers; the numbers of work items in v0, ten bits a dimension.

Which waves run which block: the lowest-numbered block that has waves comes next, so that waves which part meet again.

Waves wait at `s_barrier` until all waves of their workgroup that have not ended are there (ISA, section 4.3).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from minitriton.emulator.amdgcn.parser import parse
from minitriton.emulator.amdgcn.program import CODE, TRAP, Instruction, Isa, Kernel, Module, code_address
from minitriton.emulator.amdgcn.translate import BARRIERS, Block, Program, put_address, translate
from minitriton.emulator.amdgcn.values import register_of
from minitriton.emulator.amdgcn.waves import Waves
from minitriton.emulator.kernel_arguments import Binding, Value
from minitriton.emulator.launch import extents_of, spread
from minitriton.emulator.machine import Endless, Polling
from minitriton.emulator.memory.access_cost import Reach
from minitriton.emulator.memory.device import GlobalMemory
from minitriton.emulator.memory.device_shadow import Rerun
from minitriton.emulator.ptx.program import EmulationError, KernelParameter
from minitriton.emulator.report import Report
from minitriton.errors import MinitritonError, SourceLocation
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
            for counter in (x.lds, x.vector_memory, x.scalar_memory, x.loads, x.stores):
                counter.done[chosen] = counter.issued[chosen]
            self.pass_barriers()
        elif end.name in BARRIERS:
            if x.isa.has_split_waits and not x.signalled[chosen].all():
                first = int(np.nonzero(chosen & ~x.signalled)[0][0])
                text = "waits at a barrier that it has not signalled, for ever"
                x.find("deadlock", end.index, np.array([first * x.warp_size]), text)
            x.signalled[chosen] = False
            self.at[chosen] = following
            self.waiting |= chosen
            self.pass_barriers()
        elif end.name == "s_trap":
            x.find("trap", end.index, np.nonzero(chosen)[0] * x.warp_size, "the kernel executed s_trap")
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


LANES_AT_ONCE = 16384
"""Of a batch: NumPy's cost of a call is spread over them."""
SHADOW_AT_ONCE = 64 << 20
"""Bytes of race shadow that a batch may take."""
MOST_THREADS = 1024
"""Of a workgroup."""
POLLS = 200
"""Atomics in a row that change nothing, after which all workgroups run at once."""
POLLS_OF_ALL = 20000
MOST_LDS = 160 << 10
_USER = (
    ("private_segment_buffer", 4), ("dispatch_ptr", 2), ("queue_ptr", 2), ("kernarg_segment_ptr", 2), ("dispatch_id", 2),
    ("flat_scratch_init", 2), ("private_segment_size", 1),
)  # fmt: skip
"""User SGPRs in their order, with how many there are of each."""


@functools.lru_cache(maxsize=64)
def parse_cached(text: str) -> Module:
    """`parse`, remembering recent texts."""
    return parse(text)


@functools.lru_cache(maxsize=64)
def translated(text: str, name: str) -> Program:
    """The program of a kernel, remembering recent ones."""
    module = parse_cached(text)
    return translate(module, module.kernels[name])


def run(
    text: str,
    kernel: str | None,
    grid: Sequence[int],
    args: Sequence[Value],
    shared_bytes: int = 0,
    *,
    check: bool = True,
    names: Sequence[str] = (),
    resident: bool = False,
    scratch: int = 0,
    seconds: float = 0.0,
    programs: int = 0,
    reach: bool = False,
    reachable: Sequence[np.ndarray] | None = None,
    fences_by_author: bool = False,
    threads: int = 0,
) -> Report:
    """Runs `kernel` (None: the only one) of a text on the CPU and returns what was found and counted: `minitriton.emulator.run` for AMDGCN.

    Pointers left out at the end of `args` are null. `shared_bytes` is the LDS of a workgroup in addition to what the descriptor says; `threads` are
    its work items (0: the metadata's most). `scratch` and `fences_by_author` change nothing here.
    """
    module = parse_cached(text)
    entry = _kernel(module, kernel)
    threads = threads or entry.max_threads
    if not 0 < threads <= MOST_THREADS:
        raise EmulationError(
            f"kernel {entry.name} has {threads} work items a workgroup; the most is {MOST_THREADS}, the least is 1",
            SourceLocation("<amdgcn>", entry.line), help="write .max_flat_workgroup_size in .amdgpu_metadata, or give threads=",
        )  # fmt: skip
    lds = shared_bytes + entry.directive("group_segment_fixed_size")
    if not 0 <= lds <= MOST_LDS:
        raise EmulationError(f"kernel {entry.name} has {lds} bytes of LDS; the most is {MOST_LDS}")
    program = translated(text, entry.name)
    launch = _Launch(
        module, entry, program, extents_of(grid), args, names, threads, lds, check, Deadline(seconds), resident, programs, reach, reachable
    )  # fmt: skip
    followed: set[int] = set()
    while True:
        try:
            return launch.run(followed)
        except Rerun as again:
            followed |= again.allocations
        except Polling:
            launch.resident, launch.programs = launch.resident or not launch.programs, 0


def _kernel(module: Module, name: str | None) -> Kernel:
    name = name or next(iter(module.kernels), "")
    if name not in module.kernels:
        raise EmulationError(f"the assembly lacks kernel `{name}`; it has {', '.join(module.kernels) or 'none'}")
    return module.kernels[name]


class _Launch:
    """One launch, which may have to begin anew."""

    def __init__(
        self, module: Module, kernel: Kernel, program: Program, grid: tuple[int, int, int], values: Sequence[Value],
        names: Sequence[str], threads: int, lds: int, check: bool, deadline: Deadline, resident: bool, programs: int, reach: bool,
        reachable: Sequence[np.ndarray] | None,
    ) -> None:  # fmt: skip
        self.module, self.kernel, self.program, self.grid, self.values = module, kernel, program, grid, values
        self.names, self.threads, self.lds, self.check, self.deadline = names, threads, lds, check, deadline
        self.resident = resident
        """Whether all workgroups run at once: some wait for others."""
        self.programs, self.reach, self.reachable = programs, reach, reachable

    def run(self, followed: set[int]) -> Report:
        """One attempt."""
        kernel, program = self.kernel, self.program
        memory = GlobalMemory()
        if not kernel.parameters:
            kernel.parameters = _natural(self.values)
        arguments = Binding(
            self.module.text, kernel, self.values, self.names, reachable=self.reachable, language="amdgcn"
        ).lay_out(memory)  # fmt: skip
        arguments = self.with_hidden(arguments)
        start = memory.add(len(arguments), "the kernel's arguments", arguments.copy())
        addresses = {label: code_address(index) for label, index in kernel.labels.items()}
        for label, data in self.module.data.items():
            addresses[label] = memory.add(len(data), label, np.frombuffer(bytearray(data), np.uint8), 1)
        memory.freeze()
        lanes = kernel.lanes
        waves = -(-self.threads // lanes)
        if self.check:
            memory.follow(min(program.global_granule, memory.item), followed, waves * lanes, lanes)
        report = Report(kernel, self.grid, language="amdgcn")
        report.warps, report.threads = (np.zeros(len(kernel.instructions), np.int64) for _ in range(2))
        report.reach = Reach() if self.reach else None
        total, order = int(np.prod(self.grid)), None
        is_part = not self.resident and 0 < self.programs < total
        if is_part:
            order = spread(np.arange(total), self.programs, 1)
            report.share, total = len(order) / total, len(order)
        batch = max(total, 1) if self.resident else self.at_once(waves)
        with np.errstate(all="ignore"):
            for first in range(0, total, batch):
                count = min(batch, total - first)
                x = Waves(
                    kernel, memory, report, self.grid, first, count, self.threads, self.lds, program.shared_granule, self.check, order,
                    Isa(self.module.target, lanes),
                )  # fmt: skip
                x.addresses = addresses
                self.begin(x, start, arguments)
                machine = Machine(
                    x, program, kernel.labels[kernel.name], self.deadline,
                    POLLS if count < total or is_part else POLLS_OF_ALL,
                )  # fmt: skip
                try:
                    machine.run()
                except Endless as found:
                    report.add("endless", found.instruction, found.text)
                    break
                except Polling as found:
                    if count < total or is_part:
                        raise
                    report.add("deadlock", found.instruction, "waves wait for memory that nothing changes")
                    break
        if report.reach is not None:
            report.reach.finish()
        memory.write_back()
        return report

    def at_once(self, waves: int) -> int:
        """Workgroups of a batch."""
        batch = max(1, LANES_AT_ONCE // (waves * self.kernel.lanes))
        if self.check:
            each = self.lds // self.program.shared_granule * (24 + 8 * waves)
            batch = min(batch, max(1, SHADOW_AT_ONCE // max(each, 1)))
        return batch

    def with_hidden(self, arguments: np.ndarray) -> np.ndarray:
        """The arguments followed by what the runtime passes."""
        hidden = self.kernel.hidden
        end = max([len(arguments), self.kernel.directive("kernarg_size"), *(at + size for at, size in hidden.values())])
        data = np.zeros(-(-end // 16) * 16, np.uint8)
        data[: len(arguments)] = arguments
        known = {f"block_count_{axis}": self.grid[n] for n, axis in enumerate("xyz")}
        known |= {"group_size_x": self.threads, "group_size_y": 1, "group_size_z": 1, "grid_dims": 3}
        for name, (at, size) in hidden.items():
            data[at : at + size] = np.frombuffer(known.get(name, 0).to_bytes(size, "little"), np.uint8)
        return data

    def begin(self, x: Waves, start: int, arguments: np.ndarray) -> None:
        """Registers as a wave finds them."""
        kernel, position = self.kernel, 0
        for name, count in _USER:
            if kernel.directive(
                f"user_sgpr_{name}", int(name == "kernarg_segment_ptr" and "user_sgpr_count" not in kernel.directives)
            ):
                if name == "kernarg_segment_ptr":
                    x.s[position], x.s[position + 1] = start & 0xFFFFFFFF, start >> 32
                position += count
        preloaded, offset = (kernel.directive(f"user_sgpr_kernarg_preload_{n}") for n in ("length", "offset"))
        words = arguments.view(np.uint32)[offset : offset + preloaded]
        x.s[position : position + preloaded] = words[:, np.newaxis]
        position = max(position + preloaded, kernel.directive("user_sgpr_count"))
        number = x.cta_number[:: x.warp_size].astype(np.int64)
        gx, gy, _ = self.grid
        numbers = {"x": number % gx, "y": number // gx % gy, "z": number // (gx * gy)}
        if x.isa.has_split_waits:  # RDNA4 has registers of its own for them (AMDGPUUsage, "Architected SGPRs")
            x.s[TRAP + 9], x.s[TRAP + 7] = numbers["x"], numbers["y"] | numbers["z"] << 16
            numbers = {}
        for axis, value in numbers.items():
            if kernel.directive(f"system_sgpr_workgroup_id_{axis}", int(axis == "x")):
                x.s[position] = value
                position += 1
        x.v[0] = x.thread.reshape(x.shape)


def _natural(values: Sequence[Value]) -> list[KernelParameter]:
    """Arguments of a text without metadata: each aligned to its size, numbers of 4 bytes unless NumPy's say otherwise."""
    found: list[KernelParameter] = []
    offset = 0
    for position, value in enumerate(values):
        is_pointer = isinstance(value, np.ndarray)
        size = 8 if is_pointer else value.dtype.itemsize if isinstance(value, np.generic) else 4
        offset = -(-offset // size) * size
        found.append(
            KernelParameter(f"argument {position}", "u64" if is_pointer else f"b{8 * size}", 1, offset, is_pointer)
        )
        offset += size
    return found
