"""Launches that are repeated: by what arguments and options one is known again, so that nothing of it has to be worked out twice.

In: a device, the arguments of a launch, its options. Out: a key that is equal for launches with the same kernel and the same values,
or None where no argument is a tensor descriptor, or one has no such key.

    launch_key(0, (descriptor of x, 512), {"num_warps": 8})   ->   the address, sizes and blocks of the descriptor, 512, the options

For launches with tensor descriptors, whose arguments have no generated path: taking descriptors apart and naming their types takes
0.2 ms for three of them, the key 10 µs (2026-11-22).
"""

from __future__ import annotations

from collections.abc import Hashable

from minitriton.language.dtypes import dtype
from minitriton.runtime.launching.host_values import is_descriptor, is_tensor

MOST_REPEATED = 256
"""Launches of a kernel that are remembered; then all are forgotten."""

_BY_VALUE = frozenset({int, bool, str, type(None), dtype})


def launch_key(device: int, args: tuple[object, ...], options: dict[str, object]) -> Hashable | None:
    """What a launch is known by again."""
    parts: list[object] = [device, *options.items()]
    has_descriptor = False
    for arg in args:
        kind = type(arg)
        if kind in _BY_VALUE:
            parts.append((kind, arg))
        elif isinstance(arg, float) and kind is float:
            parts.append(arg.hex())
        elif is_tensor(arg):
            parts.append((kind, arg.data_ptr(), arg.dtype))
        elif is_descriptor(arg) and is_tensor(arg.base):
            has_descriptor = True
            sizes = (tuple(arg.shape), tuple(arg.strides), tuple(arg.block_shape))
            parts.append((kind, arg.base.data_ptr(), arg.base.dtype, sizes, arg.padding))
        else:
            return None
    key = tuple(parts)
    try:
        hash(key)
    except TypeError:
        return None
    return key if has_descriptor else None
