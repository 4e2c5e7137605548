"""What LLVM ends the process for, checked before it sees a module.

LLVM's code generator meets a symbol that PTX cannot spell, or a number in an attribute that it cannot read, by `abort` or `exit`.
Such a function is refused here, at its place:

    llvm.func @"a b"() attributes {nvvm.kernel}     →   k.ttir:2:3: error: a kernel cannot be called "a b" in PTX
"""

from __future__ import annotations

import re

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from minitriton.codegen.debug_info import source_location
from minitriton.errors import LoweringError

_PTX_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|[_$][A-Za-z0-9_$]+")
"""An identifier of PTX (PTX ISA, 4.4 "Identifiers"); `%` begins registers."""
MOST_CHARACTERS = 4096
"""Of a name: assemblers take no limit on trust."""
_BOUNDS = {"nvvm.maxnreg": (1, 65536), "nvvm.reqntid": (1, 1024), "nvvm.cluster_dim": (1, 16)}
"""Registers of a multiprocessor, threads of a block, blocks of a cluster (CUDA programming guide, table of specifications)."""
_MEANING = {
    "nvvm.maxnreg": "registers a thread",
    "nvvm.reqntid": "threads a block",
    "nvvm.cluster_dim": "CTAs a cluster",
}


def check_llvm_module(module: ModuleOp) -> None:
    """Raises `LoweringError`, at the function, for what LLVM would end the process for."""
    named: dict[str, Operation] = {}
    for op in module.ops:
        name = op.properties.get("sym_name")
        if isinstance(name, StringAttr):
            _check_name(op, name.data)
            if (other := named.setdefault(name.data, op)) is not op:
                own = other if "nvvm.kernel" in other.attributes else op
                raise LoweringError(
                    f"the lowering has something else called {_shown(name.data)}", source_location(own.location),
                    help="give the function another name",
                )  # fmt: skip
        if isinstance(op, L.FuncOp):
            for attribute, (least, most) in _BOUNDS.items():
                for number in _numbers(op, attribute):
                    if not least <= number <= most:
                        raise LoweringError(
                            f"{number} {_MEANING[attribute]} are not between {least} and {most}",
                            source_location(op.location),
                        )


def _check_name(op: Operation, name: str) -> None:
    if "nvvm.kernel" in op.attributes and not _PTX_NAME.fullmatch(name):
        raise LoweringError(
            f"a kernel cannot be called {_shown(name)} in PTX", source_location(op.location),
            help="letters, digits, `_` and `$`, with a letter first or `_` or `$` before another",
        )  # fmt: skip
    if not name or "\0" in name or len(name) > MOST_CHARACTERS:
        raise LoweringError(f"LLVM cannot take the name {_shown(name)}", source_location(op.location), help="rename it")
    if name.startswith("llvm.") and isinstance(op, L.FuncOp) and op.regions[0].blocks:
        raise LoweringError(
            f"{name} is a function of LLVM's own", source_location(op.location), help="give the function another name"
        )


def _shown(name: str) -> str:
    return '"' + (name if len(name) <= 60 else name[:60] + "...") + '"'


def _numbers(op: Operation, attribute: str) -> tuple[int, ...]:
    value = op.attributes.get(attribute)
    if isinstance(value, IntegerAttr):
        return (value.value.data,)
    return tuple(map(int, value.get_values())) if isinstance(value, DenseArrayBase) else ()
