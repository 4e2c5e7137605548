"""Which passes need not run, because they would change nothing of the IR as it is.

In: the steps of a pipeline, and the module before each. Of 70 passes some ten change a kernel without tensor cores; the others are found out at
the price of three facts, which hold until a pass runs that may have changed something:

    which classes of op there are        a pass that acts on none of them is idle
    what has been run and found nothing  a pass that looks at all ops is idle when it comes again
    that all ops are simplified          a pass that also simplifies is idle where there is nothing else for it

Where it is not known whether anything has changed since, a snapshot of the IR tells (`dialects.fast_paths.snapshot`).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.dialects.fast_paths.operations import classes_in
from minitriton.dialects.fast_paths.snapshot import IRSnapshot
from minitriton.pipeline.pass_registry import Pass, PassResult, Step


class IdlePasses:
    """What is known of the IR between the passes of `steps`."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._last = {
            step: index for index, step in enumerate(steps) if isinstance(step, Pass) and step.visits_every_op
        }
        self._classes: frozenset[type[Operation]] | None = None
        self._is_as_known = False
        """Whether nothing has run since the facts below were found that may have changed the IR; else the snapshot tells."""
        self._snapshot: IRSnapshot | None = None
        self._found_nothing: set[Pass] = set()
        self._is_simplified = False

    def run(self, step: Pass, index: int, ctx: Context, module: ModuleOp) -> None:
        """Applies `step`, number `index`, unless that would change nothing."""
        if self.is_idle(step, module):
            return
        run = step.apply_to_folded if self._is_simplified and self._holds(module) else step.apply
        changed = run(ctx, module)
        comes_again = index < self._last.get(step, -1)
        if changed is PassResult.REACHED_FIXPOINT:
            self._forget(None)
            self._classes = None
        elif changed is not False:
            self._is_as_known, self._classes = False, None
            return
        if comes_again or (self._is_as_known and step.folds_everything):
            self._note(step, module, comes_again)

    def is_idle(self, step: Pass, module: ModuleOp) -> bool:
        """Whether `step` would change nothing in `module`."""
        if step in self._found_nothing:
            return self._holds(module)
        if step.acts_on is None or (step.folds_everything and not self._is_simplified):
            return False
        if self._classes is None:
            self._classes = classes_in(module)
        return step.acts_on.isdisjoint(self._classes) and (not step.folds_everything or self._holds(module))

    def _note(self, step: Pass, module: ModuleOp, comes_again: bool) -> None:
        """`step` has just found nothing to change in `module`."""
        if not self._holds(module) and not self._is_as_known:
            self._forget(None)
        if comes_again:
            self._found_nothing.add(step)
            self._snapshot = self._snapshot or IRSnapshot(module)
        self._is_simplified |= step.folds_everything

    def _holds(self, module: ModuleOp) -> bool:
        """Whether `module` is the IR that the facts are of; else they are forgotten."""
        if not self._is_as_known and self._snapshot is not None:
            now = IRSnapshot(module)
            if self._snapshot.is_same(now):
                self._is_as_known = True
            else:
                self._forget(now)
                return False
        return self._is_as_known

    def _forget(self, snapshot: IRSnapshot | None) -> None:
        """The IR is another one, known only to be as it is."""
        self._found_nothing.clear()
        self._is_simplified = False
        self._snapshot = snapshot
        self._is_as_known = True
