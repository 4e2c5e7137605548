"""Loops.

    for i in range(n): s += i       %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_in = %s_before) { ... }

Loop-carried variables are the names that the body assigns and that exist before; those that turn out unchanged are taken
out again, so that the body is compiled only once.
"""

import ast
import builtins
import functools
from collections.abc import Callable, Sequence

from xdsl.dialects import scf, ub
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, UnregisteredAttr, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from minitriton.dialects import arith
from minitriton.frontend.builder import UNKNOWN, InitialPromise, IRBuilder, constant_of, named_location
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.generator.base import Generator, Scope, copied_scope, flatten_all, is_ir_value, rebuild_all
from minitriton.frontend.generator.branches import type_text
from minitriton.frontend.generator.expressions import Expressions
from minitriton.frontend.generator.statements import Statements
from minitriton.frontend.loop_counters import counter_of
from minitriton.frontend.prepared_tree import PreparedFor, PreparedWhile
from minitriton.frontend.semantic.casts import cast
from minitriton.frontend.semantic.values import scalar_constant, to_tensor
from minitriton.language.aggregates import aggregate_value
from minitriton.language.iterators import condition as language_condition
from minitriton.language.iterators import range as language_range
from minitriton.language.iterators import static_range
from minitriton.language.values import constexpr, tensor, type_of, unwrap
from minitriton.rewriting.constants import int_attr

_UNREAD = "it is the variable of a loop"
"""Why a variable that nothing reads after its loop has no value there."""

Arguments = Sequence[BlockArgument]
"""The arguments of a loop's block that carry variables."""

Hint = tuple[BlockArgument, str, Attribute]
UNIT = UnitAttr()
LOOP_ANNOTATION = "llvm.loop_annotation"


_range_of: Callable[..., language_range] = language_range
_static_range_of: Callable[..., static_range] = static_range
"""The iterators, of whatever a kernel gives them: they refuse what they do not take."""


@functools.cache
def _keep_invariants() -> UnregisteredAttr:
    """Tells LLVM not to move loop-invariant code out of a loop."""
    made = UnregisteredAttr.with_name_and_type(LOOP_ANNOTATION, False)
    return made(LOOP_ANNOTATION, False, False, "licm = <disable = true, versioningDisable = true>")


def _placed(hints: list[Hint]) -> dict[str, Attribute]:
    """Promises about block arguments as attributes of the loop, numbered by argument."""
    return {
        f"{name}_arg{argument.index}": promise for argument, name, promise in hints if argument in argument.block.args
    }


def _of_initial_values(loop: scf.ForOp, body: Block, hints: list[Hint]) -> list[InitialPromise]:
    """The promises about arguments of `body`, for the values that the loop begins with."""
    return [
        (loop.iter_args[argument.index - 1], loop.results[argument.index - 1], name, promise)
        for argument, name, promise in hints
        if argument.index and argument in body.args
    ]


def keep_promises_of_initial_values(promises: Sequence[InitialPromise]) -> None:
    """Notes what a loop promises of a variable on the value that it begins with, where an iteration is all that reads it: neither that value
    nor what the loop leaves of the variable has another use, so that the promise may be broken where the loop does not run."""
    for initial, result, name, promise in promises:
        owner = initial.owner
        if isinstance(owner, Operation) and initial.has_one_use() and result.first_use is None:
            owner.attributes[name] = promise


def _may_follow(new: object, old: object) -> bool:
    """Whether a variable that is `old` may be `new` in a loop's next iteration: both have one type. Of an aggregate
    only the class and the IR types of its fields have to stay (an accumulator that is still being computed is a tensor from there on), as in Triton."""
    if isinstance(new, aggregate_value) and new.__class__ is old.__class__:
        return [handle.type for handle in flatten_all([new])] == [handle.type for handle in flatten_all([old])]
    return type_of(new) == type_of(old)


MOST_UNROLLED = 1 << 16
"""Iterations of all static ranges of a function: each has ops of its own."""


class Loops:
    """Compiles `for` and `while`."""

    def __init__(self, generator: Generator, expressions: Expressions, statements: Statements) -> None:
        self.generator = generator
        self.b = generator.b
        self.visit = generator.visit
        self.unsupported = generator.unsupported
        self.expressions = expressions
        self.unrolled = 0
        """Iterations of static ranges that were compiled."""
        self.statements = statements

    def visit_For(self, node: PreparedFor) -> None:
        if not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Name):
            raise self.unsupported(
                node, "Only `range` and `static_range` iterators are currently supported", "for i in range(n): ..."
            )
        if node.orelse:
            raise self.unsupported(node, "`else` after `for` is not supported")
        iterator = self.visit(node.iter.func)
        args = [self.visit(a) for a in node.iter.args]
        kwargs = {str(k.arg): self.visit(k.value) for k in node.iter.keywords}
        if iterator is static_range:
            self._unrolled(node, node.target.id, _static_range_of(*args, **kwargs))
        elif iterator is language_range or iterator is builtins.range:
            if self.b.is_verbatim and iterator is builtins.range and len(args) == 1:
                args = [self.visit(node.iter.args[0])]  # as Triton does, which takes the second value
            self._loop(node, node.target.id, _range_of(*args, **kwargs))
        else:
            raise self.unsupported(
                node, "Only `range` and `static_range` iterators are currently supported", "for i in range(n): ..."
            )

    def _unrolled(self, node: PreparedFor, name: str, iterator: static_range) -> None:
        before = self.generator.lscope.get(name)
        counts = builtins.range(unwrap(iterator.start), unwrap(iterator.end), unwrap(iterator.step))
        if counts[MOST_UNROLLED - self.unrolled :]:
            raise LanguageValueError(
                f"static_range repeats its body more than {MOST_UNROLLED} times",
                "write tl.range(...): a loop in the program",
            )
        self.unrolled += len(counts)
        for i in counts:
            self.generator.lscope[name] = constexpr(i)
            self.statements.run(node.body)
            if self.generator.terminated:
                return
        if counts and node.read_elsewhere:
            last = self.generator.lscope[name]
            if isinstance(before, tensor) and type(last) is constexpr:
                last = scalar_constant(self.b, unwrap(last), before.dtype)
            self.generator.bind(name, last)

    def _carried(self, node: PreparedFor | PreparedWhile, ignored: str | None) -> list[str]:
        return [
            name
            for name, value in self.generator.lscope.items()
            if name != ignored
            and (isinstance(value, aggregate_value) or (name in node.assigned and is_ir_value(value)))
        ]

    def _check_carried(self, before: Scope, ignored: str | None) -> None:
        """A variable that a loop changes keeps its type, and was a tensor before."""
        for name in self.generator.local_defs:
            if name not in before or name not in self.generator.lscope or name == ignored:
                continue
            old, new = before[name], self.generator.lscope.get(name)
            if not is_ir_value(old):
                if old is None or new is None or unwrap(old) is not unwrap(new):
                    self.generator.lscope = before
                    why = self.generator.why_constant(name)
                    raise LanguageTypeError(
                        f"Loop carried variable {name} is not a triton value: cannot reassign {type_text(old)} in the loop{why}",
                        f"change a copy, made before the loop (`copy = {name}`), or write "
                        f"@triton.jit(do_not_specialize=[{name!r}])"
                        if why
                        else f"give {name} its run-time type before the loop, for example with tl.zeros or tl.full",
                    )
            elif not is_ir_value(new) or not _may_follow(new, old):
                raise LanguageTypeError(
                    f"Loop-carried variable {name} has initial type {type_of(old)} but is re-assigned to "
                    f"{type_of(new)} in loop! Please make sure that the type stays consistent.",
                    f"cast the new value of {name}, or its initial value",
                )

    def _loop(self, node: PreparedFor, target: str, loop: language_range) -> None:
        b = self.b
        counted = counter_of(b, loop)
        bounds = [counted.low.handle, counted.high.handle, counted.step.handle]
        if b.is_verbatim:
            bounds = [b.op(arith.BitcastOp, (bound,), bound.type) for bound in bounds]
            b.op(ub.PoisonOp, (), bounds[0].type)
        location, outer = b.location, b.block
        before, defs = self.generator.lscope, self.generator.local_defs
        names = self._carried(node, target)
        initial = [before[n] for n in names]
        why = _UNREAD
        if node.read_elsewhere and not b.is_verbatim:
            start = value_before(b, loop, before.get(target), counted.first(b))
            if isinstance(start, str):
                why = start
            else:
                names, initial, why = [*names, target], [*initial, start], None
        region, block = b.region([counted.low.handle.type, *(h.type for h in flatten_all(initial))])
        block.args[0].location = named_location(target, location)
        b.block = block
        self.generator.lscope, self.generator.local_defs = copied_scope(before), {}
        self._enter_with(names, initial, list(block.args[1:]))
        counter = counted.variable(b, block.args[0])
        self.generator.bind(target, counter)
        self.generator.region_depth += 1
        self.statements.run(node.body)
        self.generator.region_depth -= 1
        self._check_carried(before, target)
        after = self.generator.lscope
        if why is None and type_of(after.get(target, counter)) != counted.dtype:
            why = f"it is the variable of a loop, whose body makes it {type_text(after.pop(target))}"
        lost = self._forget_loop_variables(names, initial, [block.args[1:]])
        hints = self._argument_hints(flatten_all(initial), [block.args[1:]], runs=bool(known_length(loop)))
        kept, same = self._drop_unchanged(names, initial, after, [block.args[1:]])
        b.location = location
        yielded = flatten_all(after[n] for n in kept)
        b.insert(scf.YieldOp.create(operands=[same.get(h, h) for h in yielded]))
        entered = dict(zip(names, initial, strict=True))
        inits = flatten_all(entered[n] for n in kept)
        op = scf.ForOp.create(
            operands=(*bounds, *inits),
            result_types=[h.type for h in inits],
            regions=(region,),
            attributes=self._loop_hints(loop) | _placed(hints),
        )
        b.block = outer
        b.insert(op)
        b.loop_promises += _of_initial_values(op, block, hints)
        if kept:
            op.location = named_location(kept[-1], location)
        self.generator.lscope, self.generator.local_defs = before, defs
        self._unbind([*lost, *([] if why is None else [target])], why)
        self.generator.bind_results(kept, [entered[n] for n in kept], op)

    def _unbind(self, names: list[str], why: str | None) -> None:
        """Takes away variables that have no value after a loop."""
        for name in names:
            self.generator.lscope.pop(name, None)
            self.generator.local_defs.pop(name, None)
            self.generator.lost[name] = why or self.generator.lost.get(name, "")

    def _enter_with(self, names: list[str], values: Sequence[object], arguments: Sequence[BlockArgument]) -> None:
        position = 0
        for name, value in zip(names, rebuild_all(map(type_of, values), arguments), strict=True):
            end = position + len(flatten_all([value]))
            for argument in arguments[position:end]:
                argument.location = named_location(name, UNKNOWN)
            position = end
            self.generator.bind(name, value)

    def _forget_loop_variables(
        self, names: list[str], initial: Sequence[object], arguments: Sequence[Arguments]
    ) -> list[str]:
        """Variables that an inner loop counted with: they have no value after it, so this loop does not carry them.

        Raises if the body reads one before the inner loop: what it would read in the next iteration is not defined.
        """
        lost: list[str] = []
        carried = [rebuild_all(map(type_of, initial), args) for args in arguments]
        for name, *values in zip(names, *carried, strict=True):
            if name in self.generator.lscope:
                continue
            if any(handle.first_use is not None for handle in flatten_all(values)):
                raise LanguageTypeError(
                    f"{name} is the variable of an inner loop, and is read before it in the next iteration",
                    "give the inner loop's variable another name",
                )
            self.generator.lscope[name] = values[0]
            lost.append(name)
        return lost

    def _argument_hints(self, initial: Sequence[SSAValue], arguments: Sequence[Arguments], *, runs: bool) -> list[Hint]:
        """The promises that the loop's body makes about its variables. If it surely `runs` they hold for the values before the loop too;
        else for those that nothing but the loop reads (`keep_promises_of_initial_values`)."""
        mine: list[Hint] = []
        rest: list[Hint] = []
        for argument, name, promise in self.b.argument_hints:
            if not any(argument in args for args in arguments):
                rest.append((argument, name, promise))
                continue
            mine.append((argument, name, promise))
            for args in arguments if runs else ():
                if argument in args:
                    owner = initial[list(args).index(argument)].owner
                    if isinstance(owner, Operation):
                        owner.attributes[name] = promise
        self.b.argument_hints = rest
        return mine

    def _drop_unchanged(
        self, names: list[str], initial: Sequence[object], after: Scope, arguments: Sequence[Arguments]
    ) -> tuple[list[str], dict[SSAValue, SSAValue]]:
        """Replaces the block arguments of variables that the loop did not change by the values before it.

        Returns the variables that stay, and each argument taken away with its value before the loop: other names may hold it
        (`a = c` in the loop). `arguments`: for each region of the loop, the block arguments that carry variables; the first are
        those that `after` may hold.
        """
        kept: list[str] = []
        position = 0
        same: dict[SSAValue, SSAValue] = {}
        unchanged: list[BlockArgument] = []
        carried = [list(args) for args in arguments]
        for name, value in zip(names, initial, strict=True):
            before = flatten_all([value])
            mine = carried[0][position : position + len(before)]
            if flatten_all([after[name]]) == mine:
                for args in carried:
                    for old, new in zip(args[position : position + len(before)], before, strict=True):
                        old.replace_all_uses_with(new)
                        same[old] = new
                        unchanged.append(old)
            else:
                kept.append(name)
            position += len(before)
        for argument in unchanged:
            argument.block.erase_arg(argument)
        return kept, same

    def _loop_hints(self, loop: language_range) -> dict[str, Attribute]:
        hints: dict[str, Attribute] = {}
        for name in ("num_stages", "loop_unroll_factor"):
            value = unwrap(getattr(loop, name))
            if value is not None:
                hints[f"tt.{name}"] = int_attr(i32, value)
        for name in ("disallow_acc_multi_buffer", "flatten", "warp_specialize"):
            if unwrap(getattr(loop, name)):
                hints[f"tt.{name}"] = UNIT
        if unwrap(loop.disable_licm):
            hints[LOOP_ANNOTATION] = _keep_invariants()
        return hints

    def visit_While(self, node: PreparedWhile) -> None:
        if node.orelse:
            raise self.unsupported(node, "`else` after `while` is not supported")
        self.expressions.refuse_assignment(node.test, "in the condition of a loop")
        b = self.b
        location, outer = b.location, b.block
        before, defs = self.generator.lscope, self.generator.local_defs
        names = self._carried(node, None)
        initial = [before[n] for n in names]
        types = [h.type for h in flatten_all(initial)]
        test_region, test_block = b.region(types)
        body_region, body_block = b.region(types)
        self.generator.region_depth += 1
        b.block = test_block
        self.generator.lscope, self.generator.local_defs = copied_scope(before), {}
        self._enter_with(names, initial, list(test_block.args))
        condition = self.visit(node.test)
        annotations: dict[str, Attribute] = {}
        if isinstance(condition, language_condition):
            if unwrap(condition.disable_licm):
                annotations[LOOP_ANNOTATION] = _keep_invariants()
            condition = condition.condition
        holds = self.expressions.scalar_condition(node, to_tensor(b, unwrap(condition)))
        b.block = body_block
        self.generator.lscope, self.generator.local_defs = copied_scope(before), {}
        self._enter_with(names, initial, list(body_block.args))
        self.statements.run(node.body)
        self.generator.region_depth -= 1
        self._check_carried(before, None)
        after = self.generator.lscope
        lost = self._forget_loop_variables(names, initial, [body_block.args, test_block.args])
        hints = self._argument_hints(flatten_all(initial), [body_block.args, test_block.args], runs=False)
        kept, same = self._drop_unchanged(names, initial, after, [body_block.args, test_block.args])
        b.location = location
        b.insert(scf.YieldOp.create(operands=[same.get(h, h) for h in flatten_all(after[n] for n in kept)]))
        b.block = test_block
        holding = same.get(holds.handle, holds.handle)
        b.insert(scf.ConditionOp.create(operands=[holding, *test_block.args]))
        inits = flatten_all(before[n] for n in kept)
        op = scf.WhileOp.create(
            operands=inits,
            result_types=[h.type for h in inits],
            regions=(test_region, body_region),
            attributes=annotations | _placed(hints),
        )
        b.block = outer
        b.insert(op)
        if kept:
            op.location = named_location(kept[-1], location)
        self.generator.lscope, self.generator.local_defs = before, defs
        self._unbind(lost, None)
        self.generator.bind_results(kept, [before[n] for n in kept], op)


# What a loop's variable is after the loop: its last value, as in Python; after no iteration, what it was before.
#
# k = 7
# for k in range(n): ...          %last = scf.for %k = ... iter_args(%k_before = %seven) { ... scf.yield %k }
# tl.store(p, k)                  tt.store %p, %last


def known_length(loop: language_range) -> int | None:
    """How many iterations `loop` has, if that is known while compiling."""
    bounds = [_number(unwrap(x)) for x in (loop.start, loop.end, loop.step)]
    start, end, step = bounds
    if start is None or end is None or not step:
        return None
    return len(builtins.range(start, end, step))


def _number(bound: object) -> int | None:
    if isinstance(bound, tensor):
        attribute = constant_of(bound)
        if not isinstance(attribute, IntegerAttr):
            return None
        number = attribute.value.data
        return number % (1 << bound.dtype.int_bitwidth) if bound.dtype.is_int_unsigned() else number
    return bound if isinstance(bound, int) else None


def value_before(b: IRBuilder, loop: language_range, before: object, first: tensor) -> tensor | str:
    """What the variable of `loop` has if no iteration runs, in the dtype of `first` (its first value); or why it has nothing.

    `before`: what the name meant before the loop. Of a loop whose length is not known and whose variable meant nothing before
    it is `first`: Python would raise there.
    """
    count = known_length(loop)
    if count or (count is None and before is None):
        return first
    if before is None:
        return "it is the variable of a loop that never runs"
    before = unwrap(before)
    if isinstance(before, bool) or not isinstance(before, (int, tensor)):
        return _UNFIT.format(before)
    value = to_tensor(b, before)
    if value.type.is_block() or not value.dtype.is_int():
        return _UNFIT.format(value.type)
    return cast(b, value, first.dtype)


_UNFIT = "it is the variable of a loop that may run no iteration, and was {} before, which no loop counts with"
