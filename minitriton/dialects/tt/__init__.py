"""The `tt` dialect: what a kernel computes, before it is laid out over threads.

This module is the dialect's front door: what its modules define can be had from here.
"""

from xdsl.ir import Dialect

from minitriton.dialects.fast_paths.op_definition import declared
from minitriton.dialects.tt.descriptor import *
from minitriton.dialects.tt.dot import *
from minitriton.dialects.tt.elementwise import *
from minitriton.dialects.tt.enums import *
from minitriton.dialects.tt.func import *
from minitriton.dialects.tt.memory import *
from minitriton.dialects.tt.reduce import *
from minitriton.dialects.tt.shape import *
from minitriton.dialects.tt.traits import *
from minitriton.dialects.tt.types import *

TT = Dialect("tt", *declared("tt", globals()))
