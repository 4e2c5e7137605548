"""AMD's HIP runtime, through `ctypes`: what finding a GPU, loading a code object and launching a kernel needs, in the form of `CudaDriver`.

    driver.active.get_current_target()      →  GPUTarget("hip", "gfx942", 64)
    kernel[(4,)](x, out, n)                    with `DeviceBuffer`s, or torch's tensors: hipModuleLaunchKernel

Every call is checked; a failure becomes a `DriverError` with HIP's own name and text of the error. **No AMD GPU has run this**: it is tested against a library
that takes the same calls (`tests/runtime/mock_hip.c`). Structures and numbers: `hip_runtime_api.h` of ROCm 6 and 7.
"""

from __future__ import annotations

import ctypes
import re
import struct
import threading
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from minitriton import knobs
from minitriton.errors import MinitritonError, OutOfResources
from minitriton.runtime.active_driver import ActiveDriver
from minitriton.runtime.cuda_driver import CudaDriver, DriverError, LoadedKernel, get_driver, has_gpu, torch_module
from minitriton.runtime.launching.loading import load
from minitriton.runtime.stored_kernel import StoredKernel
from minitriton.target import GPUTarget
from minitriton.target.tensor_map import TensorMap

_PROPERTIES_BYTES = 1472
_ARCH_NAME = 1160, 256
"""sizeof(hipDeviceProp_tR0600); offset and bytes of its gcnArchName."""
_FUNC_MAX_THREADS, _FUNC_LOCAL_BYTES, _FUNC_REGISTERS = 0, 3, 4
"""hipFunction_attribute."""
_TO_DEVICE, _TO_HOST = 1, 2
"""hipMemcpyKind."""
_BUFFER_POINTER, _BUFFER_SIZE, _END = 1, 2, 3
"""What the entries of hipModuleLaunchKernel's `extra` are (HIP_LAUNCH_PARAM_*)."""
_CONFIG_BLOCK = 12
"""Where the block's sizes are in a launch's configuration, before the bytes of shared memory."""
_LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "/opt/rocm/lib/libamdhip64.so")


def _library() -> ctypes.CDLL:
    """The library that the program uses already, else that of `TRITON_LIBHIP_PATH` or the system's."""
    given, torch = knobs.amd.libhip_path, torch_module()
    names: list[str] = [given] if given else [*_LIBRARIES]
    if not given and torch is not None and getattr(torch.version, "hip", None):
        names.insert(0, f"{torch.__path__[0]}/lib/libamdhip64.so")
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise MinitritonError(
        "no HIP runtime (libamdhip64.so) on this machine",
        help="pass NumPy arrays to run on the emulator, or name the library in TRITON_LIBHIP_PATH",
    )


class HipDriver(CudaDriver):
    """One process's view of `libamdhip64`, in the place of `CudaDriver`. Raises `MinitritonError` on construction where there is no runtime or GPU."""

    backend = "hip"
    PROPERTIES: ClassVar[dict[str, int]] = {
        "max_shared_mem": 74, "max_num_regs": 71, "multiprocessor_count": 63, "warpSize": 87, "sm_clock_rate": 5,
        "mem_clock_rate": 60, "mem_bus_width": 59,
    }  # fmt: skip
    """hipDeviceAttribute_t."""

    def __init__(self) -> None:
        self.library = _library()
        for function in (self.library.hipGetErrorName, self.library.hipGetErrorString):
            function.restype = ctypes.c_char_p
        self.check("hipInit", self.library.hipInit(0))
        self.device_count = self.asked("hipGetDeviceCount")
        if self.device_count == 0:
            raise MinitritonError("the HIP runtime reports no device", help="pass NumPy arrays to run on the emulator")
        self._targets, self._contexts = {}, {}
        self._lock = threading.Lock()
        self._slots: dict[int, tuple[tuple[int, int], ...]] = {}
        """Offset and bytes of each argument, by hipFunction_t."""

    def check(self, call: str, code: int, help: str | None = None) -> None:
        """Raises `DriverError` unless `code` is hipSuccess."""
        if code:
            name, text = (f(code) or b"?" for f in (self.library.hipGetErrorName, self.library.hipGetErrorString))
            raise DriverError(call, code, name.decode(), text.decode(), help)

    def attribute(self, attribute: int, device: int = 0) -> int:
        """A hipDeviceAttribute_t of `device`."""
        return self.asked("hipDeviceGetAttribute", attribute, device)

    def target(self, device: int = 0) -> GPUTarget:
        """The architecture of `device`: `gfx942` of `gfx942:sramecc+:xnack-`."""
        known = self._targets.get(device)
        if known is not None:
            return known
        properties = ctypes.create_string_buffer(2 * _PROPERTIES_BYTES)
        self.check("hipGetDeviceProperties", self.library.hipGetDevicePropertiesR0600(properties, device))
        start, size = _ARCH_NAME
        name = properties.raw[start : start + size].partition(b"\0")[0].decode(errors="replace")
        match = re.match(r"(gfx[0-9a-f]+)(:|$)", name)
        if match is None:
            raise MinitritonError(
                f"device {device} of the HIP runtime is {name!r}, which is not an architecture's name"
            )
        found = GPUTarget("hip", match[1], self.attribute(self.PROPERTIES["warpSize"], device))
        return self._targets.setdefault(device, found)

    def current_device(self) -> int:
        """The device of the calling thread."""
        return self.asked("hipGetDevice")

    def set_current_device(self, device: int) -> None:
        """Makes `device` that of the calling thread."""
        self.check("hipSetDevice", self.library.hipSetDevice(device))

    def load(self, name: str, binary: bytes, shared: int, device: int) -> LoadedKernel:
        """Loads a code object and finds kernel `name` in it. `shared` is the LDS that launches will ask for. Raises `OutOfResources` if the device
        has less."""
        from minitriton.codegen.amd.code_object import argument_slots

        limit = self.attribute(self.PROPERTIES["max_shared_mem"], device)
        if shared > limit:
            raise OutOfResources(shared, limit, "shared memory")
        slots = argument_slots(binary, name)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        help = f"the device is {self.target(device).arch}: compile for it"
        self.check(f"loading kernel {name!r}", self.library.hipModuleLoadData(ctypes.byref(module), binary), help)
        code = self.library.hipModuleGetFunction(ctypes.byref(function), module, name.encode())
        self.check(f"finding kernel {name!r}", code)
        with self._lock:
            self._slots[function.value or 0] = slots
        numbers = [self._function(function, a) for a in (_FUNC_REGISTERS, _FUNC_LOCAL_BYTES, _FUNC_MAX_THREADS)]
        return LoadedKernel(module.value or 0, function.value or 0, numbers[0], numbers[1] // 4, numbers[2])

    def _function(self, function: ctypes.c_void_p, attribute: int) -> int:
        return self.asked("hipFuncGetAttribute", attribute, function)

    def allow_large_clusters(self, function: int) -> None:
        """AMD's GPUs have no clusters, which options refuse before."""

    def encode_tensor_map(self, name: str, map: TensorMap) -> NoReturn:
        """Raises `MinitritonError`: AMD's GPUs copy no tiles by themselves, and kernels for them take pointers."""
        raise MinitritonError(f"parameter {name!r} is a tensor map, which AMD's GPUs lack")

    def parameter_slots(self, function: int, most: int | None = None) -> tuple[tuple[int, int], ...]:
        """Offset and bytes of each of a kernel's parameters, as its code object says."""
        return self._slots[function][:most]

    def launch_function(
        self,
        function: int,
        codes: str,
        offsets: list[int],
        size: int,
        config: bytes,
        attributes: object,
        small_grid: tuple[int | Callable[[], int], int],
    ) -> Callable[..., int]:
        """`launch(x, y, z, stream, *values) -> hipError_t`. Each value is packed by its code at its offset of `size` bytes; of code `x` it is left out."""
        x, y, z, shared = struct.unpack_from("=4I", config, _CONFIG_BLOCK)
        kept = [n for n, code in enumerate(codes) if code != "x"]
        packers = [(struct.Struct("=" + codes[n]).pack_into, offsets[n], n) for n in kept]
        call, handle = self.library.hipModuleLaunchKernel, ctypes.c_void_p(function)

        def launch(grid_x: int, grid_y: int, grid_z: int, stream: int, *values: Any) -> int:
            arguments = ctypes.create_string_buffer(size)
            for pack, offset, position in packers:
                pack(arguments, offset, values[position])
            bytes_ = ctypes.c_size_t(size)
            extra = (ctypes.c_void_p * 5)(
                _BUFFER_POINTER, ctypes.addressof(arguments), _BUFFER_SIZE, ctypes.addressof(bytes_), _END
            )
            return call(handle, grid_x, grid_y, grid_z, x, y, z, shared, ctypes.c_void_p(stream), None, extra)

        return launch

    def synchronize(self) -> None:
        """Waits for all work of the current device. Raises `DriverError` for a kernel that failed meanwhile."""
        self.check("hipDeviceSynchronize", self.library.hipDeviceSynchronize())


def hip_driver() -> HipDriver:
    """The process's driver, if that is HIP's. Raises `MinitritonError` where it is not."""
    found = get_driver() if has_gpu() else None
    if not isinstance(found, HipDriver):
        raise MinitritonError(
            "no AMD GPU on this machine: the HIP runtime (libamdhip64.so) is missing or finds none",
            help="pass NumPy arrays to run on the emulator, or name the library in TRITON_LIBHIP_PATH",
        )
    return found


class DeviceBuffer:
    """Memory of the current GPU, for programs without torch: what a launch takes for a pointer.

    x = DeviceBuffer(4 * n, "float32");  x.copy_from(array);  kernel[(1,)](x, n);  x.copy_to(array)
    """

    is_cuda = True
    """As torch's tensors say on both vendors' GPUs."""

    def __init__(self, num_bytes: int, dtype: str = "uint8") -> None:
        self.driver, self.num_bytes, self.dtype = hip_driver(), num_bytes, dtype
        address = ctypes.c_void_p()
        self.driver.check("hipMalloc", self.driver.library.hipMalloc(ctypes.byref(address), ctypes.c_size_t(num_bytes)))
        self._address = address.value or 0

    def data_ptr(self) -> int:
        """Its address on the GPU."""
        return self._address

    def copy_from(self, source: Any) -> None:
        """Copies bytes of host memory (an array, bytes, anything with the buffer protocol) to the start."""
        data = memoryview(source).cast("B")
        self._copy(self._address, (ctypes.c_char * len(data)).from_buffer_copy(data), len(data), _TO_DEVICE)

    def copy_to(self, target: Any) -> None:
        """Copies as many bytes as `target` has from the start, when earlier launches are done."""
        data = memoryview(target).cast("B")
        self._copy((ctypes.c_char * len(data)).from_buffer(data), self._address, len(data), _TO_HOST)

    def _copy(self, to: Any, source: Any, count: int, kind: int) -> None:
        if count > self.num_bytes:
            raise MinitritonError(f"{count} bytes do not fit a buffer of {self.num_bytes}")
        addresses = [ctypes.c_void_p(each) if isinstance(each, int) else each for each in (to, source)]
        self.driver.check("hipMemcpy", self.driver.library.hipMemcpy(*addresses, ctypes.c_size_t(count), kind))

    def __del__(self) -> None:
        if getattr(self, "_address", 0):
            self.driver.library.hipFree(ctypes.c_void_p(self._address))


def load_kernel(kernel: StoredKernel) -> None:
    """Loads a compiled kernel's code object on the current GPU. Raises `MinitritonError` where there is none, or for the code of another one."""
    driver, target = hip_driver(), kernel.metadata.target
    here = driver.target(driver.current_device())
    if target.arch != here.arch:
        raise MinitritonError(
            f"kernel {kernel.name!r} is compiled for {target.arch}, and the GPU is {here.arch}",
            help="leave out the target, or compile for the GPU's",
        )
    load(kernel)


class HipActiveDriver(ActiveDriver):
    """`ActiveDriver` on AMD's GPUs."""

    may_emulate = False
    load_kernel = staticmethod(load_kernel)

    @classmethod
    def is_active(cls) -> bool:
        """Whether the GPU of this machine is AMD's."""
        return has_gpu() and isinstance(get_driver(), HipDriver)

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """As torch says it of AMD's GPUs: (9, 4) of gfx942."""
        digits = str(hip_driver().target(device or 0).arch).removeprefix("gfx")
        return int(digits[:-2]), int(digits[-2], 16)
