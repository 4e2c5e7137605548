"""Blocks, their order, and which registers live across them.

In: a kernel. Out: blocks numbered in reverse postorder, so that running the lowest-numbered block that has threads brings
diverged threads together again at the immediate post-dominator of the branch that parted them.

    0: setp; @p bra L1    →   block 0 (branch to 2, else 1), block 1, block 2; threads of 1 run before those of 2 go on
"""

from dataclasses import dataclass, field

from minitriton.emulator.ptx.program import (
    Address,
    EmulationError,
    Instruction,
    Negated,
    Operand,
    Pair,
    PTXKernel,
    Register,
    Symbol,
    Vector,
)

REPEATED = ("mbarrier.try_wait", "mbarrier.test_wait", "barrier.cluster.wait")
"""Instructions that threads run again until they pass: they are a block of their own."""
SUSPENDING = (
    "bar.sync", "bar.arrive", "bar.red", "barrier.sync", "barrier.arrive", "barrier.red", "barrier.cta", *REPEATED,
)  # fmt: skip
"""Instructions at which threads may have to wait: they end a block."""


@dataclass(slots=True)
class Block:
    """Instructions run without a branch in or out. `target` is where the branch goes, `next` where control falls through."""

    index: int
    instructions: list[Instruction]
    exit: str
    """`branch`, `exit`, `suspend` or `fall`."""
    next: int = -1
    target: int = -1
    live_out: set[int] = field(default_factory=set[int])


def registers_of(operand: Operand) -> list[Register]:
    """Every register that an operand mentions."""
    if isinstance(operand, Register):
        return [operand]
    if isinstance(operand, Negated):
        return [operand.operand]
    if isinstance(operand, Vector):
        return [r for e in operand.elements for r in registers_of(e)]
    if isinstance(operand, Pair):
        return registers_of(operand.first) + registers_of(operand.second)
    if isinstance(operand, Address):
        return registers_of(operand.base) + [r for c in operand.coordinates for r in registers_of(c)]
    return []


_BARRIER_RESULTS = ("bar.red", "barrier.red", "barrier.cta.red")
_NO_RESULT = (
    "st.", "red.", "bra", "ret", "exit", "bar.", "barrier.", "fence", "membar", "cp.", "stmatrix", "trap", "brkpt",
    "mbarrier.init", "mbarrier.inval", "mbarrier.expect_tx", "nanosleep", "prefetch", "tensormap", "wgmma.fence", "wgmma.commit", "wgmma.wait",
    "griddepcontrol", "setmaxnreg", "discard", "applypriority", "pmevent", "multimem.red", "multimem.st",
)  # fmt: skip


def results_of(instruction: Instruction) -> list[Register]:
    """Registers that an instruction writes."""
    opcode = instruction.opcode
    if not instruction.operands or (opcode.startswith(_NO_RESULT) and not opcode.startswith(_BARRIER_RESULTS)):
        return []
    return registers_of(instruction.operands[0])


def uses_of(instruction: Instruction) -> list[Register]:
    """Registers that an instruction reads; a guarded instruction keeps its result, so it reads that too."""
    results = results_of(instruction)
    operands = instruction.operands[1:] if results else instruction.operands
    used = [r for o in operands for r in registers_of(o)]
    if instruction.operands and (instruction.opcode.startswith("mbarrier.arrive") or not results):
        used += registers_of(instruction.operands[0])
    if instruction.guard is not None:
        used += [instruction.guard, *results]
    if instruction.opcode.startswith("wgmma.mma"):
        used += results
    return used


def build_blocks(kernel: PTXKernel) -> list[Block]:
    """Blocks in reverse postorder, with live-out registers."""
    code = kernel.instructions
    if not code:
        raise EmulationError(f"kernel `{kernel.name}` lacks instructions")
    starts = {0, *kernel.labels.values()}
    for instruction in code:
        if instruction.opcode.split(".")[0] in ("bra", "ret", "exit", "trap") or instruction.opcode.startswith(
            SUSPENDING
        ):
            starts.add(instruction.index + 1)
        if instruction.opcode.startswith(REPEATED):
            starts.add(instruction.index)
    ordered = sorted(s for s in starts if s <= len(code))
    raw: dict[int, tuple[int, str, int, int]] = {}
    for start, end in zip(ordered, [*ordered[1:], len(code)], strict=True):
        raw[start] = (end, *_leaving(kernel, code[end - 1] if end > start else None, end))
    order = _reverse_postorder(raw)
    number = {start: i for i, start in enumerate(order)}
    blocks = [
        Block(i, code[s : raw[s][0]], raw[s][1], number.get(raw[s][2], -1), number.get(raw[s][3], -1))
        for i, s in enumerate(order)
    ]
    _liveness(blocks)
    return blocks


def _leaving(kernel: PTXKernel, last: Instruction | None, end: int) -> tuple[str, int, int]:
    fall = end if end < len(kernel.instructions) else -1
    if last is None:
        return ("fall", fall, -1) if fall >= 0 else ("exit", -1, -1)
    base = last.opcode.split(".")[0]
    if base == "bra":
        label = last.operands[0]
        assert isinstance(label, Symbol)
        target = kernel.labels[label.name]
        if target >= len(kernel.instructions):
            target = -1
        return "branch", fall if last.guard is not None else -1, target
    if base in ("ret", "exit", "trap"):
        return "exit", fall if last.guard is not None else -1, -1
    if last.opcode.startswith(SUSPENDING):
        return "suspend", fall, -1
    return ("fall", fall, -1) if fall >= 0 else ("exit", -1, -1)


def _reverse_postorder(raw: dict[int, tuple[int, str, int, int]]) -> list[int]:
    """Loop bodies come before what follows the loop: of two successors the later in the text is visited first."""
    seen: set[int] = set()
    order: list[int] = []
    stack: list[tuple[int, list[int]]] = [(0, _successors(raw, 0))]
    seen.add(0)
    while stack:
        start, pending = stack[-1]
        if pending:
            successor = pending.pop()
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, _successors(raw, successor)))
        else:
            order.append(start)
            stack.pop()
    return order[::-1]


def _successors(raw: dict[int, tuple[int, str, int, int]], start: int) -> list[int]:
    """In ascending order of text, so that `pop` visits the later one first and puts it last in the reverse order."""
    return sorted({s for s in raw[start][2:] if s >= 0})


def _liveness(blocks: list[Block]) -> None:
    uses: list[set[int]] = []
    defs: list[set[int]] = []
    live_in: list[set[int]] = []
    for block in blocks:
        used: set[int] = set()
        defined: set[int] = set()
        for instruction in block.instructions:
            used |= {r.index for r in uses_of(instruction)} - defined
            defined |= {r.index for r in results_of(instruction)}
        uses.append(used)
        defs.append(defined)
        live_in.append(set(used))
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            out = {r for s in (block.next, block.target) if s >= 0 for r in live_in[s]}
            if out != block.live_out:
                block.live_out = out
                live_in[block.index] = uses[block.index] | (out - defs[block.index])
                changed = True
