"""Launches of every kind of argument, of kernels that do nothing: what `launch_overhead.py` times.

In: this file as `load_file` gives it for one compiler, and a function that makes tensors. Out: `kinds(...)`, name → a launch.
"""

import enum
import importlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import triton
import triton.language as tl


class Mode(enum.Enum):
    FAST = 1
    EXACT = 2


@dataclass(frozen=True)
class Settings:
    block: int
    scale: float = 1.0
    mode: Mode = Mode.FAST


class Pair(NamedTuple):
    x: object
    n: object


@triton.jit
def three(x, y, out):
    pass


@triton.jit
def numbers(x, n, scale, flag, nothing):
    pass


@triton.jit
def many(a, b, c, d, e, f, g, h, i, j, k, ll, m, n, o, p, q, r, s, t, u, v, w, X: tl.constexpr, Y: tl.constexpr, Z: tl.constexpr):  # fmt: skip
    pass


@triton.jit
def one_and_tuple(x, rest):
    pass


@triton.jit
def one_and_constant(x, C: tl.constexpr):
    pass


@triton.jit
def with_defaults(x, n=16, BLOCK: tl.constexpr = 128):
    pass


@triton.jit
def with_any_argument(x, other):
    pass


@triton.jit
def by_descriptors(a, b, c):
    c.store([0, 0], a.load([0, 0]) + b.load([0, 0]))


@triton.jit
def pair_of_descriptors(x, pair):
    pair[1].store([0, 0], pair[0].load([0, 0]))


@triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["m"])
def unspecialized(x, n, m):
    pass


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def tuned(x, y, n, BLOCK: tl.constexpr):
    pass


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def with_heuristics(x, y, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    pass


@triton.jit
def hooked(x, y, out):
    pass


@triton.jit
def double(x):
    return x * 2


FACTOR = tl.constexpr(3)


@triton.jit
def with_global(x, y):
    tl.store(y, tl.load(x) * FACTOR)


def _nothing(*args, **kwargs):
    return None


hooked.add_pre_run_hook(_nothing)


@contextmanager
def launch_hooks():
    """With both launch hooks set."""
    runtime = triton.knobs.runtime
    runtime.launch_enter_hook.add(_nothing)
    runtime.launch_exit_hook.add(_nothing)
    try:
        yield
    finally:
        runtime.launch_enter_hook.remove(_nothing)
        runtime.launch_exit_hook.remove(_nothing)


def in_turn(*launches):
    """One call of `launches` after the other."""
    turn = 0

    def launch():
        nonlocal turn
        turn = (turn + 1) % len(launches)
        return launches[turn]()

    return launch


def kinds(tensor):
    """Name → launch. `tensor(dtype name, *shape)` makes a tensor of a GPU."""
    x, y, out = (tensor("float32", 32) for _ in range(3))
    half, odd = tensor("float16", 32), tensor("float32", 33)[1:]
    squares = [tensor("float16", 64, 64) for _ in range(3)]
    descriptor = importlib.import_module(triton.__name__ + ".tools.tensor_descriptor").TensorDescriptor.from_tensor
    reinterpret = triton.reinterpret
    kept = [descriptor(t, [64, 64]) for t in squares]
    grid, settings, wrapped = (1,), Settings(64), reinterpret(tensor("int8", 32), tl.float8e5)
    eight = [x, y, out, half, odd, x, y, out]
    compiled = three[grid](x, y, out)
    fresh = triton.jit(with_any_argument.fn)
    fresh[grid](x, (y, 5))
    return {
        "three arguments": lambda: three[grid](x, y, out),
        "grid function": lambda: three[lambda meta: (1,)](x, y, out),
        "grid of three": lambda: three[(1, 1, 1)](x, y, out),
        "by run": lambda: three.run(x, y, out, grid=grid, warmup=False),
        "warmup": lambda: three.warmup(x, y, out, grid=grid),
        "compiled kernel": lambda: compiled[(1, 1, 1)](x, y, out),
        "numbers": lambda: numbers[grid](x, 17, 0.5, True, None),
        "26 arguments": lambda: many[grid](
            *eight, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, X=1, Y=2, Z=3
        ),
        "keywords": lambda: three[grid](x=x, y=y, out=out, num_warps=4),
        "defaults": lambda: with_defaults[grid](x),
        "do_not_specialize": lambda: unspecialized[grid](x, 16, 17),
        "a global": lambda: with_global[grid](x, y),
        "NumPy number": lambda: with_any_argument[grid](x, np.int32(17)),
        "reinterpreted tensor": lambda: with_any_argument[grid](x, wrapped),
        "tuple": lambda: one_and_tuple[grid](x, (y, 17)),
        "named tuple": lambda: one_and_tuple[grid](x, Pair(y, 17)),
        "empty tuple": lambda: one_and_tuple[grid](x, ()),
        "nested tuples": lambda: one_and_tuple[grid](x, ((y, 17), (out, (1, 2.0)), ())),
        "tuple with a function": lambda: one_and_tuple[grid](x, (y, double)),
        "descriptors made for it": lambda: by_descriptors[grid](*[descriptor(t, [64, 64]) for t in squares]),
        "descriptors": lambda: by_descriptors[grid](*kept),
        "tuple of descriptors": lambda: pair_of_descriptors[grid](x, (kept[0], kept[1])),
        "number as constexpr": lambda: one_and_constant[grid](x, 128),
        "float as constexpr": lambda: one_and_constant[grid](x, 0.5),
        "string as constexpr": lambda: one_and_constant[grid](x, "fast"),
        "dtype as constexpr": lambda: one_and_constant[grid](x, tl.float32),
        "function as constexpr": lambda: one_and_constant[grid](x, double),
        "tuple as constexpr": lambda: one_and_constant[grid](x, (64, 32)),
        "enum member as constexpr": lambda: one_and_constant[grid](x, Mode.FAST),
        "dataclass as constexpr": lambda: one_and_constant[grid](x, settings),
        "dataclass made for it": lambda: one_and_constant[grid](x, Settings(64)),
        "autotuned": lambda: tuned[grid](x, y, 4096),
        "autotuned, grid function": lambda: tuned[lambda meta: (1,)](x, y, 4096),
        "heuristics": lambda: with_heuristics[grid](x, y, 4096, BLOCK=128),
        "pre_run_hook": lambda: hooked[grid](x, y, out),
        "launch hooks": lambda: three[grid](x, y, out),
        "first launch had a tuple": lambda: fresh[grid](x, y),
        "tuple, then tensor": in_turn(lambda: fresh[grid](x, (y, 5)), lambda: fresh[grid](x, y)),
        "descriptor, then tensor": in_turn(
            lambda: with_any_argument[grid](x, kept[0]), lambda: with_any_argument[grid](x, y)
        ),
        "number, then None": in_turn(lambda: with_any_argument[grid](x, 17), lambda: with_any_argument[grid](x, None)),
        "dtypes in turn": in_turn(lambda: three[grid](x, y, out), lambda: three[grid](half, half, half)),
        "alignments in turn": in_turn(lambda: three[grid](x, y, out), lambda: three[grid](odd, odd, odd)),
    }


AROUND = {"launch hooks": launch_hooks}
"""What a kind's launches are made within."""
