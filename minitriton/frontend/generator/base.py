"""State of the compilation of one function, shared by all visitors of its syntax tree: scopes, location, errors.

Names are looked up among locals, then globals (only those a kernel may use), then Python's few builtins.
"""

import ast
import contextlib
from collections import abc
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, ClassVar

from xdsl.ir import Operation, SSAValue

from minitriton import knobs
from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.errors import SourceLocation
from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.errors import (
    INSTEAD,
    CompilationError,
    GlobalVariableError,
    LanguageValueError,
    UnsupportedLanguageConstruct,
    help_for,
    location_of,
    without_help,
)
from minitriton.frontend.function import JITCallable
from minitriton.frontend.semantic.values import to_tensor
from minitriton.host import debuggers
from minitriton.language import core
from minitriton.language.aggregates import aggregate_type, aggregate_value
from minitriton.language.declare import BoundConstexprFunction, ConstexprFunction, LibraryFunction
from minitriton.language.descriptors import tensor_descriptor, tensor_descriptor_type
from minitriton.language.dtypes import base_type, constexpr_type, dtype, tuple_type
from minitriton.language.values import base_value, constexpr, handle_type, handle_value, tensor, type_of, unwrap
from minitriton.language.values import tuple as language_tuple

_ABSENT = object()


class _UnassignedConstant:
    def __repr__(self) -> str:
        return "a constant without a value"


UNASSIGNED_CONSTANT = _UnassignedConstant()
"""What a name means after `name: tl.constexpr`: the first value that it is given is one of compile time."""

Scope = dict[str, object]
"""What each local variable holds: a value of the IR, or anything that is known while compiling."""

BUILTIN_NAMES: dict[str, object] = {
    f.__name__: f for f in (len, list, range, float, int, bool, str, isinstance, getattr, hasattr, tuple)
}
BUILTIN_NAMES.update(
    breakpoint=debuggers.at_breakpoint, print=core.device_print, min=core.builtin_min, max=core.builtin_max
)


def is_static(value: object) -> bool:
    """Whether `value` is known at compile time and takes no part in the IR."""
    return value is None or isinstance(
        value, (constexpr, dtype, JITCallable, LibraryFunction, ConstexprFunction, int, float, str)
    )


def flatten(value: object, into: list[SSAValue]) -> list[SSAValue]:
    """Appends the SSA values that make up `value`."""
    if type(value) is tensor or isinstance(value, handle_value):
        into.append(value.handle)
    elif isinstance(value, tensor_descriptor):
        into.append(value.handle)
        flatten(value.shape, into)
        flatten(value.strides, into)
    elif type(value) is language_tuple:
        for element in value.values:
            flatten(element, into)
    elif isinstance(value, aggregate_value):
        for name in value.fields:
            flatten(getattr(value, name), into)
    return into


def flatten_all(values: Iterable[object]) -> list[SSAValue]:
    """The SSA values that make up all of `values`, in order."""
    handles: list[SSAValue] = []
    for value in values:
        flatten(value, handles)
    return handles


def rebuild(type: base_type, handles: Sequence[SSAValue], cursor: int) -> tuple[base_value, int]:
    """A value of `type` made of the SSA values from `cursor` on, and the position after them."""
    if isinstance(type, dtype):
        return tensor(handles[cursor], type), cursor + 1
    if isinstance(type, tuple_type):
        return _rebuilt_tuple(type, handles, cursor)
    if isinstance(type, constexpr_type):
        return constexpr(type.value), cursor
    if isinstance(type, aggregate_type):
        fields: dict[str, object] = {}
        for name, field in type.fields.items():
            fields[name], cursor = rebuild(field, handles, cursor)
        return type.cls.of(fields), cursor
    if isinstance(type, tensor_descriptor_type):
        shape, after = _rebuilt_tuple(type.shape_type, handles, cursor + 1)
        strides, after = _rebuilt_tuple(type.strides_type, handles, after)
        return type.value(handles[cursor], shape.values, strides.values), after
    if isinstance(type, handle_type):
        return type.value(handles[cursor]), cursor + 1
    raise TypeError(f"no value of type {type} is made of SSA values")


def _rebuilt_tuple(type: tuple_type, handles: Sequence[SSAValue], cursor: int) -> tuple[language_tuple, int]:
    values: list[base_value] = []
    for element in type.types:
        value, cursor = rebuild(element, handles, cursor)
        values.append(value)
    return language_tuple(values, type), cursor


def rebuild_all(types: Iterable[base_type], handles: Sequence[SSAValue]) -> list[base_value]:
    """The values of `types` that `handles` make up."""
    cursor = 0
    values: list[base_value] = []
    for type in types:
        value, cursor = rebuild(type, handles, cursor)
        values.append(value)
    return values


def is_ir_value(value: object) -> bool:
    """Whether `value` is made of SSA values: a tensor, a descriptor, an aggregate, or a tuple with one of these."""
    if isinstance(value, language_tuple):
        return any(map(is_ir_value, value.values))
    return isinstance(value, (tensor, handle_value, tensor_descriptor, aggregate_value))


def copied_scope(scope: Scope) -> Scope:
    """A copy of `scope` for a region: aggregates, which methods change in place, are copied too."""
    return {
        name: value.of({field: getattr(value, field) for field in value.fields})
        if isinstance(value, aggregate_value)
        else value
        for name, value in scope.items()
    }


def wrapped(value: object) -> base_value | None:
    """A Python result as kernels see it: tensors, dtypes and functions as they are, tuples of such, the rest as `constexpr`."""
    if type(value) is tensor or value is None or isinstance(value, base_value):
        return value
    if instance_of(value, TUPLE):
        fields = getattr(type(value), "_fields", None)
        elements = [constexpr(None) if v is None else wrapped(v) for v in value]
        return language_tuple(elements, tuple_type([type_of(v) for v in elements], fields) if fields else None)
    return constexpr(value)


class Generator:
    """Compiles the body of a function into the builder's current block: its scopes, location and errors, until the next `begin`.

    What a syntax node becomes is said by the visitors of its kind (`Expressions`, `Calls`, `Statements`, `Branches`, `Loops`),
    which share this object.
    """

    visitors: ClassVar[dict[type[ast.AST], tuple[int, Callable[..., object]]]] = {}
    """Kind of syntax node → which of `parts` visits it, and the method that does; filled by `CodeGenerator`."""

    def __init__(self, builder: IRBuilder) -> None:
        self.parts: tuple[object, ...] = ()
        self.b = builder

    def begin(self, fn: JITCallable) -> dict[str, object]:
        """Turns to the body of `fn`. Gives what `end` takes to go on with the function before."""
        outer = vars(self).copy()
        self.fn = fn
        self.gscope = fn.get_capture_scope()
        self.lscope: Scope = {}
        self.local_defs: Scope = {}
        self.current: ast.AST = ast.Pass()
        self.region_depth = 0
        """How many structured regions (loops, `scf.if`) surround the current statement; `return` leaves none of them."""
        self.terminated = False
        """Whether the current block ends already: what follows is never executed."""
        self.return_type: base_type | None = None
        self.returns: list[tuple[Operation, base_value | None]] = []
        self.lost: dict[str, str] = {}
        """Why a local variable that has no value had to lose it, by name."""
        self._known_globals: dict[str, object] = {}
        return outer

    def end(self, outer: dict[str, object]) -> None:
        """Goes on with the function that was being compiled at `begin`, which gave `outer`."""
        vars(self).update(outer)

    def visit(self, node: Any) -> object:
        """Compiles one syntax node. Errors leave with the node's location."""
        found = self.visitors.get(node.__class__)
        if found is None:
            if node is None:
                return None
            raise self.unsupported(
                node,
                f"unsupported AST node type: {type(node).__name__}",
                INSTEAD.get(node.__class__, "kernels hold assignments, calls, if, for and while"),
            )
        lazy_location = node.lazy_location
        b = self.b
        outer = self.current
        if lazy_location is not None:
            b.lazy_location = lazy_location
            self.current = node
        try:
            part, method = found
            result = method(self.parts[part], node)
        except (CompilationError, RecursionError):
            raise
        except Exception as error:
            if knobs.compilation.front_end_debugging:
                raise
            raise self.error(
                node if lazy_location is not None else self.current, self.describe(error), help_for(error, self.lscope)
            ) from None
        self.current = outer
        if b.seen is not None and isinstance(node, ast.expr):
            b.seen(self.fn, node, result)
        if lazy_location is not None:
            # Triton's rule: an op has the location of the last expression finished before it, not of the one it belongs to.
            b.lazy_location = lazy_location
        return result

    @staticmethod
    def describe(error: Exception) -> str:
        """The message of an error of the language, or type and message of any other."""
        message = without_help(error)
        if hasattr(error, "help") or isinstance(error, NameError):
            return message
        return f"{type(error).__name__}: {message}"

    def location_of(self, node: ast.AST) -> SourceLocation | None:
        return location_of(node, self.fn.file_name, self.fn.begin_line)

    def error(self, node: ast.AST, message: str | None, help: str | None = None) -> CompilationError:
        return CompilationError(self.fn.src, node, message, location=self.location_of(node), help=help)

    def unsupported(self, node: ast.AST, message: str, help: str | None = None) -> UnsupportedLanguageConstruct:
        return UnsupportedLanguageConstruct(self.fn.src, node, message, location=self.location_of(node), help=help)

    def why_constant(self, name: str) -> str:
        """Why variable `name` is a compile-time constant, to end a message with: empty unless it is a parameter that was given one."""
        value = self.lscope.get(name)
        param = next((p for p in self.fn.params if p.name == name), None)
        if param is None or param.is_constexpr or type(value) is not constexpr:
            return ""
        constants = "arguments equal to 1" if value.value == 1 else "constants passed in a call"
        return f": parameter {name} was given {value.value!r}, and {constants} are compile-time constants"

    def lookup(self, name: str) -> object:
        """What `name` means here."""
        value = self.lscope.get(name, _ABSENT)
        if value is UNASSIGNED_CONSTANT:
            raise LanguageValueError(
                f"{name} is not assigned yet", "give it one first, and not under a condition that only the run knows"
            )
        if value is not _ABSENT:
            return value
        value = self._known_globals.get(name, _ABSENT)
        if value is _ABSENT:
            value = self._known_globals[name] = self._lookup_global(name)
        return value

    def _lookup_global(self, name: str) -> object:
        value = self.gscope.get(name, _ABSENT)
        if value is _ABSENT:
            value = BUILTIN_NAMES.get(name, _ABSENT)
            if value is _ABSENT:
                why = f": {self.lost[name]}" if name in self.lost else ""
                raise NameError(f"{name} is not defined{why}", name=name)
            return value
        if not (name in BUILTIN_NAMES or _usable_global(value)) and not knobs.compilation.allow_non_constexpr_globals:
            raise GlobalVariableError(
                f"Cannot access global variable {name} from within @jit'ed function. Triton kernels can only access "
                "global variables that are instanstiated as constexpr (`x = triton.language.constexpr(42)`). Note that "
                "this is different from annotating a variable as constexpr (`x: triton.language.constexpr = 42`), "
                "which is not supported.  Alternatively, set the envvar TRITON_ALLOW_NON_CONSTEXPR_GLOBALS=1, but we "
                "do not promise to support this forever.",
                f"write `{name} = tl.constexpr(...)` where it is defined, or pass it as a tl.constexpr parameter",
            )
        return value

    def know(self, name: str, value: object) -> None:
        """Makes `name` mean `value` in the rest of the function, as a global does."""
        self._known_globals[name] = value

    def bind(self, name: str, value: object) -> None:
        """Assigns a local variable."""
        self.lscope[name] = value
        self.local_defs[name] = value

    @contextlib.contextmanager
    def names_of_its_own(self, names: abc.Set[str]) -> abc.Generator[None]:
        """Within it `names` may be bound; after it they mean what they did before."""
        scopes = (self.lscope, self.local_defs)
        before = [{name: scope[name] for name in names & scope.keys()} for scope in scopes]
        yield
        for scope, values in zip(scopes, before, strict=True):
            for name in names:
                scope.pop(name, None)
            scope.update(values)

    def bind_results(self, names: Iterable[str], values: Iterable[object], op: Operation) -> None:
        """Assigns local variables what `op` gives for `values`, which it has instead of them."""
        for name, value in zip(names, rebuild_all(map(type_of, values), list(op.results)), strict=True):
            self.bind(name, value)

    def as_variable(self, value: object) -> object:
        """What a variable holds after `x = value`: numbers become tensors, so that loops and branches can change them."""
        if type(value) is tensor:
            return value
        if type(value) is language_tuple:
            elements = [constexpr(None) if (v := self.as_variable(e)) is None else v for e in value.values]
            return language_tuple(elements, tuple_type([type_of(v) for v in elements], value.type.fields))
        value = unwrap(value)
        if isinstance(value, (bool, int, float)):
            return to_tensor(self.b, value)
        if instance_of(value, TUPLE):
            return self.as_variable(wrapped(value))
        if value is None or isinstance(value, (dtype, base_value)) or is_function(value):
            return value
        return to_tensor(self.b, value)


def is_function(value: object) -> bool:
    """Whether `value` is a function that kernels can call at run time."""
    return isinstance(value, (JITCallable, LibraryFunction))


def _usable_global(value: object) -> bool:
    if type(value) is ModuleType or value is None:
        return True
    if isinstance(value, (constexpr, dtype, JITCallable, BoundConstexprFunction)):
        return True
    if getattr(value, "__triton_builtin__", False) or getattr(value, "__triton_aggregate__", False):
        return True
    if (getattr(value, "__module__", None) or "").startswith("minitriton.language"):
        return True
    return hasattr(value, "_fields") and isinstance(value, type) and issubclass(value, tuple)
