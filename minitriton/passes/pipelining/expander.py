"""A loop and a schedule become a prologue and a loop in which the stages of several iterations overlap.

    for i in range(l, u):                a(l) if l < u; a(l + 1) if l + 1 < u; b(l) if l < u
        a(i)   stage 0           =>      for i in range(l, u):
        b(i)   stage 1                       c(i)
        c(i)   stage 2                       b(i + 1) if i + 1 < u
                                             a(i + 2) if i + 2 < u

The prologue starts the first iterations; the loop runs as often as before and finishes one iteration each time. Stages of
iterations past the end are predicated (`predication`), so no epilogue is needed. A value that a later stage uses is
carried by the loop, once for each iteration that it lives on.

The last two stages of a loop marked `ENDS_AFTER_LOOP` must not run for an iteration past the end: the loop runs once less, its last stage once more
after it, and all but the first copies run only if the loop has an iteration at all.

With `peel_with` the loop ends as many iterations early as there are stages after the first, and what is left of the last ones follows it:

    for i in range(l, u - 2): c(i); b(i + 1); a(i + 2)            c(n - 2); b(n - 1); c(n - 1), each if that iteration exists

Counterpart of lib/Dialect/TritonGPU/Transforms/Pipeliner/PipelineExpander.cpp.
"""

from collections.abc import Callable

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from minitriton.dialects import arith, ttg
from minitriton.dialects.facts.pass_attributes import ENDS_AFTER_LOOP
from minitriton.dialects.fast_paths.op_access import operand_values, ops_in
from minitriton.passes.loop_rewriting import put_under_condition
from minitriton.passes.pipelining.predication import predicate
from minitriton.passes.pipelining.schedule import body_ops, definition_and_distance, nested_operands, terminator_of
from minitriton.rewriting.constants import int_attr, int_constant, width_of
from minitriton.rewriting.regions import clone_op, is_defined_outside
from minitriton.rewriting.rewriter import Inserter

KEEP_PREDICATES = "__test_keep_predicate_stage"
"""On a loop: whether an iteration exists is left to `ttg.predicate_stage` (Triton's tests look for it)."""


HoldBack = Callable[[Operation, SSAValue], Operation]
"""Makes an op do nothing unless a condition holds; the op that has its results from then on."""


def _held_back(op: Operation, condition: SSAValue) -> Operation:
    predicate(op, condition)
    return op


def expand(
    loop: scf.ForOp,
    order: list[Operation],
    stages: dict[Operation, int],
    *,
    exact_bounds: bool = False,
    peel_with: HoldBack | None = None,
) -> scf.ForOp | None:
    """The pipelined loop in place of `loop`; None (and nothing changed) if the schedule is invalid for it.

    `order` has all ops of the body as one iteration of the new loop runs them. With `exact_bounds` counters may be close to the ends of their type.
    `peel_with`: the last iterations end after the loop, which then needs no conditions; those before and after the loop are held back by this.
    """
    if any(op not in stages for op in body_ops(loop)) or not is_possible(loop, order, stages):
        return None
    return _Expansion(loop, order, stages, exact_bounds, peel_with).run()


def is_possible(loop: scf.ForOp, order: list[Operation], stages: dict[Operation, int]) -> bool:
    """Whether each op runs after what it uses, and no value is used more than one iteration later."""
    length = len(order)
    cycle = {op: number + stages[op] * length for number, op in enumerate(order)}
    for op in order:
        for value in nested_operands(op):
            producer, distance = definition_and_distance(loop, value)
            if producer is None:
                continue
            if distance > 1:
                return False
            if producer in cycle and cycle[op] < cycle[producer] - length * distance:
                return False
    return True


class _Expansion:
    """One loop while it is expanded."""

    def __init__(
        self,
        loop: scf.ForOp,
        order: list[Operation],
        stages: dict[Operation, int],
        exact_bounds: bool,
        peel_with: HoldBack | None,
    ) -> None:
        self.loop = loop
        self.order = order
        self.stages = stages
        self.last = max(stages.values())
        self.low, self.high, self.step = operand_values(loop)[:3]
        self.arguments = loop.regions[0].block.args
        self.yielded = operand_values(terminator_of(loop))
        self.ends_after_loop = loop.attributes.pop(ENDS_AFTER_LOOP, None) is not None
        self.exact_bounds = exact_bounds
        self.peel = peel_with is not None
        self.hold_back = peel_with or _held_back
        self.limits: list[SSAValue] = []
        """If numbers of the loop may wrap: upper bounds of a counter whose iteration, the next one, ... the one `last` later exists."""
        self.versions: dict[SSAValue, dict[int, SSAValue]] = {}
        """For each value of the body: what it is in iteration 0, 1, ... of the prologue."""

    def run(self) -> scf.ForOp:
        self._prologue()
        lives = self._values_across_stages()
        kernel, carried = self._kernel_loop(lives)
        self._kernel(kernel, lives, carried)
        if self.peel:
            ended = self._epilogue(kernel, lives)
        else:
            ended = self._ending(kernel, carried) if self.ends_after_loop else kernel.results
        for result, new in zip(self.loop.results, ended, strict=False):
            result.replace_all_uses_with(new)
        assert self.loop.parent is not None
        self.loop.parent.erase_op(self.loop)
        return kernel

    def _set_version(self, value: SSAValue, version: SSAValue, iteration: int) -> None:
        self.versions.setdefault(value, {})[iteration] = version

    # Prologue

    def _prologue(self) -> None:
        """The stages of the first iterations that come before the loop."""
        for argument, initial in zip(self.arguments[1:], operand_values(self.loop)[3:], strict=True):
            self._set_version(argument, initial, 0)
        for argument, value in zip(self.arguments[1:], self.yielded, strict=True):
            if is_defined_outside(value, self.loop):
                for iteration in range(1, self.last):
                    self._set_version(argument, value, iteration)
        at = Inserter.before(self.loop)
        if self.exact_bounds and self._may_wrap():
            self._find_limits(at)
        conditions: list[SSAValue] = []
        for part in range(self.last):
            counter = self._counter(at, part)
            self._set_version(self.arguments[0], counter, part)
            conditions.append(self._is_below(at, counter, part))
            if self.ends_after_loop and part == self.last - 1:
                put_under_condition(self.loop)
                at = Inserter.before(self.loop)
                conditions[0] = at.constant(int_attr(i1, 1))
            for op in self.order:
                iteration = part - self.stages[op]
                if iteration >= 0:
                    self._start(op, iteration, conditions[iteration], at)

    def _counter(self, at: Inserter, iteration: int) -> SSAValue:
        """low + step * iteration, as a constant if it is one."""
        low, step = int_constant(self.low), int_constant(self.step)
        if low is not None and step is not None and not self.limits:
            return at.integer(self.low.type, low + step * iteration)
        offset = at.value(arith.MuliOp(self.step, at.integer(self.low.type, iteration)))
        return at.value(arith.AddiOp(self.low, offset))

    def _may_wrap(self) -> bool:
        """Whether a counter may be less than `last` steps from either end of its type."""
        low, step = int_constant(self.low), int_constant(self.step)
        if low is None or step is None:
            return not isinstance(self.low.type, IndexType)
        half = 1 << (width_of(self.low.type) - 1)
        return not -half <= low - self.last * step <= low + self.last * step < half

    def _find_limits(self, at: Inserter) -> None:
        """high, high - step, high - 2 * step, ...; `low`, which no counter is below, once that is not above `low`."""
        self.limits = [at.value(arith.MaxSIOp(self.high, self.low))]
        for _ in range(self.last):
            limit = self.limits[-1]
            is_far = at.value(arith.CmpiOp(at.value(arith.SubiOp(limit, self.low)), self.step, "ugt"))
            self.limits.append(at.value(arith.SelectOp(is_far, at.value(arith.SubiOp(limit, self.step)), self.low)))

    def _is_below(self, at: Inserter, counter: SSAValue, iteration: int) -> SSAValue:
        """Whether the iteration of this number and counter exists, as a constant if it is one."""
        if self.limits:
            return at.value(arith.CmpiOp(self.low, self.limits[iteration], "slt"))
        number, high = int_constant(counter), int_constant(self.high)
        if number is not None and high is not None:
            return at.constant(int_attr(i1, number < high))
        return at.value(arith.CmpiOp(counter, self.high, "slt"))

    def _start(self, op: Operation, iteration: int, condition: SSAValue, at: Inserter) -> None:
        """A copy of `op` for one of the first iterations."""
        current = {value: self.versions[value][iteration] for value in nested_operands(op) if value in self.versions}
        copy = clone_op(op, current)
        at.place(copy)
        if not (self.ends_after_loop and int_constant(condition)):  # Triton keeps masks that are known to hold
            copy = self.hold_back(copy, condition)
        for result, new in zip(op.results, copy.results, strict=True):
            for index, value in enumerate(self.yielded):
                if value is not result:
                    continue
                argument = self.arguments[index + 1]
                following: SSAValue = new
                if self.loop.results[index].first_use is not None:
                    before = self.versions[argument][iteration]
                    following = at.value(arith.SelectOp(condition, new, before))
                self._set_version(argument, following, iteration + 1)
            self._set_version(result, new, iteration)

    # The loop

    def _values_across_stages(self) -> dict[SSAValue, tuple[int, int]]:
        """Values that a later stage than that of their definition uses: the two stages."""
        found: dict[SSAValue, tuple[int, int]] = {}
        for op in self.order:
            stage = self.stages[op]
            for value in self._used_values(op):
                producer, distance = definition_and_distance(self.loop, value)
                if producer is None or producer not in self.stages:
                    continue
                first = self.stages[producer]
                if first not in (stage, stage + distance):
                    found[value] = (first, max(stage, found.get(value, (0, 0))[1]))
        return found

    def _used_values(self, op: Operation) -> list[SSAValue]:
        """What `op` uses: its operands, then what its regions capture."""
        captured = (
            v for inner in ops_in(op) if inner is not op for v in operand_values(inner) if is_defined_outside(v, op)
        )
        return [*operand_values(op), *(captured if op.regions else ())]

    def _kernel_loop(self, lives: dict[SSAValue, tuple[int, int]]) -> tuple[scf.ForOp, dict[tuple[SSAValue, int], int]]:
        """The empty new loop, and where it carries a value of so many iterations ago."""
        initial: list[SSAValue] = []
        for index, value in enumerate(self.yielded):
            producer = value.op if isinstance(value, OpResult) else None
            if producer is not None and producer in self.stages:
                initial.append(self.versions[self.arguments[index + 1]][self.last - self.stages[producer]])
            else:
                initial.append(operand_values(self.loop)[3 + index])
        carried: dict[tuple[SSAValue, int], int] = {}
        for value, (first, last) in lives.items():
            for number in range(last - first):
                initial.append(self.versions[value][self.last - last + number])
                carried[value, last - first - number] = len(initial) - 1
        types = [value.type for value in initial]
        block = Block(arg_types=[self.low.type, *types])
        for new, old in zip(block.args, self.arguments, strict=False):
            new.location = old.location
            new.name_hint = old.name_hint
        at = Inserter.before(self.loop)
        high = self.high
        if self.ends_after_loop:
            high = self.limits[1] if self.limits else at.value(arith.SubiOp(self.high, self.step))
        elif self.peel:
            ahead = at.value(arith.MuliOp(self.step, at.integer(self.step.type, self.last)))
            high = at.value(arith.SubiOp(self.high, ahead))
        kernel = scf.ForOp.create(
            operands=[self.low, high, self.step, *initial],
            result_types=types,
            regions=[Region(block)],
            attributes=dict(self.loop.attributes),
        )
        at.insert(kernel)
        return kernel, carried

    def _kernel(
        self, kernel: scf.ForOp, lives: dict[SSAValue, tuple[int, int]], carried: dict[tuple[SSAValue, int], int]
    ) -> None:
        """The body of the new loop: each op for the iteration that its stage has reached."""
        block = kernel.regions[0].block
        at = Inserter(block, None, self.loop.location)
        values: dict[SSAValue, SSAValue] = dict(zip(self.arguments, block.args, strict=False))
        always = 0 if self.peel else self.last - 1 if self.ends_after_loop else self.last
        conditions = [self._exists(at, block.args[0], stage) for stage in range(always)]
        for op in self.order:
            copy = clone_op(op, values)
            at.place(copy)
            for old, new in zip(ops_in(op), ops_in(copy), strict=True):
                for index, operand in enumerate(operand_values(old)):
                    replacement = self._in_stage(operand, self.stages[op], values, block, carried, copy)
                    if replacement is not None:
                        new.operands[index] = replacement
            if self.stages[op] < always:
                self.hold_back(copy, conditions[self.stages[op]])
        yielded = [self._yielded_value(at, index, values, block, conditions) for index in range(len(self.yielded))]
        for value, (first, last) in lives.items():
            for _ in range(last - first - 1):
                yielded.append(block.args[len(yielded) + 2])
            yielded.append(values.get(value, value))
        at.insert(scf.YieldOp.create(operands=yielded))

    def _exists(self, at: Inserter, counter: SSAValue, stage: int) -> SSAValue:
        """Whether the iteration that `stage` works on exists."""
        if KEEP_PREDICATES in self.loop.attributes:
            return at.value(ttg.PredicateStageOp(counter, self.high, self.step, max_stage=self.last, stage=stage))
        if self.limits:
            return at.value(arith.CmpiOp(counter, self.limits[self.last - stage], "slt"))
        distance = at.value(arith.MuliOp(self.step, at.integer(self.step.type, self.last - stage)))
        return at.value(arith.CmpiOp(counter, at.value(arith.SubiOp(self.high, distance)), "slt"))

    def _in_stage(
        self,
        operand: SSAValue,
        stage: int,
        values: dict[SSAValue, SSAValue],
        block: Block,
        carried: dict[tuple[SSAValue, int], int],
        user: Operation,
    ) -> SSAValue | None:
        """What an operand is for an op of `stage`; None if it is what the copy already has."""
        if operand is self.arguments[0]:
            at = Inserter.before(user)
            at.location = self.loop.location
            ahead = at.integer(self.step.type, self.last - stage)
            return at.value(arith.AddiOp(block.args[0], at.value(arith.MuliOp(self.step, ahead))))
        source = operand
        if isinstance(operand, BlockArgument) and operand.block is self.arguments[0].block:
            source = self.yielded[operand.index - 1]
            if is_defined_outside(source, self.loop):
                return source if stage != self.last else None
        if not isinstance(source, OpResult) or source.op not in self.stages:
            return None
        defined = self.stages[source.op]
        if defined == stage:
            return None
        if source is not operand and defined == stage + 1:
            return values.get(source, source)
        return block.args[carried[operand, stage - defined] + 1]

    def _yielded_value(
        self, at: Inserter, index: int, values: dict[SSAValue, SSAValue], block: Block, conditions: list[SSAValue]
    ) -> SSAValue:
        """What the new loop yields for what the old one yielded: unchanged by iterations past the end."""
        value = self.yielded[index]
        new = values.get(value, value)
        if self.loop.results[index].first_use is None:
            return new
        producer, _ = definition_and_distance(self.loop, value)
        stage = self.stages.get(producer, self.last) if producer is not None else self.last
        if stage >= len(conditions):
            return new
        return at.value(arith.SelectOp(conditions[stage], new, block.args[index + 1]))

    # After the loop

    def _epilogue(self, kernel: scf.ForOp, lives: dict[SSAValue, tuple[int, int]]) -> list[SSAValue]:
        """The later stages of the last iterations; what the old loop yields. Version n of a value is that of the n-th of these iterations."""
        self._versions_after(kernel, lives)
        at = Inserter.before(self.loop)
        total = self._trip_count(at)
        zero, one = (at.integer(self.low.type, number) for number in (0, 1))
        number = at.value(arith.SubiOp(total, at.integer(self.low.type, self.last)))
        number = at.value(arith.MaxSIOp(zero, number))
        conditions: dict[int, SSAValue] = {}
        for part in range(1, self.last + 1):
            counter = at.value(arith.AddiOp(self.low, at.value(arith.MuliOp(self.step, number))))
            self._set_version(self.arguments[0], counter, part)
            number = at.value(arith.AddiOp(number, one))
            conditions[part] = at.value(arith.CmpiOp(total, at.integer(self.low.type, part), "sge"))
        ended: list[SSAValue] = [*kernel.results[: len(self.yielded)]]
        for part in range(1, self.last + 1):
            made: dict[int, int] = {}
            for op in self.order:
                if self.stages[op] >= part:
                    self._finish(op, self.last - self.stages[op] + part, conditions, at, ended, made)
            for index, version in sorted(made.items()):
                before = self.versions[self.arguments[index + 1]][version]
                ended[index] = at.value(arith.SelectOp(conditions[version], ended[index], before))
                if version < self.last:
                    self._set_version(self.arguments[index + 1], ended[index], version + 1)
        return ended

    def _versions_after(self, kernel: scf.ForOp, lives: dict[SSAValue, tuple[int, int]]) -> None:
        """What the loop leaves of the iterations that have not ended."""
        self.versions = {}
        position = len(self.yielded)
        for value, (first, last) in lives.items():
            for number in range(last - first):
                self._set_version(value, kernel.results[position], self.last - last + 1 + number)
                position += 1
        for index, value in enumerate(self.yielded):
            stage = self.stages.get(value.op) if isinstance(value, OpResult) else None
            if stage is None:
                for part in range(1, self.last + 1):
                    self._set_version(self.arguments[index + 1], value, part)
            elif stage > 0:
                self._set_version(self.arguments[index + 1], kernel.results[index], self.last - stage + 1)

    def _trip_count(self, at: Inserter) -> SSAValue:
        """ceil((high - low) / step), of either sign."""
        zero, one, minus_one = (at.integer(self.low.type, number) for number in (0, 1, -1))
        is_down = at.value(arith.CmpiOp(self.step, zero, "slt"))
        towards_zero = at.value(arith.SelectOp(is_down, one, minus_one))
        reached = at.value(arith.AddiOp(at.value(arith.SubiOp(self.high, self.low)), self.step))
        return at.value(arith.DivSIOp(at.value(arith.AddiOp(reached, towards_zero)), self.step))

    def _finish(
        self,
        op: Operation,
        version: int,
        conditions: dict[int, SSAValue],
        at: Inserter,
        ended: list[SSAValue],
        made: dict[int, int],
    ) -> None:
        """A copy of `op` for one of the last iterations."""
        copy = clone_op(
            op, {value: self.versions[value][version] for value in nested_operands(op) if value in self.versions}
        )
        at.place(copy)
        copy = self.hold_back(copy, conditions[version])
        for result, new in zip(op.results, copy.results, strict=True):
            self._set_version(result, new, version)
            for index, value in enumerate(self.yielded):
                if value is result:
                    ended[index] = new
                    made[index] = version
                    if version < self.last:
                        self._set_version(self.arguments[index + 1], new, version + 1)

    def _ending(self, kernel: scf.ForOp, carried: dict[tuple[SSAValue, int], int]) -> list[SSAValue]:
        """The last stage of the last iteration; what the old loop yields then."""
        at = Inserter.before(self.loop)
        values: dict[SSAValue, SSAValue] = dict(zip(self.arguments[1:], kernel.results, strict=False))
        for op in self.order:
            if self.stages[op] == self.last:
                current = dict(values)
                for operand in nested_operands(op):
                    producer, _ = definition_and_distance(self.loop, operand)
                    key = (operand, self.last - self.stages.get(producer, self.last)) if producer is not None else None
                    if key in carried:
                        current[operand] = kernel.results[carried[key]]
                copy = clone_op(op, current)
                at.place(copy)
                values.update(zip(op.results, copy.results, strict=True))
        return [values.get(value, result) for value, result in zip(self.yielded, kernel.results, strict=False)]
