"""The blocked encoding of one load or store, given instead of found: what experiments with layouts vary.

minitriton-choose-layout{access=0 size-per-thread=1,4 order=1,0}

    %v = tt.load %p : tensor<64x64x!tt.ptr<f32>, #blocked>       the first load or store through a tensor of pointers

    %0 = ttg.convert_layout %p : ... #blocked -> ... #blocked1   #blocked1: sizePerThread = [1, 4], order = [1, 0]
    %1 = tt.load %0 : tensor<64x64x!tt.ptr<f32>, #blocked1>
    %v = ttg.convert_layout %1 : ... #blocked1 -> ... #blocked

Lanes and warps are laid along the dimensions in `order`, as coalescing lays them. Run it after the passes that choose layouts.
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType

from minitriton.dialects import tt, ttg
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType
from minitriton.errors import PipelineError
from minitriton.layouts.builders import blocked_for_cga
from minitriton.passes.coalesce import convert_to_layout
from minitriton.pipeline.pass_registry import Pass, Property, register_pass


@register_pass
class ChooseLayout(Pass, stage="ttgir"):
    """Gives the load or store number `access` (from 0, in order) the blocked layout of `size-per-thread` and `order`.

    Does nothing where there is no such access or it has another rank. Raises `PipelineError` for an order that is none.
    """

    name = "minitriton-choose-layout"
    requires = frozenset({Property.ENCODINGS})
    access: int = 0
    size_per_thread: tuple[int, ...] = ()
    order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(len(self.order))) or len(self.order) != len(self.size_per_thread):
            raise PipelineError(
                f"minitriton-choose-layout cannot take order {list(self.order)} with sizes {list(self.size_per_thread)}",
                help="name each dimension once, the fastest first, and a size for each: order=1,0 size-per-thread=1,4",
            )
        if any(size < 1 or size & (size - 1) for size in self.size_per_thread):
            raise PipelineError("minitriton-choose-layout takes sizes that are powers of two", help="such as 1,4")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        accesses = ops_of(op, tt.LoadOp, tt.StoreOp)
        through_tensors = [found for found in accesses if _has_pointers(found.operands[0].type)]
        if not self.order or self.access >= len(through_tensors):
            return
        chosen = through_tensors[self.access]
        type_ = chosen.operands[0].type
        assert instance_of(type_, TensorType)
        shape = type_.get_shape()
        if len(shape) != len(self.order):
            return
        layout = ttg.layout_of(type_)
        cga = layout.cga if layout else ()
        warps, lanes = ttg.num_warps(chosen), ttg.threads_per_warp(op)
        convert_to_layout(chosen, blocked_for_cga(shape, list(self.size_per_thread), self.order, warps, lanes, cga))


def _has_pointers(type_: object) -> bool:
    return instance_of(type_, TensorType) and isinstance(type_.element_type, PointerType)
