"""How often a kernel goes through global memory, told from its PTX: its loops that load from there.

$L__BB0_2:                            $L__BB0_5:
  ld.global.v4.b32 ...                  ld.global.v4.b32 ...
  @%p1 bra $L__BB0_2;                   @%p2 bra $L__BB0_5;          2
"""

from __future__ import annotations

import re

_LABEL_LOAD_OR_BRANCH = re.compile(
    r"^(?:(\$\w+):|[\t ]*(?:@!?%p\d+ +)?(?:(ld\.global)|bra(?:\.uni)?\s+(\$\w+)))", re.MULTILINE
)


def reading_loops(ptx: str) -> int:
    """Loops of the one kernel in `ptx` that load from global memory themselves; of nested ones the innermost."""
    found = loads = end_of_last = 0
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
                found, end_of_last = found + 1, line.start()
    return found
