"""What `driver.active` answers where there is no GPU."""

from __future__ import annotations

import functools
import importlib.util
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen.assemblers import assembler_available
from minitriton.codegen.cubin_resources import kernel_resources
from minitriton.errors import MinitritonError
from minitriton.runtime import active_driver, cuda_driver, default_target, driver
from minitriton.runtime.launching import loading
from minitriton.target import GPUTarget

needs_assembler = pytest.mark.skipif(not assembler_available("sm90"), reason="no assembler for PTX on this machine")


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (active_driver, cuda_driver, default_target, loading):
        monkeypatch.setattr(module, "has_gpu", lambda: False)


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


def test_the_target_is_what_launches_compile_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_OVERRIDE_ARCH", raising=False)
    assert driver.active.get_current_target() == GPUTarget("cuda", 90, 32)
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    kernel = copy[(1,)](x, out, 64, BLOCK=64)
    assert kernel.metadata.target == driver.active.get_current_target()
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm80")
    assert driver.active.get_current_target() == GPUTarget("cuda", 80, 32)


def test_there_is_one_device_of_one_multiprocessor() -> None:
    active = driver.active
    assert (active.get_current_device(), active.get_current_stream(0)) == (0, 0)
    active.set_current_device(0)
    with pytest.raises(ValueError, match="unknown device 1"):
        active.set_current_device(1)
    properties = active.utils.get_device_properties(0)
    assert properties["multiprocessor_count"] == 1
    assert properties["max_shared_mem"] == active.get_current_target().max_shared_memory


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_tensors_belong_on_the_cpu() -> None:
    import torch  # pyright: ignore[reportMissingImports]

    assert driver.active.get_active_torch_device() == torch.device("cpu")


@needs_assembler
def test_a_program_may_size_its_grid_by_the_registers_of_a_kernel() -> None:
    x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    kernel = copy.warmup(x, out, 100, BLOCK=64, grid=(1,))
    kernel._init_handles()
    assert 8 <= kernel.n_regs <= 64
    assert kernel.n_spills == 0
    programs = min(2, driver.active.utils.get_device_properties(0)["max_num_regs"] // (kernel.n_regs * 32 * 4))
    kernel[(programs, 1, 1)](x, out, 100, 64)
    assert np.array_equal(out, x)


@needs_assembler
def test_registers_are_limited_by_maxnreg_and_spills_are_counted() -> None:
    @triton.jit
    def sums(x, out, BLOCK: tl.constexpr):
        rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
        tile = tl.load(x + rows * BLOCK + columns)
        tl.store(out + rows * BLOCK + columns, tl.softmax(tile) + tl.cumsum(tile, 1) + tl.sort(tile))

    found = [
        kernel_resources(sums.warmup(tl.float32, tl.float32, 128, grid=(1,), maxnreg=limit).asm["cubin"], "sums")
        for limit in (32, 255)
    ]
    assert found[0].registers <= 32 < found[1].registers
    assert found[0].local_bytes > found[1].local_bytes


def test_what_is_no_cubin_is_refused() -> None:
    for cubin in (b"", b"\x7fELF\x02\x01", b"no cubin" * 20):
        with pytest.raises(MinitritonError, match="does not say"):
            kernel_resources(cubin, "copy")


@needs_assembler
def test_arrays_on_a_device_still_need_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_driver, "_driver", MinitritonError("no CUDA driver (libcuda.so.1) on this machine"))
    kernel = copy.warmup(tl.float32, tl.float32, 100, BLOCK=64, grid=(1,))

    class OnDevice:
        """An array that lies on a device."""

        __cuda_array_interface__ = {"data": (4096, False), "shape": (64,), "typestr": "<f4", "version": 3}

    with pytest.raises(MinitritonError, match="no CUDA driver"):
        kernel.run(1, 1, 1, 0, None, kernel.packed_metadata, None, None, None, OnDevice(), OnDevice(), 100, 64)


def test_a_compiled_kernel_is_launched_on_host_arrays_as_code_generators_do() -> None:
    kernel = copy.warmup(tl.float32, tl.float32, 100, BLOCK=64, grid=(1,))
    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    told: list[object] = []
    kernel.run(2, 1, 1, 0, kernel.function, kernel.packed_metadata, "this", told.append, told.append, x, out, 100, 64)
    assert (out == x).all()
    assert told == ["this", "this"]
    with pytest.raises(MinitritonError, match="takes 3 arguments"):
        kernel.run(2, 1, 1, 0, None, None, None, None, None, x, out)


def test_the_device_is_asked_of_torch_without_asking_again_whether_torch_has_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    torch = ModuleType("torch")
    cuda = SimpleNamespace(
        is_available=lambda: asked.append("is_available") or True, init=lambda: None, current_device=lambda: 1
    )
    monkeypatch.setattr(torch, "cuda", cuda, raising=False)
    extension = SimpleNamespace(_cuda_getDevice=lambda: 1, _cuda_getCurrentRawStream=lambda device: 0)
    monkeypatch.setattr(torch, "_C", extension, raising=False)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(loading, "_stream_functions", functools.cache(lambda has_torch: loading.stream_functions()))
    monkeypatch.setattr(active_driver, "has_gpu", lambda: True)
    targets = SimpleNamespace(target=lambda device: GPUTarget("cuda", 80 + 10 * device, 32))
    monkeypatch.setattr(active_driver, "get_driver", lambda: targets)
    for _ in range(3):
        assert driver.active.get_current_device() == 1
        assert driver.active.get_current_target() == GPUTarget("cuda", 90, 32)
    assert set(asked) == {"is_available"} and len(asked) <= 2
