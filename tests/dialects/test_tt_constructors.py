"""Ops of `tt` and `arith` are built from their operands; result types follow."""

import pytest
from xdsl.dialects.builtin import DictionaryAttr, FunctionType, IntegerAttr, f16, f32, i1, i32, i64
from xdsl.ir import Block, Region

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.tt import PointerType, TensorDescType, pointer_type, tensor_type
from minitriton.errors import IRError
from minitriton.layouts.encodings import Blocked, Slice

POINTERS = tensor_type((64,), pointer_type(f32))
BLOCKED = Blocked((1, 4), (8, 4), (4, 1), (1, 0))


def values(*types):
    return Block(arg_types=types).args


def test_a_load_gives_what_its_pointers_point_to():
    pointers, mask = values(POINTERS, tensor_type((64,), i1))
    assert tt.LoadOp(pointers, mask).result.type == tensor_type((64,), f32)


def test_a_load_through_a_block_pointer_gives_the_block():
    block = tensor_type((8, 8), f16)
    assert tt.LoadOp(*values(PointerType(block))).result.type == block


def test_a_load_without_a_mask_has_none():
    op = tt.LoadOp(*values(POINTERS))
    assert (op.mask, op.other, op.cache.data, op.padding) == (None, None, tt.CacheModifier.NONE, None)


def test_enumerations_are_given_by_case_or_by_text():
    pointers, numbers = values(POINTERS, tensor_type((64,), f32))
    by_text = tt.StoreOp(pointers, numbers, cache="cg").cache
    assert by_text is tt.StoreOp(pointers, numbers, cache=tt.CacheModifier.CG).cache


def test_an_unknown_case_is_refused():
    with pytest.raises(ValueError, match="never"):
        tt.CacheModifierAttr.of("never")


def test_numbers_of_enumerations_are_mlirs():
    assert (tt.CacheModifierAttr.of("cg").code, tt.PropagateNanAttr.of("all").code) == (3, 0xFFFF)
    assert tt.CacheModifierAttr.from_code(3) is tt.CacheModifierAttr.of("cg")
    assert tt.CacheModifierAttr.from_code(99) is None


def test_expand_dims_of_a_slice_has_the_parents_layout():
    src = tensor_type((64,), i32, ttg.encoding_attr(Slice(1, BLOCKED)))
    assert tt.ExpandDimsOp(*values(src), axis=1).result.type == tensor_type((64, 1), i32, ttg.encoding_attr(BLOCKED))


def test_expand_dims_along_another_axis_than_the_slices_is_refused():
    src = tensor_type((64,), i32, ttg.encoding_attr(Slice(1, BLOCKED)))
    with pytest.raises(IRError, match="no layout"):
        tt.ExpandDimsOp(*values(src), axis=0)


def test_reducing_a_layout_slices_it():
    src = tensor_type((64, 32), f32, ttg.encoding_attr(BLOCKED))
    expected = tensor_type((64,), f32, ttg.encoding_attr(Slice(1, BLOCKED)))
    assert tt.ReduceOp(values(src), Region(Block()), axis=1).result.types == (expected,)


def test_reducing_the_only_dimension_gives_a_scalar():
    assert tt.ReduceOp(values(tensor_type((64,), f32)), Region(Block()), axis=0).result.types == (f32,)


def test_trans_permutes_the_shape():
    src = tensor_type((2, 4, 8), f32)
    assert tt.TransOp(*values(src), order=(2, 0, 1)).result.type == tensor_type((8, 2, 4), f32)


def test_join_and_split_undo_each_other():
    src = tensor_type((16,), f32)
    joined = tt.JoinOp(*values(src, src))
    assert joined.result.type == tensor_type((16, 2), f32)
    split = tt.SplitOp(joined.result)
    assert (split.out_lhs.type, split.out_rhs.type) == (src, src)


def test_descriptors_of_integers_carry_signedness():
    block = tensor_type((8, 16), i32)
    descriptor = TensorDescType.of_block(block, is_signed=False)
    assert str(descriptor) == "!tt.tensordesc<tensor<8x16xui32>>"
    assert descriptor.signless_block_type == block


def test_comparisons_have_the_shape_of_their_operands():
    scalar, vector = values(i32, tensor_type((8,), i32))
    assert arith.CmpiOp(scalar, scalar, "slt").result.type == i1
    comparison = arith.CmpiOp(vector, vector, "uge")
    assert comparison.result.type == tensor_type((8,), i1)
    assert comparison.predicate_name == "uge"


def test_the_sole_op_of_a_reduction_is_its_combiner():
    block = Block(arg_types=(f32, f32))
    total = arith.AddfOp(*block.args)
    block.add_ops((total, tt.ReduceReturnOp((total.result,))))
    op = tt.ReduceOp(values(tensor_type((64,), f32)), Region(block), axis=0)
    assert op.single_combiner() is total


def test_a_function_knows_its_arguments_attributes():
    attrs = [argument_attributes(16), argument_attributes(None)]
    func = tt.FuncOp("k", FunctionType.from_lists([pointer_type(f32), i64], []), arg_attrs=attrs, visibility="public")
    assert [attributes.data.get("tt.divisibility") for attributes in func.arg_attrs or ()] == [
        IntegerAttr(16, i32),
        None,
    ]
    assert func.is_public and not func.is_declaration and len(func.args) == 2


def argument_attributes(divisibility):
    return DictionaryAttr({} if divisibility is None else {"tt.divisibility": IntegerAttr(divisibility, i32)})
