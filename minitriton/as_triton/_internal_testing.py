"""What Triton's own test files import: predicates of the device, lists of dtypes, arrays to and from the device.

    numpy_random(8, "int16")          →  8 reproducible nonzero numbers
    to_triton(array, device="cuda")   →  a torch tensor, or a wrapped one for dtypes that torch lacks
    to_numpy(tensor)                  →  the array again

The names are Triton's, so that its tests run unchanged. Needs torch and pytest.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from numpy.random import RandomState

import minitriton.language as tl
from minitriton import knobs
from minitriton.runtime import driver
from minitriton.runtime.jit import TensorWrapper, reinterpret, type_canonicalisation_dict

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = [*float_dtypes, "bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool", *int_dtypes, "uint8", *float_dtypes, "bfloat16"]
tma_dtypes = sorted(set(dtypes_with_bfloat16) - {"int64", "uint64", "float64"})


def is_interpreter() -> bool:
    return knobs.runtime.interpret


def get_current_target() -> Any:
    return None if is_interpreter() else driver.active.get_current_target()


def _is_backend(name: str) -> bool:
    target = get_current_target()
    return target is not None and target.backend == name


is_cuda, is_hip, is_xpu = (partial(_is_backend, name) for name in ("cuda", "hip", "xpu"))


def _cuda_generation() -> int:
    """The major compute capability, 0 without CUDA."""
    return get_current_target().arch // 10 if is_cuda() else 0


def is_ampere_or_newer() -> bool:
    return _cuda_generation() >= 8


def is_hopper() -> bool:
    return _cuda_generation() == 9


def is_hopper_or_newer() -> bool:
    return _cuda_generation() >= 9


def is_blackwell() -> bool:
    return _cuda_generation() == 10


def is_sm12x() -> bool:
    return _cuda_generation() == 12


def _is_hip_arch(arch: str) -> bool:
    return is_hip() and arch in str(get_current_target().arch)


is_hip_cdna2, is_hip_cdna3, is_hip_cdna4 = (partial(_is_hip_arch, arch) for arch in ("gfx90a", "gfx942", "gfx950"))
is_hip_gfx11, is_hip_gfx12, is_hip_gfx1250 = (partial(_is_hip_arch, arch) for arch in ("gfx11", "gfx12", "gfx1250"))


def is_hip_cdna() -> bool:
    return is_hip_cdna2() or is_hip_cdna3() or is_hip_cdna4()


def get_hip_lds_size() -> int:
    return (160 if is_hip_cdna4() else 64) * 1024


def get_arch() -> str:
    target = get_current_target()
    return "" if target is None else str(target.arch)


def numpy_random(
    shape: int | tuple[int, ...],
    dtype_str: str,
    rs: RandomState | None = None,
    low: int | None = None,
    high: int | None = None,
) -> np.ndarray:
    """Numbers of `dtype_str`, the same ones at each call unless `rs` is given. Integers are never 0, so that one may divide."""
    shape = (shape,) if isinstance(shape, int) else shape
    rs = RandomState(seed=17) if rs is None else rs
    if dtype_str in integral_dtypes:
        limits = np.iinfo(dtype_str)
        low = limits.min if low is None else max(low, limits.min)
        high = limits.max if high is None else min(high, limits.max)
        numbers: np.ndarray = rs.randint(low, high, shape, dtype=np.dtype(dtype_str))
        numbers[numbers == 0] = 1
        return numbers
    if "float8" in dtype_str:
        return np.asarray(rs.randint(20, 40, shape, dtype=np.int8))
    normal = np.asarray(rs.normal(0, 1, shape))
    if dtype_str in float_dtypes:
        return normal.astype(dtype_str)
    if dtype_str == "bfloat16":
        return (normal.astype("float32").view("uint32") & np.uint32(0xFFFF0000)).view("float32")
    if dtype_str in ("bool", "int1", "bool_"):
        return normal > 0.0
    raise RuntimeError(f"Unknown dtype {dtype_str}")


def to_triton(x: Any, device: Any, dst_type: str | None = None) -> Any:
    """`x` on `device`, as elements of `dst_type` (default: its own dtype)."""
    name = x.dtype.name
    if name in uint_dtypes:
        return reinterpret(torch.tensor(x.astype(name[1:]), device=device), getattr(tl, name))
    tensor = torch.tensor(x, device=device)
    if dst_type and "float8" in dst_type:
        return reinterpret(tensor, getattr(tl, dst_type))
    return tensor.bfloat16() if name == "float32" and dst_type == "bfloat16" else tensor


def str_to_triton_dtype(x: str) -> Any:
    return tl.str_to_ty(type_canonicalisation_dict[x], None)


def torch_dtype_name(dtype: Any) -> str:
    """`int64` for `torch.int64` and for the language's dtype. Raises `TypeError` for anything else."""
    if isinstance(dtype, tl.dtype):
        return dtype.name
    if isinstance(dtype, torch.dtype):
        return str(dtype).removeprefix("torch.")
    raise TypeError(f"not a triton or torch dtype: {type(dtype)}")


def to_numpy(x: Any) -> Any:
    """The values of a tensor, wrapped or not; bfloat16 as float32. Raises `ValueError` for anything else."""
    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().astype(getattr(np, torch_dtype_name(x.dtype)))
    if isinstance(x, torch.Tensor):
        return (x.float() if x.dtype is torch.bfloat16 else x).cpu().numpy()
    raise ValueError(f"Not a triton-compatible tensor: {x}")


def unwrap_tensor(t: Any) -> Any:
    return t.base if isinstance(t, TensorWrapper) else t


def supports_tma(byval_only: bool = False) -> bool:
    return is_interpreter() or is_hopper_or_newer()


def supports_ws() -> bool:
    return is_interpreter() or is_hopper_or_newer()


def tma_skip_msg(byval_only: bool = False) -> str:
    return "needs TMA: Hopper or newer"


requires_tma = pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())


def default_alloc_fn(size: int, align: int, _: object) -> torch.Tensor:
    return torch.empty(size, dtype=torch.int8, device="cuda")


def fresh_knobs(skipped_attr: set[str] | None = None) -> tuple[Callable[[], ModuleType], Callable[[], None]]:
    """`(start, end)`: between them all knobs but the skipped groups have their defaults, whatever the environment says."""
    patch = pytest.MonkeyPatch()
    skipped = skipped_attr or set()
    groups = {n: g for n, g in vars(knobs).items() if isinstance(g, knobs.base_knobs) and n not in skipped}
    variables = {d.key for group in groups.values() for d in group.knob_descriptors.values()}
    unset = [key for key in variables if key not in os.environ]
    propagate = knobs.propagate_env

    def start() -> ModuleType:
        for name, group in groups.items():
            setattr(knobs, name, group.copy().reset())
        for key in variables:
            patch.delenv(key, raising=False)
        knobs.propagate_env = True
        return knobs

    def end() -> None:
        for name, group in groups.items():
            setattr(knobs, name, group)
        patch.undo()
        for key in unset:
            os.environ.pop(key, None)
        knobs.propagate_env = propagate

    return start, end


_fresh_knobs_impl = fresh_knobs
"""Its name in Triton."""
