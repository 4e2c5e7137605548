"""Whether the layout of a tensor fits where an op runs, with Triton's words.

A tensor with `warpsPerCTA = [4]` cannot live where 8 warps run.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import NoneAttr, TensorType, UnregisteredAttr
from xdsl.ir import Attribute, Operation

from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts.launch import enclosing_module, maybe_num_warps, num_ctas, threads_per_warp
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts import encodings as enc
from minitriton.layouts.f2 import is_power_of_two
from minitriton.layouts.to_linear import to_linear_layout

_FRONT_DOOR = "minitriton/dialects/ttg/__init__.py"


def show(values: Iterable[int]) -> str:
    """`4, 8`, as MLIR prints a list."""
    return ", ".join(map(str, values))


def layout_complaint(op: Operation, type_: Attribute) -> str | None:
    """What is wrong with the layout of a tensor type where `op` runs."""
    if not instance_of(type_, TensorType) or isinstance(type_.encoding, NoneAttr):
        return None
    layout = layout_of(type_)
    if layout is None:
        unknown = isinstance(type_.encoding, UnregisteredAttr)
        return f"unknown encoding {type_.encoding} ({_FRONT_DOOR} names those of the dialect)" if unknown else None
    if not isinstance(layout, enc.DistributedEncoding):
        return "Non-distributed layout is not allowed in tensor type."
    shape = type_.get_shape()
    if layout.rank != len(shape):
        return f"Layout has rank {layout.rank}, but the tensor it's attached to has rank {len(shape)}."
    if not all(is_power_of_two(size) for size in shape):
        return f"Layout has shape {show(shape)}, but the tensor it's attached to has shape {show(shape)} " + (
            "which is not a power of two."
        )
    if enclosing_module(op) is None:
        return None
    linear = to_linear_layout(layout, shape)
    have = {name: 1 << len(linear.bases[name]) for name in ("lane", "warp", "block")}
    threads = threads_per_warp(op)
    if have["lane"] != threads:
        return (
            f"{type_.encoding}.\nLayout has {have['lane']} threads per warp, "
            f"but the module specifies {threads} threads per warp."
        )
    warps = maybe_num_warps(op)
    if warps is None:
        return "Could not determine the number of warps per CTA. Operation is not in a context with `ttg.num-warps`."
    if have["warp"] != warps:
        return (
            f"{type_.encoding}.\nLayout has {have['warp']} warps per CTA, "
            f"but the context requires {warps} warps per CTA."
        )
    ctas = num_ctas(op)
    if have["block"] != ctas:
        return (
            f"{type_.encoding}.\nLayout has {have['block']} CTAs per CGA, but the context requires {ctas} CTAs per CGA."
        )
    return None
