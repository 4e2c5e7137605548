"""What the code generator knows of AMD's GPUs only: lowerings to the `rocdl` dialect, its text, assembly, code objects."""

from __future__ import annotations

from minitriton.codegen.lowering.registry import lowerings_of
from minitriton.codegen.scratch import needs_scratch_on

LOWERINGS = lowerings_of("hip")
lowers = LOWERINGS.add
needs_scratch = needs_scratch_on("hip")
