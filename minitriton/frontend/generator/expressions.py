"""Expressions: names, constants, operators, attributes, subscripts.

pid * BLOCK     a tensor and a compile-time value: arith.muli
BLOCK * 2       compile-time values only: computed by Python
x[:, None]      tt.expand_dims
a < b < c       both comparisons, and `and`
pair + 1        a method of the aggregate `pair`, compiled and called
"""

import ast
import builtins
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import TypeGuard

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from minitriton.dialects.narrowing import LIST, TUPLE, instance_of
from minitriton.frontend.errors import INSTEAD, LanguageTypeError
from minitriton.frontend.generator.base import UNASSIGNED_CONSTANT, Generator, is_function, wrapped
from minitriton.frontend.semantic import arithmetic
from minitriton.frontend.semantic.casts import cast
from minitriton.frontend.semantic.operators import BINARY, COMPARISONS, METHODS, TENSOR_METHODS, UNARY, check_format
from minitriton.frontend.semantic.shapes import index, permute, unsplat
from minitriton.frontend.semantic.values import to_tensor
from minitriton.language import core
from minitriton.language import dtypes as dt
from minitriton.language.aggregates import aggregate_value
from minitriton.language.descriptors import tensor_descriptor
from minitriton.language.values import Function, base_value, constexpr, handle_value, tensor, unwrap
from minitriton.language.values import slice as language_slice
from minitriton.language.values import tuple as language_tuple

_CONDITION_TYPES = (bool, int, type(None))


class BoundMethod:
    """A function looked up on a value, which is its first argument."""

    def __init__(self, owner: object, function: Function) -> None:
        self.owner = owner
        self.function = function


def unpacked(generator: Generator, node: ast.Starred) -> list[object]:
    """The elements of `*value` in a tuple or a call."""
    value = generator.visit(node.value)
    if isinstance(value, constexpr) and instance_of(value.value, (TUPLE, LIST)):
        return [wrapped(v) for v in value.value]
    if not isinstance(value, language_tuple):
        raise generator.unsupported(node, f"only tuples can be unpacked, got {value!r}")
    return list(value.values)


class Expressions:
    """Compiles expressions other than calls. `call` compiles a call of any object that a kernel can name."""

    def __init__(self, generator: Generator, call: Callable[..., object]) -> None:
        self.generator = generator
        self.b = generator.b
        self.visit = generator.visit
        self.unsupported = generator.unsupported
        self.call = call

    def visit_Constant(self, node: ast.Constant) -> constexpr:
        return constexpr(node.value)

    def visit_Name(self, node: ast.Name) -> object:
        return node.id if type(node.ctx) is ast.Store else self.generator.lookup(node.id)

    def visit_Tuple(self, node: ast.Tuple | ast.List) -> language_tuple:
        values: list[object] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                values.extend(unpacked(self.generator, element))
            else:
                value = self.visit(element)
                values.append(constexpr(None) if value is None else value)
        return language_tuple(values)

    def visit_ListComp(self, node: ast.ListComp) -> language_tuple:
        if len(node.generators) != 1:
            raise self.unsupported(node, "nested comprehensions are not supported")
        generator = node.generators[0]
        items = self.visit(generator.iter)
        if not isinstance(items, language_tuple):
            raise self.unsupported(node, "only tuple comprehensions are supported")
        results: list[object] = []
        # Its variables are its own, as in Python: those of the same names outside keep their values.
        with self.generator.names_of_its_own({n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}):
            for item in items.values:
                self.assign(generator.target, item)
                if all(self.static_condition(test, self.visit(test)) for test in generator.ifs):
                    results.append(self.visit(node.elt))
        return language_tuple(results)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> object:
        value = self.named_value(node.target, node.value)
        self.assign(node.target, value)
        return value

    def named_value(self, target: ast.expr, value: ast.expr) -> object:
        """The value of an assignment; the ops it takes are named after the variable."""
        if not isinstance(target, ast.Name):
            return self.generator.as_variable(self.visit(value))
        self.b.name = target.id
        found = self.visit(value)
        if self.generator.lscope.get(target.id) is not UNASSIGNED_CONSTANT:
            found = self.generator.as_variable(found)
        elif type(found) is not tensor:
            found = constexpr(found)
        self.b.name = None
        return found

    def assign(self, target: ast.expr, value: object) -> None:
        """Binds `target`, a name or a tuple of targets."""
        if isinstance(target, ast.Name):
            self.generator.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            elements = value.values if isinstance(value, language_tuple) else None
            if elements is None or len(elements) != len(target.elts):
                raise LanguageTypeError(
                    f"cannot unpack {value!r} into {len(target.elts)} variables", "the numbers must agree"
                )
            for one, element in zip(target.elts, elements, strict=True):
                self.assign(one, element)
        elif isinstance(target, ast.Subscript):
            raise self.unsupported(
                target, "__setitem__ is not supported in triton", "blocks are values: build a new one with tl.where"
            )
        elif isinstance(target, ast.Attribute):
            raise self.unsupported(target, "Attribute assignment is not supported in triton")
        else:
            raise self.unsupported(target, f"cannot assign to {type(target).__name__}")

    def visit_Slice(self, node: ast.Slice) -> language_slice:
        return language_slice(*(unwrap(self.visit(part)) for part in (node.lower, node.upper, node.step)))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> constexpr:
        parts: list[str] = []
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts.append(str(value.value))
                continue
            assert isinstance(value, ast.FormattedValue)
            evaluated = self.visit(value.value)
            if isinstance(evaluated, tensor):
                raise self.unsupported(
                    node,
                    "Cannot evaluate f-string containing non-constexpr conversion values, found conversion of type "
                    f"{type(evaluated)}",
                    "print run-time values with tl.device_print",
                )
            form = "" if value.conversion < 0 else "!" + chr(value.conversion)
            spec = "" if value.format_spec is None else ":" + unwrap(self.visit(value.format_spec))
            check_format(spec)
            parts.append(f"{{{form}{spec}}}".format(unwrap(evaluated)))
        return constexpr("".join(parts))

    def visit_BinOp(self, node: ast.BinOp) -> object:
        lhs, rhs = self.visit(node.left), self.visit(node.right)
        return self.binary(node, lhs, rhs)

    def binary(self, node: ast.BinOp | ast.AugAssign, lhs: object, rhs: object) -> object:
        """`lhs op rhs` for the operator of `node`."""
        if isinstance(lhs, aggregate_value) or isinstance(rhs, aggregate_value):
            return self._by_method(node, type(node.op), lhs, rhs)
        found = BINARY.get(type(node.op))
        emit, static = found or (None, None)
        dynamic = (
            type(lhs) is tensor or type(rhs) is tensor or isinstance(lhs, handle_value) or isinstance(rhs, handle_value)
        )
        if static is None or (emit is None and dynamic):
            raise self.unsupported(
                node,
                f"AST binary operator '{type(node.op).__name__}' is not (currently) implemented.",
                INSTEAD.get(type(node.op)),
            )
        if emit is not None and dynamic:
            return emit(self.b, unwrap(lhs), unwrap(rhs))
        if type(lhs) is language_tuple or type(rhs) is language_tuple:
            return static(*(language_tuple(x.value) if _is_static_tuple(x) else x for x in (lhs, rhs)))
        return wrapped(static(unwrap(lhs), unwrap(rhs)))

    def _by_method(
        self, node: ast.AST, kind: type[ast.operator | ast.cmpop | ast.unaryop], *operands: object
    ) -> object:
        """An operator that an aggregate among `operands` defines: the left one's method, else the right one's."""
        for owner, other, name in zip(operands, reversed(operands), METHODS.get(kind, ()), strict=False):
            if isinstance(owner, aggregate_value) and hasattr(owner, name):
                result = self.call(node, self.attribute(owner, name), [other] if len(operands) == 2 else [], {})
                if unwrap(result) is not NotImplemented:
                    return result
        kinds = " and ".join(type(unwrap(operand)).__name__ for operand in operands)
        raise self.unsupported(
            node,
            f"operator '{kind.__name__}' is not defined for {kinds}",
            f"give the aggregate a method {METHODS[kind][0]}",
        )

    def visit_Compare(self, node: ast.Compare) -> object:
        values = self._comparisons(node)
        return self._combined(values, conjunction=True) if len(node.ops) > 1 else next(iter(values))

    def _comparisons(self, node: ast.Compare) -> Iterable[object]:
        """Each comparison of a chain, made when it is asked for; what stands between two of them is evaluated once."""
        lhs = self.visit(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            rhs = self.visit(comparator)
            yield self._compared(node, type(op), lhs, rhs)
            lhs = rhs

    def _compared(self, node: ast.Compare, kind: type[ast.cmpop], lhs: object, rhs: object) -> object:
        if kind is ast.Is or kind is ast.IsNot:
            return constexpr((unwrap(lhs) is unwrap(rhs)) is (kind is ast.Is))
        found = COMPARISONS.get(kind)
        if found is None:
            raise self.unsupported(node, f"AST comparison operator '{kind.__name__}' is not (currently) implemented.")
        if isinstance(lhs, aggregate_value) or isinstance(rhs, aggregate_value):
            return self._by_method(node, kind, lhs, rhs)
        symbol, static = found
        if type(lhs) is tensor or type(rhs) is tensor:
            return arithmetic.compare(self.b, symbol, unwrap(lhs), unwrap(rhs))
        return constexpr(static(unwrap(lhs), unwrap(rhs)))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> object:
        operand = self.visit(node.operand)
        if isinstance(operand, aggregate_value):
            return self._by_method(node, type(node.op), operand)
        emit, static = UNARY[type(node.op)]
        if type(operand) is tensor:
            return emit(self.b, operand)
        if type(operand) is language_tuple:
            raise self.unsupported(
                node,
                f"AST unary operator '{type(node.op).__name__}' is not (currently) implemented on type tuple",
            )
        return constexpr(static(unwrap(operand)))

    def visit_BoolOp(self, node: ast.BoolOp) -> object:
        return self._combined(self._operands(node), conjunction=isinstance(node.op, ast.And))

    def _operands(self, node: ast.BoolOp) -> Iterable[object]:
        for operand in node.values:
            value = self.visit(operand)
            if type(value) is tensor and value.type.is_block():
                self._warn_block_condition(node)
            yield value

    def _combined(self, values: Iterable[object], *, conjunction: bool) -> object:
        """All of `values` by `and` or `or`: those after a compile-time one that decides are not asked for."""
        emit = arithmetic.logical_and if conjunction else arithmetic.logical_or
        dynamic: list[tensor] = []
        value: object = None
        for value in values:
            if type(value) is tensor:
                dynamic.append(value)
            elif bool(unwrap(value)) is not conjunction:
                return value
        if not dynamic:
            return value
        while len(dynamic) > 1:
            rhs, lhs = dynamic.pop(), dynamic.pop()
            dynamic.append(emit(self.b, lhs, rhs))
        return dynamic[0]

    def _warn_block_condition(self, node: ast.BoolOp) -> None:
        warnings.warn_explicit(
            "Logical operators 'and' and 'or' are deprecated for non-scalar tensors; please use '&' or '|' instead",
            category=UserWarning,
            filename=self.generator.fn.file_name,
            lineno=self.generator.fn.begin_line - 1 + node.lineno,
        )

    def static_condition(self, node: ast.AST, condition: object) -> bool:
        """The value of a compile-time condition."""
        condition = unwrap(condition)
        if type(condition) not in _CONDITION_TYPES:
            names = ", ".join(t.__name__ for t in _CONDITION_TYPES)
            raise self.unsupported(
                node,
                f"`if` conditionals can only accept values of type {{{names}}}, not objects of type "
                f"{type(condition).__name__}",
            )
        return bool(condition)

    def visit_IfExp(self, node: ast.IfExp) -> object:
        condition = self.visit(node.test)
        if type(condition) is not tensor:
            return self.visit(node.body if self.static_condition(node, condition) else node.orelse)
        for branch in (node.body, node.orelse):
            self.refuse_assignment(branch, "in a branch that depends on a run-time condition")
        condition = self.scalar_condition(node, condition)
        location = self.b.location
        regions: list[Region] = []
        found: list[object] = []
        blocks: list[Block] = []
        for branch in (node.body, node.orelse):
            region, block = self.b.region()
            with self.b.in_block(block):
                found.append(self.visit(branch))
            regions.append(region)
            blocks.append(block)
        if all(unwrap(value) is None for value in found):
            for block in blocks:
                block.add_op(scf.YieldOp())
            self.b.location = location
            self.b.insert(scf.IfOp.create(operands=(condition.handle,), regions=regions))
            return None
        values: list[tensor] = []
        for value, block in zip(found, blocks, strict=True):
            with self.b.in_block(block):
                values.append(to_tensor(self.b, value))
                self.b.insert(scf.YieldOp(values[-1].handle))
        if values[0].type != values[1].type:
            raise LanguageTypeError(
                "Ternary expression with dynamic condition has inconsistent types "
                f"{values[0].type} and {values[1].type}"
            )
        self.b.location = location
        op = scf.IfOp.create(operands=(condition.handle,), result_types=(values[0].handle.type,), regions=regions)
        return tensor(self.b.value(op), values[0].type)

    def refuse_assignment(self, node: ast.expr, where: str) -> None:
        """Raises if `node` assigns a variable by `:=`."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                raise self.unsupported(inner, f"`:=` is not supported {where}", "assign in a statement of its own")

    def scalar_condition(self, node: ast.If | ast.IfExp | ast.While, condition: tensor) -> tensor:
        """A run-time condition as one i1. Raises for a block of several elements."""
        if condition.type.is_block():
            if condition.type.numel != 1:
                raise self.unsupported(
                    node,
                    "Boolean value of Tensor with more than one value is ambiguous",
                    "select elements with tl.where, or reduce the condition to a scalar",
                )
            warnings.warn(
                "If conditional called with multidimensional Tensor instead of scalar; please use "
                f'"if ({ast.unparse(node.test)}).item()" instead',
                stacklevel=2,
            )
            condition = unsplat(self.b, condition)
        return cast(self.b, condition, dt.int1)

    def visit_Attribute(self, node: ast.Attribute) -> object:
        owner = self.visit(node.value)
        if type(owner) is constexpr and isinstance(owner.value, (int, float)) and not hasattr(owner, node.attr):
            self._refuse_attribute(node, owner.value)
        return self.attribute(owner, node.attr)

    def _refuse_attribute(self, node: ast.Attribute, number: int | float) -> None:
        """Raises `LanguageTypeError` for a method or property of tensors that is asked of a number."""
        if hasattr(number, node.attr):
            return
        why = self.generator.why_constant(node.value.id) if isinstance(node.value, ast.Name) else ""
        raise LanguageTypeError(
            f"{ast.unparse(node.value)} is the compile-time constant {number!r}, which lacks the attribute {node.attr!r}{why}",
            f"convert it by tl.cast({ast.unparse(node.value)}, dtype)"
            if node.attr == "to"
            else "tl.full makes a tensor of it",
        )

    def attribute(self, owner: object, name: str) -> object:
        """`owner.name`."""
        if type(owner) is tensor:
            if name == "T":
                return permute(self.b, owner, 1, 0)
            found = core.cast if name == "to" else tensor.members.get(name)
            if found is not None:
                return BoundMethod(owner, found)
            if name in TENSOR_METHODS:
                return partial(TENSOR_METHODS[name], self.b, owner)
        elif isinstance(owner, (handle_value, tensor_descriptor)):
            found = owner.members.get(name)
            if found is not None:
                return BoundMethod(owner, found)
        elif type(owner) is constexpr and name not in ("value", "type"):
            owner = owner.value
        value = getattr(owner, name)
        if isinstance(owner, base_value) and is_function(value):
            return BoundMethod(owner, value)
        return value

    def visit_Subscript(self, node: ast.Subscript) -> object:
        owner, at = self.visit(node.value), self.visit(node.slice)
        if type(owner) is tensor:
            return index(self.b, owner, unwrap(at))
        if type(owner) is language_tuple:
            return owner[at]
        if isinstance(owner, aggregate_value):
            return self.call(node, unwrap(self.attribute(owner, "__getitem__")), [at], {})
        if isinstance(owner, ModuleType):
            raise LanguageTypeError(f"module {owner.__name__} cannot be subscripted")
        key = unwrap(at)
        if isinstance(key, language_slice):
            key = builtins.slice(key.start, key.stop, key.step)
        return wrapped(unwrap(owner)[key])


def _is_static_tuple(value: object) -> TypeGuard[constexpr]:
    return type(value) is constexpr and isinstance(value.value, (tuple, list))
