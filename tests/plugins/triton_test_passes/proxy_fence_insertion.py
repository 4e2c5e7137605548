"""`triton-nvidia-gpu-proxy-fence-insertion`: fences between accesses by threads and copies into the same bytes (`codegen.place_shared_memory`).

The lowering to LLVM inserts them itself, for the places that it gives to buffers; this pass is for those of Triton's lowering.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.shared_memory.allocation import allocate
from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes
from minitriton.codegen.place_shared_memory import insert_proxy_fences
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.target.architectures import architecture_of


@register_pass
@dataclass(frozen=True)
class ProxyFenceInsertion(Pass, stage="llir", origin="triton"):
    """Puts fences between accesses by threads and asynchronous copies into the same bytes."""

    name: ClassVar[str] = "triton-nvidia-gpu-proxy-fence-insertion"
    requires = frozenset({Property.ENCODINGS, Property.EXCHANGES_LOWERED})
    compute_capability: int = 90

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if architecture_of(self.compute_capability).has_tma:
            insert_proxy_fences(op, allocate(op, partial(triton_scratch_bytes, capability=self.compute_capability)))
