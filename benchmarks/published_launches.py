"""One launch of a kernel in a folder: what `published.py`'s recorder writes under Triton and its replayer reads under minitriton.

    launch.pickle     a `Launch`: kernel, arguments, grid, how Triton agreed with itself
    before-0.npy      the bytes of the first storage before the launch; arguments refer to storages by number, offset and strides
    after-0.npy       and after it, under Triton; left out where nothing changed
    triton.ptx        what ran

Whoever writes or reads imports `triton`; under `run_as_triton` that is minitriton, so pickled dtypes, kernels and descriptors change their
compiler on the way.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import io
import math
import os
import pickle
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from triton.runtime.jit import JITFunction


@dataclass
class Named:
    """A kernel by where it is written: a module's name and its file, the name in it. `used`: functions of other files that the module got from
    whoever made it; they are only given to a module that has to be read from its file."""

    module: str
    file: str
    name: str
    used: dict[str, Named] = field(default_factory=dict[str, "Named"])


@dataclass
class Storage:
    """`dtype`: of the first view that an argument has of it. `changed`: whether Triton's launch did. `repeat`: how far Triton's second launch
    was from its first (`Difference`)."""

    nbytes: int
    dtype: torch.dtype
    changed: bool = False
    repeat: Difference | None = None


@dataclass
class Launch:
    """`arguments` are pickled apart (`dumps`, `loads`), since they need the storages."""

    project: str
    kernel: Named
    test: str
    grid: tuple[int, ...]
    arguments: bytes
    storages: list[Storage]
    rounding: float = 0.0
    """How far float32 results may differ since the kernel rounds to fewer bits on the way: `rounding_in`."""
    shared: int = 0
    """Bytes of shared memory of Triton's kernel."""
    shown: dict[str, str] = field(default_factory=dict[str, str])
    """The arguments as a person reads them."""
    environment: dict[str, str] = field(default_factory=lambda: compiler_environment())
    """`compiler_environment` at the launch."""


def compiler_environment() -> dict[str, str]:
    """Variables by which a program tells the compiler what to do: tests of flash-linear-attention set `TRITON_F32_DEFAULT` on their way."""
    return {name: value for name, value in os.environ.items() if name in SET_BY_PROGRAMS}


SET_BY_PROGRAMS = (
    "TRITON_F32_DEFAULT",
    "TRITON_DEFAULT_FP_FUSION",
    "TRITON_DEBUG",
    "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS",
)


@dataclass
class Difference:
    """Of two arrays: places that differ, and the greatest distance relative to the root of the mean square of what the launch wrote; infinite
    where one is no number or infinite and the other is not. `where`: the byte at which it is greatest."""

    count: int = 0
    relative: float = 0.0
    where: int = 0
    values: tuple[str, str] = ("", "")


def kernel_of(named: Named) -> Any:
    """The kernel, below what tunes or completes it. A module that cannot be imported by its name is read from its file. Raises `LookupError`."""
    reasons: list[str] = []
    for load in (importlib.import_module, lambda _: _module_in(named)):
        try:
            kernel = innermost(functools.reduce(getattr, named.name.split("."), load(named.module)))
        except (ImportError, AttributeError, ValueError, OSError) as error:
            reasons.append(str(error))
            continue
        if kernel is not None:
            return kernel
        reasons.append(f"{named.name} is no kernel")
    raise LookupError(f"{named.module}.{named.name}: {'; '.join(reasons)}")


_MODULES: dict[str, Any] = {}


def _module_in(named: Named) -> Any:
    if named.file in _MODULES:
        return _MODULES[named.file]
    spec = importlib.util.spec_from_file_location(f"published_{len(_MODULES)}", named.file)
    if spec is None or spec.loader is None:
        raise ImportError(named.file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    for name, used in named.used.items():
        setattr(module, name, kernel_of(used))
    _MODULES[named.file] = module
    return module


def named(kernel: Any, depth: int = 0) -> Named:
    """Where `kernel` (a `JITFunction`) is to be found; its name is that of the module's attribute which leads to it."""
    function = kernel.fn
    while not hasattr(function, "__code__"):
        function = function.fn
    name = function.__qualname__
    scope = function.__globals__
    if innermost(scope.get(name)) is not kernel:
        name = next((each for each, value in list(scope.items()) if innermost(value) is kernel), name)
    file = function.__code__.co_filename
    used: dict[str, Named] = {}
    if depth < 2:
        for each in function.__code__.co_names:
            other = innermost(scope.get(each))
            if other is not None and other.fn.__code__.co_filename != file:
                used[each] = globals()["named"](other, depth + 1)
    return Named(function.__module__, file, name, used)


def innermost(value: Any) -> Any:
    """The kernel below decorators: along attributes `fn`, or the one kernel that an object has. None where there is none."""
    for _ in range(8):
        if value is None or isinstance(value, JITFunction):
            return value
        held = getattr(value, "__dict__", None)
        if not isinstance(held, dict) or isinstance(value, (type, ModuleType)):
            return None
        value = held.get("fn") or next((each for each in held.values() if isinstance(each, JITFunction)), None)
    return None


class Unrecordable(Exception):
    """An argument that no file can hold."""


class Memory:
    """The storages of a launch's arguments, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self.storages: list[torch.UntypedStorage] = []
        self.dtypes: list[torch.dtype] = []
        self._numbers: dict[tuple[int, int], int] = {}

    def number(self, tensor: torch.Tensor) -> int:
        """Of the storage below `tensor`."""
        storage = tensor.untyped_storage()
        key = (storage.data_ptr(), storage.nbytes())
        if key not in self._numbers:
            self._numbers[key] = len(self.storages)
            self.storages.append(storage)
            self.dtypes.append(tensor.dtype)
        return self._numbers[key]

    def read(self) -> list[torch.Tensor]:
        """Their bytes, on the host. The driver copies, since programs may have put other kernels in the place of torch's."""
        contents = [torch.empty(each.nbytes(), dtype=torch.uint8, device="cpu") for each in self.storages]
        for storage, content in zip(self.storages, contents, strict=True):
            _copy(content.data_ptr(), storage.data_ptr(), content.numel())
        return contents

    def write(self, contents: list[torch.Tensor]) -> None:
        """Puts bytes back."""
        for storage, content in zip(self.storages, contents, strict=True):
            _copy(storage.data_ptr(), content.data_ptr(), content.numel())


def _copy(to: int, source: int, count: int) -> None:
    """Between host and device, in either direction, or on the host where there is no device."""
    if not count:
        return
    if not _has_device():
        ctypes.memmove(to, source, count)
        return
    failed = _driver().cuMemcpy(ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(count))
    if failed:
        raise RuntimeError(f"cuMemcpy: CUDA error {failed}")


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


@functools.cache
def _has_device() -> bool:
    try:
        driver = _driver()
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def is_pointer(value: Any) -> bool:
    """Whether a kernel takes it for an address."""
    return isinstance(value, torch.Tensor) or callable(getattr(value, "data_ptr", None))


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, memory: Memory) -> None:
        super().__init__(file, protocol=5)
        self.memory = memory

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, torch.Tensor):
            tensor = obj.detach()
            place = (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()))
            return "tensor", self.memory.number(tensor), tensor.dtype, *place
        if isinstance(obj, tl.dtype):
            return "dtype", str(obj.name)
        if isinstance(obj, tl.constexpr):
            return "constexpr", obj.value
        if isinstance(obj, JITFunction):
            return "kernel", named(obj)
        kind = type(obj).__name__
        if kind == "TensorDescriptor":
            padding = getattr(obj, "padding", "zero")
            return "descriptor", obj.base, list(obj.shape), list(obj.strides), list(obj.block_shape), padding
        if kind == "TensorWrapper":
            return "reinterpreted", obj.base, obj.dtype
        if is_pointer(obj):
            base = getattr(obj, "_base", None)
            if not isinstance(base, torch.Tensor) or not isinstance(obj.dtype, torch.dtype):
                raise Unrecordable(f"a {kind} is an address without memory")
            offset = obj.data_ptr() - base.untyped_storage().data_ptr()
            return "address", self.memory.number(base), obj.dtype, offset
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, storages: list[torch.Tensor]) -> None:
        super().__init__(file)
        self.storages = storages

    def persistent_load(self, pid: Any) -> Any:
        kind, *rest = pid
        if kind == "tensor":
            number, dtype, offset, shape, strides = rest
            return self._view(number, dtype).set_(self.storages[number].untyped_storage(), offset, shape, strides)
        if kind == "address":
            number, dtype, offset = rest
            storage = self.storages[number].untyped_storage()
            count = (storage.nbytes() - offset) // dtype.itemsize
            return self._view(number, dtype).set_(storage, offset // dtype.itemsize, (count,), (1,))
        if kind == "dtype":
            return tl.dtype(rest[0])
        if kind == "constexpr":
            return tl.constexpr(rest[0])
        if kind == "kernel":
            return kernel_of(rest[0])
        if kind == "reinterpreted":
            return triton.reinterpret(*rest)
        from triton.tools.tensor_descriptor import TensorDescriptor

        return TensorDescriptor(*rest)

    def _view(self, number: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(0, dtype=dtype, device=self.storages[number].device)


def dumps(arguments: Any, memory: Memory) -> bytes:
    """`arguments` as bytes; their storages are added to `memory`. Raises `Unrecordable` or what `pickle` raises."""
    file = io.BytesIO()
    _Pickler(file, memory).dump(arguments)
    return file.getvalue()


def loads(arguments: bytes, storages: list[torch.Tensor]) -> Any:
    """The arguments again, on these storages (of bytes)."""
    return _Unpickler(io.BytesIO(arguments), storages).load()


def flattened(values: Any) -> Iterator[Any]:
    """The leaves of nested tuples, lists and dictionaries."""
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (tuple, list)):
        for value in values:
            yield from flattened(value)
    else:
        yield values


def difference(got: torch.Tensor, wanted: torch.Tensor, before: torch.Tensor, dtype: torch.dtype) -> Difference:
    """Of two storages (tensors of bytes) as arrays of `dtype`."""
    whole = got.numel() // dtype.itemsize * dtype.itemsize
    if not torch.equal(got[whole:], wanted[whole:]):
        return Difference(1, math.inf, whole)
    if torch.equal(got, wanted):
        return Difference()
    apart = (got[:whole] != wanted[:whole]).view(-1, dtype.itemsize).any(1)
    written = (before[:whole] != wanted[:whole]).view(-1, dtype.itemsize).any(1) | apart
    count = int(apart.sum())
    if not (dtype.is_floating_point or dtype.is_complex):
        at = int(apart.nonzero()[0])
        a, b = (_typed(each[:whole], dtype)[at].item() for each in (got, wanted))
        return Difference(count, math.inf, at * dtype.itemsize, (str(a), str(b)))
    a, b = (_typed(each[:whole], dtype)[written] for each in (got, wanted))
    wide = torch.complex128 if dtype.is_complex else torch.float64
    a, b = a.to(wide), b.to(wide)
    finite = torch.isfinite(b)
    scale = float(b[finite].abs().square().mean().sqrt()) if bool(finite.any()) else 0.0
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))
    distance = torch.where(
        same, 0.0, torch.nan_to_num((a - b).abs() / max(scale, 1e-300), nan=math.inf, posinf=math.inf)
    )
    at = int(distance.argmax())
    place = int(written.nonzero()[at]) * dtype.itemsize
    return Difference(count, float(distance[at]), place, (str(a[at].item()), str(b[at].item())))


def _typed(data: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    typed = data.view(dtype)
    return typed if dtype.itemsize > 1 or not dtype.is_floating_point else typed.to(torch.float32)


def rounding_in(ttir: str) -> float:
    """What `tolerance` allows float32 results for the products of a kernel: operands rounded to 16 bits, or by tensor cores to tf32."""
    if "tt.dot" in ttir and re.search(r"arith\.truncf .* to tensor<[0-9x]+(bf16|f16|f8\w+)>", ttir):
        return 2e-2
    return 6e-3 if re.search(r"tt\.dot.*tf32.*: tensor<[0-9x]+xf32", ttir) else 0.0


def tolerance(dtype: torch.dtype, rounding: float) -> float:
    """What "close" means; 0 for what is no floating-point number."""
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    if dtype.itemsize == 1:
        return 0.25
    return 2e-2 if dtype.itemsize == 2 else max(2e-5, rounding)


def save(folder: Path, launch: Launch, ptx: str, before: list[torch.Tensor], after: list[torch.Tensor]) -> None:
    """Writes the folder under another name and moves it into place, so that whoever waits finds it whole."""
    part = folder.with_name("." + folder.name)
    part.mkdir(parents=True)
    for number, storage in enumerate(launch.storages):
        np.save(part / f"before-{number}.npy", before[number].cpu().numpy())
        if storage.changed:
            np.save(part / f"after-{number}.npy", after[number].cpu().numpy())
    (part / "triton.ptx").write_text(ptx)
    (part / "launch.pickle").write_bytes(pickle.dumps(launch))
    part.rename(folder)


def load(folder: Path) -> Launch:
    """What `save` wrote, without the storages. A kernel whose file is gone is read from `source.py`."""
    launch: Launch = pickle.loads((folder / "launch.pickle").read_bytes())
    if not Path(launch.kernel.file).exists() and (folder / "source.py").exists():
        launch.kernel.file = str(folder / "source.py")
    return launch


def storages_of(folder: Path, launch: Launch, device: str) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """`(before, after)`: the storages on the device as tensors of bytes."""
    packed = np.load(folder / "memory.npz") if (folder / "memory.npz").exists() else None

    def read(name: str) -> torch.Tensor:
        return torch.from_numpy(np.load(folder / f"{name}.npy") if packed is None else packed[name]).to(device)

    before = [read(f"before-{number}") for number in range(len(launch.storages))]
    after = [
        read(f"after-{number}") if storage.changed else before[number].clone()
        for number, storage in enumerate(launch.storages)
    ]
    return before, after
