"""From what Gluon kernels call to what emits it: the entries that `frontend.emitters` has not. Importing this lets kernels be in Gluon."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from minitriton.frontend.builder import GLUON
from minitriton.frontend.gluon import buffers, nvidia, partitions, tcgen05, tensors
from minitriton.frontend.gluon.ir_types import GLUON_TYPES, descriptor_with_layout
from minitriton.frontend.semantic import program
from minitriton.language.declare import Builtin
from minitriton.language.gluon import buffers as methods
from minitriton.language.gluon import core
from minitriton.language.gluon.amd import cdna3, cdna4, gfx1250, rdna3, rdna4
from minitriton.language.gluon.nvidia import ampere, blackwell, hopper
from minitriton.language.gluon.nvidia.blackwell import tensor_memory

GLUON_EMITTERS: dict[Builtin[..., object], Callable[..., object]] = {
    core.arange: tensors.arange,
    core.full: tensors.full,
    core.convert_layout: tensors.convert_layout,
    core.set_auto_layout: tensors.set_auto_layout,
    core.histogram: tensors.histogram,
    core.cat: tensors.cat,
    core.fp4_to_fp: tensors.fp4_to_fp,
    core.dot_fma: tensors.dot_fma,
    core.bank_conflicts: tensors.static_bank_conflicts,
    core.to_linear_layout: tensors.static_linear_layout,
    core.allocate_shared_memory: buffers.allocate_shared_memory,
    core.warp_specialize: partitions.warp_specialize,
    core.num_warps: partitions.num_warps,
    core.num_ctas: partitions.num_ctas,
    core.thread_barrier: program.debug_barrier,
    methods.load: buffers.load,
    methods.store: buffers.store,
    methods.slice: buffers.slice,
    methods.index: buffers.index,
    methods.permute: buffers.permute,
    methods.reshape: buffers.reshape,
    methods.reinterpret: buffers.reinterpret,
    methods.keep_alive: buffers.keep_alive,
    ampere.mma_v2: nvidia.mma_v2,
    ampere.async_copy.async_copy_global_to_shared: nvidia.async_copy_global_to_shared,
    ampere.async_copy.mbarrier_arrive: nvidia.async_copy_mbarrier_arrive,
    ampere.async_copy.commit_group: nvidia.commit_group,
    ampere.async_copy.wait_group: nvidia.wait_group,
    ampere.mbarrier.init: nvidia.init,
    ampere.mbarrier.invalidate: nvidia.invalidate,
    ampere.mbarrier.wait: nvidia.wait,
    ampere.mbarrier.arrive: nvidia.arrive,
    hopper.fence_async_shared: nvidia.fence_async_shared,
    hopper.warpgroup_mma_init: nvidia.warpgroup_mma_init,
    hopper.warpgroup_mma: nvidia.warpgroup_mma,
    hopper.warpgroup_mma_wait: nvidia.warpgroup_mma_wait,
    hopper.mbarrier.expect: nvidia.expect,
    hopper.mbarrier.arrive: nvidia.arrive,
    hopper.tma.async_copy_global_to_shared: nvidia.tma_load,
    hopper.tma.async_copy_shared_to_global: nvidia.tma_store,
    hopper.tma.store_wait: nvidia.store_wait,
    hopper.tma.make_tensor_descriptor: nvidia.make_tensor_descriptor,
    tensor_memory.allocate_tensor_memory: tcgen05.allocate_tensor_memory,
    tensor_memory.load: tcgen05.load,
    tensor_memory.store: tcgen05.store,
    tensor_memory.slice: tcgen05.slice,
    tensor_memory.index: tcgen05.index,
    tensor_memory.reinterpret: tcgen05.reinterpret,
    blackwell.tcgen05_copy: tcgen05.tcgen05_copy,
    blackwell.tcgen05_mma: tcgen05.tcgen05_mma,
    blackwell.tcgen05_mma_scaled: tcgen05.tcgen05_mma_scaled,
    blackwell.tcgen05_commit: tcgen05.tcgen05_commit,
    blackwell.tma.async_gather: tcgen05.async_gather,
    blackwell.tma.async_scatter: tcgen05.async_scatter,
}


def _amd(name: str, *first: object) -> Callable[..., object]:
    """An emitter of `frontend.gluon.amd`, with its `first` arguments. A kernel for another GPU imports neither it nor `amdg`."""

    def emit(*args: object, **kwargs: object) -> object:
        return getattr(importlib.import_module("minitriton.frontend.gluon.amd"), name)(*first, *args, **kwargs)

    return emit


AMD_EMITTERS: dict[Builtin[..., object], Callable[..., object]] = {
    rdna3.wmma: _amd("wmma", 1),
    rdna4.wmma: _amd("wmma", 2),
    gfx1250.wmma: _amd("wmma", 3),
    gfx1250.wmma_scaled: _amd("wmma_scaled"),
    cdna3.mfma: _amd("mfma"),
    cdna4.mfma_scaled: _amd("mfma_scaled"),
    cdna3.buffer_load: _amd("buffer_load"),
    cdna3.buffer_store: _amd("buffer_store"),
    **{
        getattr(where, f"buffer_atomic_{name}"): _amd("buffer_atomic", name, where is cdna4)
        for where in (cdna3, cdna4)
        for name in ("add", "and", "max", "min", "or", "xchg", "xor")
    },
    cdna4.async_copy.global_load_to_shared: _amd("global_load_to_shared"),
    cdna4.async_copy.buffer_load_to_shared: _amd("buffer_load_to_shared"),
    cdna4.async_copy.commit_group: nvidia.commit_group,
    cdna4.async_copy.wait_group: nvidia.wait_group,
    cdna4.async_copy.load_shared_relaxed: _amd("load_shared_relaxed"),
    gfx1250.async_copy.global_to_shared: _amd("global_to_shared"),
    gfx1250.async_copy.mbarrier_arrive: _amd("mbarrier_arrive"),
    gfx1250.mbarrier.init: _amd("init"),
    gfx1250.mbarrier.wait: _amd("wait"),
    gfx1250.mbarrier.arrive: _amd("arrive"),
    gfx1250.tdm.make_tensor_descriptor: _amd("make_tensor_descriptor"),
    gfx1250.tdm.async_load: _amd("async_load"),
    gfx1250.tdm.async_store: _amd("async_store"),
    gfx1250.tdm.async_wait: _amd("async_wait"),
}

GLUON.emitters.update({**GLUON_EMITTERS, **AMD_EMITTERS})
GLUON.ir_types.update(GLUON_TYPES)
GLUON.with_one_layout = tensors.with_one_layout
GLUON.descriptor_type = descriptor_with_layout
