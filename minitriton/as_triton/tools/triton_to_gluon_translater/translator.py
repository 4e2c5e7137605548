"""`convert_triton_to_gluon([kernel])`: the source of a module in Gluon that does what a kernel of `tl` does, with
all functions that it calls.

    x = tl.load(p + tl.arange(0, N))         →    x = ttgl.load(p + tl_arange(0, N))
    y = tl.sum(x[:, None] * w, axis=0)       →    y = reset_to_default_layout(ttgl.sum(tl_expand_dims(x, 1) * w, axis=0))

Each tensor has the default layout of its shape (`translator_helpers.default_blocked_layout`): what makes tensors
asks for it, what changes a shape or leaves out an axis is converted to it. So operands always agree. The kernel is correct, not fast: a start for one by hand.
"""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Mapping
from typing import Any, cast

import minitriton
import minitriton.language.gluon as gluon_language
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.frontend.function import JITCallable, compiled_function, described
from minitriton.language.declare import Builtin, ConstexprFunction, LibraryFunction
from minitriton.language.descriptors import tensor_descriptor
from minitriton.language.dtypes import dtype
from minitriton.language.iterators import range as language_range
from minitriton.language.iterators import static_range
from minitriton.language.values import constexpr, tensor, unwrap

_IMPORTS = """from {package}.experimental import gluon
from {package}.experimental.gluon import language as ttgl
from {package}.tools.triton_to_gluon_translater.translator_helpers import *
"""

HELPERS = {
    "arange": "tl_arange", "full": "tl_full", "zeros": "tl_zeros", "trans": "tl_trans", "dot": "tl_dot", "cat": "tl_cat",
    "broadcast_to": "tl_broadcast_to", "expand_dims": "tl_expand_dims", "histogram": "tl_histogram", "num_threads": "get_num_threads_per_program",
    "make_tensor_descriptor": "tl_make_tensor_descriptor", "load_tensor_descriptor": "tl_load_tensor_descriptor",
    "store_tensor_descriptor": "tl_store_tensor_descriptor", "debug_barrier": "ttgl.thread_barrier", "clamp": "tl_clamp",
    "promote_bfloat16_to_float32": "tl_promote_bfloat16_to_float32", "dot_scaled": "tl_dot_scaled",
}  # fmt: skip
"""Functions of `tl` by which another one stands here: they make tensors, or Gluon has them by another name."""

_OF_METHODS = {
    **{name: f"tl_obj_{name}" for name in ("load", "store", "gather", "scatter")},
    "expand_dims": "tl_expand_dims",
}
"""Methods that become helpers, whose first argument is the object."""

RESHAPED = frozenset([
    "reshape", "trans", "permute", "join", "reduce", "split", "sum", "max", "min", "xor_sum", "reduce_or", "ravel",
    "gather", "view",
])  # fmt: skip
"""Functions and methods whose result has another shape than their operand, and with it another layout."""


def convert_triton_to_gluon(src: list[JITCallable]) -> str:
    """The source. The module must be written to a file to be imported, as all kernels. Raises `MinitritonError`, at
    the kernel's line, for what Gluon lacks."""
    program = _Program()
    for function in src:
        program.name_of(function)
    functions = [program.translated(name, function) for name, function in program.pending()]
    # Constants first: the functions that use them are below.
    package = "triton" if sys.modules.get("triton") is minitriton else "minitriton"
    return "\n\n".join([_IMPORTS.format(package=package), *program.constants.values(), *functions]) + "\n"


class _Program:
    """The functions met so far, and the constants outside them."""

    def __init__(self) -> None:
        self.names: dict[JITCallable, str] = {}
        self.constants: dict[str, str] = {}

    def name_of(self, function: JITCallable) -> str:
        """The name of its translation, which is made if it is new."""
        if function not in self.names:
            name, taken = function.__name__, set(self.names.values())
            while name in taken:
                name += "_"
            self.names[function] = name
        return self.names[function]

    def pending(self) -> Any:
        """Functions in the order in which they are met, those that the translation of others meets too."""
        done = 0
        while done < len(self.names):
            function, name = list(self.names.items())[done]
            done += 1
            yield name, function

    def translated(self, name: str, function: JITCallable) -> str:
        tree = copy.deepcopy(function.parse())
        definition = cast(ast.FunctionDef, tree.body[0])
        definition.name = name
        is_constexpr = function in _constexpr_functions
        definition.decorator_list = [_expression("gluon.constexpr_function" if is_constexpr else "gluon.jit")]
        first = definition.body[0]
        if len(definition.body) > 1 and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            del definition.body[0]
        return ast.unparse(ast.fix_missing_locations(_Translation(self, function, definition).visit(definition)))


_constexpr_functions: set[JITCallable] = set()
"""Those that are Python, run while a kernel is compiled."""


def _expression(text: str) -> Any:
    return ast.parse(text, mode="eval").body


def _called(name: str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.Call:
    return ast.Call(func=_expression(name), args=list(args), keywords=keywords or [])


class _Translation(ast.NodeTransformer):
    """Of one function."""

    def __init__(self, program: _Program, function: JITCallable, definition: ast.FunctionDef) -> None:
        self.program, self.function = program, function
        self.scope: Mapping[str, object] = function.get_capture_scope()
        self.local = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.local |= {n.arg for n in ast.walk(definition) if isinstance(n, ast.arg)}

    def resolved(self, node: ast.expr) -> Any:
        """The object outside the function that an expression names; None for others."""
        if isinstance(node, ast.Name):
            return None if node.id in self.local else self.scope.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.resolved(node.value)
            return None if base is None else getattr(base, node.attr, None)
        return None

    def refused(self, node: ast.expr, what: str) -> MinitritonError:
        location = SourceLocation(self.function.file_name, self.function.begin_line + node.lineno - 1)
        return MinitritonError(
            f"{what} is without a counterpart in Gluon that the translator knows",
            location,
            help="write this part of the kernel by hand",
        )

    def visit_Call(self, node: ast.Call) -> ast.expr:
        callee = unwrap(self.resolved(node.func))
        if callee is None:
            return (
                self._method(node) if isinstance(node.func, ast.Attribute) else cast(ast.expr, self.generic_visit(node))
            )
        args = [self.visit(arg) for arg in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords if k.arg != "can_reorder"]
        name = getattr(callee, "__name__", "")
        if callee is language_range:
            return _called("range", *args[:3], keywords=[k for k in keywords if k.arg in ("arg1", "arg2", "step")])
        if callee is static_range:
            return _called("ttgl.static_range", *args, keywords=keywords)
        if isinstance(callee, (Builtin, LibraryFunction)):
            return self._of_the_language(node, cast(object, callee), name, args, keywords)
        return ast.Call(func=self.visit(node.func), args=args, keywords=keywords)

    def _of_the_language(
        self, node: ast.Call, callee: object, name: str, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> ast.expr:
        if name in HELPERS:
            return _called(HELPERS[name], *args, keywords=keywords)
        if name == "split":
            args = [_called("set_split_src_layout", args[0]), *args[1:]]
        if getattr(gluon_language, name, None) is callee:
            call = _called(f"ttgl.{name}", *args, keywords=keywords)
        elif hasattr(gluon_language.extra.libdevice, name) and not isinstance(callee, LibraryFunction):
            call = _called(f"ttgl.extra.libdevice.{name}", *args, keywords=keywords)
        elif isinstance(callee, LibraryFunction):
            call = _called(self.program.name_of(compiled_function(callee)), *args, keywords=keywords)
        else:
            raise self.refused(node, f"tl.{name}")
        return _called("reset_to_default_layout", call) if name in RESHAPED else call

    def _method(self, node: ast.Call) -> ast.expr:
        """A method of a tensor or descriptor. Of the library's methods, those that Gluon's tensors lack become functions."""
        assert isinstance(node.func, ast.Attribute)
        name, receiver = node.func.attr, self.visit(node.func.value)
        args = [self.visit(arg) for arg in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords if k.arg != "can_reorder"]
        if name in _OF_METHODS:
            return _called(_OF_METHODS[name], receiver, *args, keywords=keywords)
        if name == "split":
            receiver = _called("set_split_src_layout", receiver)
        member = getattr(tensor, name, None)
        if isinstance(member, LibraryFunction) and not hasattr(gluon_language, name):
            return _called(self.program.name_of(compiled_function(member)), receiver, *args, keywords=keywords)
        call = ast.Call(func=ast.Attribute(receiver, name, ast.Load()), args=args, keywords=keywords)
        return _called("reset_to_default_layout", call) if name in RESHAPED else call

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """`x[:, None]`: axes are put in one after the other."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        added = [isinstance(part, ast.Constant) and part.value is None for part in parts]
        whole = [isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step) for part in parts]
        if not any(added) or not all(a or w for a, w in zip(added, whole, strict=True)):
            return cast(ast.expr, self.generic_visit(node))
        value = self.visit(node.value)
        for axis, is_added in enumerate(added):
            value = _called("tl_expand_dims", value, ast.Constant(axis)) if is_added else value
        return value

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._named(node, self.resolved(node)) or cast(ast.expr, self.generic_visit(node))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.resolved(node)
        if isinstance(value, (constexpr, int, float, str, bool)) and isinstance(node.ctx, ast.Load):
            self.program.constants[node.id] = f"{node.id} = ttgl.constexpr({_spelled(unwrap(value))})"
            return node
        return self._named(node, value) or node

    def _named(self, node: ast.expr, value: object) -> ast.expr | None:
        """How what is not called is named: functions, types."""
        if isinstance(value, dtype):
            return _expression(
                f"ttgl.{value.name if hasattr(gluon_language, value.name) else cast(ast.Attribute, node).attr}"
            )
        if value is tensor_descriptor:
            return _expression("ttgl.nvidia.hopper.tma.tensor_descriptor")
        if isinstance(value, type) and value in (constexpr, tensor, dtype):
            return _expression(f"ttgl.{value.__name__}")
        if isinstance(value, ConstexprFunction):
            function = described(cast("ConstexprFunction[object]", value))
            _constexpr_functions.add(function)
            return _expression(self.program.name_of(function))
        if isinstance(value, LibraryFunction) and getattr(gluon_language, value.__name__, None) is not value:
            value = compiled_function(value)
        if isinstance(value, JITCallable):
            return _expression(self.program.name_of(value))
        if isinstance(value, (Builtin, LibraryFunction)):
            return _expression(f"ttgl.{value.__name__}")
        return None


def _spelled(value: object) -> str:
    return f"ttgl.{value.name}" if isinstance(value, dtype) else repr(value)
