"""A back end outside of the package: `GPUTarget("toy", "t64")` compiles a kernel to text of its own, and that to bytes. Its warps have 64 lanes.

What a back end adds is here and in one entry of `BACKENDS`, which `register` makes: its architecture, its options, a dialect of one op, lowerings to
the op, primitives, a text writer, an assembler, a pipeline, and what runs its text where there is no such GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from minitriton.target import CompileOptions
from minitriton.target.architectures import Architecture
from minitriton.target.backends import BACKENDS, BackEnd
from minitriton.target.option_types import OptionType, integer

ARCHITECTURES = {
    "t64": Architecture("toy_64", 0, shared_memory_kib=32, shared_kib_per_sm=64, ctas_per_sm=4, warp_size=64)
}


@dataclass(frozen=True)
class ToyOptions(CompileOptions):
    """The options of every back end, and one of its own."""

    TYPES: ClassVar[Mapping[str, OptionType]] = {"waves": integer(0, 8, 2)}

    waves: int = 0
    """How many warps shall be resident; 0 leaves it to the hardware."""


def register() -> None:
    """Adds the back end, as its line in target/backends.py would."""
    BACKENDS["toy"] = BackEnd(
        architectures=f"{__name__}:ARCHITECTURES",
        options=f"{__name__}:ToyOptions",
        target_info=f"{__name__}.lowering:TOY",
        pipeline=f"{__name__}.steps:toy_steps",
        passes={"toy-emit": f"{__name__}.steps", "toy-assemble": f"{__name__}.steps"},
        dialects={"toy": f"{__name__}.dialect:DIALECT"},
        stages=("toy", "toybin"),
        binary="toybin",
        emulator=f"{__name__}.device:run",
        driver=f"{__name__}.device:ToyDriver",
    )
