"""What a pass has to say of a kernel that no error is: an optimisation it did not make, and why.

MLIR_ENABLE_REMARK=1    →    softmax.py:12:8: remark: not started ahead of its iteration: the loop stores through %p too
"""

from __future__ import annotations

import sys

from xdsl.ir import Operation

from minitriton import knobs


def remark(op: Operation, text: str, see: Operation | None = None) -> None:
    """Prints a remark about `op` on standard error, if they are asked for; `see` is the other op it is about."""
    if not knobs.compilation.enable_remarks:
        return
    from minitriton.dialects.verification.verifier import source_location

    place = source_location(op.location)
    other = source_location(see.location) if see is not None else None
    print(
        f"{place}: remark: {text}" if place else f"remark: {text}",
        *([f"(at {other})"] if other else []),
        file=sys.stderr,
    )
