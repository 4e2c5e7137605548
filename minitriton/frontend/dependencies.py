"""What a kernel's result depends on besides its own source: functions it calls and global values it reads.

In: the function's syntax tree and scopes. Out: a digest of the source and of everything called, and the globals used, with
the values they had, so that a launch can tell that one has changed.
"""

import ast
import builtins
import copy
import hashlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Protocol, cast

from minitriton.dialects.narrowing import instance_of
from minitriton.host import debuggers
from minitriton.host.identity import loose_key_of
from minitriton.language.aggregates import aggregate_value
from minitriton.language.declare import ConstexprFunction
from minitriton.language.dtypes import base_type
from minitriton.language.values import constexpr

_PYTHON_BUILTINS = frozenset(("float", "getattr", "int", "isinstance", "len", "list", "max", "min", "print", "range"))
_UNHASHED_MODULES = frozenset(("minitriton.language", "triton.language", "copy", "math"))
_LANGUAGE = "minitriton.language"


class PlainFunction(Exception):
    """A Python function where one of the language must stand."""


class Keyed(Protocol):
    """A function of the language, with the key of all that it depends on and the globals that the key was made with."""

    __name__: str

    @property
    def cache_key(self) -> str: ...

    @property
    def used_global_vals(self) -> dict[tuple[str, int], tuple[object, Mapping[str, object]]]: ...


_CONSTEXPR_FUNCTION: type[ConstexprFunction[object]] = ConstexprFunction


class DependenciesFinder(ast.NodeVisitor):
    """Walks a function once; `digest` and `used_global_vals` are the result."""

    def __init__(
        self,
        name: str,
        globals: dict[str, object],
        nonlocals: Mapping[str, object],
        source: str,
        describe: Callable[[ConstexprFunction[object]], Keyed],
    ) -> None:
        self.name = name
        self.describe = describe
        """What knows the key of a compile-time function."""
        self.globals = globals
        self.nonlocals = nonlocals
        self.hasher = hashlib.sha256(source.encode())
        self.used_global_vals: dict[tuple[str, int], tuple[object, Mapping[str, object]]] = {}
        self.local_names: set[str] = set()
        self.in_default = False
        self.in_body = False
        self.node: ast.AST | None = None
        """The name or attribute that is being looked up."""

    @property
    def digest(self) -> str:
        return self.hasher.hexdigest()

    def _record(self, value: object, scope: Mapping[str, object] | None = None, name: str = "") -> None:
        if value is None or type(value) is ModuleType:
            return
        if isinstance(value, base_type):
            if scope is not None and not self.in_default:
                self.used_global_vals[(name, id(scope))] = (value, scope)
        elif instance_of(value, _CONSTEXPR_FUNCTION):
            if not _module_of(value).startswith(_LANGUAGE):
                self._record_function(self.describe(value))
        elif callable(value) and not isinstance(value, constexpr) and _module_of(value).startswith(_LANGUAGE):
            return
        elif getattr(value, "__triton_aggregate__", False):
            made = cast(aggregate_value, value)
            self.hasher.update(loose_key_of((*made.fields.items(), *made.defaults.items())).encode())
            for attribute in made.hash_attrs:
                self._record(attribute)
        elif getattr(value, "__triton_builtin__", False):
            return
        elif hasattr(value, "cache_key") and hasattr(value, "used_global_vals"):
            self._record_function(cast(Keyed, value))
        elif callable(value) and not isinstance(value, (type, constexpr)) and not debuggers.stops(value):
            raise PlainFunction(f"Unsupported function referenced: {value}")
        elif scope is not None and not self.in_default:
            self.used_global_vals[(name, id(scope))] = (copy.deepcopy(value), scope)

    def _record_function(self, function: Keyed) -> None:
        key = function.cache_key
        for shared in self.used_global_vals.keys() & function.used_global_vals.keys():
            mine, theirs = self.used_global_vals[shared][0], function.used_global_vals[shared][0]
            if mine != theirs:
                raise RuntimeError(
                    f"Global variable {shared[0]} has value {mine} when compiling {self.name}, but inner kernel "
                    f"{function.__name__} has conflicting value {theirs} from when it was first compiled.  This is not allowed."
                )
        self.used_global_vals.update(function.used_global_vals)
        self.hasher.update(f"{key}{getattr(function, 'noinline', False)}".encode())

    def visit_Name(self, node: ast.Name) -> object:
        if type(node.ctx) is ast.Store:
            return node.id
        if node.id in self.local_names:
            return None
        self.node = node
        # A variable of an enclosing function hides a global, as in Python.
        scope: Mapping[str, object] = self.nonlocals if node.id in self.nonlocals else self.globals
        value = scope.get(node.id)
        if node.id in _PYTHON_BUILTINS:
            self._record_by_the_name_of_a_builtin(value, scope, node.id)
        else:
            self._record(value, scope, node.id)
        return value

    def _record_by_the_name_of_a_builtin(self, value: object, scope: Mapping[str, object], name: str) -> None:
        """A `max` of the program's own; it may be a plain function, which is called at compile time as Python's is."""
        if value is getattr(builtins, name):
            return
        try:
            self._record(value, scope, name)
        except PlainFunction:
            self.hasher.update(loose_key_of(value).encode())

    def visit_Tuple(self, node: ast.Tuple) -> list[object]:
        return [self.visit(element) for element in node.elts]

    def visit_Attribute(self, node: ast.Attribute) -> object:
        owner = self.visit(node.value)
        if owner is None or isinstance(owner, list) or getattr(owner, "__name__", "") in _UNHASHED_MODULES:
            return None
        value = getattr(owner, node.attr, None)
        self.node = node
        scope = (
            vars(owner) if isinstance(owner, (ModuleType, type)) and isinstance(value, (constexpr, base_type)) else None
        )
        self._record(value, scope, node.attr)
        return value

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if self.in_body:
            return  # The code generator refuses a function in a kernel, at its line.
        self.in_body = True
        self.local_names = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
        self.generic_visit(node)

    def visit_arguments(self, node: ast.arguments) -> None:
        for argument in (*node.posonlyargs, *node.args, node.vararg, *node.kwonlyargs, node.kwarg):
            if argument is not None:
                self.visit(argument)
        # Defaults were evaluated when the function was defined: a global that changed since has no effect.
        self.in_default = True
        for default in (*node.kw_defaults, *node.defaults):
            if default is not None:
                self.visit(default)
        self.in_default = False

    def _bind(self, target: ast.AST) -> None:
        for name in ast.walk(target):
            if isinstance(name, ast.Name):
                self.local_names.add(name.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._bind(node.targets[0])
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._bind(node.target)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._bind(node.target)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self._bind(node.target)
        self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        outside = set(self.local_names)
        for generator in node.generators:
            self._bind(generator.target)
        self.generic_visit(node)
        self.local_names = outside


def _module_of(value: object) -> str:
    return getattr(value, "__module__", None) or ""
