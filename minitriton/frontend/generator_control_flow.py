"""Branches and loops.

    if n > 0: x = a                 %x = scf.if %c -> (f32) { scf.yield %a } else { scf.yield %x_before }
    if n > 0: return                cf.cond_br %c, ^then, ^rest (structured regions cannot be left)
    for i in range(n): s += i       %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_in = %s_before) { ... }

Loop-carried variables are the names that the body assigns and that exist before; those that turn out unchanged are taken
out again, so that the body is compiled only once.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any

from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import UnitAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from minitriton.frontend.builder import ir_type, named_location
from minitriton.frontend.errors import LanguageTypeError
from minitriton.frontend.generator_base import flatten_all, is_ir_value, rebuild_all
from minitriton.frontend.generator_statements import StatementVisitor
from minitriton.frontend.semantic_arithmetic import add, sub
from minitriton.frontend.semantic_casts import cast, resize_integer
from minitriton.frontend.semantic_values import integer_promotion, to_tensor
from minitriton.language import dtypes as dt
from minitriton.language.iterators import condition as language_condition
from minitriton.language.iterators import range as language_range
from minitriton.language.iterators import static_range
from minitriton.language.values import constexpr, tensor, type_of, unwrap
from minitriton.rewriting.constants import int_attr

Scope = dict[str, Any]
Hint = tuple[Any, str, Attribute]
UNIT = UnitAttr()


def _placed(hints: list[Hint]) -> dict[str, Attribute]:
    """Promises about block arguments as attributes of the loop, numbered by argument."""
    return {
        f"{name}_arg{argument.index}": promise for argument, name, promise in hints if argument in argument.block.args
    }


def _type_text(value: Any) -> str:
    return str(value.type) if isinstance(value, tensor) else repr(value)


def _same_values(a: Any, b: Any) -> bool:
    return a is b or (is_ir_value(a) and is_ir_value(b) and flatten_all([a]) == flatten_all([b]))


class ControlFlowVisitor(StatementVisitor):
    """Compiles `if`, `for` and `while`."""

    def visit_If(self, node: Any) -> None:
        condition = self.visit(node.test)
        if type(condition) is not tensor:
            self.run(node.body if self.static_condition(node, condition) else node.orelse)
            return
        condition = self.scalar_condition(node, condition)
        if not node.has_return:
            self._structured_if(condition, node)
        elif self.region_depth:
            raise self.unsupported(
                node,
                "Cannot have `return` statements inside `while` or `for` statements in triton.",
                "set a variable in the loop and return after it",
            )
        else:
            self._branching_if(condition, node)

    def _branch(self, statements: list[ast.stmt], block: Block, before: Scope) -> tuple[Scope, Scope]:
        """Compiles one branch from the scope `before`; gives the scope after it and the names it defined."""
        self.b.block = block
        self.lscope, self.local_defs = before.copy(), {}
        self.terminated = False
        self.run(statements)
        return self.lscope, self.local_defs

    def _merged_names(self, before: Scope, then: tuple[Scope, Scope], other: tuple[Scope, Scope]) -> list[str]:
        """Variables whose value depends on the branch taken: changed ones in order of definition, then new ones by name."""
        (then_scope, then_defs), (else_scope, else_defs) = then, other
        names: list[str] = []
        for name, value in before.items():
            if name not in then_defs and name not in else_defs:
                continue
            after_then, after_else = then_scope[name], else_scope[name]
            if _same_values(after_then, after_else) or not is_ir_value(value):
                continue
            for after, which in ((after_then, "then"), (after_else, "else")):
                if not is_ir_value(after) or after.type != value.type:
                    raise LanguageTypeError(
                        f"initial value for `{name}` is of type {_type_text(value)}, but the {which} block redefines "
                        f"it as {_type_text(after)}",
                        "a variable keeps its type: cast the new value, or use another name",
                    )
            names.append(name)
        for name in sorted(then_defs.keys() & else_defs.keys()):
            after_then, after_else = then_defs[name], else_defs[name]
            if name in names or _same_values(after_then, after_else):
                continue
            if not is_ir_value(after_then) or not is_ir_value(after_else):
                continue
            if after_then.type != after_else.type:
                raise LanguageTypeError(
                    f"Mismatched type for {name} between then block ({after_then.type}) and else block "
                    f"({after_else.type})",
                    "cast one of them, or use two names",
                )
            names.append(name)
        return names

    def _leave_branches(self, before: Scope, defs: Scope, then: Scope, other: Scope, names: list[str]) -> None:
        """The scope after a branch: as before it, less what only one branch made of a variable that was no tensor."""
        self.lscope, self.local_defs = before, defs
        merged = set(names)
        for name in then.keys() | other.keys():
            if name in merged:
                continue
            a, b = then.get(name), other.get(name)
            if name in then and name in other and _same_values(a, b):
                self.bind(name, a)
            elif name in before and not is_ir_value(before[name]) and unwrap(a) != unwrap(b):
                del before[name]

    def _structured_if(self, condition: tensor, node: Any) -> None:
        b = self.b
        before, defs, outer, location = self.lscope, self.local_defs, b.block, b.location
        then_region, then_block = b.region()
        else_region, else_block = b.region()
        self.region_depth += 1
        then = self._branch(node.body, then_block, before)
        then_end, else_end = b.block, else_block
        other: tuple[Scope, Scope] = (before.copy(), {})
        if node.orelse:
            other = self._branch(node.orelse, else_block, before)
            else_end = b.block
        self.region_depth -= 1
        names = self._merged_names(before, then, other)
        values = [then[0][name] for name in names]
        handles = flatten_all(values)
        b.location = location
        for end, yielded in ((then_end, handles), (else_end, flatten_all(other[0][name] for name in names))):
            b.block = end
            b.insert(scf.YieldOp(*yielded))
        if not node.orelse and not names:
            else_region = Region()
        op = scf.IfOp.create(
            operands=(condition.handle,),
            result_types=[h.type for h in handles],
            regions=(then_region, else_region),
        )
        b.block = outer
        b.insert(op)
        self._leave_branches(before, defs, then[1], other[1], names)
        self._bind_results(names, values, op)

    def _bind_results(self, names: list[str], values: list[Any], op: Operation) -> None:
        for name, value in zip(names, rebuild_all([v.type for v in values], list(op.results)), strict=True):
            self.bind(name, value)

    def _branching_if(self, condition: tensor, node: Any) -> None:
        b = self.b
        before, defs, region = self.lscope, self.local_defs, b.block.parent
        assert region is not None
        then_block, else_block = Block(), Block()
        b.insert(cf.ConditionalBranchOp(condition.handle, then_block, (), else_block, ()))
        region.add_block(then_block)
        region.add_block(else_block)
        then = self._branch(node.body, then_block, before)
        then_end, then_returned = b.block, self.terminated
        other = self._branch(node.orelse, else_block, before)
        else_end, else_returned = b.block, self.terminated
        self.terminated = then_returned and else_returned
        if then_returned or else_returned:
            # Only one branch goes on: the rest of the function continues its block.
            scope, new = other if then_returned else then
            b.block = else_end if then_returned else then_end
            self.lscope, self.local_defs = scope, {**defs, **new}
            return
        names = self._merged_names(before, then, other)
        values = [then[0][name] for name in names]
        handles = flatten_all(values)
        end = Block(arg_types=[h.type for h in handles])
        region.add_block(end)
        for block, passed in ((then_end, handles), (else_end, flatten_all(other[0][n] for n in names))):
            b.block = block
            b.insert(cf.BranchOp(end, *passed))
        b.block = end
        self._leave_branches(before, defs, then[1], other[1], names)
        for name, value in zip(names, rebuild_all([v.type for v in values], list(end.args)), strict=True):
            self.bind(name, value)

    def visit_For(self, node: Any) -> None:
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
            self._unrolled(node, static_range(*args, **kwargs))
        elif iterator is language_range or iterator is builtins.range:
            self._loop(node, language_range(*args, **kwargs))
        else:
            raise self.unsupported(
                node, "Only `range` and `static_range` iterators are currently supported", "for i in range(n): ..."
            )

    def _unrolled(self, node: Any, iterator: static_range) -> None:
        for i in builtins.range(unwrap(iterator.start), unwrap(iterator.end), unwrap(iterator.step)):
            self.lscope[node.target.id] = constexpr(i)
            self.run(node.body)
            if self.terminated:
                return

    def _bounds(self, loop: language_range) -> tuple[tensor, tensor, tensor, bool]:
        """Lower bound, upper bound and step in the induction variable's dtype; whether the loop counts down."""
        low, high, step = (unwrap(x) for x in (loop.start, loop.end, loop.step))
        down = isinstance(step, int) and step < 0
        if down:
            low, high, step = high, low, -step
        bounds = [to_tensor(self.b, x) for x in (low, high, step)]
        for x, what in zip(bounds, ("lower bound", "upper bound", "step"), strict=True):
            if x.type.is_block():
                raise LanguageTypeError(f"For {what} must be a scalar, got {x.type}")
        if not all(x.dtype.is_int() for x in bounds):
            kinds = ", ".join(str(x.dtype) for x in bounds)
            raise LanguageTypeError(f"For loop bounds and step must all be ints, are ({kinds})")
        type = integer_promotion(integer_promotion(bounds[0].dtype, bounds[1].dtype), bounds[2].dtype)
        signed = type.is_int_signed()
        low, high, step = (tensor(resize_integer(self.b, x.handle, ir_type(type), signed), type) for x in bounds)
        return low, high, step, down

    def _carried(self, node: Any, ignored: str | None) -> list[str]:
        return [n for n, v in self.lscope.items() if n in node.assigned and n != ignored and is_ir_value(v)]

    def _check_carried(self, node: Any, before: Scope, ignored: str | None) -> None:
        """A variable that a loop changes keeps its type, and was a tensor before."""
        for name in self.local_defs:
            if name not in before or name == ignored:
                continue
            old, new = before[name], self.lscope.get(name)
            if not is_ir_value(old):
                if old is None or new is None or unwrap(old) is not unwrap(new):
                    raise LanguageTypeError(
                        f"Loop carried variable {name} is not a triton value: cannot reassign {_type_text(old)} in the loop",
                        f"give {name} its run-time type before the loop, for example with tl.zeros or tl.full",
                    )
            elif not is_ir_value(new) or type_of(new) != type_of(old):
                raise LanguageTypeError(
                    f"Loop-carried variable {name} has initial type {type_of(old)} but is re-assigned to "
                    f"{type_of(new)} in loop! Please make sure that the type stays consistent.",
                    f"cast the new value of {name}, or its initial value",
                )

    def _loop(self, node: Any, loop: language_range) -> None:
        b = self.b
        low, high, step, down = self._bounds(loop)
        target = node.target.id
        location, outer = b.location, b.block
        before, defs = self.lscope, self.local_defs
        names = self._carried(node, target)
        initial = [before[n] for n in names]
        region, block = b.region([low.handle.type, *(h.type for h in flatten_all(initial))])
        block.args[0].location = named_location(target, location)
        b.block = block
        self.lscope, self.local_defs = before.copy(), {}
        self._enter_with(names, initial, list(block.args[1:]))
        counter = tensor(block.args[0], low.type)
        if down:
            counter = add(b, sub(b, high, counter, False), low, False)
        self.bind(target, counter)
        self.region_depth += 1
        self.run(node.body)
        self.region_depth -= 1
        self._check_carried(node, before, target)
        after = self.lscope
        hints = self._argument_hints(flatten_all(initial), [block.args[1:]])
        kept = self._drop_unchanged(names, initial, after, [block.args[1:]])
        b.location = location
        yielded = flatten_all(after[n] for n in kept)
        b.insert(scf.YieldOp(*yielded))
        inits = flatten_all(before[n] for n in kept)
        op = scf.ForOp.create(
            operands=(low.handle, high.handle, step.handle, *inits),
            result_types=[h.type for h in inits],
            regions=(region,),
            attributes=self._loop_hints(loop) | _placed(hints),
        )
        b.block = outer
        b.insert(op)
        if kept:
            op.location = named_location(kept[-1], location)
        self.lscope, self.local_defs = before, defs
        before.pop(target, None)
        defs.pop(target, None)
        self._bind_results(kept, [before[n] for n in kept], op)

    def _enter_with(self, names: list[str], values: list[Any], arguments: list[Any]) -> None:
        for name, value in zip(names, rebuild_all([v.type for v in values], arguments), strict=True):
            for argument in flatten_all([value]):
                argument.location = named_location(name, self.b.location)  # pyright: ignore[reportAttributeAccessIssue]
            self.bind(name, value)

    def _argument_hints(self, initial: list[SSAValue], arguments: list[Any]) -> list[Hint]:
        """The promises that the loop's body makes about its variables. They hold for the values before the loop too."""
        mine: list[Hint] = []
        rest: list[Hint] = []
        for argument, name, promise in self.b.argument_hints:
            if not any(argument in args for args in arguments):
                rest.append((argument, name, promise))
                continue
            mine.append((argument, name, promise))
            for args in arguments:
                if argument in args:
                    owner = initial[list(args).index(argument)].owner
                    if isinstance(owner, Operation):
                        owner.attributes[name] = promise
        self.b.argument_hints = rest
        return mine

    def _drop_unchanged(self, names: list[str], initial: list[Any], after: Scope, arguments: list[Any]) -> list[str]:
        """Replaces the block arguments of variables that the loop did not change by the values before it.

        `arguments`: for each region of the loop, the block arguments that carry variables; the first are those that `after` may hold.
        """
        kept: list[str] = []
        position = 0
        dead: list[SSAValue] = []
        carried = [list(args) for args in arguments]
        for name, value in zip(names, initial, strict=True):
            before = flatten_all([value])
            mine = carried[0][position : position + len(before)]
            if flatten_all([after[name]]) == mine:
                for args in carried:
                    for old, new in zip(args[position : position + len(before)], before, strict=True):
                        old.replace_all_uses_with(new)
                        dead.append(old)
            else:
                kept.append(name)
            position += len(before)
        for argument in dead:
            argument.block.erase_arg(argument)  # pyright: ignore[reportAttributeAccessIssue]
        return kept

    def _loop_hints(self, loop: language_range) -> dict[str, Attribute]:
        hints: dict[str, Attribute] = {}
        for name in ("num_stages", "loop_unroll_factor"):
            value = unwrap(getattr(loop, name))
            if value is not None:
                hints[f"tt.{name}"] = int_attr(i32, value)
        for name in ("disallow_acc_multi_buffer", "flatten", "warp_specialize"):
            if unwrap(getattr(loop, name)):
                hints[f"tt.{name}"] = UNIT
        return hints

    def visit_While(self, node: Any) -> None:
        if node.orelse:
            raise self.unsupported(node, "`else` after `while` is not supported")
        b = self.b
        location, outer = b.location, b.block
        before, defs = self.lscope, self.local_defs
        names = self._carried(node, None)
        initial = [before[n] for n in names]
        types = [h.type for h in flatten_all(initial)]
        test_region, test_block = b.region(types)
        body_region, body_block = b.region(types)
        self.region_depth += 1
        b.block = test_block
        self.lscope, self.local_defs = before.copy(), {}
        self._enter_with(names, initial, list(test_block.args))
        condition = self.visit(node.test)
        if isinstance(condition, language_condition):
            condition = condition.condition
        holds = cast(b, to_tensor(b, unwrap(condition)), dt.int1)
        b.block = body_block
        self.lscope, self.local_defs = before.copy(), {}
        self._enter_with(names, initial, list(body_block.args))
        self.run(node.body)
        self.region_depth -= 1
        self._check_carried(node, before, None)
        after = self.lscope
        hints = self._argument_hints(flatten_all(initial), [body_block.args, test_block.args])
        kept = self._drop_unchanged(names, initial, after, [body_block.args, test_block.args])
        b.location = location
        b.insert(scf.YieldOp(*flatten_all(after[n] for n in kept)))
        b.block = test_block
        b.insert(scf.ConditionOp(holds.handle, *test_block.args))
        inits = flatten_all(before[n] for n in kept)
        op = scf.WhileOp.create(
            operands=inits,
            result_types=[h.type for h in inits],
            regions=(test_region, body_region),
            attributes=_placed(hints),
        )
        b.block = outer
        b.insert(op)
        if kept:
            op.location = named_location(kept[-1], location)
        self.lscope, self.local_defs = before, defs
        self._bind_results(kept, [before[n] for n in kept], op)
