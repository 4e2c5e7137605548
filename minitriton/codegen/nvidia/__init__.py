"""What the code generator knows of NVIDIA GPUs: lowerings to the `nvvm` dialect, its text as inline PTX and intrinsics, libdevice."""

from minitriton.codegen.lowering.registry import lowerings_of
from minitriton.codegen.scratch import needs_scratch_on

LOWERINGS = lowerings_of("cuda")
lowers = LOWERINGS.add
needs_scratch = needs_scratch_on("cuda")
