"""Calls: of operations (through `emitters`), of functions in the language, and of Python at compile time.

tl.load(p, mask=m)     emitters.emitter_of(tl.load)(b, p, mask=m)
tl.sum(x, axis=0)      tt.call @"minitriton.language.standard.sum__fp32S128S__..."(%x), the function compiled once for these types
len(shape)             Python's own, on compile-time values
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType

from xdsl.ir import SSAValue

from minitriton import knobs
from minitriton.dialects import tt
from minitriton.dialects.narrowing import LIST, TUPLE, instance_of
from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.emitters import emitter_of
from minitriton.frontend.errors import (
    CompilationError,
    CompileTimeAssertionFailure,
    LanguageTypeError,
    LanguageValueError,
    call_help,
    help_for,
    without_help,
)
from minitriton.frontend.function import JITCallable, compiled_function
from minitriton.frontend.functions import CompiledFunctions, FunctionRecord
from minitriton.frontend.generator.base import Generator, flatten_all, is_static, rebuild, wrapped
from minitriton.frontend.generator.expressions import BoundMethod, unpacked
from minitriton.frontend.prepared_tree import lazy_location_of
from minitriton.host import debuggers
from minitriton.language import core
from minitriton.language.aggregates import aggregate_value
from minitriton.language.declare import BoundConstexprFunction, Builtin, ConstexprFunction, LibraryFunction
from minitriton.language.descriptors import tensor_descriptor
from minitriton.language.dtypes import base_type, void
from minitriton.language.values import Function, base_value, constexpr, handle_value, tensor, unwrap
from minitriton.language.values import tuple as language_tuple


class Semantic:
    """What a user's own operation is given as `_semantic`: it emits the operations that the body calls."""

    def __init__(self, calls: Calls, node: ast.AST) -> None:
        self._calls = calls
        self._node = node

    def call(self, function: Function, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        return self._calls.call(self._node, function, list(args), kwargs)


_IN_CALL = "in a function called from here"
_MADE_WHERE_USED = "pass its bounds, and write it in the `for` or `while` of that function"


def _where_documented(function: Builtin[..., object]) -> str:
    """For the cause of an error: the operation that refused, and the file where its documentation is found under its name."""
    is_core = getattr(core, function.__name__, None) is function
    file = core.__file__ if is_core else function.fn.__code__.co_filename
    return f"in the operation {function.__qualname__} of {file}"


_BUILTIN: type[Builtin[..., object]] = Builtin
_BOUND: type[BoundConstexprFunction[object]] = BoundConstexprFunction


class Calls:
    """Compiles calls; `functions` holds the functions called."""

    def __init__(self, generator: Generator, functions: CompiledFunctions) -> None:
        self.generator = generator
        self.b = generator.b
        self.visit = generator.visit
        self.unsupported = generator.unsupported
        self.functions = functions

    def visit_unused(self, node: ast.Call) -> None:
        self.b.lazy_location = lazy_location_of(node)
        self.generator.current = node
        function = unwrap(self.visit(node.func))
        target = function.function if isinstance(function, BoundMethod) else function
        reason = getattr(target, "_must_use_result", False)
        if reason:
            message = f"The result of {ast.unparse(node.func)} is not being used."
            raise self.generator.error(node, f"{message} {reason}" if isinstance(reason, str) else message)
        self._call_node(node, function)

    def visit_Call(self, node: ast.Call) -> object:
        return self._call_node(node, unwrap(self.visit(node.func)))

    def _call_node(self, node: ast.Call, function: Function | BoundMethod) -> object:
        if function is core.static_assert:
            return self._static_assert(node)
        kwargs: dict[str, object] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.unsupported(node, "`**` in a call is not supported")
            kwargs[keyword.arg] = self.visit(keyword.value)
            self.b.lazy_location = lazy_location_of(keyword)
        args: list[object] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                args.extend(unpacked(self.generator, argument))
            else:
                args.append(self.visit(argument))
        return self.call(node, function, args, kwargs)

    def call(
        self, node: ast.AST, function: Function | BoundMethod, args: Sequence[object], kwargs: dict[str, object]
    ) -> object:
        """The result of calling any object a kernel can name."""
        if isinstance(function, BoundMethod):
            args = [function.owner, *args]
            function = function.function
        if instance_of(function, _BUILTIN):
            return self._emit(node, function, args, kwargs)
        if isinstance(function, (JITCallable, LibraryFunction)):
            return self.call_function(function, args, kwargs)
        if debuggers.stops(function):
            return stop(self.b, function, self.generator.fn.fn, self.generator.lscope)
        callee: Function = function
        if isinstance(function, type) and issubclass(function, aggregate_value):
            return function.constructed(args, kwargs, Semantic(self, node))
        if isinstance(getattr(callee, "__self__", None), aggregate_value):
            return self._call_plain_method(node, callee, args, kwargs)
        if isinstance(function, type) and function.__module__.startswith("minitriton.language"):
            made = function(*args, **kwargs)
            return made if isinstance(made, (base_value, base_type)) else constexpr(made)
        try:
            result = callee(*(unwrap(a) for a in args), **{k: unwrap(v) for k, v in kwargs.items()})
        except Exception as error:
            if knobs.compilation.front_end_debugging or not isinstance(function, ConstexprFunction):
                raise
            raise self.generator.error(node, str(error)) from error
        return wrapped(result)

    def _call_plain_method(
        self, node: ast.AST, method: Callable[..., object], args: Sequence[object], kwargs: dict[str, object]
    ) -> base_value | None:
        """A method of an aggregate that is Python, run while compiling; `_semantic` emits for it if it asks."""
        if instance_of(method, _BOUND):
            return wrapped(method(*args, **kwargs))
        if "_semantic" in inspect.signature(method).parameters:
            kwargs = {**kwargs, "_semantic": Semantic(self, node)}
        return wrapped(method(*args, **kwargs))

    def _emit(
        self, node: ast.AST, function: Builtin[..., object], args: Sequence[object], kwargs: dict[str, object]
    ) -> base_value | None:
        if function is core.static_print:
            return constexpr(print(*map(unwrap, args), **{k: unwrap(v) for k, v in kwargs.items()}))
        try:
            if function.has_body:
                result = function.fn(*args, **kwargs, _semantic=Semantic(self, node))
            else:
                emit = emitter_of(function, self.b.is_gluon)
                result = emit(self.b, *[unwrap(a) for a in args], **{k: unwrap(v) for k, v in kwargs.items()})
        except (CompilationError, RecursionError):
            raise
        except Exception as error:
            if knobs.compilation.front_end_debugging:
                raise
            error.add_note(_where_documented(function))
            raise self.generator.error(
                node, without_help(error), help_for(error, self.generator.lscope) or call_help(function, error)
            ) from error
        return result if type(result) is tensor else wrapped(result)

    def _static_assert(self, node: ast.Call) -> None:
        given = [*node.args, *(k.value for k in node.keywords)]
        if not 0 < len(given) <= 2:
            raise TypeError("`static_assert` requires one or two positional arguments only")
        passed = unwrap(self.visit(given[0]))
        if not isinstance(passed, bool):
            raise NotImplementedError(
                "Assertion condition could not be determined at compile-time. Make sure that it depends only on "
                "`constexpr` values, or write tl.device_assert"
            )
        if passed:
            return
        message = f"static_assert: `{ast.unparse(given[0])}` does not hold"
        if len(given) == 2:
            try:
                message = str(unwrap(self.visit(given[1])))
            except Exception as error:
                message = f"<failed to evaluate assertion message: {error!r}>"
        raise CompileTimeAssertionFailure(
            self.generator.fn.src, node, message, location=self.generator.location_of(node)
        )

    def call_function(self, function: object, args: Sequence[object], kwargs: dict[str, object]) -> base_value | None:
        """Calls a function in the language, compiling it for these argument types if that has not been done."""
        fn = compiled_function(function)
        node = self.generator.current
        bound = [_argument(a) for a in _bind(fn, args, kwargs)]
        if fn.noinline:
            for name, value in zip(fn.arg_names, bound, strict=True):
                if isinstance(value, tensor) and value.type.is_block() and value.type.numel != 1:
                    raise self.unsupported(
                        node,
                        f"Function {fn.__name__} is marked noinline, but was called with non-scalar argument "
                        f"{name}:{value}",
                    )
        try:
            record = self.functions.get(fn, bound, self.b.partition_warps)
        except RecursionError:
            raise
        except Exception as error:
            if knobs.compilation.front_end_debugging:
                raise
            raise self._error_in_call(node, error) from error
        return self._insert_call(record, bound)

    def _error_in_call(self, node: ast.AST, error: Exception) -> CompilationError:
        """The error at a call for one inside the function called: the reason first, its location is the cause's."""
        raised = self.generator.error(node, None, getattr(error, "help", None))
        reason = getattr(error, "message", None) or str(error)
        inner = getattr(error, "location", None)
        where = f" (at {inner})" if inner is not None else ""
        raised.message = reason if reason.startswith(_IN_CALL) else f"{_IN_CALL}: {reason}{where}"
        return raised

    def _insert_call(self, record: FunctionRecord, args: list[object]) -> base_value | None:
        type = record.return_type
        result_types = record.result_types
        op = self.b.insert(tt.CallOp(record.symbol, flatten_all(args), result_types))
        if type == void:
            return None
        return rebuild(type, list(op.results), 0)[0]


_ARGUMENTS = (tensor, language_tuple, constexpr, handle_value, tensor_descriptor, aggregate_value)


def _argument(value: object) -> object:
    """An argument as the callee sees it: what is known at compile time is a `constexpr` (or None)."""
    if isinstance(value, _ARGUMENTS) or value is None:
        return value
    if instance_of(value, (TUPLE, LIST)):
        return wrapped(value if isinstance(value, tuple) else tuple(value))
    if is_static(value) or callable(value):
        return constexpr(value)
    if isinstance(value, base_value):  # a range, a condition
        raise LanguageTypeError(f"tl.{type(value).__name__} cannot be an argument of a function", _MADE_WHERE_USED)
    return value


def _bind(fn: JITCallable, args: Sequence[object], kwargs: dict[str, object]) -> list[object]:
    """The arguments in the order of the parameters, defaults filled in; those of `*rest` as one tuple. Raises as Python would."""
    params = fn.params
    help = f"{fn.__name__}({', '.join(fn.arg_names)})"
    positional = [p for p in params if p.kind is p.kind.POSITIONAL_ONLY or p.kind is p.kind.POSITIONAL_OR_KEYWORD]
    rest = next((p for p in params if p.kind is p.kind.VAR_POSITIONAL), None)
    if len(args) > len(positional) and rest is None:
        message = f"{fn.__name__}() takes {len(positional)} positional arguments but {len(args)} were given"
        raise LanguageTypeError(message, help)
    for name in kwargs:
        if name not in fn.arg_names or (rest is not None and name == rest.name):
            raise LanguageTypeError(f"{fn.__name__}() got an unexpected keyword argument '{name}'", help)
    bound = list(args[: len(positional)])
    for param in params[len(bound) :]:
        if param is rest:
            bound.append(language_tuple([_argument(each) for each in args[len(positional) :]]))
        elif param.name in kwargs:
            bound.append(kwargs.pop(param.name))
        elif param.has_default:
            bound.append(param.default)
        else:
            raise LanguageTypeError(f"{fn.__name__}() missing 1 required positional argument: '{param.name}'", help)
    for name in kwargs:
        raise LanguageTypeError(f"{fn.__name__}() got multiple values for argument '{name}'", help)
    return bound


# `breakpoint()` in a kernel for the interpreter: an op that takes the variables of the function where it stands.
#
# x = tl.load(p); breakpoint()    tt.breakpoint %p, %x     {"p": {"operand": 0, ...}, "x": {"operand": 1, ...}, "BLOCK": {"constant": "64"}}


def stop(b: IRBuilder, debugger: FunctionType, function: FunctionType, variables: Mapping[str, object]) -> None:
    """Stops in `debugger`, with the `variables` of `function` to look at. Raises unless the kernel is for the interpreter."""
    if not b.is_debugged:
        raise LanguageValueError(
            f"{debuggers.name_of(debugger).partition(':')[2]}() stops only kernels that run on the interpreter",
            "set TRITON_INTERPRET=1, or print by tl.device_print",
        )
    operands: list[SSAValue] = []
    described = {name: _described(value, operands) for name, value in variables.items()}
    hook = debuggers.name_of(debugger)
    names = {"module": function.__module__, "function": function.__name__}
    b.insert(tt.BreakpointOp(operands, hook=hook, variables=json.dumps(described), **names))


def _described(value: object, operands: list[SSAValue]) -> dict[str, object]:
    """How to make a variable's value of the op's operands, to which those of `value` are added."""
    if isinstance(value, (tensor, handle_value, tensor_descriptor)):
        operands.append(value.handle)
        unsigned = isinstance(value, tensor) and value.dtype.is_int_unsigned()
        return {"operand": len(operands) - 1, "unsigned": unsigned}
    if isinstance(value, language_tuple):
        fields = value.type.fields if any(value.type.fields) else None
        return {"elements": [_described(element, operands) for element in value.values], "fields": fields}
    if isinstance(value, aggregate_value):
        elements = [_described(getattr(value, name), operands) for name in value.fields]
        return {"elements": elements, "fields": list(value.fields)}
    return {"constant": repr(unwrap(value))}
