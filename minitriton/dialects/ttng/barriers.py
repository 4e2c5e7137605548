"""Ops of `ttng` that synchronise: mbarriers in shared memory, fences, cluster barriers.

ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #shared, #smem, mutable>
ttng.barrier_expect %bar, 16384, %true : !ttg.memdesc<1xi64, #shared, #smem, mutable>
ttng.wait_barrier %bar, %phase : !ttg.memdesc<1xi64, #shared, #smem, mutable>
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.facts.gpu_traits import (
    SHARED,
    OperandEffects,
    VerifyTensorLayouts,
)
from minitriton.dialects.facts.synchronization import (
    FIRST_WARP_FILLS,
    TURNS,
    ArrivesForAll,
    EndsBeforeItsWait,
    Kind,
    OfAsyncProxy,
    SetsUpMbarrier,
    Starts,
    TakesBarriers,
    UsesMbarrier,
    Waits,
)
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.ttg.types import MemDescType

_WRITES_ALLOC = OperandEffects(writes=(("alloc", SHARED),))
_READS_AND_WRITES_ALLOC = OperandEffects(reads=(("alloc", SHARED),), writes=(("alloc", SHARED),))


def verify_barrier_type(op: Operation, type_: Attribute) -> None:
    """A barrier is a `memdesc<1xi64>`, alone or one of an array of as many as there are CTAs."""
    if not isinstance(type_, MemDescType) or type_.element_type != i64 or type_.get_shape() != (1,):
        raise VerifyException(f"'{op.name}' op barrier allocation must be a descriptor of 1xi64 type")


class _BarrierOp(Op):
    """Base of ops on one mbarrier, their first operand."""

    def verify_(self) -> None:
        verify_barrier_type(self, self.operands[0].type)


class FenceAsyncSharedOp(Op):
    """Makes earlier writes to shared memory visible to the async proxy (wgmma, TMA); `b_cluster` for the cluster."""

    name = "ttng.fence_async_shared"

    b_cluster = prop_def(IntegerAttr.constr(i1), prop_name="bCluster")
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(VerifyTensorLayouts())
    assembly_format = "attr-dict"

    @from_fields
    def __init__(self, *, b_cluster: bool = False) -> None: ...


class ClusterArriveOp(Op):
    """Arrives at the cluster's barrier; `relaxed` orders no memory."""

    name = "ttng.cluster_arrive"

    relaxed = prop_def(IntegerAttr.constr(i1))
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(VerifyTensorLayouts())
    assembly_format = "attr-dict"

    @from_fields
    def __init__(self, *, relaxed: bool) -> None: ...


class ClusterWaitOp(Op):
    """Waits at the cluster's barrier."""

    name = "ttng.cluster_wait"

    traits = traits_def(VerifyTensorLayouts())
    assembly_format = "attr-dict"

    @from_fields
    def __init__(self) -> None: ...


class InitBarrierOp(_BarrierOp):
    """Makes `alloc` an mbarrier that expects `count` arrivals a phase."""

    name = "ttng.init_barrier"

    alloc = operand_def(MemDescType)
    count = prop_def(IntegerAttr.constr(i32))
    traits = traits_def(_WRITES_ALLOC, VerifyTensorLayouts(), SetsUpMbarrier(), OfAsyncProxy())
    assembly_format = "$alloc `,` $count attr-dict `:` type($alloc)"

    @from_fields
    def __init__(self, alloc: SSAValue, *, count: int) -> None: ...


class InvalBarrierOp(_BarrierOp):
    """Ends the life of an mbarrier, so that its memory can be used again: no copy that arrives there may be in flight."""

    name = "ttng.inval_barrier"

    alloc = operand_def(MemDescType)
    traits = traits_def(
        _WRITES_ALLOC, VerifyTensorLayouts(), SetsUpMbarrier(), OfAsyncProxy(), Waits(Kind.TENSOR_COPY, barrier="alloc")
    )
    assembly_format = "$alloc attr-dict `:` type($alloc)"

    @from_fields
    def __init__(self, alloc: SSAValue) -> None: ...


class BarrierExpectOp(_BarrierOp):
    """Tells an mbarrier that `size` bytes will arrive in this phase, where `pred` holds."""

    name = "ttng.barrier_expect"

    alloc = operand_def(MemDescType)
    pred = operand_def(i1)
    size = prop_def(IntegerAttr.constr(i32))
    traits = traits_def(_WRITES_ALLOC, VerifyTensorLayouts(), UsesMbarrier())
    assembly_format = "$alloc `,` $size attr-dict `,` $pred `:` type($alloc)"

    @from_fields
    def __init__(self, alloc: SSAValue, pred: SSAValue, *, size: int) -> None: ...


class WaitBarrierOp(_BarrierOp):
    """Waits until the phase of parity `phase` is complete; `deps` may be accessed by others until then."""

    name = "ttng.wait_barrier"

    alloc = operand_def(MemDescType)
    phase = operand_def(i32)
    pred = opt_operand_def(i1)
    deps = var_operand_def(MemDescType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(
        _READS_AND_WRITES_ALLOC,
        VerifyTensorLayouts(),
        UsesMbarrier(),
        EndsBeforeItsWait(),
        OfAsyncProxy(),
        Waits(Kind.TENSOR_COPY, barrier="alloc"),
    )
    assembly_format = "$alloc `,` $phase (`,` $pred^)? (`deps` $deps^)? attr-dict `:` type($alloc) (`,` type($deps)^)?"

    @from_fields
    def __init__(
        self, alloc: SSAValue, phase: SSAValue, pred: SSAValue | None = None, deps: Sequence[SSAValue] = ()
    ) -> None: ...


class ArriveBarrierOp(_BarrierOp):
    """Arrives `count` times at an mbarrier, where `pred` holds."""

    name = "ttng.arrive_barrier"

    alloc = operand_def(MemDescType)
    pred = opt_operand_def(i1)
    count = prop_def(IntegerAttr.constr(i32))
    traits = traits_def(_READS_AND_WRITES_ALLOC, VerifyTensorLayouts(), ArrivesForAll(), OfAsyncProxy())
    assembly_format = "$alloc `,` $count (`,` $pred^)? attr-dict `:` type($alloc)"

    @from_fields
    def __init__(self, alloc: SSAValue, pred: SSAValue | None = None, *, count: int) -> None: ...

    def verify_(self) -> None:
        super().verify_()
        if self.count.value.data < 1:
            raise VerifyException(f"'{self.name}' op count must be greater than or equal to 1")


class AsyncCopyMbarrierArriveOp(Op):
    """Arrives at `barrier` once all earlier `cp.async` of the thread are done."""

    name = "ttng.async_copy_mbarrier_arrive"

    barrier = operand_def(MemDescType)
    no_increment = opt_prop_def(UnitAttr, prop_name="noIncrement")
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(OperandEffects(writes=(("barrier", SHARED),)), VerifyTensorLayouts())
    assembly_format = "$barrier attr-dict `:` type($barrier)"

    @from_fields
    def __init__(self, barrier: SSAValue, *, no_increment: bool = False) -> None: ...


class _FirstWarpOp(Op):
    """Base of the two halves of a barrier at which only the first warp waits: named barrier `first` + `turn`. Not Triton's."""

    turn = operand_def(i32)
    first = prop_def(IntegerAttr.constr(i32))
    traits = traits_def(OperandEffects(), VerifyTensorLayouts(), TakesBarriers(FIRST_WARP_FILLS))
    assembly_format = "$turn `from` $first attr-dict"

    @from_fields
    def __init__(self, turn: SSAValue, *, first: int) -> None: ...


class ArriveForFirstWarpOp(_FirstWarpOp):
    """All warps but the first arrive: what they did before it is done when the first warp has waited."""

    name = "ttng.arrive_for_first_warp"
    traits = traits_def(Starts(Kind.ARRIVAL))


class FirstWarpWaitsOp(_FirstWarpOp):
    """The first warp waits until all others have arrived."""

    name = "ttng.first_warp_waits"
    traits = traits_def(Waits(Kind.ARRIVAL))


class _TurnOp(Op):
    """Base of ops by which two warp groups take turns: named barrier `first` + the number of the group whose turn it is. Not Triton's."""

    first = prop_def(IntegerAttr.constr(i32))
    group = opt_prop_def(IntegerAttr.constr(i32))
    traits = traits_def(OperandEffects(), VerifyTensorLayouts(), TakesBarriers(TURNS))
    assembly_format = "`from` $first (`only` $group^)? attr-dict"

    @from_fields
    def __init__(self, *, first: int, group: int | None = None) -> None: ...


class WaitForTurnOp(_TurnOp):
    """Each warp group (or only `group`) waits until the other one has ended its turn."""

    name = "ttng.wait_for_turn"
    traits = traits_def(Starts(Kind.TURN))


class EndTurnOp(_TurnOp):
    """Each warp group (or only `group`) lets the other one have its turn."""

    name = "ttng.end_turn"
    traits = traits_def(Waits(Kind.TURN))
