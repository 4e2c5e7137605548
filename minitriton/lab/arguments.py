"""The inputs of a checked kernel: given, or made up from its signature.

In: an `ASTSource`'s parameters, sizes and numbers where the user knows them. Out: `Arguments`, the values in launch order, whose
arrays go back to their first contents before each run.

    *fp32, *fp32, i32      →  two arrays of normal random numbers, as long as the kernel reaches, and 100

Every array starts with random contents, outputs too: a store that a pass loses leaves a number that differs.
"""

import io
import math
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from minitriton.as_triton.tools.tensor_descriptor import TensorDescriptor
from minitriton.commands.signature import DIVISIBLE
from minitriton.dialects.narrowing import instance_of
from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import damage_of, read_regular
from minitriton.interpreter.memory.device import MemoryFault
from minitriton.interpreter.numbers.formats import decode_bf16, decode_small, encode_bf16, encode_small
from minitriton.runtime.launching.arguments import Argument
from minitriton.runtime.launching.descriptor_arguments import is_descriptor_type

_DTYPES = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "fp16": np.float16, "fp32": np.float32, "fp64": np.float64,
}  # fmt: skip
FP8 = {"fp8e4nv": "f8E4M3FN", "fp8e5": "f8E5M2", "fp8e4b15": "f8E4M3B11FNUZ"}
"""Element types that NumPy lacks, with their MLIR names: as for bf16, arrays hold their bits."""

_MOREFP8 = ("fp8e4b8", "fp8e5b16")
"""Those of other vendors' GPUs."""

FIRST_SIZE = 64
TILES_ALONG = 2
"""How many tiles a made-up tensor descriptor's tensor has along each axis."""
MOST_BYTES = 1 << 32
"""Of the arrays of a file of inputs."""
_MOST_HEAD = 1 << 14
"""Bytes within which the head of an array in NumPy's format ends."""
SPACING = 1 << 26
"""Bytes between two generated arrays, so that an access past the end of one is not taken for one before the next."""


def element_dtype(element: str) -> np.dtype[np.generic]:
    """What elements of this Triton name are held in; unsigned integers of the same width for those that NumPy lacks.

    Raises `MinitritonError` for a name of none."""
    if element == "bf16":
        return np.dtype(np.uint16)
    if element in FP8 or element in _MOREFP8:
        return np.dtype(np.uint8)
    if element not in _DTYPES:
        raise MinitritonError(f"no array has elements of type {element!r}")
    return np.dtype(_DTYPES[element])


def random_numbers(seed: int) -> np.random.Generator:
    """NumPy's generator of random numbers. Raises `MinitritonError` for a seed that it does not take."""
    if seed < 0:
        raise MinitritonError(f"a seed is an integer from 0 on, got {seed}")
    return np.random.default_rng(seed)


def arrays_in(path: str | None) -> dict[str, np.ndarray]:
    """The arrays of a file that `numpy.savez` wrote, by their names; none without a path."""
    if path is None:
        return {}
    with damage_of(path, "--inputs takes what numpy.savez wrote"):
        return read_arrays(read_regular(Path(path)), MOST_BYTES)


def read_arrays(content: bytes, most_bytes: int) -> dict[str, np.ndarray]:
    """The arrays of a file that `numpy.savez` wrote, of `most_bytes` in all. Raises `ValueError` for what it did not write, or would hold objects
    of Python, and for more."""
    found: dict[str, np.ndarray] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.infolist():
                with archive.open(entry) as file:
                    head = file.read(_MOST_HEAD)
                    array = _array_of_file(head, file, most_bytes)
                most_bytes -= array.nbytes
                found[entry.filename.removesuffix(".npy")] = array
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(str(error) or type(error).__name__) from None
    return found


def _array_of_file(head: bytes, rest: IO[bytes], most_bytes: int) -> np.ndarray:
    """The array of a file in NumPy's format whose `head` has been read."""
    start = io.BytesIO(head)
    version = np.lib.format.read_magic(start)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_by_columns, dtype = read_header(start)
    count = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or min(shape, default=0) < 0 or count > most_bytes:
        raise ValueError(f"an array of {count} bytes and type {dtype}, of at most {most_bytes} bytes of numbers")
    content = start.read() + rest.read(count)
    if len(content) != count:
        raise ValueError(f"an array of {count} bytes has {len(content)}")
    return np.frombuffer(bytearray(content), dtype).reshape(shape, order="F" if is_by_columns else "C")


@dataclass
class Arguments:
    """The values that a launch passes, in order; `elements` holds each array's element type by its Triton name ("" for
    numbers), `passed` the parameters' names and type names with them. A tensor descriptor stands for its array."""

    values: list[Any]
    elements: list[str]
    passed: list[Argument] = field(default_factory=list[Argument])
    pristine: list[np.ndarray | None] = field(init=False)
    made_up: str = ""
    """What of them nobody gave, in words."""
    unwritten: tuple[str, ...] = ()
    """The names of arrays that nothing has written, as `np.empty` gives them: what the kernel reads of them has no value."""

    def __post_init__(self) -> None:
        self.pristine = [None if (array := array_of(v)) is None else array.copy() for v in self.values]

    def fresh(self) -> list[Any]:
        """The values, with every array as it was at first (the same memory, so that addresses compare between runs)."""
        for value, first in zip(self.values, self.pristine, strict=True):
            array = array_of(value)
            if array is not None:
                array[...] = first
        return self.values

    def unwritten_arrays(self) -> list[np.ndarray]:
        """The arrays that nothing has written. Raises `MinitritonError` for a name of none."""
        arrays = {one.name: array for one in self.passed if (array := array_of(one.value)) is not None}
        for name in self.unwritten:
            if name not in arrays:
                raise MinitritonError(
                    f"no array {name!r} is passed, which nothing has written", help=f"there are {', '.join(arrays)}"
                )
        return [arrays[name] for name in self.unwritten]

    def contents(self) -> list[np.ndarray]:
        """Copies of the arrays as they are now."""
        return [array.copy() for v in self.values if (array := array_of(v)) is not None]

    def array_elements(self) -> list[str]:
        """The element types of the arrays, in the order of `contents`."""
        return [self.elements[i] for i in self.array_positions()]

    def array_positions(self) -> list[int]:
        """Which arguments the arrays of `contents` are."""
        return [i for i, v in enumerate(self.values) if array_of(v) is not None]

    @property
    def has_descriptors(self) -> bool:
        """Whether a tensor descriptor is among them."""
        return any(is_descriptor_type(argument.type_name) for argument in self.passed)


def array_of(value: object) -> np.ndarray | None:
    """The array that an argument is, or that a tensor descriptor is of; None for a number."""
    array = value if instance_of(value, np.ndarray) else getattr(value, "base", None)
    return array if instance_of(array, np.ndarray) else None


def as_numbers(array: np.ndarray, element: str) -> np.ndarray:
    """`array` with bf16 and fp8 bits decoded."""
    if element == "bf16" and array.dtype.itemsize == 2:
        return decode_bf16(array.view(np.uint16))
    return decode_small(FP8[element], array.view(np.uint8)) if element in FP8 else array


def generate_arguments(
    kinds: Mapping[str, str],
    run: Callable[[Arguments], None],
    *,
    sizes: Mapping[str, int] | None = None,
    numbers: Mapping[str, object] | None = None,
    contents: Mapping[str, np.ndarray] | None = None,
    divisible: Sequence[str] = (),
    seed: int = 0,
) -> Arguments:
    """Arguments for parameters of the types `kinds` (`{"x": "*fp32", "n": "i32"}`).

    `sizes` gives the elements of arrays, `contents` whole arrays and `numbers` the values of scalars; integers that it leaves
    out are 100 (112 if `divisible` by 16). A tensor descriptor is of a tensor of two tiles along each axis. An array without a size grows until `run`, which raises `MemoryFault`, reaches no
    further.
    """
    for name in sizes or {}:
        if is_descriptor_type(kinds.get(name, "")):
            raise MinitritonError(
                f"the tensor of descriptor {name!r} has a shape, not a size", help="give the array: --inputs FILE.npz"
            )
    contents = {name: np.ascontiguousarray(array) for name, array in (contents or {}).items()}
    sizes, numbers = {**(sizes or {}), **{n: a.size for n, a in contents.items()}}, dict(numbers or {})
    for name in [*sizes, *numbers]:
        if name not in kinds:
            raise MinitritonError(f"the launch lacks an argument {name!r}", help="its arguments: " + ", ".join(kinds))
    for name in divisible:
        value = numbers.get(name, 0)
        if isinstance(value, int) and value % DIVISIBLE:
            raise MinitritonError(
                f"{name}={value} is not divisible by {DIVISIBLE}, as the signature says",
                help=f"give {name} a multiple of {DIVISIBLE}, or its type without :{DIVISIBLE}",
            )
    lengths = {n: sizes.get(n, FIRST_SIZE) for n, kind in kinds.items() if kind.startswith("*")}
    # One arena for all attempts: what an interrupted run leaves holds it until the garbage is collected.
    arrays = len(lengths) + sum(map(is_descriptor_type, kinds.values()))
    arena = np.zeros((arrays + 1) * SPACING, np.uint8)
    while True:
        arguments = _make(arena, kinds, lengths, numbers, contents, divisible, seed)
        try:
            run(arguments)
            return arguments
        except MemoryFault as fault:
            if not _grow(arguments, list(kinds), lengths, sizes, fault):
                raise


def _grow(
    arguments: Arguments, names: list[str], lengths: dict[str, int], fixed: Mapping[str, int], fault: MemoryFault
) -> bool:
    """Makes the array before the faulting address long enough; False where that is not what is wrong."""
    if fault.end is None:
        return False
    for name, value in zip(names, arguments.values, strict=True):
        if instance_of(value, np.ndarray) and name not in fixed:
            beyond = fault.end - value.__array_interface__["data"][0]
            if 0 < beyond < SPACING // 2:
                lengths[name] = max(2 * lengths[name], -(-beyond // value.itemsize))
                return True
    return False


def _make(
    arena: np.ndarray,
    kinds: Mapping[str, str],
    lengths: Mapping[str, int],
    numbers: Mapping[str, object],
    given: Mapping[str, np.ndarray],
    divisible: Sequence[str],
    seed: int,
) -> Arguments:
    rng = random_numbers(seed)
    start = -arena.__array_interface__["data"][0] % 128
    values: list[object] = []
    for name, kind in kinds.items():
        if kind.startswith("*"):
            contents = given[name].reshape(-1) if name in given else random_elements(kind[1:], lengths[name], rng)
            if contents.nbytes > SPACING // 2:
                raise MinitritonError(f"the kernel reaches more than {SPACING // 2} bytes of argument {name!r}")
            array = arena[start : start + contents.nbytes].view(contents.dtype)
            array[...] = contents
            start += SPACING
            values.append(array)
        elif is_descriptor_type(kind):
            block, element = block_of_descriptor(kind)
            contents = given.get(name)
            if contents is None:
                shape = tuple(TILES_ALONG * size for size in block)
                contents = random_elements(element, math.prod(shape), rng).reshape(shape)
            array = arena[start : start + contents.nbytes].view(contents.dtype).reshape(contents.shape)
            array[...] = contents
            start += SPACING
            values.append(TensorDescriptor.from_tensor(array, list(block)))
        elif name in numbers:
            values.append(numbers[name])
        else:
            values.append(_number(name, kind, name in divisible, rng))
    passed = [Argument(name, kind, value) for (name, kind), value in zip(kinds.items(), values, strict=True)]
    return Arguments(values, [_element_of(kind) for kind in kinds.values()], passed)


def _element_of(kind: str) -> str:
    """The element type of the array that a parameter takes; "" of a number."""
    if is_descriptor_type(kind):
        return block_of_descriptor(kind)[1]
    return kind[1:] if kind.startswith("*") else ""


def block_of_descriptor(kind: str) -> tuple[tuple[int, ...], str]:
    """Block shape and element type of `tensordesc<fp16[128,64]>`."""
    element, _, rest = kind.removeprefix("tensordesc<").partition("[")
    return tuple(int(size) for size in rest.partition("]")[0].split(",")), element


def random_elements(element: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """`count` elements of the type `element`: normal numbers, or small non-negative integers (which serve as indices)."""
    if element == "bf16":
        return encode_bf16(rng.standard_normal(count).astype(np.float32))
    if element in FP8:
        return encode_small(FP8[element], rng.standard_normal(count))
    if element not in _DTYPES:
        raise MinitritonError(
            f"cannot make up elements of type {element!r}", help="known types: " + ", ".join([*_DTYPES, "bf16", *FP8])
        )
    dtype = np.dtype(_DTYPES[element])
    if dtype.kind == "f":
        return rng.standard_normal(count).astype(dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 32, count).astype(dtype)


def _number(name: str, kind: str, divisible: bool, rng: np.random.Generator) -> int | float:
    if kind in ("fp16", "bf16", "fp32", "fp64"):
        return float(np.float16(rng.uniform(0.25, 0.75)))
    if kind not in _DTYPES:
        raise MinitritonError(f"cannot make up argument {name!r} of type {kind!r}", help=f"give it: --arg {name}=VALUE")
    return 1 if kind == "i1" else 112 if divisible else 100
