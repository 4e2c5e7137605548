"""Loops, branches and calls: ops that run the code in their regions.

scf.for %i = %lb to %ub step %s iter_args(%x = %init)      the body runs for lb, lb + s, ... below ub; yields feed %x
"""

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

import numpy as np
from xdsl.dialects import func, scf
from xdsl.traits import is_side_effect_free

from minitriton.dialects import tt, ttg
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.narrowing import instance_of
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.registry import PURE_OPS, STATEFUL_OPS, Array, Meaning, scalar
from minitriton.interpreter.values import dtype_of

_Value = TypeVar("_Value")


def results_of(values: Sequence[_Value]) -> _Value | tuple[_Value, ...]:
    """One result by itself, several as a tuple."""
    return values[0] if len(values) == 1 else tuple(values)


@STATEFUL_OPS.add(scf.ForOp)
def _for(op: scf.ForOp, machine: TileMachine) -> Meaning:
    body = machine.code(op.regions[0].block)
    dtype = dtype_of(op.operands[0].type)

    def run(lower: Array, upper: Array, step: Array, *carried: Array) -> Array | tuple[Array, ...]:
        if not step > 0:
            raise InterpreterError(f"the step of a loop must be positive, got {step}")
        machine.decides(op, lower, upper, step)
        values: Sequence[Array] = carried
        for index in range(int(lower), int(upper), int(step)):
            machine.turn()
            values = body.run((dtype.type(index), *values))
        return results_of(values)

    return run


@STATEFUL_OPS.add(scf.WhileOp)
def _while(op: scf.WhileOp, machine: TileMachine) -> Meaning:
    before, after = machine.code(op.regions[0].block), machine.code(op.regions[1].block)
    only_computes = all(inner.name.startswith("scf.") or is_side_effect_free(inner) for inner in op.walk())

    def run(*values: Array) -> Array | tuple[Array, ...]:
        carried: Sequence[Array] = values
        while True:
            condition, *passed = before.run(carried)
            machine.decides(op, condition)
            if not condition:
                return results_of(passed)
            machine.turn()
            earlier, carried = carried, after.run(passed)
            if only_computes and all(map(_is_same, earlier, carried)):
                raise InterpreterError("a loop that never ends: nothing that it carries changes", help=_LET_IT_END)

    return run


_LET_IT_END = "change in the loop what its condition is computed from"


def _is_same(one: object, other: object) -> bool:
    """Whether two values are the same bits. What is no number (a buffer, a token) counts as changed."""
    if one is other:
        return instance_of(one, (np.ndarray, np.generic))
    if not instance_of(one, (np.ndarray, np.generic)) or not instance_of(other, (np.ndarray, np.generic)):
        return False
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


@STATEFUL_OPS.add(scf.IfOp)
def _if(op: scf.IfOp, machine: TileMachine) -> Meaning:
    regions = [region if region.first_block is not None else None for region in op.regions]
    codes = [machine.code(region.block) if region is not None else None for region in regions]

    def run(condition: Array) -> Array | tuple[Array, ...] | None:
        machine.decides(op, condition)
        code = codes[0 if condition else 1]
        return None if code is None else results_of(code.run(()))

    return run


@STATEFUL_OPS.add(scf.IndexSwitchOp)
def _index_switch(op: scf.IndexSwitchOp, machine: TileMachine) -> Meaning:
    cases = [int(case) for case in getattr(op.properties["cases"], "get_values")()]  # noqa: B009
    codes = [machine.code(region.block) for region in op.regions]

    def run(index: Array) -> Array | tuple[Array, ...]:
        machine.decides(op, index)
        chosen = 1 + cases.index(int(index)) if int(index) in cases else 0
        return results_of(codes[chosen].run(()))

    return run


@STATEFUL_OPS.add(scf.ExecuteRegionOp)
def _execute_region(op: scf.ExecuteRegionOp, machine: TileMachine) -> Meaning:
    return lambda: results_of(machine.run_region(op.regions[0], ()))


@STATEFUL_OPS.add(tt.CallOp, func.CallOp)
def _call(op: tt.CallOp | func.CallOp, machine: TileMachine) -> Meaning:
    name = op.callee.string_value()
    return lambda *arguments: results_of(machine.call(name, arguments))


# Stages of a pipelined loop before their predicates are resolved: `ttg.predicate_stage` and `ttg.mask`.
#
# %p = ttg.predicate_stage %iv, %ub, %step {maxStage = 3, stage = 0}     whether iteration %iv has a stage 0: %iv < %ub - 2 * %step
# %r = ttg.mask %p { ...; ttg.mask.return %v }                           the region, if %p; else %r is poison: whatever looks at it fails


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
