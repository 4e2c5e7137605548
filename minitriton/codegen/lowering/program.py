"""Where the program is in its grid, and barriers.

With several CTAs a program is a cluster: `tt.get_program_id` reads the cluster's number, not the block's.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.types import I32
from minitriton.dialects import nvvm

_BLOCK_ID = (nvvm.BlockIdXOp, nvvm.BlockIdYOp, nvvm.BlockIdZOp)
_CLUSTER_ID = (nvvm.ClusterIdXOp, nvvm.ClusterIdYOp, nvvm.ClusterIdZOp)
_GRID_DIM = (nvvm.GridDimXOp, nvvm.GridDimYOp, nvvm.GridDimZOp)


def _axis(op: Operation) -> int:
    attr = op.properties["axis"]
    if isinstance(attr, IntegerAttr):
        return attr.value.data
    return "xyz".index(str(attr.data))  # pyright: ignore[reportAttributeAccessIssue]


@lowers("tt.get_program_id")
def get_program_id(f: FunctionLowering, op: Operation) -> None:
    axis = _axis(op)
    cls = (_BLOCK_ID if f.module.num_ctas == 1 else _CLUSTER_ID)[axis]
    f.values[op.results[0]] = f.b.value(cls, (), I32)


@lowers("tt.get_num_programs")
def get_num_programs(f: FunctionLowering, op: Operation) -> None:
    """Blocks of the grid along an axis; along x, clusters."""
    axis = _axis(op)
    blocks = f.b.value(_GRID_DIM[axis], (), I32)
    if axis == 0 and f.module.num_ctas > 1:
        blocks = f.b.lshr(blocks, f.module.num_ctas.bit_length() - 1)
    f.values[op.results[0]] = blocks


@lowers("gpu.barrier", "ttg.local_barrier")
def barrier(f: FunctionLowering, op: Operation) -> None:
    f.barrier()
