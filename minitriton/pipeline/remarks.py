"""What a pass has to say of a kernel that no error is: an optimisation it did not make, and why.

MLIR_ENABLE_REMARK=1    →    softmax.py:12:8: remark: not started ahead of its iteration: the loop stores through %p too

MLIR_ENABLE_DIAGNOSTICS=remarks, Triton's own switch, does the same; with `operations` a note after each shows the op, with `stacktraces`
one shows where in the compiler it was said. A kernel that is in the cache is then compiled again, to have its remarks said.
"""

from __future__ import annotations

import sys
import traceback

from xdsl.ir import Operation

from minitriton import knobs


def remark(op: Operation, text: str, see: Operation | None = None) -> None:
    """Prints a remark about `op` on standard error, if they are asked for; `see` is the other op it is about."""
    if not knobs.compilation.remarks_are_wanted:
        return
    from minitriton.dialects.text import print_module
    from minitriton.dialects.verification.verifier import source_location

    location = source_location(op.location)
    other = source_location(see.location) if see is not None else None
    begin = f"{location}: " if location else ""
    print(f"{begin}remark: {text}", *([f"(at {other})"] if other else []), file=sys.stderr)
    wanted = knobs.compilation.diagnostics.split(",")
    if "operations" in wanted:
        print(f"{begin}note: see current operation: {print_module(op).strip()}", file=sys.stderr)
    if "stacktraces" in wanted:
        print(f"{begin}note: diagnostic emitted with trace:", *traceback.format_stack()[:-1], sep="\n", file=sys.stderr)
