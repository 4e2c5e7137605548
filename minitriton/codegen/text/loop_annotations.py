"""What a loop tells LLVM about itself, as metadata of the branch that repeats it.

llvm.br ^bb1 {loop_annotation = #llvm.loop_annotation<licm = <disable = true>>}     ->     br label %b1, !llvm.loop !5
                                                                                           !5 = distinct !{!5, !6}
                                                                                           !6 = !{!"llvm.licm.disable"}
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import UnregisteredAttr
from xdsl.ir import Operation

from minitriton.errors import LoweringError

_PROPERTIES = {
    ("licm", "disable"): "llvm.licm.disable",
    ("licm", "versioningDisable"): "llvm.loop.licm_versioning.disable",
    ("unroll", "disable"): "llvm.loop.unroll.disable",
    ("unroll", "full"): "llvm.loop.unroll.full",
}
"""Parts of `#llvm.loop_annotation` that are switches, as LLVM names them (LLVM language reference, "llvm.loop")."""


def loop_properties(op: Operation) -> list[str]:
    """The properties that the annotation of a branch names; empty without one. Raises `LoweringError` for unknown ones."""
    annotation = op.attributes.get("loop_annotation")
    if not isinstance(annotation, UnregisteredAttr):
        return []
    found: list[str] = []
    for group, body in re.findall(r"(\w+) = <([^>]*)>", annotation.value.data):
        for name, value in re.findall(r"(\w+) = (\w+)", body):
            known = _PROPERTIES.get((group, name))
            if known is None:
                raise LoweringError(f"loop annotation {group}.{name} cannot be written", help="leave it out")
            if value == "true":
                found.append(known)
    return found
