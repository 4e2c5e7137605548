"""Since compute capability 8.0: `mma.sync`, `cp.async`, mbarriers. Declarations, see `declare.py`."""

# pyright: reportReturnType=false

from minitriton.language.declare import builtin
from minitriton.language.gluon.nvidia.ampere import async_copy, mbarrier
from minitriton.language.values import ConstStr, tensor

__all__ = ["async_copy", "mbarrier", "mma_v2"]


@builtin
def mma_v2(a: tensor, b: tensor, acc: tensor, input_precision: ConstStr | None = None) -> tensor:
    """`a @ b + acc` by `mma.sync`: `acc` has an `NVMMADistributedLayout` of version [2, 0], `a` and `b` are dot operands of it."""
