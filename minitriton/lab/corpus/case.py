"""A kernel with a launch and the right answer, and how a file of kernels says them.

    CASES, case = collector(__file__)

    @case(inputs=lambda rng: [normal(rng, 500), f32(500), 500], expected=lambda x, *_: {1: x + 1}, grid=(4,), BLOCK=128)
    @triton.jit
    def add_one(x, out, n, BLOCK: tl.constexpr): ...

The kernels are plain Triton programs: a file is loaded once under each compiler, and the cases of the two loads name the same kernels.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike

import minitriton
from minitriton.dialects.narrowing import instance_of
from minitriton.runtime.jit import OF_FILE, kernel_named

Value = int | float | bool | str
"""Of a constant or an option."""


class _Jitted(Protocol):
    """What either compiler's `jit` makes."""

    @property
    def fn(self) -> Callable[..., object]: ...


Kernel = TypeVar("Kernel", bound=_Jitted)

KERNELS = Path(minitriton.__file__).parents[1] / "minitriton_kernels"
"""The corpus, which is installed next to the package."""


@dataclass(frozen=True)
class LargeCase:
    """`sizes` of the launch that is timed; `inputs(rng)` makes its arguments."""

    sizes: dict[str, int]
    inputs: Callable[[np.random.Generator | OnlyShapes], list[object]]

    def bytes(self) -> int:
        """Of all its arrays."""
        return sum(one.nbytes for one in self.inputs(OnlyShapes()) if instance_of(one, np.ndarray))


@dataclass(frozen=True)
class Case:
    """One launch. `inputs(rng)` makes the arguments in order (arrays, numbers); `expected(*arguments)` the outputs by position."""

    name: str
    file: str
    kernel: str
    inputs: Callable[[np.random.Generator], list[object]]
    constexprs: dict[str, object]
    grid: tuple[int, ...]
    expected: Callable[..., dict[int, np.ndarray]]
    tolerance: float = 1e-5
    exact_order: bool = True
    """Whether Triton does the same operations in the same order, so that results must agree bit for bit."""
    num_warps: int = 4
    options: dict[str, object] = field(default_factory=dict[str, object])
    num_ctas: int = 1
    large: LargeCase | None = None
    """A launch that is big enough to be timed, of the same work a program."""
    grid_of: Callable[..., tuple[int, ...]] | None = None
    """The grid by sizes and constants, where it follows from them."""
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    """What `inputs` and `grid_of` were given of this launch."""
    choices: dict[str, tuple[Value, ...]] = field(default_factory=dict[str, tuple[Value, ...]])
    """Values worth trying of constants and compile options."""

    def __reduce__(self) -> tuple[Callable[[str, str], Case], tuple[str, str]]:
        return case_of, (str(Path(self.file).with_suffix(".py")), self.name)

    def grid_at(self, sizes: dict[str, int], constants: Mapping[str, object]) -> tuple[int, ...]:
        """The grid of a launch of these sizes with these constants."""
        if self.grid_of is None:
            return self.grid
        known = {**sizes, **constants}
        return tuple(self.grid_of(**{n: known[n] for n in inspect.signature(self.grid_of).parameters}))

    @property
    def launch_options(self) -> dict[str, int]:
        """What a launch and a compile are given in addition to the arguments."""
        return {"num_warps": self.num_warps} | ({"num_ctas": self.num_ctas} if self.num_ctas > 1 else {})


def load_file(file: Path | str, compiler: str) -> ModuleType:
    """Imports `file`, a program in Triton or Gluon, with `import triton` meaning `compiler` ("triton" or "minitriton"); once a process."""
    where = hashlib.blake2b(str(Path(file).resolve()).encode(), digest_size=6).hexdigest()
    name = f"_{compiler}_kernels_{Path(file).stem}_{where}"
    if name in sys.modules:
        return sys.modules[name]
    importlib.import_module(compiler + ".language")
    names = _imported(Path(file))
    meant = {n: _as_compiler(n, compiler) for n in names}
    # After the imports: Triton's launcher looks its classes up by name, and must find those that the program imported.
    saved = {n: sys.modules.get(n) for n in names}
    try:
        sys.modules |= meant
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        vars(module)[OF_FILE] = functools.partial(_kernel_elsewhere, str(Path(file).resolve()))
        sys.modules[name] = module
        spec.loader.exec_module(module)
    finally:
        for n, module_before in saved.items():
            if module_before is None:
                sys.modules.pop(n, None)
            else:
                sys.modules[n] = module_before
    return module


def _as_compiler(module: str, compiler: str) -> ModuleType:
    """What a kernel's file gets for a module of Triton or of the corpus."""
    if module.startswith(KERNELS.name):
        return load_file(KERNELS.parent.joinpath(*module.split(".")).with_suffix(".py"), compiler)
    return importlib.import_module(module.replace("triton", compiler, 1))


def _imported(file: Path) -> list[str]:
    """`triton`, `triton.language` and the other modules of Triton and of the corpus that `file` names, packages first."""
    found = {"triton", "triton.language"}
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("triton.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{KERNELS.name}."):
            found.add(str(node.module))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("triton."):
            parts = str(node.module).split(".")
            found |= {".".join(parts[: end + 1]) for end in range(len(parts))}
    return sorted(found)


def _kernel_elsewhere(file: str, name: str) -> tuple[Callable[[str, str], object], tuple[str, str]]:
    """How the kernel called `name` of `file` goes to another process."""
    return _kernel_of, (file, name)


def _kernel_of(file: str, name: str) -> object:
    return kernel_named(load_file(file, "minitriton").__name__, name)


def case_of(file: Path | str, name: str) -> Case:
    """The case called `name` of `file`, as minitriton loads it: how a case goes to another process."""
    return next(case for case in load_file(file, "minitriton").CASES if case.name == name)


def collector(file: str) -> tuple[list[Case], Callable[..., Callable[[Kernel], Kernel]]]:
    """The list of the file's cases, and the decorator that adds to it. Keywords that `Case` lacks are constexprs. A case has the
    name of its kernel; further ones of a kernel have a `name`.

    With `sizes` and `large` the case has two launches, of the same work a program: `inputs(rng, **sizes)` makes the arguments of
    either, and `grid` is a function of sizes and constants by name. `choices` are values of constants and compile options to try.
    """
    cases: list[Case] = []

    def case(
        *,
        name: str | None = None,
        inputs: Callable[..., list[object]],
        expected: Callable[..., dict[int, np.ndarray]],
        grid: tuple[int, ...] | Callable[..., tuple[int, ...]] = (1,),
        tolerance: float = 1e-5,
        exact_order: bool = True,
        num_warps: int = 4,
        num_ctas: int = 1,
        sizes: dict[str, int] | None = None,
        large: dict[str, int] | None = None,
        choices: dict[str, tuple[Value, ...]] | None = None,
        **constexprs: object,
    ) -> Callable[[Kernel], Kernel]:
        def add(kernel: Kernel) -> Kernel:
            where = str(Path(file).with_suffix(""))
            how = (tolerance, exact_order, num_warps)
            fixed, grid_of = ((1,), grid) if callable(grid) else (grid, None)
            made = Case(
                name or kernel.fn.__name__, where, kernel.fn.__name__, functools.partial(inputs, **(sizes or {})), constexprs, fixed, expected, *how,
                num_ctas=num_ctas, sizes=sizes or {}, choices=choices or {}, grid_of=grid_of,
                large=None if large is None else LargeCase(large, functools.partial(inputs, **large)),
            )  # fmt: skip
            cases.append(replace(made, grid=made.grid_at(made.sizes, constexprs)))
            return kernel

        return add

    return cases, case


class OnlyShapes:
    """In place of a generator of random numbers: zeros, to see how large the arguments of a launch are without making them."""

    def standard_normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """Zeros."""
        return np.zeros(shape)

    def integers(self, low: int, high: int, shape: int | tuple[int, ...], dtype: DTypeLike = np.int64) -> np.ndarray:
        """The least of them."""
        return np.full(shape, low, dtype)


def repeated(rng: np.random.Generator | OnlyShapes, *shape: int, dtype: DTypeLike = np.float32) -> np.ndarray:
    """Normally distributed values, the same 65,536 again and again: quick to make for arrays of any size."""
    if isinstance(rng, OnlyShapes):
        return np.zeros(shape, dtype)
    few = rng.standard_normal(min(int(np.prod(shape)), 1 << 16)).astype(dtype)
    return np.resize(few, shape)


def f32(*shape: int) -> np.ndarray:
    """Zeros to write a result into."""
    return np.zeros(shape, np.float32)


def i32(*shape: int) -> np.ndarray:
    """Zeros to write a result into."""
    return np.zeros(shape, np.int32)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Normally distributed float32 values."""
    return rng.standard_normal(shape).astype(np.float32)


def uniform(rng: np.random.Generator, low: float, high: float, *shape: int) -> np.ndarray:
    """Float32 values in [low, high)."""
    return rng.uniform(low, high, shape).astype(np.float32)


def integers(rng: np.random.Generator, low: int, high: int, *shape: int, dtype: DTypeLike = np.int32) -> np.ndarray:
    """Whole numbers in [low, high)."""
    return rng.integers(low, high, shape, dtype=np.int64).astype(dtype)
