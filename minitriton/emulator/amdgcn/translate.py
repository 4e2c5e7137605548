"""A kernel's instructions as blocks of steps, which end where waves may part: branches, barriers, jumps, the end.

blocks[0].steps      →   [Step(s_load_dwordx2 ...), Step(s_waitcnt ...)];  blocks[0].end   →   the instruction s_cbranch_execz
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from minitriton.emulator.amdgcn import access, matrix, rdna, scalar, vector_rules, wmma
from minitriton.emulator.amdgcn.program import Instruction, Isa, Kernel, Module, Symbol, code_address, registers_of
from minitriton.emulator.amdgcn.values import Fetch, Step, register_of
from minitriton.emulator.amdgcn.waves import Waves
from minitriton.emulator.ptx.program import EmulationError

_ENDS = ("s_branch", "s_cbranch_", "s_endpgm", "s_setpc_b64", "s_swappc_b64", "s_trap")
BARRIERS = ("s_barrier", "s_barrier_wait")
"""Where waves wait for each other: RDNA4 has a signal before the wait."""


def ends_block(i: Instruction) -> bool:
    """Whether waves may part at an instruction."""
    return i.name.startswith(_ENDS) or i.name in BARRIERS


@dataclass(slots=True)
class Block:
    """Instructions `start` to before `stop`, and `end` is their last one if waves may part there."""

    start: int
    stop: int
    steps: list[Step]
    end: Instruction | None
    end_step: Step | None = None
    """What `end` reads and writes, for checks."""
    target: int = -1
    """The block that a branch goes to."""
    condition: Fetch | None = None


@dataclass(slots=True)
class Program:
    """`number` of the block by the index of its first instruction; `granule` is the bytes of the narrowest accesses."""

    blocks: list[Block] = field(default_factory=list[Block])
    number: dict[int, int] = field(default_factory=dict[int, int])
    shared_granule: int = 4
    global_granule: int = 4


def step_of(i: Instruction, isa: Isa) -> Step:
    """What an instruction does. Raises `EmulationError` at its line if the emulator does not know it."""
    if isa.is_rdna:
        if i.second is not None:
            return rdna.dual(i, step_of(replace(i, second=None), isa), step_of(i.second, isa))
        i = replace(i, name=rdna.canonical(i.name))
    try:
        found = (
            scalar.rule_of(i, isa)
            or access.rule_of(i, isa)
            or (_of_rdna(i, isa) if isa.is_rdna else matrix.rule_of(i, isa))
            or vector_rules.rule_of(i, isa)
            or _program_counter(i)
        )
    except EmulationError:
        raise
    except (IndexError, ValueError, KeyError) as error:
        raise i.error(f"{i.name} does not have the operands that it takes ({error})") from None
    if found is None:
        raise i.error(f"the emulator does not know {i.name}")
    return found


def _of_rdna(i: Instruction, isa: Isa) -> Step | None:
    if i.name == "s_barrier_signal" and isa.has_split_waits:
        return rdna.signal(i)
    return wmma.rule_of(i, isa) or rdna.rule_of(i)


def _program_counter(i: Instruction) -> Step | None:
    if i.name != "s_getpc_b64":
        return None
    target = register_of(i, 0, 2)
    address = code_address(i.index + 1)
    first = target.scalar

    def act(x: Waves) -> None:
        put_address(x, first, address)

    return Step(i, act, frozenset(), frozenset(target.all))


def put_address(x: Waves, first: int, address: int) -> None:
    """Writes an address into two scalar registers."""
    x.set_scalar(first, np.full(x.waves, address & 0xFFFFFFFF, np.uint32))
    x.set_scalar(first + 1, np.full(x.waves, address >> 32, np.uint32))


def translate(module: Module, kernel: Kernel) -> Program:
    """The blocks of all instructions that the kernel may reach."""
    program = Program()
    instructions = kernel.instructions
    starts = {0, kernel.labels[kernel.name], *kernel.labels.values()}
    starts |= {i.index + 1 for i in instructions if ends_block(i)}
    isa = Isa(module.target, kernel.lanes)
    order = sorted(s for s in starts if s < len(instructions))
    program.number = {start: number for number, start in enumerate(order)}
    reachable = _reachable(kernel, program.number, order)
    for number, start in enumerate(order):
        stop = order[number + 1] if number + 1 < len(order) else len(instructions)
        body = instructions[start:stop]
        end = body[-1] if ends_block(body[-1]) else None
        block = Block(start, stop, [], end)
        program.blocks.append(block)
        if number not in reachable:
            continue
        for i in body:
            width = access.width_of(rdna.canonical(i.name) if isa.is_rdna else i.name)
            if width and i.name.startswith("ds_"):
                program.shared_granule = min(program.shared_granule, width)
            elif width:
                program.global_granule = min(program.global_granule, width)
        block.steps = [step_of(i, isa) for i in (body if end is None else body[:-1])]
        if end is not None:
            _end(block, end, kernel, program, isa)
    return program


def _end(block: Block, end: Instruction, kernel: Kernel, program: Program, isa: Isa) -> None:
    if end.name.startswith(("s_branch", "s_cbranch_")):
        base = end.operands[0].base if end.operands else None
        if not isinstance(base, Symbol):
            raise end.error(f"{end.name} goes to a label")
        block.target = program.number.get(kernel.labels[base.name], len(program.number))
        block.condition = scalar.condition(end.name, isa)
    operands = end.operands if end.name.startswith(("s_setpc", "s_swappc")) else ()
    block.end_step = Step(end, lambda x: None, registers_of(operands))


def _reachable(kernel: Kernel, number: dict[int, int], order: list[int]) -> set[int]:
    """Blocks that run after the kernel's first, and after every label whose address is taken."""
    instructions = kernel.instructions
    pending = [number[kernel.labels[kernel.name]]]
    found: set[int] = set()
    while pending:
        block = pending.pop()
        if block in found or block >= len(order):
            continue
        found.add(block)
        stop = order[block + 1] if block + 1 < len(order) else len(instructions)
        for i in instructions[order[block] : stop]:
            for o in i.operands:
                if isinstance(o.base, Symbol) and (index := kernel.labels.get(o.base.name)) is not None:
                    pending.append(number.get(index, len(order)))
        if instructions[stop - 1].name not in ("s_branch", "s_endpgm", "s_setpc_b64"):
            pending.append(block + 1)
    return found
