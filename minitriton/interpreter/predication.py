"""Stages of a pipelined loop before their predicates are resolved: `ttg.predicate_stage` and `ttg.mask`.

%p = ttg.predicate_stage %iv, %ub, %step {maxStage = 3, stage = 0}     whether iteration %iv has a stage 0: %iv < %ub - 2 * %step
%r = ttg.mask %p { ...; ttg.mask.return %v }                           the region, if %p; else %r is poison: whatever looks at it fails
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from minitriton.dialects import ttg
from minitriton.dialects.attribute_values import integer
from minitriton.interpreter.arrays import scalar
from minitriton.interpreter.control_flow import results_of
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.registry import PURE_OPS, STATEFUL_OPS, Meaning
from minitriton.interpreter.values import Array


class Poison:
    """The result of a stage that did not run. It may be carried on, and chosen from by a select, but not computed with."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<poison>"

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise _not_computed()

    def __getattr__(self, name: str) -> NoReturn:
        raise _not_computed()


def _not_computed() -> InterpreterError:
    return InterpreterError(
        "the result of a stage that did not run is used",
        help="the predicate of the ttg.mask that gives it must hold wherever the result is used",
    )


@PURE_OPS.add(ttg.PredicateStageOp)
def _predicate_stage(op: ttg.PredicateStageOp) -> Callable[[Array, Array, Array], Array]:
    later = integer(op.max_stage) - 1 - integer(op.stage)
    return lambda iv, ub, step: scalar(np.bool_(iv < ub - ub.dtype.type(later) * step))


@STATEFUL_OPS.add(ttg.MaskOp)
def _mask(op: ttg.MaskOp, machine: TileMachine) -> Meaning:
    code, count = machine.code(op.regions[0].block), len(op.results)

    def run(predicate: Array) -> object:
        values: Sequence[object] = code.run(()) if predicate else [Poison()] * count
        return results_of(values) if count else None

    return run
