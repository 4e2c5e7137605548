"""`triton-nvidia-gpu-fence-insertion`: what threads wrote to shared memory is made visible to tensor cores before they read it.

    %b = ttg.local_alloc %x                      %b = ttg.local_alloc %x
    ttng.warp_group_dot %a, %b, %c       =>      ttng.fence_async_shared {bCluster = false}
                                                 ttng.warp_group_dot %a, %b, %c

Only an operand that threads copied from registers needs it. The fence leaves loops that hold none of these copies. Counterpart of
lib/Dialect/TritonNvidiaGPU/Transforms/FenceInsertion.cpp.
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.dialects import ttg, ttng
from minitriton.dialects.facts.gpu_traits import MemDescView
from minitriton.dialects.facts.region_flow import Loop, RegionFlow
from minitriton.dialects.facts.synchronization import TensorCoreReads
from minitriton.dialects.fast_paths.op_access import last_op_of, ops_in
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass
from minitriton.target.architectures import architecture_of


class _Copies:
    """The ops that fill a buffer from registers."""

    def __init__(self) -> None:
        self.found: dict[Operation, None] = {}
        self._visited: set[SSAValue] = set()

    def of(self, value: SSAValue) -> None:
        """Adds those that `value` depends on."""
        if value in self._visited or not isinstance(value.type, ttg.MemDescType):
            return
        self._visited.add(value)
        if isinstance(value, OpResult):
            if isinstance(value.op, ttg.LocalAllocOp) and self._stored_to(value.op):
                return
            for operand in value.op.operands:
                self.of(operand)
        elif isinstance(value, BlockArgument):
            self._carried(value)

    def _stored_to(self, alloc: ttg.LocalAllocOp) -> bool:
        """Adds the allocation itself if it copies, and a store to it; whether there is such a store."""
        if alloc.src is not None:
            self.found[alloc] = None
        for use in alloc.result.uses:
            user = use.operation
            while MemDescView.of(user) and user.results[0].has_one_use():
                user = next(iter(user.results[0].uses)).operation
            if isinstance(user, ttg.LocalStoreOp):
                self.found[user] = None
                return True
        return False

    def _carried(self, argument: BlockArgument) -> None:
        owner = argument.block.parent_op()
        assert owner is not None
        if isinstance(owner, scf.ForOp):
            self.of(owner.operands[argument.index + 2])
            end = last_op_of(argument.block)
            self.of(end.operands[argument.index - 1])
        elif isinstance(owner, ttg.WarpSpecializePartitionsOp):
            captures = owner.parent_op()
            assert captures is not None
            self.of(captures.operands[argument.index])
        else:
            self.found[owner] = None


def _innermost_loop(op: Operation) -> Operation | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(RegionFlow.of(parent), Loop):
        parent = parent.parent_op()
    return parent


def _insert_fence(dot: Operation) -> None:
    copies = _Copies()
    for operand in dot.operands[:2]:
        copies.of(operand)
    if not copies.found:
        return
    anchor: Operation = dot
    while (loop := _innermost_loop(anchor)) is not None and not any(loop.is_ancestor(op) for op in copies.found):
        anchor = loop
    if isinstance(anchor.prev_op, ttng.FenceAsyncSharedOp) and not anchor.prev_op.b_cluster.value.data:
        return
    fence = ttng.FenceAsyncSharedOp(b_cluster=False)
    fence.location = dot.location
    assert anchor.parent is not None
    anchor.parent.insert_op_before(fence, anchor)


@register_pass
class FenceInsertion(Pass, stage="ttgir", origin="triton"):
    """Puts fences between copies to shared memory by threads and the tensor cores that read them."""

    name: ClassVar[str] = "triton-nvidia-gpu-fence-insertion"
    requires = frozenset({Property.ENCODINGS})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.DOT_OPERANDS_FENCED})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT | {Property.DOT_REGISTERS_HELD}
    compute_capability: int = 90

    def established(self) -> frozenset[Property]:
        """Nothing where `apply` does nothing."""
        return self.establishes if architecture_of(self.compute_capability).has_tma else frozenset()

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        if not architecture_of(self.compute_capability).has_tma:
            return False
        dots = [found for found in ops_in(op) if TensorCoreReads.of(found)]
        for dot in dots:
            _insert_fence(dot)
        return bool(dots)
