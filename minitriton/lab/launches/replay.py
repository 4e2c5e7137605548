"""A recorded launch, taken up again: its source, and its arguments as they were before it ran.

launch = read_launch("recorded/003-softmax")
source = source_of(launch, kernel)                       what was compiled then, of the kernel as it is now
arguments_of(launch, parameters_of(source)).values       arrays at the addresses they had, numbers

The memory of a launch's arrays: copied once where arrays share it, and laid out again as it was.

x, x[1:], y     →     two spans; the second array begins 4 bytes into the first's
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from minitriton.as_triton.tools.tensor_descriptor import TensorDescriptor
from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import damage_of
from minitriton.lab.arguments import (
    Arguments,
    array_of,
    arrays_in,
    element_dtype,
    random_elements,
    random_numbers,
    read_arrays,
)
from minitriton.lab.execution import Launch
from minitriton.lab.launches.recorded import ARRAYS, DESCRIPTION, Kind, Passed, RecordedLaunch, named, read
from minitriton.lab.parameters import Parameters, parameters_of
from minitriton.pipeline.ast_source import ASTSource, TypeName
from minitriton.pipeline.ir_source import IRSource
from minitriton.runtime.launching.arguments import Argument
from minitriton.target import CompileOptions, GPUTarget

if TYPE_CHECKING:
    from minitriton.runtime.jit import JITFunction
import ctypes
from dataclasses import dataclass, field
from typing import Any

from minitriton.interpreter.memory.device import byte_bounds
from minitriton.lab.launches.recorded import Span, View
from minitriton.runtime.launching.arguments import foreign_array, is_host_array, offers
from minitriton.runtime.on_cpu.host_arrays import host_view
from minitriton.runtime.tensor_wrapper import TensorWrapper

ALIGNMENT = 128
"""Bytes of a line of the cache: two runs whose arrays begin alike in it have the same traffic."""
APART = 1 << 26
"""Bytes between two spans that are laid out, so that an access past the end of one is not taken for another."""


@dataclass
class Reached:
    """What an array reaches: the address of its memory, its bytes, and the array in them."""

    start: int
    contents: np.ndarray
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.start + self.contents.size


def reached(array: Any) -> Reached:
    """A copy of the memory of `array`, on the host or on a device. Raises `MinitritonError` for what cannot be copied."""
    while isinstance(array, TensorWrapper):
        array = array.base
    if offers(array, "as_strided"):
        return _of_tensor(array)
    if is_host_array(array):
        view = host_view(array, "recorder")
        low, high = byte_bounds(view)
        address = view.__array_interface__["data"][0]
        return Reached(low, _bytes_at(low, high - low), address - low, view.shape, view.strides)
    if offers(array, "get"):
        # CuPy's way to the host keeps the shape, and makes it contiguous.
        copy = np.ascontiguousarray(array.get())
        contents = copy.reshape(-1).view(np.uint8)
        if offers(array, "strides") and tuple(array.strides) == copy.strides:
            return Reached(foreign_array(array).address, contents, 0, copy.shape, copy.strides)
    raise MinitritonError(f"an array of type {type(array).__name__} cannot be copied to the host")


def _of_tensor(tensor: Any) -> Reached:
    """Of torch: its strides are no less than 0, so that it begins where its memory does."""
    width = tensor.element_size()
    shape, steps = tuple(tensor.shape), tuple(tensor.stride())
    elements = 1 + sum((size - 1) * step for size, step in zip(shape, steps, strict=True)) if tensor.numel() else 0
    memory = tensor.detach().as_strided((elements,), (1,)).cpu()
    contents = _bytes_at(memory.data_ptr(), elements * width)
    return Reached(tensor.data_ptr(), contents, 0, shape, tuple(step * width for step in steps))


def _bytes_at(address: int, count: int) -> np.ndarray:
    if not count:
        return np.zeros(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address)).copy()


@dataclass
class SpannedMemory:
    """The memory of several arrays. `contents` has what was copied, by the name of the first array that reaches it."""

    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    contents: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    views: dict[str, View] = field(default_factory=dict[str, View])

    @classmethod
    def of(cls, arrays: dict[str, object], most_bytes: int) -> SpannedMemory:
        """Copies the memory of `arrays` by name; the contents of at most `most_bytes` are kept, the smallest spans first."""
        found = {name: reached(array) for name, array in arrays.items()}
        memory = cls()
        groups: list[list[str]] = []
        end = -1
        for name in sorted(found, key=lambda one: (found[one].start, -found[one].end)):
            if found[name].start >= end:
                groups.append([])
            groups[-1].append(name)
            end = max(end, found[name].end)
        order = list(arrays)
        sizes: dict[str, int] = {}
        for group in groups:
            owner = min(group, key=order.index)
            start = min(found[name].start for name in group)
            whole = np.zeros(max(found[name].end for name in group) - start, np.uint8)
            for name in group:
                one = found[name]
                whole[one.start - start : one.end - start] = one.contents
                memory.views[name] = View(owner, one.start - start + one.offset, one.shape, one.strides)
            memory.contents[owner] = whole
            memory.spans[owner] = Span(whole.size, start % ALIGNMENT, True)
            sizes[owner] = whole.size
        left = most_bytes
        for owner in sorted(sizes, key=sizes.__getitem__):
            left -= sizes[owner]
            if left < 0:
                memory.spans[owner] = Span(sizes[owner], memory.spans[owner].residue, False)
                del memory.contents[owner]
        return memory


def laid_out(spans: dict[str, Span]) -> dict[str, np.ndarray]:
    """Zeroed memory for each span, beginning where it did modulo 128, far from the others."""
    whole = np.zeros(sum(span.bytes + APART for span in spans.values()) + APART, np.uint8)
    address = whole.__array_interface__["data"][0]
    found: dict[str, np.ndarray] = {}
    at = 0
    for name, span in spans.items():
        at += (span.residue - (address + at)) % ALIGNMENT
        found[name] = whole[at : at + span.bytes]
        at += span.bytes + APART - ALIGNMENT
    return found


def array_in(memory: np.ndarray, view: View, dtype: np.dtype[np.generic]) -> np.ndarray:
    """The array of `view` over `memory`."""
    return np.ndarray(view.shape, dtype, memory.data, view.offset, view.strides)


DIVISIBILITY = 16
_HEADERS = 1 << 20
"""Bytes of a file of arrays that are not theirs."""


def source_of(launch: RecordedLaunch, kernel: JITFunction, numbers: Mapping[str, object] | None = None) -> ASTSource:
    """What the launch compiled, of `kernel`, which may have been edited since, with `numbers` for run-time arguments in place of
    those that it had. Raises `MinitritonError` where the kernel has other parameters."""
    if list(launch.signature) != list(kernel.arg_names):
        raise MinitritonError(
            f"kernel {kernel.__name__!r} has other parameters than when it was launched: {', '.join(kernel.arg_names)}",
            help=f"it had {', '.join(launch.signature)}; give the types of the new ones by --signature",
        )
    names = kernel.__globals__
    with damage_of(launch.folder / DESCRIPTION):
        return _source(launch, kernel, names, numbers or {})


def _source(
    launch: RecordedLaunch, kernel: JITFunction, names: Mapping[str, object], numbers: Mapping[str, object]
) -> ASTSource:
    signature = {name: _kind(kind) for name, kind in launch.signature.items()}
    constants = {tuple(path): read(value, names) for path, value in launch.constants}
    for name in numbers:
        if signature.get(name) == "constexpr":
            raise MinitritonError(
                f"argument {name!r} was compiled in: it was {constants.get((list(signature).index(name),))}",
                help="give --signature, where its type or another value of it stands",
            )
    attrs = {
        tuple(path): [["tt.divisibility", DIVISIBILITY]]
        for path in launch.divisible
        if _keeps(list(signature)[path[0]], numbers)
    }
    return ASTSource.of(kernel, signature, constants, attrs)


def _keeps(name: str, numbers: Mapping[str, object]) -> bool:
    """Whether what was known of an argument's divisibility is true of the number in its place."""
    value = numbers.get(name, 0)
    return not isinstance(value, int) or value % DIVISIBILITY == 0


def _kind(kind: Kind) -> TypeName:
    if isinstance(kind, dict):
        return named({name: _kind(one) for name, one in kind.items()})
    return tuple(map(_kind, kind)) if isinstance(kind, list) else kind


def arguments_of(
    launch: RecordedLaunch,
    parameters: Parameters,
    *,
    numbers: Mapping[str, object] | None = None,
    contents: Mapping[str, np.ndarray] | None = None,
    seed: int = 0,
) -> Arguments:
    """The arguments for `parameters`, by name; of IR, whose names may be others, in order. `numbers` and `contents` (arrays) are taken
    in place of the recorded ones. Raises `MinitritonError` where the kernel takes what the launch did not have."""
    numbers, contents = dict(numbers or {}), dict(contents or {})
    for name in (*numbers, *contents):
        if name not in parameters.kinds:
            raise MinitritonError(
                f"the launch lacks an argument {name!r}", help="its arguments: " + ", ".join(parameters.kinds)
            )
    with damage_of(launch.folder / DESCRIPTION):
        return _arguments(launch, parameters, numbers, contents, seed)


def _arguments(
    launch: RecordedLaunch,
    parameters: Parameters,
    numbers: Mapping[str, object],
    contents: Mapping[str, np.ndarray],
    seed: int,
) -> Arguments:
    by_name = _by_name(launch, parameters)
    memory = _memory(launch, seed)
    passed: list[Argument] = []
    elements: list[str] = []
    for name, kind in parameters.kinds.items():
        recorded = by_name.get(name)
        if name in numbers:
            passed.append(Argument(name, kind, numbers[name]))
            elements.append("")
            continue
        if recorded is None:
            raise MinitritonError(
                f"the recorded launch lacks an argument {name!r}",
                help=f"give it: --arg {name}=VALUE, or --inputs for an array",
            )
        value = _value(recorded, memory)
        if name in contents:
            _fill(value, contents[name], recorded)
        passed.append(Argument(name, kind if recorded.block is None else recorded.type_name, value))
        elements.append(recorded.element)
    return Arguments([one.value for one in passed], elements, passed)


def _by_name(launch: RecordedLaunch, parameters: Parameters) -> dict[str, Passed]:
    named = {one.name: one for one in launch.arguments}
    if any(name in named for name in parameters.kinds) or len(parameters.kinds) != len(launch.arguments):
        return named
    return dict(zip(parameters.kinds, launch.arguments, strict=True))


def _memory(launch: RecordedLaunch, seed: int) -> dict[str, np.ndarray]:
    """Each span with what it held; what was too large to be kept is made up."""
    with damage_of(launch.folder / DESCRIPTION):
        memory = laid_out(launch.spans)
    kept = _kept(launch)
    random = random_numbers(seed)
    for name, bytes_ in memory.items():
        if launch.spans[name].kept:
            bytes_[...] = kept[name]
            continue
        element = next(
            one.element for one in launch.arguments if one.view is not None and one.view.span == name and one.element
        )
        made = random_elements(element, -(-bytes_.size // element_dtype(element).itemsize), random).view(np.uint8)
        bytes_[...] = made[: bytes_.size]
    return memory


def _kept(launch: RecordedLaunch) -> dict[str, np.ndarray]:
    """The bytes of the spans that were kept, by name."""
    kept = {name: span.bytes for name, span in launch.spans.items() if span.kept}
    if not kept:
        return {}
    with damage_of(launch.folder / ARRAYS, "record the launch again"):
        found = read_arrays(launch.content(ARRAYS, sum(kept.values()) * 2 + _HEADERS), sum(kept.values()))
        flat = {name: np.ascontiguousarray(found[name]).reshape(-1).view(np.uint8) for name in kept}
        if any(flat[name].size != size for name, size in kept.items()):
            raise ValueError("an array has another size than when it was recorded")
    return flat


def _value(
    recorded: Passed, memory: dict[str, np.ndarray]
) -> np.ndarray | TensorDescriptor | int | float | bool | None:
    view = recorded.view
    if view is None:
        return recorded.value
    array = array_in(memory[view.span], view, element_dtype(recorded.element))
    block = recorded.block
    if block is None:
        return array
    sizes = (list(block.shape), list(block.strides), list(block.block_shape))
    return TensorDescriptor(array, *sizes, block.padding, block.round_f32_to_tf32)


def _fill(value: object, contents: np.ndarray, recorded: Passed) -> None:
    array = array_of(value)
    assert array is not None
    if contents.size != array.size:
        raise MinitritonError(
            f"argument {recorded.name!r} has {contents.size} elements, and {array.size} when it was launched",
            help="give an array of that size",
        )
    is_bits = contents.dtype != array.dtype and contents.dtype.kind in "uiV" and contents.itemsize == array.itemsize
    array[...] = (contents.view(array.dtype) if is_bits else contents).reshape(array.shape)


def replayed(
    launch: RecordedLaunch,
    source: ASTSource | IRSource,
    target: GPUTarget,
    options: CompileOptions,
    *,
    grid: tuple[int, ...] | None = None,
    numbers: Mapping[str, object] | None = None,
    inputs: str | None = None,
    sizes: Mapping[str, object] | None = None,
    seed: int = 0,
) -> Launch:
    """A launch of `source` as `launch` was, but for what is given. `inputs`: a file of arrays by parameter name."""
    if sizes:
        raise MinitritonError("the sizes of a recorded launch's arrays are known", help="leave out --size, or --launch")
    arguments = arguments_of(launch, parameters_of(source), numbers=numbers, contents=arrays_in(inputs), seed=seed)
    return Launch.of(source, arguments, grid or launch.grid, target, options)
