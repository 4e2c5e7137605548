"""With how few registers of a thread a kernel gets by, and how many its loads can fill: told from its PTX before it is assembled.

ld.global.b32 %r1, [%rd1];
ld.global.b32 %r2, [%rd1+512];
ld.global.b32 %r3, [%rd1+1024];       filled 3: an assembler may start all loads at once
add.f32 %r4, %r1, %r2;
add.f32 %r5, %r4, %r3;                needed 4: the address, the sum so far and the next load, which can start after the first sum
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

_REGISTER = re.compile(r"%(?:rd|rs|r|fd|f|p|h|b)\d+")
_TARGET = re.compile(r"[\t ]bra(?:\.uni)?\s+(\$\w+)")
_LOAD = re.compile(r"[\t ]ld\.global\S*?(?:\.v(\d))?\.[bfus]\d+")

_WITH_RESULT = {"atom", "shfl", "vote", "match", "elect"}
_ORDERING = {"bar", "barrier", "membar", "fence", "mbarrier", "nanosleep", "griddepcontrol"}
_EFFECTS = {"st", "red", "cp", "prefetch", "bra", "call", "ret", "exit", "trap"} | _WITH_RESULT | _ORDERING
"""First parts of the names of instructions that keep their order and their place between loads."""


class RegisterNeed(NamedTuple):
    """Registers of 32 bits of a thread."""

    filled: int
    """The most that loads from global memory fill between two instructions over which they cannot move."""

    needed: int
    """The most that are alive at once if each load and each value comes right before what needs it first. An assembler may need fewer: it
    computes again what it can."""

    held: int
    """Of these, the most that were loaded or computed from what was: these cannot be had again at will."""


@dataclass(slots=True)
class _Instruction:
    defined: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    is_load: bool = False
    has_effect: bool = False
    depth: int = 0
    """Instructions on the longest way to it from one that uses nothing."""
    is_begun: bool = False
    is_placed: bool = False


def registers_loaded(ptx: str) -> int:
    """Registers that the loads from global memory fill, all of them together."""
    return sum(int(lanes or 1) for lanes in _LOAD.findall(ptx))


def register_need(ptx: str) -> RegisterNeed | None:
    """What the one kernel in `ptx` needs; None if it has loops, or calls functions."""
    instructions = _instructions(ptx)
    if instructions is None:
        return None
    filled = _filled(instructions)
    order = _when_needed(instructions)
    return RegisterNeed(filled, _alive(order), _alive(order, _from_loads(instructions)))


def _instructions(ptx: str) -> list[_Instruction] | None:
    body = ptx[ptx.find("\n{") :]
    targets, passed = set(_TARGET.findall(body)), set[str]()
    found: list[_Instruction] = []
    for line in body.split("\n"):
        text = line.strip()
        if not text or text[0] in "./{}()":
            continue
        if text[0] == "$":
            label = text.split(":", 1)[0]
            if label in targets:
                passed.add(label)
                found.append(_Instruction(has_effect=True))
            continue
        guard = ""
        if text[0] == "@":
            guard, _, text = text.partition(" ")
        name, _, operands = text.lstrip().partition(" ")
        base = name.split(".", 1)[0].rstrip(";")
        if base == "call" or (base == "bra" and operands.strip(" ;\t") in passed):
            return None
        operands = operands.lstrip()
        end = 0
        if base not in _EFFECTS or base in _WITH_RESULT:
            end = operands.find("}" if operands.startswith("{") else ",")
        found.append(
            _Instruction(
                tuple(_REGISTER.findall(operands[:end])),
                (*_REGISTER.findall(operands[end:]), *_REGISTER.findall(guard)),
                name.startswith("ld.global"),
                base in _EFFECTS,
            )
        )
    return found


def _width(register: str) -> int:
    return 2 if register.startswith(("%rd", "%fd")) else 0 if register.startswith("%p") else 1


def _filled(instructions: list[_Instruction]) -> int:
    most = now = 0
    for each in instructions:
        if each.has_effect:
            now = 0
        elif each.is_load:
            now += sum(map(_width, each.defined))
            most = max(most, now)
    return most


def _from_loads(instructions: list[_Instruction]) -> set[str]:
    found: set[str] = set()
    for each in instructions:
        if each.is_load or not found.isdisjoint(each.used):
            found.update(each.defined)
    return found


def _alive(order: list[_Instruction], of: set[str] | None = None) -> int:
    """The most registers that are alive at once in this order, of all or of those in `of`."""
    last = {register: number for number, each in enumerate(order) for register in each.used}
    living: set[str] = set()
    now = most = 0
    for number, each in enumerate(order):
        for register in each.defined:
            if register in last and register not in living and (of is None or register in of):
                living.add(register)
                now += _width(register)
        most = max(most, now)
        for register in each.used:
            if last[register] == number and register in living:
                living.remove(register)
                now -= _width(register)
    return most


def _when_needed(instructions: list[_Instruction]) -> list[_Instruction]:
    """The instructions, each right before the first that uses what it defines: of what an instruction uses the one that takes longest
    first. Effects keep their order; loads before effects stay before these."""
    definitions: dict[str, list[_Instruction]] = {}
    order: list[_Instruction] = []
    loads: list[_Instruction] = []
    effects: list[_Instruction] = []

    def place(instruction: _Instruction) -> None:
        pending = [instruction]
        while pending:
            each = pending[-1]
            if each.is_begun:
                pending.pop()
                if not each.is_placed:
                    each.is_placed = True
                    order.append(each)
                continue
            each.is_begun = True
            before = [one for register in each.used for one in definitions.get(register, ()) if not one.is_begun]
            pending += sorted(before, key=_depth)

    def place_all() -> None:
        for effect in effects:
            for register in effect.used:
                for one in definitions.get(register, ()):
                    place(one)
        for each in (*loads, *effects):
            place(each)
        loads.clear()
        effects.clear()

    for each in instructions:
        if each.is_load and effects:
            place_all()
        if each.has_effect:
            effects.append(each)
        elif each.is_load:
            loads.append(each)
        each.depth = 1 + max((one.depth for name in each.used for one in definitions.get(name, ())), default=0)
        for register in each.defined:
            definitions.setdefault(register, []).append(each)
    place_all()
    return order


def _depth(instruction: _Instruction) -> int:
    return instruction.depth
