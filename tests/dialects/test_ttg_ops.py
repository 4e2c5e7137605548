"""Ops of ttg and ttng: what their constructors infer, what they do to memory, what the launch facts around them say."""

import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f16, i1, i32, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects, is_side_effect_free

from minitriton.dialects import ttg, ttng
from minitriton.dialects.text import parse_module
from minitriton.errors import IRError
from minitriton.layouts.encodings import Blocked, NVMMAShared, SwizzledShared

BLOCKED = ttg.encoding_attr(Blocked((1, 4), (4, 8), (4, 1), (1, 0)))
SWIZZLED = SwizzledShared(8, 1, 8, (1, 0))
TENSOR = TensorType(f16, (64, 32), BLOCKED)
BARRIER = ttg.MemDescType((1,), i64, ttg.encoding_attr(SwizzledShared(1, 1, 1, (0,))), ttg.SMEM, True)


def values(*types: object) -> tuple[SSAValue, ...]:
    return tuple(Block(arg_types=types).args)  # pyright: ignore[reportArgumentType]


def buffer(*shape: int, mutable: bool = True) -> ttg.MemDescType:
    return ttg.MemDescType(shape, f16, ttg.encoding_attr(SWIZZLED), ttg.SMEM, mutable)


def effects(op: Operation) -> set[tuple[MemoryEffectKind, object]]:
    return {(effect.kind, effect.value) for effect in get_effects(op) or ()}


def test_transposing_a_buffer_permutes_shape_layout_and_allocation() -> None:
    (src,) = values(ttg.MemDescType((64, 32), f16, ttg.encoding_attr(SWIZZLED), ttg.SMEM, True, (3, 64, 64)))
    result = ttg.MemDescTransOp(src, order=(1, 0)).result.type
    assert result == ttg.MemDescType(
        (32, 64), f16, ttg.encoding_attr(SwizzledShared(8, 1, 8, (0, 1))), ttg.SMEM, True, (3, 64, 64)
    )


def test_reshaping_a_buffer_infers_its_layout() -> None:
    layout = NVMMAShared(128, False, 16)
    (src,) = values(ttg.MemDescType((64, 64), f16, ttg.encoding_attr(layout), ttg.SMEM, True))
    result = ttg.MemDescReshapeOp.to_shape(src, (2, 32, 64)).result.type
    assert isinstance(result, ttg.MemDescType)
    assert (result.get_shape(), result.get_alloc_shape()) == ((2, 32, 64), (2, 32, 64))


def test_a_constant_buffer_is_a_value_until_it_has_a_place() -> None:
    (tensor,) = values(TENSOR)
    op = ttg.LocalAllocOp(tensor, buffer(64, 32, mutable=False))
    assert is_side_effect_free(op)
    op.attributes[ttg.ALLOCATION_OFFSET] = ttg.AsyncWaitOp((), num=0).num
    assert effects(op) == {(MemoryEffectKind.ALLOC, op.result), (MemoryEffectKind.WRITE, op.result)}


def test_a_mutable_buffer_is_never_a_value() -> None:
    op = ttg.LocalAllocOp(None, buffer(64, 32))
    assert effects(op) == {(MemoryEffectKind.ALLOC, op.result)}


def test_loads_read_and_stores_write_the_buffer_they_name() -> None:
    tensor, memory = values(TENSOR, buffer(64, 32))
    assert effects(ttg.LocalLoadOp(memory, None, TENSOR)) == {(MemoryEffectKind.READ, memory)}
    assert effects(ttg.LocalStoreOp(tensor, memory)) == {(MemoryEffectKind.WRITE, memory)}


def test_views_touch_no_memory() -> None:
    memory, index = values(buffer(3, 64, 32), i32)
    assert is_side_effect_free(ttg.MemDescIndexOp(memory, index, buffer(64, 32)))


def test_an_asynchronous_copy_counts_its_optional_operands() -> None:
    pointers, memory, mask = values(TENSOR, buffer(64, 32), TensorType(i1, (64, 32), BLOCKED))
    op = ttg.AsyncCopyGlobalToLocalOp(pointers, memory, mask, contiguity=8)
    assert (op.mask, op.other, op.contiguity.value.data) == (mask, None, 8)


def test_a_barrier_wait_tells_its_dependencies_from_its_predicate() -> None:
    barrier, phase, memory = values(BARRIER, i32, buffer(64, 32))
    op = ttng.WaitBarrierOp(barrier, phase, deps=(memory,))
    assert (op.pred, tuple(op.deps)) == (None, (memory,))


def test_waiting_for_products_gives_back_what_it_waits_for() -> None:
    tensor, memory = values(TENSOR, buffer(64, 32))
    assert ttng.WarpGroupDotWaitOp((tensor, memory), pendings=0).result_types == (tensor.type, memory.type)


def test_a_partition_runs_with_its_own_warps() -> None:
    module = parse_module(
        """
        module attributes {"ttg.num-warps" = 4 : i32} {
          tt.func @f() {
            ttg.warp_specialize()
            default { ttg.warp_yield }
            partition0() num_warps(2) { ttg.warp_return }
            partition1() num_warps(1) { ttg.warp_return } : () -> ()
            tt.return
          }
        }
        """
    )
    warps = [ttg.num_warps(op) for op in module.walk() if op.name in ("ttg.warp_yield", "ttg.warp_return")]
    assert warps == [4, 2, 1]


def test_a_function_may_run_with_other_warps_than_its_module() -> None:
    module = parse_module(
        """
        module attributes {"ttg.num-warps" = 4 : i32} {
          tt.func @f() attributes {"ttg.num-warps" = 8 : i32} { tt.return }
        }
        """
    )
    assert [ttg.num_warps(op) for op in module.walk() if op.name == "tt.return"] == [8]


def test_a_module_without_warps_says_what_is_missing() -> None:
    with pytest.raises(IRError, match="how many warps"):
        ttg.num_warps(ModuleOp([]))


def test_captures_are_packed_by_size() -> None:
    op = ttg.WarpSpecializeOp(values(i32, buffer(64, 32), i1), (), partition_num_warps=())
    assert op.capture_size_and_alignment() == (4 + (8 + 2 * 4) + 1, 8)
