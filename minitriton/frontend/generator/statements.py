"""Statements that are neither branches nor loops: assignments, `return`, `assert`, expressions."""

import ast
import importlib

from minitriton.dialects import tt
from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.frontend.errors import INSTEAD, LanguageTypeError
from minitriton.frontend.generator.base import UNASSIGNED_CONSTANT, Generator, flatten, is_static, wrapped
from minitriton.frontend.generator.calls import Calls
from minitriton.frontend.generator.expressions import Expressions
from minitriton.frontend.semantic.program import device_assert
from minitriton.frontend.semantic.values import number_dtype, to_tensor
from minitriton.language.aggregates import aggregate_value
from minitriton.language.descriptors import tensor_descriptor
from minitriton.language.dtypes import base_type, constexpr_type, tuple_type, void
from minitriton.language.values import base_value, constexpr, handle_value, tensor, type_of, unwrap
from minitriton.language.values import tuple as language_tuple


def _common_type(a: base_type, b: base_type) -> base_type:
    """What a function returns that returns one and the other. Raises if no type is both."""
    if a == b:
        return a
    if isinstance(a, tuple_type) and isinstance(b, tuple_type) and (len(a.types), a.fields) == (len(b.types), b.fields):
        return tuple_type(list(map(_common_type, a.types, b.types)), a.fields)
    common = _run_time_type(a)
    if common != _run_time_type(b):
        raise LanguageTypeError(f"Inconsistent return types: {a} and {b}", "every `return` must give the same type")
    return common


def _run_time_type(type: base_type) -> base_type:
    if isinstance(type, constexpr_type) and isinstance(type.value, (bool, int, float)):
        return number_dtype(type.value)
    return type


class Statements:
    """Compiles simple statements, and lists of any."""

    def __init__(self, generator: Generator, expressions: Expressions, calls: Calls) -> None:
        self.generator = generator
        self.b = generator.b
        self.visit = generator.visit
        self.unsupported = generator.unsupported
        self.expressions = expressions
        self.calls = calls

    def run(self, statements: list[ast.stmt]) -> None:
        """Compiles statements in order, up to one that ends the block."""
        for statement in statements:
            self.visit(statement)
            if self.generator.terminated:
                return

    def visit_Pass(self, node: ast.Pass) -> None:
        pass

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.calls.visit_unused(node.value)
        elif not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.unsupported(node, "simultaneous multiple assignment is not supported", "use two statements")
        self.expressions.assign(node.targets[0], self.expressions.named_value(node.targets[0], node.value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        annotation = self.visit(node.annotation)
        if annotation is not constexpr:
            if node.value is not None:
                if self.b.is_verbatim:
                    self.visit(node.value)  # as Triton does, which assigns the second value
                self.expressions.assign(node.target, self.expressions.named_value(node.target, node.value))
            return
        name = self.visit(node.target)
        if not isinstance(name, str):
            self.expressions.assign(node.target, None)
        elif self.generator.lscope.get(name, UNASSIGNED_CONSTANT) is not UNASSIGNED_CONSTANT:
            raise ValueError(f"{name} is already defined. constexpr cannot be reassigned. Take another name.")
        elif node.value is None:
            self.generator.lscope[name] = UNASSIGNED_CONSTANT
        else:
            # Published kernels annotate what `tl.cdiv` gives of constants, a tensor: Triton takes it for what it is.
            value = self.visit(node.value)
            self.generator.lscope[name] = value if isinstance(value, tensor) else constexpr(value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            self.expressions.assign(node.target, None)
            return
        name = node.target.id
        self.b.name = name
        old = self.generator.lookup(name)
        value = self.expressions.binary(node, old, self.visit(node.value))
        self.generator.bind(name, self.generator.as_variable(value))
        self.b.name = None

    def visit_Return(self, node: ast.Return) -> None:
        if self.generator.region_depth:
            raise self.unsupported(
                node,
                "Cannot have `return` statements inside `while` or `for` statements in triton.",
                "set a variable in the loop and return after it",
            )
        value = self._returnable(None if node.value is None else self.visit(node.value), self.b.version >= (3, 7))
        type, known = void if value is None else value.type, self.generator.return_type
        self.generator.return_type = type if known is None else _common_type(known, type)
        self.generator.returns.append((self.b.insert(tt.ReturnOp(flatten(value, []))), value))
        self.generator.terminated = True

    def end_returns(self, result: base_type) -> None:
        """Every `return` gives `result`: numbers that are not the same in all of them become tensors."""
        for op, value in self.generator.returns:
            if value is not None and value.type != result:
                block = op.parent
                assert block is not None
                block.erase_op(op)
                self.b.block, self.b.location = block, op.location
                self.b.insert(tt.ReturnOp(flatten(self._as_returned(value, result), [])))

    def _as_returned(self, value: object, result: base_type) -> object:
        if isinstance(value, language_tuple) and isinstance(result, tuple_type):
            return language_tuple(
                [self._as_returned(v, t) for v, t in zip(value.values, result.types, strict=True)], result
            )
        return value if type_of(value) == result else to_tensor(self.b, value)

    def _returnable(self, value: object, keeps: bool) -> base_value | None:
        """What a caller gets: numbers as tensors, since the call is an op, or with `keeps` as compile-time values."""
        if isinstance(value, language_tuple):
            elements = [self._returnable(v, keeps) if unwrap(v) is not None else constexpr(None) for v in value.values]
            return language_tuple(elements, tuple_type([type_of(e) for e in elements], value.type.fields))
        value = unwrap(value)
        if value is None or isinstance(value, (tensor, handle_value, tensor_descriptor, aggregate_value)):
            return value
        if isinstance(value, (bool, int, float)):
            return constexpr(value) if keeps else to_tensor(self.b, value)
        if instance_of(value, TUPLE):
            return self._returnable(wrapped(value), keeps)
        if is_static(value):
            return constexpr(value)
        raise LanguageTypeError(f"cannot return {value!r} from a function")

    def visit_Import(self, node: ast.Import) -> None:
        """An import of a debugger, as is written before `pdb.set_trace()`: allowed where breakpoints stop the kernel."""
        if not self.b.is_debugged:
            raise self.unsupported(node, "unsupported AST node type: Import", INSTEAD[ast.Import])
        for alias in node.names:
            module = importlib.import_module(alias.name)
            self.generator.know(alias.asname or alias.name, module)

    def visit_Assert(self, node: ast.Assert) -> None:
        message = "" if node.msg is None else unwrap(self.visit(node.msg))
        if self.b.options.debug:
            device_assert(self.b, unwrap(self.visit(node.test)), message)
