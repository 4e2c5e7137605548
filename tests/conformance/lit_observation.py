"""What a kernel of a lit test leaves on the emulator, in the form that the interpreter leaves it.

`emulate` runs PTX, ours or Triton's, over the arguments of a `RunnableFunction`, whose arrays it changes. `said` makes what is
printed comparable, `settle_tensor_map` the bytes of a tensor map, which the interpreter keeps as a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from lit_kernels import RunnableFunction
from xdsl.ir import BlockArgument, SSAValue

from minitriton import emulator
from minitriton.analysis.tensor_descriptors import descriptor_metadata
from minitriton.dialects.facts.launch import num_ctas
from minitriton.dialects.ttng.tma import TensormapCreateOp
from minitriton.lab.arguments import Arguments
from minitriton.rewriting.constants import int_constant
from minitriton.runtime.launching.arguments import Argument
from minitriton.runtime.launching.descriptor_arguments import expanded_arguments
from minitriton.runtime.on_cpu.emulation import emulator_value
from minitriton.target.tensor_map import ELEMENT_BYTES, SIZE, TensorMap, decode
from minitriton.tools.tensor_descriptor import TensorDescriptor


def emulate(function: RunnableFunction, ptx: str, shared: int, arguments: Arguments) -> emulator.Report:
    """The report of one cluster of the kernel, run on fresh arguments. Raises `EmulationError` for PTX it does not know."""
    metadata = iter(descriptor_metadata(function.module))
    values: list[Any] = []
    for passed, value in zip(function.passed or [None] * len(function.values), arguments.fresh(), strict=True):
        if isinstance(value, TensorDescriptor):
            assert isinstance(passed, Argument)
            values.append(emulator_value(expanded_arguments([passed], [next(metadata)])[0]))
        else:
            values.append(value)
    return emulator.run(ptx, None, (num_ctas(function.module), 1, 1), values, shared, scratch=1 << 20)


def said(lines: list[str]) -> set[str]:
    """Lines of `tt.print` without spaces. The interpreter prints a scalar once and pointers as numbers, a GPU both once a thread, and
    pointers in hexadecimal: pointers count from the lowest."""
    texts = {re.sub(r"\s", "", line) for line in lines}
    pointers = {text: int(match[0], 0) for text in texts if (match := _POINTER.search(text))}
    first = min(pointers.values(), default=0)
    return {_POINTER.sub(f"+{pointers[text] - first}", text) if text in pointers else text for text in texts}


_POINTER = re.compile(r"(?<=:)(0x[0-9a-f]{9,}|\d{12,})$")


def settle_tensor_map(function: RunnableFunction, meant: list[np.ndarray], found: list[np.ndarray]) -> str:
    """Compares the map that `ttng.tensormap_create` wrote with its operands, and puts it where the interpreter wrote none.

    The last array holds the address that the map must name. Returns what is wrong, if anything is.
    """
    create = next((op for op in function.module.walk() if isinstance(op, TensormapCreateOp)), None)
    if create is None:
        return ""
    place = create.desc_ptr
    assert isinstance(place, BlockArgument)
    expected = TensorMap(
        address=int(found[-1][0]),
        element=list(ELEMENT_BYTES)[create.elem_type.value.data],
        dims=_numbers(function, create.global_dim),
        strides=_numbers(function, create.global_stride),
        box=_numbers(function, create.box_dim),
        steps=_numbers(function, create.element_stride),
        interleave=create.interleave_layout.value.data,
        swizzle=create.swizzle_mode.value.data,
        nan_fill=bool(create.fill_mode.value.data),
    )
    number = sum(isinstance(value, np.ndarray) for value in function.values[: place.index])
    written = decode(found[number][:SIZE].tobytes())
    meant[number][:SIZE] = found[number][:SIZE]
    meant[-1] = found[-1]
    return "" if written == expected else f"the map is {written}, not {expected}"


def _numbers(function: RunnableFunction, values: Iterable[SSAValue]) -> tuple[int, ...]:
    """Constants and arguments of the kernel."""
    return tuple(function.values[v.index] if isinstance(v, BlockArgument) else int_constant(v) or 0 for v in values)
