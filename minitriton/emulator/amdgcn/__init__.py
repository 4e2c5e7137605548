"""An emulator of AMD's GPUs: runs AMDGCN assembly of CDNA on the CPU and reports faults and costs.

from minitriton.emulator import amdgcn

report = amdgcn.run(assembly, None, (4,), [x, y, out, 4000])    # `out` holds the sum
print(report.listing())

Semantics are those of AMD's public "AMD Instinct MI300" CDNA3 Instruction Set Architecture ("the ISA" in this package) and, for the
start of a kernel, of LLVM's "User Guide for AMDGPU Backend".
"""

from __future__ import annotations

from minitriton.emulator.amdgcn.launch import run
from minitriton.emulator.amdgcn.parser import parse

__all__ = ["parse", "run"]
