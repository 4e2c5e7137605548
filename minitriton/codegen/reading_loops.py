"""The loops of a kernel that load from global memory, told from its PTX: how many, and what an iteration needs.

$L__BB0_2:                            $L__BB0_5:
  ld.global.v4.b32 ...                  ld.global.v4.b32 ...
  @%p1 bra $L__BB0_2;                   @%p2 bra $L__BB0_5;          reading_loops: 2
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LABEL_LOAD_OR_BRANCH = re.compile(
    r"^(?:(\$\w+):|[\t ]*(?:@!?%p\d+ +)?(?:(ld\.global)|bra(?:\.uni)?\s+(\$\w+)))", re.MULTILINE
)
_INSTRUCTION = re.compile(r"^[\t ]*(?:@!?%p\d+ +)?([a-z]\w*)(\.\S+)?\s+([^;\n]*);", re.MULTILINE)
_WITHOUT_RESULT = {"st", "red", "bar", "bra", "fence", "membar"}
_NUMBER = re.compile(r"%(?:r|f|rs|h|b)\d+\b|%fd\d+\b")


def reading_loops(ptx: str) -> int:
    """Loops of the one kernel in `ptx` that load from global memory themselves; of nested ones the innermost."""
    return sum(1 for _ in _bodies(ptx))


class IterationNeed(NamedTuple):
    """Registers of 32 bits that an iteration of a reading loop needs to start all its loads before it uses the first; addresses and conditions
    come on top."""

    sums: int
    """What it takes over from the iteration before and hands on, made of what it loads."""
    loaded: int
    """What its loads fill."""

    @property
    def held(self) -> int:
        return self.sums + self.loaded


def iteration_need(ptx: str) -> IterationNeed:
    """Of the reading loop whose iterations need most for sums and loads together; zeros without such a loop."""
    return max((_need_of(body) for body in _bodies(ptx)), key=lambda need: need.held, default=IterationNeed(0, 0))


def _bodies(ptx: str) -> Iterator[str]:
    loads = end_of_last = 0
    labels: dict[str, tuple[int, int]] = {}
    for line in _LABEL_LOAD_OR_BRANCH.finditer(ptx):
        label, load, target = line.groups()
        if label:
            labels[label] = line.start(), loads
        elif load:
            loads += 1
        elif target in labels:
            start, loads_before = labels[target]
            if start >= end_of_last and loads > loads_before:
                end_of_last = line.start()
                yield ptx[start:end_of_last]


def _need_of(body: str) -> IterationNeed:
    loaded, computed = set[str](), set[str]()
    taken_over, defined = set[str](), set[str]()
    for base, suffix, operands in _INSTRUCTION.findall(body):
        end = 0 if base in _WITHOUT_RESULT else operands.find("}" if operands.startswith("{") else ",")
        results, used = set(_NUMBER.findall(operands[:end])), set(_NUMBER.findall(operands[end:]))
        taken_over |= used - defined
        defined |= results
        if base == "ld" and suffix.startswith(".global"):
            loaded |= results
        elif not (loaded.isdisjoint(used) and computed.isdisjoint(used)):
            computed |= results
    # Blocks of a body may be written in another order than they run: what is loaded is not taken over.
    return IterationNeed(_words(taken_over & computed - loaded), _words(loaded))


def _words(numbers: set[str]) -> int:
    return sum(2 if number.startswith("%fd") else 1 for number in numbers)
