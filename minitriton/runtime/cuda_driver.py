"""The CUDA driver, through `ctypes`: what loading and launching a kernel needs, and nothing else.

No compiler and no toolkit: `libcuda.so.1` comes with the display driver. Every call is checked; a failure becomes a
`DriverError` that carries the driver's own name and text of the error (CUDA driver API, section "Error Handling").
"""

import ctypes
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import ClassVar, NamedTuple

from minitriton.errors import MinitritonError, OutOfResources
from minitriton.host import locks
from minitriton.target import SUPPORTED_ARCHITECTURES, GPUTarget
from minitriton.target.backends import backend, imported
from minitriton.target.tensor_map import DRIVER_TYPES, TensorMap
from minitriton.target.tensor_map import SIZE as TENSOR_MAP_BYTES

_COMPUTE_CAPABILITY_MAJOR = 75
_COMPUTE_CAPABILITY_MINOR = 76

_FUNC_MAX_THREADS = 0
_FUNC_STATIC_SHARED = 1
_FUNC_LOCAL_BYTES = 3
_FUNC_REGISTERS = 4
_FUNC_MAX_DYNAMIC_SHARED = 8
_FUNC_NON_PORTABLE_CLUSTERS = 14

_JIT_ERROR_LOG_BUFFER = 5
_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6

_STATIC_SHARED_LIMIT = 48 * 1024
"""Bytes of shared memory that a kernel gets without opting in to more (CUDA programming guide, §16)."""


NO_CONTEXT = 201
"""CUDA_ERROR_INVALID_CONTEXT: the calling thread has used no device yet."""


_TENSOR_MAP_ALIGNMENT = 64


class TensorMapAddress(int):
    """The address of a tensor map's bytes in host memory, which it keeps."""

    kept: object


class DriverError(MinitritonError):
    """A CUDA driver call failed. `code` is its CUresult."""

    def __init__(self, call: str, code: int, name: str, text: str, help: str | None = None) -> None:
        self.code = code
        super().__init__(f"{call} failed: {name} ({code}): {text}", help=help)


class LoadedKernel(NamedTuple):
    """A kernel in a device's memory. `function` is its CUfunction, `n_spills` counts 32-bit registers spilled per thread."""

    module: int
    function: int
    n_regs: int
    n_spills: int
    n_max_threads: int


class CudaDriver:
    """One process's view of `libcuda`; `HipDriver` has the same methods for AMD's. Raises `MinitritonError` on construction where there is no driver or device."""

    backend = "cuda"
    """Whose GPUs it drives."""
    PROPERTIES: ClassVar[dict[str, int]] = {
        "max_shared_mem": 97, "max_num_regs": 82, "multiprocessor_count": 16, "warpSize": 10, "sm_clock_rate": 13,
        "mem_clock_rate": 36, "mem_bus_width": 37,
    }  # fmt: skip
    """The attribute of a device that each of Triton's properties is: CUdevice_attribute."""

    def __init__(self) -> None:
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise MinitritonError(
                "no CUDA driver (libcuda.so.1) on this machine",
                help="pass NumPy arrays to run on the emulator, or compile with minitriton.compile(..., target=GPUTarget('cuda', 90, 32))",
            ) from error
        self._lock = threading.Lock()
        self._targets: dict[int, GPUTarget] = {}
        self.check("cuInit", self.library.cuInit(0))
        self.device_count = self.asked("cuDeviceGetCount")
        if self.device_count == 0:
            raise MinitritonError(
                "the CUDA driver reports no device", help="pass NumPy arrays to run on the interpreter"
            )
        self._contexts: dict[int, ctypes.c_void_p] = {}

    def check(self, call: str, code: int, help: str | None = None) -> None:
        """Raises `DriverError` unless `code` is CUDA_SUCCESS."""
        if code == 0:
            return
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        self.library.cuGetErrorName(code, ctypes.byref(name))
        self.library.cuGetErrorString(code, ctypes.byref(text))
        raise DriverError(call, code, (name.value or b"?").decode(), (text.value or b"?").decode(), help)

    def asked(self, call: str, *given: object) -> int:
        """The number that a function of the library writes to where its first argument points."""
        value = ctypes.c_int()
        self.check(call, getattr(self.library, call)(ctypes.byref(value), *given))
        return value.value

    def attribute(self, attribute: int, device: int = 0) -> int:
        """A CUdevice_attribute of `device`."""
        return self.asked("cuDeviceGetAttribute", attribute, device)

    def target(self, device: int = 0) -> GPUTarget:
        """The architecture of `device`. A newer one than minitriton knows is compiled for as the newest known."""
        known = self._targets.get(device)
        if known is not None:
            return known
        arch = 10 * self.attribute(_COMPUTE_CAPABILITY_MAJOR, device) + self.attribute(
            _COMPUTE_CAPABILITY_MINOR, device
        )
        if arch not in SUPPORTED_ARCHITECTURES:
            raise MinitritonError(
                f"device {device} has compute capability {arch // 10}.{arch % 10}, which minitriton does not target",
                help="supported: " + ", ".join(f"{a // 10}.{a % 10}" for a in SUPPORTED_ARCHITECTURES),
            )
        return self._targets.setdefault(device, GPUTarget("cuda", arch, 32))

    def properties(self, device: int = 0) -> dict[str, int]:
        """Triton's `get_device_properties`: bytes, counts, kHz, bits."""
        return {name: self.attribute(attribute, device) for name, attribute in self.PROPERTIES.items()}

    def current_device(self) -> int:
        """The device of the calling thread's context; makes device 0's primary context current where there is none."""
        device = ctypes.c_int()
        if self.library.cuCtxGetDevice(ctypes.byref(device)) == 0:
            return device.value
        self.set_current_device(0)
        return 0

    def set_current_device(self, device: int) -> None:
        """Makes the primary context of `device` current for the calling thread."""
        with self._lock:
            context = self._contexts.get(device)
            if context is None:
                context = ctypes.c_void_p()
                self.check(
                    "cuDevicePrimaryCtxRetain",
                    self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
                )
                self._contexts[device] = context
        self.check("cuCtxSetCurrent", self.library.cuCtxSetCurrent(context))

    def multiprocessors(self, device: int) -> int:
        """How many multiprocessors (compute units) the device has."""
        return self.attribute(self.PROPERTIES["multiprocessor_count"], device)

    def load(self, name: str, binary: bytes, shared: int, device: int) -> LoadedKernel:
        """Loads a cubin, or PTX text ending in a zero byte, and finds kernel `name` in it.

        `shared` is the dynamic shared memory in bytes that launches will ask for. Raises `OutOfResources` if the device has less.
        """
        self.current_device()
        limit = self.attribute(self.PROPERTIES["max_shared_mem"], device)
        if shared > limit:
            raise OutOfResources(shared, limit, "shared memory")
        log = ctypes.create_string_buffer(8192)
        keys = (ctypes.c_int * 2)(_JIT_ERROR_LOG_BUFFER, _JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        code = self.library.cuModuleLoadDataEx(ctypes.byref(module), binary, 2, keys, values)
        self.check(f"loading kernel {name!r}", code, help=log.value.decode(errors="replace").strip() or None)
        code = self.library.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
        self.check(f"finding kernel {name!r}", code)
        if shared > _STATIC_SHARED_LIMIT:
            self.check(
                "cuFuncSetAttribute",
                self.library.cuFuncSetAttribute(
                    function, _FUNC_MAX_DYNAMIC_SHARED, limit - self._function(function, _FUNC_STATIC_SHARED)
                ),
            )
        return LoadedKernel(
            module=module.value or 0,
            function=function.value or 0,
            n_regs=self._function(function, _FUNC_REGISTERS),
            n_spills=self._function(function, _FUNC_LOCAL_BYTES) // 4,
            n_max_threads=self._function(function, _FUNC_MAX_THREADS),
        )

    def allow_large_clusters(self, function: int) -> None:
        """Lets clusters of `function` have more blocks than every device can run."""
        set_attribute = self.library.cuFuncSetAttribute
        self.check("cuFuncSetAttribute", set_attribute(ctypes.c_void_p(function), _FUNC_NON_PORTABLE_CLUSTERS, 1))

    def encode_tensor_map(self, name: str, map: TensorMap) -> TensorMapAddress:
        """The bytes of `map`, for the parameter `name`. Raises `DriverError` for a map that the driver refuses."""
        buffer = (ctypes.c_char * (TENSOR_MAP_BYTES + _TENSOR_MAP_ALIGNMENT))()
        start = ctypes.addressof(buffer)
        address = TensorMapAddress(start + -start % _TENSOR_MAP_ALIGNMENT)
        address.kept = buffer
        rank = map.rank
        code = self.library.cuTensorMapEncodeTiled(
            ctypes.c_void_p(address),
            DRIVER_TYPES.index(map.element),
            rank,
            ctypes.c_void_p(map.address),
            (ctypes.c_uint64 * rank)(*map.dims),
            (ctypes.c_uint64 * rank)(*map.strides),
            (ctypes.c_uint32 * rank)(*map.box),
            (ctypes.c_uint32 * rank)(*map.steps),
            map.interleave,
            map.swizzle,
            map.l2_promotion,
            int(map.nan_fill),
        )
        self.check(f"describing parameter {name!r} to the copy unit", code, help=map.refusal())
        return address

    def parameter_slots(self, function: int, most: int | None = None) -> tuple[tuple[int, int], ...] | None:
        """Offset and bytes of each of a kernel's parameters in what a launch passes; None where a driver older than CUDA 12.4
        cannot tell. More than `most` are not asked for: that there are no more is an error in the eyes of `compute-sanitizer`."""
        ask = getattr(self.library, "cuFuncGetParamInfo", None)
        if ask is None:
            return None
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        slots: list[tuple[int, int]] = []
        while len(slots) != most and not ask(
            ctypes.c_void_p(function), ctypes.c_size_t(len(slots)), ctypes.byref(offset), ctypes.byref(size)
        ):
            slots.append((offset.value, size.value))
        return tuple(slots)

    def _function(self, function: ctypes.c_void_p, attribute: int) -> int:
        return self.asked("cuFuncGetAttribute", attribute, function)

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
        """`launch(x, y, z, stream, *values) -> CUresult` of a kernel whose parameters have these `struct` codes and offsets in `size` bytes. `config` is
        a CUlaunchConfig that points to `attributes`; `small_grid`: another function for so many blocks at most."""
        # The first of a process makes machine code: nothing of it is there before something is launched.
        from minitriton.runtime.launching.native_launch import native_launch

        call = self.library.cuLaunchKernelEx
        return native_launch(call, function, codes, offsets, size, config, attributes, small_grid)

    def synchronize(self) -> None:
        """Waits for all work of the current context. Raises `DriverError` for a kernel that failed meanwhile."""
        self.check("cuCtxSynchronize", self.library.cuCtxSynchronize())


_driver: CudaDriver | MinitritonError | None = None


def _looked_for() -> CudaDriver | MinitritonError:
    """The process's driver, or why there is none; looked for once."""
    global _driver
    found = _driver
    if found is not None:
        return found
    with locks.DRIVER:
        if _driver is None:
            try:
                _driver = CudaDriver()
            except MinitritonError as error:
                # Not the error itself: its traceback would keep what the frames that look for the driver hold, a launch's arrays.
                _driver = _of_amd() or MinitritonError(error.message, help=error.help)
        return _driver


def _of_amd() -> CudaDriver | None:
    """HIP's driver, if it finds a GPU."""
    if not backend("hip").may_have_device:
        return None
    try:
        return imported("minitriton.runtime.hip_driver:HipDriver")()
    except MinitritonError:
        return None


def get_driver() -> CudaDriver:
    """The process's driver. Raises `MinitritonError` where there is no driver or no device."""
    found = _looked_for()
    if isinstance(found, MinitritonError):
        raise MinitritonError(found.message, help=found.help)
    return found


def get_cuda_driver() -> CudaDriver:
    """`get_driver`, for what is done on NVIDIA's GPUs only. Raises `MinitritonError` on others, too."""
    found = get_driver()
    if found.backend != "cuda":
        raise MinitritonError("this is done on NVIDIA's GPUs only, and the GPU here is AMD's")
    return found


def has_gpu() -> bool:
    """Whether a kernel can be launched on a GPU of this machine."""
    return not isinstance(_looked_for(), MinitritonError)


def number_of_devices() -> int:
    """How many devices the driver has; 0 where there is none."""
    found = _looked_for()
    return 0 if isinstance(found, MinitritonError) else found.device_count


def torch_module() -> ModuleType | None:
    """`torch` if the program has imported it already, else None: minitriton never imports it by itself."""
    return sys.modules.get("torch")
