"""A back end outside of the package: `GPUTarget("toy", 1)` compiles a kernel to text of its own, and that to bytes.

What a back end adds is here and in one entry of `BACKENDS`, which `register` makes: its architecture, a dialect of one op, lowerings of loads and stores
to the op, primitives, a text writer, an assembler, and a pipeline.
"""

from __future__ import annotations

from minitriton.target.architectures import Architecture
from minitriton.target.backends import BACKENDS, BackEnd

ARCHITECTURES = {1: Architecture("toy_1", 0, shared_memory_kib=32, shared_kib_per_sm=64, ctas_per_sm=4)}


def register() -> None:
    """Adds the back end, as its line in target/backends.py would."""
    BACKENDS["toy"] = BackEnd(
        architectures=f"{__name__}:ARCHITECTURES",
        target_info=f"{__name__}.lowering:TOY",
        pipeline=f"{__name__}.steps:toy_steps",
        passes={"toy-emit": f"{__name__}.steps", "toy-assemble": f"{__name__}.steps"},
        dialects={"toy": f"{__name__}.dialect:DIALECT"},
        stages=("toy", "toybin"),
    )
