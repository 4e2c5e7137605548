"""Runs a translated kernel: threads of several CTAs concurrently, block by block.

In: a `Program`, memory, a batch of CTAs. Every thread has a next block; the lowest-numbered block that has threads runs with
all of them. Blocks are in reverse postorder, so threads that a branch parted meet again at its post-dominator.

    ready = {2: threads 0-31, 5: the rest}   →   block 2 runs, then, once its threads stand at 5 too, block 5 with all
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from minitriton.emulator.batch import Batch
from minitriton.emulator.endless import FIRST, Repetition
from minitriton.emulator.lanes import Lanes, same
from minitriton.emulator.memory.device_shadow import Rerun
from minitriton.emulator.operations.barriers import Arrival, BarrierArrivals, check_completed
from minitriton.emulator.ptx.control_flow import Block
from minitriton.emulator.ptx.program import EmulationError, Instruction
from minitriton.emulator.report import Reported
from minitriton.emulator.threads import Mask
from minitriton.errors import MinitritonError
from minitriton.target.architectures import H100_MULTIPROCESSORS, LIMITS, WARP_SIZE

Part = Mask | Literal[False]
"""A mask, or False where it would be of no thread."""
SPINS = 64
"""Compare-and-swaps and ordered loads that threads may make while others could run, before those get their turn."""


class Polling(Exception):
    """Threads look again and again at memory that none of the CTAs of the batch changes."""

    def __init__(self, instruction: Reported) -> None:
        self.instruction = instruction
        super().__init__("threads wait for memory to change")


class Endless(Exception):
    """Threads run for ever, or for longer than they may."""

    def __init__(self, instruction: Reported, text: str) -> None:
        self.instruction, self.text = instruction, text
        super().__init__(text)


TURNS_OF_OTHERS = 1000
"""That threads which go round without an end may give to others of their batch."""
STEPS_BETWEEN_LOOKS = 64
"""Blocks that run before the time is looked at again."""


class Machine(Batch):
    """Runs a batch of CTAs. Generated code calls its methods and reads its attributes."""

    def special(self, name: str) -> Lanes:
        """A special register, 32 or 64 bits wide."""
        if name in ("%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo"):
            self.clock += 1
            return same((np.uint64 if "64" in name or name == "%globaltimer" else np.uint32)(self.clock))
        if name.startswith("%envreg"):
            return same(np.uint32(0) if self.memory.trace is None else self.memory.trace.register(name))
        found = self._special.get(name)
        if found is None:
            found = self._special[name] = value_of(self, name)
        return found

    def run(self) -> None:
        """Runs the batch to its end."""
        blocks, functions, registers = self.program.blocks, self.program.functions, self.registers
        ready: dict[int, Mask] = {0: None if self.whole else self.alive.copy()}
        runs = self.report.threads
        steps, repetition = 0, None
        while True:
            if not ready and not self.unblock(ready):
                for check in self.at_end:
                    check(self)
                return
            number = min(ready)
            if (self.spins > SPINS or self.waits > SPINS) and len(ready) > 1:
                number, self.spins, self.waits = max(ready), 0, 0
            mask = ready.pop(number)
            block = blocks[number]
            if steps >= FIRST:
                repetition = repetition or Repetition(self)
                if repetition.repeats(number, steps, ready, mask):
                    number, mask = self.stuck(repetition, number, mask, ready)
                    block = blocks[number]
                if steps % STEPS_BETWEEN_LOOKS == 0 and self.deadline.passed():
                    raise Endless(block.instructions[-1], self.deadline.text)
            try:
                outcome = functions[number](self, registers, mask)
            except (MinitritonError, Polling, Rerun):
                raise
            except Exception as error:
                raise self.failed(block, error) from error
            if self.check and block.instructions:
                self.tally(block.instructions, mask, runs)
            steps += 1
            if self.polls > self.patience:
                raise Polling(block.instructions[0])
            if block.exit == "fall":
                self.go(ready, block.next, mask)
            elif block.exit == "branch":
                self.branch(ready, block.next, block.target, outcome, mask)
            elif block.exit == "exit":
                self.leave(ready, block.next, outcome, mask)
            else:
                outcome(self, ready, block, mask)
            if self.trace is not None:
                self.trace.block(block.instructions, mask)

    def stuck(self, repetition: Repetition, number: int, mask: Mask, ready: dict[int, Mask]) -> tuple[int, Mask]:
        """What runs in place of block `number`, whose threads go round without an end: others, as long as there are some.

        Raises `Polling` where what they read from memory could still be changed, by CTAs that do not run yet, else `Endless`.
        """
        if ready and repetition.turns < TURNS_OF_OTHERS:
            repetition.turns += 1
            other = max(ready)
            turn = other, ready.pop(other)
            self.go(ready, number, mask)
            return turn
        instruction = self.program.blocks[number].instructions[-1]
        if repetition.by_memory:
            raise Polling(instruction)
        raise Endless(instruction, "a loop that never ends: nothing that it depends on changes")

    def tally(self, instructions: list[Instruction], mask: Mask, threads: np.ndarray) -> None:
        """Counts a block's instructions for the report."""
        if mask is None:
            lanes, warps = self.count, self.count // WARP_SIZE
        else:
            lanes, warps = int(np.count_nonzero(mask)), int(np.count_nonzero(mask.reshape(-1, WARP_SIZE).any(1)))
        first, last = instructions[0].index, instructions[-1].index + 1
        threads[first:last] += lanes
        self.report.warps[first:last] += warps

    def go(self, ready: dict[int, Mask], number: int, mask: Mask) -> None:
        """Threads go on in a block, or end where there is none."""
        if number < 0:
            self.finish(mask)
        elif number in ready and mask is not None:
            other = ready[number]
            joined = None if other is None else other | mask
            ready[number] = None if joined is None or joined.all() else joined
        else:
            ready[number] = mask

    def finish(self, mask: Mask) -> None:
        """Threads end."""
        self.alive = np.zeros(self.count, np.bool_) if mask is None else self.alive & ~mask
        if (self.barriers or self.parked) and mask is not None:
            self.changes += 1

    def branch(self, ready: dict[int, Mask], fall: int, target: int, taken: Lanes | None, mask: Mask) -> None:
        """Parts threads by the guard of a branch."""
        if taken is None:
            self.go(ready, target, mask)
            return
        yes, no = self.part(taken, mask)
        if yes is not False:
            self.go(ready, target, yes)
        if no is not False:
            self.go(ready, fall, no)

    def part(self, taken: Lanes, mask: Mask) -> tuple[Part, Part]:
        """Masks of the threads that do and do not; False stands for none."""
        if taken.ndim == 0:
            return (mask, False) if taken else (False, mask)
        yes = taken if mask is None else taken & mask
        count = np.count_nonzero(yes)
        if count == 0:
            return False, mask
        total = self.count if mask is None else np.count_nonzero(mask)
        if count == total:
            return mask, False
        return yes, (~taken if mask is None else mask & ~taken)

    def leave(self, ready: dict[int, Mask], fall: int, taken: Lanes | None, mask: Mask) -> None:
        """`ret` and `exit`."""
        if taken is None:
            self.finish(mask)
            return
        yes, no = self.part(taken, mask)
        if yes is not False:
            self.finish(yes)
        if no is not False:
            self.go(ready, fall, no)

    def unblock(self, ready: dict[int, Mask]) -> bool:
        """No thread can run: lets waiting ones look again, or reports why they wait for ever. False at the end."""
        if self.parked and self.changes:
            self.changes = 0
            for number, mask in self.parked.items():
                self.go(ready, number, mask)
            self.parked = {}
            return True
        # First those at which threads wait: at others they have only arrived.
        barriers = sorted(self.barriers, key=lambda key: not self.barriers[key].waiting)
        broken = next((key for key in barriers if not (self.parked and self.others_wait(key))), None)
        if broken is not None:
            return self.break_barrier(ready, broken)
        sites = {number: self.program.blocks[number].instructions[-1] for number in self.parked}
        for number, mask in self.parked.items():
            instruction = sites[number]
            what = "a cluster barrier" if "cluster" in instruction.opcode.split(".")[:2] else "a phase"
            lacks = f": {self.lacks[number]()}" if number in self.lacks else ""
            others = [str(i.source) for i in sites.values() if i.source and i.source != instruction.source]
            others = f"; others wait at {', '.join(dict.fromkeys(others))}" if others else ""
            text = f"threads wait for {what} that nothing completes{lacks}{others}"
            self.find("deadlock", instruction.index, np.nonzero(mask)[0], text)
        self.parked, self.barriers = {}, {}
        return False

    def others_wait(self, key: tuple[int, int]) -> bool:
        """Whether threads that a barrier lacks wait elsewhere, for another barrier or a phase."""
        return bool((self.alive & (self.cta == key[0]) & ~self.barriers[key].here).any())

    def break_barrier(self, ready: dict[int, Mask], key: tuple[int, int]) -> bool:
        """A barrier that cannot complete: reported; its threads go on, so that more may be found."""
        cta, number = key
        elsewhere = self.others_wait(key)
        arrivals = self.barriers.pop(key)
        here = arrivals.here
        missing = int(arrivals.expected - np.count_nonzero(here))
        kind = "deadlock" if elsewhere else "barrier"
        why = "wait elsewhere" if elsewhere else "have ended"
        lanes = np.nonzero(here)[0]
        self.find(kind, arrivals.site, lanes, f"barrier {number} is never reached by {missing} threads, which {why}")
        stuck = [arrivals, *(self.barriers.pop(key) for key in list(self.barriers) if elsewhere and key[0] == cta)]
        for one in stuck:
            for block, mask in one.waiting.items():
                self.go(ready, block, mask)
        return bool(ready) or self.unblock(ready)

    def arrive(self, ready: dict[int, Mask], one: Arrival, following: int, mask: Mask) -> None:
        """Threads arrive at a barrier; once as many of a CTA as it expects have, those that wait go on in `following`."""
        reduction, wait = one.reduction, one.wait
        if self.trace is not None:
            here = self.index if mask is None else np.nonzero(mask)[0]
            self.trace.note(
                self.program.kernel.instructions[one.site],
                here[::WARP_SIZE] if mask is None else here,
                barrier=one.number,
                expected=one.expected,
            )
        plain = reduction is None and self.cluster == 1
        if mask is None and wait and plain and one.expected == self.lanes_per_cta and not self.barriers:
            self.clocks.synchronize_all()
            self.go(ready, following, None)
            return
        if mask is None:
            mask = np.ones(self.count, np.bool_)
        per_cta = mask.reshape(self.ctas, -1)
        released = np.zeros(self.count, np.bool_)
        for cta in np.nonzero(per_cta.any(1))[0].tolist():
            own = np.zeros(self.count, np.bool_)
            window = slice(cta * self.lanes_per_cta, (cta + 1) * self.lanes_per_cta)
            own[window] = mask[window]
            arrivals = self.barriers.setdefault((cta, one.number), BarrierArrivals(one.expected, one.site))
            arrivals.add(one, following, own)
            here = arrivals.here
            if np.count_nonzero(here) >= one.expected:
                del self.barriers[(cta, one.number)]
                if self.check:
                    check_completed(self, arrivals, one)
                if reduction is not None and arrivals.votes is not None:
                    old = self.spread(self.registers[reduction.register])
                    value = reduction.result(int(np.count_nonzero(arrivals.votes)), int(np.count_nonzero(here)))
                    self.registers[reduction.register] = np.where(here, old.dtype.type(value), old)
                self.clocks.synchronize(np.unique(self.warp[here]))
                for block, waiting in arrivals.waiting.items():
                    if block == following:
                        released |= waiting
                    else:
                        self.go(ready, block, waiting)
        if not wait:
            released = mask
        if released.any():
            self.go(ready, following, None if released.all() else released)


Outcome: TypeAlias = Callable[[Machine, dict[int, Mask], Block, Mask], None]
"""What becomes of the threads of a block whose end only its own instruction knows: barriers and waits."""

# Special registers that do not change during a run: where a thread stands in its warp, CTA, cluster and grid.
#
# value_of(x, "%ctaid.x") -> the x coordinate of each thread's CTA; value_of(x, "%ntid.x") -> the block size


def value_of(x: Batch, name: str) -> Lanes:
    """The 32-bit value of a special register: a scalar, or an array with one element per thread."""
    size, grid = x.program.kernel.threads, x.grid
    base, _, axis = name[1:].partition(".")
    number = "xyz".find(axis) if axis else 0

    def along(value: np.ndarray, extents: tuple[int, int, int]) -> np.ndarray:
        below = int(np.prod(extents[:number]))
        return (value // below % extents[number]).astype(np.uint32)

    cluster = x.program.kernel.cluster
    if base == "tid":
        return along(x.thread, size)
    if base in ("ctaid", "clusterid", "cluster_ctaid"):
        index = same(np.uint32(0)) if grid[number] == 1 else along(x.cta_number, grid)
        extent = np.uint32(cluster[number])
        return {"ctaid": index, "clusterid": index // extent, "cluster_ctaid": index % extent}[base]
    if base == "cluster_ctarank":
        return same(np.uint32(0)) if x.cluster == 1 else x.rank.astype(np.uint32)
    lane = x.lane.astype(np.uint64)
    one = np.uint64(1)
    scalars: dict[str, int] = {
        "ntid": size[number], "nctaid": grid[number], "nclusterid": grid[number] // cluster[number],
        "cluster_nctaid": cluster[number], "cluster_nctarank": x.cluster, "is_explicit_cluster": x.cluster > 1,
        "warpsize": WARP_SIZE, "smid": 0, "nsmid": H100_MULTIPROCESSORS, "gridid": 0, "nwarpid": LIMITS.warps_per_sm,
        "dynamic_smem_size": x.shared.size - x.program.static_shared, "total_smem_size": x.shared.size,
    }  # fmt: skip
    if base in scalars:
        return same(np.uint32(scalars[base]))
    arrays: dict[str, Callable[[], np.ndarray]] = {
        "laneid": lambda: x.lane, "warpid": lambda: x.thread // WARP_SIZE,
        "lanemask_eq": lambda: one << lane, "lanemask_lt": lambda: (one << lane) - one,
        "lanemask_le": lambda: (one << (lane + one)) - one,
        "lanemask_gt": lambda: np.uint64(0xFFFFFFFF) ^ ((one << (lane + one)) - one),
        "lanemask_ge": lambda: np.uint64(0xFFFFFFFF) ^ ((one << lane) - one),
    }  # fmt: skip
    if base in arrays:
        return arrays[base]().astype(np.uint32)
    raise EmulationError(f"the emulator does not know the special register `{name}`")
