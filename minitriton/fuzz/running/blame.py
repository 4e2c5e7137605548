"""The first pass after which a kernel computes other numbers than the frontend's TTIR, or asks for less precision.

In: a launch, and whether an outcome is right. Out: the pass's name, "frontend" where its TTIR is wrong already, or "lowering" where every TTIR and
TTGIR is right.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from minitriton.fuzz.running.launch import FuzzedLaunch
from minitriton.fuzz.running.oracles import ARCH, Compilation, OracleOutcome, written
from minitriton.lab.rounding import less_exact_dot, rounding_tolerance
from minitriton.pass_registry import Property

IsRight = Callable[[OracleOutcome], bool]


def first_wrong_pass(case: FuzzedLaunch, is_right: IsRight, arch: int = ARCH) -> str:
    """Runs the interpreter after each pass that changes the module, down to the last TTGIR."""
    with written(case.source) as path:
        made = Compilation.of(case, path, arch)
    if not is_right(made.interpreted("frontend")):
        return "frontend"
    text, tolerance, rounding = str(made.module), rounding_tolerance(made.module), "lowering"
    for step in made.steps:
        if Property.LLVM_DIALECT in step.establishes:
            break
        if not isinstance(made.applied(step, made.module), ModuleOp):
            return step.name
        before, text = text, str(made.module)
        if text != before and not is_right(made.interpreted(step.name)):
            return step.name
        if rounding == "lowering" and less_exact_dot(made.module, tolerance) is not None:
            rounding = step.name
    return rounding
