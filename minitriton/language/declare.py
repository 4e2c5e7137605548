"""How the language declares what a kernel can call. Nothing here builds IR: the frontend holds a table from each
declaration to the function that emits it.

    @builtin                     an operation; the body is only a docstring
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
from typing import Any, TypeVar

F = TypeVar("F")


class Declaration:
    """A function known to the language, by name, signature and documentation."""

    __triton_builtin__ = True
    _must_use_result: bool | str = False
    __name__: str
    __qualname__: str

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.__signature__ = inspect.signature(fn)
        functools.update_wrapper(self, fn, updated=())

    def __call__(self, *args: Any, _semantic: Any = None, **kwargs: Any) -> Any:
        """Inside an operation written by a user, `_semantic` (which it was given) is what emits."""
        if _semantic is not None:
            return _semantic.call(self, args, kwargs)
        raise ValueError(
            f"Did you forget to add @triton.jit ? (`{self.__name__}` works only inside a function compiled by it)"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__module__}.{self.__qualname__}>"


class Builtin(Declaration):
    """An operation of the language; `frontend.emitters` says what it emits.

    A user's own operation has a body, which calls others: `def double(x, _semantic=None): return tl.add(x, x, _semantic=_semantic)`.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(fn)
        self.has_body = "_semantic" in self.__signature__.parameters


class LibraryFunction(Declaration):
    """A function of the standard library, written in the language; `compiled` is where the frontend keeps its own object."""

    compiled: Any = None

    @property
    def type(self) -> Any:
        from minitriton.language.dtypes import constexpr_type

        return constexpr_type(self)


class ConstexprFunction:
    """A Python function that kernels may call with compile-time values; on the host it is the function itself."""

    __triton_builtin__ = True
    callable: Any = None
    """The frontend's object, which knows the source; made when it is first needed."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from minitriton.language.values import unwrap

        return self.fn(*(unwrap(a) for a in args), **{k: unwrap(v) for k, v in kwargs.items()})

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else BoundConstexprFunction(instance, self)


class BoundConstexprFunction:
    """A `ConstexprFunction` looked up on an object: the object is its first argument, as it is."""

    def __init__(self, instance: Any, function: ConstexprFunction) -> None:
        self.__self__ = instance
        self.__func__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__.fn(self.__self__, *args, **kwargs)


def builtin(fn: Callable[..., Any]) -> Builtin:
    """Declares `fn` as an operation. Only its name, signature and docstring are used."""
    return Builtin(fn)


def library(fn: Callable[..., Any]) -> LibraryFunction:
    """Declares `fn`, a function in the language, as part of the standard library."""
    return LibraryFunction(fn)


def constexpr_function(fn: Callable[..., Any]) -> ConstexprFunction:
    """Makes a Python function callable in kernels, at compile time, on compile-time values."""
    return ConstexprFunction(fn)


def must_use_result(x: Any, s: bool | str = True) -> Any:
    """Marks a function `x` whose result must not be dropped, `s` being why; as `@must_use_result("why")` or `@must_use_result`."""
    if isinstance(x, str):
        return lambda fn: must_use_result(fn, x)
    x._must_use_result = s
    return x
