"""Branches on run-time conditions.

if n > 0: x = a         %x = scf.if %c -> (f32) { scf.yield %a } else { scf.yield %x_before }
if n > 0: return        cf.cond_br %c, ^then, ^rest (structured regions cannot be left)
"""

import ast

from xdsl.dialects import cf, scf
from xdsl.ir import Block, Region

from minitriton.frontend.errors import LanguageTypeError
from minitriton.frontend.generator.base import Generator, Scope, copied_scope, flatten_all, is_ir_value, rebuild_all
from minitriton.frontend.generator.expressions import Expressions
from minitriton.frontend.generator.statements import Statements
from minitriton.frontend.prepared_tree import PreparedIf
from minitriton.language.aggregates import aggregate_value
from minitriton.language.values import tensor, type_of, unwrap


def type_text(value: object) -> str:
    """What an error message says of a variable's value."""
    return str(value.type) if isinstance(value, tensor) else repr(value)


def _same_values(a: object, b: object) -> bool:
    return a is b or (is_ir_value(a) and is_ir_value(b) and flatten_all([a]) == flatten_all([b]))


class Branches:
    """Compiles `if`."""

    def __init__(self, generator: Generator, expressions: Expressions, statements: Statements) -> None:
        self.generator = generator
        self.b = generator.b
        self.visit = generator.visit
        self.unsupported = generator.unsupported
        self.expressions = expressions
        self.statements = statements

    def visit_If(self, node: PreparedIf) -> None:
        condition = self.visit(node.test)
        if type(condition) is not tensor:
            self.statements.run(node.body if self.expressions.static_condition(node, condition) else node.orelse)
            return
        condition = self.expressions.scalar_condition(node, condition)
        if not node.has_return:
            self._structured_if(condition, node)
        elif self.generator.region_depth:
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
        self.generator.lscope, self.generator.local_defs = copied_scope(before), {}
        self.generator.terminated = False
        self.statements.run(statements)
        return self.generator.lscope, self.generator.local_defs

    def _merged_names(self, before: Scope, then: tuple[Scope, Scope], other: tuple[Scope, Scope]) -> list[str]:
        """Variables whose value depends on the branch taken: changed ones in order of definition, then new ones by name."""
        (then_scope, then_defs), (else_scope, else_defs) = then, other
        names: list[str] = []
        for name, value in before.items():
            if name not in then_scope or name not in else_scope:
                continue
            if name not in then_defs and name not in else_defs and not isinstance(value, aggregate_value):
                continue
            after_then, after_else = then_scope[name], else_scope[name]
            if _same_values(after_then, after_else) or not is_ir_value(value):
                continue
            for after, which in ((after_then, "then"), (after_else, "else")):
                if not is_ir_value(after) or type_of(after) != type_of(value):
                    raise LanguageTypeError(
                        f"initial value for `{name}` is of type {type_text(value)}, but the {which} block redefines "
                        f"it as {type_text(after)}",
                        "a variable keeps its type: cast the new value, or use another name",
                    )
            names.append(name)
        for name in sorted(then_defs.keys() & else_defs.keys()):
            after_then, after_else = then_defs[name], else_defs[name]
            if name in names or _same_values(after_then, after_else):
                continue
            if not is_ir_value(after_then) or not is_ir_value(after_else):
                continue
            if type_of(after_then) != type_of(after_else):
                raise LanguageTypeError(
                    f"Mismatched type for {name} between then block ({type_of(after_then)}) and else block "
                    f"({type_of(after_else)})",
                    "cast one of them, or use two names",
                )
            names.append(name)
        return names

    def _leave_branches(
        self, before: Scope, defs: Scope, then: tuple[Scope, Scope], other: tuple[Scope, Scope], names: list[str]
    ) -> None:
        """The scope after a branch: as before it, less what only one branch made of a variable that was no tensor, and less
        the loop variables of the branches."""
        self.generator.lscope, self.generator.local_defs = before, defs
        for name in before.keys() - (then[0].keys() & other[0].keys()):
            del before[name]
        merged = set(names)
        for name in then[1].keys() | other[1].keys():
            if name in merged:
                continue
            a, b = then[1].get(name), other[1].get(name)
            if name in then[1] and name in other[1] and _same_values(a, b):
                self.generator.bind(name, a)
            elif name in before and not is_ir_value(before[name]) and unwrap(a) != unwrap(b):
                del before[name]

    def _structured_if(self, condition: tensor, node: PreparedIf) -> None:
        b = self.b
        before, defs, outer, location = self.generator.lscope, self.generator.local_defs, b.block, b.location
        then_region, then_block = b.region()
        else_region, else_block = b.region()
        self.generator.region_depth += 1
        then = self._branch(node.body, then_block, before)
        then_end, else_end = b.block, else_block
        other: tuple[Scope, Scope] = (before.copy(), {})
        if node.orelse:
            other = self._branch(node.orelse, else_block, before)
            else_end = b.block
        self.generator.region_depth -= 1
        names = self._merged_names(before, then, other)
        values = [then[0][name] for name in names]
        handles = flatten_all(values)
        b.location = location
        for end, yielded in ((then_end, handles), (else_end, flatten_all(other[0][name] for name in names))):
            b.block = end
            b.insert(scf.YieldOp.create(operands=yielded))
        if not node.orelse and not names:
            else_region = Region()
        op = scf.IfOp.create(
            operands=(condition.handle,),
            result_types=[h.type for h in handles],
            regions=(then_region, else_region),
        )
        b.block = outer
        b.insert(op)
        self._leave_branches(before, defs, then, other, names)
        self.generator.bind_results(names, values, op)

    def _branching_if(self, condition: tensor, node: PreparedIf) -> None:
        b = self.b
        before, defs, region = self.generator.lscope, self.generator.local_defs, b.block.parent
        assert region is not None
        then_block, else_block = Block(), Block()
        b.insert(cf.ConditionalBranchOp(condition.handle, then_block, (), else_block, ()))
        region.add_block(then_block)
        region.add_block(else_block)
        then = self._branch(node.body, then_block, before)
        then_end, then_returned = b.block, self.generator.terminated
        other = self._branch(node.orelse, else_block, before)
        else_end, else_returned = b.block, self.generator.terminated
        self.generator.terminated = then_returned and else_returned
        if then_returned or else_returned:
            # Only one branch goes on: the rest of the function continues its block.
            scope, new = other if then_returned else then
            b.block = else_end if then_returned else then_end
            if b.is_verbatim and not self.generator.terminated:
                b.block = _joined_with_dead_block(b.block, region, is_last=then_returned)
            self.generator.lscope, self.generator.local_defs = scope, {**defs, **new}
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
        self._leave_branches(before, defs, then, other, names)
        for name, value in zip(names, rebuild_all(map(type_of, values), list(end.args)), strict=True):
            self.generator.bind(name, value)


def _joined_with_dead_block(end: Block, region: Region, is_last: bool) -> Block:
    """A branch with one side that returned: `end` belongs to the other side. After the return Triton has a block that nothing
    reaches, and one that joins it with `end`."""
    dead, joined = Block(), Block()
    region.add_block(dead)
    region.add_block(joined)
    for block in (end, dead):
        block.add_op(cf.BranchOp(joined))
    return joined
