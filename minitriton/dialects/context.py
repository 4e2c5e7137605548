"""The context that knows every dialect of the compiler.

Parsing and passes take it; building IR needs none. xDSL's dialects serve where they are complete; `arith`, `math`, `llvm` and the barrier of `gpu` are ours.
A dialect is imported when a text has an op, a type or an attribute of it: what is compiled from Python needs none of them by name.
"""

import functools
import importlib
from collections.abc import Callable, Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Dialect

from minitriton.target.backends import BACKENDS, imported

_WHERE = {
    "arith": ("minitriton.dialects.arith", "ARITH"),
    "math": ("minitriton.dialects.math", "MATH"),
    "scf": ("xdsl.dialects.scf", "Scf"),
    "cf": ("xdsl.dialects.cf", "Cf"),
    "ub": ("xdsl.dialects.ub", "UB"),
    "llvm": ("minitriton.dialects.llvm", "LLVM"),
    "tt": ("minitriton.dialects.tt", "TT"),
    "ttg": ("minitriton.dialects.ttg", "TTG"),
    "ttng": ("minitriton.dialects.ttng", "TTNG"),
    "gluon": ("minitriton.dialects.gluon", "GLUON"),
    "nvws": ("minitriton.dialects.nvws", "NVWS"),
}
"""Where each dialect of every target is that is one value of a module."""


def _found(module: str, name: str) -> Dialect:
    return getattr(importlib.import_module(module), name)


def _func() -> Dialect:
    from xdsl.dialects.func import Func, FuncOp

    from minitriton.dialects.facts import Function, give

    give(FuncOp, Function())
    return Func


def _gpu() -> Dialect:
    from minitriton.dialects.gpu import gpu_dialect

    return gpu_dialect()


DIALECTS: dict[str, Callable[[], Dialect]] = {
    **{name: functools.cache(functools.partial(_found, *where)) for name, where in _WHERE.items()},
    "func": functools.cache(_func),
    "gpu": functools.cache(_gpu),
}
"""By name, what makes each dialect of every target but `builtin`: one value, however often it is asked."""


def _all_dialects(backends: Iterable[str]) -> dict[str, Callable[[], Dialect]]:
    """Also those of back ends."""
    own = {n: functools.partial(imported, where) for b in backends for n, where in BACKENDS[b].dialects.items()}
    return {**DIALECTS, **own}


def dialects() -> tuple[Dialect, ...]:
    """Every dialect."""
    return (Builtin, *(make() for make in _all_dialects(BACKENDS).values()))


@functools.cache
def _registered(backends: tuple[str, ...]) -> Context:
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    for name, make in _all_dialects(backends).items():
        context.register_dialect(name, make)
    return context


def make_context() -> Context:
    """A new context that finds every dialect. Ops of other dialects are accepted in generic form."""
    return _registered(tuple(BACKENDS)).clone()
