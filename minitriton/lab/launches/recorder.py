"""Writes down every launch of this process: inside the `with`, each is a folder before it runs.

with Recorder(Path("recorded")) as recorder:
    add[(4,)](x, y, out, 4000, BLOCK=1024)
recorder.recorded         [Noted("add", (4, 1, 1), folder=Path("recorded/000-add"), why="")]
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minitriton import knobs
from minitriton.dialects.context import make_context
from minitriton.dialects.text import print_module
from minitriton.errors import MinitritonError
from minitriton.host.whole_file import remove_leftovers, whole_folder
from minitriton.lab.arguments import element_dtype
from minitriton.lab.launches.recorded import (
    ARRAYS,
    DESCRIPTION,
    IR_OF,
    DescriptorBlock,
    Kind,
    Passed,
    RecordedLaunch,
    Span,
    field_names,
    written,
)
from minitriton.lab.launches.replay import SpannedMemory
from minitriton.pipeline.ast_source import ASTSource, TypeName
from minitriton.runtime.compiled_kernel import CompiledKernel
from minitriton.runtime.default_target import default_target
from minitriton.runtime.launching.arguments import Argument, dtype_name, is_array
from minitriton.runtime.launching.descriptor_arguments import is_descriptor_type, rounds_to_tf32
from minitriton.runtime.on_cpu.host_arrays import possible_addresses
from minitriton.target import CUDAOptions, options_for
from minitriton.target.amd import HIPOptions

if TYPE_CHECKING:
    from minitriton.runtime.jit import JITFunction

NOTHING_RECORDED = "nothing was recorded"
"""What `minitriton record` says last of a program that ended without a launch that it writes down."""

MOST_LAUNCHES = 64
MOST_BYTES = 64 << 20
"""Of the arrays of one launch: the contents of larger ones are left out, and made up when it is opened."""


@dataclass(frozen=True)
class Noted:
    """One launch that was met first of its kind. `folder` is None where it could not be written, and `why` says the reason."""

    kernel: str
    grid: tuple[int, int, int]
    folder: Path | None
    bytes: int = 0
    why: str = ""
    left_out: tuple[str, ...] = ()
    """Arrays whose contents were too large to be kept."""


@dataclass
class Recorder:
    """Records into `folder`. Of launches that differ in nothing but the contents of arrays, the first `each` are kept."""

    folder: Path
    kernels: frozenset[str] = frozenset()
    """The names of those to be recorded; empty: all."""
    each: int = 1
    most_launches: int = MOST_LAUNCHES
    most_bytes: int = MOST_BYTES
    recorded: list[Noted] = field(default_factory=list[Noted])
    launches: int = 0
    """That were seen, recorded or not."""
    _alike: Counter[str] = field(default_factory=Counter[str])

    def __enter__(self) -> Recorder:
        remove_leftovers(self.folder)
        knobs.runtime.launch_arguments_hook.add(self.see)
        return self

    def __exit__(self, *_: object) -> None:
        knobs.runtime.launch_arguments_hook.remove(self.see)

    def see(
        self, kernel: JITFunction, grid: tuple[int, int, int], args: tuple[object, ...], options: dict[str, object]
    ) -> None:
        """A launch: `args` are the values of all parameters in order."""
        name = kernel.__name__
        if self.kernels and name not in self.kernels:
            return
        self.launches += 1
        if len(self.recorded) >= self.most_launches:
            return
        try:
            source, passed, options = kernel.source_of_call(args, options)
            options = {**_options_among(kernel, args), **options}
            key = _key(source, passed, grid, options)
            if self._alike[key] >= self.each:
                return
            self._alike[key] += 1
            options = _with_chosen_warps(kernel, grid, args, options)
            self.recorded.append(self._write(kernel, source, passed, grid, options))
        except (MinitritonError, OSError) as error:
            why = error.message if isinstance(error, MinitritonError) else str(error)
            self.recorded.append(Noted(name, grid, None, why=why))

    def _write(
        self,
        kernel: JITFunction,
        source: ASTSource,
        passed: list[Argument],
        grid: tuple[int, int, int],
        options: dict[str, object],
    ) -> Noted:
        folder = self.folder / f"{len(self.recorded):03}-{re.sub(r'[^A-Za-z0-9_]', '_', kernel.__name__)}"
        arrays = {one.name: _array_of(one) for one in passed if _array_of(one) is not None}
        memory = SpannedMemory.of(arrays, self.most_bytes)
        target = default_target()
        file = kernel.file_name
        is_file = Path(file).exists()
        launch = RecordedLaunch(
            kernel.__name__, str(Path(file).resolve()) if is_file else "", is_file and "<locals>" not in kernel.fn.__qualname__,
            hashlib.sha256(Path(file).read_bytes()).hexdigest() if is_file else "", grid, target.arch,
            {name: written(value, {}) for name, value in options.items()},
            {name: _kind(kind) for name, kind in source.signature.items()},
            [(list(path), written(value, kernel.__globals__)) for path, value in source.constants.items()],
            [list(path) for path in source.attrs], [_passed(one, memory) for one in passed], memory.spans,
        )  # fmt: skip
        text, ir = _first_ir(source, options), IR_OF[source.ext]
        _refuse_addresses(text, launch, memory)
        self.folder.mkdir(parents=True, exist_ok=True)
        with whole_folder(folder, replaces=True) as written_to:
            (written_to / ir).write_text(text, "utf-8")
            save(written_to / ARRAYS, {name: _typed(a, name, launch, memory) for name, a in memory.contents.items()})
            digests = {name: hashlib.sha256((written_to / name).read_bytes()).hexdigest() for name in (ARRAYS, ir)}
            (written_to / DESCRIPTION).write_text(replace(launch, digests=digests).text(), "utf-8")
        left_out = tuple(name for name, span in memory.spans.items() if not span.kept)
        return Noted(launch.kernel, grid, folder, sum(a.size for a in memory.contents.values()), "", left_out)


def save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """As `numpy.savez_compressed`, for any names."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def _options_among(kernel: JITFunction, args: tuple[object, ...]) -> dict[str, object]:
    """The compile options that are parameters of the kernel, or said by its decorator."""
    found = {name: value for name, value in zip(kernel.arg_names, args, strict=True) if name in _OPTIONS}
    return {"debug": kernel.debug, **found} if kernel.debug else found


def _with_chosen_warps(
    kernel: JITFunction, grid: tuple[int, int, int], args: tuple[object, ...], options: dict[str, object]
) -> dict[str, object]:
    """`options` with the number of warps that the compile chooses where the launch leaves it open."""
    if options.get("num_warps") is not None or not options_for(default_target()).LAUNCHED.get("choose_warps"):
        return options
    try:
        given = {name: value for name, value in options.items() if name not in kernel.arg_names}
        made: Any = kernel.warmup(*args, grid=grid, **given)
    except MinitritonError:  # of the launch
        return options
    is_open = not isinstance(made, CompiledKernel) or getattr(made.metadata, "choose_warps", True)
    return options if is_open else {**options, "num_warps": made.metadata.num_warps, "choose_warps": True}


_OPTIONS = frozenset((*CUDAOptions.__dataclass_fields__, *HIPOptions.__dataclass_fields__))


def _key(source: ASTSource, passed: list[Argument], grid: tuple[int, int, int], options: dict[str, object]) -> str:
    """Equal for launches that differ in nothing but the contents of their arrays."""
    numbers = [(one.name, _sizes(one)) for one in passed]
    return f"{source.name} {source.hash()} {grid} {sorted(options.items())} {numbers}"


def _sizes(argument: Argument) -> object:
    array = _array_of(argument)
    return argument.value if array is None else tuple(array.shape)


def _array_of(argument: Argument) -> Any:
    """The array that an argument is, or that a tensor descriptor is of; None for a number."""
    if is_descriptor_type(argument.type_name):
        return argument.value.base
    return argument.value if is_array(argument.value) else None


def _passed(argument: Argument, memory: SpannedMemory) -> Passed:
    value, view = argument.value, memory.views.get(argument.name)
    if view is None:
        return Passed(argument.name, argument.type_name, value=value)
    if not is_descriptor_type(argument.type_name):
        element = argument.type_name.removeprefix("*").removeprefix("k")
        return Passed(argument.name, argument.type_name, element, view=view)
    shape, strides, block = (tuple(map(int, one)) for one in (value.shape, value.strides, value.block_shape))
    return Passed(
        argument.name, argument.type_name, dtype_name(value.base.dtype), view=view,
        block=DescriptorBlock(shape, strides, block, value.padding, rounds_to_tf32(value)),
    )  # fmt: skip


def _kind(kind: TypeName) -> Kind:
    if not isinstance(kind, tuple):
        return str(kind)
    kinds, names = [_kind(one) for one in kind], field_names(kind)
    return dict(zip(names, kinds, strict=True)) if names else kinds


def _refuse_addresses(text: str, launch: RecordedLaunch, memory: SpannedMemory) -> None:
    """Raises `MinitritonError` where a kernel makes pointers of integers and is given some that may be addresses."""
    if "tt.int_to_ptr" not in text:
        return
    for one in launch.arguments:
        contents = memory.contents.get(one.view.span) if one.view is not None else None
        value = one.value if contents is None else contents.view(np.uint8)
        if one.element in ("i64", "u64") and contents is not None and not contents.nbytes % 8:
            value = contents.view(np.uint64)
        if possible_addresses(value).size:
            raise MinitritonError(
                f"{one.name!r} holds addresses, by which the kernel reaches memory other than the launch's arguments",
                help="no file keeps such memory: pass it as arguments, or check the launch where it is made",
            )


def _first_ir(source: ASTSource, options: dict[str, object]) -> str:
    """The frontend's IR, with locations."""
    target = default_target()
    return print_module(source.make_ir(target, options_for(target, **options), make_context()), locations=True)


def _typed(contents: np.ndarray, owner: str, launch: RecordedLaunch, memory: SpannedMemory) -> np.ndarray:
    """The bytes of a span as numbers of the type of its array, where it is one array's."""
    users = [one for one in launch.arguments if one.view is not None and one.view.span == owner]
    span: Span = memory.spans[owner]
    if len(users) == 1 and users[0].element and not span.bytes % element_dtype(users[0].element).itemsize:
        return contents.view(element_dtype(users[0].element))
    return contents
