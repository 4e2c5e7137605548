"""Running a kernel as written, before any pass, on the NumPy interpreter over arrays in host memory: what MINITRITON_INTERPRET=1 asks for.

In: an `ASTSource` and a launch's arguments (NumPy arrays, CPU tensors, descriptors of them, numbers). Out: the arrays, written in place.

Tensors of a GPU are copied to host memory, and back after the launch, as Triton's interpreter does. Views of one storage are views of one copy:

    with on_host((x.cuda(), 3)) as args:      args[0] is a CPU tensor; what is written to it is in x afterwards
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Self, SupportsIndex

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from minitriton import knobs
from minitriton.dialects import tt
from minitriton.dialects.context import make_context
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.emulator import device_functions, inline_assembly
from minitriton.host.json_values import is_tuple
from minitriton.interpreter import interpret
from minitriton.interpreter.memory.trace import Contents, Trace, poison_uses
from minitriton.passes.argmax import NaNInArgmax
from minitriton.passes.inline import Inline
from minitriton.pipeline.ast_source import ASTSource, TypeName
from minitriton.runtime.compiled_kernel import CompiledKernel
from minitriton.runtime.cuda_driver import torch_module
from minitriton.runtime.launching.arguments import is_array
from minitriton.runtime.launching.host_values import HostDescriptor, is_descriptor
from minitriton.runtime.on_cpu.host_arrays import arrays_pointed_at, handles_addresses, host_view, memory_around
from minitriton.target import POISON, CompileOptions, GPUTarget


def interpretable_module(source: ASTSource, target: GPUTarget, options: CompileOptions) -> ModuleOp:
    """The kernel as it is written: the frontend's TTIR, so that no optimisation takes part in what the interpreter gives. Where numbers are
    chosen with their index, one pass decides what the language leaves open of NaN; it reads functions that are inlined."""
    context = make_context()
    module = source.make_ir(target, options, context, is_debugged=True)
    if any(len(reduction.operands) == 2 for reduction in ops_of(module, tt.ReduceOp)):
        Inline().apply(context, module)
        NaNInArgmax().apply(context, module)
    return module


class InterpretedKernel(CompiledKernel):
    """What a launch on the interpreter returns: the kernel, compiled when something of it is asked for. Nothing of it ran: `last_report` is None."""

    def __init__(self, compile: Callable[[], CompiledKernel]) -> None:
        self._compile = compile
        self.last_report = None
        self.checked_on_emulator = False

    def __getattr__(self, name: str) -> object:
        """What only a compile says."""
        if name.startswith("_"):
            raise AttributeError(name)
        vars(self).update(vars(self._compile()))
        return getattr(self, name)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        """In another process it is a compiled kernel."""
        return copy.copy, (self._compile(),)

    def __copy__(self) -> Self:
        return type(self)(self._compile)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.__copy__()


def run_on_interpreter(
    module: ModuleOp, source: ASTSource, args: tuple[object, ...], grid: tuple[int, int, int], target: GPUTarget
) -> None:
    """Runs `module` over `grid`. Raises `MinitritonError` for device arrays and for accesses outside of every array."""
    values: list[object] = []
    for kind, arg in zip(source.signature.values(), args, strict=True):
        _collect(kind, arg, values)
    reachable = memory_around(args)
    if handles_addresses(str(module)):
        reachable += arrays_pointed_at(values)
    run = partial(
        interpret,
        module,
        source.entry,
        values,
        grid,
        inline_assembly=inline_assembly.evaluate,
        device_functions=device_functions.evaluate,
        target=target.ttg_target,
        seconds=knobs.emulator.seconds,
        reachable=reachable,
        fences_by_author=source.ext == "gluon",
    )
    if knobs.compilation.instrumentation_mode != POISON:
        run()
        return
    contents = Contents([getattr(value, "base", value) for value in [*values, *reachable]])

    def run_again(trace: Trace) -> None:
        contents.restore()
        run(trace=trace)
        contents.keep_result()

    uses = poison_uses(run_again)
    contents.restore_result()
    if uses:
        raise uses[0].fault()


def _collect(kind: TypeName, arg: Any, values: list[object]) -> None:
    if isinstance(kind, tuple):
        for k, a in zip(kind, arg, strict=True):
            _collect(k, a, values)
    elif is_descriptor(arg):
        values.append(_with_base(arg, host_view(arg.base, "interpreter")))
    elif kind != "constexpr":
        values.append(host_view(arg, "interpreter") if is_array(arg) else arg)


def _with_base(descriptor: HostDescriptor, base: np.ndarray) -> HostDescriptor:
    viewed: Any = copy.copy(descriptor)
    viewed.base = base
    return viewed


@contextlib.contextmanager
def on_host(args: tuple[object, ...]) -> Generator[tuple[object, ...]]:
    """`args` with copies in place of torch's tensors on a GPU, also of those in tuples and descriptors."""
    torch = torch_module()
    copies: dict[int, tuple[Any, Any]] = {}

    def copied(value: Any) -> Any:
        if is_tuple(value):
            parts = [copied(part) for part in value]
            make: Any = getattr(value, "_make", tuple)
            return make(parts)
        if is_descriptor(value):
            described: Any = copy.copy(value)
            described.base = copied(value.base)
            return described
        if torch is None or not isinstance(value, torch.Tensor) or not value.is_cuda:
            return value
        storage = value.untyped_storage()
        address = storage.data_ptr()
        if address not in copies:
            copies[address] = storage, storage.cpu()
        view = torch.empty(0, dtype=value.dtype)
        return view.set_(copies[address][1], value.storage_offset(), value.size(), value.stride())

    yield tuple(map(copied, args))
    for device, host in copies.values():
        device.copy_(host)
