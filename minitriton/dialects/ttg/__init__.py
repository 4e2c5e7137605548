"""The `ttg` dialect: tensors with layouts, buffers in shared memory, groups of warps.

This module is the dialect's front door: what its modules define can be had from here.
"""

from xdsl.ir import Dialect

from minitriton.dialects.encodings import *
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET as ALLOCATION_OFFSET
from minitriton.dialects.facts.launch import num_ctas as num_ctas
from minitriton.dialects.facts.launch import num_warps as num_warps
from minitriton.dialects.facts.launch import target_arch as target_arch
from minitriton.dialects.facts.launch import threads_per_warp as threads_per_warp
from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.ttg.memory_ops import *
from minitriton.dialects.ttg.ops import *
from minitriton.dialects.ttg.types import *
from minitriton.dialects.ttg.warp_specialize import *

TTG = Dialect("ttg", *declared("ttg", globals()))
