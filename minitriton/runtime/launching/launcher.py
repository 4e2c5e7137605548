"""Launching a loaded kernel: its parameters laid out as PTX lays them out, and one call of `cuLaunchKernelEx` (CUDA
driver API, section "Execution Control").

A `Launcher` belongs to one compiled kernel on one device. `launch` checks what it is given; `positional` is the same
without checks, for the generated launch paths.
"""

from __future__ import annotations

import ctypes
import operator
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from minitriton.errors import MinitritonError
from minitriton.runtime._allocation import current_allocator
from minitriton.runtime.cuda_driver import NO_CONTEXT, CudaDriver
from minitriton.runtime.launching.descriptor_arguments import TENSOR_MAP_TYPE

PACK_CODES = {
    "i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "u1": "B", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "fp16": "H", "bf16": "H", "fp32": "f", "f32": "f", "fp64": "d",
}  # fmt: skip
"""`struct` codes of Triton's scalar type names; pointers are `Q`, and tensor maps `T`, whose address is passed."""

_CONFIG = struct.Struct("=7I4xQQI4x")
"""CUlaunchConfig: grid x y z, block x y z, shared bytes, stream, attributes, attribute count."""

_ATTRIBUTE_COOPERATIVE = 2
_ATTRIBUTE_CLUSTER_DIMENSION = 4
_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY = 5
_SPREAD = 1
"""CU_CLUSTER_SCHEDULING_POLICY_SPREAD: the blocks of a cluster on as many multiprocessors as possible."""
_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6
_ATTRIBUTE_BYTES = 72
"""sizeof(CUlaunchAttribute): id, padding, 64 bytes of value."""


HIDDEN_PARAMETERS = 2
"""What every kernel takes after its own parameters: pointers to scratch memory, its own and a profiler's."""


class LaunchShape(NamedTuple):
    """What every launch of one kernel has in common."""

    num_threads: int
    shared_bytes: int
    cooperative: bool = False
    programmatic_dependent: bool = False
    scratch_bytes: int = 0
    """Global memory that each program needs in addition to its arguments."""
    scratch_alignment: int = 1
    num_ctas: int = 1
    """Blocks that make up a program: a cluster of as many along x."""
    parameter_slots: tuple[tuple[int, int], ...] | None = None
    """Offset and bytes of every parameter, the hidden scratch pointers included, as the driver says; None if it cannot."""


class MadeParameters(NamedTuple):
    """Parameters that follow those of the caller, made of these at each launch."""

    types: list[str]
    read: list[int]
    """The parameters that they are made of."""
    values: Callable[[Mapping[int, Any]], tuple[object, ...] | None]
    """From `read` parameters to the further ones; None where the kernel cannot be launched with them."""
    without: Callable[[], Launcher]
    """Of the kernel that takes none."""


class SmallGridFunction(NamedTuple):
    """Another function of the kernel, or what makes it at the first such launch, for launches of at most so many blocks."""

    function: int | Callable[[], int]
    most_blocks: int


_PLAIN = {
    "Q": "{0}.is_cuda",
    "i": "{0}.__class__ is int and -0x80000000 <= {0} <= 0x7fffffff",
    "q": "{0}.__class__ is int and -0x8000000000000000 <= {0} <= 0x7fffffffffffffff",
    "f": "{0}.__class__ is float",
    "d": "{0}.__class__ is float",
}
"""What is so of an argument that is passed as it is, by the code of its parameter."""


def _on_gpu(value: Any) -> bool:
    """Whether a tensor, or what a program passes for one, is in memory of a GPU."""
    return hasattr(value, "data_ptr") and getattr(getattr(value, "device", None), "type", None) == "cuda"


def _not_plain(*_: object) -> None:
    return None


class Launcher:
    """Launches one kernel. `parameter_types` are Triton's names (`*fp32`, `i32`, ...) of the runtime parameters in order;
    the two hidden scratch pointers of the kernel ABI follow them: memory of the program's allocator if the kernel needs any,
    and null."""

    def __init__(
        self,
        driver: CudaDriver,
        function: int,
        name: str,
        parameter_types: list[str],
        shape: LaunchShape,
        device: int = 0,
        small_grid: SmallGridFunction | None = None,
        made: MadeParameters | None = None,
    ) -> None:
        self.driver = driver
        self.device = device
        self.name = name
        self.shape = shape
        self.types = parameter_types
        self._function = function
        self._small_grid = small_grid or SmallGridFunction(function, 0)
        self._made = made
        self._codes = "".join("Q" if t.startswith("*") else _pack_code(t) for t in parameter_types)
        self._attributes = _launch_attributes(shape)
        self._launch: Callable[..., int] | None = None
        self.ways: dict[int, tuple[int, ...]] = {}
        """Ways to give the arguments: their number → the positions of those that are passed. None is needed for exactly these."""
        self._plain_calls: dict[int, Callable[..., int | None]] = {}
        self.call: Callable[..., None] | None = None
        """`call(x, y, z, stream, *arguments)` with all arguments of the kernel's function (`generic_call`)."""

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: int,
        function: int | None,
        packed_metadata: object,
        launch_metadata: object,
        launch_enter_hook: Callable[[object], None] | None,
        launch_exit_hook: Callable[[object], None] | None,
        *arguments: object,
    ) -> None:
        """Triton's way to launch a compiled kernel, which code generators write: `kernel.run(grid x, y, z, stream, kernel.function,
        kernel.packed_metadata, None or metadata for the hooks, the hooks, *arguments)`.

        `arguments` are those of all parameters, whatever stands for one that is compiled in: arrays or addresses,
        numbers, tensor descriptors, tuples.
        """
        if self.call is None:
            raise MinitritonError(f"kernel {self.name!r} is not loaded", help="load it by its `_init_handles()`")
        if launch_enter_hook:
            launch_enter_hook(launch_metadata)
        self.call(x, y, z, stream, *arguments)
        if launch_exit_hook:
            launch_exit_hook(launch_metadata)

    def launch_plain(self, x: int, y: int, z: int, stream: int, arguments: tuple[Any, ...]) -> bool:
        """Enqueues a launch with as many arguments as one of `ways` says, if those passed are tensors of a GPU and numbers that fit; else False."""
        count = len(arguments)
        call = self._plain_calls.get(count) or self._plain_call(count, _PLAIN)
        try:
            code = call(x, y, z, stream, *arguments)
        except AttributeError:  # what has an address, but is no tensor
            call = self._plain_call(count, _PLAIN | {"Q": "on_gpu({0})"})
            code = call(x, y, z, stream, *arguments)
        except TypeError:
            return False
        if code == NO_CONTEXT:
            self.driver.set_current_device(self.device)
            code = call(x, y, z, stream, *arguments)
        if code:
            self.check(code, (x, y, z))
        return code is not None

    def _plain_call(self, count: int, plain: Mapping[str, str]) -> Callable[..., int | None]:
        """`call(x, y, z, stream, *arguments) -> CUresult` with `count` arguments; None for those that are not `plain`."""
        passed = self.ways.get(count, range(count))
        if len(passed) != len(self._codes):
            return _not_plain
        names = [f"a{number}" for number in range(count)]
        pairs = [(names[at], code) for at, code in zip(passed, self._codes, strict=True)]
        checks = [plain.get(code, "False").format(name) for name, code in pairs]
        values = [f"{name}.data_ptr()" if code == "Q" else name for name, code in pairs]
        call = self._plain_calls[count] = eval(
            f"lambda x, y, z, stream, {', '.join(names)}: "
            f"launch(x, y, z, stream, {', '.join(values)}) if {' and '.join(checks) or True} else None",
            {"launch": self.positional(()), "on_gpu": _on_gpu},
        )
        return call

    def __reduce__(self) -> tuple[object, ...]:
        """What it launches is loaded in this process: a pickled one is None, and its kernel loads itself anew."""
        return _nothing, ()

    def launch(self, x: int, y: int, z: int, stream: int, values: tuple[object, ...]) -> None:
        """Enqueues one launch on `stream` (a CUstream as an integer). `values`: addresses and numbers, in order.

        Raises `MinitritonError` that names the kernel if a value does not fit its type or the driver refuses.
        """
        try:
            struct.pack("@" + self._codes.replace("T", "Q"), *self._encoded(values))
        except struct.error as error:
            raise MinitritonError(
                f"kernel {self.name!r}: an argument does not fit its type ({error})",
                help=f"parameter types {self.types}",
            ) from error
        self.enqueue(x, y, z, stream, values)

    def enqueue(self, x: int, y: int, z: int, stream: int, values: tuple[object, ...]) -> None:
        """`launch` of values that fit their types."""
        if self._launch is None:
            self._launch = self.positional(())
        code = self._launch(x, y, z, stream, *values)
        if code == NO_CONTEXT:
            self.driver.set_current_device(self.device)
            code = self._launch(x, y, z, stream, *values)
        self.check(code, (x, y, z))

    def positional(self, skipped: tuple[int, ...]) -> Callable[..., int]:
        """`launch(x, y, z, stream, *values) -> CUresult`, unchecked and fast. `skipped` are positions among the values at
        which the caller passes something that the kernel does not take (a value compiled in)."""
        slots = self.shape.parameter_slots
        passed = self._codes + ("".join(map(_pack_code, self._made.types)) if self._made else "")
        if slots is None:
            slots = _slots(passed + "QQ")
        scratch = "Q" if self.shape.scratch_bytes else ""
        codes = list(passed + scratch)[: len(slots)]
        offsets = [offset for offset, _ in slots[: len(codes)]]
        for _ in range(len(passed + scratch) - len(codes)):  # PTX written by hand may take fewer
            codes.append("x")
            offsets.append(0)
        for position in skipped:
            codes.insert(position, "x")
            offsets.insert(position, 0)
        shape = self.shape
        template = _CONFIG.pack(
            0, 0, 0, shape.num_threads, 1, 1, shape.shared_bytes, 0,
            ctypes.addressof(self._attributes) if len(self._attributes) else 0, len(self._attributes) // _ATTRIBUTE_BYTES,
        )  # fmt: skip
        launch = self.driver.launch_function(
            self._function, "".join(codes), offsets, sum(slots[-1]) if slots else 0, template, self._attributes,
            (self._small_grid.function, self._small_grid.most_blocks),
        )  # fmt: skip
        if shape.num_ctas > 1:
            launch = _by_clusters(launch, shape.num_ctas)
        if scratch:
            launch = self._with_scratch(launch)
        if self._made:
            launch = _with_made(launch, self._made, skipped)
        halves = [i for i, t in enumerate(self.types) if t in ("fp16", "bf16")]
        if not halves:
            return launch

        def launch_with_halves(x: int, y: int, z: int, stream: int, *values: object) -> int:
            given = [v for i, v in enumerate(values) if i not in skipped]
            encoded = list(self._encoded(tuple(given)))
            for position in skipped:
                encoded.insert(position, None)
            return launch(x, y, z, stream, *encoded)

        return launch_with_halves

    def _with_scratch(self, launch: Callable[..., int]) -> Callable[..., int]:
        """`launch` with the address of newly allocated scratch memory after the other values."""
        size, alignment = self.shape.scratch_bytes * self.shape.num_ctas, self.shape.scratch_alignment

        def launch_with_scratch(x: int, y: int, z: int, stream: int, *values: object) -> int:
            buffer = current_allocator()(size * x * y * z, alignment, stream)
            return launch(x, y, z, stream, *values, buffer.data_ptr())

        return launch_with_scratch

    def check(self, code: int, grid: tuple[int, int, int]) -> None:
        """Raises for a CUresult that is not success, naming the kernel. A grid without blocks is no error."""
        if code == 0 or 0 in grid:
            return
        help = f"grid {grid}, {self.shape.num_threads} threads, {self.shape.shared_bytes} bytes of shared memory"
        if code in _ASYNCHRONOUS_FAULTS:
            help = "an earlier kernel on this device failed: run with CUDA_LAUNCH_BLOCKING=1 to see which; " + help
        self.driver.check(f"launching kernel {self.name!r}", code, help=help)

    def _encoded(self, values: tuple[Any, ...]) -> tuple[object, ...]:
        """`values` with half-precision numbers as their bits."""
        return tuple(half_bits(v, t) if t in ("fp16", "bf16") else v for v, t in zip(values, self.types, strict=True))


def _with_made(launch: Callable[..., int], made: MadeParameters, skipped: tuple[int, ...]) -> Callable[..., int]:
    """`launch` with what `made` makes of the other values, or the launch without it."""
    positions = [position for position in range(len(skipped) + max(made.read) + 1) if position not in skipped]
    read = operator.itemgetter(*(positions[parameter] for parameter in (*made.read, made.read[0])))
    known: dict[tuple[object, ...], tuple[object, ...] | None] = {}
    plain: Callable[..., int] | None = None

    def launch_with_made(x: int, y: int, z: int, stream: int, *values: object) -> int:
        nonlocal plain
        key = read(values)
        if key not in known:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[key] = made.values(dict(zip(made.read, key, strict=False)))
        added = known[key]
        if added is not None:
            return launch(x, y, z, stream, *values, *added)
        if plain is None:
            plain = made.without().positional(skipped)
        return plain(x, y, z, stream, *values)

    return launch_with_made


_MOST_KNOWN = 1024
"""Launches whose made parameters are remembered."""


def _nothing() -> None:
    """A launcher in another process."""


def half_bits(value: float, type_name: str) -> int:
    """The bits of `value` as an fp16 or bf16."""
    if type_name == "fp16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def _slots(codes: str) -> tuple[tuple[int, int], ...]:
    """Offset and bytes of each parameter: every one is aligned to its size, tensor maps to 64 (PTX ISA, ".param" space), as an
    address in the constant bank of parameters."""
    slots: list[tuple[int, int]] = []
    end = 0
    for code in codes:
        size, alignment = _TENSOR_MAP_LAYOUT if code == "T" else (struct.calcsize(code),) * 2
        end += -(_PARAMETER_BASE + end) % alignment
        slots.append((end, size))
        end += size
    return tuple(slots)


_TENSOR_MAP_LAYOUT = (128, 64)
"""Bytes and alignment of a tensor map."""

_PARAMETER_BASE = 0x210
"""Where parameters begin in the constant bank of sm_90, the target whose kernels take tensor maps: the first of these is at
offset 48 (CUDA 12.8 and 13.0, `cuobjdump -elf`, EIATTR_PARAM_CBANK and EIATTR_KPARAM_INFO)."""


def _by_clusters(launch: Callable[..., int], num_ctas: int) -> Callable[..., int]:
    """`launch` for a grid of programs, each `num_ctas` blocks along x."""

    def launch_by_clusters(x: int, *others: object) -> int:
        return launch(x * num_ctas, *others)

    return launch_by_clusters


def _launch_attributes(shape: LaunchShape) -> ctypes.Array[ctypes.c_char]:
    values: list[tuple[int, ...]] = []
    if shape.cooperative:
        values.append((_ATTRIBUTE_COOPERATIVE, 1))
    if shape.programmatic_dependent:
        values.append((_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1))
    if shape.num_ctas > 1:
        values.append((_ATTRIBUTE_CLUSTER_DIMENSION, shape.num_ctas, 1, 1))
        values.append((_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY, _SPREAD))
    attributes = (ctypes.c_char * (_ATTRIBUTE_BYTES * len(values)))()
    for index, (id, *value) in enumerate(values):
        struct.pack_into(f"=I4x{len(value)}I", attributes, index * _ATTRIBUTE_BYTES, id, *value)
    return attributes


_ASYNCHRONOUS_FAULTS = {700, 702, 710, 714, 715, 716, 717, 718, 719}
"""CUresults that a launch reports for work that went wrong before it: illegal address, timeout, assert, ..."""


def _pack_code(type_name: str) -> str:
    code = "T" if type_name == TENSOR_MAP_TYPE else PACK_CODES.get(type_name)
    if code is None:
        raise MinitritonError(f"a kernel parameter of type {type_name!r} cannot be passed from the host")
    return code
