"""Launches that are timed pass what launches from Python pass: copies on the device, tensor maps of them, scratch memory."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.lab.device_memory import on_device
from minitriton.lab.sweeping import timing
from minitriton.lab.sweeping.configuration import KernelProgram
from minitriton.lab.sweeping.correctness import Class, CorrectnessChecker
from minitriton.lab.sweeping.tuning_task import TuningTask
from minitriton.runtime._allocation import current_allocator
from minitriton.runtime.cuda_driver import CudaDriver, LoadedKernel, TensorMapAddress
from minitriton.runtime.launching import loading
from minitriton.target.tensor_map import TensorMap
from minitriton.tools.tensor_descriptor import TensorDescriptor

MAP_BYTES = 128


class HostLibrary:
    """The driver's calls that timing makes, over the host's memory: what is launched is noted, and takes no time."""

    def __init__(self) -> None:
        self.memory: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self.launches: list[tuple[tuple[int, ...], bytes, list[int]]] = []
        self.cuLaunchKernelEx = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(self._launch)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("cu"):
            return lambda *arguments: 0
        raise AttributeError(name)

    def cuMemAlloc_v2(self, address: Any, size: ctypes.c_size_t) -> int:
        block = ctypes.create_string_buffer(size.value + 256)
        at = ctypes.addressof(block) + -ctypes.addressof(block) % 256
        self.memory[at] = block
        address._obj.value = at
        return 0

    def cuMemFree_v2(self, address: ctypes.c_uint64) -> int:
        del self.memory[address.value]
        return 0

    def cuMemcpyHtoD_v2(self, to: ctypes.c_uint64, source: ctypes.c_void_p, size: ctypes.c_size_t) -> int:
        ctypes.memmove(to.value, source.value or 0, size.value)
        return 0

    def cuMemcpyDtoH_v2(self, to: ctypes.c_void_p, source: ctypes.c_uint64, size: ctypes.c_size_t) -> int:
        ctypes.memmove(to.value or 0, source.value, size.value)
        return 0

    def cuEventElapsedTime(self, milliseconds: Any, start: object, end: object) -> int:
        milliseconds._obj.value = 0.125
        return 0

    def _launch(self, config: int, function: int, parameters: int, extra: int) -> int:
        pointers = (ctypes.c_void_p * 5).from_address(extra)
        size = ctypes.c_size_t.from_address(pointers[3] or 0).value
        grid = struct.unpack("=3I", ctypes.string_at(config, 12))
        self.launches.append((grid, ctypes.string_at(pointers[1] or 0, size), list(self.memory)))
        return 0


class HostDriver:
    """A driver of a device whose memory is the host's."""

    launch_function = CudaDriver.launch_function

    def __init__(self) -> None:
        self.library = HostLibrary()
        self.maps: list[TensorMap] = []

    def current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def check(self, call: str, code: int, help: str | None = None) -> None:
        assert code == 0, call

    def load(self, name: str, binary: bytes, shared: int, device: int) -> LoadedKernel:
        assert binary[:4] == b"\x7fELF"
        return LoadedKernel(module=1, function=2, n_regs=32, n_spills=0, n_max_threads=1024)

    def parameter_slots(self, function: int) -> None:
        return None

    def encode_tensor_map(self, name: str, map: TensorMap) -> TensorMapAddress:
        self.maps.append(map)
        kept = ctypes.create_string_buffer(b"M" * MAP_BYTES, MAP_BYTES)
        address = TensorMapAddress(ctypes.addressof(kept))
        address.kept = kept
        return address


@triton.jit
def copy_tiles(source, target, rows, cols, BLOCK: tl.constexpr):
    """`source` is a descriptor of the host, `target` one that the kernel makes in its scratch memory."""
    made = tl.make_tensor_descriptor(target, [rows, cols], [cols, 1], [BLOCK, BLOCK])
    at = tl.program_id(0) * BLOCK
    made.store([at, 0], source.load([at, 0]) + 1)


@pytest.fixture
def task() -> TuningTask:
    x, y = np.arange(64 * 32, dtype=np.float32).reshape(64, 32), np.zeros((64, 32), np.float32)
    return TuningTask.of_call(copy_tiles, (TensorDescriptor.from_tensor(x, [32, 32]), y, 64, 32), (2,), BLOCK=32)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> HostDriver:
    driver = HostDriver()
    monkeypatch.setattr(timing, "has_gpu", lambda: True)
    monkeypatch.setattr(timing, "get_cuda_driver", lambda: driver)
    monkeypatch.setattr(loading, "get_driver", lambda: driver)
    return driver


def own_program(task: TuningTask) -> KernelProgram:
    checker = CorrectnessChecker(task)
    record = checker.record(task.pipeline())
    assert record.result is Class.RIGHT, record.reason
    return checker.programs[record.program]


def test_programs_with_tensor_maps_and_scratch_memory_are_timed(task: TuningTask, driver: HostDriver) -> None:
    program = own_program(task)
    assert program.descriptors and program.global_scratch
    found = timing.time_programs(task, program, [program])
    assert found[program.digest]["speedup"] == 1.0
    launches = driver.library.launches
    assert {grid for grid, _, _ in launches} == {(2, 1, 1)}
    _, parameters, allocated = launches[-1]
    (map_,) = driver.maps
    source, target, scratch = allocated
    assert map_.address == source and map_.dims == (32, 64)
    offset = parameters.index(b"M" * MAP_BYTES) + MAP_BYTES
    assert struct.unpack_from("<iiqqQii", parameters, offset) == (64, 32, 32, 1, target, 64, 32)
    assert struct.pack("<QQ", scratch, 0) in parameters
    assert not driver.library.memory


def test_a_cold_launch_is_alone_behind_what_empties_the_caches(
    task: TuningTask, driver: HostDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, emptied = own_program(task), list[int]()
    monkeypatch.setattr(timing, "_OTHER_BYTES", 4096)
    driver.library.cuMemsetD8Async = lambda at, value, size, stream: emptied.append(size.value) or 0  # type: ignore[attr-defined]
    found = timing.time_programs(task, program, [program], rounds=5, cold=True)
    assert found[program.digest]["microseconds"] == 125.0
    assert set(emptied) == {4096} and len(emptied) >= 5
    assert not driver.library.memory


def test_scratch_memory_of_one_size_is_taken_once_and_given_back(task: TuningTask, driver: HostDriver) -> None:
    before = current_allocator()
    with on_device(driver, task.launch().arguments):  # type: ignore[arg-type]
        allocate = current_allocator()
        assert allocate(256, 128, 0).data_ptr() == allocate(256, 128, 0).data_ptr() != allocate(512, 128, 0).data_ptr()
    assert current_allocator() is before
    assert not driver.library.memory


def test_arguments_come_back_from_the_device_and_one_array_stays_one(driver: HostDriver) -> None:
    x = np.arange(256, dtype=np.float32)
    task = TuningTask.of_call(add_into, (x, x, x.size), (1,), BLOCK=256)
    with on_device(driver, task.launch().arguments) as arguments:  # type: ignore[arg-type]
        types, (first, second, *_) = arguments.types_and_values(None)
        assert first == second and types[:2] == ["*fp32", "*fp32"]
        ctypes.memset(first, 0, x.nbytes)  # type: ignore[arg-type]
        arguments.copy_back()
    (back, _) = task.launch().arguments.contents()
    assert not back.any()


@triton.jit
def add_into(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


def test_a_program_keeps_what_the_host_has_to_know_of_its_maps(task: TuningTask) -> None:
    program = own_program(task)
    again = KernelProgram.of(program.kernel, program.digest, program.ptx, program.about())
    assert again.descriptors == program.descriptors
