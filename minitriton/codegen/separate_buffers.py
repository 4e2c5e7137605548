"""Small buffers in shared memory do not share it: what was read need not be waited for before the next one is written.

In: TTGIR that is about to be lowered. Out: the same, functions whose buffers are to lie apart marked so.

    tt.func @softmax(...) {...}                      max: write, bar, read;  bar;  sum: write, bar, read;  bar, ...
    tt.func @softmax(...) attributes {allocation.separate} {...}             max: write, bar, read;  sum: write, bar, read

Only where all buffers of a kernel together take so little that they never limit how many CTAs a multiprocessor holds, and leave the L1
cache, which is of the same memory, nearly as it was (`FREE_BYTES`).

Not a pass of Triton's, which lets all buffers that are not alive at the same time share memory. Left out by
`without="minitriton-separate-buffers"`.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from minitriton.analysis.shared_memory.allocation import SEPARATE, callees_first, function_buffers
from minitriton.codegen.scratch import scratch_bytes
from minitriton.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass

FREE_BYTES = 4096
"""Of a CTA. Multiprocessors have 64 KiB (sm_75) to 228 KiB (sm_90) of shared memory for at most 16 and 32 CTAs."""


@register_pass
class SeparateBuffers(Pass, stage="llir"):
    """Gives small buffers places of their own, for fewer barriers."""

    name = "minitriton-separate-buffers"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = list(callees_first(op))
        called = {callee for _, callees in functions for callee in callees.values()}
        for function, callees in functions:
            if not callees and function not in called and _are_small(function):
                function.attributes[SEPARATE] = UnitAttr()


def _are_small(function: Operation) -> bool:
    buffers = function_buffers(function, scratch_bytes)
    return len(buffers) > 1 and sum(-(-b.size // b.alignment) * b.alignment for b in buffers) <= FREE_BYTES
