"""The context that knows every dialect of the compiler.

Parsing and passes take it; building IR needs none. xDSL's dialects serve where they are complete; `arith`, `math` and `llvm` are ours.
"""

from __future__ import annotations

import functools

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.cf import Cf
from xdsl.dialects.func import Func
from xdsl.dialects.gpu import GPU
from xdsl.dialects.scf import Scf
from xdsl.dialects.ub import UB
from xdsl.ir import Dialect

from minitriton.dialects.arith import ARITH
from minitriton.dialects.llvm import LLVM
from minitriton.dialects.math import MATH
from minitriton.dialects.nvvm import NVVM
from minitriton.dialects.nvws import NVWS
from minitriton.dialects.tt import TT
from minitriton.dialects.ttg import TTG
from minitriton.dialects.ttng import TTNG

DIALECTS: tuple[Dialect, ...] = (
    Builtin,
    ARITH,
    MATH,
    Scf,
    Cf,
    UB,
    GPU,
    Func,
    LLVM,
    NVVM,
    TT,
    TTG,
    TTNG,
    NVWS,
)


@functools.cache
def _loaded() -> Context:
    context = Context(allow_unregistered=True)
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    return context


def make_context() -> Context:
    """A new context with every dialect loaded. Ops of other dialects are accepted in generic form."""
    return _loaded().clone()
