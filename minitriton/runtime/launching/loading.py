"""From a `CompiledKernel` to something that can be launched on the current device.

In: a compiled kernel. Out: its handles (module, function, registers) and a launch function generated for its parameter
list, which does nothing per launch but pack, configure and call the driver.

`generic_call` launches with all arguments of the function, in the way of Triton's `CompiledKernel.run`. Where all parameters are pointers and numbers, it does
no more than read the tensors' addresses:

    k(x, n, BLOCK: constexpr) compiled for n = 1    →    call(x, y, z, stream, tensor, 1, 128): n and BLOCK are passed over

`passed_parts` says which of a launch path's values are passed, and makes a function for each tensor descriptor to what stands for it. Programs launch with the
same descriptors again and again, and encoding a tensor map takes as long as a launch: the result is remembered by all that it depends on.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from minitriton import knobs
from minitriton.codegen.assemblers import assembler_available
from minitriton.codegen.cubin_resources import kernel_resources
from minitriton.errors import MinitritonError, OutOfResources
from minitriton.pipeline.ast_source import ASTSource, TypeName
from minitriton.runtime.cuda_driver import (
    NO_CONTEXT,
    CudaDriver,
    LoadedKernel,
    TensorMapAddress,
    get_driver,
    has_gpu,
    torch_module,
)
from minitriton.runtime.launching.arguments import Argument, collect_arguments, data_address, runtime_value
from minitriton.runtime.launching.described_tiles import (
    described_tiles,
    parameters_read,
    plain_kernel,
    tensor_maps,
)
from minitriton.runtime.launching.descriptor_arguments import (
    TENSOR_MAP_TYPE,
    HostTensorMap,
    expanded_arguments,
    expanded_types,
    is_descriptor_type,
)
from minitriton.runtime.launching.host_values import Grid, HostDescriptor
from minitriton.runtime.launching.launcher import (
    HIDDEN_PARAMETERS,
    Launcher,
    LaunchShape,
    MadeParameters,
    SmallGridFunction,
)
from minitriton.runtime.stored_kernel import ASSEMBLED_ON_DEMAND, StoredKernel
from minitriton.target.backends import backend
from minitriton.target.tensor_map import DescriptorCopy, TensorMap

PassedValues = Callable[[Sequence[Argument]], tuple[object, ...]]
"""From arguments to what `Launcher.launch` takes."""


def generic_call(
    launcher: Launcher,
    signature: Mapping[str, TypeName] | Mapping[int, str],
    descriptors: list[DescriptorCopy] | None,
    passed_values: PassedValues,
) -> Callable[..., None]:
    """`call(x, y, z, stream, *arguments)`. `signature` is the kernel's, parameter → type, `descriptors` its `tensordesc_meta`."""
    types = [t for t in signature.values() if not isinstance(t, tuple)]
    if len(types) < len(signature) or any(map(is_descriptor_type, types)):
        return _call_by_parts(launcher, signature, descriptors, passed_values)
    pointers = tuple(t.startswith("*") for t in types)
    launch = launcher.positional(tuple(i for i, t in enumerate(types) if t == "constexpr"))

    def call(x: int, y: int, z: int, stream: int, *arguments: object) -> None:
        if len(arguments) != len(pointers):
            raise _wrong_number(launcher, signature, len(arguments))
        values = [_address(a) if p else a for a, p in zip(arguments, pointers, strict=True)]
        code = launch(x, y, z, stream, *values)
        if code == NO_CONTEXT:
            launcher.driver.set_current_device(launcher.device)
            code = launch(x, y, z, stream, *values)
        if code:
            launcher.check(code, (x, y, z))

    return call


def _address(value: Any) -> int:
    """The address of an array of the GPU, or the number that stands for one."""
    return value.data_ptr() if hasattr(value, "data_ptr") else value or 0


def _call_by_parts(
    launcher: Launcher,
    signature: Mapping[str, TypeName] | Mapping[int, str],
    descriptors: list[DescriptorCopy] | None,
    passed_values: PassedValues,
) -> Callable[..., None]:
    def call(x: int, y: int, z: int, stream: int, *arguments: object) -> None:
        if len(arguments) != len(signature):
            raise _wrong_number(launcher, signature, len(arguments))
        parts: list[Argument] = []
        for (name, type_name), value in zip(signature.items(), arguments, strict=True):
            collect_arguments(str(name), type_name, value, parts)
        launcher.launch(x, y, z, stream, passed_values(expanded_arguments(parts, descriptors)))

    return call


def _wrong_number(
    launcher: Launcher, signature: Mapping[str, TypeName] | Mapping[int, str], given: int
) -> MinitritonError:
    return MinitritonError(
        f"kernel {launcher.name!r} has {len(signature)} parameters ({', '.join(map(str, signature))}), got {given} arguments",
        help="pass all of them in order, those that are compiled in too",
    )


def load(kernel: StoredKernel) -> None:
    """Loads `kernel` on the current device and gives it a `Launcher`.

    The cubin is used where an assembler makes one, else the driver compiles the PTX. Raises `OutOfResources`.
    Where there is no GPU, only what the cubin says of the kernel is noted, for programs that size their grid by it.
    """
    is_cuda = kernel.metadata.target.backend == "cuda"
    if is_cuda and not has_gpu() and assembler_available(kernel.metadata.arch):
        taken = kernel_resources(kernel.asm["cubin"], kernel.name)
        kernel.n_regs, kernel.n_spills = taken.registers, taken.local_bytes // 4
        return
    driver = get_driver()
    device = driver.current_device()
    metadata = kernel.metadata
    start, end = knobs.runtime.kernel_load_start_hook, knobs.runtime.kernel_load_end_hook
    if start:
        start(None, None, kernel.name, {}, kernel.hash)
    loaded = driver.load(kernel.name, _binary(kernel), metadata.shared, device)
    if end:
        end(loaded.module, loaded.function, kernel.name, {}, kernel.hash)
    threads = metadata.num_warps * metadata.target.warp_size
    if threads > loaded.n_max_threads:
        raise OutOfResources(threads, loaded.n_max_threads, "threads")
    if metadata.num_ctas > _MOST_PORTABLE_CTAS:
        driver.allow_large_clusters(loaded.function)
    kernel.n_regs, kernel.n_spills, kernel.n_max_threads = loaded.n_regs, loaded.n_spills, loaded.n_max_threads
    types = expanded_types(kernel.src.runtime_parameters(), metadata.tensordesc_meta)
    made = _made_parameters(kernel)
    shape = LaunchShape(
        threads,
        metadata.shared,
        metadata.launch_cooperative_grid,
        getattr(metadata, "launch_pdl", False),
        getattr(metadata, "global_scratch_size", 0),
        getattr(metadata, "global_scratch_align", 1),
        metadata.num_ctas,
        driver.parameter_slots(loaded.function, len(types) + len(made.types if made else ()) + HIDDEN_PARAMETERS),
    )
    launcher = kernel.launcher = Launcher(
        driver, loaded.function, kernel.name, types, shape, device, _small_grid_function(kernel, driver, device), made
    )
    launcher.call = generic_call(launcher, kernel.src.signature, metadata.tensordesc_meta, passed_values)
    launcher.ways = _positions(kernel)
    kernel.module, kernel.function = loaded.module, loaded.function


def _made_parameters(kernel: StoredKernel) -> MadeParameters | None:
    """The tensor maps that launches of `kernel` make."""
    described = described_tiles(kernel)
    if described is None:
        return None
    copies = kernel.metadata.tensordesc_meta

    def values(numbers: Mapping[int, Any]) -> tuple[object, ...] | None:
        maps = tensor_maps(described, copies, numbers.__getitem__)
        if maps is None:
            return None
        found: list[object] = []
        for tile, map in zip(described["tiles"], maps, strict=True):
            placed = replace(map, address=numbers[tile["base"]])
            if placed.refusal() is not None:
                return None
            found.append(get_driver().encode_tensor_map("tile", placed))
        return tuple(found)

    def without() -> Launcher:
        return plain_kernel(kernel, assemble=True).loaded()

    return MadeParameters([TENSOR_MAP_TYPE] * len(described["tiles"]), parameters_read(described), values, without)


def _small_grid_function(kernel: StoredKernel, driver: CudaDriver, device: int) -> SmallGridFunction | None:
    """The kernel with more registers, where it has such a cubin, for as many blocks as run at once with these."""
    if "unlimited_cubin" not in kernel.asm:
        return None
    metadata = kernel.metadata

    @functools.cache
    def loaded() -> LoadedKernel:
        driver.set_current_device(device)
        loaded = driver.load(kernel.name, kernel.unlimited_cubin(), metadata.shared, device)
        if metadata.num_ctas > _MOST_PORTABLE_CTAS:
            driver.allow_large_clusters(loaded.function)
        return loaded

    multiprocessors, sm = driver.multiprocessors(device), metadata.target.features
    threads = metadata.num_warps * sm.warp_size
    if kernel.asm["unlimited_cubin"] == ASSEMBLED_ON_DEMAND:
        # The limit made room for one CTA more.
        ctas = sm.ctas_on_sm(kernel.n_regs or 1, threads, metadata.shared) - 1
        return SmallGridFunction(lambda: loaded().function, ctas * multiprocessors)
    ctas = sm.ctas_on_sm(loaded().n_regs, threads, metadata.shared)
    return SmallGridFunction(loaded().function, ctas * multiprocessors)


_MOST_PORTABLE_CTAS = 8
"""Blocks of a cluster that every device with clusters can run."""


def _binary(kernel: StoredKernel) -> bytes:
    found = backend(kernel.metadata.target.backend)
    if found.binary != "cubin":
        binary = kernel.asm[found.binary]
        assert isinstance(binary, bytes)
        return binary
    if "cubin" in kernel.asm or assembler_available():
        return kernel.asm["cubin"]
    return kernel.asm["ptx"].encode() + b"\0"


def current_stream() -> tuple[int, int]:
    """The calling thread's device and stream: torch's where the program uses torch on a GPU, else the default stream."""
    torch = torch_module()
    if torch is not None and torch.cuda.is_available():
        device = torch.cuda.current_device()
        return device, torch.cuda.current_stream(device).cuda_stream
    return get_driver().current_device(), 0


def current_device() -> int:
    """The calling thread's device, by a function that is looked up once for programs with torch and once for those without."""
    return _stream_functions(torch_module() is not None)[0]()


def current_raw_stream() -> int:
    """The calling thread's stream, likewise."""
    device, stream = _stream_functions(torch_module() is not None)
    return stream(device())


@functools.cache
def _stream_functions(has_torch: bool) -> tuple[Callable[[], int], Callable[[int], int]]:
    return stream_functions()


def make_current(device: int) -> None:
    """Gives the calling thread the context of `device`: a new thread has none until something uses the device in it."""
    get_driver().set_current_device(device)


def stream_functions() -> tuple[Callable[[], int], Callable[[int], int]]:
    """`(device(), stream(device))`, the cheapest that the program's libraries offer."""
    torch = torch_module()
    if torch is not None and torch.cuda.is_available():
        torch.cuda.init()
        torch.cuda.current_device()
        return torch._C._cuda_getDevice, torch._C._cuda_getCurrentRawStream
    driver = get_driver()
    return driver.current_device, _stream_without_torch


def _stream_without_torch(device: int) -> int:
    """The default stream, until the program imports torch."""
    return 0 if torch_module() is None else current_stream()[1]


def full_grid(grid: object) -> tuple[int, int, int]:
    """`grid` with the missing dimensions filled in by 1. Raises `MinitritonError` for what is no grid.

    Triton leaves out what is after the third dimension; so is a 1 here, while any other number would lose programs.
    """
    given: list[Any] = [*grid] if isinstance(grid, (tuple, list)) else [grid]
    while len(given) > 3 and given[-1] == 1:
        given.pop()
    if not 1 <= len(given) <= 3:
        raise MinitritonError(f"a grid has 1 to 3 dimensions, not {len(given)}", help=_GRID_HELP)
    try:
        x, y, z = (operator.index(size) for size in (*given, 1, 1)[:3])
    except TypeError:
        raise MinitritonError(f"a grid consists of integers, got {grid!r}", help=_GRID_HELP) from None
    for axis, size, limit in zip("xyz", (x, y, z), _GRID_LIMITS, strict=True):
        if not 0 <= size <= limit:
            raise MinitritonError(f"grid {grid!r}: its {axis} must be 0 to {limit}", help=_GRID_HELP)
    return (x, y, z)


def resolve_grid(grid: Grid, names: list[str], args: tuple[object, ...]) -> tuple[int, int, int]:
    """`grid` as three integers; a callable is given the arguments by name, as Triton does."""
    if callable(grid):
        grid = grid(dict(zip(names, args, strict=True)))
    return full_grid(grid)


_GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""The most blocks along each axis (CUDA programming guide, table of technical specifications)."""

_GRID_HELP = "write kernel[(x, y, z)](...) with 1 to 3 integers, or a function of the arguments that returns them"


_Parameters: TypeAlias = "list[tuple[str, TypeName]]"


def _ways_to_call(kernel: StoredKernel) -> tuple[_Parameters, _Parameters, _Parameters]:
    """All parameters, those that are not declared constexpr, and those of them without a value that is compiled in."""
    source = kernel.src
    kinds: Iterable[TypeName]
    if isinstance(source, ASTSource):
        kinds, constexprs = source.signature.values(), {p.name for p in source.fn.params if p.is_constexpr}
    else:
        kinds, constexprs = source.runtime_parameters(), set[str]()
    parameters = list(zip(map(str, source.signature), kinds, strict=True))
    declared = [p for p in parameters if p[0] not in constexprs]
    return parameters, declared, [p for p in declared if p[1] != "constexpr"]


def _positions(kernel: StoredKernel) -> dict[int, tuple[int, ...]]:
    """`Launcher.ways` of a kernel whose arguments are pointers and numbers."""
    ways = _ways_to_call(kernel)
    if any(not isinstance(kind, str) or is_descriptor_type(kind) for _, kind in ways[0]):
        return {}
    return {len(way): tuple(i for i, (_, kind) in enumerate(way) if kind != "constexpr") for way in reversed(ways)}


def given_arguments(kernel: StoredKernel, args: tuple[object, ...]) -> list[Argument]:
    """What the launch passes of `args`. Raises `MinitritonError` where their number fits none of the ways to call."""
    parameters, declared, passed = _ways_to_call(kernel)
    flat = [(n, t) for name, kind in passed for n, t in _flattened(name, kind)]
    found: list[Argument] = []
    for way in (parameters, declared, passed, flat):
        if len(way) == len(args) and all(
            isinstance(arg, tuple) == isinstance(kind, tuple) for (_, kind), arg in zip(way, args, strict=True)
        ):
            for (name, kind), arg in zip(way, args, strict=True):
                collect_arguments(name, kind, arg, found)
            return found
    raise MinitritonError(
        f"kernel {kernel.name!r} takes {len(declared)} arguments ({', '.join(n for n, _ in declared)}), got {len(args)}",
        help="pass the arguments of the kernel in order; those that are compiled in may be left out: "
        + (", ".join(n for n, kind in parameters if kind == "constexpr") or "none is"),
    )


def passed_values(arguments: Iterable[Argument]) -> tuple[object, ...]:
    """What a `Launcher` takes for `arguments`: addresses and numbers; for a tensor map the address of its bytes, which it keeps."""
    return tuple(
        _encoded(a.name, a.value) if a.type_name == TENSOR_MAP_TYPE else runtime_value(a.value, a.type_name)
        for a in arguments
    )


_encodings: dict[tuple[TensorMap, int], TensorMapAddress] = {}
_MOST_ENCODINGS = 1024


def _encoded(name: str, given: HostTensorMap) -> TensorMapAddress:
    """The bytes of a tensor map; a program launches with the same ones again and again."""
    key = (given.map, data_address(given.base))
    found = _encodings.get(key)
    if found is None:
        if len(_encodings) >= _MOST_ENCODINGS:
            _encodings.clear()
        found = _encodings[key] = get_driver().encode_tensor_map(name, given.placed())
    return found


def _flattened(name: str, kind: TypeName) -> list[tuple[str, str]]:
    """The names and types of the arguments of a parameter, tuples taken apart and what is compiled in left out."""
    if isinstance(kind, tuple):
        return [part for i, k in enumerate(kind) for part in _flattened(f"{name}[{i}]", k)]
    return [] if kind == "constexpr" else [(name, kind)]


_MOST_REMEMBERED = 1024
"""Descriptors of a parameter of a compiled kernel that are remembered; then all are forgotten."""


class PassedDescriptor:
    """`passed(descriptor, address of its base)`: the values of the parameters that PTX has for one descriptor."""

    def __init__(self, name: str, type_name: str, copy: DescriptorCopy | None) -> None:
        self._name, self._type_name = name, type_name
        self._copies = None if copy is None else [copy]
        self._known: dict[tuple[object, ...], tuple[object, ...]] = {}

    def __call__(self, descriptor: HostDescriptor, address: int) -> tuple[object, ...]:
        shape, strides, padding = descriptor.shape, descriptor.strides, descriptor.padding
        if getattr(descriptor, "round_f32_to_tf32", False):
            padding += " rounded"
        key = (address, *shape, *strides, padding)
        found = self._known.get(key)
        return self._passed(key, descriptor) if found is None else found

    def _passed(self, key: tuple[object, ...], descriptor: HostDescriptor) -> tuple[object, ...]:
        argument = Argument(self._name, self._type_name, descriptor)
        values = passed_values(expanded_arguments([argument], self._copies))
        if all(type(part) in (int, str) for part in key):
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[key] = values
        return values


def passed_parts(
    kinds: Iterable[tuple[str, TypeName]], copies: Sequence[DescriptorCopy] | None
) -> tuple[tuple[int, ...], tuple[PassedDescriptor, ...]]:
    """The positions of values that are compiled in, and what passes the descriptors, of parameters of these names and types.
    `copies` is the kernel's `tensordesc_meta`."""
    compiled_in: list[int] = []
    descriptors: list[PassedDescriptor] = []
    remaining, position = iter(copies or ()), 0
    for name, kind in (leaf for parameter in kinds for leaf in _leaves(*parameter)):
        if is_descriptor_type(kind):
            copy = next(remaining, None)
            descriptors.append(PassedDescriptor(name, kind, copy))
            position += len(expanded_types([kind], None if copy is None else [copy]))
            continue
        if kind == "constexpr":
            compiled_in.append(position)
        position += 1
    return tuple(compiled_in), tuple(descriptors)


def _leaves(name: str, kind: TypeName) -> Iterator[tuple[str, str]]:
    """The leaves of a parameter's type, each with its name."""
    if isinstance(kind, tuple):
        for index, part in enumerate(kind):
            yield from _leaves(f"{name}[{index}]", part)
    else:
        yield name, kind
