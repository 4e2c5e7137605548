"""Statements that are neither branches nor loops: assignments, `return`, `assert`, expressions."""

from __future__ import annotations

import ast
import importlib

from minitriton.dialects import tt
from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.frontend.error_help import INSTEAD
from minitriton.frontend.errors import LanguageTypeError
from minitriton.frontend.generator.base import UNASSIGNED_CONSTANT, Generator, flatten, is_static, wrapped
from minitriton.frontend.generator.calls import Calls
from minitriton.frontend.generator.expressions import Expressions
from minitriton.frontend.semantic.program import device_assert
from minitriton.frontend.semantic.values import to_tensor
from minitriton.language.aggregates import aggregate_value
from minitriton.language.descriptors import tensor_descriptor
from minitriton.language.dtypes import tuple_type, void
from minitriton.language.values import base_value, constexpr, tensor, type_of, unwrap
from minitriton.language.values import tuple as language_tuple


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
        keeps = self.b.version >= (3, 7) and self._is_only_return()
        value = self._returnable(None if node.value is None else self.visit(node.value), keeps)
        type = void if value is None else value.type
        if self.generator.return_type is None:
            self.generator.return_type = type
        elif self.generator.return_type != type:
            raise LanguageTypeError(
                f"Inconsistent return types: {self.generator.return_type} and {type}",
                "every `return` must give the same type",
            )
        self.b.insert(tt.ReturnOp(flatten(value, [])))
        self.generator.terminated = True

    def _is_only_return(self) -> bool:
        """Whether the function has no other `return`."""
        return sum(isinstance(node, ast.Return) for node in ast.walk(self.generator.fn.parse())) == 1

    def _returnable(self, value: object, keeps: bool) -> base_value | None:
        """What a caller gets: numbers as tensors, since the call is an op, or with `keeps` as compile-time values."""
        if isinstance(value, language_tuple):
            elements = [self._returnable(v, keeps) if unwrap(v) is not None else constexpr(None) for v in value.values]
            return language_tuple(elements, tuple_type([type_of(e) for e in elements], value.type.fields))
        value = unwrap(value)
        if value is None or isinstance(value, (tensor, tensor_descriptor, aggregate_value)):
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
