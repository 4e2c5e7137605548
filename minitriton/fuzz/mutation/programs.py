"""The programs whose texts are mutated: the kernels of `kernels.py`, which between them have every kind of op and instruction.

texts_of(3, "ttgir")    →   the TTGIR of the fourth of them
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from minitriton.commands.signature import ast_source
from minitriton.compiler import compile
from minitriton.fuzz.mutation import kernels
from minitriton.target import GPUTarget


@dataclass(frozen=True)
class Program:
    """A kernel with its signature (as `minitriton compile` takes it), its architecture and options."""

    kernel: str
    signature: str
    arch: int = 90
    options: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """The kernel as the command line names it."""
        return f"{kernels.__file__}:{self.kernel}"

    @property
    def types(self) -> str:
        """The runtime part of the signature: what `minitriton check` takes for IR text."""
        return ",".join(part for part in self.signature.split(",") if "=" not in part)


PROGRAMS = (
    Program("masked_sum", "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=256"),
    Program("product", "*fp16:16,*fp16:16,*fp16:16,i32:16,M=64,N=32,STEP=32"),
    Program("product", "*fp16:16,*fp16:16,*fp16:16,i32:16,M=32,N=32,STEP=16", arch=80, options=("num_warps=2",)),
    Program("scanned", "*i32:16,*i32:16,i32,N=64", options=("num_warps=2",)),
    Program("transposed", "*fp32:16,*fp32:16,i32:16,M=32,N=16", options=("num_warps=1",)),
    Program("with_descriptor", "*fp32:16,*fp32:16,i32,i32:16,TILE=16"),
    Program("transposed", "*fp16,*fp16,i64,M=4,N=16", arch=75, options=("num_warps=1",)),
)


@functools.cache
def text_of(number: int, stage: str) -> str:
    """The text of program `number` at a stage; `pipeline` is the text of its passes."""
    program = PROGRAMS[number]
    options: dict[str, object] = {
        name: int(value) for name, _, value in (option.partition("=") for option in program.options)
    }
    source = ast_source(getattr(kernels, program.kernel), program.signature)
    compiled = compile(source, GPUTarget("cuda", program.arch, 32), options, assemble=False)
    return compiled.metadata.pipeline if stage == "pipeline" else str(compiled.asm[stage])
