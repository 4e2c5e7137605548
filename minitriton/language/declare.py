"""How the language declares what a kernel can call. Nothing here builds IR: the frontend holds a table from each
declaration to the function that emits it.

    @builtin                     an operation; the body is only a docstring
    def load(pointer): "Loads what `pointer` points at."

    @elementwise("math.exp")     an operation that is this op on each element: nothing else is written to emit it
    def exp(x): "e to the power of `x`."

    @library                     a function written in the language itself, compiled like a kernel's own functions
    def cdiv(x, div): return (x + (div - 1)) // div

    @constexpr_function          a Python function that runs at compile time on compile-time values
    def log2(n): return n.bit_length() - 1
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from minitriton.language.values import unwrap

if TYPE_CHECKING:
    from minitriton.language.dtypes import constexpr_type

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Marked(Protocol):
    """A function that says whether its result may be dropped."""

    _must_use_result: bool | str


F = TypeVar("F", bound=Marked)


class Emits(Protocol):
    """The `_semantic` of an operation written by a user: what emits the operations that its body calls."""

    def call(self, function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> Any: ...


class Declaration(Generic[P, R]):
    """A function known to the language, by name, signature and documentation."""

    __triton_builtin__ = True
    _must_use_result: bool | str = False
    __name__: str
    __qualname__: str

    def __init__(self, fn: Callable[P, R]) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Inside an operation written by a user, the keyword `_semantic` (which it was given) is what emits."""
        return self.emitted_by(cast("Emits | None", kwargs.pop("_semantic", None)), *args, **kwargs)

    def emitted_by(self, semantic: Emits | None, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """What a call of it gives inside an operation written by a user, which was given `semantic`. Raises for None."""
        if semantic is not None:
            return semantic.call(self, args, kwargs)
        raise ValueError(
            f"Did you forget to add @triton.jit ? (`{self.__name__}` works only inside a function compiled by it)"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__module__}.{self.__qualname__}>"


class Builtin(Declaration[P, R]):
    """An operation of the language; `frontend.emitters` says what it emits.

    A user's own operation has a body, which calls others: `def double(x, _semantic=None): return tl.add(x, x, _semantic=_semantic)`.
    """

    @functools.cached_property
    def has_body(self) -> bool:
        """Whether a user wrote it."""
        return "_semantic" in inspect.signature(self.fn).parameters


class ElementwiseBuiltin(Builtin[P, R]):
    """An operation that is the op of name `op` on each element. It takes values of one type (`dtypes` lists the names of those allowed) and gives it."""

    def __init__(self, fn: Callable[P, R], op: str, dtypes: tuple[str, ...]) -> None:
        super().__init__(fn)
        self.op = op
        self.dtypes = dtypes


class LibraryFunction(Declaration[..., Any]):
    """A function of the standard library, written in the language; `compiled` is where the frontend keeps its own object.

    Its annotations say how a kernel compiles it (`constexpr`), not which Python values fit.
    """

    compiled: object = None

    @property
    def type(self) -> constexpr_type:
        from minitriton.language.dtypes import constexpr_type

        return constexpr_type(self)


class ConstexprFunction(Generic[R]):
    """A Python function that kernels may call with compile-time values; on the host it is the function itself."""

    __triton_builtin__ = True
    callable: object = None
    """The frontend's object, which knows the source; made when it is first needed."""

    def __init__(self, fn: Callable[..., R]) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn, updated=())

    def __call__(self, *args: object, **kwargs: object) -> R:
        if kwargs:
            return self.fn(*[unwrap(a) for a in args], **{k: unwrap(v) for k, v in kwargs.items()})
        return self.fn(*[unwrap(a) for a in args]) if args else self.fn()

    def __get__(self, instance: object, owner: type | None = None) -> ConstexprFunction[R] | BoundConstexprFunction[R]:
        return self if instance is None else BoundConstexprFunction(instance, self)


class BoundConstexprFunction(Generic[R]):
    """A `ConstexprFunction` looked up on an object: the object is its first argument, as it is."""

    def __init__(self, instance: object, function: ConstexprFunction[R]) -> None:
        self.__self__ = instance
        self.__func__ = function

    def __call__(self, *args: object, **kwargs: object) -> R:
        return self.__func__.fn(self.__self__, *args, **kwargs)


def builtin(fn: Callable[P, R]) -> Builtin[P, R]:
    """Declares `fn` as an operation. Only its name, signature and docstring are used."""
    return Builtin(fn)


def elementwise(op: str, *dtypes: str) -> Callable[[Callable[P, R]], ElementwiseBuiltin[P, R]]:
    """Declares an operation of one or two values that is the op of name `op` (of `arith`, `math` or `tt`); `dtypes`: "fp32" and "fp64" if not given."""
    return lambda fn: ElementwiseBuiltin(fn, op, dtypes or ("fp32", "fp64"))


def library(fn: Callable[..., object]) -> LibraryFunction:
    """Declares `fn`, a function in the language, as part of the standard library."""
    return LibraryFunction(fn)


def constexpr_function(fn: Callable[..., R]) -> ConstexprFunction[R]:
    """Makes a Python function callable in kernels, at compile time, on compile-time values."""
    return ConstexprFunction(fn)


@overload
def must_use_result(x: str) -> Callable[[F], F]: ...
@overload
def must_use_result(x: F, s: bool | str = True) -> F: ...
def must_use_result(x: F | str, s: bool | str = True) -> F | Callable[[F], F]:
    """Marks a function `x` whose result must not be dropped, `s` being why; as `@must_use_result("why")` or `@must_use_result`."""
    if isinstance(x, str):
        return lambda fn: must_use_result(fn, x)
    setattr(x, "_must_use_result", s)  # noqa: B010 (the name is protected, and Triton's)
    return x
