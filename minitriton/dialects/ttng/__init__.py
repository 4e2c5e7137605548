"""The `ttng` dialect: what Hopper (and later) has of its own: mbarriers, TMA, wgmma, tensor memory.

This module is the dialect's front door: what its modules define can be had from here.
"""

from xdsl.ir import Dialect

from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.ttng.barriers import *
from minitriton.dialects.ttng.dot import *
from minitriton.dialects.ttng.tensor_memory import *
from minitriton.dialects.ttng.tma import *

TTNG = Dialect("ttng", *declared("ttng", globals()))
