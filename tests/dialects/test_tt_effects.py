"""What ops of `tt` do to memory, for those who move or remove them."""

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Block
from xdsl.traits import MemoryEffectKind, get_effects, is_side_effect_free, is_speculatable

from minitriton.dialects import arith, tt
from minitriton.dialects.tt import pointer_type, tensor_type

READ, WRITE = MemoryEffectKind.READ, MemoryEffectKind.WRITE


def value(type_):
    return Block(arg_types=(type_,)).args[0]


def kinds(op):
    return {effect.kind for effect in get_effects(op)}


def test_a_load_only_reads():
    assert kinds(tt.LoadOp(value(pointer_type(f32)))) == {READ}


def test_a_volatile_load_counts_as_a_write():
    assert kinds(tt.LoadOp(value(pointer_type(f32)), is_volatile=True)) == {READ, WRITE}


def test_a_store_writes():
    assert kinds(tt.StoreOp(value(pointer_type(f32)), value(f32))) == {WRITE}


def test_an_atomic_reads_and_writes():
    op = tt.AtomicRMWOp(value(pointer_type(f32)), value(f32), atomic_rmw_op="fadd", sem="relaxed", scope="gpu")
    assert kinds(op) == {READ, WRITE}


def test_inline_assembly_is_as_pure_as_it_says():
    for pure in (True, False):
        op = tt.ElementwiseInlineAsmOp(
            [value(i32)], [i32], asm_string="nop;", constraints="=r,r", pure=pure, packed_element=1
        )
        assert is_side_effect_free(op) is pure
        assert is_speculatable(op) is pure


def test_arithmetic_is_free_of_effects():
    assert is_side_effect_free(arith.AddiOp(value(i32), value(i32)))


def test_a_division_may_run_early_only_by_a_constant_that_cannot_trap():
    type_ = tensor_type((4,), i32)
    for divisor, safe in ((3, True), (0, False), (-1, False)):
        constant = arith.ConstantOp(arith.splat_attr(type_, divisor))
        assert is_speculatable(arith.DivSIOp(value(type_), constant.result)) is safe
    assert not is_speculatable(arith.DivSIOp(value(type_), value(type_)))
